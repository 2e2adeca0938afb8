#include <stdio.h>

#include "app/plan/provider_selection.h"
#include "app/state/agent_identity.h"
#include "app/trace/no_match.h"
#include "app/trace/trace_run.h"
#include "cli/options/trace_options.h"
#include "cli/options/trace_times.h"
#include "cli/options/where.h"
#include "config/config_path.h"
#include "event/formats/event_format.h"
#include "event/select/event_fields.h"
#include "event/write/event_formats.h"
#include "outputs/registry/registry.h"
#include "platform/plat_file.h"
#include "platform/plat_self.h"
#include "platform/plat_system.h"

/*
 * `etwship dump`: traces as JSON lines, by a configuration of one session and one output made from
 * the command line.
 */

static const char *utc_offset_name(size_t index)
{
    static const char *const names[] = {"local", "trace", "+00:00"};
    return index < sizeof(names) / sizeof(names[0]) ? names[index] : NULL;
}

// clang-format off
static const struct cli_option options[] = {
    {.name = "format", .letter = 'f', .argument = "native|ecs|otel",
        .help = "Shape of the events: native (the default), ecs, the fields of the Elastic "
                "Common Schema as Filebeat's etw input writes them, or otel, log records of "
                "OpenTelemetry in OTLP/JSON."},
    {.name = "provider", .letter = 'p', .argument = "PROVIDER", .repeated = true,
        .help = "Only events of this provider: (Name|GUID)[:Level[:EventIDs[:AnyKeywords"
                "[:AllKeywords]]]]. Ids may be ranges and are joined by , or + (1+5-9)."},
    {.name = "where", .argument = "EXPR",
        .help = "Only events for which the expression is true, as in \"event.level <= 3 and "
                "data.Image endswith '\\cmd.exe'\"."},
    {.name = "sample", .argument = "1/N[:FIELD]",
        .help = "Sample one in N: one of N activities, with all its events; or one of N values of FIELD, as in 1/10:process.pid."},
    {.name = "fields", .argument = "FIELD,…", .known = event_path_name,
        .help = "Only these fields of each event, as in process.pid,data.QueryName; data is the whole payload. With -f ecs, names of the Elastic Common Schema."},
    CLI_OPTION_SCHEMA,
    {.name = "start", .argument = "TIME",
        .help = "Only events from this time on: RFC 3339, of which the end may be left out, as in "
                "2026-11-21 or 2026-11-21T09:30 (in --utc-offset, UTC without it); or a time before "
                "the end of the traces, as in -1h or -90s."},
    {.name = "end", .argument = "TIME", .help = "Only events before this time, written as for --start."},
    {.name = "utc-offset", .argument = "OFFSET", .known = utc_offset_name,
        .help = "Show times as in this zone with --pretty (JSON is in UTC always), and read those "
                "of --start and --end that name none: +02:00, local (this machine's), or trace (of "
                "the machine that recorded)."},
    {.name = "max-events", .letter = 'n', .argument = "N", .help = "Stop after N events."},
    {.name = "pointer-size", .argument = "auto|4|8",
        .help = "Width of pointers in payloads. auto (the default) takes the width in each event's header, and the other one where only that fits the event or others of its class."},
    {.name = "stack-walk", .argument = "join|events|drop",
        .help = "Kernel call stacks: join (the default) puts them into their event's "
                "extended.stack, events ships them as events, drop leaves them out."},
    {.name = "etw-file", .argument = "name|path",
        .help = "The value of etw.file: the name of the file (the default), or its path as given."},
    {.name = "codepage", .argument = "N",
        .help = "Windows code page of ANSI strings in payloads; 1252 without this option."},
    {.name = "uint64", .argument = "number|string",
        .help = "Type of unsigned 64-bit numbers in JSON: number (the default), or string for readers that lose digits above 2^53. ecs always has strings."},
    {.name = "carve", .help = "Also recover records that an event log (.evtx) has dropped, but that are still in its file: after the records of chunks, and between chunks. Such events have evtx.carved."},
    {.name = "metadata", .help = "Also ship records that only carry metadata."},
    {.name = "no-process-context",
        .help = "Do not add the process (name, path, command line, parent, user) and the file of each event, as known from the trace."},
    {.name = "host", .argument = "NAME",
        .help = "Name of the recording machine, in place of the one in the trace."},
    {.name = "strict", .help = "Exit with 3 if an event was not decoded completely, or if a provider or filter matched nothing."},
    {.name = "pretty",
        .help = "For people: a line per event and one per value; with -f ecs one per field of the Elastic Common Schema."},
    {.name = "output", .letter = 'o', .argument = "FILE", .help = "Write to FILE."},
    {.name = NULL},
};
// clang-format on

