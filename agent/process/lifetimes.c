#include "process/lifetimes.h"

#include <stdlib.h>

/* An id that is used again and again, and ids that share a slot: so that no step gets slow. */
enum { MAX_CHAIN = 1024 };

static const uint64_t second = 10000000;

/* ---- lives by id ------------------------------------------------------------------------------- */

static struct life_chain *chain_of(const struct lifetimes *lives, uint64_t machine, uint32_t id)
{
    uint64_t hash = (machine ^ id) * UINT64_C(0x9e3779b97f4a7c15);
    return &lives->chains[(hash >> 32) & lives->mask];
}

static bool is_of(const struct life *life, const struct life_key *key)
{
    return life->id == key->id && life->machine == key->machine;
}

/* The lives around a time: the last that was heard of then or before, and the next one. */
struct around {
    struct life *before;
    struct life *after;
};

static struct around find_around(
    const struct lifetimes *lives, const struct life_key *key, uint64_t time)
{
    struct around around = {.before = NULL};
    struct life *life = chain_of(lives, key->machine, key->id)->newest;
    for (; life && !around.before; life = life->older) {
        if (is_of(life, key)) {
            *(life->first <= time ? &around.before : &around.after) = life;
        }
    }
    return around;
}

static struct life_queue *queue_of(struct lifetimes *lives, const struct life *life)
{
    return life->end_known ? &lives->ended : &lives->going;
}

static void enqueue(struct life_queue *queue, struct life *life)
{
    life->queue_before = queue->newest;
    life->queue_behind = NULL;
    *(queue->newest ? &queue->newest->queue_behind : &queue->oldest) = life;
    queue->newest = life;
}

static void dequeue(struct life_queue *queue, struct life *life)
{
    *(life->queue_before ? &life->queue_before->queue_behind : &queue->oldest) = life->queue_behind;
    *(life->queue_behind ? &life->queue_behind->queue_before : &queue->newest) = life->queue_before;
}

/* What points to ${life}. */
static struct life **link_to(struct life_chain *chain, const struct life *life)
{
    struct life **link = &chain->newest;
    while (*link != life) {
        link = &(*link)->older;
    }
    return link;
}

/* Put ${life} behind all that are newer. */
static void link_in(struct life_chain *chain, struct life *life)
{
    struct life **link = &chain->newest;
    while (*link && (*link)->first > life->first) {
        link = &(*link)->older;
    }
    life->older = *link;
    *link = life;
}

static void forget(struct lifetimes *lives, struct life *life)
{
    struct life_chain *chain = chain_of(lives, life->machine, life->id);
    *link_to(chain, life) = life->older;
    chain->length--;
    dequeue(queue_of(lives, life), life);
    lives->count--;
    lives->ops->drop(lives->self, life);
    free(life);
}

static void put(struct lifetimes *lives, struct life *life)
{
    struct life_chain *chain = chain_of(lives, life->machine, life->id);
    link_in(chain, life);
    chain->length++;
    enqueue(queue_of(lives, life), life);
    lives->count++;
    lives->ops->changed(lives->self, life);
}

/* Room for what one piece of news adds: a chain that is too long loses its oldest. */
static void trim(struct lifetimes *lives, const struct life_key *key)
{
    struct life_chain *chain = chain_of(lives, key->machine, key->id);
    while (chain->length > MAX_CHAIN) {
        struct life *oldest = chain->newest;
        while (oldest->older) {
            oldest = oldest->older;
        }
        forget(lives, oldest);
    }
}

static void begin_at(struct lifetimes *lives, struct life *life, uint64_t time)
{
    struct life_chain *chain = chain_of(lives, life->machine, life->id);
    *link_to(chain, life) = life->older;
    life->first = time;
    link_in(chain, life);
}

static void set_end(
    struct lifetimes *lives, struct life *life, uint64_t time, bool known, uint8_t source)
{
    if (life->last == time && life->end_known == known) {
        return;
    }
    dequeue(queue_of(lives, life), life);
    life->last = time;
    life->end_known = known;
    life->end_source = source;
    enqueue(queue_of(lives, life), life);
    lives->ops->changed(lives->self, life);
}

