#include "process/lifetimes.h"

#include <stdlib.h>
#include <string.h>

#include "base/filetime.h"
#include "base/grow.h"

enum {
    /* Limits the cost of a step for frequently reused ids and hash collisions. */
    MAX_CHAIN = 4096,
    FIRST_CAPACITY = 4,
    NEWS_LIVES =
        /* number of lives that one statement can add: a life is split, and another one created */
    2,
};

/* ---- lives by id ----------------------------------------------------------------------------- */

static struct life_chain *chain_of(const struct lifetimes *lives, uint64_t machine, uint32_t id)
{
    uint64_t hash = (machine ^ id) * UINT64_C(0x9e3779b97f4a7c15);
    return &lives->chains[(hash >> 32) & lives->mask];
}

static bool is_of(const struct life_place *place, const struct life_key *key)
{
    return place->id == key->id && place->machine == key->machine;
}

static struct life_key key_of(const struct life *life)
{
    return (struct life_key){.machine = life->machine, .id = life->id};
}

/* True if ${place} comes after every life of ${key} up to ${time}. */
static bool is_behind(const struct life_place *place, const struct life_key *key, uint64_t time)
{
    return place->machine != key->machine ? place->machine > key->machine
           : place->id != key->id         ? place->id > key->id
                                          : place->first > time;
}

