#include <stdlib.h>
#include <string.h>

#include "base/reader.h"
#include "fuzz/fuzz.h"
#include "pipeline/record/stack_keys.h"

/*
 * Steps on the table of stack keys, four bytes and more each: the kind of step, key and trace,
 * time, and the size of a definition's payload with its bytes. A reference gets the frames of the
 * definition that a plain list of all definitions gives. Once the table has forgotten one, it may
 * also get the frames of any definition of that key, or none.
 */
enum {
    MAX_DEFINITIONS = 256,
    MAX_BYTES = 64 * 1024,
    CREATE = 0x22,
    DELETE = 0x23,
    RUNDOWN = 0x24,
    HOOK = 0x1800,
    KEY_BYTES = 8,
};

static const struct trace_info traces[2];

struct definition {
    struct event_record record;
    uint64_t key;
    bool has_passed;
};

struct model {
    struct stack_keys *keys;
    struct definition list[MAX_DEFINITIONS];
    size_t count;
    bool has_forgotten;
};

struct step {
    uint8_t what;
    uint64_t key;
    struct event_record record;
};

static void check(bool good)
{
    if (!good) {
        abort();
    }
}

static bool is_same(const struct definition *d, const struct step *step)
{
    return d->key == step->key && d->record.trace == step->record.trace &&
           d->record.time_raw == step->record.time_raw && d->record.hook_id == step->record.hook_id;
}

/* The payload has the key, then the frames. */
static void define(struct model *m, struct step *step, struct reader *r, bool passes)
{
    static uint8_t payload[KEY_BYTES + 255];
    uint8_t size = reader_u8(r);
    struct span frames = reader_take(r, size);
    memcpy(payload, &step->key, KEY_BYTES);
    if (frames.size) {
        memcpy(payload + KEY_BYTES, frames.data, frames.size);
    }
    uint8_t *exact = malloc(KEY_BYTES + frames.size);
    check(exact != NULL);
    memcpy(exact, payload, KEY_BYTES + frames.size);
    step->record.payload = span_make(exact, KEY_BYTES + frames.size);
    struct definition *known = NULL;
    for (size_t i = 0; i < m->count && !known; i++) {
        known = is_same(&m->list[i], step) ? &m->list[i] : NULL;
    }
    if (!known && m->count < MAX_DEFINITIONS) {
        known = &m->list[m->count++];
        *known = (struct definition){.record = step->record, .key = step->key};
        exact = NULL;
    }
    /* A definition that comes twice is equal both times. */
    if (known && passes) {
        stack_keys_pass(m->keys, &known->record);
        known->has_passed = true;
    } else if (known) {
        stack_keys_learn(m->keys, &known->record);
    }
    free(exact);
}

/* ---- the list -------------------------------------------------------------------------------- */

static bool is_of_kind(const struct definition *d, bool is_user)
{
    uint64_t first;
    if (d->record.payload.size < 2 * KEY_BYTES) {
        return true;
    }
    memcpy(&first, d->record.payload.data + KEY_BYTES, sizeof(first));
    return is_user == (first >> 63 == 0);
}

static bool has_ended(const struct definition *d, const struct event_record *reference)
{
    if (d->record.hook_id == HOOK + CREATE) {
        return false;
    }
    bool within_tick = d->record.hook_id == HOOK + DELETE && d->has_passed &&
                       d->record.cpu == reference->cpu;
    return d->record.time_raw < reference->time_raw ||
           (d->record.time_raw == reference->time_raw && within_tick);
}

/* Ends before creations, deletes before rundowns, where times are equal. */
static int64_t order_of(const struct definition *d)
{
    return d->record.time_raw * 4 + (d->record.hook_id == HOOK + CREATE       ? 2
                                        : d->record.hook_id == HOOK + RUNDOWN ? 1
                                                                              : 0);
}

/* The definition that the reference means; NULL: there is none. */
static const struct definition *expected(const struct model *m, const struct step *step)
{
    const struct event_record *reference = &step->record;
    const struct definition *end = NULL;
    const struct definition *birth = NULL;
    int64_t dead = INT64_MIN;
    int64_t next_life = INT64_MAX;
    for (size_t i = 0; i < m->count; i++) {
        const struct definition *d = &m->list[i];
        bool is_creation = d->record.hook_id == HOOK + CREATE;
        int64_t order = order_of(d);
        if (d->key != step->key || d->record.trace != reference->trace) {
            continue;
        }
        if (is_creation && d->record.time_raw > reference->time_raw) {
            next_life = order < next_life ? order : next_life;
        } else if (is_creation) {
            birth = !birth || order > order_of(birth) ? d : birth;
        } else if (has_ended(d, reference)) {
            dead = order > dead ? order : dead;
        } else {
            end = !end || order < order_of(end) ? d : end;
        }
    }
    if (end && order_of(end) < next_life) {
        return end;
    }
    return birth && order_of(birth) > dead ? birth : NULL;
}

