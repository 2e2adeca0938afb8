#include "app/positions/handover.h"

#include <stdlib.h>

#include "app/state/data_folder.h"
#include "app/state/spool_facts.h"
#include "platform/plat_system.h"
#include "store/catalogue/catalogue_outputs.h"
#include "store/catalogue/catalogue_progress.h"
#include "store/catalogue/catalogue_sources.h"
#include "store/store.h"

/*
 * In memory each output has a position of its own (a row of progress). A spool on the disk knows
 * how far a session is in each stream instead. A stream begins at the lowest position of its
 * outputs. Its other outputs leave out what they took beyond that. The store remembers these
 * positions as the state of a session whose name no session can have: lines of session, output,
 * number, and the last batch that was in the spool then. An output takes these earlier batches in
 * any case, whatever their numbers (pipeline/batch/delivered.h, a line for each step).
 *
 * An output has a row of progress as long as its last run was one in memory. The way to the disk
 * takes two commits. The first says where streams begin. The pipeline then stages the checkpoints,
 * and the second commit writes these and removes the rows. After a kill between the two, the agent
 * repeats both; nothing was delivered yet. The way to memory takes one commit: it makes the row and
 * removes the checkpoint of the output's chain.
 */
static const char delivered_name[] = "/delivered";

/* ---- what outputs delivered ------------------------------------------------------------------ */

static struct span next_word(struct span *text, uint8_t end)
{
    const uint8_t *at = text->size ? memchr(text->data, end, text->size) : NULL;
    struct span word = span_first(*text, at ? (size_t)(at - text->data) : text->size);
    *text = span_from(*text, word.size + (at != NULL));
    return word;
}

static uint64_t number_of(struct span word)
{
    uint64_t number = 0;
    for (size_t i = 0; i < word.size && word.data[i] >= '0' && word.data[i] <= '9'; i++) {
        number = number * 10 + (uint64_t)(word.data[i] - '0');
    }
    return number;
}

static void read_delivered(
    const struct agent_plan *plan, struct span text, struct delivered *delivered)
{
    while (text.size) {
        struct span line = next_word(&text, '\n');
        size_t session = agent_plan_find_session(plan, next_word(&line, ' '));
        size_t output = agent_plan_find_output(plan, next_word(&line, ' '));
        uint64_t number = number_of(next_word(&line, ' '));
        if (session < plan->session_count && output < plan->output_count) {
            delivered_set(
                &delivered[session * plan->output_count + output], number, number_of(line));
        }
    }
}

/* Notes about the output from runs with a spool on disk. */
static bool find_delivered(const struct agent_plan *plan, struct store *store,
    struct delivered *delivered, struct error *err)
{
    struct buf text;
    buf_init(&text, STORE_VALUE_MAX);
    struct catalogue *catalogue = store_catalogue(store, err);
    bool ok = catalogue && catalogue_find_state(catalogue, span_text(delivered_name), &text, err);
    if (ok) {
        read_delivered(plan, buf_span(&text), delivered);
    }
    buf_fini(&text);
    return ok;
}

bool handover_put_delivered(const struct agent_plan *plan, struct store *store,
    const struct handover *handover, struct error *err)
{
    struct buf text;
    buf_init(&text, STORE_VALUE_MAX);
    for (size_t i = 0; i < plan->session_count * plan->output_count; i++) {
        const struct delivered *delivered = &handover->delivered[i];
        for (size_t k = 0; k < delivered->count; k++) {
            buf_printf(&text, "%s %s %llu %llu\n",
                agent_plan_session_name(plan, i / plan->output_count),
                agent_plan_output_name(plan, i % plan->output_count),
                (unsigned long long)delivered->steps[k].number,
                (unsigned long long)delivered->steps[k].last_batch);
        }
    }
    bool ok = (!text.failed || error_set(err, ERR_MEMORY, "out of memory")) &&
              store_source_state(store, span_text(delivered_name), buf_span(&text), err);
    buf_fini(&text);
    return ok;
}

/* ---- from memory to disk --------------------------------------------------------------------- */

struct taking {
    const struct agent_plan *plan;
    struct store *store;
    struct handover *handover;
    uint64_t *sequences; /* [session * output_count + output], … */
    bool *found;         /* … if the output's row has the session */
    bool ok;
    struct error *err;
};

