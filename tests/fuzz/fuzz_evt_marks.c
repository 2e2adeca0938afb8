#include "fuzz/fuzz.h"

#include <stdlib.h>

#include "input/live/evt_marks.h"

/* Any bytes as bookmarks of an earlier run: bookmarks that are accepted are written again without a
 * change. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct evt_marks *marks = evt_marks_create(NULL);
    struct evt_marks *again = evt_marks_create(NULL);
    struct buf first;
    struct buf second;
    buf_init(&first, 1 << 24);
    buf_init(&second, 1 << 24);
    if (!marks || !again) {
        abort();
    }
    evt_marks_read(marks, span_make(data, size));
    if (!evt_marks_write(marks, 0, &first, NULL) || !evt_marks_read(again, buf_span(&first)) ||
        !evt_marks_write(again, 0, &second, NULL) ||
        !span_equal(buf_span(&first), buf_span(&second))) {
        abort();
    }
    buf_fini(&first);
    buf_fini(&second);
    evt_marks_destroy(marks);
    evt_marks_destroy(again);
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const uint8_t seed[] = {
        1, 1, 0, 'A', 9, 0, 0, 0, 0, 0, 0, 0, 2, 0, 'B', 'C', 1, 0, 0, 0, 0, 0, 0, 0};
    if (index > 0 || max < sizeof(seed)) {
        return 0;
    }
    memcpy(out, seed, sizeof(seed));
    return sizeof(seed);
}
