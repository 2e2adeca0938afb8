#include <stdlib.h>

#include "app/state/data_folder.h"
#include "base/text/base64.h"
#include "cli/options/config_options.h"
#include "cli/text/spool_files.h"
#include "cli/text/spool_text.h"
#include "pipeline/batch/batch_codec.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "platform/plat_system.h"
#include "store/backlog.h"
#include "store/disk/segments.h"
#include "store/letters/letter_files.h"
#include "store/store.h"

/* `etwship spool`: events that wait on the disk, of a running or a stopped agent. */

// clang-format off
static const struct cli_option options[] = {
    CLI_OPTIONS_CONFIG,
    {.name = "json", .help = "JSON lines."},
    {.name = NULL},
};
// clang-format on

enum { MAX_TEXT_BYTES = 64 * 1024 * 1024, MAX_BATCH_BYTES = 256 * 1024 * 1024 };

struct call {
    const struct app_config *config;
    const char *name; /* of an output; NULL: none was given */
    bool json;
    bool reads_files; /* the verb works without a catalogue */
    const char *data_dir;
    char folder[DATA_FOLDER_PATH_BYTES]; /* the spool in it */
    char path[DATA_FOLDER_PATH_BYTES];   /* of the catalogue */
    struct catalogue *catalogue;
    struct spool_facts facts;
    struct segments *segments;
    struct buf room;
    struct buf out;

    uint64_t good;    /* batches that were read */
    uint64_t damaged; /* that could not be */
    uint64_t faults;  /* of the catalogue */
    bool closed;      /* the reader of standard output has closed it */
};

/* ---- opening --------------------------------------------------------------------------------- */

static void mark_configured(struct call *call)
{
    for (size_t i = 0; i < call->config->output_count; i++) {
        const struct app_output *output = &call->config->outputs[i];
        struct spool_output_facts *facts = spool_facts_output(&call->facts, output->name);
        if (facts) {
            facts->configured = output->enabled;
        }
    }
}

static bool find_paths(struct call *call, const char *data_dir)
{
    struct error err;
    call->data_dir = data_dir;
    return (data_folder_path(data_dir, "spool", call->folder, &err) &&
               data_folder_path(call->folder, "catalogue.db", call->path, &err)) ||
           cli_fail(&err);
}

/* With spool.mode memory there is none, but the system's data folder may hold an earlier spool. */
static bool find_folder(struct call *call)
{
    bool is_memory = call->config->spool.mode == APP_SPOOL_MEMORY;
    const char *data_dir = app_config_data_dir(call->config);
    const char *used = data_dir ? data_dir : plat_default_data_folder();
    if (!used) {
        cli_error("agent.data_dir is not set, and this system has no default. set it");
        return false;
    }
    if (!find_paths(call, used)) {
        return false;
    }
    if (!data_dir && is_memory && plat_path_kind(call->path) == PLAT_PATH_NONE) {
        cli_error("spool.mode is memory, and no agent.data_dir is set: nothing waits on a disk");
        return false;
    }
    return true;
}

static bool find_any(void *self, const char *name)
{
    size_t size = strlen(name);
    *(bool *)self = size > 4 && strcmp(name + size - 4, ".seg") == 0;
    return !*(bool *)self;
}

/* Look for a spool without a catalogue. ${err}: why the catalogue could not be opened. */
static bool is_lost(const struct call *call, const struct error *err)
{
    char letters[DATA_FOLDER_PATH_BYTES];
    uint64_t files = 0;
    bool found = err->code == ERR_DAMAGED;
    if (err->code == ERR_MISSING) {
        plat_dir_files(call->folder, find_any, &found, NULL);
        if (data_folder_path(call->folder, STORE_LETTERS_FOLDER, letters, NULL)) {
            letter_files_bytes(letters, &files);
        }
    }
    return found || files;
}

/* Open the spool for reading. */
static bool open_spool(struct call *call)
{
    struct error err;
    call->catalogue = catalogue_open(call->path, CATALOGUE_READ, &err);
    if (!call->catalogue && call->reads_files && is_lost(call, &err)) {
        cli_warning("%s", err.text);
        return true;
    }
    if (!call->catalogue && err.code == ERR_MISSING) {
        cli_error(is_lost(call, &err)
                      ? "%s: the spool here has no catalogue. `etwship spool verify` shows what is "
                        "there, and the next start of the agent rebuilds the catalogue"
                      : "%s: there is no spool here. an agent with spool.mode: durable creates one",
            call->folder);
        return false;
    }
    if (!call->catalogue) {
        return cli_fail(&err);
    }
    if (!spool_facts_read(call->catalogue, &call->facts, &err)) {
        if (!call->reads_files || err.code != ERR_DAMAGED) {
            return cli_fail(&err);
        }
        cli_warning("%s", err.text);
        catalogue_close(call->catalogue);
        call->catalogue = NULL;
        return true;
    }
    mark_configured(call);
    if (call->name && !spool_facts_output(&call->facts, call->name)) {
        cli_error("the spool knows no output '%s'. see `etwship spool stat`", call->name);
        return false;
    }
    return true;
}

