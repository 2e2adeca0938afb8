#include "store/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/plat_file.h"
#include "store/catalogue/catalogue.h"

struct folder {
    struct disk *disk;
    char path[FOLDER_PATH_BYTES]; /* empty: in memory */
    char catalogue[FOLDER_PATH_BYTES];
    char letters[FOLDER_PATH_BYTES];
    char damaged[FOLDER_PATH_BYTES];
};

static bool make_path(char *path, const char *folder, const char *name, struct error *err)
{
    int size = snprintf(path, FOLDER_PATH_BYTES, "%s/%s", folder, name);
    return (size > 0 && size < FOLDER_PATH_BYTES) ||
           error_set(err, ERR_CONFIG, "%s: this path is too long", folder);
}

static bool make_paths(struct folder *folder, const char *path, struct error *err)
{
    if (!path || path[0] == '\0') {
        snprintf(folder->catalogue, sizeof(folder->catalogue), CATALOGUE_IN_MEMORY);
        return true;
    }
    bool ok = make_path(folder->catalogue, path, "catalogue.db", err) &&
              make_path(folder->damaged, path, "damaged", err) &&
              make_path(folder->letters, path, STORE_LETTERS_FOLDER, err);
    if (ok) {
        snprintf(folder->path, sizeof(folder->path), "%s", path);
    }
    return ok;
}

struct folder *folder_create(const struct store_settings *settings, struct error *err)
{
    struct folder *folder = calloc(1, sizeof(*folder));
    if (!folder) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    if (!make_paths(folder, settings->folder, err)) {
        folder_destroy(folder);
        return NULL;
    }
    folder->disk = settings->disk ? settings->disk : folder->path[0] ? disk_system() : disk_none();
    return folder;
}

void folder_destroy(struct folder *folder)
{
    free(folder);
}

bool folder_is_in_memory(const struct folder *folder)
{
    return folder->path[0] == '\0';
}

struct disk *folder_disk(const struct folder *folder)
{
    return folder->disk;
}

const char *folder_path(const struct folder *folder)
{
    return folder->path;
}

const char *folder_catalogue(const struct folder *folder)
{
    return folder->catalogue;
}

const char *folder_letters(const struct folder *folder)
{
    return folder->letters;
}

const char *folder_damaged(const struct folder *folder)
{
    return folder->damaged;
}

void folder_make(const struct folder *folder)
{
    plat_dir_create_private(folder->path, NULL);
    folder->disk->ops->make_folder(folder->disk, folder->path, NULL);
}
