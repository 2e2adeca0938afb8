#ifndef ETWSHIP_OUTPUTS_FILE_BOUND_H
#define ETWSHIP_OUTPUTS_FILE_BOUND_H

#include "event/write/event_template.h"

/*
 * How many files a template may make. What its fields hold is said by whoever writes events, who could
 * otherwise fill the disk with files. Counted is what the fields make: the files of one set of fields at other
 * times count as one, and so do rotated ones. Those that are there at the start count, too, so that restarts
 * do not add up. Events that would begin one more file go to a file of their own, in which every field reads
 * FILE_BOUND_OVERFLOW: so none is lost, and none waits.
 */
#define FILE_BOUND_OVERFLOW "overflow"

struct file_bound {
    const struct event_template *template;
    size_t max;
    uint64_t *slots; /* hashes of what the fields made; 0: empty */
    size_t capacity; /* a power of two, or 0 */
    size_t count;
    struct buf scratch;
};

void file_bound_init(struct file_bound *bound, const struct event_template *template, size_t max);
void file_bound_fini(struct file_bound *bound);

/* Count the files that are there. False with ${err} set if a folder cannot be read; then some may be missing. */
bool file_bound_load(struct file_bound *bound, struct error *err);

/*
 * May events go to ${path}, which the template gave? ${ret_path} is where they go: ${path}, or the file for
 * what is too much, a view that is valid until the next call. False: out of memory.
 */
bool file_bound_take(
    struct file_bound *bound, struct span path, struct span *ret_path, struct error *err);

#endif
