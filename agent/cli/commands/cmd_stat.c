#include <stdio.h>

#include "app/trace/trace_run.h"
#include "base/put.h"
#include "base/visible.h"
#include "cli/options/trace_options.h"
#include "cli/text/stat_decode.h"
#include "cli/text/stat_trace.h"
#include "event/value/value_json.h"
#include "input/etl/evtx_file.h"
#include "input/file/input_file.h"
#include "input/file/trace_box.h"
#include "platform/plat_clock.h"
#include "platform/plat_file.h"

/* `etwship stat`: summarise a trace, and how much of it can be decoded. */

// clang-format off
static const struct cli_option options[] = {
    {.name = "json", .help = "Print one JSON object per file, with all numbers."},
    CLI_OPTION_SCHEMA,
    {.name = "pointer-size", .argument = "auto|4|8", .help = "As for dump."},
    {.name = "carve", .help = "As for dump: also what an event log has no longer. The numbers then have both."},
    {.name = "strict", .help = "Exit with 3 if an event could not be decoded completely."},
    {.name = NULL},
};
// clang-format on

enum {
    MAX_OUTPUT_BYTES = 256 * 1024 * 1024,
    MAX_DAMAGE = 1000,
    MAX_INFO_BYTES = 1024 * 1024,
    MAX_TEXT_BYTES = 16 * 1024 * 1024,
};

struct damage_list {
    uint64_t count;
    uint64_t offsets[MAX_DAMAGE];
    const char *what[MAX_DAMAGE];
};

struct scan {
    struct stat_trace trace;
    struct stat_decode decode;
    struct damage_list damage;
    uint64_t carved; /* records */
    double decode_seconds;
};

static bool is_stopping(void *self)
{
    (void)self;
    return trace_run_stopping();
}

static bool on_buffer(void *self, const struct etl_buffer *buffer, size_t epoch)
{
    struct scan *scan = self;
    return (buffer->leftover || stat_trace_buffer(&scan->trace, buffer, epoch)) &&
           !trace_run_stopping();
}

static bool on_record(void *self, const struct event_record *record)
{
    struct scan *scan = self;
    scan->carved += (record->present & RECORD_IS_CARVED) != 0;
    return stat_trace_record(&scan->trace, record);
}

static void on_damage(void *self, const struct trace_info *trace, uint64_t offset, const char *what)
{
    struct scan *scan = self;
    (void)trace;
    if (scan->damage.count < MAX_DAMAGE) {
        scan->damage.offsets[scan->damage.count] = offset;
        scan->damage.what[scan->damage.count] = what;
    }
    scan->damage.count++;
}

/* ---- output ---------------------------------------------------------------------------------- */

static void add_json(const struct scan *scan, const struct etl_file *file, struct buf *out)
{
    buf_add_text(out, "{\"file\":");
    value_json_string(span_text(file->bytes.path), out);
    buf_printf(out, ",\"size\":%llu,", (unsigned long long)file->bytes.size);
    stat_trace_json(&scan->trace, etl_file_info(file), out);
    buf_add_byte(out, ',');
    stat_decode_json(&scan->decode, out);
    buf_add_text(out, ",\"damage\":[");
    for (size_t i = 0; i < scan->damage.count && i < MAX_DAMAGE; i++) {
        buf_printf(out, "%s{\"offset\":%llu,\"what\":", i ? "," : "",
            (unsigned long long)scan->damage.offsets[i]);
        value_json_string(span_text(scan->damage.what[i]), out);
        buf_add_byte(out, '}');
    }
    buf_printf(out, "],\"damage_count\":%llu", (unsigned long long)scan->damage.count);
    if (file->naming.carves) {
        buf_printf(out, ",\"carved\":%llu", (unsigned long long)scan->carved);
    }
    buf_printf(out, ",\"decode_seconds\":%.6f}\n", scan->decode_seconds);
}

static void add_time_line(const char *label, uint64_t filetime, struct buf *out)
{
    uint8_t text[PUT_MAX];
    uint8_t *end = text;
    if (filetime && put_filetime(&end, filetime)) {
        buf_printf(out, "  %-12s%.*s\n", label, (int)(end - text), (const char *)text);
    }
}

