#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "input/file/input_schedule.h"

/* A schedule that is read can be written, and writing gives the same bytes again. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MAX_BYTES = 1 << 22 };
    struct error err;
    struct input_schedule first;
    struct input_schedule second;
    struct buf written;
    struct buf again;
    input_schedule_init(&first);
    input_schedule_init(&second);
    buf_init(&written, MAX_BYTES);
    buf_init(&again, MAX_BYTES);
    if (input_schedule_read(span_make(data, size), &first, &err)) {
        if (!input_schedule_write(&first, &written, &err) ||
            !input_schedule_read(buf_span(&written), &second, &err) ||
            !input_schedule_write(&second, &again, &err) ||
            !span_equal(buf_span(&written), buf_span(&again))) {
            abort();
        }
        for (size_t i = 0; i < first.file_count; i++) {
            input_schedule_settle(&first, first.files[i].id);
        }
    } else if (err.text[0] == '\0' || first.count) {
        abort();
    }
    buf_fini(&again);
    buf_fini(&written);
    input_schedule_fini(&second);
    input_schedule_fini(&first);
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const uint8_t ids[3][16] = {{1}, {2}, {3}};
    struct input_schedule s;
    struct buf bytes;
    if (index > 1) {
        return 0;
    }
    input_schedule_init(&s);
    buf_init(&bytes, max);
    for (uint64_t i = 0; i < 12; i++) {
        input_schedule_add(&s, (enum schedule_kind)(i % SCHEDULE_KINDS), ids[i % 3], i * i * 1000);
    }
    if (index == 1) {
        input_schedule_add(&s, SCHEDULE_WHOLE, ids[0], 0);
        input_schedule_settle(&s, ids[0]);
    }
    size_t size = input_schedule_write(&s, &bytes, NULL) ? bytes.size : 0;
    if (size) {
        memcpy(out, bytes.data, size);
    }
    buf_fini(&bytes);
    input_schedule_fini(&s);
    return size;
}
