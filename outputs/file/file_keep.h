#ifndef ETWSHIP_OUTPUTS_FILE_KEEP_H
#define ETWSHIP_OUTPUTS_FILE_KEEP_H

#include "event/select/event_template.h"
#include "outputs/file/file_set.h"

/*
 * Remove all but the ${keep} newest marked finished files of the family of ${path}. A family has
 * equal fields at any time: with `{etw.session}/etw-%Y-%m-%d.ndjson` all files of one session.
 * Finished files are rotated ones and, if the template has times, those of other times that are not
 * open in ${set}. Newest by the time in the name, then by the number of the rotation. ${template}
 * NULL: only this path. False with ${err} set if something could not be read or removed; it
 * continues with the rest.
 */
bool file_keep_newest(struct file_set *set, const struct event_template *template, const char *path,
    uint64_t keep, struct error *err);

#endif
