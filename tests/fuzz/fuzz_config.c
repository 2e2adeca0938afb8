#include "fuzz/fuzz.h"

#include <stdlib.h>

#include "app/config/app_modules.h"
#include "config/config_show.h"

/*
 * Any text as a configuration, and after NUL bytes settings of the command line, over the tables of
 * the agent, all its modules and an input with a row of every type. It is accepted, or at least one
 * error says why not. An accepted configuration is complete and can be shown. The only files read
 * are those that secrets name.
 */
struct inner {
    uint64_t size_bytes;
    const char *text;
};

struct settings {
    bool flag;
    int64_t number;
    uint64_t age_ns;
    uint64_t time;
    int word;
    struct config_strings paths;
    struct config_map pairs;
    struct inner inner;
    struct config_list list;
};

static const char *const words[] = {"auto", "4", "8", NULL};

static const struct config_field inner_fields[] = {
    {CONFIG_ROW("size", SIZE, struct inner, size_bytes), .default_text = "1MB"},
    {CONFIG_ROW("text", STRING, struct inner, text), .required = true},
    {.key = NULL},
};

static const struct config_field fields[] = {
    {CONFIG_ROW("flag", BOOL, struct settings, flag)},
    {CONFIG_ROW("number", INT, struct settings, number), .min = -10, .max = 10},
    {CONFIG_ROW("age", DURATION, struct settings, age_ns), .default_text = "1h30m"},
    {CONFIG_ROW("time", TIME, struct settings, time)},
    {CONFIG_ROW("word", ENUM, struct settings, word), .names = words, .default_text = "8"},
    {CONFIG_ROW("paths", PATHS, struct settings, paths), .required = true, .min = 1, .max = 9},
    {CONFIG_ROW("pairs", MAP, struct settings, pairs)},
    {CONFIG_STRUCT_ROW("inner", struct settings, inner, inner_fields)},
    {CONFIG_ROW("list", STRUCTS, struct settings, list), .fields = inner_fields,
        .size = sizeof(struct inner)},
    {.key = NULL},
};

static const struct input_ops input = {
    .name = "made", .fields = fields, .settings_size = sizeof(struct settings)};

static void require(bool truth)
{
    if (!truth) {
        abort();
    }
}

static void check_made(const struct settings *s)
{
    require(s->number >= -10 && s->number <= 10 && s->word >= 0 && s->word < 3);
    require(s->paths.count > 0 && s->paths.count < 10);
    for (size_t k = 0; k < s->paths.count; k++) {
        require(s->paths.items[k][0] != 0);
    }
    for (size_t k = 0; k < s->pairs.count; k++) {
        require(s->pairs.items[k].key && s->pairs.items[k].value);
    }
    for (size_t k = 0; k < s->list.count; k++) {
        require(((const struct inner *)s->list.items)[k].text != NULL);
    }
}

static void check_rules(const struct config_list *list)
{
    const struct app_rule *rules = list->items;
    for (size_t i = 0; i < list->count; i++) {
        const struct app_rule *rule = &rules[i];
        bool sampled = rule->sample.rate != NULL;
        bool limited = rule->limit.rate != NULL;
        require((rule->keep != NULL) + (rule->drop != NULL) + sampled + limited == 1);
        require(!limited || (rule->tokens.events && rule->tokens.period && rule->tokens.burst &&
                                rule->tokens.burst <= UINT64_MAX / rule->tokens.period));
        require(!sampled || (rule->every > 0 && rule->sample.where));
    }
}

static void check_taken(const struct app_config *config)
{
    require(config->session_count > 0 && config->output_count > 0);
    check_rules(&config->filters);
    for (size_t i = 0; i < config->session_count; i++) {
        const struct app_session *session = &config->sessions[i];
        const struct app_provider *providers = session->providers.items;
        require(session->name && session->ops && session->settings);
        check_rules(&session->filters);
        for (size_t k = 0; k < session->providers.count; k++) {
            const struct provider_spec *spec = &providers[k].spec;
            require(spec->include.range_count <= PROVIDER_MAX_RANGES);
            require(providers[k].wpp || spec->name.size || providers[k].text.name ||
                    providers[k].text.compact);
        }
        if (session->ops == &input) {
            check_made(session->settings);
        }
    }
    for (size_t i = 0; i < config->output_count; i++) {
        require(config->outputs[i].name && config->outputs[i].ops && config->outputs[i].settings);
        check_rules(&config->outputs[i].filters);
    }
}

static void check_shown(const struct app_config *config)
{
    struct buf out;
    buf_init(&out, 16 << 20);
    config_show_yaml(config->memory, config->fields, config->root, 0, &out);
    config_show_json(config->memory, config->fields, config->root, &out);
    buf_fini(&out);
}

