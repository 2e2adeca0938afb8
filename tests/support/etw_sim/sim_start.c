/* StartTrace: which modes go together (logging-mode-constants, event_trace_properties_v2), and the
 * session that comes of it. */
#include <stdlib.h>

#include "support/etw_sim/sim_remote.h"

/* Modes that exclude each other. */
static const struct {
    uint32_t mode;
    uint32_t others;
} exclusive[] = {
    {ETW_MODE_SEQUENTIAL, ETW_MODE_CIRCULAR | ETW_MODE_NEWFILE},
    {ETW_MODE_CIRCULAR, ETW_MODE_APPEND | ETW_MODE_NEWFILE},
    {ETW_MODE_APPEND, ETW_MODE_REAL_TIME | ETW_MODE_NEWFILE | ETW_MODE_PRIVATE_LOGGER},
    {ETW_MODE_REAL_TIME, ETW_MODE_PRIVATE_LOGGER | ETW_MODE_BUFFERING},
    {ETW_MODE_BUFFERING, ETW_MODE_SEQUENTIAL | ETW_MODE_CIRCULAR | ETW_MODE_NEWFILE |
                             ETW_MODE_APPEND | ETW_MODE_PREALLOCATE},
    {ETW_MODE_PRIVATE_LOGGER,
        ETW_MODE_PREALLOCATE | ETW_MODE_INDEPENDENT_SESSION | ETW_MODE_SYSTEM_LOGGER},
    {ETW_MODE_USE_GLOBAL_SEQUENCE, ETW_MODE_USE_LOCAL_SEQUENCE},
    {ETW_MODE_STOP_ON_HYBRID_SHUTDOWN, ETW_MODE_PERSIST_ON_HYBRID_SHUTDOWN},
};

static bool has_counter(const etw_char *file)
{
    for (; file && *file; file++) {
        if (file[0] == '%' && file[1] == 'd') {
            return true;
        }
    }
    return false;
}

static bool modes_agree(uint32_t mode)
{
    for (size_t i = 0; i < sizeof(exclusive) / sizeof(exclusive[0]); i++) {
        if (mode & exclusive[i].mode && mode & exclusive[i].others) {
            return false;
        }
    }
    return !(mode & ETW_MODE_PRIVATE_IN_PROC) || mode & ETW_MODE_PRIVATE_LOGGER;
}

uint32_t sim_start_modes(
    const struct etw_sim *sim, const struct etw_properties *p, bool system, const etw_char *file)
{
    uint32_t mode = p->log_file_mode;
    const uint32_t sized = ETW_MODE_NEWFILE | ETW_MODE_PREALLOCATE | ETW_MODE_CIRCULAR;
    if (!modes_agree(mode) || mode & ETW_MODE_NONSTOPPABLE ||
        (mode & ETW_MODE_USE_MS_FLUSH_TIMER && sim->options.no_ms_flush_timer) ||
        (mode & sized && !p->maximum_file_size) ||
        (mode & ETW_MODE_NEWFILE && (!has_counter(file) || system)) ||
        (mode & ETW_MODE_APPEND && p->wnode.client_context != TRACE_CLOCK_SYSTEM_TIME) ||
        (mode & ETW_MODE_USE_PAGED_MEMORY && system) || p->wnode.client_context > 3) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    if (mode & ETW_MODE_PRIVATE_LOGGER) {
        return ETW_ERROR_NOT_SUPPORTED;
    }
    if (!file && !(mode & (ETW_MODE_REAL_TIME | ETW_MODE_BUFFERING))) {
        return ETW_ERROR_BAD_PATHNAME;
    }
    return 0;
}

/* The group masks of a system session: EnableFlags, or the extension block that it points to. */
static bool take_flags(struct sim_session *s, const struct etw_properties *p)
{
    enum { ITEM_FLAGS = 1, ITEM_STACKS = 3 };
    const uint32_t extension = UINT32_C(0x80000000);
    uint32_t flags = p->enable_flags;
    if (!(flags & extension)) {
        s->mask[0] = flags;
        return true;
    }
    struct span block = span_make(p, p->wnode.buffer_size);
    struct span rest = span_from(block, flags & 0xffff);
    if ((flags >> 16 & 0xff) != 0xff) { /* a group mask of so many dwords */
        size_t words = flags >> 16 & 0x7f;
        for (size_t i = 0; i < words && i < 8 && rest.size >= 4 * (i + 1); i++) {
            s->mask[i] = load_le32(rest.data + 4 * i);
        }
        return words > 0 && rest.size >= 4 * words;
    }
    if (rest.size < 4) {
        return false;
    }
    uint16_t items = load_le16(rest.data + 2);
    rest = span_first(rest, (size_t)load_le16(rest.data) * 4);
    rest = span_from(rest, 4);
    for (uint16_t i = 0; i < items; i++) {
        size_t bytes = rest.size >= 4 ? (size_t)load_le16(rest.data) * 4 : 0;
        if (bytes < 4 || bytes > rest.size) {
            return false;
        }
        uint16_t type = load_le16(rest.data + 2);
        for (size_t k = 0; type == ITEM_FLAGS && k < 8 && 4 + 4 * k < bytes; k++) {
            s->mask[k] = load_le32(rest.data + 4 + 4 * k);
        }
        for (size_t k = 4; type == ITEM_STACKS && k < bytes; k += 4) {
            sim_kernel_add_stack_hook(s, (uint16_t)load_le32(rest.data + k));
        }
        rest = span_from(rest, bytes);
    }
    return true;
}

