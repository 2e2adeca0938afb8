#ifndef ETWSHIP_INPUT_WINDOWS_EVT_RENDER_H
#define ETWSHIP_INPUT_WINDOWS_EVT_RENDER_H

#include "evt/evt_api.h"
#include "input/evtx/evtx_event.h"

/*
 * Makes records of the events of a subscription. Windows renders each event twice. The XML has all
 * names and also the parts of forwarded events, and needs no publisher. The values have types
 * (evtx_typed.h).
 */
struct evt_render;

/* NULL with ${err} set. */
struct evt_render *evt_render_create(struct error *err);
void evt_render_destroy(struct evt_render *render); /* NULL is fine */

/* The number of the event in its own log, which bookmarks use. System of a forwarded event has a
 * different one. */
bool evt_render_position(
    struct evt_render *render, evt_handle event, uint64_t *ret_id, struct error *err);

/*
 * The record of ${event}, valid until the next call; the caller sets its trace. NULL with ${err}
 * set: Windows does not render the event, or its XML has no System. ${ret_problem}: a static text
 * that describes a damaged part, else NULL.
 */
struct evtx_event *evt_render_event(
    struct evt_render *render, evt_handle event, const char **ret_problem, struct error *err);

#endif
