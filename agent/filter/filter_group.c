#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/put.h"
#include "base/text/fold.h"
#include "filter/filter_index_own.h"

/*
 * The values that rules compare one field with. For a value of an event, the group returns the
 * rules that it may satisfy: for a number those that compare with this number; for a text those
 * that compare with the text or a part of it, ignoring case. A time can be written in many ways, so
 * it returns all rules.
 */
static const uint32_t NO_ASKER = UINT32_MAX;

enum { NUMBER_SEED = 1, TEXT_SEED = 2, ENTRIES_PER_VALUE = 3 };

/* ---- creation -------------------------------------------------------------------------------- */

bool filter_group_init(struct filter_group *group, uint32_t values, struct arena *arena)
{
    uint32_t room = 16;
    while (room < 2 * ENTRIES_PER_VALUE * (uint64_t)values) {
        room *= 2;
    }
    group->asker_room = ENTRIES_PER_VALUE * values;
    group->askers = arena_alloc_array(arena, group->asker_room, sizeof(*group->askers));
    group->entries = arena_alloc_array(arena, room, sizeof(*group->entries));
    group->entry_mask = room - 1;
    bool ok = group->askers && group->entries;
    for (unsigned i = 0; i < FILTER_GROUP_TRIES; i++) {
        group->texts[i] = arena_alloc_array(arena, values, sizeof(*group->texts[i]));
        ok = ok && group->texts[i];
    }
    for (uint32_t i = 0; ok && i < room; i++) {
        group->entries[i].first = NO_ASKER;
    }
    return ok;
}

/* Find the entry of the hash, or the free slot for it. There is always one. */
static struct filter_entry *entry_of(const struct filter_group *group, uint64_t hash)
{
    uint32_t at = (uint32_t)hash & group->entry_mask;
    while (group->entries[at].first != NO_ASKER && group->entries[at].hash != hash) {
        at = (at + 1) & group->entry_mask;
    }
    return &group->entries[at];
}

static void add_hash(struct filter_group *group, uint64_t hash, uint16_t rule)
{
    struct filter_entry *entry = entry_of(group, hash);
    if (group->asker_count < group->asker_room) {
        group->askers[group->asker_count] = (struct filter_asker){
            .rule = rule, .next = entry->first};
        *entry = (struct filter_entry){.hash = hash, .first = group->asker_count++};
    }
}

static uint64_t hash_of_text(struct span text)
{
    return XXH3_64bits_withSeed(text.data, text.size, TEXT_SEED);
}

/* Equal numbers have equal hashes, whether integer or real. */
static uint64_t hash_of_number(const struct filter_number *number)
{
    struct {
        uint64_t size;
        uint64_t negative;
    } whole = {number->size, number->negative && number->size};
    const double beyond = 18446744073709551616.0; /* 2^64 */
    double size = number->real < 0 ? -number->real : number->real;
    if (number->is_real && size < beyond && (double)(uint64_t)size == size) {
        whole.size = (uint64_t)size;
        whole.negative = number->real < 0;
    } else if (number->is_real) {
        return XXH3_64bits_withSeed(&number->real, sizeof(number->real), NUMBER_SEED);
    }
    return XXH3_64bits_withSeed(&whole, sizeof(whole), NUMBER_SEED);
}

static void add_text(struct filter_group *group, struct span text, uint16_t rule)
{
    group->has_texts = true;
    add_hash(group, hash_of_text(text), rule);
}

/* A text may stand for a number, GUID or address; the latter two have only one text form. */
static void add_equal(
    struct filter_group *group, const struct filter_literal *literal, uint16_t rule)
{
    uint8_t shown[PUT_MAX];
    if (literal->type == LITERAL_NUMBER || literal->is_number) {
        add_hash(group, hash_of_number(&literal->low), rule);
    }
    if (literal->type != LITERAL_TEXT) {
        return;
    }
    if (literal->is_guid) {
        add_text(
            group, span_make(shown, (size_t)(put_guid(shown, literal->guid.bytes) - shown)), rule);
    } else if (literal->is_address) {
        const uint8_t *end = literal->address.size == 4 ? put_ipv4(shown, literal->address.bytes)
                                                        : put_ipv6(shown, literal->address.bytes);
        add_text(group, span_make(shown, (size_t)(end - shown)), rule);
    }
    add_text(group, literal->text, rule);
}

