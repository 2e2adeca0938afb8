#include "etw/session/etw_heap.h"

#include "base/bytes.h"
#include "etw/etw_api.h"
#include "etw/etw_toolkit.h"
#include "etw/session/etw_block.h"

const struct guid etw_heap_guid = {/* 222962ab-6180-4b88-a825-346b75f2a24a */
    {0xab, 0x62, 0x29, 0x22, 0x80, 0x61, 0x88, 0x4b, 0xa8, 0x25, 0x34, 0x6b, 0x75, 0xf2, 0xa2,
        0x4a}};

enum { ITEM_PIDS = 2, ITEM_STACKWALK_FILTER = 3, WORD = 4, GROUP_HEAP = 0x10 };

_Static_assert(
    (1 + 1 + ETW_MAX_HEAP_PROCESSES + 1 + ETW_MAX_HEAP_STACKS) * WORD <= ETW_MAX_EXTENSION_BYTES,
    "the largest request fits");

/* ---- the request ----------------------------------------------------------------------------- */

/* TRACE_ENABLE_FLAG_EXT_ITEM; both lengths of the block count dwords, headers included. */
static uint8_t *put_item_head(uint8_t *at, uint16_t type, size_t count)
{
    store_le16(at, (uint16_t)(1 + count));
    store_le16(at + 2, type);
    return at + WORD;
}

