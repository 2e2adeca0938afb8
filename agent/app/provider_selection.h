#ifndef ETWSHIP_APP_PROVIDER_SELECTION_H
#define ETWSHIP_APP_PROVIDER_SELECTION_H

#include "event/event.h"

/*
 * Which events of a trace a user wants, in the compact form of providers
 *   (Name|GUID)[:Level[:EventIDs[:AnyKeywords[:AllKeywords]]]]
 * and by ETW's own rules: level 0 and keyword 0 events pass every mask (EnableTraceEx2 on
 * learn.microsoft.com). An empty part is its default: level 0xff, all ids, any = all bits, all = 0.
 */
struct provider_selection;

/* No ${texts}: everything passes. NULL with ${err} set on a part that cannot be read. */
struct provider_selection *provider_selection_create(
    const char *const *texts, size_t count, struct error *err);
void provider_selection_destroy(struct provider_selection *selection); /* NULL is fine */

/* Does ${event} belong to what was selected? */
bool provider_selection_passes(
    const struct provider_selection *selection, const struct event *event);

#endif
