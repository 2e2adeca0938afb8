#include "etw/session/etw_control.h"

#include <stdio.h>

#include "base/append.h"
#include "etw/etw_api.h"
#include "etw/session/etw_block.h"
#include "etw/session/etw_kernel.h"

/*
 * Version of the block and unit of the flush timer: the newer form is tried first; if Windows
 * refuses it with INVALID_PARAMETER or BAD_LENGTH, the older form is tried. If the form was not the
 * reason, that fails with the same error.
 */
static bool may_be_too_new(uint32_t result)
{
    return result == ETW_ERROR_INVALID_PARAMETER || result == ETW_ERROR_BAD_LENGTH;
}

static bool encode_name(const char *name, etw_char *units, struct error *err)
{
    if (!name || !*name) {
        return error_set(err, ERR_CONFIG, "a session has no name. give it one");
    }
    if (!etw_text_encode(span_text(name), units, ETW_MAX_NAME_CHARS, NULL)) {
        return error_set(err, ERR_LIMIT,
            "session %.100s...: its name has more than %d characters. use a shorter one", name,
            ETW_MAX_NAME_CHARS - 1);
    }
    return true;
}

/* ---- query, stop, flush: everything that only names the session ------------------------------ */

/* The NT Kernel Logger is identified by GUID and name: pass both. */
static uint32_t control(
    const char *name, const etw_char *units, uint32_t code, struct etw_block *block)
{
    bool is_kernel = etw_text_same_name(name, ETW_KERNEL_LOGGER);
    uint32_t result = ETW_ERROR_INVALID_PARAMETER;
    for (int version = 2; version > 0 && may_be_too_new(result); version--) {
        etw_block_init(block, version);
        if (is_kernel) {
            block->properties.wnode.guid = etw_kernel_guid;
        }
        if (code != ETW_CONTROL_QUERY && code != ETW_CONTROL_STOP) {
            /* otherwise a flush would go into that file */
            block->properties.log_file_name_offset = 0;
        }
        result = etw_api_get()->ControlTraceW(0, units, &block->properties, code);
    }
    return result;
}

/* The values that ETW wrote, with the requested name if it wrote none. */
static void read_state(
    const struct etw_block *block, const char *name, struct etw_session_state *ret_state)
{
    etw_block_read(block, ret_state);
    if (!ret_state->name[0]) {
        snprintf(ret_state->name, sizeof(ret_state->name), "%s", name);
    }
}

/* ${what} completes an error text: "cannot be stopped". */
static bool control_named(const char *name, uint32_t code, const char *what,
    struct etw_session_state *ret_state, struct error *err)
{
    struct etw_block block;
    etw_char units[ETW_MAX_NAME_CHARS];
    if (!etw_api_get()->ControlTraceW) {
        return etw_api_missing(err, "ControlTraceW");
    }
    if (!encode_name(name, units, err)) {
        return false;
    }
    uint32_t result = control(name, units, code, &block);
    bool is_done = result == ETW_SUCCESS ||
                   (code == ETW_CONTROL_STOP && result == ETW_ERROR_MORE_DATA);
    if (!is_done) {
        return etw_api_fail(err, result, "session %.100s %s", name, what);
    }
    if (ret_state) {
        read_state(&block, name, ret_state);
    }
    return true;
}

bool etw_control_query(const char *name, struct etw_session_state *ret_state, struct error *err)
{
    return control_named(name, ETW_CONTROL_QUERY, "cannot be queried", ret_state, err);
}

bool etw_control_flush(const char *name, struct error *err)
{
    return control_named(name, ETW_CONTROL_FLUSH, "cannot be flushed", NULL, err);
}

bool etw_control_convert(const char *name, struct etw_session_state *ret_state, struct error *err)
{
    struct etw_session_state state;
    if (!etw_control_flush(name, err) ||
        !control_named(
            name, ETW_CONTROL_CONVERT_TO_REALTIME, "cannot continue in real time", NULL, err) ||
        !etw_control_query(name, &state, err)) {
        return false;
    }
    if (!(state.mode & ETW_MODE_REAL_TIME) || state.file[0]) {
        return error_set(err, ERR_UNSUPPORTED, "session %.100s still writes its file", name);
    }
    *ret_state = state;
    return true;
}

bool etw_control_stop(const char *name, struct etw_session_state *ret_state, struct error *err)
{
    return control_named(name, ETW_CONTROL_STOP, "cannot be stopped", ret_state, err);
}

/* ---- start ----------------------------------------------------------------------------------- */

