#include "store/chain_own.h"

#include "base/grow.h"
#include "base/order.h"

struct chain *chain_create(struct span name)
{
    struct chain *chain = calloc(1, sizeof(*chain));
    if (chain) {
        buf_init(&chain->name, STORE_NAME_MAX);
        buf_init(&chain->checkpoint, STORE_VALUE_MAX);
        buf_add_span(&chain->name, name);
        if (chain->name.failed) {
            chain_destroy(chain);
            chain = NULL;
        }
    }
    return chain;
}

void chain_destroy(struct chain *chain)
{
    for (size_t i = 0; i < chain->range_count; i++) {
        buf_fini(&chain->ranges[i].about);
    }
    buf_fini(&chain->name);
    buf_fini(&chain->checkpoint);
    free(chain->ranges);
    free(chain->early);
    free(chain->left);
    free(chain);
}

uint64_t chain_id(const struct chain *chain)
{
    return chain->id;
}

struct span chain_name(const struct chain *chain)
{
    return buf_span(&chain->name);
}

uint64_t chain_position(const struct chain *chain)
{
    return chain->position;
}

uint64_t chain_seen(const struct chain *chain)
{
    return chain->seen;
}

static bool out_of_memory(struct error *err)
{
    return error_set(err, ERR_MEMORY, "out of memory");
}

struct chain_range *chain_add_range(struct chain *chain, struct span about, struct error *err)
{
    if (chain->range_count == CHAIN_RANGES_MAX) {
        error_set(err, ERR_LIMIT,
            "an output was changed %d times, and has not delivered all events from before the "
            "first change",
            CHAIN_RANGES_MAX);
        return NULL;
    }
    if (!grow_array(&chain->ranges, chain->range_count + 1, sizeof(*chain->ranges))) {
        out_of_memory(err);
        return NULL;
    }
    struct chain_range *range = &chain->ranges[chain->range_count];
    *range = (struct chain_range){.last = UINT64_MAX};
    buf_init(&range->about, STORE_ABOUT_MAX);
    buf_add_span(&range->about, about);
    if (range->about.failed) {
        buf_fini(&range->about);
        error_set(err, ERR_LIMIT, "more than %d bytes about an output", STORE_ABOUT_MAX);
        return NULL;
    }
    chain->range_count++;
    return range;
}

bool chain_set_early(struct chain *chain, const uint64_t *early, size_t count, struct error *err)
{
    uint64_t *copy = malloc((count + 1) * sizeof(*copy));
    if (!copy) {
        return out_of_memory(err);
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (early[i] > chain->position) {
            copy[kept++] = early[i];
        }
    }
    free(chain->early);
    chain->early = copy;
    chain->early_count = kept;
    return true;
}

struct chain_range *chain_last_range(const struct chain *chain)
{
    return chain->range_count > chain->first_range ? &chain->ranges[chain->range_count - 1] : NULL;
}

/* Everything before the position is settled; remove ranges that end before it. */
static void pass_ranges(struct chain *chain)
{
    while (chain->first_range < chain->range_count) {
        const struct chain_range *range = &chain->ranges[chain->first_range];
        if (range->last > chain->position && range->last > range->after) {
            break;
        }
        chain->first_range++;
    }
}

bool chain_extend(
    struct chain *chain, uint64_t stream, struct span about, uint64_t boundary, struct error *err)
{
    struct chain_range *last = chain->range_count ? &chain->ranges[chain->range_count - 1] : NULL;
    uint64_t ordinal = last ? last->ordinal + 1 : 1;
    struct chain_range *range = chain_add_range(chain, about, err);
    if (!range) {
        return false;
    }
    range->ordinal = ordinal;
    range->stream = stream;
    range->after = boundary;
    last = chain->range_count > 1 ? range - 1 : NULL;
    if (last && last->last > boundary) {
        last->last = boundary;
        last->is_written = false;
    }
    chain->is_changed = true;
    pass_ranges(chain);
    return true;
}

uint64_t chain_lower(const struct chain *chain, const struct chain_range *range)
{
    return range->after > chain->position ? range->after : chain->position;
}

