#ifndef ETWSHIP_APP_LOG_FILE_H
#define ETWSHIP_APP_LOG_FILE_H

#include "base/error.h"
#include "base/span.h"

/*
 * A file of lines that is set aside when it has grown: PATH becomes PATH.1, that PATH.2, and so on.
 * After a failure it is closed, and tried again no sooner than after 10 seconds. One thread at a
 * time.
 */
struct log_file {
    char *path;
    uint64_t rotate_size; /* bytes; 0: never */
    unsigned rotate_keep;
    struct plat_file *file; /* NULL: closed */
    uint64_t size;
    uint64_t rotate_at;
    uint64_t retry_at_ns;
    bool failed;
};

/* ${path} is copied. Nothing is opened yet. False if there is no memory. */
bool log_file_init(
    struct log_file *file, const char *path, uint64_t rotate_size, unsigned rotate_keep);
void log_file_fini(struct log_file *file);

/*
 * Append ${line}. False if that is not possible, with the reason in ${err} if it was tried, else
 * with ERR_NONE there. A file that cannot be set aside is written on, and the reason is in ${err}
 * (else ERR_NONE) although the result is true.
 */
bool log_file_write(struct log_file *file, struct span line, uint64_t now_ns, struct error *err);

/* Close it; the next line opens PATH again. */
void log_file_reopen(struct log_file *file);

#endif