/* Index of the first life in the chain after those of ${key} up to ${time}. */
static size_t index_behind(
    const struct life_chain *chain, const struct life_key *key, uint64_t time)
{
    size_t low = 0;
    size_t high = chain->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_behind(&chain->places[middle], key, time)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Index of the first life of ${key}, or where it would be. */
static size_t index_first(const struct life_chain *chain, const struct life_key *key)
{
    const struct life_key before = {
        .machine = key->id ? key->machine : key->machine - 1, .id = key->id - 1};
    return key->id || key->machine ? index_behind(chain, &before, UINT64_MAX) : 0;
}

static size_t index_of(const struct life_chain *chain, const struct life *life)
{
    const struct life_key key = key_of(life);
    size_t index = index_behind(chain, &key, life->first) - 1;
    while (chain->places[index].life != life) {
        index--; /* another one began at the same moment */
    }
    return index;
}

/* The lives around a time: the last one known then or before, and the next one. */
struct around {
    struct life *before;
    struct life *after;
};

static struct around find_around(
    const struct lifetimes *lives, const struct life_key *key, uint64_t time)
{
    const struct life_chain *chain = chain_of(lives, key->machine, key->id);
    size_t index = index_behind(chain, key, time);
    bool has_before = index > 0 && is_of(&chain->places[index - 1], key);
    bool has_after = index < chain->count && is_of(&chain->places[index], key);
    return (struct around){.before = has_before ? chain->places[index - 1].life : NULL,
        .after = has_after ? chain->places[index].life : NULL};
}

static void link_out(struct life_chain *chain, const struct life *life)
{
    size_t index = index_of(chain, life);
    chain->count--;
    memmove(chain->places + index, chain->places + index + 1,
        (chain->count - index) * sizeof(*chain->places));
}

/* The caller has made room. */
static void link_in(struct life_chain *chain, struct life *life)
{
    const struct life_key key = key_of(life);
    size_t index = index_behind(chain, &key, life->first);
    memmove(chain->places + index + 1, chain->places + index,
        (chain->count - index) * sizeof(*chain->places));
    chain->places[index] = (struct life_place){
        .machine = life->machine, .first = life->first, .life = life, .id = life->id};
    chain->count++;
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

static void remove_life(struct lifetimes *lives, struct life *life)
{
    link_out(chain_of(lives, life->machine, life->id), life);
    dequeue(queue_of(lives, life), life);
    lives->count--;
    lives->ops->drop(lives->self, life);
    free(life);
}

static void put(struct lifetimes *lives, struct life *life)
{
    link_in(chain_of(lives, life->machine, life->id), life);
    enqueue(queue_of(lives, life), life);
    lives->count++;
    lives->ops->changed(lives->self, life);
}

/* Make room for what one statement adds: a full chain drops the oldest life of the id, or its
 * first. False: no memory. */
static bool make_room(struct lifetimes *lives, const struct life_key *key)
{
    struct life_chain *chain = chain_of(lives, key->machine, key->id);
    while (chain->count + NEWS_LIVES > MAX_CHAIN) {
        size_t index = index_first(chain, key);
        bool has_any = index < chain->count && is_of(&chain->places[index], key);
        remove_life(lives, chain->places[has_any ? index : 0].life);
    }
    size_t capacity = chain->capacity ? 2 * chain->capacity : FIRST_CAPACITY;
    return chain->count + NEWS_LIVES <= chain->capacity ||
           grow_to(&chain->places, capacity, &chain->capacity, sizeof(*chain->places));
}

static void begin_at(struct lifetimes *lives, struct life *life, uint64_t time)
{
    struct life_chain *chain = chain_of(lives, life->machine, life->id);
    link_out(chain, life);
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

/* ---- statements ------------------------------------------------------------------------------ */

/* A statement about an id. */
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

/* Create a life like ${as}, with a value of its own. NULL: no memory. */
static struct life *make(const struct lifetimes *lives, const struct life *as)
{
    struct life *life = calloc(1, sizeof(*life) + lives->ops->value_bytes);
    if (life) {
        *life = *as;
        life->value = life + 1;
    }
    return life;
}

static struct life *add(struct lifetimes *lives, const struct note *note)
{
    const struct life as = {.machine = note->key->machine,
        .id = note->key->id,
        .start_known = note->what == LIFE_STARTED,
        .end_known = note->what == LIFE_ENDED || note->what == LIFE_GONE,
        .start_source = note->source,
        .end_source = note->source,
        .first = note->time,
        .last = note->time};
    struct life *life = make(lives, &as);
    if (!life || !take(lives, life, note)) {
        free(life);
        return NULL;
    }
    put(lives, life);
    return life;
}

/*
 * Split a life into two, because ${note} falls between its start and its last observation: the
 * earlier one keeps the start; the later one, which is returned, gets the last observation. NULL:
 * no memory.
 */
static struct life *split(struct lifetimes *lives, struct life *life)
{
    struct life *later = make(lives, life);
    if (!later) {
        return NULL;
    }
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

/* True unless the news contradict the life. Asked last: what is known of a life that began long ago
 * lies in memory that is no longer in the processor's cache. */
static bool fits(const struct lifetimes *lives, const struct life *life, const struct note *note)
{
    return lives->ops->fits(life, note->news);
}

/* True if the time is within [first, last] of the life. */
static bool covers(const struct life *life, uint64_t time)
{
    return life && life->first <= time && time <= life->last;
}

/* True if two sources report the same moment. */
static bool is_same_moment(uint8_t source, uint8_t other, uint64_t a, uint64_t b)
{
    return source != other && (a > b ? a - b : b - a) <= FILETIME_PER_S;
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
    bool is_of_before = before && (before->first == note->time ||
                                      (is_same_start(before, note) &&
                                          !(before->end_known && before->last < note->time)));
    if (is_of_before && fits(lives, before, note)) {
        if (before->first == note->time) {
            set_start(lives, before, note->time, note->source);
        }
        return take(lives, before, note);
    }
    if (covers(before, note->time) && before->last > note->time) {
        bool is_it = fits(lives, before, note);
        struct life *later = split(lives, before);
        if (!later) {
            return NULL;
        }
        if (!is_it) {
            return add(lives, note);
        }
        set_start(lives, later, note->time, note->source);
        return take(lives, later, note);
    }
    if (after && (!after->start_known || is_same_start(after, note)) && fits(lives, after, note)) {
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
    if (!make_room(lives, key)) {
        return NULL;
    }
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

/* ---- look-up --------------------------------------------------------------------------------- */

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
    if (before && late && time - before->last <= FILETIME_PER_S) {
        *ret_to = *ret_to - before->last > FILETIME_PER_S ? before->last + FILETIME_PER_S : *ret_to;
        return before;
    }
    *ret_from += before && late ? FILETIME_PER_S : 0;
    return is_after_open ? after : NULL;
}

struct life *lifetimes_at(const struct lifetimes *lives, const struct life_key *key, size_t index)
{
    const struct life_chain *chain = chain_of(lives, key->machine, key->id);
    size_t at = index_first(chain, key) + index;
    return at < chain->count && is_of(&chain->places[at], key) ? chain->places[at].life : NULL;
}

/* ---- removal --------------------------------------------------------------------------------- */

bool lifetimes_evict_one(struct lifetimes *lives, const struct life *keep)
{
    struct life *const oldest[] = {lives->ended.oldest, lives->going.oldest};
    for (size_t i = 0; i < 2; i++) {
        struct life *life = oldest[i] && oldest[i] == keep ? oldest[i]->queue_behind : oldest[i];
        if (life) {
            remove_life(lives, life);
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
        struct life_chain *chain = &lives->chains[i];
        for (size_t k = 0; k < chain->count; k++) {
            lives->ops->drop(lives->self, chain->places[k].life);
            free(chain->places[k].life);
        }
        free(chain->places);
    }
    free(lives->chains);
    lives->chains = NULL;
}
