/*
 * The state of outputs is small (names, some ranges, ids in flight), so all of it is in memory, and
 * the catalogue is its durable copy. Every change marks its chain. A commit writes the marked
 * chains, and only a successful one removes the marks: after a failure the caller commits again.
 *
 * Ids run over all streams, so one position is enough for a chain of ranges of several streams:
 * everything before it in any of them is settled.
 */
#include "store/chains.h"

#include "base/bytes.h"
#include "base/grow.h"
#include "store/chain_own.h"
#include "store/state/ids.h"

struct chains {
    struct chain **all;
    size_t count;
    struct chain **open; /* by number */
    size_t open_count;
    uint64_t next_id;
    struct ids removed; /* not yet removed from the catalogue */
};

struct chains *chains_create(void)
{
    struct chains *chains = malloc(sizeof(*chains));
    if (chains) {
        *chains = (struct chains){.next_id = 1};
    }
    return chains;
}

void chains_destroy(struct chains *chains)
{
    if (chains) {
        chains_clear(chains);
        free(chains);
    }
}

void chains_clear(struct chains *chains)
{
    for (size_t i = 0; i < chains->count; i++) {
        chain_destroy(chains->all[i]);
    }
    free((void *)chains->all);
    free((void *)chains->open);
    ids_fini(&chains->removed);
    *chains = (struct chains){.next_id = 1};
}

/* ---- all: find, add, remove ------------------------------------------------------------------ */

static bool out_of_memory(struct error *err)
{
    return error_set(err, ERR_MEMORY, "out of memory");
}

struct chain *chains_find(const struct chains *chains, struct span name)
{
    for (size_t i = 0; i < chains->count; i++) {
        if (span_equal(buf_span(&chains->all[i]->name), name)) {
            return chains->all[i];
        }
    }
    return NULL;
}

size_t chains_count(const struct chains *chains)
{
    return chains->count;
}

struct chain *chains_at(const struct chains *chains, size_t index)
{
    return index < chains->count ? chains->all[index] : NULL;
}

struct chain *chains_open_at(const struct chains *chains, size_t number)
{
    return number < chains->open_count ? chains->open[number] : NULL;
}

uint64_t chains_next_id(const struct chains *chains)
{
    return chains->next_id;
}

static struct chain *find_id(const struct chains *chains, uint64_t id)
{
    for (size_t i = 0; i < chains->count; i++) {
        if (chains->all[i]->id == id) {
            return chains->all[i];
        }
    }
    return NULL;
}

struct chain *chains_add(struct chains *chains, struct span name, struct error *err)
{
    if (chains->count == CHAINS_MAX || name.size > STORE_NAME_MAX) {
        error_set(err, ERR_LIMIT,
            "more than %d outputs, or the name of one is longer than %d bytes", CHAINS_MAX,
            STORE_NAME_MAX);
        return NULL;
    }
    bool has_room = grow_array(&chains->all, chains->count + 1, sizeof(struct chain *));
    struct chain *chain = has_room ? chain_create(name) : NULL;
    if (!chain) {
        out_of_memory(err);
        return NULL;
    }
    chain->id = chains->next_id++;
    chain->is_changed = true;
    chains->all[chains->count++] = chain;
    return chain;
}

bool chains_open(struct chains *chains, struct chain *chain, size_t *ret_number, struct error *err)
{
    if (!grow_array(&chains->open, chains->open_count + 1, sizeof(struct chain *))) {
        return out_of_memory(err);
    }
    chain->is_open = true;
    *ret_number = chains->open_count;
    chains->open[chains->open_count++] = chain;
    return true;
}

bool chains_remove(struct chains *chains, struct chain *chain, struct error *err)
{
    if (chain->is_written && !ids_add(&chains->removed, chain->id, err)) {
        return false;
    }
    size_t place = 0;
    while (chains->all[place] != chain) {
        place++;
    }
    chains->all[place] = chains->all[--chains->count];
    chain_destroy(chain);
    return true;
}

uint64_t chains_position(const struct chains *chains, uint64_t id)
{
    const struct chain *chain = find_id(chains, id);
    return chain ? chain->position : UINT64_MAX;
}

