#ifndef ETWSHIP_EVENT_EVENT_EDITOR_H
#define ETWSHIP_EVENT_EVENT_EDITOR_H

#include "event/edit/event_edit.h"

/*
 * Applies edits to events. The edited event is an event like others, with fields, record and trace of its
 * own where they differ, so whatever reads events (formats, message inserts, paths of templates) sees
 * nothing else; what neither of them holds is in event_edits.h. The event that came stays as it is.
 *
 * One editor per thread, and one more for edits upon edits. Memory is kept from event to event. Where it
 * does not suffice, or a value would take too long, the value goes, and never stays as it was.
 */
struct event_editor;

/* Values of one event that are hashed, which takes some milliseconds. Of those beyond, lists are removed
 * and others are empty. */
enum { EVENT_EDITOR_MAX_HASHES = 4096 };

struct event_editor *event_editor_create(struct error *err); /* NULL: out of memory */
void event_editor_destroy(struct event_editor *editor);      /* NULL is fine */

/* Begin with ${event}, decoded, or with what ${before} has made of one, finished. Both outlive the edited
 * event. ${agent}: whose labels and tags it has; NULL: there are none. */
void event_editor_begin(
    struct event_editor *editor, const struct event *event, const struct event_agent *agent);
void event_editor_begin_from(struct event_editor *editor, const struct event_editor *before);

void event_editor_apply(
    struct event_editor *editor, const struct event_edit *edit, struct event_path_context *paths);

/* The event with all edits, the one that came if there were none. Valid until the next begin. */
const struct event *event_editor_finish(
    struct event_editor *editor, struct event_path_context *paths);

#endif
