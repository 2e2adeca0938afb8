/* ControlTrace and QueryAllTraces (evntrace.h). */
#include <stdlib.h>

#include "support/etw_sim/sim_remote.h"

/* UPDATE: EnableFlags, FlushTimer, MaximumBuffers, the real-time bit, and the file name if its
 * offset is not 0 (controltracew). */
static uint32_t update(struct sim_session *s, const struct etw_properties *p, const etw_char *file)
{
    if (s->mode & ETW_MODE_BUFFERING && p->log_file_mode & ETW_MODE_REAL_TIME) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    if (file && s->mode & ETW_MODE_NEWFILE) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    if (file) {
        uint32_t code = sim_file_rename(s, file);
        if (code) {
            return code;
        }
    }
    if (s->system) {
        sim_kernel_update(s, p->enable_flags);
    }
    if (p->flush_timer) {
        s->flush_timer = p->flush_timer;
    }
    if (p->maximum_buffers >= s->minimum && !(s->mode & ETW_MODE_BUFFERING)) {
        s->maximum = p->maximum_buffers;
    }
    s->mode = (s->mode & ~ETW_MODE_REAL_TIME) | (p->log_file_mode & ETW_MODE_REAL_TIME);
    sim_session_arm(s);
    return 0;
}

static uint32_t flush(struct sim_session *s)
{
    if (s->mode & ETW_MODE_BUFFERING) {
        sim_file_snapshot(s);
    } else {
        sim_buffer_flush(s, false);
        sim_file_flush(s);
    }
    return 0;
}

/* "Convert a file-mode trace to Real-time trace" (evntrace.h): what is in buffers belongs to the
 * file. */
static void convert(struct sim_session *s)
{
    const uint32_t file_modes = ETW_MODE_SEQUENTIAL | ETW_MODE_CIRCULAR | ETW_MODE_APPEND |
                                ETW_MODE_NEWFILE | ETW_MODE_PREALLOCATE |
                                ETW_MODE_USE_KBYTES_FOR_SIZE;
    if (s->file) {
        sim_buffer_flush(s, false);
        sim_file_close(s);
        s->file_text[0] = 0;
        memset(s->file16, 0, sizeof(s->file16));
    }
    s->mode = (s->mode & ~file_modes) | ETW_MODE_REAL_TIME;
    sim_session_arm(s);
}

static uint32_t act(
    struct sim_session *s, struct etw_properties *p, const etw_char *file, uint32_t control)
{
    switch (control) {
    case ETW_CONTROL_QUERY:
        return 0;
    case ETW_CONTROL_UPDATE:
        return update(s, p, file);
    case ETW_CONTROL_FLUSH:
        return flush(s);
    case ETW_CONTROL_INCREMENT_FILE:
        return sim_file_increment(s);
    case ETW_CONTROL_CONVERT_TO_REALTIME:
        if (s->sim->options.os_build < 20348) {
            return ETW_ERROR_INVALID_PARAMETER;
        }
        convert(s);
        return 0;
    default:
        return ETW_ERROR_INVALID_PARAMETER;
    }
}

/* The file name of an UPDATE, whatever value Wnode.Flags has. */
static uint32_t find_file(struct etw_properties *p, const etw_char **ret_file)
{
    struct etw_wnode wnode = p->wnode;
    p->wnode.flags = ETW_WNODE_TRACED_GUID;
    uint32_t code = sim_properties_check(p, ret_file);
    p->wnode.flags = wnode.flags;
    return code;
}

static uint32_t control_session(struct etw_sim *sim, uint64_t session, const etw_char *name,
    struct etw_properties *p, uint32_t control)
{
    const etw_char *file = NULL;
    if (!p || (!name && session == 0)) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    uint32_t code = sim_world_control_fault(sim, control);
    if (!code) {
        code = sim_properties_check(p, NULL);
    }
    if (!code && control == ETW_CONTROL_UPDATE) {
        code = find_file(p, &file);
    }
    if (code) {
        return code;
    }
    struct sim_session *s = sim_session_find(sim, session, name);
    if (!s) {
        return ETW_ERROR_WMI_INSTANCE_NOT_FOUND;
    }
    if (s->control_error || sim->options.not_administrator) {
        return s->control_error ? s->control_error : ETW_ERROR_ACCESS_DENIED;
    }
    if (control == ETW_CONTROL_STOP) {
        s->users++;
        sim_session_end(s);
        sim_watch_session(s, 11);
        code = sim_properties_fill(s, p);
        sim_world_note(sim, "stop", s->name16, code);
        sim_session_release(s);
        return code;
    }
    code = act(s, p, file, control);
    if (!code && control == ETW_CONTROL_UPDATE) {
        sim_watch_session(s, 12);
    }
    return code ? code : sim_properties_fill(s, p);
}

uint32_t etw_sim_ControlTraceW(
    uint64_t session, const etw_char *name, struct etw_properties *properties, uint32_t control)
{
    struct etw_sim *remote = sim_remote_world();
    if (remote) {
        return sim_remote_control(remote, session, name, properties, control);
    }
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_ControlTraceW, &code);
    return sim ? sim_world_leave(sim, control_session(sim, session, name, properties, control))
               : code;
}

/* As many as there is room for; ERROR_MORE_DATA and the full number if that is not all. Room for
 * more sessions than there can be is refused (queryalltraces). */
static uint32_t query_all(
    struct etw_sim *sim, struct etw_properties **list, uint32_t capacity, uint32_t *ret_count)
{
    if (!list || !ret_count || capacity == 0 || capacity > sim->options.max_sessions) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    uint32_t count = 0;
    uint32_t code = 0;
    for (size_t i = 0; i < SIM_MAX_SESSIONS; i++) {
        const struct sim_session *s = sim->sessions[i];
        if (!s || sim->options.not_administrator) {
            continue;
        }
        if (count < capacity) {
            struct etw_properties *p = list[count];
            if (!p) {
                return ETW_ERROR_INVALID_PARAMETER;
            }
            code = sim_properties_check(p, NULL);
            if (code) {
                return code;
            }
            sim_properties_fill(s, p);
        }
        count++;
    }
    *ret_count = count;
    return count > capacity ? ETW_ERROR_MORE_DATA : 0;
}

uint32_t etw_sim_QueryAllTracesW(
    struct etw_properties **list, uint32_t capacity, uint32_t *ret_count)
{
    struct etw_sim *remote = sim_remote_world();
    if (remote) {
        return sim_remote_query_all(remote, list, capacity, ret_count);
    }
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_QueryAllTracesW, &code);
    return sim ? sim_world_leave(sim, query_all(sim, list, capacity, ret_count)) : code;
}
