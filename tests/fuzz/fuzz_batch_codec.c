#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "pipeline/batch/batch_codec.h"

/* A decoded batch can be used without further checks, and encoding it again gives a batch that
 * decodes to the same. */

static const char *const sessions[] = {"kernel", "security", ""};
static const struct batch_codec codec = {.sessions = sessions, .session_count = 3, .other = 2};

static struct batch *read_copy(struct span bytes)
{
    struct error err;
    struct buf body;
    buf_init(&body, BATCH_CODEC_MAX_BYTES);
    uint8_t *data = malloc(bytes.size ? bytes.size : 1);
    if (!data) {
        abort();
    }
    if (bytes.size) {
        memcpy(data, bytes.data, bytes.size);
    }
    buf_adopt(&body, data, bytes.size);
    body.size = bytes.size;
    struct batch *batch = batch_codec_read(&codec, &body, buf_span(&body), &err);
    buf_fini(&body);
    return batch;
}

/* Looks at everything that a delivery would look at. */
static uint64_t use(const struct batch *batch)
{
    const struct piece *piece = &batch->piece;
    uint64_t sum = 0;
    for (size_t i = 0; i < piece->count; i++) {
        for (size_t k = piece_start(piece, i); k < piece->ends[i]; k++) {
            sum += piece->bytes.data[k];
        }
        sum += batch->own ? 0 : batch->segments[batch_segment_of(batch, i)].session;
        sum += piece->positions ? piece->positions[i].record_offset : 0;
        for (size_t k = 0; k < piece->route_count; k++) {
            sum += piece->routes[k].names[piece->routes[k].indexes[i]].size;
        }
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct batch *batch = read_copy(span_make(data, size));
    if (!batch) {
        return 0;
    }
    struct span body;
    struct error err;
    uint64_t sum = use(batch);
    if (!batch_codec_write(&codec, batch, &body, &err)) {
        abort();
    }
    struct batch *again = read_copy(body);
    if (!again || use(again) != sum || again->segment_count != batch->segment_count) {
        abort();
    }
    batch_destroy(again);
    batch_destroy(batch);
    return 0;
}

/* A batch of ${index} and some records. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index > 2) {
        return 0;
    }
    size_t size = 0;
    struct span body;
    struct error err;
    struct batch *batch = batch_create(index, NULL, 0);
    if (!batch) {
        abort();
    }
    for (uint32_t i = 0; i < 3; i++) {
        struct record_position position = {.file_id = {(uint8_t)(1 + i / 2)}, .record_offset = i};
        bool ok = index == 0 || piece_add_position(&batch->piece, &position);
        for (size_t k = 0; k < index; k++) {
            ok = ok && routes_add(&batch->piece.routes[k], span_text(i % 2 ? "odd" : "even"));
        }
        buf_add_text(&batch->piece.bytes, "{}\n");
        struct batch_segment segment = {.session = i / 2, .last_sequence = i + 1};
        if (!ok || !piece_end_record(&batch->piece, i + 1) || !batch_mark(batch, &segment)) {
            abort();
        }
    }
    if (batch_codec_write(&codec, batch, &body, &err) && body.size <= max) {
        memcpy(out, body.data, body.size);
        size = body.size;
    }
    batch_destroy(batch);
    return size;
}
