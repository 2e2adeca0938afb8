#include "app/agent_import.h"

#include <stdlib.h>

#include "app/data_folder.h"
#include "app/spool_facts.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "platform/plat_system.h"
#include "store/catalogue_outputs.h"
#include "store/catalogue_sources.h"
#include "store/store.h"

/*
 * In memory mode each output has a position of its own; a durable spool knows how far a session is in each
 * stream. A stream begins where that of its outputs is that has least. What others of them had beyond
 * that they leave out, so the store remembers it, as the state of a session with a name that none has:
 * lines of session, output, number, and the last batch that was in the spool before: what waited there is
 * not left out, whatever its numbers (pipeline/had.h, a line for each step). Older versions had one such batch for all, in a line without names.
 *
 * The file `state` is there if memory mode ran last. It is taken over in commits that can be repeated, and
 * renamed when all of it is true, before the first delivery; then it is old, and never read again.
 */
static const char had_name[] = "/had";

enum { DONE_AT_ONCE = 1000 };

static const char *session_name(const struct agent *agent, size_t session)
{
    return agent->plan->session_configs[session]->name;
}

static const char *output_name(const struct agent *agent, size_t output)
{
    return agent->plan->output_configs[output]->name;
}

static bool takes(const struct agent *agent, size_t session, size_t output)
{
    return agent->plan->takes[session * agent->plan->output_count + output];
}

static bool has_state(const struct agent *agent)
{
    char path[DATA_FOLDER_PATH_BYTES];
    return data_folder_path(agent->data_dir, "state", path, NULL) &&
           plat_path_kind(path) != PLAT_PATH_NONE;
}

/* ---- what outputs had ---------------------------------------------------------------------------- */

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

/* ${behind} is what lines say that do not say it themselves, until one without names does. */
static void read_had(const struct agent *agent, struct span text, struct had *had, uint64_t behind)
{
    const struct agent_plan *plan = agent->plan;
    while (text.size) {
        struct span line = next_word(&text, '\n');
        struct span session = next_word(&line, ' ');
        struct span output = next_word(&line, ' ');
        uint64_t number = number_of(next_word(&line, ' '));
        behind = session.size ? behind : number;
        for (size_t i = 0; i < plan->session_count * plan->output_count; i++) {
            if (span_is(session, session_name(agent, i / plan->output_count)) &&
                span_is(output, output_name(agent, i % plan->output_count))) {
                had_set(&had[i], number, line.size ? number_of(line) : behind);
            }
        }
    }
}

bool agent_import_put_had(const struct agent *agent, struct store *store,
    const struct agent_import *import, struct error *err)
{
    const struct agent_plan *plan = agent->plan;
    struct buf text;
    buf_init(&text, STORE_VALUE_MAX);
    for (size_t i = 0; i < plan->session_count * plan->output_count; i++) {
        const struct had *had = &import->had[i];
        for (size_t k = 0; k < had->count; k++) {
            buf_printf(&text, "%s %s %llu %llu\n", session_name(agent, i / plan->output_count),
                output_name(agent, i % plan->output_count),
                (unsigned long long)had->steps[k].number, (unsigned long long)had->steps[k].behind);
        }
    }
    bool ok = (!text.failed || error_set(err, ERR_MEMORY, "out of memory")) &&
              store_source_state(store, span_text(had_name), buf_span(&text), err);
    buf_fini(&text);
    return ok;
}

/* ---- from memory to disk ------------------------------------------------------------------------- */

struct taking {
    const struct agent *agent;
    struct store *store;
    struct agent_import *import;
    size_t session;
    size_t staged;
    struct error *err;
};

static bool commit(struct store *store, struct error *err)
{
    struct store_committed committed;
    return store_commit(store, &committed, err);
}

/* Where the stream's outputs are with the session; the live ones have a time in its place. The stream may
 * have been further, without an output that came later; those that memory mode did not know had all of
 * it. */
