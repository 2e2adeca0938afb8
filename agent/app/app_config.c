/*
 * The tables of the top level. What a session or an output knows beyond the common keys comes from
 * the modules in the registry; this file names none of them. The loader checks each value by its
 * row, the second half of this file what spans several: names, references, the modules' own checks.
 */
#include "app/app_config.h"

#include <stdio.h>

#include "base/map.h"
#include "config/config_text.h"

enum { NAME_MAX_BYTES = 64 };

struct root {
    int64_t version;
    struct app_agent agent;
    struct config_list schemas;
    struct config_list sessions;
    struct config_list outputs;
};

static const struct config_field agent_fields[] = {
    {CONFIG_ROW("data_dir", PATH, struct app_agent, data_dir),
        .help = "folder for what the agent keeps; one agent per folder"},
    {CONFIG_ROW("labels", MAP, struct app_agent, labels),
        .help = "names and texts added to every event"},
    {CONFIG_ROW("tags", STRINGS, struct app_agent, tags), .help = "words added to every event"},
    {.key = NULL},
};

static const char *const schema_type_names[] = {"folder", NULL};

static const struct config_field schema_fields[] = {
    {CONFIG_ROW("type", ENUM, struct app_schema, type), .names = schema_type_names,
        .required = true, .help = "folder: definitions in files below a folder"},
    {CONFIG_ROW("path", PATH, struct app_schema, path), .required = true,
        .help = "the folder, or one file"},
    {.key = NULL},
};

static const struct config_field session_fields[] = {
    {CONFIG_ROW("name", STRING, struct app_session, name),
        .help = "unique name of the session; default: its type"},
    {CONFIG_ROW("type", STRING, struct app_session, type), .required = true,
        .help = "where the events come from"},
    {CONFIG_ROW("enabled", BOOL, struct app_session, enabled), .default_text = "true",
        .help = "false: checked, but not run"},
    {.key = NULL},
};

static const char *const format_names[] = {"native", NULL};

static const struct config_field output_fields[] = {
    {CONFIG_ROW("name", STRING, struct app_output, name),
        .help = "unique name of the output; default: its type"},
    {CONFIG_ROW("type", STRING, struct app_output, type), .required = true,
        .help = "where the events go"},
    {CONFIG_ROW("enabled", BOOL, struct app_output, enabled), .default_text = "true",
        .help = "false: checked, but not run"},
    {CONFIG_ROW("sessions", STRINGS, struct app_output, sessions), .min = 1, .max = INT64_MAX,
        .help = "names of the sessions whose events it takes; default: all"},
    {CONFIG_ROW("format", ENUM, struct app_output, format), .names = format_names,
        .default_text = "native", .help = "shape of the events"},
    {.key = NULL},
};

/* The tables of one build: the rows of the top level refer to the modules of the registry. */
struct tables {
    struct config_variants sessions;
    struct config_variants outputs;
    struct config_field root[6];
};

static void fill_root(struct tables *tables)
{
    const struct config_field rows[] = {
        {CONFIG_ROW("version", INT, struct root, version), .default_text = "1", .min = 1, .max = 1,
            .help = "of this format"},
        {CONFIG_STRUCT_ROW("agent", struct root, agent, agent_fields), .help = "the agent itself"},
        {CONFIG_ROW("schema", STRUCTS, struct root, schemas), .fields = schema_fields,
            .size = sizeof(struct app_schema),
            .help = "further definitions of events, in the order in which they are asked"},
        {CONFIG_ROW("sessions", VARIANTS, struct root, sessions), .variants = &tables->sessions,
            .required = true, .min = 1, .max = INT64_MAX,
            .help = "a list of where events come from"},
        {CONFIG_ROW("outputs", VARIANTS, struct root, outputs), .variants = &tables->outputs,
            .required = true, .min = 1, .max = INT64_MAX, .help = "a list of where events go"},
        {.key = NULL},
    };
    memcpy(tables->root, rows, sizeof(rows));
}

static struct tables *create_tables(struct config *memory, const struct app_registry *registry)
{
    struct tables *tables = config_alloc(memory, sizeof(*tables));
    struct config_variant *inputs = config_alloc(
        memory, registry->input_count * sizeof(struct config_variant));
    struct config_variant *outputs = config_alloc(
        memory, registry->output_count * sizeof(struct config_variant));
    if (!tables || !inputs || !outputs) {
        return NULL;
    }
    for (size_t i = 0; i < registry->input_count; i++) {
        const struct input_ops *ops = registry->inputs[i];
        inputs[i] = (struct config_variant){ops->name, ops->fields, ops->settings_size, ops};
    }
    for (size_t i = 0; i < registry->output_count; i++) {
        const struct output_ops *ops = registry->outputs[i];
        outputs[i] = (struct config_variant){ops->name, ops->fields, ops->settings_size, ops};
    }
    tables->sessions = (struct config_variants){
        .noun = "session",
        .common = session_fields,
        .size = sizeof(struct app_session),
        .variant_offset = offsetof(struct app_session, variant),
        .settings_offset = offsetof(struct app_session, settings),
        .list = inputs,
        .count = registry->input_count,
    };
    tables->outputs = (struct config_variants){
        .noun = "output",
        .common = output_fields,
        .size = sizeof(struct app_output),
        .variant_offset = offsetof(struct app_output, variant),
        .settings_offset = offsetof(struct app_output, settings),
        .list = outputs,
        .count = registry->output_count,
    };
    fill_root(tables);
    return tables;
}

