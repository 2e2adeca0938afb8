#ifndef ETWSHIP_TESTS_SUPPORT_CONFIG_RIG_H
#define ETWSHIP_TESTS_SUPPORT_CONFIG_RIG_H

#include <stdio.h>
#include <stdlib.h>

#include "config/config.h"
#include "config/config_report.h"
#include "support/test.h"

/* A table with a row of every type, and two variants. */

struct rotate {
    uint64_t size;
    int64_t keep;
};

struct item {
    const char *path;
    int kind;
};

struct element {
    const char *name;
    const char *type;
    const struct config_variant *variant;
    void *settings;
};

struct disk {
    const char *path;
    struct rotate rotate;
};

struct net {
    const char *host;
    const char *password;
};

struct root {
    bool on;
    int64_t number;
    int64_t any;
    uint64_t size;
    uint64_t age;
    uint64_t start;
    const char *text;
    const char *path;
    const char *key;
    int level;
    struct config_strings tags;
    struct config_strings paths;
    struct config_map labels;
    struct rotate rotate;
    struct config_list items;
    struct config_list sinks;
};

static const char *const level_names[] = {"error", "warning", "information", NULL};
static const char *const kind_names[] = {"folder", "file", NULL};

static const struct config_field rotate_fields[] = {
    {CONFIG_ROW("size", SIZE, struct rotate, size), .default_text = "10MB"},
    {CONFIG_ROW("keep", INT, struct rotate, keep), .default_text = "5", .min = 1, .max = 100},
    {.key = NULL},
};

static const struct config_field item_fields[] = {
    {CONFIG_ROW("path", PATH, struct item, path), .required = true, .help = "the path"},
    {CONFIG_ROW("kind", ENUM, struct item, kind), .names = kind_names, .default_text = "file"},
    {.key = NULL},
};

static const struct config_field element_fields[] = {
    {CONFIG_ROW("name", STRING, struct element, name)},
    {CONFIG_ROW("type", STRING, struct element, type), .required = true, .help = "disk or net"},
    {.key = NULL},
};

static const struct config_field disk_fields[] = {
    {CONFIG_ROW("path", PATH, struct disk, path), .default_text = "/tmp/x"},
    {CONFIG_STRUCT_ROW("rotate", struct disk, rotate, rotate_fields)},
    {.key = NULL},
};

static const struct config_field net_fields[] = {
    {CONFIG_ROW("host", STRING, struct net, host), .required = true, .help = "where to"},
    {CONFIG_ROW("password", SECRET, struct net, password)},
    {.key = NULL},
};

static const struct config_variant variants[] = {
    {"disk", disk_fields, sizeof(struct disk), "the disk"},
    {"net", net_fields, sizeof(struct net), "the net"},
};

static const struct config_variants sinks = {
    .noun = "sink",
    .common = element_fields,
    .size = sizeof(struct element),
    .variant_offset = offsetof(struct element, variant),
    .settings_offset = offsetof(struct element, settings),
    .list = variants,
    .count = 2,
};

static const struct config_field root_fields[] = {
    {CONFIG_ROW("on", BOOL, struct root, on), .default_text = "true"},
    {CONFIG_ROW("number", INT, struct root, number), .default_text = "7", .min = -3, .max = 9},
    {CONFIG_ROW("any", INT, struct root, any)},
    {CONFIG_ROW("size", SIZE, struct root, size), .default_text = "64KB", .min = 4096,
        .max = 1 << 30},
    {CONFIG_ROW("age", DURATION, struct root, age), .default_text = "200ms", .min = 1000000,
        .max = 3600000000000},
    {CONFIG_ROW("start", TIME, struct root, start)},
    {CONFIG_ROW("text", STRING, struct root, text), .default_text = "none"},
    {CONFIG_ROW("path", PATH, struct root, path)},
    {CONFIG_ROW("key", SECRET, struct root, key)},
    {CONFIG_ROW("level", ENUM, struct root, level), .names = level_names,
        .default_text = "warning"},
    {CONFIG_ROW("tags", STRINGS, struct root, tags), .min = 1, .max = 3},
    {CONFIG_ROW("paths", PATHS, struct root, paths)},
    {CONFIG_ROW("labels", MAP, struct root, labels)},
    {CONFIG_STRUCT_ROW("rotate", struct root, rotate, rotate_fields)},
    {CONFIG_ROW("items", STRUCTS, struct root, items), .fields = item_fields,
        .size = sizeof(struct item)},
    {CONFIG_ROW("sinks", VARIANTS, struct root, sinks), .variants = &sinks},
    {.key = NULL},
};

static inline const char *test_env(void *self, const char *name)
{
    (void)self;
    if (strcmp(name, "SITE") == 0) {
        return "berlin";
    }
    if (strcmp(name, "COUNT") == 0) {
        return "4";
    }
    if (strcmp(name, "ProgramFiles(x86)") == 0) {
        return "C:\\Program Files (x86)";
    }
    if (strcmp(name, "BLANK") == 0) {
        return " \t\r\n";
    }
    if (strcmp(name, "LINES") == 0) {
        return "hush\nhushhush";
    }
    return strcmp(name, "EMPTY") == 0 ? "" : NULL;
}

struct loaded {
    struct config *config;
    struct root *root;
    struct config_report report;
};

static inline void load(struct loaded *l, const void *text, size_t size)
{
    l->config = config_create(test_env, NULL);
    assert_non_null(l->config);
    config_report_init(&l->report);
    l->root = config_parse(
        l->config, span_make(text, size), "f.yaml", root_fields, sizeof(struct root), &l->report);
}

static inline void unload(struct loaded *l)
{
    config_report_fini(&l->report);
    config_destroy(l->config);
}

static inline struct root *load_good(struct loaded *l, const char *text)
{
    load(l, text, strlen(text));
    if (!config_report_ok(&l->report)) {
        fail_msg("%s", l->report.lines[0].text);
    }
    assert_non_null(l->root);
    return l->root;
}

/* All lines of the report, one after the other, without the leading "f.yaml:". */
static inline char *lines_of(const struct config_report *report)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    config_report_write(report, "", &out);
    buf_add_byte(&out, 0);
    assert_false(out.failed);
    return (char *)out.data;
}

static inline void assert_errors(const char *text, size_t size, const char *expected)
{
    struct loaded l;
    load(&l, text, size);
    char *got = lines_of(&l.report);
    if (strcmp(got, expected) != 0) {
        print_error("text:\n%s\ngot:\n%s\nexpected:\n%s\n", text, got, expected);
        fail();
    }
    free(got);
    unload(&l);
}

#endif
