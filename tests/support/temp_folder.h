#ifndef ETWSHIP_TESTS_SUPPORT_TEMP_FOLDER_H
#define ETWSHIP_TESTS_SUPPORT_TEMP_FOLDER_H

/* A folder for one test program on Linux. Its users define _GNU_SOURCE before any include. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Made in /tmp; ${template} ends in XXXXXX, which is replaced. 0, or -1 as cmocka's set-up wants. */
static inline int temp_folder_make(char *template)
{
    return mkdtemp(template) && chmod(template, 0755) == 0 ? 0 : -1;
}

static inline int temp_folder_remove_one(
    const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

/* Remove it with all that is in it. */
static inline int temp_folder_remove(const char *path)
{
    return nftw(path, temp_folder_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