/* What the checks below need, for sessions and outputs alike: a list of elements and where their
 * name and type stand. */
struct named_list {
    const char *noun;
    uint8_t *items;
    size_t count;
    size_t size;
    size_t name_offset;
    size_t variant_offset;
};

struct checker {
    struct config *memory;
    struct config_report *report;
    bool failed; /* out of memory */
};

static const char **name_of(const struct named_list *list, size_t i)
{
    return (const char **)(void *)(list->items + i * list->size + list->name_offset);
}

/* NULL if the type is unknown, which was reported. */
static const struct config_variant *variant_of(const struct named_list *list, size_t i)
{
    const uint8_t *element = list->items + i * list->size;
    return *(const struct config_variant *const *)(const void *)(element + list->variant_offset);
}

/* Names become parts of file names, ETW session names and metrics. */
static bool is_good_name(const char *name)
{
    size_t size = strlen(name);
    return size > 0 && size <= NAME_MAX_BYTES && name[0] != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
               size;
}

static void check_given_names(
    struct checker *checker, const struct named_list *list, struct map *names)
{
    for (size_t i = 0; i < list->count; i++) {
        const char **name = name_of(list, i);
        if (!*name) {
            continue;
        }
        struct config_quote quote = config_text_quote(span_text(*name));
        if (!is_good_name(*name)) {
            config_error_at(checker->memory, name, sizeof(*name), checker->report,
                "name: %s cannot be the name of %s %s. write 1 to 64 letters, digits, '.', '_' "
                "and '-', not starting with '.'",
                quote.text, list->noun[0] == 'o' ? "an" : "a", list->noun);
        } else if (map_get(names, span_text(*name))) {
            config_error_at(checker->memory, name, sizeof(*name), checker->report,
                "name: another %s is called %s too. give each its own name", list->noun,
                quote.text);
        } else if (!map_put(names, span_text(*name), list->items + i * list->size)) {
            checker->failed = true;
        }
    }
}

/* The type, or the type with the first number from 2 that is free. Each type keeps its count in
 * ${next}, so that many elements without a name do not search again from the start. */
static const char *make_name(
    struct checker *checker, const char *type, const struct map *names, struct map *next)
{
    if (!map_get(names, span_text(type))) {
        return type;
    }
    uint32_t *number = map_get(next, span_text(type));
    if (!number) {
        number = config_alloc(checker->memory, sizeof(*number));
        if (!number || !map_put(next, span_text(type), number)) {
            return NULL;
        }
        *number = 2;
    }
    size_t size = strlen(type) + 16;
    char *name = config_alloc(checker->memory, size);
    while (name) {
        snprintf(name, size, "%s-%u", type, (*number)++);
        if (!map_get(names, span_text(name))) {
            break;
        }
    }
    return name;
}

/* Check names and give one to each element without: what was given explicitly comes first. */
static void check_names(struct checker *checker, const struct named_list *list, struct map *names)
{
    struct map next;
    map_init(&next, list->count);
    check_given_names(checker, list, names);
    for (size_t i = 0; i < list->count && !checker->failed; i++) {
        const char **name = name_of(list, i);
        const struct config_variant *variant = variant_of(list, i);
        if (*name || !variant) {
            continue;
        }
        *name = make_name(checker, variant->type, names, &next);
        checker->failed = !*name || !map_put(names, span_text(*name), list->items + i * list->size);
    }
    map_fini(&next);
}

static void complain_no_session(struct checker *checker, const char *const *wanted,
    const struct map *session_names, const struct named_list *sessions)
{
    struct config_nearest nearest = {.text = span_text(*wanted)};
    struct config_names known = {.size = 0};
    for (size_t i = 0; i < sessions->count; i++) {
        const char *name = *name_of(sessions, i);
        if (map_get(session_names, span_text(name))) {
            config_text_consider(&nearest, name);
            config_text_list(&known, name);
        }
    }
    const char *meant = config_text_meant(&nearest);
    config_error_at(checker->memory, wanted, sizeof(*wanted), checker->report,
        "sessions: there is no session %s. %s%s%sthis file has: %s",
        config_text_quote(nearest.text).text, meant ? "did you mean '" : "", meant ? meant : "",
        meant ? "'? " : "", known.size ? known.text : "none");
}