static struct sim_session *make(struct etw_sim *sim, const etw_char *name,
    const struct etw_properties *p, const etw_char *file, bool system)
{
    struct sim_session *s = calloc(1, sizeof(*s));
    if (!s) {
        return NULL;
    }
    s->sim = sim;
    memcpy(s->name16, name, (sim_text_length(name, ETW_MAX_NAME_CHARS - 1)) * 2);
    if (file) {
        memcpy(s->file16, file, (sim_text_length(file, ETW_MAX_NAME_CHARS - 1)) * 2);
    }
    s->guid = p->wnode.guid;
    s->system = system;
    s->mode = p->log_file_mode;
    s->buffer_bytes = p->buffer_size > 16384 ? 16384 * 1024 : p->buffer_size * 1024;
    s->minimum = p->minimum_buffers > 65536 ? 65536 : p->minimum_buffers;
    s->maximum = p->maximum_buffers;
    s->max_file_size = p->maximum_file_size;
    s->flush_timer = p->flush_timer;
    s->age_limit = p->age_limit;
    s->enable_flags = p->enable_flags;
    s->clock = p->wnode.client_context ? p->wnode.client_context : TRACE_CLOCK_QPC;
    s->v2_options = p->wnode.flags & ETW_WNODE_VERSIONED_PROPERTIES ? p->v2_options : 0;
    if (sim_text_equal(name, sim_session_kernel_name)) {
        s->guid = sim_session_system_guid;
    }
    return s;
}

static uint32_t start(
    struct etw_sim *sim, uint64_t *ret_session, const etw_char *name, struct etw_properties *p)
{
    const etw_char *file = NULL;
    if (!ret_session || !name || !p || !name[0] ||
        sim_text_length(name, ETW_MAX_NAME_CHARS) >= ETW_MAX_NAME_CHARS) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    uint32_t code = sim_properties_check(p, &file);
    if (code) {
        return code;
    }
    if (!p->logger_name_offset) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    if ((sim_text_length(name, ETW_MAX_NAME_CHARS) + 1) * 2 >
        p->wnode.buffer_size - p->logger_name_offset) {
        return ETW_ERROR_BAD_LENGTH;
    }
    bool kernel_name = sim_text_equal(name, sim_session_kernel_name);
    if (guid_equal(&p->wnode.guid, &sim_session_system_guid) && !kernel_name) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    bool system = kernel_name || p->log_file_mode & ETW_MODE_SYSTEM_LOGGER;
    code = sim_start_modes(sim, p, system, file);
    if (!code && sim->options.not_administrator) {
        code = ETW_ERROR_ACCESS_DENIED;
    }
    struct sim_session *s = code ? NULL : make(sim, name, p, file, system);
    if (!s) {
        return code ? code : ETW_ERROR_NOT_ENOUGH_MEMORY;
    }
    if (system && !take_flags(s, p)) {
        sim_session_free(s);
        return ETW_ERROR_INVALID_PARAMETER;
    }
    code = sim_session_begin(sim, s);
    if (code) {
        return code;
    }
    *ret_session = sim_session_handle(s);
    sim_rundown_write(s, false);
    return sim_properties_fill(s, p);
}

uint32_t etw_sim_StartTraceW(
    uint64_t *ret_session, const etw_char *name, struct etw_properties *properties)
{
    struct etw_sim *remote = sim_remote_world();
    if (remote) {
        return sim_remote_start(remote, ret_session, name, properties);
    }
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_StartTraceW, &code);
    if (sim) {
        code = start(sim, ret_session, name, properties);
        sim_world_note(sim, "start", name, code);
        sim_world_leave(sim, code);
    }
    return code;
}
