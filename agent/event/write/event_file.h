#ifndef ETWSHIP_EVENT_EVENT_FILE_H
#define ETWSHIP_EVENT_EVENT_FILE_H

#include "base/utf.h"
#include "event/write/event_path.h"

/*
 * The file of an event whose payload has only its address (event/model/record_file.h): the name of
 * that address at the time of the event. Made by process/process_reader.h.
 */
struct event_file {
    struct span path; /* UTF-8: with a drive if the volume is known, else with the device */
    bool is_edited;   /* rules cut or hashed it: it has no meaningful parts */
};

/* ---- for formats ----------------------------------------------------------------------------- */

/* Put `,"file":{…}` of the native event, at most event_file_room() bytes. Nothing for NULL. */
uint8_t *event_file_put(uint8_t *p, const struct event_file *file);

static inline size_t event_file_room(const struct event_file *file)
{
    enum { AROUND = 24 };
    return file ? AROUND + utf8_json_bound(file->path.size) : 0;
}

/* Append the file object of the ecs event. Nothing for NULL. */
void event_file_ecs(
    struct event_value_context *context, const struct event_file *file, struct buf *out);

/* ---- for paths ------------------------------------------------------------------------------- */

/* The value of `file` or file.path. */
struct event_value event_file_value(const struct event_path *path, const struct event_file *file);

#endif
