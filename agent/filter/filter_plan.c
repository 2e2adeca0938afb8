#include "filter/filter_plan.h"

#include <stdlib.h>

#include "filter/filter_index.h"

/*
 * A table of sets of four. A type that finds its set full takes the place of another one, in turn.
 * Bits of rules lie in the plan itself where one word is enough, else in a pool: when that is used
 * up, all starts again from nothing. Table and pool are allocated once, when they are needed first.
 */
enum {
    SET_BITS = 8,
    SETS = 1 << SET_BITS,
    WAYS = 4,
    POOL_WORDS = 32 * 1024,
};

/* Hashed and compared as words. */
struct key {
    uint64_t filter; /* filter.id */
    const struct event_agent *agent;
    const struct event_schema *schema;
    struct guid provider;
    struct event_descriptor descriptor;
    uint32_t serial; /* of the schema: its memory may come to hold another one */
    uint16_t hook_id;
    uint8_t header_type;
    uint8_t kind_and_known;
};

enum { KEY_WORDS = 8 };
_Static_assert(sizeof(struct key) <= KEY_WORDS * sizeof(uint64_t), "a key is a few words");

union words {
    struct key key;
    uint64_t words[KEY_WORDS];
};

struct slot {
    union words key;
    struct filter_plan plan;
    uint64_t words[2]; /* of plan.open and plan.anchored, where one each is enough */
    uint32_t pool_at;
    uint32_t pool_room; /* words in the pool that they may use */
};

struct filter_plans {
    struct slot slots[SETS][WAYS];
    uint8_t next[SETS]; /* to be replaced */
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

static size_t set_of(const union words *key)
{
    /* Multilinear, so that no step waits for the one before. */
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

static bool is_same(const union words *a, const union words *b)
{
    uint64_t other = 0;
    for (size_t i = 0; i < KEY_WORDS; i++) {
        other |= a->words[i] ^ b->words[i];
    }
    return other == 0;
}

/* False: the schema is not one of a cache, so nothing says when it becomes another. */
static bool make_key(
    const struct filter *filter, const struct filter_look *look, union words *ret_key)
{
    const struct event_record *record = look->event->record;
    const struct event_schema *schema = look->known > EVENT_PATH_RECORD ? look->event->schema
                                                                        : NULL;
    memset(ret_key, 0, sizeof(*ret_key));
    ret_key->key = (struct key){.filter = filter->id,
        .agent = look->scratch->paths.agent,
        .schema = schema,
        .provider = record->provider,
        .descriptor = record->descriptor,
        .serial = schema ? schema->serial : 0,
        .hook_id = record->hook_id,
        .header_type = record->header_type,
        .kind_and_known = (uint8_t)(record->kind << 2 | look->known)};
    return !schema || (schema->serial != 0 && schema->serial != UINT32_MAX);
}

/* ---- memory -------------------------------------------------------------------------------------- */

static struct filter_plans *plans_of(struct filter_scratch *scratch)
{
    if (!scratch->plans) {
        scratch->plans = calloc(1, sizeof(*scratch->plans));
    }
    return scratch->plans;
}

static void forget_all(struct filter_plans *plans)
{
    memset(plans->slots, 0, sizeof(plans->slots));
    plans->pool_used = 0;
}

/* Room for the bits of all rules in ${slot}, which is free. */
static bool give_words(struct filter_plans *plans, struct slot *slot, size_t count)
{
    if (count == 1) {
        slot->plan.open = &slot->words[0];
        slot->plan.anchored = &slot->words[1];
        return true;
    }
    if (slot->pool_room >= 2 * count) {
        /* that of the plan before */
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
        forget_all(plans);
    }
    slot->pool_at = (uint32_t)plans->pool_used;
    slot->pool_room = 2 * (uint32_t)count;
    plans->pool_used += slot->pool_room;
    slot->plan.open = plans->pool + slot->pool_at;
    slot->plan.anchored = slot->plan.open + count;
    return true;
}

/* ---- making -------------------------------------------------------------------------------------- */

static uint16_t more_of(uint16_t a, uint16_t b)
{
    return a > b ? a : b;
}

/* How many of the schema's top-level fields the rule looks at. */
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

/* A rule that is open, and only to be asked where its anchor is. */
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

/* ---- finding ------------------------------------------------------------------------------------- */

const struct filter_plan *filter_plan_get(
    const struct filter *filter, const struct filter_look *look)
{
    union words key;
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
    slot->key.key.filter = 0;
    if (!give_words(plans, slot, filter->word_count)) {
        return NULL;
    }
    make(filter, look, &slot->plan);
    slot->key = key;
    return &slot->plan;
}
