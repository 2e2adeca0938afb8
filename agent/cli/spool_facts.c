#include "cli/spool_facts.h"

#include <stdlib.h>

#include "pipeline/grow.h"

/* Of a chain: batches of `stream` behind `after`, up to `last`. */
struct spool_range_facts {
    uint64_t output;
    uint64_t stream;
    uint64_t after;
    uint64_t last;
};

enum { BATCHES_AT_ONCE = 256 };

void spool_facts_fini(struct spool_facts *facts)
{
    for (size_t i = 0; i < facts->output_count; i++) {
        free(facts->outputs[i].name);
    }
    free(facts->outputs);
    free(facts->ranges);
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

/* ---- reading ---------------------------------------------------------------------------------- */

static bool add_segment(void *self, const struct catalogue_segment *segment)
{
    struct spool_facts *facts = self;
    facts->files++;
    facts->bytes += segment->bytes;
    facts->deletable += segment->state == CATALOGUE_SEGMENT_DELETING;
    return true;
}

static bool add_output(void *self, const struct catalogue_output *output)
{
    struct spool_facts *facts = self;
    struct spool_output_facts *outputs = grow_list(
        facts->outputs, facts->output_count, &facts->output_capacity, sizeof(*outputs));
    char *name = malloc(output->name.size + 1);
    if (outputs) {
        facts->outputs = outputs;
    }
    if (!outputs || !name) {
        free(name);
        facts->out_of_memory = true;
        return false;
    }
    if (output->name.size) {
        memcpy(name, output->name.data, output->name.size);
    }
    name[output->name.size] = 0;
    outputs[facts->output_count++] = (struct spool_output_facts){
        .name = name, .id = output->id, .position = output->position, .seen = output->seen};
    return true;
}

static bool add_range(void *self, const struct catalogue_range *range)
{
    struct spool_facts *facts = self;
    struct spool_range_facts *ranges = grow_list(
        facts->ranges, facts->range_count, &facts->range_capacity, sizeof(*ranges));
    facts->out_of_memory = !ranges;
    if (ranges) {
        facts->ranges = ranges;
        ranges[facts->range_count++] = (struct spool_range_facts){.output = range->output,
            .stream = range->stream,
            .after = range->after,
            .last = range->last};
    }
    return ranges != NULL;
}

/* What of a range the output has not settled begins behind this batch. */
static uint64_t begin_of(
    const struct spool_output_facts *output, const struct spool_range_facts *range)
{
    return output->position > range->after ? output->position : range->after;
}

static bool measure(struct catalogue *catalogue, const struct spool_facts *facts,
    struct spool_output_facts *output, struct error *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < facts->range_count; i++) {
        const struct spool_range_facts *range = &facts->ranges[i];
        uint64_t after = begin_of(output, range);
        struct catalogue_sum sum = {.batches = 0};
        struct catalogue_batch first;
        size_t found = 0;
        if (range->output != output->id || after >= range->last) {
            continue;
        }
        ok = catalogue_sum_batches(catalogue, range->stream, after, range->last, &sum, err) &&
             catalogue_next_batches(
                 catalogue, range->stream, after, range->last, &first, 1, &found, err);
        output->batches += sum.batches;
        output->records += sum.records;
        output->bytes += sum.bytes;
        if (ok && found && output->oldest == 0) {
            output->oldest = first.entered;
        }
    }
    return ok;
}

static bool read_all(struct catalogue *catalogue, struct spool_facts *facts, struct error *err)
{
    struct catalogue_batch first;
    size_t found = 0;
    bool ok = catalogue_info(catalogue, &facts->info, err) &&
              catalogue_segments(catalogue, add_segment, facts, err) &&
              catalogue_outputs(catalogue, add_output, facts, err) && !facts->out_of_memory &&
              catalogue_ranges(catalogue, add_range, facts, err) && !facts->out_of_memory &&
              catalogue_next_batches(catalogue, 0, 0, UINT64_MAX, &first, 1, &found, err);
    if (facts->out_of_memory) {
        error_set(err, ERR_MEMORY, "out of memory");
    }
    for (size_t i = 0; ok && i < facts->output_count; i++) {
        ok = measure(catalogue, facts, &facts->outputs[i], err);
    }
    facts->oldest = ok && found ? first.entered : 0;
    facts->bytes += catalogue_disk_bytes(catalogue);
    return ok;
}

bool spool_facts_read(struct catalogue *catalogue, struct spool_facts *ret_facts, struct error *err)
{
    struct spool_facts facts = {.files = 0};
    if (!read_all(catalogue, &facts, err)) {
        spool_facts_fini(&facts);
        return false;
    }
    *ret_facts = facts;
    return true;
}

/* ---- batches ---------------------------------------------------------------------------------- */

/* Batches of one stream (0: of all). ${ret_more}: the looker wants to go on. */
static bool walk(struct catalogue *catalogue, const struct spool_range_facts *range,
    bool (*each)(void *self, const struct catalogue_batch *batch), void *self, bool *ret_more,
    struct error *err)
{
    struct catalogue_batch *batches = malloc(BATCHES_AT_ONCE * sizeof(*batches));
    uint64_t after = range->after;
    size_t count = BATCHES_AT_ONCE;
    bool ok = true;
    if (!batches) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    while (ok && *ret_more && count == BATCHES_AT_ONCE && after < range->last) {
        ok = catalogue_next_batches(
            catalogue, range->stream, after, range->last, batches, BATCHES_AT_ONCE, &count, err);
        for (size_t i = 0; ok && *ret_more && i < count; i++) {
            *ret_more = each(self, &batches[i]);
            after = batches[i].id;
        }
    }
    free(batches);
    return ok;
}

bool spool_facts_batches(struct catalogue *catalogue, const struct spool_facts *facts,
    const struct spool_output_facts *output,
    bool (*each)(void *self, const struct catalogue_batch *batch), void *self, struct error *err)
{
    bool more = true;
    bool ok = true;
    if (!output) {
        const struct spool_range_facts all = {.last = UINT64_MAX};
        return walk(catalogue, &all, each, self, &more, err);
    }
    for (size_t i = 0; ok && more && i < facts->range_count; i++) {
        struct spool_range_facts range = facts->ranges[i];
        if (range.output == output->id) {
            range.after = begin_of(output, &range);
            ok = walk(catalogue, &range, each, self, &more, err);
        }
    }
    return ok;
}
