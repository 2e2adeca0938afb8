#include "filter/filter_trie.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t NONE = UINT32_MAX;

/* ---- creation -------------------------------------------------------------------------------- */

struct maker {
    struct filter_trie *trie;
    uint32_t *steps;
    uint32_t *first;
    uint32_t *shorter;
    bool *any;
};

static uint8_t byte_at(const struct filter_trie *trie, struct span text, size_t index)
{
    return text.data[trie->kind == FILTER_TRIE_END ? text.size - 1 - index : index];
}

/* At most one state per byte. */
static uint64_t count_bytes(
    struct filter_trie *trie, const struct filter_trie_text *texts, uint32_t count)
{
    uint64_t bytes = 1;
    for (uint32_t i = 0; i < count; i++) {
        for (size_t k = 0; k < texts[i].text.size; k++) {
            uint16_t *column = &trie->column[texts[i].text.data[k]];
            *column = *column ? *column : (uint16_t)trie->column_count;
            trie->column_count += *column == trie->column_count;
        }
        bytes += texts[i].text.size;
    }
    return bytes;
}

static void add(struct maker *maker, struct filter_trie_text *texts, uint32_t index)
{
    struct filter_trie *trie = maker->trie;
    uint32_t state = 0;
    for (size_t i = 0; i < texts[index].text.size; i++) {
        uint32_t *step = &maker->steps[state * trie->column_count +
                                       trie->column[byte_at(trie, texts[index].text, i)]];
        *step = *step ? *step : trie->state_count++;
        state = *step;
    }
    texts[index].next = maker->first[state];
    maker->first[state] = index;
    maker->any[state] = true;
}

/* Link each state to the state of its longest suffix that begins another text. Processes states by
 * depth; ${queue} and ${ends} have room for all. */
static void link_ends(struct maker *maker, uint32_t *queue, uint32_t *ends)
{
    struct filter_trie *trie = maker->trie;
    uint32_t columns = trie->column_count;
    uint32_t count = 0;
    queue[count++] = 0;
    for (uint32_t at = 0; at < count; at++) {
        uint32_t state = queue[at];
        uint32_t end = ends[state];
        for (uint32_t c = 1; c < columns; c++) {
            uint32_t *step = &maker->steps[state * columns + c];
            uint32_t other = state ? maker->steps[end * columns + c] : 0;
            if (!*step) {
                *step = other;
                continue;
            }
            ends[*step] = other;
            maker->shorter[*step] = maker->first[other] != NONE && other ? other
                                                                         : maker->shorter[other];
            maker->any[*step] |= maker->shorter[*step] != 0;
            queue[count++] = *step;
        }
    }
}

static bool link(struct maker *maker)
{
    if (maker->trie->kind != FILTER_TRIE_ANYWHERE) {
        return true;
    }
    uint32_t *queue = calloc(2 * (size_t)maker->trie->state_count, sizeof(*queue));
    if (queue) {
        link_ends(maker, queue, queue + maker->trie->state_count);
    }
    free(queue);
    return queue != NULL;
}

bool filter_trie_make(struct filter_trie *trie, enum filter_trie_kind kind,
    struct filter_trie_text *texts, uint32_t count, size_t max_bytes, struct arena *arena)
{
    *trie = (struct filter_trie){.kind = kind, .column_count = 1, .state_count = 1, .texts = texts};
    uint64_t states = count_bytes(trie, texts, count);
    if (states * (trie->column_count * sizeof(uint32_t) + 2 * sizeof(uint32_t) + 1) > max_bytes) {
        return false;
    }
    size_t room = (size_t)states;
    struct maker maker = {.trie = trie,
        .steps = arena_alloc_array(arena, room, trie->column_count * sizeof(*maker.steps)),
        .first = arena_alloc_array(arena, room, sizeof(*maker.first)),
        .shorter = arena_alloc_array(arena, room, sizeof(*maker.shorter)),
        .any = arena_alloc_array(arena, room, sizeof(*maker.any))};
    if (!maker.steps || !maker.first || !maker.shorter || !maker.any) {
        return false;
    }
    memset(maker.first, 0xff, room * sizeof(*maker.first));
    for (uint32_t i = 0; i < count; i++) {
        add(&maker, texts, i);
    }
    trie->steps = maker.steps;
    trie->first = maker.first;
    trie->shorter = maker.shorter;
    trie->any = maker.any;
    return link(&maker);
}

/* ---- search ---------------------------------------------------------------------------------- */

static bool give(const struct filter_trie *trie, uint32_t state, filter_trie_fn *take, void *self)
{
    do {
        for (uint32_t i = trie->first[state]; i != NONE; i = trie->texts[i].next) {
            if (!take(self, trie->texts[i].id)) {
                return false;
            }
        }
        state = trie->shorter[state];
    } while (state);
    return true;
}

static bool find_anywhere(
    const struct filter_trie *trie, struct span text, filter_trie_fn *take, void *self)
{
    uint32_t state = 0;
    for (size_t i = 0; i < text.size; i++) {
        state = trie->steps[state * trie->column_count + trie->column[text.data[i]]];
        if (trie->any[state] && !give(trie, state, take, self)) {
            return false;
        }
    }
    return true;
}

bool filter_trie_find(
    const struct filter_trie *trie, struct span text, filter_trie_fn *take, void *self)
{
    uint32_t state = 0;
    if (trie->first[0] != NONE && !give(trie, 0, take, self)) { /* the empty text */
        return false;
    }
    if (trie->kind == FILTER_TRIE_ANYWHERE) {
        return find_anywhere(trie, text, take, self);
    }
    for (size_t i = 0; i < text.size; i++) {
        state = trie->steps[state * trie->column_count + trie->column[byte_at(trie, text, i)]];
        if (state == 0) {
            break;
        }
        if (trie->any[state] && !give(trie, state, take, self)) {
            return false;
        }
    }
    return true;
}
