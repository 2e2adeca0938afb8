#define _GNU_SOURCE

#include "support/temp_folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/plat_file.h"

int temp_folder_make(char folder[TEMP_FOLDER_BYTES], const char *name)
{
    const char *top = getenv("TMPDIR");
    int size = snprintf(
        folder, TEMP_FOLDER_BYTES, "%s/etwship-%s-XXXXXX", top && *top ? top : "/tmp", name);
    bool good = size < TEMP_FOLDER_BYTES && mkdtemp(folder) && chmod(folder, 0755) == 0;
    return good ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

int temp_folder_remove(const char *folder)
{
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

bool temp_folder_remove_empty(const char *path)
{
    return rmdir(path) == 0;
}

bool temp_folder_enter(const char *folder)
{
    return chdir(folder) == 0;
}

bool temp_file_link(const char *target, const char *path)
{
    return symlink(target, path) == 0;
}

bool temp_file_share(const char *path, bool everybody)
{
    return chmod(path, everybody ? 0644 : 0600) == 0;
}

bool temp_file_copy_program(const char *from, const char *path)
{
    enum { MAX_BYTES = 256 << 20 };
    char *data;
    size_t size;
    if (!plat_file_load(from, MAX_BYTES, &data, &size, NULL)) {
        return false;
    }
    struct plat_file *file = plat_file_open(path, PLAT_FILE_CREATE, NULL);
    bool good = file && plat_file_write(file, span_make(data, size), NULL);
    plat_file_close(file);
    free(data);
    return good && chmod(path, 0700) == 0;
}

uint64_t temp_process_id(void)
{
    return (uint64_t)getpid();
}

bool temp_system_is_wine(void)
{
    return false;
}
