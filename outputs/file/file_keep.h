#ifndef ETWSHIP_OUTPUTS_FILE_KEEP_H
#define ETWSHIP_OUTPUTS_FILE_KEEP_H

#include "event/write/event_template.h"
#include "outputs/file/file_set.h"

/*
 * Of the finished files of the family of ${path} that are marked as ours remove all but the ${keep} newest. A
 * family is what
 * the same fields give at all times: with `{etw.session}/etw-%Y-%m-%d.ndjson` all files of one
 * session. Finished are rotated files and, where the template has times, those of other times that
 * are not open in ${set}. Newest by the time in the name, then by the number of the rotation.
 * ${template} NULL: there is only this path. False with ${err} set if something could not be read or
 * removed; the rest is done.
 */
bool file_keep_newest(struct file_set *set, const struct event_template *template, const char *path,
    uint64_t keep, struct error *err);

#endif
