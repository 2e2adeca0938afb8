#include "app/state/spool_facts.h"

#include <stdlib.h>

#include "store/backlog.h"

void spool_facts_fini(struct spool_facts *facts)
{
    for (size_t i = 0; i < facts->output_count; i++) {
        free(facts->outputs[i].name);
    }
    free(facts->outputs);
    chains_destroy(facts->chains);
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
    struct span name = chain_name(chain);
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
    const struct chain *chain;
    bool ok = true;
    facts->outputs = calloc(chains_count(facts->chains) + 1, sizeof(*facts->outputs));
    if (!facts->outputs) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    for (size_t i = 0; ok && (chain = chains_at(facts->chains, i)); i++) {
        ok = add_output(catalogue, facts, chain, err);
    }
    return ok;
}

static bool read_all(struct catalogue *catalogue, struct spool_facts *facts, struct error *err)
{
    struct catalogue_batch first;
    size_t found = 0;
    bool ok = catalogue_info(catalogue, &facts->info, err) &&
              catalogue_segments(catalogue, add_segment, facts, err) &&
              chains_load(facts->chains, catalogue, err) && add_outputs(catalogue, facts, err) &&
              catalogue_next_batches(catalogue, 0, 0, UINT64_MAX, &first, 1, &found, err);
    facts->info.earlier = span_make(NULL, 0); /* it does not last */
    facts->oldest = ok && found ? first.entered : 0;
    facts->bytes += catalogue_disk_bytes(catalogue);
    return ok;
}

bool spool_facts_read(struct catalogue *catalogue, struct spool_facts *ret_facts, struct error *err)
{
    struct spool_facts facts = {.chains = chains_create()};
    if (!facts.chains) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    if (!read_all(catalogue, &facts, err)) {
        spool_facts_fini(&facts);
        return false;
    }
    *ret_facts = facts;
    return true;
}
