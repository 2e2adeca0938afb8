/*
 * The catalogue's totals of a stream never decrease (catalogue_schema.c): the difference between
 * two batches also counts batches that were removed between them. Early removal takes the oldest
 * batches that no output holds, which come right after those that outputs hold. So the first
 * batches of a backlog are counted one by one, and only the rest by differences.
 */
#include "store/backlog.h"

#include "store/chain_own.h"

enum {
    WALKED_MAX = 1024, /* batches; as many as an output may have in hand */
    ROWS = 64,
};

static bool add(void *self, const struct catalogue_batch *batch)
{
    struct store_backlog *backlog = self;
    backlog->oldest = backlog->batches ? backlog->oldest : batch->entered;
    backlog->batches++;
    backlog->records += batch->records;
    backlog->bytes += batch->bytes;
    return true;
}

/* Call ${each} for the batches of a range (of stream 0: of all streams) after ${after} that
 * ${chain}, which may be NULL, has not settled early. ${left}: rows that may be read; 0 once
 * ${each} has returned false. ${after} becomes how far that went; `last` if it is all. */
static bool walk(struct catalogue *catalogue, const struct chain *chain,
    const struct chain_range *range, uint64_t *after, size_t *left,
    bool (*each)(void *self, const struct catalogue_batch *batch), void *self, struct error *err)
{
    struct catalogue_batch batches[ROWS];
    size_t found = ROWS;
    while (found == ROWS && *left >= ROWS && *after < range->last) {
        if (!catalogue_next_batches(
                catalogue, range->stream, *after, range->last, batches, ROWS, &found, err)) {
            return false;
        }
        *left -= found;
        for (size_t i = 0; i < found; i++) {
            *after = batches[i].id;
            if (!(chain && chain_is_early(chain, *after)) && !each(self, &batches[i])) {
                *left = 0;
                return true;
            }
        }
    }
    *after = found < ROWS ? range->last : *after;
    return true;
}

/* Count the rest, and of it what is settled already. */
static bool count_rest(struct catalogue *catalogue, const struct chain *chain,
    const struct chain_range *range, uint64_t after, struct store_backlog *backlog,
    struct error *err)
{
    struct catalogue_sum sum;
    if (after >= range->last) {
        return true;
    }
    if (!catalogue_sum_batches(catalogue, range->stream, after, range->last, &sum, err)) {
        return false;
    }
    for (size_t i = 0; i < chain->early_count; i++) {
        struct catalogue_batch batch;
        bool found = false;
        uint64_t id = chain->early[i];
        if (id <= after || id > range->last) {
            continue;
        }
        if (!catalogue_find_batch(catalogue, id, &batch, &found, err)) {
            return false;
        }
        if (found && batch.stream == range->stream && sum.batches) {
            sum.batches--;
            sum.records -= batch.records;
            sum.bytes -= batch.bytes;
        }
    }
    backlog->batches += sum.batches;
    backlog->records += sum.records;
    backlog->bytes += sum.bytes;
    return true;
}

bool backlog_measure(struct catalogue *catalogue, const struct chain *chain,
    struct store_backlog *ret_backlog, struct error *err)
{
    struct store_backlog backlog = {.batches = 0};
    size_t left = WALKED_MAX;
    for (size_t i = chain->first_range; i < chain->range_count; i++) {
        const struct chain_range *range = &chain->ranges[i];
        uint64_t after = chain_lower(chain, range);
        if (!walk(catalogue, chain, range, &after, &left, add, &backlog, err) ||
            !count_rest(catalogue, chain, range, after, &backlog, err)) {
            return false;
        }
    }
    *ret_backlog = backlog;
    return true;
}

bool backlog_each(struct catalogue *catalogue, const struct chain *chain,
    bool (*each)(void *self, const struct catalogue_batch *batch), void *self, struct error *err)
{
    const struct chain_range all = {.last = UINT64_MAX};
    uint64_t after = 0;
    size_t left = SIZE_MAX;
    bool ok = chain || walk(catalogue, NULL, &all, &after, &left, each, self, err);
    for (size_t i = chain ? chain->first_range : 0; ok && chain && left && i < chain->range_count;
         i++) {
        after = chain_lower(chain, &chain->ranges[i]);
        ok = walk(catalogue, chain, &chain->ranges[i], &after, &left, each, self, err);
    }
    return ok;
}