static bool open_segments(struct call *call)
{
    struct error err;
    const struct segments_settings settings = {.disk = disk_system(), .folder = call->folder};
    call->segments = segments_create(&settings, &err);
    return call->segments || cli_fail(&err);
}

static void close_spool(struct call *call)
{
    spool_facts_fini(&call->facts);
    catalogue_close(call->catalogue);
    segments_destroy(call->segments);
    buf_fini(&call->room);
    buf_fini(&call->out);
}

/* False if the reader has closed it. */
static bool print(struct call *call, struct span text)
{
    struct error err;
    if (!call->closed && !plat_file_write(plat_file_stdout(), text, &err)) {
        call->closed = true;
        if (err.code != ERR_STOPPED) {
            cli_fail(&err);
        }
    }
    return !call->closed;
}

static int print_text(struct call *call)
{
    if (call->out.failed) {
        cli_error("out of memory");
        return EXIT_FAILED;
    }
    print(call, buf_span(&call->out));
    return EXIT_DONE;
}

/* ---- stat ------------------------------------------------------------------------------------ */

static int stat_spool(struct call *call)
{
    struct error err;
    struct spool_text_place place = {.folder = call->folder,
        .max_bytes = call->config->spool.max_size_bytes,
        .min_free_bytes = call->config->spool.min_free_disk_bytes};
    struct disk *disk = disk_system();
    if (!disk->ops->free_bytes(disk, call->folder, &place.free_bytes, &err)) {
        place.free_bytes = UINT64_MAX;
    }
    if (call->json) {
        spool_text_json(&call->facts, &place, &call->out);
    } else {
        spool_text_table(&call->facts, &place, &call->out);
    }
    return print_text(call);
}

/* ---- verify ---------------------------------------------------------------------------------- */

static void say_fault(void *self, const char *fault)
{
    (void)self;
    cli_warning("catalogue: %s", fault);
}

/* Read a batch; false with ${err} set if it is damaged, or with ${ret_gone} if a running agent has
 * delivered and deleted it meanwhile. */
static bool read_batch(struct call *call, const struct catalogue_batch *batch,
    struct frame *ret_frame, bool *ret_gone, struct error *err)
{
    const struct segment_place place = {.segment = batch->segment,
        .offset = batch->offset,
        .bytes = (uint32_t)batch->bytes,
        .raw_bytes = (uint32_t)batch->raw_bytes};
    struct catalogue_batch now;
    struct error ignored;
    bool found = true;
    *ret_gone = false;
    if (segments_read(call->segments, &place, &call->room, ret_frame, err)) {
        return ret_frame->batch == batch->id ||
               error_set(err, ERR_FORMAT, "another batch lies in its place");
    }
    *ret_gone = catalogue_find_batch(call->catalogue, batch->id, &now, &found, &ignored) && !found;
    return false;
}

static bool verify_batch(void *self, const struct catalogue_batch *batch)
{
    struct call *call = self;
    struct frame frame;
    struct error err;
    bool gone;
    if (read_batch(call, batch, &frame, &gone, &err)) {
        call->good++;
    } else if (!gone) {
        call->damaged++;
        cli_warning("batch %llu, at %llu of %016llx.seg: %s", (unsigned long long)batch->id,
            (unsigned long long)batch->offset, (unsigned long long)batch->segment, err.text);
    }
    return true;
}

