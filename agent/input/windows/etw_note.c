#include "input/windows/etw_note.h"

#include <stdio.h>
#include <stdlib.h>

#include "input/live/provider_spec.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"

enum { MAX_PATH_BYTES = 4096 };

static bool path_of(
    const char *data_dir, const char *session, const char *kind, char path[MAX_PATH_BYTES])
{
    int size = data_dir ? snprintf(path, MAX_PATH_BYTES, "%s/etw-%s.%s", data_dir, session, kind)
                        : 0;
    return size > 0 && size < MAX_PATH_BYTES;
}

bool etw_note_load(
    const char *data_dir, const char *session, const char *kind, struct etw_note *ret_note)
{
    char path[MAX_PATH_BYTES];
    char *data;
    size_t size;
    if (!path_of(data_dir, session, kind, path) ||
        !plat_file_load(path, sizeof(ret_note->text), &data, &size, NULL)) {
        return false;
    }
    memcpy(ret_note->text, data, size);
    ret_note->rest = span_make(ret_note->text, size);
    free(data);
    return true;
}

struct span etw_note_word(struct etw_note *note)
{
    struct span text = note->rest;
    size_t size = 0;
    while (size < text.size && text.data[size] != ' ' && text.data[size] != '\n') {
        size++;
    }
    note->rest = span_from(text, size + 1);
    return span_first(text, size);
}

bool etw_note_number(struct etw_note *note, uint64_t max, uint64_t *ret_number)
{
    return provider_spec_parse_bits(etw_note_word(note), ret_number) && *ret_number <= max;
}

bool etw_note_save(const char *data_dir, const char *session, const char *kind, struct span line,
    struct error *err)
{
    char path[MAX_PATH_BYTES];
    if (!data_dir) {
        return true;
    }
    return path_of(data_dir, session, kind, path)
               ? plat_file_replace(path, line, err)
               : error_set(err, ERR_LIMIT, "the path of the data folder is too long");
}

void etw_note_remove(const char *data_dir, const char *session, const char *kind)
{
    char path[MAX_PATH_BYTES];
    if (path_of(data_dir, session, kind, path)) {
        plat_path_remove(path, NULL);
    }
}