size_t etw_heap_encode(
    const struct etw_heap_request *request, uint8_t ret_block[ETW_MAX_EXTENSION_BYTES])
{
    uint8_t *at = ret_block + WORD;
    if (request->pid_count == 0 || request->pid_count > ETW_MAX_HEAP_PROCESSES ||
        request->stack_count > ETW_MAX_HEAP_STACKS) {
        return 0;
    }
    at = put_item_head(at, ITEM_PIDS, request->pid_count);
    for (size_t i = 0; i < request->pid_count; i++, at += WORD) {
        store_le32(at, request->pids[i]);
    }
    if (request->stack_count) {
        at = put_item_head(at, ITEM_STACKWALK_FILTER, request->stack_count);
    }
    for (size_t i = 0; i < request->stack_count; i++, at += WORD) {
        store_le32(at, (uint32_t)GROUP_HEAP << 8 | request->stacks[i]);
    }
    size_t bytes = (size_t)(at - ret_block);
    store_le16(ret_block, (uint16_t)(bytes / WORD));
    store_le16(ret_block + 2, request->stack_count ? 2 : 1);
    return bytes;
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* Report that another session has the GUID, which only one session can have. Always false. */
static bool fail_guid_taken(const struct etw_session_spec *spec, struct error *err)
{
    struct etw_session_list list;
    if (etw_control_query(spec->name, NULL, NULL) || !etw_control_list(&list, NULL)) {
        return false; /* its name is taken, which was reported already */
    }
    const struct etw_session_state *owner = NULL;
    for (size_t i = 0; i < list.count && !owner; i++) {
        owner = guid_equal(&list.items[i].guid, &etw_heap_guid) ? &list.items[i] : NULL;
    }
    if (owner) {
        error_set_os(err, ETW_ERROR_ALREADY_EXISTS,
            "wait until it has ended, or stop it: `etwship sessions stop NAME`",
            "session %.100s cannot be started: only one session at a time can trace heaps, and "
            "'%.100s' does",
            spec->name, owner->name);
    }
    etw_control_list_fini(&list);
    return false;
}

/* One code means no memory or no slot. */
static bool has_slots(void)
{
    struct etw_session_list list;
    bool has = true;
    if (etw_control_list(&list, NULL)) {
        has = list.count < etw_control_max_sessions();
        etw_control_list_fini(&list);
    }
    return has;
}

static bool no_memory(const struct etw_session_spec *spec, struct error *err)
{
    return error_set_os(err, err->os_code,
        "ask for fewer or smaller ones, as in buffers: {size: 256KB, min: 16}",
        "session %.100s cannot be started: Windows has no memory for %u to %u buffers of %u KB",
        spec->name, spec->min_buffers, spec->max_buffers, spec->buffer_kb);
}

/* Reword ${err} of a session start for heaps. Always false. */
static bool explain(const struct etw_session_spec *spec, struct error *err)
{
    switch (err->os_code) {
    case ETW_ERROR_ALREADY_EXISTS:
        return fail_guid_taken(spec, err);
    case ETW_ERROR_NOT_ENOUGH_MEMORY:
    case ETW_ERROR_OUTOFMEMORY:
        return no_memory(spec, err);
    case ETW_ERROR_NO_SYSTEM_RESOURCES:
        return has_slots() && no_memory(spec, err);
    case ETW_ERROR_INVALID_FLAGS:
        return error_set_os(err, err->os_code,
            "try without `stacks`, or install the Windows Performance Toolkit, which etwship then "
            "uses",
            "session %.100s cannot be started: this Windows does not accept the list of processes "
            "and stacks",
            spec->name);
    case ETW_ERROR_ACCESS_DENIED:
        return error_set_os(err, err->os_code, "run as administrator",
            "session %.100s cannot be started: only administrators may trace heaps", spec->name);
    default:
        return false;
    }
}

/* ---- start ----------------------------------------------------------------------------------- */

static bool start_extended(const struct etw_session_spec *spec,
    const struct etw_heap_request *request, struct etw_session_state *ret_state, struct error *err)
{
    uint8_t block[ETW_MAX_EXTENSION_BYTES];
    struct etw_session_spec extended = *spec;
    size_t bytes = etw_heap_encode(request, block);
    if (!bytes) {
        return error_set(err, ERR_LIMIT,
            "session %.100s: %zu processes and stacks of %zu kinds of events. name 1 to %d, and %d "
            "at most",
            spec->name, request->pid_count, request->stack_count, ETW_MAX_HEAP_PROCESSES,
            ETW_MAX_HEAP_STACKS);
    }
    extended.extension = span_make(block, bytes);
    return etw_control_start(&extended, ret_state, err);
}

static bool may_be_unknown(const struct error *err)
{
    return err->os_code == ETW_ERROR_INVALID_FLAGS || err->os_code == ETW_ERROR_INVALID_PARAMETER ||
           err->os_code == ETW_ERROR_NOT_SUPPORTED;
}

/* Arguments of the toolkit's functions, except for the processes. */
struct toolkit_call {
    struct etw_classic_event_id stacks[ETW_MAX_HEAP_STACKS];
    struct etw_start_block start;
    etw_char name[ETW_MAX_NAME_CHARS];
};

static bool fill_call(const struct etw_session_spec *spec, const struct etw_heap_request *request,
    struct toolkit_call *call, struct error *err)
{
    if (request->pid_count == 0 || request->stack_count > ETW_MAX_HEAP_STACKS) {
        return error_set(
            err, ERR_LIMIT, "session %.100s: no process, or too many stacks", spec->name);
    }
    for (size_t i = 0; i < request->stack_count; i++) {
        call->stacks[i] = (struct etw_classic_event_id){
            .guid = etw_heap_guid, .type = request->stacks[i]};
    }
    if (!etw_text_encode(span_text(spec->name), call->name, ETW_MAX_NAME_CHARS, NULL)) {
        return error_set(err, ERR_LIMIT, "session %.100s: its name is longer than %d characters",
            spec->name, ETW_MAX_NAME_CHARS - 1);
    }
    return etw_block_fill(&call->start, 1, spec, false, err);
}

static bool start_by_toolkit(const struct etw_session_spec *spec,
    const struct etw_heap_request *request, struct etw_session_state *ret_state, struct error *err)
{
    struct toolkit_call call;
    uint64_t handle = 0;
    if (!fill_call(spec, request, &call, err)) {
        return false;
    }
    uint32_t result = etw_toolkit_get()->StartHeapTrace(&handle, &call.start.block.properties,
        call.name, request->pids, (uint32_t)request->pid_count, call.stacks,
        (uint32_t)request->stack_count);
    if (result != ETW_SUCCESS) {
        return etw_api_fail(
            err, result, "session %.100s cannot be started by the toolkit", spec->name);
    }
    if (!etw_control_query(spec->name, ret_state, err)) {
        return false;
    }
    ret_state->handle = handle;
    return true;
}

bool etw_heap_start(const struct etw_session_spec *spec, const struct etw_heap_request *request,
    struct etw_session_state *ret_state, struct error *err)
{
    struct error why = {0};
    bool good = start_extended(spec, request, ret_state, &why);
    if (!good && may_be_unknown(&why) && etw_toolkit_get()->StartHeapTrace) {
        why.os_code = 0;
        good = start_by_toolkit(spec, request, ret_state, &why);
    }
    if (good && ret_state->handle == 0) {
        good = error_set(&why, ERR_IO,
            "session %.100s cannot be started: Windows gave it no handle. try again", spec->name);
    }
    if (!good) {
        explain(spec, &why);
        if (err) {
            *err = why;
        }
    }
    return good;
}

bool etw_heap_update(
    const struct etw_session_spec *spec, const struct etw_heap_request *request, struct error *err)
{
    struct toolkit_call call;
    if (!etw_toolkit_get()->UpdateHeapTrace) {
        return error_set(err, ERR_UNSUPPORTED,
            "without the Windows Performance Toolkit the processes of a session of heaps cannot "
            "change");
    }
    if (!fill_call(spec, request, &call, err)) {
        return false;
    }
    uint32_t result = etw_toolkit_get()->UpdateHeapTrace(&call.start.block.properties, call.name,
        request->pids, (uint32_t)request->pid_count, call.stacks, (uint32_t)request->stack_count);
    return result == ETW_SUCCESS ||
           etw_api_fail(err, result, "session %.100s cannot change its processes", spec->name);
}
