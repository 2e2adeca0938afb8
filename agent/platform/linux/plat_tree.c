#define _GNU_SOURCE

#include "platform/plat_tree.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>

enum { OPEN_FOLDERS = 16 };

/* nftw passes no context. Removing is rare and done by one thread of a command. */
static struct error *first_error;
static bool is_good;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *place)
{
    (void)st;
    (void)type;
    (void)place;
    if (remove(path) != 0 && is_good) {
        int code = errno;
        is_good = error_set_os(first_error, code, strerror(code), "%s: cannot be removed", path);
    }
    return 0;
}

bool plat_tree_remove(const char *path, struct error *err)
{
    first_error = err;
    is_good = true;
    if (nftw(path, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT) {
        int code = errno;
        return error_set_os(err, code, strerror(code), "%s: cannot be removed", path);
    }
    return is_good;
}
