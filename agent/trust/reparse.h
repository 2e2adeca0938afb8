#ifndef ETWSHIP_TRUST_REPARSE_H
#define ETWSHIP_TRUST_REPARSE_H

#include "base/buf.h"

enum reparse_kind {
    REPARSE_PLAIN, /* the file or folder is what its name says: compressed, in a cloud, … */
    REPARSE_LINK,  /* its name stands for another one */
    REPARSE_UNKNOWN,
};

/*
 * What a REPARSE_DATA_BUFFER ([MS-FSCC] 2.1.2), any bytes, makes of a name: a symbolic link (2.1.2.4) or a
 * mount point (2.1.2.5), whose target is added to ${target} in UTF-8 as a path of Windows, absolute or, as
 * symbolic links that say so have it, relative to the link's folder. Other tags that put one name in place of
 * another, targets that are no path of a drive, a share or a volume, and what is broken, are unknown.
 */
enum reparse_kind reparse_read(struct span data, struct buf *target);

#endif