/* What came out, up to the limit of the user. */
struct picker {
    uint64_t max_events;
    uint64_t taken;
};

static bool wants(const void *self, const struct event *event)
{
    return provider_selection_passes(self, event);
}

static bool count_event(void *self, const struct event *event)
{
    struct picker *picker = self;
    (void)event;
    picker->taken++;
    return picker->max_events == 0 || picker->taken < picker->max_events;
}

static void tell(const char *text)
{
    cli_error("%s", text);
}

/* The user names a plain file, not a template. */
static bool set_path(struct config *config, const struct output_ops *ops, void *settings,
    const char *path, struct error *err)
{
    struct buf literal;
    buf_init(&literal, CONFIG_MAX_VALUE_BYTES);
    config_path_add_literal(path, &literal);
    buf_add_byte(&literal, 0);
    const char *text = (const char *)buf_span(&literal).data;
    bool good = literal.failed ? error_set(err, ERR_CONFIG, "the path of the file is too long")
                               : config_set(config, ops->fields, settings, "path", &text, 1, err);
    buf_fini(&literal);
    return good;
}

/* The output's settings: stdout, or the file, which is truncated. */
static void *output_settings(const struct cli_args *args, struct config *config,
    const struct output_ops **ret_ops, struct error *err)
{
    const char *path = cli_value(args, "output");
    const struct output_ops *ops = registry_find_output(span_text(path ? "file" : "stdout"));
    void *settings = config_new(config, ops->fields, ops->settings_size, err);
    if (settings && path) {
        struct plat_file *file = plat_file_open(path, PLAT_FILE_CREATE, err);
        if (!file) {
            return NULL;
        }
        plat_file_close(file);
        if (!set_path(config, ops, settings, path, err)) {
            return NULL;
        }
    }
    *ret_ops = ops;
    return settings;
}

static int exit_code_of(const struct trace_result *result, bool strict)
{
    const struct decode_counts *counts = &result->counts.decode;
    if (result->end == INPUT_FAILED) {
        cli_error("%s", result->error.text);
        return EXIT_FAILED;
    }
    if (result->output_failed) {
        return EXIT_FAILED;
    }
    if (strict && (counts->raw || counts->partial)) {
        cli_error("%llu events could not be decoded, %llu only in part",
            (unsigned long long)counts->raw, (unsigned long long)counts->partial);
        return EXIT_LOSSES;
    }
    return result->damaged ? EXIT_LOSSES : EXIT_DONE;
}

/* Everything that dump creates, for one function to free. */
struct dump {
    struct config *config;
    struct schema_cache *cache;
    struct provider_selection *selection;
    struct buf tail;
    struct codepage ansi;
    struct event_excerpt excerpt; /* no fields: all of each event */
    struct trace_run_output output;
    struct where where;
    struct event_zone zone;
};

/* The format that defines the field names. */
static const struct event_format *plain_format(const struct cli_args *args)
{
    const char *name = cli_value(args, "format");
    return event_format_find(span_text(name ? name : "native"));
}

static const struct event_format *find_format(const struct cli_args *args)
{
    return cli_value(args, "pretty") ? &event_format_pretty : plain_format(args);
}

/* The fields that the user wants, NULL for all. With --pretty, fields of other formats than native
 * are listed by their paths. */
static bool take_fields(const struct cli_args *args, struct dump *dump, int *ret_exit)
{
    const char *list = cli_value(args, "fields");
    bool lists_all = cli_value(args, "pretty") && plain_format(args) != &event_format_native;
    struct error err;
    if ((list || lists_all) && plain_format(args) == &event_format_otel) {
        cli_error("--format otel: %s does not work with its lists of attributes. leave one of the "
                  "two out",
            list ? "--fields" : "--pretty");
        *ret_exit = EXIT_USAGE;
        return false;
    }
    if (list || lists_all) {
        struct span wanted = list ? span_text(list) : span_make(NULL, 0);
        dump->excerpt.fields = event_fields_create(wanted, plain_format(args), &err);
        if (!dump->excerpt.fields) {
            cli_error("--fields: %s", err.text);
            *ret_exit = err.code == ERR_MEMORY ? EXIT_FAILED : EXIT_USAGE;
            return false;
        }
    }
    return true;
}

/* The time zone of the output. */
static bool take_zone(const struct cli_args *args, struct dump *dump)
{
    if (cli_value(args, "utc-offset") && !cli_value(args, "pretty") && !cli_value(args, "start") &&
        !cli_value(args, "end")) {
        cli_error("--utc-offset: JSON is always in UTC. add --pretty, or leave it out");
        return false;
    }
    return trace_times_zone(args, &dump->zone);
}