/* Name the running session that has the requested name or GUID. */
static bool already_exists(const struct etw_session_spec *spec, struct error *err)
{
    const uint32_t code = ETW_ERROR_ALREADY_EXISTS;
    struct etw_session_list list;
    struct etw_session_state same;
    if (etw_control_query(spec->name, &same, NULL) || !etw_control_list(&list, NULL)) {
        return etw_api_fail(err, code, "session %.100s cannot be started", spec->name);
    }
    const struct etw_session_state *owner = NULL;
    for (size_t i = 0; i < list.count && !owner; i++) {
        owner = guid_equal(&list.items[i].guid, &spec->guid) ? &list.items[i] : NULL;
    }
    if (owner) {
        error_set_os(err, code, "stop that one first, if it is not needed",
            "session %.100s cannot be started: session '%.100s' already has its GUID", spec->name,
            owner->name);
    } else {
        etw_api_fail(err, code, "session %.100s cannot be started", spec->name);
    }
    etw_control_list_fini(&list);
    return false;
}

/* List the used slots; the sessions with kernel events by name, since there are few. */
static bool no_slot(const struct etw_session_spec *spec, struct error *err)
{
    const uint32_t code = ETW_ERROR_NO_SYSTEM_RESOURCES;
    struct etw_session_list list;
    if (!etw_control_list(&list, NULL)) {
        return etw_api_fail(err, code, "session %.100s cannot be started", spec->name);
    }
    char names[192] = "";
    size_t system_count = 0;
    for (size_t i = 0; i < list.count; i++) {
        if (!etw_control_is_system(&list.items[i])) {
            continue;
        }
        append_printf(
            names, sizeof(names), "%s%.40s", system_count ? ", " : ": ", list.items[i].name);
        system_count++;
    }
    error_set_os(err, code, "stop one of them; `etwship sessions list` shows all",
        "session %.100s cannot be started: no slot is free. %zu of %u sessions run, %zu of 8 with "
        "kernel events%s",
        spec->name, list.count, etw_control_max_sessions(), system_count, names);
    etw_control_list_fini(&list);
    return false;
}

static bool wants_system(const struct etw_session_spec *spec)
{
    struct etw_session_state state = {.mode = spec->mode, .guid = spec->guid};
    return etw_control_is_system(&state);
}

static bool start_failed(const struct etw_session_spec *spec, uint32_t code, struct error *err)
{
    switch (code) {
    case ETW_ERROR_ALREADY_EXISTS:
        return already_exists(spec, err);
    case ETW_ERROR_NO_SYSTEM_RESOURCES:
        return no_slot(spec, err);
    case ETW_ERROR_ACCESS_DENIED:
        if (wants_system(spec)) {
            return error_set_os(err, code,
                "sessions with kernel events are for administrators and LocalSystem. run as "
                "administrator",
                "session %.100s cannot be started", spec->name);
        }
        break;
    case ETW_ERROR_INVALID_PARAMETER:
        return etw_api_fail(err, code,
            "session %.100s cannot be started (mode 0x%x, %u to %u buffers of %u KB, clock %u)",
            spec->name, spec->mode, spec->min_buffers, spec->max_buffers, spec->buffer_kb,
            spec->clock);
    default:
        break;
    }
    return etw_api_fail(err, code, "session %.100s cannot be started%s%.100s", spec->name,
        spec->file ? " with the file " : "", spec->file ? spec->file : "");
}

bool etw_control_start(
    const struct etw_session_spec *spec, struct etw_session_state *ret_state, struct error *err)
{
    struct etw_start_block start;
    etw_char name[ETW_MAX_NAME_CHARS];
    uint64_t handle = 0;
    uint32_t result = ETW_ERROR_INVALID_PARAMETER;
    const struct etw_api *api = etw_api_get();
    if (!api->StartTraceW) {
        return etw_api_missing(err, "StartTraceW");
    }
    if (!encode_name(spec->name, name, err)) {
        return false;
    }
    bool wants_ms = spec->flush_ms % 1000 != 0;
    for (int form = wants_ms ? 0 : 2; form < 4 && may_be_too_new(result); form++) {
        int version = form % 2 ? 1 : 2;
        if (!etw_block_fill(&start, version, spec, form < 2, err)) {
            return false;
        }
        result = api->StartTraceW(&handle, name, &start.block.properties);
    }
    if (result != ETW_SUCCESS) {
        return start_failed(spec, result, err);
    }
    /* StartTrace may write back only the requested values; a query returns the actual ones. */
    if (!etw_control_query(spec->name, ret_state, NULL)) {
        read_state(&start.block, spec->name, ret_state);
    }
    ret_state->handle = handle;
    return true;
}

/* ---- update ---------------------------------------------------------------------------------- */

/* EVENT_TRACE_FLAG_EXTENSION: then the rest is an offset into a block that no longer exists. */
static const uint32_t extension_flag = UINT32_C(0x80000000);

