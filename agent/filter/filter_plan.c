#include "filter/filter_plan.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "filter/filter_index.h"

/*
 * A 4-way set-associative table. In a full set, types are replaced in turn. Bits of rules are
 * stored in the plan if one word suffices, else in a pool; when the pool is full, everything is
 * cleared. Table and pool are allocated at first use.
 */
enum {
    SET_BITS = 8,
    SETS = 1 << SET_BITS,
    WAYS = 4,
    POOL_WORDS = 32 * 1024,
};

/* The key of a plan, assembled in registers: a filter and an event type. */
enum {
    KEY_FILTER, /* filter.id; 0: none */
    KEY_AGENT,
    KEY_SCHEMA,
    KEY_PROVIDER, /* the provider's GUID */
    KEY_DESCRIPTOR = KEY_PROVIDER + 2,
    KEY_KEYWORD,
    KEY_REST, /* the schema's serial, because its memory may be reused; and small values */
    KEY_WORDS,
};

struct key {
    uint64_t words[KEY_WORDS];
};

struct slot {
    struct key key;
    struct filter_plan plan;
    uint64_t words[2]; /* for plan.open and plan.anchored, if one word each suffices */
    uint32_t pool_at;
    uint32_t pool_room; /* words available in the pool */
};

struct filter_plans {
    struct slot slots[SETS][WAYS];
    uint8_t next[SETS]; /* next slot to replace */
    uint64_t *pool;
    size_t pool_used;
};

void filter_plans_destroy(struct filter_plans *plans)
{
    if (plans) {
        free(plans->pool);
        free(plans);
    }
}

static size_t set_of(const struct key *key)
{
    /* multilinear hash, so that no step depends on the previous one */
    static const uint64_t factors[KEY_WORDS] = {UINT64_C(0x91d93080f9b439fd),
        UINT64_C(0x3ceaaf308142c8eb), UINT64_C(0x627655daa05f1119), UINT64_C(0x9dfb369bab13dfaf),
        UINT64_C(0x0ff9bb510944fe0d), UINT64_C(0x6301bbfca0c5154f), UINT64_C(0x047a8387cdde8d51),
        UINT64_C(0x6fced11d2bd8a1e7)};
    uint64_t hash = 0;
    for (size_t i = 0; i < KEY_WORDS; i++) {
        hash += key->words[i] * factors[i];
    }
    return (size_t)(hash >> (64 - SET_BITS));
}

static bool is_same(const struct key *a, const struct key *b)
{
    uint64_t other = 0;
    for (size_t i = 0; i < KEY_WORDS; i++) {
        other |= a->words[i] ^ b->words[i];
    }
    return other == 0;
}

