#ifndef ETWSHIP_EVENT_EVENT_EDITOR_H
#define ETWSHIP_EVENT_EVENT_EDITOR_H

#include "event/edit/event_edit.h"

/*
 * Applies edits to events. The result is an ordinary event, with its own fields, record and trace
 * where they differ, so every reader of events (formats, message inserts, templates) sees the
 * edited values; changes that these cannot hold are in event_edits.h. The original event is not
 * changed.
 *
 * One editor per thread, and another to edit an edited event. Memory is reused from event to event.
 * If it does not suffice, or a value would take too long, the editor removes the value; it never
 * leaves the original.
 */
struct event_editor;

/* At most this many values of one event are hashed, which takes some milliseconds. Of further ones,
 * lists are removed and single values become empty. */
enum { EVENT_EDITOR_MAX_HASHES = 4096 };

struct event_editor *event_editor_create(struct error *err); /* NULL: out of memory */
void event_editor_destroy(struct event_editor *editor);      /* NULL is fine */

/* Begin with ${event}, decoded, or with the finished result of ${before}. Both outlive the edited
 * event. ${agent} has the labels and tags; NULL: there are none. */
void event_editor_begin(
    struct event_editor *editor, const struct event *event, const struct event_agent *agent);
void event_editor_begin_from(struct event_editor *editor, const struct event_editor *before);

void event_editor_apply(
    struct event_editor *editor, const struct event_edit *edit, struct event_path_context *paths);

/* The event with all edits; the original if there were none. Valid until the next begin. */
const struct event *event_editor_finish(
    struct event_editor *editor, struct event_path_context *paths);

#endif
