#include "fuzz/fuzz.h"

#include <stdlib.h>

#include "app/app_config.h"
#include "outputs/registry.h"

/*
 * Any text as a configuration, over the tables of the agent, the outputs of this build and an
 * input with a row of every type that needs no file. It is taken, or at least one error says why
 * not; whatever was taken is complete.
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
    .name = "file", .fields = fields, .settings_size = sizeof(struct settings)};

static void require(bool truth)
{
    if (!truth) {
        abort();
    }
}

static void check_taken(const struct app_config *config)
{
    require(config->session_count > 0 && config->output_count > 0);
    for (size_t i = 0; i < config->session_count; i++) {
        const struct settings *s = config->sessions[i].settings;
        require(config->sessions[i].name && config->sessions[i].ops == &input);
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
    for (size_t i = 0; i < config->output_count; i++) {
        require(config->outputs[i].name && config->outputs[i].ops && config->outputs[i].settings);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct input_ops *const inputs[] = {&input};
    struct app_registry registry = {.inputs = inputs, .input_count = 1};
    registry.outputs = registry_outputs(&registry.output_count);
    struct config_report report;
    config_report_init(&report);
    struct app_config config;
    bool good = app_config_parse(
        span_make(data, size), "f.yaml", &registry, NULL, &config, &report);
    require(good == config_report_ok(&report));
    require(report.line_count <= CONFIG_REPORT_MAX_LINES);
    for (size_t i = 0; i < report.line_count; i++) {
        const char *text = report.lines[i].text;
        require(strncmp(text, "f.yaml", 6) == 0 && strstr(text, ": error: ") != NULL);
        for (; *text; text++) {
            require((uint8_t)*text >= 0x20);
        }
    }
    if (good) {
        check_taken(&config);
        app_config_fini(&config);
    }
    config_report_fini(&report);
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const char *const seeds[] = {
        "version: 1\n"
        "agent: {data_dir: /var, labels: {site: berlin, on: no}, tags: [a, '${HOME:b}']}\n"
        "schema: [{type: folder, path: s}]\n"
        "sessions:\n"
        "  - {name: one, type: file, paths: ['/a/*.etl', b], flag: true, number: 0x5}\n"
        "  - type: file\n"
        "    paths: &p [x]\n"
        "    age: 1d2h3m4s5ms\n"
        "    time: 2026-11-21T09:30:00.5+01:00\n"
        "    word: auto\n"
        "    pairs: {a: b, c: 'd'}\n"
        "    inner: {size: 64KB, text: |-\n      t\n}\n"
        "outputs: [{type: stdout}]\n",
        "sessions: [{type: file, paths: &p [x], list: [&l {text: a}, *l]}, {type: file, paths: "
        "*p}]\n"
        "outputs:\n"
        "- {type: file, path: /o, sessions: [file-2], fsync: 1s}\n"
        "- {type: stdout, style: pretty, enabled: false, format: native}\n",
        "sessions: [{type: fil, paths: [\"C:\\temp\"]}, {type: file}]\n"
        "outputs: [{type: file, sesions: [x]}, {type: stdout, style: prety, style: ndjson}]\n"
        "agent: {labels: {a: [b], a: c}, data_dir: ''}\nonn: 1\n",
        "%YAML 1.1\n---\n? sessions\n: - !!map {<<: {}, type: file}\n...\n---\nb\n",
    };
    if (index >= sizeof(seeds) / sizeof(seeds[0])) {
        return 0;
    }
    size_t size = strlen(seeds[index]);
    size = size < max ? size : max;
    memcpy(out, seeds[index], size);
    return size;
}