static bool take_position(struct taking *taking, size_t stream, uint64_t id)
{
    const struct agent *agent = taking->agent;
    const struct agent_plan *plan = agent->plan;
    size_t s = taking->session;
    const char *name = session_name(agent, s);
    uint64_t lowest = UINT64_MAX;
    uint64_t before = 0;
    bool is_read_again = plan->sessions[s].replayable;
    if (!store_find_source(taking->store, span_text(name), id, &before, taking->err)) {
        return false;
    }
    for (size_t o = 0; o < plan->output_count; o++) {
        size_t cell = s * plan->output_count + o;
        uint64_t had = had_number(&taking->import->had[cell]);
        struct position position;
        if (plan->outputs[o].stream != stream || !takes(agent, s, o)) {
            continue;
        }
        if (!positions_find(taking->import->left, name, output_name(agent, o), &position)) {
            had = is_read_again && before > had ? before : had;
            had_set(&taking->import->had[cell], had, store_last_id(taking->store));
            continue;
        }
        lowest = position.sequence < lowest ? position.sequence : lowest;
        had = is_read_again ? position.sequence : had;
        had_set(&taking->import->had[cell], had, store_last_id(taking->store));
    }
    taking->import->known[stream * plan->session_count + s] = lowest != UINT64_MAX;
    if (lowest == UINT64_MAX || (lowest == 0 && (before == 0 || !is_read_again))) {
        return true;
    }
    return is_read_again
               ? store_source_from(taking->store, span_text(name), id, lowest, taking->err)
               : store_live(taking->store, span_text(name), lowest, taking->err);
}

static bool take_done(void *self, const uint8_t file_id[16], uint64_t sequence)
{
    struct taking *taking = self;
    struct span name = span_text(session_name(taking->agent, taking->session));
    return store_done(taking->store, name, file_id, sequence, taking->err) &&
           (++taking->staged % DONE_AT_ONCE || commit(taking->store, taking->err));
}

static bool take_session(struct taking *taking)
{
    const char *name = session_name(taking->agent, taking->session);
    struct span state = positions_source(taking->import->left, name);
    return (state.size == 0 ||
               store_source_state(taking->store, span_text(name), state, taking->err)) &&
           positions_dones(taking->import->left, name, take_done, taking);
}

static bool take_all(struct taking *taking)
{
    const struct agent_plan *plan = taking->agent->plan;
    bool ok = true;
    for (size_t i = 0; ok && i < plan->stream_count; i++) {
        const struct pipeline_stream *stream = &plan->streams[i];
        uint64_t id;
        ok = store_stream(taking->store, span_text(stream->key), stream->hash, span_make(NULL, 0),
            &id, taking->err);
        for (taking->session = 0; ok && taking->session < plan->session_count; taking->session++) {
            ok = take_position(taking, i, id);
        }
    }
    for (taking->session = 0; ok && taking->session < plan->session_count; taking->session++) {
        ok = take_session(taking);
    }
    return ok && agent_import_put_had(taking->agent, taking->store, taking->import, taking->err) &&
           commit(taking->store, taking->err);
}

static bool allocate(const struct agent *agent, struct agent_import *import, struct error *err)
{
    const struct agent_plan *plan = agent->plan;
    import->known = calloc(plan->stream_count * plan->session_count + 1, sizeof(*import->known));
    import->had = calloc(plan->session_count * plan->output_count + 1, sizeof(*import->had));
    return (import->known && import->had) || error_set(err, ERR_MEMORY, "out of memory");
}

/* Whoever starts without it reads and sends again what the other mode had. */
static bool tell_failed(struct error *err)
{
    struct error why = *err;
    return error_set(err, why.code,
        "%s. an earlier run with spool.mode: memory has left how far it was, and the spool cannot "
        "take that over: make room on the disk, or go on with spool.mode: memory",
        why.text);
}

