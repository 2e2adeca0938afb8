#include "base/visible.h"
#include "cli/live_providers.h"
#include "cli/schema_list.h"
#include "event/value_json.h"
#include "platform/plat_file.h"

/* `etwship providers`: which providers the schema sources know, and what one of them can say. */

// clang-format off
static const struct cli_option options[] = {
    {.name = "json", .help = "JSON lines: an object per provider."},
    CLI_OPTION_SCHEMA,
    {.name = NULL},
};
// clang-format on

enum { MAX_OUTPUT_BYTES = 512 * 1024 * 1024 };

static bool same_provider(const struct event_schema *a, const struct event_schema *b)
{
    return guid_equal(&a->provider, &b->provider) && span_equal(a->provider_name, b->provider_name);
}

static void add_provider(const struct event_schema *const *schemas, size_t count, bool json,
    bool with_events, struct buf *out)
{
    const struct event_schema *first = schemas[0];
    char guid[GUID_TEXT_SIZE];
    guid_write(&first->provider, guid);
    if (!json) {
        buf_printf(out, "%.36s  %-12s %6zu events  ", guid, schema_kind_name(first->kind), count);
        visible_add(out, first->provider_name);
        buf_add_byte(out, '\n');
        for (size_t i = 0; with_events && i < count; i++) {
            schema_list_describe(schemas[i], out);
        }
        return;
    }
    buf_printf(out, "{\"guid\":\"%.36s\",\"kind\":\"%s\"", guid, schema_kind_name(first->kind));
    if (first->provider_name.size) {
        buf_add_text(out, ",\"name\":");
        value_json_string(first->provider_name, out);
    }
    buf_printf(out, ",\"event_count\":%zu", count);
    for (size_t i = 0; with_events && i < count; i++) {
        buf_add_text(out, i ? "," : ",\"events\":[");
        schema_list_describe_json(schemas[i], out);
    }
    buf_add_text(out, with_events ? "]}\n" : "}\n");
}

/* Providers among ${list}, all or the one called ${wanted}. How many. */
static size_t add_providers(
    const struct schema_list *list, const char *wanted, bool json, struct buf *out)
{
    size_t shown = 0;
    for (size_t i = 0; i < list->count;) {
        size_t end = i + 1;
        while (end < list->count && same_provider(list->items[i], list->items[end])) {
            end++;
        }
        if (!wanted || schema_list_is_provider(list->items[i], span_text(wanted))) {
            add_provider(list->items + i, end - i, json, wanted != NULL, out);
            shown++;
        }
        i = end;
    }
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

/* What this machine has, if nobody asks for files. False: it is not asked, or does not know. */
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
        if (add_providers(&list, wanted, cli_value(args, "json") != NULL, &out) == 0 && wanted) {
            cli_error("no schema source knows a provider '%s'. --schema names manifests", wanted);
            exit_code = EXIT_FAILED;
        }
        exit_code = print(&out) == EXIT_DONE ? exit_code : EXIT_FAILED;
        buf_fini(&out);
        schema_list_fini(&list);
        schema_cache_destroy(cache);
    }
    return exit_code;
}

static int run(const struct cli_args *args)
{
    int exit_code;
    if (!run_live(args, &exit_code)) {
        exit_code = run_sources(args);
    }
    return exit_code;
}

const struct cli_command cmd_providers = {
    .name = "providers",
    .synopsis = "[NAME|GUID] [--json] [--schema PATH]...",
    .summary = "list providers, and what one of them can say",
    .description =
        "With --schema, or where there is no Windows: the providers that are built in or described "
        "by the given manifests and schema packs; with an argument, all events of one and their "
        "fields.\n"
        "On Windows without --schema: the providers of this machine, installed ones and those that "
        "a running process has registered; with an argument, also the keywords, levels, channels, "
        "tasks and opcodes of one.",
    .options = options,
    .examples = "       etwship providers --schema manifests\n"
                "       etwship providers MSNT_SystemTrace\n",
    .min_operands = 0,
    .max_operands = 1,
    .run = run,
};
