#include "etw/session/etw_block.h"

/* EnableFlags that point to an extension with its own header (TRACE_ENABLE_FLAG_EXTENSION with
 * Length 0xff, ntwmi.h); the low 16 bits are the offset. */
#define EXTENSION_FLAGS UINT32_C(0x80ff0000)

uint32_t etw_block_timer(uint32_t flush_ms, uint32_t mode)
{
    if (mode & ETW_MODE_USE_MS_FLUSH_TIMER) {
        return flush_ms;
    }
    return flush_ms / 1000 + (flush_ms % 1000 != 0);
}

void etw_block_init(struct etw_block *block, int version)
{
    struct etw_properties *p = &block->properties;
    memset(block, 0, sizeof(*block));
    p->wnode.buffer_size = sizeof(*block);
    p->wnode.flags = ETW_WNODE_TRACED_GUID;
    p->logger_name_offset = offsetof(struct etw_block, name);
    p->log_file_name_offset = offsetof(struct etw_block, file);
    if (version == 2) {
        p->wnode.flags |= ETW_WNODE_VERSIONED_PROPERTIES;
        p->version = 2;
    }
}

bool etw_block_fill(struct etw_start_block *start, int version, const struct etw_session_spec *spec,
    bool use_ms, struct error *err)
{
    struct etw_block *block = &start->block;
    struct etw_properties *p = &block->properties;
    memset(start, 0, sizeof(*start));
    etw_block_init(block, version);
    p->wnode.buffer_size = sizeof(*start);
    p->wnode.guid = spec->guid;
    p->wnode.client_context = spec->clock;
    p->buffer_size = spec->buffer_kb;
    p->minimum_buffers = spec->min_buffers;
    p->maximum_buffers = spec->max_buffers;
    p->maximum_file_size = spec->max_file_size;
    p->log_file_mode = spec->mode & ~ETW_MODE_USE_MS_FLUSH_TIMER;
    p->log_file_mode |= use_ms ? ETW_MODE_USE_MS_FLUSH_TIMER : 0;
    p->flush_timer = etw_block_timer(spec->flush_ms, p->log_file_mode);
    p->enable_flags = spec->enable_flags;
    p->age_limit = (int32_t)spec->flush_threshold;
    p->v2_options = version == 2 ? spec->v2_options : 0;
    if (!spec->file) {
        p->log_file_name_offset = 0;
    } else if (!etw_text_encode(span_text(spec->file), block->file, ETW_MAX_NAME_CHARS, NULL)) {
        return error_set(err, ERR_LIMIT,
            "session %.100s: the name of its file has more than %d "
            "characters. use a shorter path",
            spec->name, ETW_MAX_NAME_CHARS - 1);
    }
    if (spec->extension.size > ETW_MAX_EXTENSION_BYTES) {
        return error_set(err, ERR_LIMIT, "session %.100s: its kernel flags need more than %d bytes",
            spec->name, ETW_MAX_EXTENSION_BYTES);
    }
    if (spec->extension.size) {
        memcpy(start->extension, spec->extension.data, spec->extension.size);
        p->enable_flags = EXTENSION_FLAGS | offsetof(struct etw_start_block, extension);
    }
    return true;
}

/* The text at ${offset} of a block; "" if the offset is invalid. */
static void read_text(const struct etw_block *block, uint32_t offset, char *text)
{
    bool is_inside = offset >= ETW_PROPERTIES_V1_BYTES && offset % 2 == 0 &&
                     offset < sizeof(*block);
    *text = '\0';
    if (is_inside) {
        const etw_char *units = (const etw_char *)(const void *)((const uint8_t *)block + offset);
        size_t room = (sizeof(*block) - offset) / 2;
        etw_text_decode(
            units, room < ETW_MAX_NAME_CHARS ? room : ETW_MAX_NAME_CHARS, text, ETW_NAME_BYTES);
    }
}

void etw_block_read(const struct etw_block *block, struct etw_session_state *ret_state)
{
    const struct etw_properties *p = &block->properties;
    bool is_ms = (p->log_file_mode & ETW_MODE_USE_MS_FLUSH_TIMER) != 0;
    uint64_t flush_ms = is_ms ? p->flush_timer : (uint64_t)p->flush_timer * 1000;
    struct etw_session_state *s = ret_state;
    s->handle = p->wnode.historical_context;
    read_text(block, p->logger_name_offset, s->name);
    read_text(block, p->log_file_name_offset, s->file);
    s->guid = p->wnode.guid;
    s->clock = p->wnode.client_context;
    s->buffer_kb = p->buffer_size;
    s->min_buffers = p->minimum_buffers;
    s->max_buffers = p->maximum_buffers;
    s->buffers = p->number_of_buffers;
    s->free_buffers = p->free_buffers;
    s->buffers_written = p->buffers_written;
    s->events_lost = p->events_lost;
    s->log_buffers_lost = p->log_buffers_lost;
    s->real_time_buffers_lost = p->real_time_buffers_lost;
    s->mode = p->log_file_mode;
    s->flush_ms = flush_ms > UINT32_MAX ? UINT32_MAX : (uint32_t)flush_ms;
    s->max_file_size = p->maximum_file_size;
    s->enable_flags = p->enable_flags;
    s->v2_options = p->wnode.flags & ETW_WNODE_VERSIONED_PROPERTIES ? p->v2_options : 0;
}
