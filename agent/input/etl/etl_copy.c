#include "input/etl/etl_copy.h"

#include <stdlib.h>

#include "input/etl/etl_file.h"
#include "input/etl/evtx_file.h"
#include "input/evtx/evtx_format.h"

/* Where one of two files has not been written yet, it has zeros from the first difference to the
 * end of that buffer, or of the window for larger buffers. */
enum { WINDOW_BYTES = 1024 * 1024, HEADER_BYTES = 64 * 1024 };

struct layout {
    uint64_t begin; /* start of the buffers after the header; 0: unknown */
    size_t buffer_size;
};

/* The header buffer of a merged trace is smaller than the others. */
static uint64_t end_of_header(struct etl_file *file)
{
    uint8_t header[ETL_BUFFER_HEADER_SIZE];
    struct etl_buffer buffer;
    const char *problem = NULL;
    size_t got;
    bool good = etl_bytes_read(&file->bytes, 0, header, sizeof(header), &got, NULL) &&
                got == sizeof(header) && etl_buffer_parse(header, 0, &buffer, &problem) && !problem;
    return good ? buffer.size : 0;
}

static struct layout layout_of(const struct etl_place *place)
{
    struct arena arena;
    struct etl_handles handles = {.open = 0};
    arena_init(&arena, HEADER_BYTES);
    struct etl_file *file = place->part
                                ? etl_file_open_part(place->part, place->path, NULL, &arena, NULL)
                                : etl_file_open(place->path, NULL, &handles, &arena, NULL);
    const struct etl_info *info = file ? etl_file_info(file) : NULL;
    struct layout layout = {.begin = 0};
    if (file && evtx_file_is_one(file)) {
        layout = (struct layout){EVTX_FILE_HEADER_BYTES, EVTX_CHUNK_BYTES};
    } else if (info && !(info->mode & ETL_MODE_CIRCULAR) && info->buffer_size) {
        layout = (struct layout){end_of_header(file), info->buffer_size};
    }
    etl_file_destroy(file);
    arena_fini(&arena);
    return layout;
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

/* True if the files differ only because one of them is less complete. */
static bool part_by_time(const uint8_t *a, const uint8_t *b, size_t size, size_t buffer_size)
{
    size_t at = 0;
    while (at < size && a[at] == b[at]) {
        at++;
    }
    size_t end = (at / buffer_size + 1) * buffer_size;
    end = end < size ? end : size;
    return at == size || is_zero(a + at, end - at) || is_zero(b + at, end - at);
}

/* ${room}: two windows of memory. */
static bool compare(struct etl_bytes *a, struct etl_bytes *b, struct layout layout, uint8_t *room)
{
    const size_t buffer_size = layout.buffer_size;
    uint64_t at = layout.begin;
    const size_t window = WINDOW_BYTES / buffer_size ? WINDOW_BYTES / buffer_size * buffer_size
                                                     : WINDOW_BYTES;
    uint8_t *other = room + WINDOW_BYTES;
    for (;;) {
        size_t got;
        size_t got_other;
        if (!etl_bytes_read(a, at, room, window, &got, NULL) ||
            !etl_bytes_read(b, at, other, window, &got_other, NULL)) {
            return false;
        }
        size_t both = got < got_other ? got : got_other;
        if (memcmp(room, other, both) != 0) {
            return part_by_time(room, other, both, buffer_size);
        }
        if (both < window) {
            return true;
        }
        at += window;
    }
}

static bool open_bytes(
    struct etl_bytes *bytes, const struct etl_place *place, struct etl_handles *handles)
{
    if (!place->part) {
        return etl_bytes_open(bytes, place->path, handles, NULL);
    }
    etl_bytes_use_part(bytes, place->part, place->path);
    return true;
}

bool etl_copy_is(const struct etl_place *a, const struct etl_place *b)
{
    struct layout layout = layout_of(a);
    struct layout layout_of_other = layout_of(b);
    if (layout.begin == 0 || layout.begin != layout_of_other.begin) {
        return false;
    }
    uint8_t *room = malloc(2 * (size_t)WINDOW_BYTES);
    struct etl_handles handles = {.open = 0};
    struct etl_bytes bytes = {.size = 0};
    struct etl_bytes other = {.size = 0};
    bool same = room && open_bytes(&bytes, a, &handles) && open_bytes(&other, b, &handles) &&
                compare(&bytes, &other, layout, room);
    etl_bytes_close(&bytes);
    etl_bytes_close(&other);
    free(room);
    return same;
}
