#include "schema/manifest/manifest_events.h"

#include <stdlib.h>

#include "base/order.h"

static int compare_keys(
    const struct event_schema *a, const struct guid *provider, uint16_t id, uint8_t version)
{
    int order = guid_compare(&a->provider, provider);
    order = order ? order : order_u64(a->descriptor.id, id);
    return order ? order : order_u64(a->descriptor.version, version);
}

/* Sort by key; equal keys keep file order. `serial` is unused before the cache assigns it, so it
 * holds the file position during sorting. */
static int compare_events(const void *a, const void *b)
{
    const struct event_schema *x = *(struct event_schema *const *)a;
    const struct event_schema *y = *(struct event_schema *const *)b;
    int order = compare_keys(x, &y->provider, y->descriptor.id, y->descriptor.version);
    return order ? order : order_u64(x->serial, y->serial);
}

void manifest_events_sort(struct manifest *manifest)
{
    for (size_t i = 0; i < manifest->event_count; i++) {
        manifest->events[i]->serial = (uint32_t)i;
    }
    if (manifest->event_count > 1) {
        qsort(
            manifest->events, manifest->event_count, sizeof(struct event_schema *), compare_events);
    }
    for (size_t i = 0; i < manifest->event_count; i++) {
        manifest->events[i]->serial = 0;
    }
}

void manifest_events_destroy(struct manifest *manifest)
{
    if (manifest) {
        arena_fini(&manifest->arena);
        free(manifest);
    }
}

size_t manifest_events_find(const struct manifest *manifest, const struct guid *provider,
    uint16_t id, uint8_t version, size_t *ret_first)
{
    size_t low = 0;
    size_t high = manifest->event_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_keys(manifest->events[middle], provider, id, version) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    size_t end = low;
    while (end < manifest->event_count &&
           compare_keys(manifest->events[end], provider, id, version) == 0) {
        end++;
    }
    *ret_first = low;
    return end - low;
}
