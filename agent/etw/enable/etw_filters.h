#ifndef ETWSHIP_ETW_ETW_FILTERS_H
#define ETWSHIP_ETW_ETW_FILTERS_H

#include "etw/enable/etw_enable.h"

/*
 * A request's filters as EVENT_FILTER_DESCRIPTORs: all of their data is in one block of a fixed
 * size, except the payload filter, which TDH owns. Layouts: event_filter_descriptor,
 * event_filter_event_id, event_filter_event_name, event_filter_level_kw on learn.microsoft.com.
 */
enum { ETW_FILTERS_BYTES = 16 * 1024 }; /* 13 kinds, none above 4096 bytes, most of 1024 or less */

struct etw_filters {
    struct etw_filter items[ETW_MAX_FILTERS];
    uint32_t count;
    size_t used_bytes;
    _Alignas(8) uint8_t data[ETW_FILTERS_BYTES];
};

/* Sizes of the headers before the ids and before the names of a filter. */
enum { ETW_FILTERS_ID_BYTES = 4, ETW_FILTERS_NAME_BYTES = 20 };

/* The kinds in the order in which Windows learnt them, oldest first; 0 after the last. */
uint32_t etw_filters_kind(size_t index);
const char *etw_filters_kind_name(uint32_t kind);

/* The names of a filter by names; NULL: another kind. */
const struct etw_filter_texts *etw_filters_texts(const struct etw_request *request, uint32_t kind);

/*
 * Build the filters of ${kinds} in the request; each must fit (etw_enable_fits). ${payload} comes
 * from etw_payload_init. Pointers refer to ${filters}, which must not move.
 */
void etw_filters_build(struct etw_filters *filters, const struct etw_request *request,
    uint32_t kinds, const struct etw_filter *payload);

#endif
