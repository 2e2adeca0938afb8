#ifndef ETWSHIP_APP_PROVIDER_SELECTION_H
#define ETWSHIP_APP_PROVIDER_SELECTION_H

#include "event/model/event.h"
#include "input/live/provider_spec.h"

/*
 * Which events of a trace a user wants, by ETW's own rules: level 0 and keyword 0 events pass every
 * mask (EnableTraceEx2 on learn.microsoft.com).
 */
struct provider_selection;

/* By texts in the compact form (provider_spec.h), which outlive the selection. No ${texts}:
 * everything passes. NULL with ${err} set on a part that cannot be read. */
struct provider_selection *provider_selection_create(
    const char *const *texts, size_t count, struct error *err);

/* As provider_selection_create, by ${specs}, which are copied; what they point to outlives the
 * selection. Names of keywords count for nothing: turn them into bits before
 * (app_providers_resolve). ${is_live}: the session has enabled these providers, so the code that
 * writes WPP messages has looked at level and flags, by their bits; else the names in the messages'
 * formats have to do. */
struct provider_selection *provider_selection_create_from(
    const struct provider_spec *specs, size_t count, bool is_live, struct error *err);
void provider_selection_destroy(struct provider_selection *selection); /* NULL is fine */

/* Is ${event} of a provider that is named here? */
bool provider_selection_knows(
    const struct provider_selection *selection, const struct event *event);

/* Does ${event} belong to what was selected? What it matched is noted; any thread. */
bool provider_selection_passes(
    const struct provider_selection *selection, const struct event *event);

/* ---- what matched nothing -------------------------------------------------------------------- */

size_t provider_selection_count(const struct provider_selection *selection);
const struct provider_spec *provider_selection_spec(
    const struct provider_selection *selection, size_t index);

/* Did entry ${index} let an event pass? False also where an earlier entry
 * let all of its events pass. */
bool provider_selection_matched(const struct provider_selection *selection, size_t index);

/* Is ${event} of the provider of entry ${index}? ${ret_passes}: and would
 * that entry alone let it pass? */
bool provider_selection_asks(const struct provider_selection *selection, size_t index,
    const struct event *event, bool *ret_passes);

#endif
