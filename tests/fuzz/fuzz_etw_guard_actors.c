#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "input/windows/session/etw_guard_actors.h"

/* Two bytes of an event's id, then its payload: the name that is found lies within it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct etw_guard_change change;
    if (size < 2) {
        return 0;
    }
    struct span payload = span_make(data + 2, size - 2);
    uint16_t id = (uint16_t)(data[0] | data[1] << 8);
    if (etw_guard_actors_read(id, payload, &change) &&
        (change.session.data < payload.data || change.session.size == 0 ||
            change.session.data + change.session.size > payload.data + payload.size)) {
        abort();
    }
    return 0;
}

/* A session stopped, a provider disabled. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const uint8_t ids[] = {11, 15};
    static const uint8_t rest[] = {
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 0, 1, 0, 8, 'a', 0, 'b', 0, 0, 0};
    if (index >= sizeof(ids) || sizeof(rest) + 2 > max) {
        return 0;
    }
    out[0] = ids[index];
    out[1] = 0;
    memcpy(out + 2, rest, sizeof(rest));
    return sizeof(rest) + 2;
}