/* ---- loading --------------------------------------------------------------------------------- */

struct loading {
    struct chains *chains;
    struct error *err;
    bool ok;
};

/* Early ids are 64-bit numbers, ascending; invalid ones are left out, and these batches are
 * delivered again. */
static bool read_early(struct chain *chain, struct span bytes, struct error *err)
{
    size_t count = bytes.size / sizeof(uint64_t);
    uint64_t early[STORE_EARLY_MAX];
    size_t kept = 0;
    for (size_t i = 0; i < count && kept < STORE_EARLY_MAX; i++) {
        uint64_t id = load_le64(bytes.data + i * sizeof(id));
        if (kept == 0 || id > early[kept - 1]) {
            early[kept++] = id;
        }
    }
    return chain_set_early(chain, early, kept, err);
}

static bool load_output(void *self, const struct catalogue_output *output)
{
    struct loading *loading = self;
    struct chain *chain = chains_add(loading->chains, output->name, loading->err);
    loading->ok = chain != NULL;
    if (chain) {
        chain->id = output->id;
        chain->position = output->position;
        chain->seen = output->seen;
        chain->is_changed = false;
        chain->is_written = true;
        chain->is_checkpoint_written = true;
        buf_add_span(&chain->checkpoint, output->checkpoint);
        if (output->id >= loading->chains->next_id) {
            loading->chains->next_id = output->id + 1;
        }
        loading->ok = read_early(chain, output->early, loading->err) &&
                      (!chain->checkpoint.failed || out_of_memory(loading->err));
    }
    return loading->ok;
}

static bool load_range(void *self, const struct catalogue_range *from)
{
    struct loading *loading = self;
    struct chain *chain = find_id(loading->chains, from->output);
    struct chain_range *range = chain ? chain_add_range(chain, from->about, loading->err) : NULL;
    if (range) {
        range->ordinal = from->ordinal;
        range->stream = from->stream;
        range->after = from->after;
        range->last = from->last;
        range->is_written = true;
    }
    loading->ok = !chain || range;
    return loading->ok;
}

static bool load_leftover(void *self, const struct catalogue_leftover *leftover)
{
    struct loading *loading = self;
    struct chain *chain = find_id(loading->chains, leftover->output);
    loading->ok = !chain || chain_set_left(chain, leftover->batch, true, loading->err);
    return loading->ok;
}

bool chains_load(struct chains *chains, struct catalogue *catalogue, struct error *err)
{
    struct loading loading = {.chains = chains, .err = err, .ok = true};
    struct catalogue_info info;
    if (!catalogue_info(catalogue, &info, err)) {
        return false;
    }
    chains->next_id = info.next.output;
    return catalogue_outputs(catalogue, load_output, &loading, err) && loading.ok &&
           catalogue_ranges(catalogue, load_range, &loading, err) && loading.ok &&
           catalogue_leftovers(catalogue, load_leftover, &loading, err) && loading.ok;
}

/* ---- all: settling --------------------------------------------------------------------------- */

static bool is_drained(struct chain *chain, const struct chain_range *range,
    struct catalogue *catalogue, uint64_t last_id, bool *ret_drained, struct error *err)
{
    uint64_t after = chain_lower(chain, range);
    for (;;) {
        struct catalogue_batch batch;
        size_t count;
        uint64_t last = range->last < last_id ? range->last : last_id;
        if (!catalogue_next_batches(
                catalogue, range->stream, after, last, &batch, 1, &count, err)) {
            return false;
        }
        if (count == 0 || !chain_is_early(chain, batch.id)) {
            *ret_drained = count == 0;
            return true;
        }
        after = batch.id;
    }
}

bool chains_trim(
    struct chains *chains, struct catalogue *catalogue, uint64_t last_id, struct error *err)
{
    for (size_t i = 0; i < chains->count; i++) {
        struct chain *chain = chains->all[i];
        while (chain->first_range + 1 < chain->range_count) {
            bool drained;
            const struct chain_range *range = &chain->ranges[chain->first_range];
            if (!is_drained(chain, range, catalogue, last_id, &drained, err)) {
                return false;
            }
            if (!drained) {
                break;
            }
            chain->first_range++;
            chain->is_changed = true;
        }
    }
    return true;
}