bool agent_import_to_spool(
    struct agent *agent, struct store *store, struct agent_import *import, struct error *err)
{
    struct taking taking = {.agent = agent, .store = store, .import = import, .err = err};
    struct buf text;
    if (!allocate(agent, import, err)) {
        return false;
    }
    buf_init(&text, STORE_VALUE_MAX);
    bool ok = store_find_source_state(store, span_text(had_name), &text, err);
    if (ok) {
        read_had(agent, buf_span(&text), import->had, store_last_id(store));
    }
    buf_fini(&text);
    if (!ok || !has_state(agent)) {
        return ok;
    }
    import->left = positions_open_held(agent->data_dir, err);
    if (!import->left) {
        return false;
    }
    if (positions_notice(import->left)) {
        log_write_as(agent->log, LOG_CAUSE_SPOOL, LOG_LEVEL_WARNING, NULL, "%s",
            positions_notice(import->left));
    }
    return take_all(&taking) || tell_failed(err);
}

bool agent_import_done(const struct agent *agent, struct store *store,
    const struct agent_import *import, struct error *err)
{
    char path[DATA_FOLDER_PATH_BYTES];
    char old[DATA_FOLDER_PATH_BYTES];
    if (!import->left) {
        return true;
    }
    if (!commit(store, err) || !data_folder_path(agent->data_dir, "state", path, err) ||
        !data_folder_path(agent->data_dir, "state.old", old, err)) {
        return tell_failed(err);
    }
    if (has_state(agent) &&
        (!plat_path_rename(path, old, err) || !plat_path_sync_folder(agent->data_dir, err))) {
        return tell_failed(err);
    }
    log_write(agent->log, LOG_LEVEL_INFO, NULL,
        "spool: it goes on where an earlier run with spool.mode: memory was");
    return true;
}

void agent_import_fini(struct agent_import *import)
{
    positions_close(import->left);
    free(import->known);
    free(import->had);
}

/* ---- from disk to memory ------------------------------------------------------------------------- */

/* An output of the plan in the catalogue. */
struct known_output {
    uint64_t id; /* 0: it is not there */
    uint64_t stream;
    struct buf checkpoint;
};

struct giving {
    const struct agent *agent;
    struct catalogue *catalogue;
    struct known_output *outputs;
    struct had *had; /* of which the numbers count: memory mode knows no batches */
    struct error *err;
    bool ok;
};

static bool note_range(void *self, const struct catalogue_range *range)
{
    const struct giving *giving = self;
    for (size_t o = 0; o < giving->agent->plan->output_count; o++) {
        if (giving->outputs[o].id == range->output && range->last == UINT64_MAX) {
            giving->outputs[o].stream = range->stream;
        }
    }
    return true;
}

static size_t find_session(const struct agent *agent, struct span name)
{
    size_t s = 0;
    while (s < agent->plan->session_count && !span_is(name, session_name(agent, s))) {
        s++;
    }
    return s;
}

static bool give_source(void *self, const struct catalogue_source *source)
{
    struct giving *giving = self;
    const struct agent *agent = giving->agent;
    size_t s = find_session(agent, source->session);
    if (s == agent->plan->session_count || !agent->plan->sessions[s].replayable) {
        return true;
    }
    for (size_t o = 0; giving->ok && o < agent->plan->output_count; o++) {
        const struct known_output *output = &giving->outputs[o];
        uint64_t had = had_number(&giving->had[s * agent->plan->output_count + o]);
        struct position position = {.sequence = had > source->sequence ? had : source->sequence};
        if (output->id && output->stream == source->stream && takes(agent, s, o) &&
            position.sequence) {
            giving->ok = positions_ack(agent->positions, session_name(agent, s),
                output_name(agent, o), &position, buf_span(&output->checkpoint), giving->err);
        }
    }
    return giving->ok;
}

static bool give_done(void *self, const struct catalogue_done *done)
{
    struct giving *giving = self;
    size_t s = find_session(giving->agent, done->session);
    giving->ok = s == giving->agent->plan->session_count ||
                 positions_finish(giving->agent->positions, session_name(giving->agent, s),
                     done->file_id, done->sequence, giving->err);
    return giving->ok;
}

