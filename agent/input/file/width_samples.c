#include "input/file/width_samples.h"

#include <stdlib.h>
#include <xxhash.h>

#include "base/bytes.h"

/* A hash table without chains: a later kind of events replaces an earlier one in its slot, which
 * then counts from zero. That yields some more samples, never fewer. */
enum { SLOTS = 4096 };

struct slot {
    uint64_t kind; /* hash of what distinguishes kinds of events */
    uint32_t count;
};

struct width_samples {
    const struct trace_info *trace; /* trace of the counted events */
    struct slot slots[SLOTS];
};

struct width_samples *width_samples_create(void)
{
    return calloc(1, sizeof(struct width_samples));
}

void width_samples_destroy(struct width_samples *samples)
{
    free(samples);
}

static uint64_t kind_of(const struct event_record *record)
{
    enum { GUID_BYTES = sizeof(record->provider.bytes) };
    uint8_t key[GUID_BYTES + 6];
    memcpy(key, record->provider.bytes, GUID_BYTES);
    key[GUID_BYTES] = record->descriptor.version;
    key[GUID_BYTES + 1] = record->pointer_size;
    store_le32(key + GUID_BYTES + 2, record->process_id);
    return XXH3_64bits(key, sizeof(key));
}

bool width_samples_take(struct width_samples *samples, const struct event_record *record)
{
    if (!samples || record->kind != RECORD_CLASSIC || record_is_metadata(record)) {
        return false;
    }
    if (samples->trace != record->trace) {
        memset(samples, 0, sizeof(*samples));
        samples->trace = record->trace;
    }
    uint64_t kind = kind_of(record);
    struct slot *slot = &samples->slots[kind % SLOTS];
    if (slot->kind != kind) {
        *slot = (struct slot){.kind = kind};
    }
    if (slot->count == WIDTH_SAMPLES_EACH) {
        return false;
    }
    slot->count++;
    return true;
}
