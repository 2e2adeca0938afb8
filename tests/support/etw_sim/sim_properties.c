/* EVENT_TRACE_PROPERTIES, first and second version: the members of the caller's block that are
 * used, and those that are written back. Its Wnode.BufferSize and the two offsets stay
 * unchanged. */
#include "support/etw_sim/sim_state.h"

static uint32_t fixed_size(const struct etw_properties *p)
{
    return p->wnode.flags & ETW_WNODE_VERSIONED_PROPERTIES ? (uint32_t)sizeof(*p)
                                                           : ETW_PROPERTIES_V1_BYTES;
}

/* Does a name that ends within the block start at ${offset}? */
static const etw_char *name_at(const struct etw_properties *p, uint32_t offset)
{
    const etw_char *name = (const etw_char *)(const void *)((const uint8_t *)p + offset);
    size_t room = (p->wnode.buffer_size - offset) / 2;
    return sim_text_length(name, room) < room ? name : NULL;
}

static bool offset_is_good(const struct etw_properties *p, uint32_t offset)
{
    return offset >= fixed_size(p) && offset < p->wnode.buffer_size && offset % 2 == 0;
}

uint32_t sim_properties_check(const struct etw_properties *p, const etw_char **ret_file)
{
    if (p->wnode.buffer_size < ETW_PROPERTIES_V1_BYTES || p->wnode.buffer_size < fixed_size(p)) {
        return ETW_ERROR_BAD_LENGTH;
    }
    if ((p->logger_name_offset && !offset_is_good(p, p->logger_name_offset)) ||
        (p->log_file_name_offset && !offset_is_good(p, p->log_file_name_offset))) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    if (!ret_file) {
        return 0;
    }
    /* Wnode.Flags are ignored: programs that leave WNODE_FLAG_TRACED_GUID out work on Windows
     * (golang-etw), and so do those that leave VersionNumber 0 (goetw). */
    if (fixed_size(p) == sizeof(*p) && (p->version & 0xff) > 2) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    const etw_char *file = p->log_file_name_offset ? name_at(p, p->log_file_name_offset) : NULL;
    if (p->log_file_name_offset && !file) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    *ret_file = file && file[0] ? file : NULL;
    return 0;
}

/* Write ${text} at ${offset}; its area ends with the block, or where the other name begins. */
static bool put_name(
    struct etw_properties *p, uint32_t offset, uint32_t other, const etw_char *text)
{
    if (offset == 0) {
        return true;
    }
    uint32_t end = other > offset ? other : p->wnode.buffer_size;
    size_t bytes = (sim_text_length(text, ETW_MAX_NAME_CHARS) + 1) * 2;
    if (bytes > end - offset) {
        return false;
    }
    memcpy((uint8_t *)p + offset, text, bytes);
    return true;
}

uint32_t sim_properties_fill(const struct sim_session *s, struct etw_properties *p)
{
    p->wnode.historical_context = sim_session_handle(s);
    p->wnode.guid = s->guid;
    p->wnode.client_context = s->clock;
    p->buffer_size = s->buffer_bytes / 1024;
    p->minimum_buffers = s->minimum;
    p->maximum_buffers = s->maximum;
    p->maximum_file_size = s->max_file_size;
    p->log_file_mode = s->mode;
    p->flush_timer = s->flush_timer;
    p->enable_flags = s->system ? s->mask[0] : s->enable_flags;
    p->age_limit = s->age_limit;
    p->number_of_buffers = s->number;
    p->free_buffers = s->number > s->in_pool ? s->number - s->in_pool : 0;
    p->events_lost = (uint32_t)s->counts.events_lost;
    p->buffers_written = s->buffers_written;
    p->log_buffers_lost = s->log_buffers_lost;
    p->real_time_buffers_lost = s->real_time_buffers_lost;
    p->logger_thread_id = 0x1000 + (uint64_t)s->id * 4;
    if (fixed_size(p) == sizeof(*p)) {
        p->v2_options = s->v2_options;
    }
    bool fits = put_name(p, p->logger_name_offset, p->log_file_name_offset, s->name16);
    fits = put_name(p, p->log_file_name_offset, p->logger_name_offset, s->file16) && fits;
    return fits ? 0 : ETW_ERROR_MORE_DATA;
}
