#include "input/windows/eventlog/evt_publishers.h"

#include <stdlib.h>

#include "etw/etw_text.h"
#include "platform/plat_clock.h"

enum { NAME_CHARS = 512 };

void evt_publishers_init(
    struct evt_publishers *publishers, const struct evt_api *api, uint32_t locale)
{
    *publishers = (struct evt_publishers){.api = api, .locale = locale};
}

static void close_handle(const struct evt_publishers *publishers, struct evt_publisher *publisher)
{
    if (publisher->handle) {
        publishers->api->EvtClose(publisher->handle);
        publisher->handle = NULL;
    }
}

void evt_publishers_fini(struct evt_publishers *publishers)
{
    for (size_t i = 0; i < publishers->count; i++) {
        close_handle(publishers, &publishers->list[i]);
        free(publishers->list[i].name);
    }
    publishers->count = 0;
}

static struct evt_publisher *find(struct evt_publishers *publishers, struct span name)
{
    for (size_t i = 0; i < publishers->count; i++) {
        struct evt_publisher *publisher = &publishers->list[i];
        if (span_equal(span_make(publisher->name, publisher->name_size), name)) {
            return publisher;
        }
    }
    return NULL;
}

/* The next place of the list. */
static struct evt_publisher *place_for(struct evt_publishers *publishers)
{
    if (publishers->count < EVT_PUBLISHERS_MAX) {
        return &publishers->list[publishers->count++];
    }
    struct evt_publisher *publisher = &publishers->list[publishers->oldest];
    publishers->oldest = (publishers->oldest + 1) % EVT_PUBLISHERS_MAX;
    close_handle(publishers, publisher);
    free(publisher->name);
    return publisher;
}

uint32_t evt_publishers_find(
    struct evt_publishers *publishers, struct span name, uint64_t now_ns, evt_handle *ret_handle)
{
    struct evt_publisher *publisher = find(publishers, name);
    if (publisher && now_ns < publisher->expires_ns) {
        *ret_handle = publisher->handle;
        return publisher->code;
    }
    evt_char wide[NAME_CHARS];
    if (!etw_text_encode(name, wide, NAME_CHARS, NULL)) {
        return EVT_ERROR_INVALID_PARAMETER;
    }
    if (!publisher) {
        char *copy = span_copy(name);
        if (!copy) {
            return EVT_ERROR_NOT_ENOUGH_MEMORY;
        }
        publisher = place_for(publishers);
        *publisher = (struct evt_publisher){.name = copy, .name_size = name.size};
    }
    const struct evt_api *api = publishers->api;
    close_handle(publishers, publisher);
    publisher->handle = api->EvtOpenPublisherMetadata(NULL, wide, NULL, publishers->locale, 0);
    publisher->code = publisher->handle ? EVT_OK : api->last_error();
    uint64_t seconds = publisher->handle ? EVT_PUBLISHERS_GOOD_S : EVT_PUBLISHERS_FAILED_S;
    publisher->expires_ns = now_ns + seconds * 1000 * NS_PER_MS;
    *ret_handle = publisher->handle;
    return publisher->code;
}