static bool give_session(struct giving *giving, size_t s)
{
    const struct agent *agent = giving->agent;
    const char *name = session_name(agent, s);
    struct position position = {.sequence = 0};
    struct buf state;
    buf_init(&state, STORE_VALUE_MAX);
    bool ok = catalogue_find_session(
        giving->catalogue, span_text(name), &state, &position.sequence, giving->err);
    if (ok && state.size) {
        ok = positions_put_source(agent->positions, name, buf_span(&state), giving->err);
    }
    buf_fini(&state);
    for (size_t o = 0; ok && position.sequence && o < agent->plan->output_count; o++) {
        ok = agent->plan->sessions[s].replayable || !takes(agent, s, o) ||
             positions_reach(agent->positions, name, output_name(agent, o), &position, giving->err);
    }
    return ok;
}

static bool give_all(struct giving *giving, const struct spool_facts *facts)
{
    const struct agent *agent = giving->agent;
    struct buf text;
    uint64_t live;
    buf_init(&text, STORE_VALUE_MAX);
    bool ok = catalogue_find_session(
        giving->catalogue, span_text(had_name), &text, &live, giving->err);
    if (ok) {
        read_had(agent, buf_span(&text), giving->had, 0);
    }
    buf_fini(&text);
    for (size_t o = 0; ok && o < agent->plan->output_count; o++) {
        const struct spool_output_facts *output = spool_facts_output(facts, output_name(agent, o));
        giving->outputs[o].id = output ? output->chain->id : 0;
        ok = !output || catalogue_find_checkpoint(giving->catalogue, output->chain->id,
                            &giving->outputs[o].checkpoint, giving->err);
    }
    ok = ok && catalogue_ranges(giving->catalogue, note_range, giving, giving->err) &&
         catalogue_sources(giving->catalogue, give_source, giving, giving->err) && giving->ok &&
         catalogue_dones(giving->catalogue, give_done, giving, giving->err) && giving->ok;
    for (size_t s = 0; ok && s < agent->plan->session_count; s++) {
        ok = give_session(giving, s);
    }
    return ok;
}

