#include <stdlib.h>

#include "etw/etw_api.h"
#include "etw/session/etw_block.h"
#include "etw/session/etw_control.h"
#include "etw/session/etw_kernel.h"

/*
 * All sessions in one call: ETW fills the given blocks and returns the number of sessions. It
 * refuses a call with room for more sessions than the machine's maximum (queryalltraces). Windows
 * 10 1709+ reports that maximum, 32 to 256 (starttrace); before, it was 64. If a system refuses its
 * own maximum, the call is repeated with less room, and with more if there are more sessions.
 */
enum { ROOM = 64, LEAST_ROOM = 32, MAX_ROOM = 4096, MAX_TRIES = 8 };

/* GlobalLoggerGuid {e8908abc-aa84-11d2-9a93-00805f85d7c6} */
static const struct guid global_logger_guid = {{0xbc, 0x8a, 0x90, 0xe8, 0x84, 0xaa, 0xd2, 0x11,
    0x9a, 0x93, 0x00, 0x80, 0x5f, 0x85, 0xd7, 0xc6}};

bool etw_control_is_system(const struct etw_session_state *state)
{
    return (state->mode & ETW_MODE_SYSTEM_LOGGER) != 0 ||
           guid_equal(&state->guid, &etw_kernel_guid) ||
           guid_equal(&state->guid, &global_logger_guid);
}

/* Blocks for ${capacity} sessions, and pointers to them in front. NULL: no memory. */
struct query {
    struct etw_block *blocks;
    struct etw_properties **pointers;
};

static void query_fini(struct query *query)
{
    free(query->blocks);
    free(query->pointers);
}

static uint32_t query_all(struct query *query, uint32_t capacity, uint32_t *ret_count)
{
    query->blocks = calloc(capacity, sizeof(*query->blocks));
    query->pointers = calloc(capacity, sizeof(*query->pointers));
    if (!query->blocks || !query->pointers) {
        return ETW_ERROR_NOT_ENOUGH_MEMORY;
    }
    for (uint32_t i = 0; i < capacity; i++) {
        etw_block_init(&query->blocks[i], 1);
        query->pointers[i] = &query->blocks[i].properties;
    }
    return etw_api_get()->QueryAllTracesW(query->pointers, capacity, ret_count);
}

static bool read_list(
    const struct query *query, size_t count, struct etw_session_list *ret_list, struct error *err)
{
    struct etw_session_state *items = calloc(count ? count : 1, sizeof(*items));
    if (!items) {
        return error_set(err, ERR_MEMORY, "out of memory for %zu sessions", count);
    }
    for (size_t i = 0; i < count; i++) {
        etw_block_read(&query->blocks[i], &items[i]);
    }
    *ret_list = (struct etw_session_list){.items = items, .count = count};
    return true;
}

/* The next capacity after a call with ${capacity} returned ${result}; 0: give up. */
static uint32_t other_room(uint32_t result, uint32_t capacity, uint32_t count)
{
    if (result == ETW_ERROR_MORE_DATA) {
        uint32_t more = count > capacity ? count : capacity * 2;
        return more <= MAX_ROOM ? more : 0;
    }
    if (result == ETW_ERROR_INVALID_PARAMETER) {
        return capacity > ROOM ? ROOM : capacity > LEAST_ROOM ? LEAST_ROOM : 0;
    }
    return 0;
}

bool etw_control_list(struct etw_session_list *ret_list, struct error *err)
{
    if (!etw_api_get()->QueryAllTracesW) {
        return etw_api_missing(err, "QueryAllTracesW");
    }
    uint32_t result = ETW_ERROR_MORE_DATA;
    uint32_t capacity = etw_control_max_sessions();
    for (int tries = 0; tries < MAX_TRIES && capacity; tries++) {
        struct query query;
        uint32_t count = 0;
        result = query_all(&query, capacity, &count);
        if (result == ETW_SUCCESS) {
            bool ok = read_list(&query, count < capacity ? count : capacity, ret_list, err);
            query_fini(&query);
            return ok;
        }
        query_fini(&query);
        capacity = other_room(result, capacity, count);
    }
    return etw_api_fail(err, result, "the sessions of this machine cannot be listed");
}

void etw_control_list_fini(struct etw_session_list *list)
{
    free(list->items);
    *list = (struct etw_session_list){0};
}

const struct etw_session_state *etw_control_find(
    const struct etw_session_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (etw_text_same_name(list->items[i].name, name)) {
            return &list->items[i];
        }
    }
    return NULL;
}

const struct etw_session_state *etw_control_find_logger(
    const struct etw_session_list *list, uint16_t logger_id)
{
    for (size_t i = 0; i < list->count; i++) {
        if (etw_control_logger_id(&list->items[i]) == logger_id) {
            return &list->items[i];
        }
    }
    return NULL;
}

/* TraceMaxLoggersQuery is documented for EnumerateTraceGuidsEx, and is one of the classes of
 * TraceQueryInformation (trace_query_info_class). */
uint32_t etw_control_max_sessions(void)
{
    const struct etw_api *api = etw_api_get();
    uint32_t max = 0;
    uint32_t bytes = 0;
    bool told = api->TraceQueryInformation && api->TraceQueryInformation(0, ETW_INFO_MAX_LOGGERS,
                                                  &max, sizeof(max), &bytes) == ETW_SUCCESS;
    told = told ||
           (api->EnumerateTraceGuidsEx && api->EnumerateTraceGuidsEx(ETW_INFO_MAX_LOGGERS, NULL, 0,
                                              &max, sizeof(max), &bytes) == ETW_SUCCESS);
    return told && max && max <= MAX_ROOM ? max : ROOM;
}
