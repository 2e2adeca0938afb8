#ifndef ETWSHIP_TRUST_REPARSE_H
#define ETWSHIP_TRUST_REPARSE_H

#include "base/buf.h"

enum reparse_kind {
    REPARSE_PLAIN, /* not a link: compressed, in a cloud, … */
    REPARSE_LINK,  /* a link to another name */
    REPARSE_UNKNOWN,
};

/*
 * Parse a REPARSE_DATA_BUFFER ([MS-FSCC] 2.1.2), any bytes. For a symbolic link (2.1.2.4) or a
 * mount point (2.1.2.5), append its target to ${target} in UTF-8 as a path of Windows, absolute,
 * or, for relative symbolic links, relative to the link's folder. Other tags that replace names,
 * targets that are not paths of a drive, share or volume, and broken data are unknown.
 */
enum reparse_kind reparse_read(struct span data, struct buf *target);

#endif
