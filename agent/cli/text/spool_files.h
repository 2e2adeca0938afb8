#ifndef ETWSHIP_CLI_SPOOL_FILES_H
#define ETWSHIP_CLI_SPOOL_FILES_H

#include "base/error.h"

/* The content of a spool's files when its catalogue is unreadable. */
struct spool_files {
    uint64_t segments;
    uint64_t bytes;   /* of segments */
    uint64_t batches; /* good ones; some may have been delivered */
    uint64_t records; /* of these */
    uint64_t damaged; /* batches that are not */
    uint64_t letter_files;
    uint64_t letters;
    uint64_t damaged_letters;
    uint64_t skipped; /* unreadable bytes in all files */
};

/* Read all files in ${folder}; calls ${say} for each fault. False: the folder cannot be read. */
bool spool_files_read(const char *folder, void (*say)(void *self, const char *text), void *self,
    struct spool_files *ret_files, struct error *err);

#endif
