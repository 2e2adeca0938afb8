#include "app/state/spool_facts.h"

#include <stdlib.h>

#include "store/backlog.h"

enum { BATCHES_AT_ONCE = 256 };

void spool_facts_fini(struct spool_facts *facts)
{
    for (size_t i = 0; i < facts->output_count; i++) {
        free(facts->outputs[i].name);
    }
    free(facts->outputs);
    chains_fini(&facts->chains);
}

struct spool_output_facts *spool_facts_output(const struct spool_facts *facts, const char *name)
{
    for (size_t i = 0; i < facts->output_count; i++) {
        if (strcmp(facts->outputs[i].name, name) == 0) {
            return &facts->outputs[i];
        }
    }
    return NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool add_segment(void *self, const struct catalogue_segment *segment)
{
    struct spool_facts *facts = self;
    facts->files++;
    facts->bytes += segment->bytes;
    facts->deletable += segment->state == CATALOGUE_SEGMENT_DELETING;
    return true;
}

static bool add_output(struct catalogue *catalogue, struct spool_facts *facts,
    const struct chain *chain, struct error *err)
{
    struct spool_output_facts output = {.chain = chain};
    struct span name = buf_span(&chain->name);
    if (!backlog_measure(catalogue, chain, &output.backlog, err)) {
        return false;
    }
    output.name = calloc(name.size + 1, 1);
    if (!output.name) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    if (name.size) {
        memcpy(output.name, name.data, name.size);
    }
    facts->outputs[facts->output_count++] = output;
    return true;
}

static bool add_outputs(struct catalogue *catalogue, struct spool_facts *facts, struct error *err)
{
    const struct chains *chains = &facts->chains;
    bool ok = true;
    facts->outputs = calloc(chains->count + 1, sizeof(*facts->outputs));
    if (!facts->outputs) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    for (size_t i = 0; ok && i < chains->count; i++) {
        ok = add_output(catalogue, facts, chains->all[i], err);
    }
    return ok;
}

static bool read_all(struct catalogue *catalogue, struct spool_facts *facts, struct error *err)
{
    struct catalogue_batch first;
    size_t found = 0;
    bool ok = catalogue_info(catalogue, &facts->info, err) &&
              catalogue_segments(catalogue, add_segment, facts, err) &&
              chains_load(&facts->chains, catalogue, err) && add_outputs(catalogue, facts, err) &&
              catalogue_next_batches(catalogue, 0, 0, UINT64_MAX, &first, 1, &found, err);
    facts->info.earlier = span_make(NULL, 0); /* it does not last */
    facts->oldest = ok && found ? first.entered : 0;
    facts->bytes += catalogue_disk_bytes(catalogue);
    return ok;
}

bool spool_facts_read(struct catalogue *catalogue, struct spool_facts *ret_facts, struct error *err)
{
    struct spool_facts facts = {.files = 0};
    chains_init(&facts.chains);
    if (!read_all(catalogue, &facts, err)) {
        spool_facts_fini(&facts);
        return false;
    }
    *ret_facts = facts;
    return true;
}

/* ---- batches --------------------------------------------------------------------------------- */

/* The range of a scan: batches of one stream (0: of all) between two ids, except those that an
 * output has settled. */
struct stretch {
    uint64_t stream;
    uint64_t after;
    uint64_t last;
    const struct chain *chain; /* NULL: none */
};

/* ${ret_more}: the caller wants more. */
static bool walk(struct catalogue *catalogue, const struct stretch *stretch,
    bool (*each)(void *self, const struct catalogue_batch *batch), void *self, bool *ret_more,
    struct error *err)
{
    struct catalogue_batch *batches = malloc(BATCHES_AT_ONCE * sizeof(*batches));
    uint64_t after = stretch->after;
    size_t count = BATCHES_AT_ONCE;
    bool ok = true;
    if (!batches) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    while (ok && *ret_more && count == BATCHES_AT_ONCE && after < stretch->last) {
        ok = catalogue_next_batches(catalogue, stretch->stream, after, stretch->last, batches,
            BATCHES_AT_ONCE, &count, err);
        for (size_t i = 0; ok && *ret_more && i < count; i++) {
            after = batches[i].id;
            if (!stretch->chain || !chain_is_early(stretch->chain, after)) {
                *ret_more = each(self, &batches[i]);
            }
        }
    }
    free(batches);
    return ok;
}

bool spool_facts_batches(struct catalogue *catalogue, const struct spool_output_facts *output,
    bool (*each)(void *self, const struct catalogue_batch *batch), void *self, struct error *err)
{
    bool more = true;
    bool ok = true;
    if (!output) {
        const struct stretch all = {.last = UINT64_MAX};
        return walk(catalogue, &all, each, self, &more, err);
    }
    for (size_t i = 0; ok && more && i < output->chain->range_count; i++) {
        const struct chain_range *range = &output->chain->ranges[i];
        const struct stretch stretch = {.stream = range->stream,
            .after = chain_lower(output->chain, range),
            .last = range->last,
            .chain = output->chain};
        ok = walk(catalogue, &stretch, each, self, &more, err);
    }
    return ok;
}
