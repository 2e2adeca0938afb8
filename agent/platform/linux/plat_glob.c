#define _GNU_SOURCE

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text/glob.h"
#include "platform/plat_dir_list.h"
#include "platform/plat_file.h"

static bool fail(struct error *err, const char *path, const char *what)
{
    int code = errno;
    return error_set_os(err, code, strerror(code), "%s: %s", path, what);
}

static bool create(const char *path, mode_t last_mode, struct error *err)
{
    char part[PATH_MAX];
    size_t size = strlen(path);
    if (size == 0 || size >= sizeof(part)) {
        return error_set(err, ERR_CONFIG, "%s: a path has 1 to %zu bytes", path, sizeof(part) - 1);
    }
    memcpy(part, path, size + 1);
    for (size_t i = 1; i <= size; i++) {
        if (part[i] != '/' && part[i] != '\0') {
            continue;
        }
        part[i] = '\0';
        mode_t mode = path[i + strspn(path + i, "/")] ? 0777 : last_mode;
        /* an existing folder is fine whatever the error: mkdir may return EROFS or EACCES */
        if (mkdir(part, mode) != 0 && plat_path_kind(part) != PLAT_PATH_DIR) {
            return fail(err, part, "cannot create this folder");
        }
        part[i] = path[i];
    }
    return true;
}

bool plat_dir_create(const char *path, struct error *err)
{
    return create(path, 0777, err);
}

bool plat_dir_create_private(const char *path, struct error *err)
{
    return create(path, 0700, err);
}

enum plat_path_kind plat_path_kind(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        return PLAT_PATH_NONE;
    }
    return S_ISDIR(st.st_mode) ? PLAT_PATH_DIR : PLAT_PATH_FILE;
}

static enum glob_kind kind_of_mode(mode_t mode)
{
    return S_ISDIR(mode) ? GLOB_DIR : S_ISREG(mode) ? GLOB_FILE : GLOB_NONE;
}

static enum glob_kind kind_of_entry(DIR *dir, const struct dirent *entry)
{
    if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN) {
        return kind_of_mode((mode_t)DTTOIF(entry->d_type));
    }
    /* a link, or a file system that does not report the kind */
    struct stat st;
    if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return GLOB_NONE;
    }
    if (!S_ISLNK(st.st_mode)) {
        return kind_of_mode(st.st_mode);
    }
    if (fstatat(dirfd(dir), entry->d_name, &st, 0) != 0) {
        return GLOB_FILE; /* a dangling link: opening it reports that */
    }
    enum glob_kind kind = kind_of_mode(st.st_mode);
    return kind == GLOB_DIR ? GLOB_DIR_LINK : kind;
}

bool plat_dir_list(const char *folder, glob_entry_fn *each, void *self, struct error *err)
{
    DIR *dir = opendir(folder);
    if (!dir) {
        return fail(err, folder, "cannot read this folder");
    }
    bool good = true;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry) {
            good = errno == 0 || fail(err, folder, "cannot read this folder");
            break;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        if (!each(self, entry->d_name, kind_of_entry(dir, entry))) {
            break;
        }
    }
    closedir(dir);
    return good;
}

bool plat_glob(
    const char *pattern, bool (*each)(void *self, const char *path), void *self, struct error *err)
{
    static const struct glob_fs fs = {
        .separators = "/", .kind = plat_dir_kind, .list = plat_dir_list};
    return glob_run(pattern, &fs, each, self, err);
}
