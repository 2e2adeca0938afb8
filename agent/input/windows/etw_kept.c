#include "input/windows/etw_kept.h"

#include <inttypes.h>
#include <stdio.h>

#include "input/windows/etw_note.h"

static const char kind[] = "kept";

static bool read_u32(struct etw_note *note, uint32_t *ret_number)
{
    uint64_t number = 0;
    bool good = etw_note_number(note, UINT32_MAX, &number);
    *ret_number = (uint32_t)number;
    return good;
}

static bool parse(struct etw_note *note, struct etw_kept *kept)
{
    return span_is(etw_note_word(note), "2") &&
           guid_parse(etw_note_word(note), &kept->fingerprint) &&
           etw_note_number(note, UINT64_MAX, &kept->handle) &&
           guid_parse(etw_note_word(note), &kept->look) && read_u32(note, &kept->events_lost) &&
           read_u32(note, &kept->log_buffers_lost) &&
           read_u32(note, &kept->real_time_buffers_lost) && span_is(etw_note_word(note), "end");
}

/* Excludes what CONTROL_UPDATE may change about memory and flush time. */
struct guid etw_kept_look(const struct etw_session_state *state)
{
    char text[128 + ETW_NAME_BYTES];
    char guid[GUID_TEXT_SIZE];
    guid_write(&state->guid, guid);
    int size = snprintf(text, sizeof(text), "%.36s %u %u %u %x %x %s", guid, state->clock,
        state->buffer_kb, state->min_buffers, state->mode, state->enable_flags, state->file);
    return guid_from_name(span_make(text, (size_t)size));
}

bool etw_kept_load(const char *data_dir, const char *session, struct etw_kept *ret_kept)
{
    struct etw_note note;
    struct etw_kept kept;
    if (!etw_note_load(data_dir, session, kind, &note) || !parse(&note, &kept)) {
        return false;
    }
    *ret_kept = kept;
    return true;
}

bool etw_kept_save(
    const char *data_dir, const char *session, const struct etw_kept *kept, struct error *err)
{
    char guid[GUID_TEXT_SIZE];
    char look[GUID_TEXT_SIZE];
    char text[256];
    guid_write(&kept->fingerprint, guid);
    guid_write(&kept->look, look);
    int size = snprintf(text, sizeof(text),
        "2 %.36s 0x%" PRIx64 " %.36s %" PRIu32 " %" PRIu32 " %" PRIu32 " end\n", guid, kept->handle,
        look, kept->events_lost, kept->log_buffers_lost, kept->real_time_buffers_lost);
    return etw_note_save(data_dir, session, kind, span_make(text, (size_t)size), err);
}

void etw_kept_delete(const char *data_dir, const char *session)
{
    etw_note_remove(data_dir, session, kind);
}