/* Without a catalogue, which is damage, all files are read. */
static int verify_files(struct call *call)
{
    struct error err;
    struct spool_files files;
    if (!spool_files_read(call->folder, cli_warn, NULL, &files, &err)) {
        cli_fail(&err);
        return EXIT_FAILED;
    }
    unsigned long long batches = files.batches;
    unsigned long long damaged = files.damaged;
    unsigned long long skipped = files.skipped;
    unsigned long long letters = files.letters;
    unsigned long long damaged_letters = files.damaged_letters;
    if (call->json) {
        buf_printf(&call->out,
            "{\"batches\":%llu,\"damaged\":%llu,\"catalogue_faults\":1,\"skipped_bytes\":%llu,"
            "\"dead_letters\":%llu,\"damaged_dead_letters\":%llu}\n",
            batches + damaged, damaged, skipped, letters, damaged_letters);
    } else {
        buf_printf(&call->out,
            "the catalogue cannot be read, so it is unknown what was delivered. %llu segments of "
            "%llu bytes: %llu batches with %llu events are good, %llu are damaged. %llu dead "
            "letters are good, %llu are damaged. %llu other bytes cannot be read. the next start "
            "of the agent rebuilds the catalogue and delivers these events again\n",
            (unsigned long long)files.segments, (unsigned long long)files.bytes, batches,
            (unsigned long long)files.records, damaged, letters, damaged_letters, skipped);
    }
    int exit_code = print_text(call);
    return exit_code == EXIT_DONE ? EXIT_LOSSES : exit_code;
}

static int verify(struct call *call)
{
    struct error err;
    if (!call->catalogue) {
        return verify_files(call);
    }
    if (!open_segments(call) ||
        (!catalogue_verify(call->catalogue, say_fault, NULL, &call->faults, &err) &&
            !cli_fail(&err)) ||
        (!backlog_each(call->catalogue, NULL, verify_batch, call, &err) && !cli_fail(&err))) {
        return EXIT_FAILED;
    }
    unsigned long long good = call->good;
    unsigned long long damaged = call->damaged;
    unsigned long long faults = call->faults;
    if (call->json) {
        buf_printf(&call->out, "{\"batches\":%llu,\"damaged\":%llu,\"catalogue_faults\":%llu}\n",
            good + damaged, damaged, faults);
    } else if (damaged + faults == 0) {
        buf_printf(&call->out, "%llu batches, all good\n", good);
    } else {
        buf_printf(&call->out,
            "%llu batches are good, %llu are damaged, the catalogue has %llu faults. the agent "
            "skips damaged batches and delivers the rest\n",
            good, damaged, faults);
    }
    int exit_code = print_text(call);
    return exit_code == EXIT_DONE && damaged + faults ? EXIT_LOSSES : exit_code;
}

/* ---- export ---------------------------------------------------------------------------------- */

/* Binary events are written as lines of base64, one per event. */
static bool print_bytes(struct call *call, const struct piece *piece)
{
    struct buf lines;
    buf_init(&lines, 2 * piece->bytes.size + 64 * (piece->count + 1));
    for (size_t i = 0; i < piece->count; i++) {
        uint32_t start = i ? piece->ends[i - 1] : 0;
        buf_add_text(&lines, "\"base64:");
        base64_write(&lines, span_make(piece->bytes.data + start, piece->ends[i] - start));
        buf_add_text(&lines, "\"\n");
    }
    bool more = print(call, buf_span(&lines));
    buf_fini(&lines);
    return more;
}

static bool export_batch(void *self, const struct catalogue_batch *row)
{
    static const struct batch_codec no_sessions = {.sessions = NULL};
    struct call *call = self;
    struct frame frame;
    struct error err;
    bool gone;
    struct batch *batch = NULL;
    if (read_batch(call, row, &frame, &gone, &err)) {
        batch = batch_codec_read(&no_sessions, &call->room, frame.body, &err);
    }
    if (!batch) {
        if (!gone) {
            call->damaged++;
            cli_warning("batch %llu is left out: %s", (unsigned long long)row->id, err.text);
        }
        return true;
    }
    call->good += batch->piece.count;
    const struct buf *bytes = &batch->piece.bytes;
    bool more = bytes->size && bytes->data[0] < ' ' ? print_bytes(call, &batch->piece)
                                                    : print(call, buf_span(bytes));
    batch_destroy(batch);
    return more;
}

static int export_events(struct call *call)
{
    struct error err;
    const struct chain *chain = call->name ? spool_facts_output(&call->facts, call->name)->chain
                                           : NULL;
    if (!open_segments(call) ||
        (!backlog_each(call->catalogue, chain, export_batch, call, &err) && !cli_fail(&err))) {
        return EXIT_FAILED;
    }
    return call->damaged ? EXIT_LOSSES : EXIT_DONE;
}

/* ---- forget ---------------------------------------------------------------------------------- */

