#include "platform/plat_dir_list.h"
#include "platform/plat_file.h"

enum glob_kind plat_dir_kind(const char *path)
{
    switch (plat_path_kind(path)) {
    case PLAT_PATH_FILE:
        return GLOB_FILE;
    case PLAT_PATH_DIR:
        return GLOB_DIR;
    case PLAT_PATH_NONE:
        break;
    }
    return GLOB_NONE;
}

struct wanted {
    enum glob_kind kind;
    bool (*each)(void *self, const char *name);
    void *self;
};

static bool give(void *self, const char *name, enum glob_kind kind)
{
    const struct wanted *wanted = self;
    return kind != wanted->kind || wanted->each(wanted->self, name);
}

bool plat_dir_files(
    const char *folder, bool (*each)(void *self, const char *name), void *self, struct error *err)
{
    struct wanted files = {GLOB_FILE, each, self};
    return plat_dir_list(folder, give, &files, err);
}

bool plat_dir_folders(
    const char *folder, bool (*each)(void *self, const char *name), void *self, struct error *err)
{
    struct wanted folders = {GLOB_DIR, each, self};
    return plat_dir_list(folder, give, &folders, err);
}