/* A row of progress. */
static bool take_row(void *self, const struct catalogue_progress *progress)
{
    struct taking *taking = self;
    const struct agent_plan *plan = taking->plan;
    size_t output = agent_plan_find_output(plan, progress->output);
    struct span rest = progress->sessions;
    struct span name;
    uint64_t sequence;
    if (output == plan->output_count) {
        return true;
    }
    struct buf *checkpoint = &taking->handover->checkpoints[output];
    taking->handover->left[output] = true;
    taking->handover->any = true;
    buf_add_span(checkpoint, progress->checkpoint);
    while (catalogue_progress_next(&rest, &name, &sequence)) {
        size_t session = agent_plan_find_session(plan, name);
        if (session < plan->session_count) {
            taking->sequences[session * plan->output_count + output] = sequence;
            taking->found[session * plan->output_count + output] = true;
        }
    }
    taking->ok = !checkpoint->failed || error_set(taking->err, ERR_MEMORY, "out of memory");
    return taking->ok;
}

/* The positions of the stream's outputs in the session. The stream may be ahead of outputs that
 * were added later. Outputs that the run in memory did not have count as having delivered
 * everything in the stream. */
static bool take_position(struct taking *taking, size_t stream, size_t session, uint64_t id)
{
    const struct agent_plan *plan = taking->plan;
    struct handover *handover = taking->handover;
    const struct span name = span_text(agent_plan_session_name(plan, session));
    uint64_t last_id = store_last_id(taking->store);
    uint64_t lowest = UINT64_MAX;
    uint64_t before = 0;
    bool found;
    struct catalogue *catalogue = store_catalogue(taking->store, taking->err);
    if (!catalogue || !catalogue_find_source(catalogue, name, id, &before, &found, taking->err)) {
        return false;
    }
    for (size_t o = 0; o < plan->output_count; o++) {
        size_t cell = session * plan->output_count + o;
        uint64_t delivered = delivered_number(&handover->delivered[cell]);
        if (plan->outputs[o].stream != stream || !agent_plan_takes(plan, session, o)) {
            continue;
        }
        if (taking->found[cell]) {
            delivered = taking->sequences[cell];
            lowest = delivered < lowest ? delivered : lowest;
        } else {
            delivered = before > delivered ? before : delivered;
        }
        delivered_set(&handover->delivered[cell], delivered, last_id);
    }
    bool known = lowest != UINT64_MAX;
    handover->known[stream * plan->session_count + session] = known;
    return !known || (lowest == 0 && before == 0) ||
           store_source_from(taking->store, name, id, lowest, taking->err);
}

static bool has_left(const struct taking *taking, size_t stream)
{
    const struct agent_plan *plan = taking->plan;
    bool any = false;
    for (size_t o = 0; o < plan->output_count; o++) {
        any = any || (plan->outputs[o].stream == stream && taking->handover->left[o]);
    }
    return any;
}

static bool take_streams(struct taking *taking)
{
    const struct agent_plan *plan = taking->plan;
    bool ok = true;
    for (size_t i = 0; ok && i < plan->stream_count; i++) {
        const struct pipeline_stream *stream = &plan->streams[i];
        uint64_t id;
        if (!has_left(taking, i)) {
            continue;
        }
        ok = store_stream(taking->store, span_text(stream->key), stream->hash, span_make(NULL, 0),
            &id, taking->err);
        for (size_t s = 0; ok && s < plan->session_count; s++) {
            ok = !plan->sessions[s].replayable || take_position(taking, i, s, id);
        }
    }
    return ok;
}

static bool allocate(const struct agent_plan *plan, struct handover *handover, struct error *err)
{
    handover->known = calloc(plan->stream_count * plan->session_count + 1, sizeof(bool));
    handover->delivered = calloc(
        plan->session_count * plan->output_count + 1, sizeof(struct delivered));
    handover->left = calloc(plan->output_count + 1, sizeof(bool));
    handover->checkpoints = calloc(plan->output_count + 1, sizeof(struct buf));
    for (size_t o = 0; handover->checkpoints && o < plan->output_count; o++) {
        buf_init(&handover->checkpoints[o], STORE_VALUE_MAX);
    }
    return (handover->known && handover->delivered && handover->left && handover->checkpoints) ||
           error_set(err, ERR_MEMORY, "out of memory");
}

/* Without it an agent would read and send again what was delivered. */
static bool tell_failed(struct error *err)
{
    struct error why = *err;
    return error_set(err, why.code,
        "%s. an earlier run kept no events on the disk, and the spool cannot store how far that "
        "run came. make room on the disk",
        why.text);
}

