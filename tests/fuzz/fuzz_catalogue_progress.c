#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "store/catalogue/catalogue_progress.h"

/* Any bytes as the sessions in a row of progress: sessions that are read lie within them, and
 * writing these again gives the bytes that were read. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span rest = span_make(data, size);
    struct span session;
    uint64_t sequence;
    struct buf again;
    buf_init(&again, size + 1);
    while (catalogue_progress_next(&rest, &session, &sequence) &&
           session.size <= CATALOGUE_NAME_MAX_BYTES) {
        catalogue_progress_add(&again, session, sequence);
        size_t read = size - rest.size;
        if (again.failed || again.size != read || memcmp(again.data, data, read) != 0) {
            abort();
        }
    }
    buf_fini(&again);
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    struct buf sessions;
    buf_init(&sessions, max);
    for (size_t i = 0; index < 3 && i <= index; i++) {
        catalogue_progress_add(&sessions, span_text(i ? "security" : ""), i * 1000);
    }
    size_t size = sessions.failed ? 0 : sessions.size;
    if (size) {
        memcpy(out, sessions.data, size);
    }
    buf_fini(&sessions);
    return size;
}