static bool is_enabled(const struct app_config *config, const char *name)
{
    for (size_t i = 0; i < config->output_count; i++) {
        if (config->outputs[i].enabled && strcmp(config->outputs[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool remove_output(const struct call *call, uint64_t id, struct error *err)
{
    struct catalogue *writer = catalogue_open_beside(call->path, CATALOGUE_COMMAND_WAIT_S, err);
    bool ok = writer && catalogue_begin(writer, err) && catalogue_remove_output(writer, id, err) &&
              catalogue_commit(writer, err);
    catalogue_close(writer);
    return ok;
}

static int forget(struct call *call)
{
    struct error err;
    const struct spool_output_facts *output = spool_facts_output(&call->facts, call->name);
    struct plat_lock *lock = data_folder_take(call->data_dir, &err);
    if (!lock) {
        cli_fail(&err);
        return EXIT_FAILED;
    }
    bool ok = remove_output(call, chain_id(output->chain), &err) || cli_fail(&err);
    plat_lock_drop(lock);
    if (!ok) {
        return EXIT_FAILED;
    }
    unsigned long long batches = output->backlog.batches;
    unsigned long long events = output->backlog.records;
    if (call->json) {
        buf_printf(&call->out, "{\"batches\":%llu,\"events\":%llu}\n", batches, events);
    } else {
        buf_printf(&call->out,
            "output %s is removed, with %llu undelivered events in %llu batches%s\n", call->name,
            events, batches,
            is_enabled(call->config, call->name)
                ? ". it is in the configuration, so it starts again without them"
                : "");
    }
    return print_text(call);
}

/* ---- the command ----------------------------------------------------------------------------- */

struct verb {
    const char *name;
    int (*run)(struct call *call);
    bool needs_name;
    bool may_name;
    bool reads_files;
};

static const struct verb verbs[] = {
    {"stat", stat_spool, false, false, false},
    {"verify", verify, false, false, true},
    {"export", export_events, false, true, false},
    {"forget", forget, true, true, false},
};

static const struct verb *find_verb(const struct cli_args *args)
{
    const struct verb *verb = NULL;
    for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
        verb = strcmp(verbs[i].name, args->operands[0]) == 0 ? &verbs[i] : verb;
    }
    bool named = args->operand_count > 1;
    if (verb && verb->needs_name && !named) {
        cli_error("spool %s: give the name of an output", verb->name);
        verb = NULL;
    } else if (verb && named && !verb->may_name) {
        cli_error("spool %s takes no name", verb->name);
        verb = NULL;
    }
    return verb;
}

static int run_verb(const struct verb *verb, struct call *call)
{
    int exit_code = EXIT_FAILED;
    buf_init(&call->out, MAX_TEXT_BYTES);
    buf_init(&call->room, MAX_BATCH_BYTES);
    call->reads_files = verb->reads_files;
    if (find_folder(call) && open_spool(call)) {
        exit_code = verb->run(call);
    }
    close_spool(call);
    return exit_code;
}

static int run(const struct cli_args *args)
{
    int exit_code = EXIT_USAGE;
    struct app_config config;
    const struct verb *verb = find_verb(args);
    if (verb && config_options_load(args, &config)) {
        struct call call = {.config = &config,
            .name = args->operand_count > 1 ? args->operands[1] : NULL,
            .json = cli_value(args, "json") != NULL};
        exit_code = run_verb(verb, &call);
        app_config_fini(&config);
    }
    return exit_code;
}

const struct cli_command cmd_spool = {
    .name = "spool",
    .synopsis = "stat | verify | export [NAME] | forget NAME [-c FILE] [--json]",
    .summary = "inspect events that wait on the disk for their outputs",
    .description =
        "Accepted events wait in agent.data_dir/spool until every output has delivered them. stat "
        "shows how many wait, per output; verify reads and checks everything; export writes the "
        "waiting events, or those that output NAME has not delivered, to standard output, one per "
        "line; forget drops an output that was removed for good, so that nothing waits for it.\n"
        "stat, verify and export only read, and may be used while the agent runs. forget needs a "
        "stopped agent. With --json stat prints an object with outputs, each with batches, events, "
        "bytes "
        "and oldest; verify batches, damaged, catalogue_faults. If the catalogue cannot be read, "
        "verify reads the files only, reports their content, and ends with 3.",
    .options = options,
    .examples = "       etwship spool stat -c etwship.yaml\n"
                "       etwship spool export siem >left.ndjson\n"
                "       etwship spool forget old-siem\n",
    .verbs = "stat|verify|export|forget",
    .operands = {"stat, verify, export or forget", 1, 2},
    .run = run,
};