static bool has_frames(const struct definition *d, const uint64_t *frames, uint32_t count)
{
    return (d->record.payload.size - KEY_BYTES) / 8 == count &&
           memcmp(d->record.payload.data + KEY_BYTES, frames, count * sizeof(*frames)) == 0;
}

static void refer(struct model *m, const struct step *step, bool is_user)
{
    uint64_t frames[STACK_KEYS_MAX_FRAMES];
    uint32_t count = 0;
    const struct stack_reference reference = {.trace = step->record.trace,
        .key = step->key,
        .time_raw = step->record.time_raw,
        .cpu = step->record.cpu,
        .is_user = is_user};
    bool found = stack_keys_find(m->keys, &reference, frames, &count);
    bool is_known = false;
    for (size_t i = 0; found && i < m->count; i++) {
        const struct definition *d = &m->list[i];
        is_known |= d->key == step->key && d->record.trace == step->record.trace &&
                    is_of_kind(d, is_user) && has_frames(d, frames, count);
    }
    check(!found || is_known);
    if (!m->has_forgotten) {
        const struct definition *d = expected(m, step);
        bool fits = d && is_of_kind(d, is_user);
        check(found == fits && (!found || has_frames(d, frames, count)));
    }
}

/* ---- the target ------------------------------------------------------------------------------ */

static void take_step(struct model *m, struct reader *r)
{
    struct step step = {.what = reader_u8(r)};
    uint8_t where = reader_u8(r);
    step.key = where & 3;
    step.record = (struct event_record){.kind = RECORD_KERNEL,
        .pointer_size = 8,
        .hook_id = (uint16_t)(HOOK + CREATE + step.what / 8 % 3),
        .cpu = where >> 7,
        .trace = &traces[where >> 2 & 1],
        .time_raw = reader_u8(r)};
    step.record.time = (uint64_t)step.record.time_raw;
    switch (step.what & 7) {
    case 0:
    case 1:
        define(m, &step, r, false);
        break;
    case 2:
        define(m, &step, r, true);
        break;
    case 3:
        m->has_forgotten |= step.what > 128;
        if (m->has_forgotten) {
            stack_keys_remove_before(m->keys, step.record.time);
        }
        break;
    case 4:
        m->has_forgotten |= step.what > 192;
        if (m->has_forgotten) {
            stack_keys_remove_trace(m->keys, step.record.trace);
        }
        break;
    default:
        refer(m, &step, step.what & 1);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct model m;
    if (size > MAX_BYTES) {
        return 0;
    }
    m = (struct model){.keys = stack_keys_create()};
    check(m.keys != NULL);
    struct reader r = reader_make(span_make(data, size));
    while (!r.failed && reader_left(&r)) {
        take_step(&m, &r);
    }
    for (size_t i = 0; i < m.count; i++) {
        free((void *)(uintptr_t)m.list[i].record.payload.data);
    }
    stack_keys_destroy(m.keys);
    return 0;
}

/* Steps of all kinds; definitions of 0 to 30 frames. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    enum { SEEDS = 16, STEPS = 200, STEP_BYTES = 4 + 240 };
    uint32_t random = (uint32_t)index + 1;
    size_t size = 0;
    if (index >= SEEDS) {
        return 0;
    }
    for (size_t i = 0; i < STEPS && size + STEP_BYTES <= max; i++) {
        random = random * 1664525 + 1013904223;
        uint8_t what = (uint8_t)(random >> 24);
        out[size++] = index < SEEDS / 2 ? what % 128 : what;
        out[size++] = (uint8_t)(random >> 16) & 0x87;
        out[size++] = (uint8_t)((index & 1 ? i : random >> 8) & (index & 2 ? 0x07 : 0xff));
        if ((what & 7) <= 2) {
            uint8_t frames = (uint8_t)((random >> 12) % 30);
            out[size++] = (uint8_t)(frames * 8);
            for (size_t b = 0; b < frames * 8u; b++) {
                out[size++] = (uint8_t)((random >> 10) * (b + 1));
            }
        }
    }
    return size;
}