bool handover_to_disk(const struct agent_plan *plan, struct store *store, struct handover *handover,
    struct error *err)
{
    size_t cells = plan->session_count * plan->output_count + 1;
    struct store_committed committed;
    struct taking taking = {.plan = plan,
        .store = store,
        .handover = handover,
        .sequences = calloc(cells, sizeof(*taking.sequences)),
        .found = calloc(cells, sizeof(*taking.found)),
        .ok = true,
        .err = err};
    struct catalogue *catalogue = store_catalogue(store, err);
    bool ok = catalogue &&
              ((taking.sequences && taking.found) || error_set(err, ERR_MEMORY, "out of memory"));
    ok = ok && allocate(plan, handover, err) &&
         find_delivered(plan, store, handover->delivered, err) &&
         catalogue_progresses(catalogue, take_row, &taking, err) && taking.ok;
    if (ok && handover->any) { /* positions_sources.c reads what is committed */
        ok = (take_streams(&taking) && handover_put_delivered(plan, store, handover, err) &&
                 store_commit(store, &committed, err)) ||
             tell_failed(err);
    }
    free(taking.sequences);
    free(taking.found);
    return ok;
}

bool handover_done(const struct agent_plan *plan, struct log *log, struct store *store,
    const struct handover *handover, struct error *err)
{
    struct store_committed committed;
    bool ok = true;
    for (size_t o = 0; ok && o < plan->output_count; o++) {
        const struct store_progress none = {.name = span_text(agent_plan_output_name(plan, o))};
        ok = !handover->left[o] || store_progress(store, &none, err);
    }
    if (!handover->any) {
        return ok;
    }
    if (!ok || !store_commit(store, &committed, err)) {
        return tell_failed(err);
    }
    log_write(log, LOG_LEVEL_INFO, NULL,
        "spool: outputs continue after the last events that they delivered in an earlier run, "
        "which kept no events on the disk");
    return true;
}

void handover_fini(struct handover *handover, size_t output_count)
{
    for (size_t o = 0; handover->checkpoints && o < output_count; o++) {
        buf_fini(&handover->checkpoints[o]);
    }
    free(handover->known);
    free(handover->delivered);
    free(handover->left);
    free(handover->checkpoints);
}

/* ---- from disk to memory --------------------------------------------------------------------- */

/* An output of the plan in the catalogue. */
struct known_output {
    bool has_progress; /* its last run was one in memory */
    uint64_t id;       /* of its chain; 0: it has none */
    uint64_t stream;
};

struct giving {
    const struct agent_plan *plan;
    struct known_output *outputs;
    struct delivered *delivered; /* of which the numbers count: in memory there are no batches */
    uint64_t *sequences;         /* [session * output_count + output]; 0: nothing */
};

static bool note_row(void *self, const struct catalogue_progress *progress)
{
    const struct giving *giving = self;
    giving->outputs[agent_plan_find_output(giving->plan, progress->output)].has_progress = true;
    return true;
}

static bool note_range(void *self, const struct catalogue_range *range)
{
    const struct giving *giving = self;
    for (size_t o = 0; o < giving->plan->output_count; o++) {
        if (giving->outputs[o].id == range->output && range->last == UINT64_MAX) {
            giving->outputs[o].stream = range->stream;
        }
    }
    return true;
}

static bool note_source(void *self, const struct catalogue_source *source)
{
    const struct giving *giving = self;
    const struct agent_plan *plan = giving->plan;
    size_t s = agent_plan_find_session(plan, source->session);
    if (s == plan->session_count || !plan->sessions[s].replayable) {
        return true;
    }
    for (size_t o = 0; o < plan->output_count; o++) {
        const struct known_output *output = &giving->outputs[o];
        size_t cell = s * plan->output_count + o;
        uint64_t delivered = delivered_number(&giving->delivered[cell]);
        if (output->id && output->stream == source->stream && agent_plan_takes(plan, s, o)) {
            giving->sequences[cell] = delivered > source->sequence ? delivered : source->sequence;
        }
    }
    return true;
}

/* The row of one output, with the checkpoint that its chain has. */
static bool give_output(
    const struct giving *giving, struct store *store, size_t output, struct error *err)
{
    const struct agent_plan *plan = giving->plan;
    const struct span name = span_text(agent_plan_output_name(giving->plan, output));
    struct buf sessions;
    struct buf checkpoint;
    buf_init(&sessions, STORE_VALUE_MAX);
    buf_init(&checkpoint, STORE_VALUE_MAX);
    for (size_t s = 0; s < plan->session_count; s++) {
        uint64_t sequence = giving->sequences[s * plan->output_count + output];
        if (sequence) {
            catalogue_progress_add(
                &sessions, span_text(agent_plan_session_name(giving->plan, s)), sequence);
        }
    }
    struct catalogue *catalogue = store_catalogue(store, err);
    bool ok = catalogue &&
              catalogue_find_checkpoint(catalogue, giving->outputs[output].id, &checkpoint, err);
    bool has_memory = !sessions.failed && !checkpoint.failed;
    const struct span value = buf_span(&checkpoint);
    const struct store_progress progress = {
        .name = name, .sessions = buf_span(&sessions), .checkpoint = &value};
    ok = ok && (has_memory || error_set(err, ERR_MEMORY, "out of memory")) &&
         (sessions.size == 0 || store_progress(store, &progress, err)) &&
         store_drop_checkpoint(store, name, err);
    buf_fini(&sessions);
    buf_fini(&checkpoint);
    return ok;
}