bool filter_group_add(struct filter_group *group, enum filter_test test,
    const struct filter_literal *given, uint16_t rule, struct arena *arena)
{
    struct filter_literal folded = *given;
    const struct filter_literal *literal = &folded;
    if (given->exact && given->text.size) {
        uint8_t *text = arena_alloc(arena, fold_bound(given->text.size));
        if (!text) {
            return false;
        }
        folded.text = span_make(text, fold_utf8(given->text, text));
    }
    enum filter_trie_kind kind = test == TEST_STARTS ? FILTER_TRIE_START
                                 : test == TEST_ENDS ? FILTER_TRIE_END
                                                     : FILTER_TRIE_ANYWHERE;
    if (test == TEST_EQUAL || test == TEST_IN) {
        add_equal(group, literal, rule);
        return true;
    }
    group->texts[kind][group->text_counts[kind]++] = (struct filter_trie_text){
        .text = test == TEST_LIKE ? filter_index_like_part(literal->text) : literal->text,
        .id = rule};
    return true;
}

bool filter_group_complete(struct filter_group *group, size_t max_trie_bytes, struct arena *arena)
{
    for (unsigned i = 0; i < FILTER_GROUP_TRIES; i++) {
        if (group->text_counts[i] &&
            !filter_trie_make(&group->tries[i], (enum filter_trie_kind)i, group->texts[i],
                group->text_counts[i], max_trie_bytes, arena)) {
            return false;
        }
    }
    return true;
}

/* ---- look-up --------------------------------------------------------------------------------- */

struct search {
    const struct filter_group *group;
    const struct filter_look *look;
    uint64_t *found;
    size_t word_count;
    size_t left; /* remaining results before testing all rules is cheaper */
};

static void find_all(struct search *search)
{
    for (size_t i = 0; i < search->word_count; i++) {
        search->found[i] |= search->group->members[i];
    }
}

static bool find_rule(void *self, uint32_t rule)
{
    struct search *search = self;
    search->found[rule / 64] |= UINT64_C(1) << rule % 64;
    search->left -= search->left > 0;
    return search->left > 0;
}

static void find_hash(struct search *search, uint64_t hash)
{
    const struct filter_group *group = search->group;
    for (uint32_t i = entry_of(group, hash)->first; i != NO_ASKER; i = group->askers[i].next) {
        find_rule(search, group->askers[i].rule);
    }
}

static void find_number(struct search *search, const struct filter_number *number)
{
    find_hash(search, hash_of_number(number));
}

static bool find_text(struct search *search, const struct event_value *value)
{
    struct filter_scratch *scratch = search->look->scratch;
    const struct filter_group *group = search->group;
    struct span text = event_value_text(&scratch->paths.values, value);
    struct buf *folded = &scratch->folded;
    buf_reset(folded);
    if (!buf_reserve(folded, fold_bound(text.size))) {
        return false;
    }
    folded->size = fold_utf8(text, folded->data);
    if (group->has_texts) {
        find_hash(search, hash_of_text(buf_span(folded)));
    }
    for (unsigned i = 0; i < FILTER_GROUP_TRIES; i++) {
        if (group->text_counts[i] &&
            !filter_trie_find(&group->tries[i], buf_span(folded), find_rule, search)) {
            return false;
        }
    }
    return true;
}

/* event_path_each_fn */
static bool find_value(void *self, const struct event_value *value)
{
    struct search *search = self;
    struct filter_number number;
    if (filter_number_of(value, &number)) {
        find_number(search, &number);
    }
    bool is_text = value->type >= EVENT_VALUE_HEX && value->type <= EVENT_VALUE_BYTES &&
                   value->type != EVENT_VALUE_REAL;
    if (value->type == EVENT_VALUE_TIME || (is_text && !find_text(search, value))) {
        find_all(search);
        return false;
    }
    return true;
}

void filter_group_find(const struct filter_group *group, const struct filter_look *look,
    uint64_t *found, size_t word_count)
{
    enum { FINDS_PER_RULE = 4 };
    struct search search = {.group = group,
        .look = look,
        .word_count = word_count,
        .left = FINDS_PER_RULE * 64 * word_count + 64};
    search.found = found;
    event_path_each(&group->path, look->event, &look->scratch->paths, find_value, &search);
}
