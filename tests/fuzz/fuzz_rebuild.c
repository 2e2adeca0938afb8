#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "fuzz/fuzz.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "store/catalogue/catalogue_batches.h"
#include "store/disk/frame.h"
#include "store/store.h"
#include "support/disk_model.h"
#include "support/temp_folder.h"

/*
 * The input is a folder of segments, each with its size before it (2 bytes), and no catalogue. It
 * is rebuilt as it is, and again with correct checksums wherever a head has room for one. The
 * contents of the new catalogue must be in the files: every batch is read back, if the input has
 * its body; and the next start finds the same.
 */
enum { MAX_FILES = 4, MAX_FRAMES = 64, MAX_ROWS = 512 };

static char folder[TEMP_FOLDER_BYTES];
static char catalogue[TEMP_FOLDER_BYTES + 32];

static void remove_catalogue(void)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    char path[sizeof(catalogue) + 8];
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s%s", catalogue, suffixes[i]);
        plat_path_remove(path, NULL);
    }
}

static void clean_up(void)
{
    remove_catalogue();
    temp_folder_remove_empty(folder);
}

/* The catalogue is a real database, so TMPDIR had better be in memory. */
static void make_folder(void)
{
    if (folder[0]) {
        return;
    }
    if (temp_folder_make(folder, "rebuild") != 0) {
        abort();
    }
    snprintf(catalogue, sizeof(catalogue), "%s/catalogue.db", folder);
    atexit(clean_up);
}

static void segment_path(uint64_t segment, char path[TEMP_FOLDER_BYTES + 32])
{
    snprintf(path, TEMP_FOLDER_BYTES + 32, "%s/%016" PRIx64 ".seg", folder, segment);
}

/* ---- the input ------------------------------------------------------------------------------- */

static void mend(uint8_t *data, size_t size, uint64_t segment)
{
    if (size < FRAME_SEGMENT_HEAD_BYTES) {
        return;
    }
    store_le64(data + 24, segment);
    store_le32(data + 36, crc32c_add(0, span_make(data, 36)));
    size_t at = FRAME_SEGMENT_HEAD_BYTES;
    for (size_t i = 0; i < MAX_FRAMES && size - at >= FRAME_HEAD_BYTES; i++) {
        uint64_t rest = (uint64_t)load_le32(data + at + 8) + load_le32(data + at + 12);
        uint64_t room = size - at - FRAME_HEAD_BYTES;
        rest = rest < room ? rest : room;
        store_le64(data + at + 24, segment);
        store_le64(data + at + 32, at);
        store_le64(data + at + 40, load_le64(data + 16));
        store_le32(
            data + at + 96, crc32c_add(0, span_make(data + at + FRAME_HEAD_BYTES, (size_t)rest)));
        store_le32(data + at + 100, crc32c_add(0, span_make(data + at, 100)));
        at += FRAME_HEAD_BYTES + (size_t)rest;
    }
}

static void put_files(struct disk_model *model, struct span input, bool is_mended)
{
    for (uint64_t segment = 1; segment <= MAX_FILES && input.size >= 2; segment++) {
        struct span file = span_first(span_from(input, 2), load_le16(input.data));
        char path[TEMP_FOLDER_BYTES + 32];
        uint8_t *copy = malloc(file.size + 1);
        if (!copy) {
            abort();
        }
        memcpy(copy, file.data, file.size);
        if (is_mended) {
            mend(copy, file.size, segment);
        }
        segment_path(segment, path);
        disk_model_put(model, path, span_make(copy, file.size));
        free(copy);
        input = span_from(input, 2 + file.size);
    }
}

/* ---- what must be true ----------------------------------------------------------------------- */

