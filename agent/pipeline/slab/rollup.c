#include "pipeline/slab/rollup.h"

#include <stdlib.h>

enum { BUCKETS = 1024, NS_PER_TICK = 100 };

/* Windows stand in a list in the order of their first events, so the first one's is the first of
 * all; and in chains by their keys. */
struct window {
    struct rollup_record record; /* first, as it is handed out */
    uint64_t opened_ns;
    struct window *before;
    struct window *next;
    struct window *chain;
};

struct rollup {
    size_t route_count;
    bool replayable;
    uint64_t fed_ns;
    uint64_t next_end; /* nothing ends by event time before */
    uint64_t next_due; /* nor by the clock */
    size_t count;
    size_t bytes; /* of texts */
    struct window *first;
    struct window *last;
    struct window *buckets[BUCKETS];
};

struct rollup *rollup_create(size_t route_count, bool replayable)
{
    struct rollup *rollup = calloc(1, sizeof(*rollup));
    if (rollup) {
        rollup->route_count = route_count;
        rollup->replayable = replayable;
        rollup->next_end = UINT64_MAX;
        rollup->next_due = UINT64_MAX;
    }
    return rollup;
}

void rollup_record_destroy(struct rollup_record *record)
{
    if (record) {
        piece_fini(&record->text);
        free(record); /* it begins its window */
    }
}

void rollup_destroy(struct rollup *rollup)
{
    struct window *window = rollup ? rollup->first : NULL;
    while (window) {
        struct window *next = window->next;
        rollup_record_destroy(&window->record);
        window = next;
    }
    free(rollup);
}

void rollup_feed(struct rollup *rollup, uint64_t now_ns)
{
    rollup->fed_ns = now_ns;
}

static struct window **bucket_of(struct rollup *rollup, const struct roll_key *key)
{
    return &rollup->buckets[roll_key_hash(key) % BUCKETS];
}

/* ---- when windows are over ------------------------------------------------------------------- */

static uint64_t end_of(const struct window *window)
{
    const struct roll_key *key = &window->record.roll.key;
    return key->begin + key->length;
}

static uint64_t due_of(const struct rollup *rollup, const struct window *window)
{
    uint64_t since_ns = rollup->replayable ? rollup->fed_ns : window->opened_ns;
    return since_ns + window->record.roll.key.length * NS_PER_TICK;
}

static void note_ends(struct rollup *rollup, const struct window *window)
{
    uint64_t end = end_of(window);
    uint64_t due = due_of(rollup, window);
    rollup->next_end = end < rollup->next_end ? end : rollup->next_end;
    rollup->next_due = due < rollup->next_due ? due : rollup->next_due;
}

uint64_t rollup_due(const struct rollup *rollup)
{
    return rollup->next_due;
}

uint64_t rollup_hold(const struct rollup *rollup)
{
    return rollup->first ? rollup->first->record.roll.sequence : UINT64_MAX;
}

/* ---- in and out ------------------------------------------------------------------------------ */

static struct window *make_window(
    const struct rollup *rollup, const struct roll_list *list, size_t index)
{
    struct window *window = calloc(1, sizeof(*window));
    if (!window) {
        return NULL;
    }
    if (!piece_init(&window->record.text, rollup->route_count, NULL) ||
        !piece_append(&window->record.text, &list->texts, index, 1)) {
        rollup_record_destroy(&window->record);
        return NULL;
    }
    window->record.roll = list->items[index];
    window->opened_ns = rollup->fed_ns;
    return window;
}

bool rollup_add(
    struct rollup *rollup, const struct roll_list *list, size_t index, uint64_t *ret_absorbed)
{
    const struct roll *roll = &list->items[index];
    struct window **bucket = bucket_of(rollup, &roll->key);
    struct window *window = *bucket;
    while (window && !roll_key_equal(&window->record.roll.key, &roll->key)) {
        window = window->chain;
    }
    if (window) {
        window->record.roll.count += roll->count;
        time_range_add(&window->record.roll.times, roll->times);
        *ret_absorbed = roll->count;
        return true;
    }
    size_t bytes = piece_start(&list->texts, index + 1) - piece_start(&list->texts, index);
    bool has_room = rollup->count < ROLLUP_MAX_WINDOWS && rollup->bytes + bytes <= ROLLUP_MAX_BYTES;
    window = has_room ? make_window(rollup, list, index) : NULL;
    if (!window) {
        return false;
    }
    window->chain = *bucket;
    *bucket = window;
    window->before = rollup->last;
    *(rollup->last ? &rollup->last->next : &rollup->first) = window;
    rollup->last = window;
    rollup->count++;
    rollup->bytes += bytes;
    note_ends(rollup, window);
    *ret_absorbed = roll->count - 1;
    return true;
}

static void unlink_window(struct rollup *rollup, struct window *window)
{
    struct window **link = bucket_of(rollup, &window->record.roll.key);
    while (*link != window) {
        link = &(*link)->chain;
    }
    *link = window->chain;
    *(window->before ? &window->before->next : &rollup->first) = window->next;
    *(window->next ? &window->next->before : &rollup->last) = window->before;
    rollup->count--;
    rollup->bytes -= window->record.text.bytes.size;
}

struct rollup_record *rollup_take(struct rollup *rollup, uint64_t time, uint64_t now_ns)
{
    if (time < rollup->next_end && now_ns < rollup->next_due) {
        return NULL;
    }
    for (struct window *window = rollup->first; window; window = window->next) {
        if (end_of(window) <= time || due_of(rollup, window) <= now_ns) {
            unlink_window(rollup, window);
            return &window->record;
        }
    }
    rollup->next_end = UINT64_MAX;
    rollup->next_due = UINT64_MAX;
    for (const struct window *window = rollup->first; window; window = window->next) {
        note_ends(rollup, window);
    }
    return NULL;
}