static bool give_all(
    struct giving *giving, struct store *store, const struct spool_facts *facts, struct error *err)
{
    const struct agent_plan *plan = giving->plan;
    struct catalogue *catalogue = store_catalogue(store, err);
    for (size_t o = 0; o < plan->output_count; o++) {
        const struct spool_output_facts *output = spool_facts_output(
            facts, agent_plan_output_name(plan, o));
        giving->outputs[o].id = output ? chain_id(output->chain) : 0;
    }
    bool ok = catalogue && find_delivered(plan, store, giving->delivered, err) &&
              catalogue_progresses(catalogue, note_row, giving, err) &&
              catalogue_ranges(catalogue, note_range, giving, err) &&
              catalogue_sources(catalogue, note_source, giving, err);
    for (size_t o = 0; ok && o < plan->output_count; o++) {
        const struct known_output *output = &giving->outputs[o];
        ok = output->has_progress || output->id == 0 || give_output(giving, store, o, err);
    }
    return ok;
}

static bool give(const struct agent_plan *plan, struct store *store,
    const struct spool_facts *facts, struct error *err)
{
    size_t outputs = plan->output_count + 1;
    size_t cells = plan->session_count * plan->output_count + 1;
    struct giving giving = {.plan = plan,
        .outputs = calloc(outputs, sizeof(*giving.outputs)),
        .delivered = calloc(cells, sizeof(*giving.delivered)),
        .sequences = calloc(cells, sizeof(*giving.sequences))};
    bool has_memory = giving.outputs && giving.delivered && giving.sequences;
    bool ok = has_memory ? give_all(&giving, store, facts, err)
                         : error_set(err, ERR_MEMORY, "out of memory");
    free(giving.outputs);
    free(giving.delivered);
    free(giving.sequences);
    return ok;
}

/* Log a warning: these events stay undelivered until the durable spool is used again. */
static void tell_waiting(const struct agent_plan *plan, struct log *log, bool has_folder,
    const char *folder, const struct spool_facts *facts)
{
    const char *way =
        has_folder
            ? "with spool.mode: memory they stay there. run with spool.mode: durable"
            : "with spool.mode: memory they stay there, unless another agent ships them. run with "
              "spool.mode: durable";
    for (size_t i = 0; i < facts->output_count; i++) {
        const struct spool_output_facts *output = &facts->outputs[i];
        bool is_ours = has_folder ||
                       agent_plan_find_output(plan, span_text(output->name)) < plan->output_count;
        if (output->backlog.records && is_ours) {
            log_write_as(log, LOG_CAUSE_SPOOL, LOG_LEVEL_WARNING, NULL,
                "%llu events wait in %s for output %s: %s, or drop them with etwship spool forget",
                (unsigned long long)output->backlog.records, folder, output->name, way);
        }
    }
}

/* An agent without a folder of its own remembers nothing. But an earlier run may have had its
 * durable spool in the system's folder. This one only reads there, as the folder may be another
 * agent's. */
static void look_at_default(const struct agent_plan *plan, struct log *log)
{
    char path[DATA_FOLDER_PATH_BYTES];
    struct spool_facts facts;
    struct error ignored;
    const char *folder = plat_default_data_folder();
    if (!folder || !data_folder_path(folder, "spool/catalogue.db", path, NULL)) {
        return;
    }
    struct catalogue *catalogue = catalogue_open(path, CATALOGUE_READ, &ignored);
    if (catalogue && spool_facts_read(catalogue, &facts, &ignored)) {
        tell_waiting(plan, log, false, folder, &facts);
        spool_facts_fini(&facts);
    }
    catalogue_close(catalogue);
}

bool handover_to_memory(const struct agent_plan *plan, struct log *log, const char *data_dir,
    struct store *store, struct error *err)
{
    char folder[DATA_FOLDER_PATH_BYTES];
    struct spool_facts facts;
    if (!data_dir) {
        look_at_default(plan, log);
        return true;
    }
    struct catalogue *catalogue = store_catalogue(store, err);
    if (!catalogue || !data_folder_path(data_dir, "spool", folder, err) ||
        !spool_facts_read(catalogue, &facts, err)) {
        return false;
    }
    tell_waiting(plan, log, true, folder, &facts);
    bool ok = give(plan, store, &facts, err);
    spool_facts_fini(&facts);
    return ok;
}
