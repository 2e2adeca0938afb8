#ifndef ETWSHIP_INPUT_WINDOWS_EVT_RENDER_H
#define ETWSHIP_INPUT_WINDOWS_EVT_RENDER_H

#include "evt/evt_api.h"
#include "input/evtx_event.h"

/*
 * Events of a subscription as records. Each is rendered twice: as XML, which alone has all names and what was forwarded,
 * and needs no publisher; and as values, which alone have types (evtx_typed.h).
 */
struct evt_render;

/* NULL with ${err} set. */
struct evt_render *evt_render_create(struct error *err);
void evt_render_destroy(struct evt_render *render); /* NULL is fine */

/* The number of the event in its own log, which bookmarks go by: of what was forwarded, System has another one. */
bool evt_render_position(
    struct evt_render *render, evt_handle event, uint64_t *ret_id, struct error *err);

/*
 * The record of ${event}, valid until the next call; its trace is the caller's to set. NULL with ${err} set:
 * Windows does not render it, or there is nothing that makes an event in the XML. ${ret_problem}: a static text that
 * says what is not in it, else NULL.
 */
struct evtx_event *evt_render_event(
    struct evt_render *render, evt_handle event, const char **ret_problem, struct error *err);

/* Values that contradicted the XML so far, which then counts. */
uint64_t evt_render_contradictions(const struct evt_render *render);

#endif
