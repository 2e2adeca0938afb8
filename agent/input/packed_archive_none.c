#include "input/packed_own.h"

/* In place of packed_archive.c where the build has no libarchive. */

bool packed_archive_walk(struct packed_walk *walk, enum packed_kind kind)
{
    return error_set(walk->err, ERR_UNSUPPORTED,
        "%s: is a %s, and this program was built without libarchive. unpack it first",
        walk->bytes->path, kind == PACKED_ZIP ? "zip" : "cab");
}

const char *packed_archive_version(void)
{
    return NULL;
}