/* Print the header of a trace. */
static void add_header_text(const struct etl_info *info, struct buf *out)
{
    buf_printf(out, "  %-12s", "session");
    visible_add(out, info->logger_name);
    buf_printf(out, "\n  %-12sWindows %u.%u build %u, %u processors, %u-bit\n", "recorded on",
        info->os_major, info->os_minor, info->os_build, info->processors, info->pointer_size * 8);
    add_time_line("start", info->start_time, out);
    add_time_line("end", info->end_time, out);
    if (!info->end_time) {
        buf_printf(out, "  %-12snever closed\n", "end");
    }
}

static void add_text(const struct scan *scan, const struct etl_file *file, struct buf *out)
{
    const struct etl_info *info = etl_file_info(file);
    const struct stat_decode *decode = &scan->decode;
    visible_add(out, span_text(file->bytes.path));
    buf_add_byte(out, '\n');
    if (evtx_file_is_one(file)) {
        buf_printf(out, "  %-12sof Windows\n", "event log");
    } else {
        add_header_text(info, out);
    }
    buf_printf(out, "  %-12s%llu bytes in %llu %s\n", "size", (unsigned long long)file->bytes.size,
        (unsigned long long)scan->trace.buffers, evtx_file_is_one(file) ? "chunks" : "buffers");
    buf_printf(out, "  %-12s%llu: %llu events, %llu metadata\n", "records",
        (unsigned long long)scan->trace.records, (unsigned long long)decode->events,
        (unsigned long long)decode->metadata);
    if (file->naming.carves) {
        buf_printf(out, "  %-12s%llu of these records are no longer in the log\n", "carved",
            (unsigned long long)scan->carved);
    }
    double share = decode->events ? 100.0 * (double)decode->decoded / (double)decode->events : 100;
    buf_printf(out, "  %-12s%llu (%.2f %%), %llu in part, %llu not\n", "decoded",
        (unsigned long long)decode->decoded, share, (unsigned long long)decode->partial,
        (unsigned long long)decode->undecoded);
    if (info->events_lost || info->buffers_lost) {
        buf_printf(out, "  %-12s%u events, %u buffers (recorded by ETW)\n", "lost",
            info->events_lost, info->buffers_lost);
    }
    if (decode->other_width) {
        buf_printf(out, "  %-12s%llu events with the other pointer size\n", "decoded",
            (unsigned long long)decode->other_width);
    }
    if (decode->learned_width) {
        buf_printf(out, "  %-12s%llu of them by what others of their class prove\n", "",
            (unsigned long long)decode->learned_width);
    }
    for (size_t i = 0; i < scan->damage.count && i < 20; i++) {
        buf_printf(out, "  %-12sbyte %llu: %s\n", "damage",
            (unsigned long long)scan->damage.offsets[i], scan->damage.what[i]);
    }
    if (scan->damage.count > 20) {
        buf_printf(
            out, "  %-12s%llu places in all\n", "damage", (unsigned long long)scan->damage.count);
    }
    stat_decode_text(decode, out);
}

/* ---- scanning -------------------------------------------------------------------------------- */

/* The file at a path, or a trace in an archive. */
struct subject {
    const char *path; /* or the archive's */
    struct trace_box *box;
    size_t index;
};

/* Second pass: decode everything as events. */
static bool decode_all(const struct cli_args *args, struct config *config,
    const struct subject *subject, struct scan *scan, int *ret_exit)
{
    const struct input_ops *input;
    struct cli_args one = *args;
    const char *path = subject->path;
    one.operands = &path;
    one.operand_count = 1;
    struct input_file_settings *settings = trace_options_input(&one, config, &input, ret_exit);
    struct schema_cache *cache = settings ? trace_options_cache(args, ret_exit) : NULL;
    if (!cache) {
        return false;
    }
    settings->given = subject->box;
    settings->given_one = subject->box != NULL;
    settings->given_index = subject->index;
    struct input_decoding decoding;
    input->decoding(settings, &decoding);
    decoding.stack_walk = STACK_WALK_EVENTS;
    decoding.metadata = true;
    struct event_observer observer = stat_decode_observer(&scan->decode);
    struct trace_run_settings run = {.input = input,
        .settings = settings,
        .cache = cache,
        .observer = observer,
        .show_progress = true,
        .decoding = &decoding};
    struct trace_result result;
    struct error err;
    uint64_t started = plat_monotonic_ns();
    bool ok = trace_run_whole(&run, &result, &err);
    scan->decode_seconds = (double)(plat_monotonic_ns() - started) / 1e9;
    if (!ok) {
        cli_error("%s", err.text);
        *ret_exit = EXIT_FAILED;
    }
    trace_options_warn_definitions(cache);
    schema_cache_destroy(cache);
    return ok;
}

