#ifndef ETWSHIP_INPUT_WINDOWS_EVT_PUBLISHERS_H
#define ETWSHIP_INPUT_WINDOWS_EVT_PUBLISHERS_H

#include "base/span.h"
#include "evt/evt_api.h"

/*
 * The publishers whose messages are asked for (EvtOpenPublisherMetadata). They stay open, because
 * opening one takes milliseconds. Each is opened again after a while: an update of its program may
 * have brought other messages, and a publisher that could not be opened may be installed by now.
 * Beyond a maximum, the publisher that has been in the list longest is closed. One thread.
 */
enum { EVT_PUBLISHERS_MAX = 256, EVT_PUBLISHERS_GOOD_S = 3600, EVT_PUBLISHERS_FAILED_S = 60 };

struct evt_publisher {
    char *name; /* UTF-8, owned */
    size_t name_size;
    evt_handle handle;   /* NULL: it could not be opened */
    uint32_t code;       /* why not, a Win32 error */
    uint64_t expires_ns; /* plat_monotonic_ns() from which it is opened again */
};

struct evt_publishers {
    const struct evt_api *api;
    uint32_t locale; /* LCID of the messages; 0: the system's */
    size_t count;
    size_t oldest; /* of a full list */
    struct evt_publisher list[EVT_PUBLISHERS_MAX];
};

/* ${api} has EvtClose, and EvtOpenPublisherMetadata if evt_publishers_find is called. */
void evt_publishers_init(
    struct evt_publishers *publishers, const struct evt_api *api, uint32_t locale);
void evt_publishers_fini(struct evt_publishers *publishers);

/*
 * Returns 0 and sets ${ret_handle}, valid until the next call, or returns the Win32 error for which
 * publisher ${name} (UTF-8) cannot be opened. ${now_ns}: plat_monotonic_ns().
 */
uint32_t evt_publishers_find(
    struct evt_publishers *publishers, struct span name, uint64_t now_ns, evt_handle *ret_handle);

#endif