static bool find_in(const uint64_t *ids, size_t count, uint64_t id, size_t *ret_place)
{
    *ret_place = order_place(ids, count, sizeof(*ids), id);
    return *ret_place < count && ids[*ret_place] == id;
}

bool chain_is_early(const struct chain *chain, uint64_t id)
{
    size_t place;
    return find_in(chain->early, chain->early_count, id, &place);
}

bool chain_has_left(const struct chain *chain, uint64_t id)
{
    size_t place;
    return find_in(chain->left, chain->left_count, id, &place);
}

/* Does batch ${id} of ${stream} lie after its position, in a range of it? */
static bool covers(const struct chain *chain, uint64_t stream, uint64_t id)
{
    for (size_t i = chain->first_range; i < chain->range_count; i++) {
        const struct chain_range *range = &chain->ranges[i];
        if (range->stream == stream && id > chain_lower(chain, range) && id <= range->last) {
            return true;
        }
    }
    return false;
}

bool chain_wants(const struct chain *chain, uint64_t stream, uint64_t id)
{
    return covers(chain, stream, id) && !chain_is_early(chain, id);
}

bool chain_set_left(struct chain *chain, uint64_t id, bool is_left, struct error *err)
{
    size_t place;
    bool has = find_in(chain->left, chain->left_count, id, &place);
    if (has == is_left) {
        return true;
    }
    size_t behind = chain->left_count - place;
    if (has) {
        memmove(chain->left + place, chain->left + place + 1, (behind - 1) * sizeof(*chain->left));
        chain->left_count--;
        return true;
    }
    if (!grow_array(&chain->left, chain->left_count + 1, sizeof(*chain->left))) {
        return out_of_memory(err);
    }
    memmove(chain->left + place + 1, chain->left + place, behind * sizeof(*chain->left));
    chain->left[place] = id;
    chain->left_count++;
    return true;
}

/* Settled batches have no leftovers. */
static void pass_left(struct chain *chain)
{
    size_t place;
    find_in(chain->left, chain->left_count, chain->position + 1, &place);
    if (place == 0) {
        return;
    }
    chain->left_count -= place;
    memmove(chain->left, chain->left + place, chain->left_count * sizeof(*chain->left));
}

bool chain_move(struct chain *chain, uint64_t position, const uint64_t *early, size_t early_count,
    const struct span *checkpoint, struct error *err)
{
    for (size_t i = 1; i < early_count; i++) {
        if (early[i] <= early[i - 1]) {
            return error_set(err, ERR_FORMAT, "ids that do not increase");
        }
    }
    if (early_count > STORE_EARLY_MAX || (checkpoint && checkpoint->size > STORE_VALUE_MAX)) {
        return error_set(err, ERR_LIMIT,
            "more than %d early ids, or a checkpoint longer than %d bytes", STORE_EARLY_MAX,
            STORE_VALUE_MAX);
    }
    if (checkpoint) {
        size_t old = chain->checkpoint.size;
        buf_reset(&chain->checkpoint);
        buf_add_span(&chain->checkpoint, *checkpoint);
        if (chain->checkpoint.failed) {
            buf_reset(&chain->checkpoint);
            chain->checkpoint.size = old;
            return out_of_memory(err);
        }
        chain->is_checkpoint_written = false;
    }
    uint64_t before = chain->position;
    chain->position = position > before ? position : before;
    if (!chain_set_early(chain, early, early_count, err)) {
        chain->position = before;
        return false;
    }
    chain->is_changed = true;
    pass_ranges(chain);
    pass_left(chain);
    return true;
}

void chain_written(struct chain *chain)
{
    for (size_t i = 0; i < chain->first_range; i++) {
        buf_fini(&chain->ranges[i].about);
    }
    if (chain->first_range) {
        chain->range_count -= chain->first_range;
        memmove(chain->ranges, chain->ranges + chain->first_range,
            chain->range_count * sizeof(*chain->ranges));
    }
    chain->first_range = 0;
    for (size_t i = 0; i < chain->range_count; i++) {
        chain->ranges[i].is_written = true;
    }
    chain->is_changed = false;
    chain->is_written = true;
    chain->is_checkpoint_written = true;
}