static void set_start(struct lifetimes *lives, struct life *life, uint64_t time, uint8_t source)
{
    if (life->first == time && life->start_known) {
        return;
    }
    begin_at(lives, life, time);
    life->start_known = true;
    life->start_source = source;
    lives->ops->changed(lives->self, life);
}

/* ---- news -------------------------------------------------------------------------------------- */

/* What is heard of an id. */
struct note {
    const struct life_key *key;
    enum life_news what;
    uint64_t time;
    uint8_t source;
    const void *news;
};

static struct life *take(struct lifetimes *lives, struct life *life, const struct note *note)
{
    return lives->ops->take(lives->self, life, note->news) ? life : NULL;
}

static struct life *add(struct lifetimes *lives, const struct note *note)
{
    struct life *life = calloc(1, sizeof(*life));
    if (!life) {
        return NULL;
    }
    *life = (struct life){.machine = note->key->machine,
        .id = note->key->id,
        .start_known = note->what == LIFE_STARTED,
        .end_known = note->what == LIFE_ENDED || note->what == LIFE_GONE,
        .start_source = note->source,
        .end_source = note->source,
        .first = note->time,
        .last = note->time};
    if (!take(lives, life, note)) {
        free(life);
        return NULL;
    }
    put(lives, life);
    return life;
}

/*
 * What was taken for one life are two, as ${note} falls between its start and what was heard last: the
 * earlier one keeps the start, and the later one, which is returned, what came last. NULL: no memory.
 */
static struct life *split(struct lifetimes *lives, struct life *life)
{
    struct life *later = calloc(1, sizeof(*later));
    if (!later) {
        return NULL;
    }
    *later = *life;
    later->start_known = false;
    later->first = life->last;
    if (!lives->ops->copy(lives->self, life, later)) {
        free(later);
        return NULL;
    }
    set_end(lives, life, life->first, false, 0);
    put(lives, later);
    return later;
}

/* Is a time within [first, last] of the life? */
static bool covers(const struct life *life, uint64_t time)
{
    return life && life->first <= time && time <= life->last;
}

/* Two sources tell of one moment. */
static bool is_same_moment(uint8_t source, uint8_t other, uint64_t a, uint64_t b)
{
    return source != other && (a > b ? a - b : b - a) <= second;
}

static bool is_same_start(const struct life *life, const struct note *note)
{
    return life && life->start_known &&
           is_same_moment(note->source, life->start_source, note->time, life->first);
}

static bool is_same_end(const struct life *life, const struct note *note)
{
    return life && life->end_known &&
           is_same_moment(note->source, life->end_source, note->time, life->last);
}

static struct life *started(
    struct lifetimes *lives, const struct note *note, const struct around *around)
{
    struct life *before = around->before;
    struct life *after = around->after;
    bool before_fits = before && lives->ops->fits(before, note->news);
    bool after_fits = after && lives->ops->fits(after, note->news);
    if (before_fits && before->first == note->time) {
        set_start(lives, before, note->time, note->source);
        return take(lives, before, note);
    }
    if (before_fits && is_same_start(before, note) &&
        !(before->end_known && before->last < note->time)) {
        return take(lives, before, note);
    }
    if (covers(before, note->time) && before->last > note->time) {
        struct life *later = split(lives, before);
        if (!later) {
            return NULL;
        }
        if (!before_fits) {
            return add(lives, note);
        }
        set_start(lives, later, note->time, note->source);
        return take(lives, later, note);
    }
    if (after_fits && (!after->start_known || is_same_start(after, note))) {
        set_start(lives, after, note->time, note->source);
        return take(lives, after, note);
    }
    return add(lives, note);
}

static struct life *ended(
    struct lifetimes *lives, const struct note *note, const struct around *around)
{
    struct life *before = around->before;
    bool fits = before && lives->ops->fits(before, note->news);
    if (fits && is_same_end(before, note)) {
        return take(lives, before, note);
    }
    if (covers(before, note->time) && before->last > note->time) {
        if (note->what == LIFE_GONE && fits) {
            return take(lives, before, note);
        }
        if (!split(lives, before)) {
            return NULL;
        }
    }
    if (fits && (!before->end_known || before->last == note->time)) {
        set_end(lives, before, note->time, true, note->source);
        return take(lives, before, note);
    }
    return fits && note->what == LIFE_GONE ? take(lives, before, note) : add(lives, note);
}

