#include <stdio.h>

#include "app/session_run.h"
#include "base/put.h"
#include "base/visible.h"
#include "cli/stat_decode.h"
#include "cli/stat_trace.h"
#include "cli/trace_options.h"
#include "event/value_json.h"
#include "input/registry.h"
#include "platform/plat_file.h"
#include "platform/plat_system.h"

/* `etwship stat`: what a trace holds, and how much of it can be decoded. */

// clang-format off
static const struct cli_option options[] = {
    {.name = "json", .help = "One JSON object per file, with everything."},
    CLI_OPTION_SCHEMA,
    {.name = "pointer-size", .argument = "auto|4|8", .help = "As for dump."},
    {.name = "strict", .help = "Exit with 3 if an event could not be decoded completely."},
    {.name = NULL},
};
// clang-format on

enum { MAX_OUTPUT_BYTES = 256 * 1024 * 1024, MAX_DAMAGE = 1000, MAX_INFO_BYTES = 1024 * 1024 };

struct damage_list {
    uint64_t count;
    uint64_t offsets[MAX_DAMAGE];
    const char *what[MAX_DAMAGE];
};

struct scan {
    struct stat_trace trace;
    struct stat_decode decode;
    struct damage_list damage;
    double decode_seconds;
};

static bool on_buffer(void *self, const struct etl_buffer *buffer, size_t epoch)
{
    struct scan *scan = self;
    return stat_trace_buffer(&scan->trace, buffer, epoch);
}

static bool on_record(void *self, const struct event_record *record)
{
    struct scan *scan = self;
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

/* ---- output ---------------------------------------------------------------------------------------- */

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
        buf_printf(out, "%s{\"offset\":%llu,\"what\":\"%s\"}", i ? "," : "",
            (unsigned long long)scan->damage.offsets[i], scan->damage.what[i]);
    }
    buf_printf(out, "],\"damage_count\":%llu,\"decode_seconds\":%.6f}\n",
        (unsigned long long)scan->damage.count, scan->decode_seconds);
}

static void add_time_line(const char *label, uint64_t filetime, struct buf *out)
{
    uint8_t text[PUT_MAX];
    uint8_t *end = text;
    if (filetime && put_filetime(&end, filetime)) {
        buf_printf(out, "  %-12s%.*s\n", label, (int)(end - text), (const char *)text);
    }
}