/* False: the schema is not from a cache, so its memory may change unnoticed. */
static bool make_key(
    const struct filter *filter, const struct filter_look *look, struct key *ret_key)
{
    const struct event_record *record = look->event->record;
    const struct event_schema *schema = look->known > EVENT_PATH_RECORD ? look->event->schema
                                                                        : NULL;
    const struct event_descriptor *d = &record->descriptor;
    uint64_t *words = ret_key->words;
    words[KEY_FILTER] = filter->id;
    words[KEY_AGENT] = (uintptr_t)look->scratch->paths.agent;
    words[KEY_SCHEMA] = (uintptr_t)schema;
    words[KEY_PROVIDER] = load_le64(record->provider.bytes);
    words[KEY_PROVIDER + 1] = load_le64(record->provider.bytes + 8);
    words[KEY_DESCRIPTOR] = (uint64_t)d->task << 48 | (uint64_t)d->opcode << 40 |
                            (uint64_t)d->level << 32 | (uint64_t)d->channel << 24 |
                            (uint64_t)d->version << 16 | d->id;
    words[KEY_KEYWORD] = d->keyword;
    words[KEY_REST] = (uint64_t)(schema ? schema->serial : 0) << 32 |
                      (uint64_t)record->hook_id << 16 | (uint64_t)record->header_type << 8 |
                      (uint64_t)record->kind << 2 | look->known;
    return !schema || (schema->serial != 0 && schema->serial != UINT32_MAX);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static struct filter_plans *plans_of(struct filter_scratch *scratch)
{
    if (!scratch->plans) {
        scratch->plans = calloc(1, sizeof(*scratch->plans));
    }
    return scratch->plans;
}

static void clear_all(struct filter_plans *plans)
{
    memset(plans->slots, 0, sizeof(plans->slots));
    plans->pool_used = 0;
}

/* Assign memory for the bits of all rules to the free ${slot}. */
static bool give_words(struct filter_plans *plans, struct slot *slot, size_t count)
{
    if (count == 1) {
        slot->plan.open = &slot->words[0];
        slot->plan.anchored = &slot->words[1];
        return true;
    }
    if (slot->pool_room >= 2 * count) {
        /* memory of the previous plan */
        slot->plan.open = plans->pool + slot->pool_at;
        slot->plan.anchored = slot->plan.open + count;
        return true;
    }
    if (!plans->pool) {
        plans->pool = malloc(POOL_WORDS * sizeof(*plans->pool));
        if (!plans->pool) {
            return false;
        }
    }
    if (POOL_WORDS - plans->pool_used < 2 * count) {
        clear_all(plans);
    }
    slot->pool_at = (uint32_t)plans->pool_used;
    slot->pool_room = 2 * (uint32_t)count;
    plans->pool_used += slot->pool_room;
    slot->plan.open = plans->pool + slot->pool_at;
    slot->plan.anchored = slot->plan.open + count;
    return true;
}

/* ---- creation -------------------------------------------------------------------------------- */

static uint16_t more_of(uint16_t a, uint16_t b)
{
    return a > b ? a : b;
}

/* Number of the schema's top-level fields that the rule uses. */
static uint16_t fields_of(const struct filter_code *code, const struct event_schema *schema)
{
    uint16_t fields = 0;
    for (uint32_t i = 0; i < code->op_count; i++) {
        fields = more_of(fields, event_path_fields(&code->ops[i].path, schema));
    }
    for (uint32_t i = 0; i < code->key.count; i++) {
        fields = more_of(fields, event_path_fields(&code->key.paths[i], schema));
    }
    return fields;
}

/* Add an open rule that is only evaluated if its anchor is found. */
static void anchor(
    const struct filter *filter, uint8_t known, uint32_t rule, struct filter_plan *plan)
{
    unsigned group = filter_index_group(filter, rule);
    if (group < FILTER_MAX_GROUPS && filter_index_need(filter, group) <= known) {
        plan->anchored[rule / 64] |= UINT64_C(1) << rule % 64;
        plan->groups |= UINT64_C(1) << group;
    }
}

static void make(
    const struct filter *filter, const struct filter_look *at, struct filter_plan *plan)
{
    struct filter_look look = *at;
    look.of_type = true;
    memset(plan->open, 0, filter->word_count * sizeof(*plan->open));
    memset(plan->anchored, 0, filter->word_count * sizeof(*plan->anchored));
    plan->groups = 0;
    plan->end = (uint32_t)filter->rule_count;
    plan->is_unknown = false;
    plan->fields = 0;
    for (uint32_t i = 0; i < filter->rule_count; i++) {
        const struct filter_code *code = &filter->rules[i];
        if (!filter_action_decides(code->action)) {
            continue;
        }
        look.met_more = false;
        enum filter_truth truth = filter_truth_of(&look, code);
        if (truth == FILTER_IS_FALSE) {
            continue;
        }
        if (look.known == EVENT_PATH_EVENT && look.event->schema) {
            plan->fields = more_of(plan->fields, fields_of(code, look.event->schema));
        }
        plan->is_unknown = truth == FILTER_IS_UNKNOWN && !look.met_more;
        if (truth == FILTER_IS_TRUE || plan->is_unknown) {
            plan->end = i;
            return;
        }
        plan->open[i / 64] |= UINT64_C(1) << i % 64;
        anchor(filter, look.known, i, plan);
    }
}

/* ---- look-up --------------------------------------------------------------------------------- */

const struct filter_plan *filter_plan_get(
    const struct filter *filter, const struct filter_look *look)
{
    struct key key;
    struct filter_plans *plans = plans_of(look->scratch);
    if (!plans || !make_key(filter, look, &key)) {
        return NULL;
    }
    size_t set = set_of(&key);
    struct slot *ways = plans->slots[set];
    for (size_t i = 0; i < WAYS; i++) {
        if (is_same(&ways[i].key, &key)) {
            return &ways[i].plan;
        }
    }
    struct slot *slot = &ways[plans->next[set]++ % WAYS];
    slot->key.words[KEY_FILTER] = 0;
    if (!give_words(plans, slot, filter->word_count)) {
        return NULL;
    }
    make(filter, look, &slot->plan);
    slot->key = key;
    return &slot->plan;
}
