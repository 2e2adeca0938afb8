#ifndef ETWSHIP_OUTPUTS_FILE_BOUND_H
#define ETWSHIP_OUTPUTS_FILE_BOUND_H

#include "event/select/event_template.h"

/*
 * Limits how many files a template makes. Writers of events control its fields, and could otherwise
 * fill the disk with files. Files with equal fields count as one, at all times and with their
 * rotated files. Files that exist at the start count, too, so that restarts do not add up. Events
 * beyond the limit go to an overflow file, with FILE_BOUND_OVERFLOW as every field: none is lost,
 * and none waits.
 */
#define FILE_BOUND_OVERFLOW "overflow"

struct file_bound {
    const struct event_template *template;
    size_t max;
    uint64_t *slots; /* hashes of paths without times; 0: empty */
    size_t capacity; /* a power of two, or 0 */
    size_t count;
    struct buf scratch;
};

void file_bound_init(struct file_bound *bound, const struct event_template *template, size_t max);
void file_bound_fini(struct file_bound *bound);

/* Count the existing files. False with ${err} set if a folder cannot be read; then some may be
 * missing. */
bool file_bound_load(struct file_bound *bound, struct error *err);

/*
 * ${ret_path} is the file for events with ${path}, a result of the template: ${path}, or the
 * overflow file. A view, valid until the next call. False: out of memory.
 */
bool file_bound_take(
    struct file_bound *bound, struct span path, struct span *ret_path, struct error *err);

#endif