/* Damage found while the archive of a trace is unpacked. */
struct unpack_damage {
    char *name;
    char *what;
    uint64_t offset;
};

enum { MAX_UNPACK_DAMAGE = 1000 };

struct job {
    const struct cli_args *args;
    struct config *config;
    struct scan scan;
    struct buf out;
    int exit_code;
    struct trace_scratch scratch;
    struct arena texts; /* of `unpacked` */
    struct unpack_damage unpacked[MAX_UNPACK_DAMAGE];
    size_t unpacked_count;
};

static char *keep_text(struct job *job, const char *text)
{
    struct span copy;
    return arena_copy(&job->texts, span_text(text), &copy) ? (char *)(uintptr_t)copy.data : NULL;
}

static void on_unpack_damage(void *self, const char *name, uint64_t offset, const char *what)
{
    struct job *job = self;
    struct unpack_damage damage = {keep_text(job, name), keep_text(job, what), offset};
    if (damage.name && damage.what && job->unpacked_count < MAX_UNPACK_DAMAGE) {
        job->unpacked[job->unpacked_count++] = damage;
    }
}

/* Add the damage of ${name} to ${scan}. */
static void take_unpack_damage(struct job *job, const char *name)
{
    for (size_t i = 0; i < job->unpacked_count; i++) {
        if (job->unpacked[i].name && strcmp(job->unpacked[i].name, name) == 0) {
            on_damage(&job->scan, NULL, job->unpacked[i].offset, job->unpacked[i].what);
            job->unpacked[i].name = NULL;
        }
    }
}

static void print(struct job *job, const struct etl_file *file)
{
    struct error err;
    const struct scan *scan = &job->scan;
    buf_reset(&job->out);
    if (cli_value(job->args, "json")) {
        add_json(scan, file, &job->out);
    } else {
        add_text(scan, file, &job->out);
    }
    if (!plat_file_write(plat_file_stdout(), buf_span(&job->out), &err)) {
        if (err.code != ERR_STOPPED) {
            cli_error("%s", err.text);
            job->exit_code = EXIT_FAILED;
        }
    }
    bool undecoded = scan->decode.partial || scan->decode.undecoded;
    if (job->exit_code == EXIT_DONE &&
        (scan->damage.count || (undecoded && cli_value(job->args, "strict")))) {
        job->exit_code = EXIT_LOSSES;
    }
}

/* One trace. Errors are printed, and the other traces continue. */
static void stat_subject(struct job *job, const struct subject *subject)
{
    struct scan *scan = &job->scan;
    struct etl_handles handles = {.newest = NULL};
    struct arena infos;
    arena_init(&infos, MAX_INFO_BYTES);
    struct error err;
    int failed = EXIT_FAILED;
    const struct trace_naming naming = {.carves = cli_value(job->args, "carve") != NULL};
    struct etl_file *file = subject->box
                                ? trace_box_trace(
                                      subject->box, subject->index, &naming, &infos, &err)
                                : etl_file_open(subject->path, &naming, &handles, &infos, &err);
    stat_trace_init(&scan->trace);
    stat_decode_init(&scan->decode);
    scan->damage.count = 0;
    scan->carved = 0;
    if (file) {
        take_unpack_damage(job, file->bytes.path);
    }
    struct etl_visitor visitor = {.self = scan,
        .buffer = on_buffer,
        .record = on_record,
        .damage = on_damage,
        .is_stopped = is_stopping};
    if (!file || !etl_file_walk(file, &visitor, &err)) {
        cli_error("%s", err.text);
        job->exit_code = EXIT_FAILED;
    } else if (trace_run_stopping()) {
        cli_warning("%s: stopped before its end", file->bytes.path);
        job->exit_code = EXIT_FAILED;
    } else if (!decode_all(job->args, job->config, subject, scan, &failed)) {
        job->exit_code = failed;
    } else {
        print(job, file);
    }
    stat_trace_fini(&scan->trace);
    stat_decode_fini(&scan->decode);
    etl_file_destroy(file);
    arena_fini(&infos);
}

