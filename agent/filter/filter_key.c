#include <xxhash.h>

#include "base/bytes.h"
#include "base/text/fold.h"
#include "filter/filter_program.h"

/*
 * XXH64 over the values in order, each seeded with the previous hash. Numbers are hashed
 * independent of their type, and texts ignoring case, as in comparisons.
 */

static bool compile_path(struct filter *filter, struct span text, struct filter_key *key,
    struct filter_place *ret_place, struct error *err)
{
    struct event_path *path = &key->paths[key->count];
    if (!arena_copy(&filter->arena, text, &key->texts[key->count])) {
        return error_set(err, ERR_MEMORY, "no memory left for filters");
    }
    key->count++;
    ret_place->field = key->count;
    if (!event_path_compile(key->texts[key->count - 1], path, err)) {
        return false;
    }
    if (path->type == EVENT_VALUE_OBJECT) {
        struct span shown = span_first(text, 60);
        return error_set(
            err, ERR_CONFIG, "%.*s holds other fields. name one of them", SPAN_ARG(shown));
    }
    path->each = true;
    key->need = path->need > key->need ? path->need : key->need;
    enum event_path_scope scope = event_path_scope(path);
    key->scope = scope > key->scope ? scope : key->scope;
    return true;
}

bool filter_key_compile(struct filter *filter, const struct filter_rule *rule,
    struct filter_key *key, struct filter_place *ret_place, struct error *err)
{
    size_t count = rule->field_count;
    if (count > FILTER_MAX_FIELDS) {
        return error_set(err, ERR_LIMIT, "more than %d fields", FILTER_MAX_FIELDS);
    }
    key->paths = arena_alloc_array(&filter->arena, count, sizeof(*key->paths));
    key->texts = arena_alloc_array(&filter->arena, count, sizeof(*key->texts));
    if (!key->paths || !key->texts) {
        return error_set(err, ERR_MEMORY, "no memory left for filters");
    }
    for (size_t i = 0; i < count; i++) {
        if (!compile_path(filter, span_text(rule->fields[i]), key, ret_place, err)) {
            return false;
        }
    }
    *ret_place = (struct filter_place){.rule = ret_place->rule};
    return true;
}

/* ---- running --------------------------------------------------------------------------------- */

struct sum {
    struct filter_scratch *scratch;
    uint64_t key;
    bool any;
};

static void add_number(struct sum *sum, uint64_t number)
{
    uint8_t bytes[8];
    store_le64(bytes, number);
    sum->key = XXH64(bytes, sizeof(bytes), sum->key);
}

static void add_text(struct sum *sum, const struct event_value *value)
{
    struct buf *folded = &sum->scratch->folded;
    struct span text = event_value_text(&sum->scratch->paths.values, value);
    buf_reset(folded);
    if (buf_reserve(folded, fold_bound(text.size))) {
        folded->size = fold_utf8(text, folded->data);
        sum->key = XXH64(folded->data, folded->size, sum->key);
    }
}

/* event_path_each_fn */
static bool add_value(void *self, const struct event_value *value)
{
    struct sum *sum = self;
    switch (value->type) {
    case EVENT_VALUE_NONE:
    case EVENT_VALUE_LIST:
    case EVENT_VALUE_OBJECT:
        return true;
    case EVENT_VALUE_NULL:
        break;
    case EVENT_VALUE_BOOL:
        add_number(sum, value->truth);
        break;
    case EVENT_VALUE_INT:
        add_number(sum, (uint64_t)value->number);
        break;
    case EVENT_VALUE_UINT:
    case EVENT_VALUE_HEX:
        add_number(sum, value->unsigned_number);
        break;
    case EVENT_VALUE_GUID:
        sum->key = XXH64(value->bytes.data, value->bytes.size, sum->key);
        break;
    case EVENT_VALUE_REAL:
    case EVENT_VALUE_TEXT:
    case EVENT_VALUE_TIME:
    case EVENT_VALUE_ADDRESS:
    case EVENT_VALUE_BYTES:
        add_text(sum, value);
        break;
    }
    sum->any = true;
    return true;
}

bool filter_key_of(const struct filter_key *key, struct filter_scratch *scratch,
    const struct event *event, uint64_t *ret_key)
{
    struct sum sum = {.scratch = scratch};
    for (uint32_t i = 0; i < key->count; i++) {
        if (i) {
            add_number(&sum, i); /* a missing value does not shift the others */
        }
        event_path_each(&key->paths[i], event, &scratch->paths, add_value, &sum);
    }
    *ret_key = sum.key;
    return sum.any;
}