static struct life *alive(
    struct lifetimes *lives, const struct note *note, const struct around *around)
{
    struct life *before = around->before;
    struct life *after = around->after;
    bool fits = before && lives->ops->fits(before, note->news);
    if (covers(before, note->time)) {
        if (fits) {
            return take(lives, before, note);
        }
        return before->last > note->time && !split(lives, before) ? NULL : add(lives, note);
    }
    if (fits && !before->end_known) {
        set_end(lives, before, note->time, false, 0);
        return take(lives, before, note);
    }
    if (after && !after->start_known && lives->ops->fits(after, note->news)) {
        begin_at(lives, after, note->time);
        lives->ops->changed(lives->self, after);
        return take(lives, after, note);
    }
    return add(lives, note);
}

struct life *lifetimes_note(struct lifetimes *lives, const struct life_key *key,
    enum life_news what, uint64_t time, uint8_t source, const void *news)
{
    const struct note note = {
        .key = key, .what = what, .time = time, .source = source, .news = news};
    trim(lives, key);
    const struct around around = find_around(lives, key, time);
    switch (what) {
    case LIFE_STARTED:
        return started(lives, &note, &around);
    case LIFE_ALIVE:
        return alive(lives, &note, &around);
    default:
        return ended(lives, &note, &around);
    }
}

/* ---- asking ------------------------------------------------------------------------------------ */

struct life *lifetimes_find(const struct lifetimes *lives, const struct life_key *key,
    uint64_t time, bool late, uint64_t *ret_from, uint64_t *ret_to)
{
    const struct around around = find_around(lives, key, time);
    struct life *before = around.before;
    struct life *after = around.after;
    if (covers(before, time)) {
        *ret_from = before->first;
        *ret_to = before->last;
        return before;
    }
    *ret_from = before ? before->last + 1 : 0;
    *ret_to = after ? after->first - 1 : UINT64_MAX;
    bool is_before_open = before && !before->end_known;
    bool is_after_open = after && !after->start_known;
    if (is_before_open) {
        return is_after_open ? NULL : before;
    }
    if (before && late && time - before->last <= second) {
        *ret_to = *ret_to - before->last > second ? before->last + second : *ret_to;
        return before;
    }
    *ret_from += before && late ? second : 0;
    return is_after_open ? after : NULL;
}

struct life *lifetimes_next(
    const struct lifetimes *lives, const struct life_key *key, const struct life *previous)
{
    struct life *life = previous ? previous->older : chain_of(lives, key->machine, key->id)->newest;
    while (life && !is_of(life, key)) {
        life = life->older;
    }
    return life;
}

/* ---- life and end ------------------------------------------------------------------------------ */

bool lifetimes_forget_one(struct lifetimes *lives, const struct life *keep)
{
    struct life *const oldest[] = {lives->ended.oldest, lives->going.oldest};
    for (size_t i = 0; i < 2; i++) {
        struct life *life = oldest[i] && oldest[i] == keep ? oldest[i]->queue_behind : oldest[i];
        if (life) {
            forget(lives, life);
            return true;
        }
    }
    return false;
}

bool lifetimes_init(struct lifetimes *lives, size_t slots, const struct life_ops *ops, void *self)
{
    *lives = (struct lifetimes){.ops = ops, .self = self, .mask = slots - 1};
    lives->chains = calloc(slots, sizeof(*lives->chains));
    return lives->chains != NULL;
}

void lifetimes_fini(struct lifetimes *lives)
{
    for (size_t i = 0; lives->chains && i <= lives->mask; i++) {
        struct life *life = lives->chains[i].newest;
        while (life) {
            struct life *older = life->older;
            lives->ops->drop(lives->self, life);
            free(life);
            life = older;
        }
    }
    free(lives->chains);
    lives->chains = NULL;
}
