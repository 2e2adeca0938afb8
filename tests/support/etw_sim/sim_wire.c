#include "support/etw_sim/sim_wire.h"

void sim_wire_put_session(struct buf *out, const struct sim_session *s)
{
    etl_put_u16(out, s->id);
    etl_put_u32(out, s->buffer_bytes);
    etl_put_u32(out, s->max_file_size);
    etl_put_u32(out, s->mode);
    etl_put_u32(out, s->clock);
    etl_put_u64(out, (uint64_t)s->start_raw);
    etl_put_u64(out, s->start_time);
    etl_put_u32(out, s->buffers_written);
    etl_put_u64(out, s->counts.events_lost);
    etl_put_u32(out, s->real_time_buffers_lost);
    sim_wire_put_text(out, s->name16);
    sim_wire_put_text(out, s->file16);
}

static void take_text(struct reader *in, etw_char out[ETW_MAX_NAME_CHARS])
{
    etw_char text[ETW_MAX_NAME_CHARS + 1] = {0};
    if (sim_wire_text(in, text)) {
        memcpy(out, text, (ETW_MAX_NAME_CHARS - 1) * sizeof(*text));
    }
}

bool sim_wire_session(struct reader *in, struct sim_session *s)
{
    s->id = reader_u16(in);
    s->buffer_bytes = reader_u32(in);
    s->max_file_size = reader_u32(in);
    s->mode = reader_u32(in);
    s->clock = reader_u32(in);
    s->start_raw = (int64_t)reader_u64(in);
    s->start_time = reader_u64(in);
    s->buffers_written = reader_u32(in);
    s->counts.events_lost = reader_u64(in);
    s->real_time_buffers_lost = reader_u32(in);
    take_text(in, s->name16);
    take_text(in, s->file16);
    sim_text_to_utf8(s->name16, s->name_text, sizeof(s->name_text));
    sim_text_to_utf8(s->file16, s->file_text, sizeof(s->file_text));
    s->name = span_text(s->name_text);
    return !in->failed && s->buffer_bytes >= SIM_BUFFER_HEADER &&
           s->buffer_bytes <= SIM_LINK_MAX_BYTES / 2;
}
