#ifndef ETWSHIP_INPUT_WINDOWS_EVT_MESSAGES_H
#define ETWSHIP_INPUT_WINDOWS_EVT_MESSAGES_H

#include "evt/evt_api.h"
#include "input/evtx_event.h"

/*
 * What events say in words, in one language: their publisher on this machine tells it (EvtFormatMessage), with what
 * stands for parameters such as %%1843. Publishers stay open, as opening one takes Windows milliseconds; there is a maximum,
 * beyond which the one goes that was opened first.
 */
struct evt_messages;

/* ${language}: as in en-US; NULL: the system's. NULL with ${err} set. */
struct evt_messages *evt_messages_create(const char *language, struct error *err);
void evt_messages_destroy(struct evt_messages *messages); /* NULL is fine */

/*
 * Add the message of ${handle} to the record that was made of it, which has none yet. False: the publisher ${provider}
 * (UTF-8) has none that can be read, and ${err} says why; told once of each.
 */
bool evt_messages_add(struct evt_messages *messages, evt_handle handle, struct span provider,
    struct evtx_event *event, struct error *err);

#endif