static void check_report(const struct config_report *report)
{
    require(report->line_count <= CONFIG_REPORT_MAX_LINES);
    for (size_t i = 0; i < report->line_count; i++) {
        const char *text = report->lines[i].text;
        require(strncmp(text, "f.yaml", 6) == 0 || strncmp(text, "--set ", 6) == 0);
        require(strstr(text, ": error: ") != NULL);
        for (; *text; text++) {
            require((uint8_t)*text >= 0x20);
        }
    }
}

/* The modules of the program, and ours. */
static const struct app_registry *get_registry(void)
{
    static const struct input_ops *inputs[65];
    static struct app_registry registry;
    if (!registry.inputs) {
        registry = *app_modules();
        memcpy(inputs, registry.inputs, registry.input_count * sizeof(inputs[0]));
        inputs[registry.input_count++] = &input;
        registry.inputs = inputs;
    }
    return &registry;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = calloc(1, size + 1);
    require(copy != NULL);
    if (size) {
        memcpy(copy, data, size);
    }
    size_t text_size = strlen(copy);
    const char *settings[16];
    struct app_config_options options = {.settings = settings, .no_include = true};
    for (size_t at = text_size + 1; at < size && options.setting_count < 16;
         at += strlen(copy + at) + 1) {
        settings[options.setting_count++] = copy + at;
    }
    struct config_report report;
    config_report_init(&report);
    struct app_config config;
    bool good = app_config_parse(
        span_make(data, text_size), "f.yaml", get_registry(), &options, &config, &report);
    require(good == config_report_ok(&report));
    check_report(&report);
    if (good) {
        check_taken(&config);
        check_shown(&config);
        app_config_can_run(&config, &report);
        check_report(&report);
        app_config_fini(&config);
    }
    config_report_fini(&report);
    free(copy);
    return 0;
}

#define SEED(seed_text)                    \
    {                                      \
        (seed_text), sizeof(seed_text) - 1 \
    }

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const struct {
        const char *text;
        size_t size;
    } seeds[] = {
        SEED("version: 1\n"
             "agent: {data_dir: /var, labels: {site: berlin, on: no}, tags: [a, '${HOME:b}']}\n"
             "schema: [{type: folder, path: s}]\n"
             "sessions:\n"
             "  - {name: one, type: made, paths: ['/a/*.etl', b], flag: true, number: 0x5}\n"
             "  - type: made\n"
             "    paths: &p [x]\n"
             "    age: 1d2h3m4s5ms\n"
             "    time: 2026-11-21T09:30:00.5+01:00\n"
             "    word: auto\n"
             "    pairs: {a: b, c: 'd'}\n"
             "    inner: {size: 64KB, text: |-\n      t\n}\n"
             "outputs: [{type: stdout}]\n"),
        SEED(
            "sessions: [{type: made, paths: &p [x], list: [&l {text: a}, *l]}, {type: made, paths: "
            "*p}]\n"
            "outputs:\n"
            "- {type: file, path: /o, sessions: [made-2], fsync: 1s}\n"
            "- {type: stdout, style: pretty, enabled: false, format: native}\n"),
        SEED("sessions: [{type: fil, paths: [\"C:\\temp\"]}, {type: file}]\n"
             "outputs: [{type: file, sesions: [x]}, {type: stdout, style: prety, style: ndjson}]\n"
             "agent: {labels: {a: [b], a: c}, data_dir: ''}\nonn: 1\n"),
        SEED("version: 1\n"
             "agent: {memory: 64MB, log: {file: stderr, rotate: {size: 1MB}}}\n"
             "spool: {mode: durable, max_age: never}\n"
             "filters: [{drop: 'event.id in (1, 2-5)'}, {keep: \"data.A contains 'x'\"}]\n"
             "sessions:\n"
             "  - type: realtime\n"
             "    providers: [A:4:1+5-9:0x10, {name: B, keywords: {any: [x, 1]}, payload: {1: {f: "
             "{is: "
             "2}}}, filters: [{keep: 'true'}]}]\n"
             "  - {type: system, flags: [process], stacks: [Process/Start, 0x1402]}\n"
             "  - {type: file, paths: ['${HOME}/x'], enabled: false}\n"
             "outputs:\n"
             "  - {type: elasticsearch, hosts: ['https://a'], index: 'b-{c}', auth: {api_key: d}}\n"
             "  - {type: http, url: 'http://b', headers: {a: b}, retry: {min: 1s}}\n\0"
             "outputs.http.headers.a=c\0sessions.0.providers.1=[\0agent.tags=[a, b]"),
        SEED("%YAML 1.1\n---\n? sessions\n: - !!map {<<: {}, type: file}\n...\n---\nb\n"),
    };
    if (index >= sizeof(seeds) / sizeof(seeds[0])) {
        return 0;
    }
    size_t size = seeds[index].size;
    size = size < max ? size : max;
    memcpy(out, seeds[index].text, size);
    return size;
}
