#include <stdlib.h>

#include "app/trace/trace_census.h"
#include "app/trace/trace_run.h"
#include "base/grow.h"
#include "base/span_compare.h"
#include "base/text/nearest.h"
#include "base/visible.h"
#include "cli/text/live_providers.h"
#include "cli/text/schema_list.h"
#include "event/value/value_json.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "schema/source/known_providers.h"

/* `etwship providers`: list the providers of schema sources, of this machine or of traces, or the
 * events of one. */

// clang-format off
static const struct cli_option options[] = {
    {.name = "json", .help = "JSON lines: an object per provider."},
    CLI_OPTION_SCHEMA,
    {.name = NULL},
};
// clang-format on

enum { MAX_OUTPUT_BYTES = 512 * 1024 * 1024 };

/* A provider with its definitions, which are adjacent. None: only its name is known. */
struct row {
    struct guid guid;
    struct span name;
    const struct event_schema *const *schemas;
    size_t count;
};

struct rows {
    struct row *items;
    size_t count;
    size_t capacity;
    size_t described; /* how many have definitions, sorted by name and GUID; they come first */
    bool failed;
};

static void add_row(struct rows *rows, const struct row *row)
{
    if (grow_list(&rows->items, rows->count, &rows->capacity, sizeof(*rows->items))) {
        rows->items[rows->count++] = *row;
    } else {
        rows->failed = true;
    }
}

static bool same_provider(const struct event_schema *a, const struct event_schema *b)
{
    return guid_equal(&a->provider, &b->provider) && span_equal(a->provider_name, b->provider_name);
}

static void add_described(struct rows *rows, const struct schema_list *list)
{
    for (size_t i = 0; i < list->count;) {
        const struct event_schema *first = list->items[i];
        size_t end = i + 1;
        while (end < list->count && same_provider(first, list->items[end])) {
            end++;
        }
        add_row(
            rows, &(struct row){first->provider, first->provider_name, list->items + i, end - i});
        i = end;
    }
    rows->described = rows->count;
}

static void add_known(void *self, const struct guid *provider, struct span name)
{
    struct rows *rows = self;
    for (size_t i = 0; i < rows->described; i++) {
        if (guid_equal(&rows->items[i].guid, provider)) {
            return;
        }
    }
    add_row(rows, &(struct row){.guid = *provider, .name = name});
}

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    int order = span_compare(x->name, y->name);
    return order ? order : guid_compare(&x->guid, &y->guid);
}

static void put_row(const struct row *row, bool json, bool with_events, struct buf *out)
{
    enum schema_kind kind = row->count ? row->schemas[0]->kind : SCHEMA_UNKNOWN;
    char guid[GUID_TEXT_SIZE];
    guid_write(&row->guid, guid);
    if (!json) {
        buf_printf(out, "%.36s  %-12s %6zu events  ", guid, schema_kind_name(kind), row->count);
        visible_add(out, row->name);
        buf_add_byte(out, '\n');
        for (size_t i = 0; with_events && i < row->count; i++) {
            schema_list_describe(row->schemas[i], out);
        }
        return;
    }
    buf_printf(out, "{\"guid\":\"%.36s\",\"kind\":\"%s\"", guid, schema_kind_name(kind));
    if (row->name.size) {
        buf_add_text(out, ",\"name\":");
        value_json_string(row->name, out);
    }
    buf_printf(out, ",\"event_count\":%zu", row->count);
    buf_add_text(out, with_events ? ",\"events\":[" : "");
    for (size_t i = 0; with_events && i < row->count; i++) {
        buf_add_text(out, i ? "," : "");
        schema_list_describe_json(row->schemas[i], out);
    }
    buf_add_text(out, with_events ? "]}\n" : "}\n");
}

static bool is_wanted(const struct row *row, const char *wanted)
{
    struct guid guid;
    if (!wanted) {
        return true;
    }
    if (row->count) {
        return schema_list_is_provider(row->schemas[0], span_text(wanted));
    }
    bool is_guid = guid_parse(span_text(wanted), &guid) ||
                   known_providers_guid(span_text(wanted), &guid);
    return is_guid && guid_equal(&guid, &row->guid);
}

/* Print the providers of ${list} and, if ${with_known}, those known by name only: all, or the one
 * called ${wanted}. Returns how many were printed. */