static struct store *open_store(struct disk_model *model)
{
    const struct store_settings settings = {
        .folder = folder, .max_bytes = 1 << 20, .disk = disk_model_disk(model)};
    struct error err = {.code = ERR_NONE};
    struct store *store = store_open(&settings, &err);
    if (!store && err.code != ERR_UNSUPPORTED) { /* a segment of a newer version */
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    return store;
}

static size_t read_rows(struct catalogue_batch rows[MAX_ROWS])
{
    struct catalogue *read = catalogue_open(catalogue, CATALOGUE_READ, NULL);
    size_t count;
    if (!read || !catalogue_next_batches(read, 0, 0, UINT64_MAX, rows, MAX_ROWS, &count, NULL)) {
        abort();
    }
    catalogue_close(read);
    return count;
}

static void check_row(
    struct store *store, struct disk_model *model, const struct catalogue_batch *batch)
{
    const struct store_row row = {.id = batch->id,
        .stream = batch->stream,
        .epoch = batch->epoch,
        .first_record = batch->first_record,
        .records = batch->records,
        .body_bytes = batch->raw_bytes,
        .disk_bytes = batch->bytes,
        .segment = batch->segment,
        .offset = batch->offset};
    char path[TEMP_FOLDER_BYTES + 32];
    struct buf room;
    struct span body;
    segment_path(batch->segment, path);
    struct span file = disk_model_content(model, path);
    if (batch->offset > file.size || batch->bytes > file.size - batch->offset) {
        abort();
    }
    buf_init(&room, STORE_READ_ROOM_BYTES);
    if (store_read(store, &row, &room, &body, NULL) != STORE_READ_OK) {
        abort();
    }
    bool is_packed = file.data[batch->offset + 7] & 1;
    struct span end = span_from(file, (size_t)(batch->offset + batch->bytes) - body.size);
    if (!is_packed && (body.size > batch->bytes || !span_equal(span_first(end, body.size), body))) {
        abort();
    }
    buf_fini(&room);
}

static void rebuild(struct span input, bool is_mended)
{
    static struct catalogue_batch rows[MAX_ROWS];
    static struct catalogue_batch again[MAX_ROWS];
    struct disk_model *model = disk_model_create(1);
    remove_catalogue();
    put_files(model, input, is_mended);
    struct store *store = open_store(model);
    if (store) {
        size_t count = read_rows(rows);
        for (size_t i = 0; i < count; i++) {
            if (i && rows[i].id <= rows[i - 1].id) {
                abort();
            }
            check_row(store, model, &rows[i]);
        }
        store_close(store);
        store = open_store(model);
        if (!store || read_rows(again) != count ||
            memcmp(rows, again, count * sizeof(rows[0])) != 0) {
            abort();
        }
    }
    store_close(store);
    disk_model_destroy(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    make_folder();
    rebuild(span_make(data, size), false);
    rebuild(span_make(data, size), true);
    return 0;
}

/* A database is made four times. */
unsigned fuzz_slowness(void)
{
    return 40;
}

/* ---- seeds ----------------------------------------------------------------------------------- */

static void append(struct store *store, uint64_t stream, uint64_t number, bool is_long)
{
    static const uint8_t zeros[500];
    struct store_row row;
    const struct store_source source = {.session = span_text("dns"), .sequence = number};
    const struct store_batch batch = {.stream = stream,
        .body = is_long ? span_make(zeros, sizeof(zeros)) : span_text("{}"),
        .records = 2,
        .sources = &source,
        .source_count = 1};
    if (!store_append(store, &batch, &row, NULL)) {
        abort();
    }
}

/* Two files of two streams; the second one packed. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    struct store_committed committed;
    uint64_t streams[2];
    size_t size = 0;
    if (index > 1 || max < 8192) {
        return 0;
    }
    make_folder();
    remove_catalogue();
    struct disk_model *model = disk_model_create(1);
    const struct store_settings settings = {
        .folder = folder, .disk = disk_model_disk(model), .segment_bytes = 300, .zstd = index == 1};
    struct store *store = store_open(&settings, NULL);
    if (!store || !store_stream(store, span_text("a"), 1, span_text(""), &streams[0], NULL) ||
        !store_stream(store, span_text("b"), 2, span_text("x"), &streams[1], NULL)) {
        abort();
    }
    for (uint64_t i = 1; i < 4; i++) {
        append(store, streams[i % 2], i, index == 1);
    }
    if (!store_commit(store, &committed, NULL)) {
        abort();
    }
    store_close(store);
    for (uint64_t segment = 1; segment <= MAX_FILES; segment++) {
        char path[TEMP_FOLDER_BYTES + 32];
        segment_path(segment, path);
        struct span file = disk_model_content(model, path);
        if (file.size && file.size + 2 <= max - size) {
            store_le16(out + size, (uint16_t)file.size);
            memcpy(out + size + 2, file.data, file.size);
            size += 2 + file.size;
        }
    }
    disk_model_destroy(model);
    return size;
}
