#include <stdlib.h>

#include "app/trace/trace_run.h"
#include "base/text/nearest.h"
#include "base/visible.h"
#include "cli/options/trace_options.h"
#include "cli/text/schema_list.h"
#include "event/value/value_json.h"
#include "platform/plat_file.h"
#include "schema/pack/pack.h"
#include "schema/windows/tdh_registry.h"

/* `etwship schema export|show|list`: event layouts as data. */

// clang-format off
static const struct cli_option options[] = {
    {.name = "output", .letter = 'o', .argument = "PACK",
        .help = "export: the schema pack to write."},
    CLI_OPTION_SCHEMA,
    {.name = NULL},
};
// clang-format on

enum { MAX_OUTPUT_BYTES = 512 * 1024 * 1024 };

static bool print(struct buf *out)
{
    struct error err;
    if (out->failed) {
        cli_error("the text is too long");
        return false;
    }
    if (plat_file_write(plat_file_stdout(), buf_span(out), &err) || err.code == ERR_STOPPED) {
        return true;
    }
    return cli_fail(&err);
}

/* ---- export ---------------------------------------------------------------------------------- */

/* Built-in layouts and self-describing events need no pack. */
static bool belongs_into_pack(const struct event_schema *schema)
{
    return schema->kind != SCHEMA_TRACELOGGING && strcmp(schema->source, "kernel") != 0 &&
           strcmp(schema->source, "builtin") != 0;
}

static const struct schema_parameters *texts_of(void *self, const struct event_schema *schema)
{
    return schema_cache_parameters(self, schema);
}

