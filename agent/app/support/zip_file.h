#ifndef ETWSHIP_APP_ZIP_FILE_H
#define ETWSHIP_APP_ZIP_FILE_H

#include "base/buf.h"

/*
 * A .zip file that is made in one go: each member is whole in memory and is written compressed, one
 * after the other. The file must not be there yet, and only its owner may read it. (APPNOTE.TXT of
 * PKWARE, 4.3; no ZIP64: members and file stay below 4 GB.)
 */
struct zip_file {
    struct plat_file *file;
    const char *path;
    struct buf directory; /* of the members so far */
    uint64_t offset;      /* bytes written */
    uint64_t time;        /* FILETIME, of all members */
    size_t members;
};

enum { ZIP_FILE_MAX_MEMBERS = 1000, ZIP_FILE_MAX_MEMBER_BYTES = 64 * 1024 * 1024 };

/* False with ${err} set: there is no file, and nothing to be freed. ${path} outlives the zip. */
bool zip_file_create(struct zip_file *zip, const char *path, uint64_t time, struct error *err);

/* Add ${bytes} as ${name}, in UTF-8 with / between folders. */
bool zip_file_add(struct zip_file *zip, const char *name, struct span bytes, struct error *err);

/* Write what makes it a .zip, to the disk, and close it. After a failure here, or of zip_file_add,
 * there is no file any more once zip_file_fini was called. */
bool zip_file_finish(struct zip_file *zip, struct error *err);

/* Remove what was not finished. */
void zip_file_fini(struct zip_file *zip);

#endif
