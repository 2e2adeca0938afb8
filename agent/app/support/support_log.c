#include "app/support/support_log.h"

#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_file.h"
#include "platform/plat_system.h"

bool support_log_path(const struct app_log *log, char path[SUPPORT_LOG_PATH_BYTES])
{
    bool is_named = log && log->file && strcmp(log->file, "auto") != 0 &&
                    strcmp(log->file, "stderr") != 0;
    const char *folder = plat_default_data_folder();
    if (!is_named && !folder) {
        return false;
    }
    int size = is_named ? snprintf(path, SUPPORT_LOG_PATH_BYTES, "%s", log->file)
                        : snprintf(path, SUPPORT_LOG_PATH_BYTES, "%s/logs/etwship.log", folder);
    return size < SUPPORT_LOG_PATH_BYTES && (is_named || plat_path_kind(path) == PLAT_PATH_FILE);
}

/* Append what follows the first line break of the last ${most} bytes, or all if there are no more:
 * ${ret_whole}. */
static bool add_end(
    struct plat_file *file, size_t most, struct buf *out, bool *ret_whole, struct error *err)
{
    uint64_t size = 0;
    size_t got = 0;
    if (!plat_file_size(file, &size, err)) {
        return false;
    }
    uint64_t start = size > most ? size - most : 0;
    *ret_whole = start == 0;
    if (!buf_reserve(out, most)) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    uint8_t *data = out->data + out->size;
    if (!plat_file_read_at(file, start, data, most, &got, err)) {
        return false;
    }
    const uint8_t *line = start && got ? memchr(data, '\n', got) : NULL;
    size_t skipped = !start ? 0 : line ? (size_t)(line - data) + 1 : got;
    memmove(data, data + skipped, got - skipped);
    out->size += got - skipped;
    return true;
}

static bool read_end(
    const char *path, size_t most, struct buf *out, bool *ret_whole, struct error *err)
{
    struct plat_file *file = plat_file_open(path, PLAT_FILE_READ_ITSELF, err);
    bool good = file && add_end(file, most, out, ret_whole, err);
    plat_file_close(file);
    return good;
}

bool support_log_read(const char *path, struct buf *out, struct error *err)
{
    struct buf newest;
    char older[SUPPORT_LOG_PATH_BYTES + 8];
    buf_init(&newest, SUPPORT_LOG_MAX_BYTES);
    bool whole = false;
    bool good = read_end(path, SUPPORT_LOG_MAX_BYTES, &newest, &whole, err);
    snprintf(older, sizeof(older), "%s.1", path);
    if (good && whole && plat_path_kind(older) == PLAT_PATH_FILE) {
        good = read_end(older, SUPPORT_LOG_MAX_BYTES - newest.size, out, &whole, err);
    }
    buf_add_span(out, buf_span(&newest));
    buf_fini(&newest);
    return good;
}