/* What writes fields for people. */
static bool make_details(const struct cli_args *args, struct dump *dump, struct error *err)
{
    const struct trace_run_output *output = &dump->output;
    const struct event_writer_settings writer = {.tail = output->tail,
        .agent = output->agent,
        .zone = dump->zone,
        .options = output->shape.options,
        .ansi = &dump->ansi,
        .colors = output->shape.colors};
    dump->excerpt.details_format = plain_format(args);
    dump->excerpt.details = event_writer_create(&writer, err);
    return dump->excerpt.details != NULL;
}

static bool make_output(const struct cli_args *args, const struct input_decoding *decoding,
    struct dump *dump, struct error *err)
{
    struct trace_run_output *output = &dump->output;
    output->settings = output_settings(args, dump->config, &output->ops, err);
    if (!output->settings || !agent_identity_tail(&dump->tail, err) ||
        !plat_codepage_init(&dump->ansi, decoding->codepage, err)) {
        return false;
    }
    bool pretty = cli_value(args, "pretty") != NULL;
    const char *uint64 = cli_value(args, "uint64");
    output->tail = buf_span(&dump->tail);
    output->agent = agent_identity_plain();
    output->warn = tell;
    output->shape = (struct worker_stream){.format = find_format(args),
        .excerpt = dump->excerpt.fields ? &dump->excerpt : NULL,
        .zone = dump->zone,
        .options = {.uint64_strings = uint64 && strcmp(uint64, "string") == 0},
        .colors = pretty && !cli_value(args, "output") && plat_is_terminal(1) && !plat_no_color()};
    return !pretty || !dump->excerpt.fields || make_details(args, dump, err);
}

static bool selects(const struct cli_args *args)
{
    return cli_value(args, "provider") || cli_value(args, "where") || cli_value(args, "sample") ||
           cli_value(args, "start") || cli_value(args, "end");
}

/* After the end of the traces: report each selection that matched nothing. True: there is one. */
static bool warn_no_match(const struct cli_args *args, const struct dump *dump,
    const struct trace_run_settings *run, const struct picker *picker)
{
    bool nothing = picker->taken == 0 && selects(args);
    bool asks = nothing;
    for (size_t i = 0; i < provider_selection_count(dump->selection); i++) {
        asks |= !provider_selection_matched(dump->selection, i);
    }
    if (!asks) {
        return false;
    }
    const struct filter *filter = dump->where.filter;
    const struct no_match_settings settings = {.input = run->input,
        .settings = run->settings,
        .cache = dump->cache,
        .ansi = &dump->ansi,
        .shows_progress = run->show_progress,
        .selection = dump->selection,
        .providers = "--provider",
        .filters = &filter,
        .filter_count = nothing && filter ? 1 : 0,
        .rules = "--where",
        .tell = cli_warn};
    struct no_match found = {.findings = 0};
    struct error err;
    if (!no_match_find(&settings, &found, &err)) {
        cli_warning("cannot tell which selection matched nothing: %s", err.text);
    } else if (nothing && found.findings == 0 && found.seen == 0 &&
               (cli_value(args, "start") || cli_value(args, "end"))) {
        cli_warning("no event is between --start and --end. `etwship stat` says when the traces "
                    "begin and end");
    } else if (nothing && found.findings == 0) {
        cli_warning("nothing matched. %llu events were read", (unsigned long long)found.seen);
    }
    return nothing || found.findings > 0;
}

static int finish(const struct cli_args *args, const struct dump *dump,
    const struct trace_run_settings *run, const struct trace_result *result,
    const struct picker *picker)
{
    bool strict = cli_value(args, "strict") != NULL;
    if (result->counts.filtered && picker->taken == 0) {
        where_warn_fields(&dump->where, dump->cache);
    }
    if (result->unsure) {
        cli_warning("--where could not be evaluated for %llu events: a regular expression exceeded "
                    "its limits. the output contains them, with a note",
            (unsigned long long)result->unsure);
    }
    int exit_code = exit_code_of(result, strict);
    bool whole = result->end == INPUT_DONE && !trace_run_stopping() &&
                 (picker->max_events == 0 || picker->taken < picker->max_events) &&
                 !result->output_closed;
    if (whole && warn_no_match(args, dump, run, picker) && strict && exit_code == EXIT_DONE) {
        exit_code = EXIT_LOSSES;
    }
    return exit_code;
}