static size_t put_rows(
    const struct schema_list *list, const char *wanted, bool json, bool with_known, struct buf *out)
{
    struct rows rows = {.items = NULL};
    size_t shown = 0;
    add_described(&rows, list);
    if (with_known) {
        known_providers_each(add_known, &rows);
    }
    if (rows.count > 1) {
        qsort(rows.items, rows.count, sizeof(*rows.items), compare_rows);
    }
    for (size_t i = 0; i < rows.count; i++) {
        if (is_wanted(&rows.items[i], wanted)) {
            put_row(&rows.items[i], json, wanted != NULL, out);
            shown++;
        }
    }
    out->failed |= rows.failed;
    free(rows.items);
    return shown;
}

static int print(struct buf *out)
{
    struct error err;
    visible_make(out, 0);
    if (!plat_file_write(plat_file_stdout(), buf_span(out), &err) && err.code != ERR_STOPPED) {
        cli_error("%s", err.text);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

/* Print the providers of this machine if the user names no files. False: files were named, or the
 * system has no list. */
static bool run_live(const struct cli_args *args, int *ret_exit)
{
    const char *wanted = args->operand_count ? args->operands[0] : NULL;
    bool json = cli_value(args, "json") != NULL;
    bool found = true;
    struct buf out;
    struct error err;
    if (cli_value(args, "schema") || cli_value(args, "schema-source") ||
        !live_providers_are_known()) {
        return false;
    }
    buf_init(&out, MAX_OUTPUT_BYTES);
    if (wanted ? live_providers_show(wanted, json, &out, &found, &err)
               : live_providers_list(json, &out, &err)) {
        *ret_exit = found ? print(&out) : EXIT_DONE;
    } else {
        cli_error("%s", err.text);
        *ret_exit = EXIT_FAILED;
    }
    buf_fini(&out);
    return found;
}

static void consider(void *nearest, const struct guid *provider, struct span name)
{
    (void)provider;
    nearest_consider(nearest, name);
}

static void say_unknown(const struct schema_list *list, const char *wanted)
{
    struct nearest nearest = {.text = span_text(wanted)};
    if (plat_path_kind(wanted) == PLAT_PATH_DIR) {
        cli_error("no schema source knows a provider '%s'. this is a folder: name its traces, as "
                  "in %s/*.etl",
            wanted, wanted);
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        nearest_consider(&nearest, list->items[i]->provider_name);
    }
    known_providers_each(consider, &nearest);
    struct span meant = nearest_meant(&nearest);
    if (meant.size) {
        cli_error(
            "no schema source knows a provider '%s'. did you mean %.*s?", wanted, SPAN_ARG(meant));
    } else {
        cli_error("no schema source knows a provider '%s'. --schema names manifests", wanted);
    }
}

static int run_sources(const struct cli_args *args)
{
    int exit_code = EXIT_DONE;
    struct schema_cache *cache = trace_options_cache(args, &exit_code);
    if (cache) {
        struct schema_list list;
        struct buf out;
        const char *wanted = args->operand_count ? args->operands[0] : NULL;
        schema_list_init(&list, cache);
        schema_list_sort(&list);
        buf_init(&out, MAX_OUTPUT_BYTES);
        exit_code = EXIT_DONE;
        bool all = !cli_value(args, "schema-source");
        if (put_rows(&list, wanted, cli_value(args, "json") != NULL, all, &out) == 0 && wanted) {
            say_unknown(&list, wanted);
            exit_code = EXIT_FAILED;
        }
        exit_code = print(&out) == EXIT_DONE ? exit_code : EXIT_FAILED;
        buf_fini(&out);
        schema_list_fini(&list);
        schema_cache_destroy(cache);
    }
    return exit_code;
}

/* ---- those of traces ------------------------------------------------------------------------- */

static void add_counted(const struct census_provider *provider, bool json, struct buf *out)
{
    char guid[GUID_TEXT_SIZE];
    guid_write(&provider->guid, guid);
    if (!json) {
        buf_printf(out, "%.36s  %-12s %9llu events  ", guid, provider->kind,
            (unsigned long long)provider->events);
        visible_add(out, provider->name);
        if (provider->undecoded) {
            buf_printf(out, "  (%llu undecoded)", (unsigned long long)provider->undecoded);
        }
        buf_add_byte(out, '\n');
        return;
    }
    buf_printf(out, "{\"guid\":\"%.36s\",\"kind\":\"%s\"", guid, provider->kind);
    if (provider->name.size) {
        buf_add_text(out, ",\"name\":");
        value_json_string(provider->name, out);
    }
    buf_printf(out, ",\"count\":%llu,\"undecoded\":%llu}\n", (unsigned long long)provider->events,
        (unsigned long long)provider->undecoded);
}

static int print_census(const struct cli_args *args, const struct trace_census *census)
{
    size_t count;
    uint64_t beyond;
    struct buf out;
    const struct census_provider **rows = trace_census_providers(census, &count, &beyond);
    buf_init(&out, MAX_OUTPUT_BYTES);
    for (size_t i = 0; i < count; i++) {
        add_counted(rows[i], cli_value(args, "json") != NULL, &out);
    }
    if (beyond) {
        cli_warning("%llu events of further providers are not listed", (unsigned long long)beyond);
    }
    int exit_code = print(&out);
    buf_fini(&out);
    free((void *)rows);
    return exit_code;
}

static int count_in(const struct cli_args *args, struct config *config, struct schema_cache *cache,
    struct trace_census *census)
{
    int exit_code = EXIT_FAILED;
    const struct input_ops *input;
    void *settings = trace_options_input(args, config, &input, &exit_code);
    if (!settings) {
        return exit_code;
    }
    struct event_observer observer = trace_census_observer(census);
    unsigned damage_count = 0;
    struct trace_run_settings run = {.input = input,
        .settings = settings,
        .cache = cache,
        .observer = observer,
        .show_progress = true,
        .damage = trace_options_damage,
        .damage_self = &damage_count};
    struct trace_result result;
    struct error err;
    if (!trace_run_catch_signals(&err) || !trace_run(&run, &result, &err)) {
        cli_error("%s", err.text);
        return EXIT_FAILED;
    }
    exit_code = print_census(args, census);
    if (result.end == INPUT_FAILED) {
        cli_error("%s", result.error.text);
        return EXIT_FAILED;
    }
    return exit_code == EXIT_DONE && result.damaged ? EXIT_LOSSES : exit_code;
}

static int run_traces(const struct cli_args *args)
{
    int exit_code = EXIT_FAILED;
    struct config *config = config_create(NULL, NULL);
    struct trace_census *census = trace_census_create();
    struct schema_cache *cache = NULL;
    if (!config || !census) {
        cli_error("out of memory");
    } else {
        cache = trace_options_cache(args, &exit_code);
    }
    if (cache) {
        exit_code = count_in(args, config, cache, census);
    }
    schema_cache_destroy(cache);
    trace_census_destroy(census);
    config_destroy(config);
    return exit_code;
}

/* True if ${text} is a trace or a pattern of traces: an existing file, or a path. Names of
 * providers have neither / nor \ nor these endings. */
static bool is_trace(const char *operand)
{
    static const char *const ends[] = {
        ".etl", ".etl.gz", ".etl.zst", ".evtx", ".evtx.gz", ".evtx.zst", ".zip", ".cab"};
    struct span text = span_text(operand);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct span end = span_text(ends[i]);
        if (text.size > end.size && span_equal_nocase(span_from(text, text.size - end.size), end)) {
            return true;
        }
    }
    return plat_path_kind(operand) == PLAT_PATH_FILE || strcmp(operand, TRACE_OPTIONS_STDIN) == 0 ||
           strpbrk(operand, "*?/\\");
}

static int run(const struct cli_args *args)
{
    int exit_code;
    if (args->operand_count && is_trace(args->operands[0])) {
        return run_traces(args);
    }
    if (args->operand_count > 1) {
        cli_error("providers: '%s' is not a trace. give one name, or traces", args->operands[0]);
        return EXIT_USAGE;
    }
    if (!run_live(args, &exit_code)) {
        exit_code = run_sources(args);
    }
    return exit_code;
}

const struct cli_command cmd_providers = {
    .name = "providers",
    .synopsis = "[NAME|GUID | TRACE...] [--json] [--schema PATH]...",
    .summary = "list the providers of traces, of definitions, or of this machine",
    .description =
        "With TRACE, a trace, an event log (.evtx) or a pattern: the providers of these traces "
        "with GUID, kind and number of events, most events first. dump -p accepts these names.\n"
        "With --schema, or on Linux: the providers that are built in or defined by the given "
        "manifests and schema packs, and, with 0 events, those known by name only; with an "
        "argument, all events of one provider and their fields.\n"
        "On Windows without --schema: the providers of this machine, installed or registered by a "
        "running process; with an argument, also the keywords, levels, channels, tasks and opcodes "
        "of one provider.",
    .options = options,
    .examples = "       etwship providers trace.etl\n"
                "       etwship providers --schema manifests\n"
                "       etwship providers MSNT_SystemTrace\n",
    .operands = {.max = SIZE_MAX},
    .run = run,
};
