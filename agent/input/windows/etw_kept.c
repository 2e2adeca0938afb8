#include "input/windows/etw_kept.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "input/provider_spec.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"

enum { MAX_FILE_BYTES = 1024, MAX_PATH_BYTES = 4096 };

static bool path_of(
    const char *data_dir, const char *session, const char *suffix, char path[MAX_PATH_BYTES])
{
    int size = snprintf(path, MAX_PATH_BYTES, "%s/etw-%s.kept%s", data_dir, session, suffix);
    return size > 0 && size < MAX_PATH_BYTES;
}

/* The part of ${text} before the next blank or line's end, which are cut off. */
static struct span cut(struct span *text)
{
    size_t size = 0;
    while (size < text->size && text->data[size] != ' ' && text->data[size] != '\n') {
        size++;
    }
    struct span part = span_first(*text, size);
    *text = span_from(*text, size + 1);
    return part;
}

static bool cut_u32(struct span *text, uint32_t *ret_number)
{
    uint64_t number = 0;
    bool good = provider_spec_parse_bits(cut(text), &number) && number <= UINT32_MAX;
    *ret_number = (uint32_t)number;
    return good;
}

static bool parse(struct span text, struct etw_kept *kept)
{
    return span_is(cut(&text), "2") && guid_parse(cut(&text), &kept->fingerprint) &&
           provider_spec_parse_bits(cut(&text), &kept->handle) &&
           guid_parse(cut(&text), &kept->look) && cut_u32(&text, &kept->events_lost) &&
           cut_u32(&text, &kept->log_buffers_lost) &&
           cut_u32(&text, &kept->real_time_buffers_lost) && span_is(cut(&text), "end");
}

/* Not of it: what CONTROL_UPDATE may change about how much is kept and how soon it comes. */
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
    char path[MAX_PATH_BYTES];
    char *data;
    size_t size;
    struct etw_kept kept;
    if (!data_dir || !path_of(data_dir, session, "", path) ||
        !plat_file_load(path, MAX_FILE_BYTES, &data, &size, NULL)) {
        return false;
    }
    bool good = parse(span_make(data, size), &kept);
    free(data);
    if (good) {
        *ret_kept = kept;
    }
    return good;
}

bool etw_kept_save(
    const char *data_dir, const char *session, const struct etw_kept *kept, struct error *err)
{
    char path[MAX_PATH_BYTES];
    char fresh[MAX_PATH_BYTES];
    char guid[GUID_TEXT_SIZE];
    char look[GUID_TEXT_SIZE];
    char text[256];
    if (!data_dir) {
        return true;
    }
    if (!path_of(data_dir, session, "", path) || !path_of(data_dir, session, ".new", fresh)) {
        return error_set(err, ERR_LIMIT, "the path of the data folder is too long");
    }
    guid_write(&kept->fingerprint, guid);
    guid_write(&kept->look, look);
    int size = snprintf(text, sizeof(text),
        "2 %.36s 0x%" PRIx64 " %.36s %" PRIu32 " %" PRIu32 " %" PRIu32 " end\n", guid, kept->handle,
        look, kept->events_lost, kept->log_buffers_lost, kept->real_time_buffers_lost);
    struct plat_file *file = plat_file_open(fresh, PLAT_FILE_CREATE, err);
    bool good = file && plat_file_write(file, span_make(text, (size_t)size), err) &&
                plat_file_sync(file, err);
    plat_file_close(file);
    return good && plat_path_rename(fresh, path, err);
}

void etw_kept_forget(const char *data_dir, const char *session)
{
    char path[MAX_PATH_BYTES];
    if (data_dir && path_of(data_dir, session, "", path)) {
        plat_path_remove(path, NULL);
    }
}