static int dump_traces(const struct cli_args *args, struct dump *dump, uint64_t max_events)
{
    int exit_code = EXIT_FAILED;
    const struct input_ops *input;
    if (!trace_options_spare(args, 0)) {
        return EXIT_USAGE;
    }
    void *settings = trace_options_input(args, dump->config, &input, &exit_code);
    if (!settings) {
        return exit_code;
    }
    struct input_decoding decoding;
    struct error err;
    input->decoding(settings, &decoding);
    if (!make_output(args, &decoding, dump, &err)) {
        cli_error("%s", err.text);
        return EXIT_FAILED;
    }
    struct picker picker = {.max_events = max_events};
    unsigned damage_count = 0;
    struct trace_run_settings run = {.input = input,
        .settings = settings,
        .cache = dump->cache,
        .filter = dump->where.filter,
        .wants = provider_selection_count(dump->selection) ? wants : NULL,
        .selection = dump->selection,
        .process_context = !cli_value(args, "no-process-context"),
        .ansi = &dump->ansi,
        .observer = {.self = &picker, .event = count_event},
        .output = &dump->output,
        .show_progress = !plat_is_terminal(1) || cli_value(args, "output"),
        .damage = trace_options_damage,
        .damage_self = &damage_count};
    struct trace_result result;
    if (!trace_run_catch_signals(&err) || !trace_run(&run, &result, &err)) {
        cli_error("%s", err.text);
        return err.code == ERR_CONFIG ? EXIT_USAGE : EXIT_FAILED;
    }
    if (result.files_evicted) {
        cli_warning("the names of %llu files exceeded the memory limit: events that use them have "
                    "no file.path",
            (unsigned long long)result.files_evicted);
    }
    return finish(args, dump, &run, &result, &picker);
}

static int dump_with(const struct cli_args *args, struct dump *dump)
{
    enum { MAX_PROVIDERS = 256 };
    const char *providers[MAX_PROVIDERS];
    size_t provider_count = cli_values(args, "provider", providers, MAX_PROVIDERS);
    int exit_code = EXIT_FAILED;
    uint64_t max_events;
    struct error err;
    if (!cli_count(args, "max-events", &max_events)) {
        return EXIT_USAGE;
    }
    if (!take_zone(args, dump)) {
        return EXIT_USAGE;
    }
    if (!take_fields(args, dump, &exit_code)) {
        return exit_code;
    }
    if (!where_init(
            &dump->where, cli_value(args, "where"), cli_value(args, "sample"), &exit_code)) {
        return exit_code;
    }
    dump->selection = provider_selection_create(providers, provider_count, &err);
    if (!dump->selection) {
        cli_error("--provider: %s", err.text);
        return EXIT_USAGE;
    }
    dump->cache = trace_options_cache(args, &exit_code);
    if (!dump->cache) {
        return exit_code;
    }
    dump->config = config_create(NULL, NULL);
    if (!dump->config) {
        cli_error("out of memory");
        return EXIT_FAILED;
    }
    return dump_traces(args, dump, max_events);
}

static int run(const struct cli_args *args)
{
    struct dump dump = {0};
    buf_init(&dump.tail, 64 * 1024);
    int exit_code = dump_with(args, &dump);
    trace_options_warn_definitions(dump.cache);
    event_writer_destroy(dump.excerpt.details);
    event_fields_destroy(dump.excerpt.fields);
    where_fini(&dump.where);
    plat_codepage_fini(&dump.ansi);
    buf_fini(&dump.tail);
    config_destroy(dump.config);
    schema_cache_destroy(dump.cache);
    provider_selection_destroy(dump.selection);
    return exit_code;
}

const struct cli_command cmd_dump = {
    .name = "dump",
    .synopsis = "[OPTION]... FILE...",
    .summary = "decode traces to JSON lines",
    .description =
        "Reads recorded traces (.etl) and event logs (.evtx) and writes every event as one line of "
        "JSON to standard output. Several files are merged by time. Each FILE may "
        "be "
        "a pattern (*, ?, and ** for folders), or packed: .etl.gz, .evtx.zst, and all .etl and "
        ".evtx "
        "files in a .zip or .cab; - is standard input.\n"
        "Events without a definition are written with their header and their payload in hex.",
    .options = options,
    .examples = "       etwship dump trace.etl\n"
                "       etwship dump --pretty -n 20 trace.etl\n"
                "       etwship dump --where \"process.pid == 4 and not event.opcode in (3, 4)\" "
                "trace.etl\n"
                "       etwship dump --fields @timestamp,process.pid,data trace.etl\n"
                "       etwship dump -p Microsoft-Windows-DNS-Client:4 --schema manifests a.etl "
                "b.etl\n",
    .operands = {"FILE", 1, SIZE_MAX},
    .run = run,
};