static bool give(const struct agent *agent, struct catalogue *catalogue,
    const struct spool_facts *facts, struct error *err)
{
    const struct agent_plan *plan = agent->plan;
    struct giving giving = {.agent = agent,
        .catalogue = catalogue,
        .outputs = calloc(plan->output_count + 1, sizeof(*giving.outputs)),
        .had = calloc(plan->session_count * plan->output_count + 1, sizeof(*giving.had)),
        .err = err,
        .ok = true};
    if (!giving.outputs || !giving.had) {
        free(giving.outputs);
        free(giving.had);
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    for (size_t o = 0; o < plan->output_count; o++) {
        buf_init(&giving.outputs[o].checkpoint, STORE_VALUE_MAX);
    }
    bool ok = give_all(&giving, facts);
    for (size_t o = 0; o < plan->output_count; o++) {
        buf_fini(&giving.outputs[o].checkpoint);
    }
    free(giving.outputs);
    free(giving.had);
    return ok;
}

static bool is_planned(const struct agent *agent, const char *name)
{
    size_t o = 0;
    while (o < agent->plan->output_count && strcmp(output_name(agent, o), name) != 0) {
        o++;
    }
    return o < agent->plan->output_count;
}

/* Loudly: nobody delivers it until the spool is used again. */
static void tell_waiting(
    const struct agent *agent, const char *folder, const struct spool_facts *facts)
{
    const char *way =
        agent->data_dir
            ? "with spool.mode: memory they stay there. run with spool.mode: durable"
            : "with spool.mode: memory they stay there, unless another agent ships them. run with "
              "spool.mode: durable";
    for (size_t i = 0; i < facts->output_count; i++) {
        const struct spool_output_facts *output = &facts->outputs[i];
        if (output->backlog.records && (agent->data_dir || is_planned(agent, output->name))) {
            log_write_as(agent->log, LOG_CAUSE_SPOOL, LOG_LEVEL_WARNING, NULL,
                "%llu events wait in %s for output %s: %s, or drop them with etwship spool forget",
                (unsigned long long)output->backlog.records, folder, output->name, way);
        }
    }
    if (facts->info.letters && agent->data_dir) {
        log_write_as(agent->log, LOG_CAUSE_DEAD_LETTERS, LOG_LEVEL_WARNING, NULL,
            "%llu dead letters are in %s: %s", (unsigned long long)facts->info.letters, folder,
            way);
    }
}

/* Outputs go on without telling the spool: what it knows of their files is old from here on, and would have
 * a later run take back what this one delivers. */
static bool forget_checkpoints(
    const struct agent *agent, const char *path, const struct spool_facts *facts, struct error *err)
{
    size_t known = 0;
    for (size_t o = 0; o < agent->plan->output_count; o++) {
        known += spool_facts_output(facts, output_name(agent, o)) != NULL;
    }
    if (known == 0) {
        return true;
    }
    struct catalogue *catalogue = catalogue_open_beside(path, err);
    bool ok = catalogue && catalogue_begin(catalogue, err);
    for (size_t o = 0; ok && o < agent->plan->output_count; o++) {
        const struct spool_output_facts *output = spool_facts_output(facts, output_name(agent, o));
        ok = !output || catalogue_remove_checkpoint(catalogue, output->chain->id, err);
    }
    ok = ok && catalogue_commit(catalogue, err);
    catalogue_close(catalogue);
    return ok;
}

/* What was taken over is safe before that is done, so that whoever is killed here knows either. */
static void leave_spool(const struct agent *agent, const char *folder, const char *path,
    const struct spool_facts *facts)
{
    struct error why;
    if (!positions_save(agent->positions, &why) || !forget_checkpoints(agent, path, facts, &why)) {
        log_write_as(agent->log, LOG_CAUSE_SPOOL, LOG_LEVEL_WARNING, NULL,
            "%s cannot be told that outputs go on without it: %s. before a run with spool.mode: "
            "durable, move what file outputs have written away: it may be cut back",
            folder, why.text);
    }
}

/* Who only reads does not upgrade what an older version has left; the folder is ours. */
static struct catalogue *open_left(const char *path, struct error *err)
{
    struct catalogue *catalogue = catalogue_open(path, CATALOGUE_READ, err);
    if (catalogue || err->code != ERR_UNSUPPORTED) {
        return catalogue;
    }
    catalogue = catalogue_open_beside(path, err);
    if (!catalogue) {
        return NULL;
    }
    catalogue_close(catalogue);
    return catalogue_open(path, CATALOGUE_READ, err);
}

static bool look(struct agent *agent, const char *folder, const char *path, struct error *err)
{
    struct error why;
    struct spool_facts facts;
    struct catalogue *catalogue = open_left(path, &why);
    if (!catalogue && why.code == ERR_MISSING) {
        return true;
    }
    if (!catalogue || !spool_facts_read(catalogue, &facts, &why)) {
        catalogue_close(catalogue);
        log_write_as(agent->log, LOG_CAUSE_SPOOL, LOG_LEVEL_WARNING, NULL,
            "what waits in %s cannot be told, and is not delivered: %s", folder, why.text);
        return true;
    }
    tell_waiting(agent, folder, &facts);
    bool ok = !agent->data_dir || has_state(agent) || give(agent, catalogue, &facts, err);
    catalogue_close(catalogue);
    if (ok) {
        leave_spool(agent, folder, path, &facts);
    }
    spool_facts_fini(&facts);
    return ok;
}

/* Without a folder of its own nothing is remembered. But the system's may be where the spool was until
 * somebody chose memory. It is only read, for it may be another agent's. */
static void look_at_default(const struct agent *agent)
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
        tell_waiting(agent, folder, &facts);
        spool_facts_fini(&facts);
    }
    catalogue_close(catalogue);
}

bool agent_import_from_spool(struct agent *agent, struct error *err)
{
    char folder[DATA_FOLDER_PATH_BYTES];
    char path[DATA_FOLDER_PATH_BYTES];
    if (!agent->data_dir) {
        look_at_default(agent);
        return true;
    }
    return data_folder_path(agent->data_dir, "spool", folder, err) &&
           data_folder_path(folder, "catalogue.db", path, err) && look(agent, folder, path, err);
}
