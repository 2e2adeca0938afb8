/* StartTrace: which modes exclude each other (logging-mode-constants, event_trace_properties_v2),
 * and the new session. */
#include <stdlib.h>

#include "etw/session/etw_heap.h"
#include "event/model/kernel_groups.h"
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
    if (mode & ETW_MODE_PRIVATE_LOGGER) { /* as if every process had the largest allowed number */
        return ETW_ERROR_NO_SYSTEM_RESOURCES;
    }
    if (!file && !(mode & (ETW_MODE_REAL_TIME | ETW_MODE_BUFFERING))) {
        return ETW_ERROR_BAD_PATHNAME;
    }
    return 0;
}

/* Items of EnableFlags' extension (ETW_EXT_* of ntwmi.h). */
enum { ITEM_FLAGS = 1, ITEM_PIDS = 2, ITEM_STACKS = 3 };

static bool take_masks(struct sim_session *s, struct span data)
{
    for (size_t k = 0; k < 8 && 4 * k < data.size; k++) {
        s->mask[k] = load_le32(data.data + 4 * k);
    }
    return data.size > 0 && data.size <= 32;
}

static bool take_pids(struct sim_session *s, struct span data)
{
    for (size_t k = 0; k < data.size && s->pid_count < SIM_MAX_PIDS; k += 4) {
        s->pids[s->pid_count++] = load_le32(data.data + k);
    }
    return s->heap && data.size > 0 && data.size <= 4 * (size_t)SIM_MAX_PIDS;
}

static bool take_stacks(struct sim_session *s, struct span data)
{
    for (size_t k = 0; k < data.size; k += 4) {
        uint32_t hook = load_le32(data.data + k);
        if (hook > UINT16_MAX || !kernel_group_class((uint16_t)hook)) {
            return false;
        }
        sim_kernel_add_stack_hook(s, (uint16_t)hook);
    }
    return data.size > 0 && data.size <= 4 * (size_t)SIM_MAX_STACK_IDS;
}

/* One item; the rest of the block is what follows it. */
static bool take_item(struct sim_session *s, struct span *rest)
{
    size_t bytes = rest->size >= 4 ? (size_t)load_le16(rest->data) * 4 : 0;
    if (bytes < 4 || bytes > rest->size) {
        return false;
    }
    uint16_t type = load_le16(rest->data + 2);
    struct span data = span_from(span_first(*rest, bytes), 4);
    *rest = span_from(*rest, bytes);
    return type == ITEM_FLAGS    ? take_masks(s, data)
           : type == ITEM_PIDS   ? take_pids(s, data)
           : type == ITEM_STACKS ? take_stacks(s, data)
                                 : false;
}

/* A list of items with a header: both of its numbers must be true. */
static bool take_items(struct sim_session *s, struct span block)
{
    size_t bytes = block.size >= 4 ? (size_t)load_le16(block.data) * 4 : 0;
    if (bytes < 4 || bytes > block.size) {
        return false;
    }
    uint16_t items = load_le16(block.data + 2);
    struct span rest = span_from(span_first(block, bytes), 4);
    for (uint16_t i = 0; i < items; i++) {
        if (!take_item(s, &rest)) {
            return false;
        }
    }
    return rest.size == 0;
}

/* The group masks of a system session, the processes of one of heaps: EnableFlags, or the extension
 * block that it points to. */
static bool take_flags(struct sim_session *s, const struct etw_properties *p)
{
    const uint32_t extension = UINT32_C(0x80000000);
    uint32_t flags = p->enable_flags;
    if (!(flags & extension)) {
        s->mask[0] = flags;
        return !s->heap;
    }
    struct span block = span_make(p, p->wnode.buffer_size);
    struct span rest = span_from(block, flags & 0xffff);
    if ((flags & 0xffff) < ETW_PROPERTIES_V1_BYTES || (flags & 0xffff) % 4) {
        return false;
    }
    /* Length in dwords. 0xff stands for a list with a header of its own, but the check of the block
     * may take it for a length, too. So a block that ends after a shorter list is refused. */
    if (rest.size < 4 * (size_t)(flags >> 16 & 0xff)) {
        return false;
    }
    if ((flags >> 16 & 0xff) == 0xff) {
        return take_items(s, rest) && (!s->heap || s->pid_count > 0);
    }
    /* A group mask of so many dwords. */
    size_t words = flags >> 16 & 0x7f;
    return !s->heap && rest.size >= 4 * words && take_masks(s, span_first(rest, 4 * words));
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
    /* Offset 0 is not called invalid, and programs that leave it so have their sessions. */
    uint32_t room = p->wnode.buffer_size - p->logger_name_offset;
    if (p->logger_name_offset && (sim_text_length(name, ETW_MAX_NAME_CHARS) + 1) * 2 > room) {
        return ETW_ERROR_BAD_LENGTH;
    }
    bool kernel_name = sim_text_equal(name, sim_session_kernel_name);
    if (guid_equal(&p->wnode.guid, &sim_session_system_guid) && !kernel_name) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    bool system = kernel_name || p->log_file_mode & ETW_MODE_SYSTEM_LOGGER;
    bool heap = guid_equal(&p->wnode.guid, &etw_heap_guid);
    code = heap && system ? ETW_ERROR_INVALID_PARAMETER
                          : sim_start_modes(sim, p, system || heap, file);
    if (!code && sim->options.not_administrator) {
        code = ETW_ERROR_ACCESS_DENIED;
    }
    struct sim_session *s = code ? NULL : make(sim, name, p, file, system);
    if (!s) {
        return code ? code : ETW_ERROR_NOT_ENOUGH_MEMORY;
    }
    s->heap = heap;
    if ((system || heap) && !take_flags(s, p)) {
        sim_session_free(s);
        return heap ? ETW_ERROR_INVALID_FLAGS : ETW_ERROR_INVALID_PARAMETER;
    }
    code = sim_session_begin(sim, s);
    if (code) {
        return code;
    }
    *ret_session = sim_session_handle(s);
    sim_rundown_write(s, false);
    sim_rundown_write_heaps(s);
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
