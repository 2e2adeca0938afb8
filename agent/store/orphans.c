#include "store/orphans.h"

#include "store/chain_own.h"
#include "store/state/ids.h"

#define NAME "(rebuilt)"

/* Does a known output read the stream without end? Then it comes to what was found by itself. */
static bool is_read(const struct chains *chains, uint64_t stream)
{
    const struct chain *chain;
    for (size_t i = 0; (chain = chains_at(chains, i)); i++) {
        const struct chain_range *last = chain_last_range(chain);
        if (last && last->stream == stream) {
            return true;
        }
    }
    return false;
}

static bool add(
    struct chains *chains, struct ages *ages, uint64_t stream, uint64_t after, struct error *err)
{
    struct span name = span_text(NAME);
    struct chain *chain = chains_find(chains, name);
    if (!chain) {
        chain = chains_add(chains, name, err);
    }
    struct chain_range *range = chain ? chain_add_range(chain, span_make(NULL, 0), err) : NULL;
    if (!range) {
        return false;
    }
    range->ordinal = chain->range_count == 1 ? 1 : range[-1].ordinal + 1;
    range->stream = stream;
    range->after = after;
    range->last = UINT64_MAX;
    chain->seen = ages_now(ages);
    chain->is_changed = true;
    return true;
}

bool orphans_add(
    struct chains *chains, struct ages *ages, uint64_t stream, uint64_t first_id, struct error *err)
{
    uint64_t after;
    return is_read(chains, stream) || orphans_find(chains, stream, &after) ||
           add(chains, ages, stream, first_id - 1, err);
}

bool orphans_find(const struct chains *chains, uint64_t stream, uint64_t *ret_after)
{
    const struct chain *chain = chains_find(chains, span_text(NAME));
    for (size_t i = 0; chain && i < chain->range_count; i++) {
        if (chain->ranges[i].stream == stream) {
            *ret_after = chain->ranges[i].after;
            return true;
        }
    }
    return false;
}

static bool is_claimed(const struct chains *chains, uint64_t stream, uint64_t after)
{
    const struct chain *chain;
    for (size_t i = 0; (chain = chains_open_at(chains, i)); i++) {
        for (size_t j = chain->first_range; j < chain->range_count; j++) {
            if (chain->ranges[j].stream == stream && chain->ranges[j].after <= after) {
                return true;
            }
        }
    }
    return false;
}

bool orphans_claim(struct chains *chains, struct ages *ages)
{
    struct chain *chain = chains_find(chains, span_text(NAME));
    struct ids left = {.at = NULL};
    size_t claimed = 0;
    bool has_claimed = false;
    bool ok = true;
    for (size_t i = 0; ok && chain && i < chain->range_count; i++) {
        const struct chain_range *range = &chain->ranges[i];
        if (is_claimed(chains, range->stream, range->after)) {
            claimed++;
        } else {
            ok = ids_add(&left, range->stream, NULL) && ids_add(&left, range->after, NULL);
        }
    }
    if (ok && claimed && chains_remove(chains, chain, NULL)) {
        for (size_t i = 0; i < left.count; i += 2) {
            add(chains, ages, left.at[i], left.at[i + 1], NULL);
        }
        has_claimed = true;
    }
    ids_fini(&left);
    return has_claimed;
}
