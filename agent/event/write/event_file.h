#ifndef ETWSHIP_EVENT_EVENT_FILE_H
#define ETWSHIP_EVENT_EVENT_FILE_H

#include "base/utf.h"
#include "event/write/event_path.h"

/*
 * The file that an event is about, where its payload has but the address of it (event/model/record_file.h): what
 * was known of that address at the time of the event. Made by process/process_reader.h.
 */
struct event_file {
    struct span path; /* UTF-8: with a drive where the volume is known, else the device's */
    bool is_edited;   /* rules cut or hashed it: it has no parts that tell anything */
};

/* ---- for formats ------------------------------------------------------------------------------- */

/* Put `,"file":{…}` of the native event; it takes up to event_file_room(). Nothing for NULL. */
uint8_t *event_file_put(uint8_t *p, const struct event_file *file);

static inline size_t event_file_room(const struct event_file *file)
{
    enum { AROUND = 24 };
    return file ? AROUND + utf8_json_bound(file->path.size) : 0;
}

/* Append that of the ecs event. Nothing for NULL. */
void event_file_ecs(
    struct event_value_context *context, const struct event_file *file, struct buf *out);

/* ---- for paths --------------------------------------------------------------------------------- */

/* The value of `file` or file.path. */
struct event_value event_file_value(const struct event_path *path, const struct event_file *file);

#endif