/* The traces in an archive, and damage outside of them. */
static void stat_box(struct job *job, struct trace_box *box)
{
    struct error err;
    job->unpacked_count = 0;
    box->env.self = job;
    box->env.stopped = is_stopping;
    box->env.damage = on_unpack_damage;
    if (!trace_box_load(box, &err)) {
        return; /* stopped */
    }
    for (size_t i = 0; i < box->count && !trace_run_stopping(); i++) {
        stat_subject(job, &(struct subject){.path = box->path, .box = box, .index = i});
    }
    for (size_t i = 0; i < job->unpacked_count; i++) {
        if (job->unpacked[i].name) {
            cli_warning("%s: damaged at byte %llu: %s", job->unpacked[i].name,
                (unsigned long long)job->unpacked[i].offset, job->unpacked[i].what);
            job->exit_code = job->exit_code == EXIT_DONE ? EXIT_LOSSES : job->exit_code;
        }
    }
    arena_reset(&job->texts);
}

static bool stat_one(void *self, const char *path)
{
    struct job *job = self;
    const struct trace_box_env env = {.scratch = &job->scratch, .stopped = is_stopping};
    struct trace_box *box;
    struct error err;
    if (!trace_box_open(path, &env, &box, &err)) {
        cli_error("%s", err.text);
        job->exit_code = EXIT_FAILED;
    } else if (box) {
        stat_box(job, box);
        trace_box_destroy(box);
        trace_scratch_cut(&job->scratch, 0);
    } else {
        stat_subject(job, &(struct subject){.path = path});
    }
    return !trace_run_stopping();
}

static void stat_operand(struct job *job, const char *operand)
{
    struct error err;
    bool is_stdin = strcmp(operand, TRACE_OPTIONS_STDIN) == 0;
    struct trace_box *box = is_stdin ? trace_options_stdin(&err) : NULL;
    if (box) {
        stat_box(job, box);
    } else if (is_stdin || !plat_glob(operand, stat_one, job, &err)) {
        cli_error("%s", err.text);
        job->exit_code = EXIT_FAILED;
    }
}

/* Read before signals are handled, so that they end the process: a pipe may block for long. */
static void read_stdin(const struct cli_args *args)
{
    struct error err;
    for (size_t i = 0; i < args->operand_count; i++) {
        if (strcmp(args->operands[i], TRACE_OPTIONS_STDIN) == 0) {
            trace_options_stdin(&err); /* stat_operand reports a failure */
            return;
        }
    }
}

static int run(const struct cli_args *args)
{
    static struct job job;
    struct error err;
    job.args = args;
    job.config = config_create(NULL, NULL);
    buf_init(&job.out, MAX_OUTPUT_BYTES);
    arena_init(&job.texts, MAX_TEXT_BYTES);
    read_stdin(args);
    if (!job.config || !trace_run_catch_signals(&err)) {
        cli_error("%s", job.config ? err.text : "out of memory");
        job.exit_code = EXIT_FAILED;
    }
    for (size_t i = 0; i < args->operand_count && job.config && !trace_run_stopping(); i++) {
        stat_operand(&job, args->operands[i]);
    }
    trace_scratch_fini(&job.scratch);
    arena_fini(&job.texts);
    buf_fini(&job.out);
    config_destroy(job.config);
    return job.exit_code;
}

const struct cli_command cmd_stat = {
    .name = "stat",
    .synopsis = "[OPTION]... FILE...",
    .summary = "summarise traces, and how much of them can be decoded",
    .description = "Counts the buffers, records and events of each trace, and shows its machine "
                   "and session, what ETW lost, where it is damaged, and which events have no "
                   "definition. FILE may be an event log (.evtx), packed, or -, as for dump.",
    .options = options,
    .examples = "       etwship stat trace.etl\n"
                "       etwship stat --json *.etl | jq .decode\n",
    .operands = {"FILE", 1, SIZE_MAX},
    .run = run,
};