/* Every session that an output names exists. A session that could not be named, because its type
 * is wrong, may be the one that is meant: then nothing is said. */
static void check_references(struct checker *checker, const struct root *root,
    const struct map *session_names, const struct named_list *sessions)
{
    for (size_t i = 0; i < sessions->count; i++) {
        if (!*name_of(sessions, i)) {
            return;
        }
    }
    const struct app_output *outputs = root->outputs.items;
    for (size_t i = 0; i < root->outputs.count; i++) {
        const struct config_strings *wanted = &outputs[i].sessions;
        for (size_t k = 0; k < wanted->count; k++) {
            if (map_get(session_names, span_text(wanted->items[k]))) {
                continue;
            }
            if (config_report_has_room(checker->report)) {
                complain_no_session(checker, &wanted->items[k], session_names, sessions);
            } else {
                checker->report->error_count++;
            }
        }
    }
}

static void check_elements(struct checker *checker, const struct root *root)
{
    const struct named_list sessions = {"session", root->sessions.items, root->sessions.count,
        sizeof(struct app_session), offsetof(struct app_session, name),
        offsetof(struct app_session, variant)};
    const struct named_list outputs = {"output", root->outputs.items, root->outputs.count,
        sizeof(struct app_output), offsetof(struct app_output, name),
        offsetof(struct app_output, variant)};
    struct map session_names;
    struct map output_names;
    map_init(&session_names, sessions.count);
    map_init(&output_names, outputs.count);
    check_names(checker, &sessions, &session_names);
    check_names(checker, &outputs, &output_names);
    if (!checker->failed) {
        check_references(checker, root, &session_names, &sessions);
    }
    map_fini(&session_names);
    map_fini(&output_names);
}

/* Set the modules and let them check their settings, which are known to be complete. */
static void check_modules(struct checker *checker, const struct root *root)
{
    struct app_session *sessions = root->sessions.items;
    for (size_t i = 0; i < root->sessions.count; i++) {
        sessions[i].ops = sessions[i].variant->module;
    }
    struct app_output *outputs = root->outputs.items;
    for (size_t i = 0; i < root->outputs.count; i++) {
        struct error err;
        const struct output_ops *ops = outputs[i].variant->module;
        outputs[i].ops = ops;
        if (ops->check && !ops->check(outputs[i].settings, &err)) {
            config_error_at(checker->memory, outputs[i].settings, ops->settings_size,
                checker->report, "%s", err.text);
        }
    }
}

/* Check what was bound to ${root}, and hand it over with its memory if all is well. */
static bool finish(struct config *memory, const struct root *root, const char *name,
    struct app_config *ret_config, struct config_report *report)
{
    struct checker checker = {.memory = memory, .report = report};
    if (root) {
        check_elements(&checker, root);
    }
    if (checker.failed) {
        config_report_add(report, name, 0, 0, "out of memory. free some and retry");
    }
    if (root && config_report_ok(report)) {
        check_modules(&checker, root);
    }
    if (!root || !config_report_ok(report)) {
        config_destroy(memory);
        return false;
    }
    *ret_config = (struct app_config){
        .memory = memory,
        .agent = root->agent,
        .schemas = root->schemas.items,
        .schema_count = root->schemas.count,
        .sessions = root->sessions.items,
        .session_count = root->sessions.count,
        .outputs = root->outputs.items,
        .output_count = root->outputs.count,
    };
    return true;
}

/* ${text} NULL: the file ${name}. */
static bool load(const struct span *text, const char *name, const struct app_registry *registry,
    struct app_config *ret_config, struct config_report *report)
{
    struct config *memory = config_create(NULL, NULL);
    const struct tables *tables = memory ? create_tables(memory, registry) : NULL;
    if (!tables) {
        config_destroy(memory);
        config_report_add(report, name, 0, 0, "out of memory. free some and retry");
        return false;
    }
    const struct root *root = text ? config_parse(
                                         memory, *text, name, tables->root, sizeof(*root), report)
                                   : config_load(memory, name, tables->root, sizeof(*root), report);
    return finish(memory, root, name, ret_config, report);
}

bool app_config_load(const char *path, const struct app_registry *registry,
    struct app_config *ret_config, struct config_report *report)
{
    return load(NULL, path, registry, ret_config, report);
}

bool app_config_parse(struct span text, const char *name, const struct app_registry *registry,
    struct app_config *ret_config, struct config_report *report)
{
    return load(&text, name, registry, ret_config, report);
}

void app_config_fini(struct app_config *config)
{
    config_destroy(config->memory);
    *config = (struct app_config){0};
}

bool app_config_takes(const struct app_output *output, const struct app_session *session)
{
    bool takes = output->sessions.count == 0;
    for (size_t i = 0; i < output->sessions.count && !takes; i++) {
        takes = strcmp(output->sessions.items[i], session->name) == 0;
    }
    return takes;
}