/*
 * The groups of kernel events to enable after the UPDATE, which disables all others: "set
 * EnableFlags to 0 to disable all kernel providers" (controltracew). False: they are unknown.
 */
static bool groups_after(const struct etw_session_state *state,
    const struct etw_session_change *change, struct etw_groups *ret_groups)
{
    bool known = etw_control_is_system(state);
    if (known && change->groups) {
        *ret_groups = *change->groups;
    } else if (known) {
        known = etw_kernel_get_groups(state->handle, state->name, ret_groups, NULL);
    }
    if (known) {
        if (change->set_enable_flags) {
            ret_groups->words[0] = change->enable_flags;
        }
        ret_groups->words[0] &= ~extension_flag;
    }
    return known;
}

/* The flags of an UPDATE if the groups are unknown. False: the session has kernel events without
 * flags, which the UPDATE would disable for good. */
static bool flags_after(const struct etw_session_state *state,
    const struct etw_session_change *change, uint32_t *ret_flags, struct error *err)
{
    uint32_t flags = change->set_enable_flags ? change->enable_flags : state->enable_flags;
    bool is_extended = !change->set_enable_flags && (flags & extension_flag);
    if (is_extended && etw_control_is_system(state)) {
        return error_set(err, ERR_UNSUPPORTED,
            "session %.100s cannot be changed: this Windows does not say which kernel events it "
            "has. stop it and start it with other settings",
            state->name);
    }
    *ret_flags = is_extended ? 0 : flags & ~extension_flag;
    return true;
}

/* Fill in the current values of all members that UPDATE can change, then change them, since zero
 * may count as a value. Of the mode only one bit can change; Windows refuses others, such as that
 * of a preallocated file, even if the session has them. */
static bool fill_update(struct etw_block *block, int version, const struct etw_session_state *state,
    const struct etw_session_change *change, uint32_t enable_flags, struct error *err)
{
    struct etw_properties *p = &block->properties;
    etw_block_init(block, version);
    p->wnode.guid = state->guid;
    p->wnode.client_context = state->clock;
    p->buffer_size = state->buffer_kb;
    p->minimum_buffers = state->min_buffers;
    p->maximum_buffers = change->set_max_buffers ? change->max_buffers : state->max_buffers;
    p->maximum_file_size = state->max_file_size;
    p->log_file_mode = state->mode & (ETW_MODE_REAL_TIME | ETW_MODE_USE_MS_FLUSH_TIMER);
    p->flush_timer = etw_block_timer(
        change->set_flush ? change->flush_ms : state->flush_ms, state->mode);
    p->enable_flags = enable_flags;
    p->v2_options = version == 2 ? state->v2_options : 0;
    if (change->set_real_time) {
        p->log_file_mode &= ~ETW_MODE_REAL_TIME;
        p->log_file_mode |= change->real_time ? ETW_MODE_REAL_TIME : 0;
    }
    if (!change->file) {
        p->log_file_name_offset = 0;
    } else if (!etw_text_encode(span_text(change->file), block->file, ETW_MAX_NAME_CHARS, NULL)) {
        return error_set(err, ERR_LIMIT,
            "the file's name has more than %d characters. use a shorter path",
            ETW_MAX_NAME_CHARS - 1);
    }
    return true;
}

bool etw_control_update(const char *name, const struct etw_session_change *change,
    struct etw_session_state *ret_state, struct error *err)
{
    struct etw_session_state state;
    struct etw_groups groups;
    struct etw_block block;
    etw_char units[ETW_MAX_NAME_CHARS];
    if (!etw_control_query(name, &state, err) || !encode_name(name, units, err)) {
        return false;
    }
    if (change->set_enable_flags && !etw_control_is_system(&state)) {
        return error_set(err, ERR_CONFIG,
            "session %.100s has no kernel events, so it has no kernel flags. leave them out", name);
    }
    uint32_t flags = 0;
    bool has_groups = groups_after(&state, change, &groups);
    if (has_groups) {
        flags = groups.words[0];
    } else if (!flags_after(&state, change, &flags, err)) {
        return false;
    }
    uint32_t result = ETW_ERROR_INVALID_PARAMETER;
    for (int version = 2; version > 0 && may_be_too_new(result); version--) {
        if (!fill_update(&block, version, &state, change, flags, err)) {
            return false;
        }
        result = etw_api_get()->ControlTraceW(0, units, &block.properties, ETW_CONTROL_UPDATE);
    }
    if (result != ETW_SUCCESS) {
        return etw_api_fail(err, result, "session %.100s cannot be changed", name);
    }
    if (has_groups && !etw_kernel_bring_back(state.handle, name, &groups, err)) {
        return false;
    }
    return etw_control_query(name, ret_state, err);
}
