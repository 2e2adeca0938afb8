#ifndef ETWSHIP_INPUT_WINDOWS_EVT_MESSAGES_H
#define ETWSHIP_INPUT_WINDOWS_EVT_MESSAGES_H

#include "evt/evt_api.h"
#include "input/evtx/evtx_event.h"

/*
 * Messages of events in one language. The event's publisher on this machine has them
 * (EvtFormatMessage), including the texts of parameters such as %%1843.
 */
struct evt_messages;

/* ${language}: such as en-US; NULL: the system's. NULL with ${err} set. */
struct evt_messages *evt_messages_create(const char *language, struct error *err);
void evt_messages_destroy(struct evt_messages *messages); /* NULL is fine */

/*
 * Add the message of ${handle} to ${event}, its record, which has none yet. False with ${err} set:
 * publisher ${provider} (UTF-8) has no readable message. Returned once for each publisher; later
 * failures return true.
 */
bool evt_messages_add(struct evt_messages *messages, evt_handle handle, struct span provider,
    struct evtx_event *event, struct error *err);

#endif