static void add_text(const struct scan *scan, const struct etl_file *file, struct buf *out)
{
    const struct etl_info *info = etl_file_info(file);
    const struct stat_decode *decode = &scan->decode;
    buf_printf(out, "%s\n", file->bytes.path);
    buf_printf(out, "  %-12s%.*s\n", "session", SPAN_ARG(info->logger_name));
    buf_printf(out, "  %-12sWindows %u.%u build %u, %u processors, %u-bit\n", "recorded on",
        info->os_major, info->os_minor, info->os_build, info->processors, info->pointer_size * 8);
    add_time_line("start", info->start_time, out);
    add_time_line("end", info->end_time, out);
    if (!info->end_time) {
        buf_printf(out, "  %-12snever closed\n", "end");
    }
    buf_printf(out, "  %-12s%llu bytes in %llu buffers\n", "size",
        (unsigned long long)file->bytes.size, (unsigned long long)scan->trace.buffers);
    buf_printf(out, "  %-12s%llu: %llu events, %llu metadata\n", "records",
        (unsigned long long)scan->trace.records, (unsigned long long)decode->events,
        (unsigned long long)decode->metadata);
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

/* ---- scanning -------------------------------------------------------------------------------------- */

/* The second look: decode everything, as events. */
static bool decode_all(const struct cli_args *args, struct config *config, const char *path,
    struct scan *scan, int *ret_exit)
{
    const struct input_ops *input;
    struct cli_args one = *args;
    one.operands = &path;
    one.operand_count = 1;
    void *settings = trace_options_input(&one, config, &input, ret_exit);
    struct schema_cache *cache = settings ? trace_options_cache(args, ret_exit) : NULL;
    if (!cache) {
        return false;
    }
    struct input_decoding decoding;
    input->decoding(settings, &decoding);
    decoding.stack_walk = STACK_WALK_EVENTS;
    decoding.metadata = true;
    struct flow_consumer consumer = stat_decode_consumer(&scan->decode);
    struct session_run_settings run = {.input = input,
        .settings = settings,
        .cache = cache,
        .consumers = &consumer,
        .consumer_count = 1,
        .show_progress = true,
        .decoding = &decoding};
    struct session_result result;
    struct error err;
    uint64_t started = plat_monotonic_ns();
    bool ok = session_run(&run, &result, &err);
    scan->decode_seconds = (double)(plat_monotonic_ns() - started) / 1e9;
    if (!ok || result.end == INPUT_FAILED) {
        cli_error("%s", ok ? result.error.text : err.text);
        *ret_exit = EXIT_FAILED;
        ok = false;
    }
    schema_cache_destroy(cache);
    return ok;
}

struct job {
    const struct cli_args *args;
    struct config *config;
    struct scan scan;
    struct buf out;
    int exit_code;
};

/* One path; what went wrong is said, and the others go on. */
static bool stat_one(void *self, const char *path)
{
    struct job *job = self;
    struct scan *scan = &job->scan;
    struct etl_handles handles = {.newest = NULL};
    struct arena infos;
    arena_init(&infos, MAX_INFO_BYTES);
    struct error err;
    int failed = EXIT_FAILED;
    struct etl_file *file = etl_file_open(path, span_make(NULL, 0), &handles, &infos, &err);
    stat_trace_init(&scan->trace);
    stat_decode_init(&scan->decode);
    scan->damage.count = 0;
    struct etl_visitor visitor = {
        .self = scan, .buffer = on_buffer, .record = on_record, .damage = on_damage};
    if (!file || !etl_file_walk(file, &visitor, &err)) {
        cli_error("%s", err.text);
        job->exit_code = EXIT_FAILED;
    } else if (!decode_all(job->args, job->config, path, scan, &failed)) {
        job->exit_code = failed;
    } else {
        buf_reset(&job->out);
        if (cli_value(job->args, "json")) {
            add_json(scan, file, &job->out);
        } else {
            add_text(scan, file, &job->out);
            visible_make(&job->out, 0);
        }
        if (!plat_file_write(plat_file_stdout(), buf_span(&job->out), &err)) {
            job->exit_code = err.code == ERR_STOPPED ? job->exit_code : EXIT_FAILED;
        }
        bool undecoded = scan->decode.partial || scan->decode.undecoded;
        if (job->exit_code == EXIT_DONE &&
            (scan->damage.count || (undecoded && cli_value(job->args, "strict")))) {
            job->exit_code = EXIT_LOSSES;
        }
    }
    stat_trace_fini(&scan->trace);
    stat_decode_fini(&scan->decode);
    etl_file_destroy(file);
    arena_fini(&infos);
    return !session_run_stopping();
}

static int run(const struct cli_args *args)
{
    static struct job job;
    struct error err;
    job.args = args;
    job.config = config_create(NULL, NULL);
    buf_init(&job.out, MAX_OUTPUT_BYTES);
    if (!job.config || !session_run_catch_signals(&err)) {
        cli_error("%s", job.config ? err.text : "out of memory");
        job.exit_code = EXIT_FAILED;
    }
    for (size_t i = 0; i < args->operand_count && job.config; i++) {
        if (!plat_glob(args->operands[i], stat_one, &job, &err)) {
            cli_error("%s", err.text);
            job.exit_code = EXIT_FAILED;
        }
    }
    buf_fini(&job.out);
    config_destroy(job.config);
    return job.exit_code;
}

const struct cli_command cmd_stat = {
    .name = "stat",
    .synopsis = "[OPTION]... FILE...",
    .summary = "tell what traces hold, and how much of it can be decoded",
    .description =
        "Counts the buffers, records and events of each trace, says which machine and session it "
        "comes from, what ETW lost, where it is damaged, and which events have no description.",
    .options = options,
    .examples = "       etwship stat trace.etl\n"
                "       etwship stat --json *.etl | jq .decode\n",
    .operand = "FILE",
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .run = run,
};