uint64_t chains_floor(const struct chains *chains, uint64_t stream, uint64_t last_id)
{
    uint64_t floor = last_id;
    for (size_t i = 0; i < chains->count; i++) {
        const struct chain *chain = chains->all[i];
        for (size_t j = chain->first_range; j < chain->range_count; j++) {
            const struct chain_range *range = &chain->ranges[j];
            uint64_t lower = chain_lower(chain, range);
            if (range->stream == stream && lower < floor) {
                floor = lower;
            }
        }
    }
    return floor;
}

/* ---- writing --------------------------------------------------------------------------------- */

void chains_shift_seen(struct chains *chains, uint64_t by, uint64_t now)
{
    for (size_t i = 0; i < chains->count; i++) {
        struct chain *chain = chains->all[i];
        uint64_t seen = chain->seen <= now - by ? chain->seen + by : now;
        chain->is_changed = chain->is_changed || seen != chain->seen;
        chain->seen = seen;
    }
}

bool chains_are_changed(const struct chains *chains)
{
    for (size_t i = 0; i < chains->count; i++) {
        if (chains->all[i]->is_changed) {
            return true;
        }
    }
    return chains->removed.count != 0;
}

static bool write_ranges(const struct chain *chain, struct catalogue *catalogue, struct error *err)
{
    bool ok = true;
    if (chain->first_range) {
        ok = catalogue_remove_ranges(
            catalogue, chain->id, chain->ranges[chain->first_range - 1].ordinal, err);
    }
    for (size_t i = chain->first_range; ok && i < chain->range_count; i++) {
        const struct chain_range *range = &chain->ranges[i];
        const struct catalogue_range row = {
            .output = chain->id,
            .ordinal = range->ordinal,
            .stream = range->stream,
            .about = buf_span(&range->about),
            .after = range->after,
            .last = range->last,
        };
        ok = range->is_written || catalogue_put_range(catalogue, &row, err);
    }
    return ok;
}

static bool write_chain(const struct chain *chain, struct catalogue *catalogue, struct error *err)
{
    uint8_t early[STORE_EARLY_MAX * sizeof(uint64_t)];
    for (size_t i = 0; i < chain->early_count; i++) {
        store_le64(early + i * sizeof(uint64_t), chain->early[i]);
    }
    const struct catalogue_output row = {
        .id = chain->id,
        .name = buf_span(&chain->name),
        .position = chain->position,
        .early = span_make(early, chain->early_count * sizeof(uint64_t)),
        .checkpoint = buf_span(&chain->checkpoint),
        .seen = chain->seen,
    };
    bool whole = !chain->is_checkpoint_written || !chain->is_written;
    return (whole ? catalogue_put_output(catalogue, &row, err)
                  : catalogue_move_output(catalogue, &row, err)) &&
           write_ranges(chain, catalogue, err);
}

bool chains_write(const struct chains *chains, struct catalogue *catalogue, struct error *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < chains->removed.count; i++) {
        ok = catalogue_remove_output(catalogue, chains->removed.at[i], err);
    }
    for (size_t i = 0; ok && i < chains->count; i++) {
        ok = !chains->all[i]->is_changed || write_chain(chains->all[i], catalogue, err);
    }
    return ok;
}

void chains_written(struct chains *chains)
{
    for (size_t i = 0; i < chains->count; i++) {
        if (chains->all[i]->is_changed) {
            chain_written(chains->all[i]);
        }
    }
    chains->removed.count = 0;
}

void chains_unwritten(struct chains *chains)
{
    for (size_t i = 0; i < chains->count; i++) {
        struct chain *chain = chains->all[i];
        chain->is_changed = true;
        chain->is_written = false;
        for (size_t j = 0; j < chain->range_count; j++) {
            chain->ranges[j].is_written = false;
        }
    }
    chains->removed.count = 0;
}
