#include "input/bytes/packed_own.h"

/* Replaces packed_archive.c in builds without libarchive. */

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