static int write_pack(const char *path, const struct buf *text)
{
    struct error err;
    struct plat_file *file = plat_file_open(path, PLAT_FILE_CREATE, &err);
    bool ok = file && plat_file_write(file, buf_span(text), &err) && plat_file_sync(file, &err);
    plat_file_close(file);
    if (!ok) {
        cli_error("%s", err.text);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

/* Everything registered on this machine. */
static int export_registered(const char *path)
{
    int exit_code = EXIT_FAILED;
    struct tdh_registry registry;
    struct error err;
    struct buf text;
    tdh_registry_init(&registry);
    buf_init(&text, MAX_OUTPUT_BYTES);
    if (!tdh_registry_add_all(&registry, &err)) {
        cli_error("%s", err.text);
    } else if (registry.failed || !pack_write(registry.schemas, registry.count, NULL, &text)) {
        cli_error("out of memory");
    } else {
        exit_code = write_pack(path, &text);
        if (registry.unknown) {
            cli_warning(
                "%zu events are registered, but Windows does not describe them", registry.unknown);
        }
    }
    buf_fini(&text);
    tdh_registry_fini(&registry);
    return exit_code;
}

/* True if the command reads this machine: no file is named, and Windows has definitions. */
static bool wants_registered(const struct cli_args *args)
{
    return args->operand_count == 1 && !cli_value(args, "schema") &&
           !cli_value(args, "schema-source") && etw_api_get()->TdhEnumerateManifestProviderEvents;
}

static int export(const struct cli_args *args, struct schema_cache *cache)
{
    int exit_code = EXIT_DONE;
    const char *path = cli_value(args, "output");
    if (!path) {
        cli_error("schema export: --output PACK is missing");
        return EXIT_USAGE;
    }
    if (wants_registered(args)) {
        return export_registered(path);
    }
    if (!trace_options_spare(args, 1)) {
        return EXIT_USAGE;
    }
    if (!schema_list_learn(args, 1, cache, &exit_code)) {
        return exit_code;
    }
    const struct pack_texts texts = {.self = cache, .find = texts_of};
    struct schema_list list;
    schema_list_init(&list, cache);
    size_t count = 0;
    for (size_t i = 0; i < list.count; i++) {
        if (belongs_into_pack(list.items[i])) {
            list.items[count++] = list.items[i];
        }
    }
    struct buf text;
    buf_init(&text, MAX_OUTPUT_BYTES);
    if (list.failed || !pack_write(list.items, count, &texts, &text)) {
        cli_error("out of memory");
        exit_code = EXIT_FAILED;
    } else {
        exit_code = write_pack(path, &text);
    }
    buf_fini(&text);
    schema_list_fini(&list);
    return exit_code;
}

/* ---- show, list ------------------------------------------------------------------------------ */

/* PROVIDER[:ID[:VERSION]]; -1 if not given. */
struct wanted {
    struct span provider;
    long id;
    long version;
};

static bool parse_wanted(const char *text, struct wanted *ret_wanted)
{
    struct wanted wanted = {.id = -1, .version = -1};
    const char *colon = strchr(text, ':');
    wanted.provider = span_make(text, colon ? (size_t)(colon - text) : strlen(text));
    if (colon) {
        char *end;
        wanted.id = strtol(colon + 1, &end, 10);
        if (end == colon + 1 || (*end && *end != ':')) {
            return false;
        }
        if (*end == ':') {
            const char *version = end + 1;
            wanted.version = strtol(version, &end, 10);
            if (end == version || *end) {
                return false;
            }
        }
    }
    *ret_wanted = wanted;
    return wanted.provider.size > 0;
}

static bool is_wanted(const struct event_schema *schema, const struct wanted *wanted)
{
    long id = schema->kind == SCHEMA_MOF ? schema->descriptor.opcode : schema->descriptor.id;
    return schema_list_is_provider(schema, wanted->provider) &&
           (wanted->id < 0 || wanted->id == id) &&
           (wanted->version < 0 || wanted->version == schema->descriptor.version);
}

static void say_unknown(
    const struct schema_list *list, const struct wanted *wanted, const char *text)
{
    struct nearest nearest = {.text = wanted->provider};
    bool is_provider = false;
    for (size_t i = 0; i < list->count; i++) {
        nearest_consider(&nearest, list->items[i]->provider_name);
        is_provider |= schema_list_is_provider(list->items[i], wanted->provider);
    }
    struct span meant = nearest_meant(&nearest);
    if (meant.size && !is_provider) {
        cli_error("no schema source knows %s. did you mean %.*s?", text, SPAN_ARG(meant));
    } else {
        cli_error("no schema source knows %s. --schema names manifests and program files", text);
    }
}

/* Print with ${describe} the layouts of the sources and of the traces among the operands, from
 * ${first} on; ${wanted} NULL: all. */
static int print_known(const struct cli_args *args, size_t first, struct schema_cache *cache,
    const struct wanted *wanted,
    void (*describe)(const struct event_schema *schema, struct buf *out))
{
    int exit_code = EXIT_DONE;
    if (!schema_list_learn(args, first, cache, &exit_code)) {
        return exit_code;
    }
    struct schema_list list;
    struct buf out;
    schema_list_init(&list, cache);
    schema_list_sort(&list);
    buf_init(&out, MAX_OUTPUT_BYTES);
    for (size_t i = 0; i < list.count; i++) {
        if (!wanted || is_wanted(list.items[i], wanted)) {
            describe(list.items[i], &out);
        }
    }
    if (wanted && out.size == 0) {
        say_unknown(&list, wanted, args->operands[1]);
        exit_code = EXIT_FAILED;
    }
    exit_code = print(&out) ? exit_code : EXIT_FAILED;
    buf_fini(&out);
    schema_list_fini(&list);
    return exit_code;
}

static int show(const struct cli_args *args, struct schema_cache *cache)
{
    struct wanted wanted;
    if (args->operand_count < 2 || !parse_wanted(args->operands[1], &wanted)) {
        cli_error("schema show: expected PROVIDER[:ID[:VERSION]]");
        return EXIT_USAGE;
    }
    return print_known(args, 2, cache, &wanted, schema_list_describe);
}

static void add_line(const struct event_schema *s, struct buf *out)
{
    char guid[GUID_TEXT_SIZE];
    guid_write(s->kind == SCHEMA_MOF ? &s->class_guid : &s->provider, guid);
    visible_add(out, s->provider_name.size ? s->provider_name : span_make(guid, sizeof(guid)));
    buf_printf(out, "\t%u\t%u\t%s\t",
        s->kind == SCHEMA_MOF ? s->descriptor.opcode : s->descriptor.id, s->descriptor.version,
        s->source);
    visible_add(out, s->event_name.size ? s->event_name : s->task_name);
    buf_printf(out, "\n");
}

static int list_all(const struct cli_args *args, struct schema_cache *cache)
{
    return print_known(args, 1, cache, NULL, add_line);
}

static int run(const struct cli_args *args)
{
    static const struct {
        const char *name;
        int (*run)(const struct cli_args *args, struct schema_cache *cache);
    } verbs[] = {{"export", export}, {"show", show}, {"list", list_all}};
    int exit_code = EXIT_USAGE;
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(args->operands[0], verbs[i].name) == 0) {
            struct schema_cache *cache = trace_options_cache(args, &exit_code);
            if (cache) {
                exit_code = verbs[i].run(args, cache);
                schema_cache_destroy(cache);
            }
        }
    }
    return exit_code;
}

const struct cli_command cmd_schema = {
    .name = "schema",
    .synopsis =
        "export -o PACK [FILE]... | show PROVIDER[:ID[:VERSION]] [FILE]... | list [FILE]...",
    .summary = "export, show or list event layouts",
    .description =
        "export writes all definitions in manifests and program files (--schema) and in the "
        "metadata of the given traces to a schema pack: one text file that --schema accepts on any "
        "machine. show prints the events of a provider with their fields, list prints a line per "
        "event type: provider, id (or type), version, source, name.\n"
        "On Windows, export without FILE and --schema writes the definitions registered on this "
        "machine.\n"
        "Kernel classes are built in, TraceLogging events describe themselves, and WPP messages "
        "have .tmf and .pdb files, which work on any machine: none of these is exported.",
    .options = options,
    .examples = "       etwship schema export -o clr.pack --schema ClrEtwAll.man\n"
                "       etwship schema show Process:1\n",
    .verbs = "export|show|list",
    .operands = {"export, show or list", 1, SIZE_MAX},
    .run = run,
};
