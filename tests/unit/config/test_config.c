#define _GNU_SOURCE

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "config/config.h"
#include "config/config_report.h"

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

static const char *test_env(void *self, const char *name)
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
    return strcmp(name, "EMPTY") == 0 ? "" : NULL;
}

struct loaded {
    struct config *config;
    struct root *root;
    struct config_report report;
};

static void load(struct loaded *l, const void *text, size_t size)
{
    l->config = config_create(test_env, NULL);
    assert_non_null(l->config);
    config_report_init(&l->report);
    l->root = config_parse(
        l->config, span_make(text, size), "f.yaml", root_fields, sizeof(struct root), &l->report);
}

static void unload(struct loaded *l)
{
    config_report_fini(&l->report);
    config_destroy(l->config);
}

static struct root *load_good(struct loaded *l, const char *text)
{
    load(l, text, strlen(text));
    if (!config_report_ok(&l->report)) {
        fail_msg("%s", l->report.lines[0].text);
    }
    assert_non_null(l->root);
    return l->root;
}

/* All lines of the report, one behind the other, without the leading "f.yaml:". */
static char *lines_of(const struct config_report *report)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    config_report_write(report, "", &out);
    buf_add_byte(&out, 0);
    assert_false(out.failed);
    return (char *)out.data;
}

static void assert_errors(const char *text, size_t size, const char *expected)
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

static void what_is_not_given_has_its_default(void **state)
{
    (void)state;
    struct loaded l;
    const struct root *r = load_good(&l, "{}");
    assert_true(r->on);
    assert_int_equal(r->number, 7);
    assert_int_equal(r->any, 0);
    assert_int_equal(r->size, 65536);
    assert_int_equal(r->age, 200000000);
    assert_int_equal(r->start, 0);
    assert_string_equal(r->text, "none");
    assert_null(r->path);
    assert_int_equal(r->level, 1);
    assert_int_equal(r->tags.count, 0);
    assert_int_equal(r->labels.count, 0);
    assert_int_equal(r->rotate.size, 10 << 20);
    assert_int_equal(r->rotate.keep, 5);
    assert_int_equal(r->items.count, 0);
    unload(&l);
}

static void every_type_reads_what_the_file_says(void **state)
{
    (void)state;
    static const char text[] = "\xef\xbb\xbf# a byte order mark is fine\n"
                               "on: false\n"
                               "number: -0x3\n"
                               "any: 9223372036854775807\n"
                               "size: 1MiB\n"
                               "age: 1m30s\n"
                               "start: 2026-11-21T09:30:00.1234567Z\n"
                               "text: 'it''s'\n"
                               "path: C:\\temp\\new\n"
                               "key: s3cret\n"
                               "level: error\n"
                               "tags: [a, 'b c', 5]\n"
                               "paths:\n"
                               "  - /a/*.etl\n"
                               "  - 'D:\\traces\\**\\*.etl'\n"
                               "labels: {answer: no, n: 010, e: , q: 'null', x: null, t: ~}\n"
                               "rotate: {keep: 100}\n"
                               "items:\n"
                               "  - path: one\n"
                               "  - {kind: folder, path: two}\n"
                               "sinks:\n"
                               "  - {type: disk, rotate: {size: 1KB}}\n"
                               "  - {host: h, type: net, name: n, password: p}\n";
    struct loaded l;
    const struct root *r = load_good(&l, text);
    assert_false(r->on);
    assert_int_equal(r->number, -3);
    assert_true(r->any == INT64_MAX);
    assert_int_equal(r->size, 1048576);
    assert_int_equal(r->age, 90000000000);
    assert_true(r->start == UINT64_C(134397270001234567));
    assert_string_equal(r->text, "it's");
    assert_string_equal(r->path, "C:\\temp\\new");
    assert_string_equal(r->key, "s3cret");
    assert_int_equal(r->level, 0);
    assert_int_equal(r->tags.count, 3);
    assert_string_equal(r->tags.items[1], "b c");
    assert_string_equal(r->tags.items[2], "5");
    assert_int_equal(r->paths.count, 2);
    assert_string_equal(r->paths.items[1], "D:\\traces\\**\\*.etl");
    static const struct config_pair labels[] = {
        {"answer", "no"}, {"n", "010"}, {"e", ""}, {"q", "null"}, {"x", "null"}, {"t", "~"}};
    assert_int_equal(r->labels.count, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(r->labels.items[i].key, labels[i].key);
        assert_string_equal(r->labels.items[i].value, labels[i].value);
    }
    assert_int_equal(r->rotate.keep, 100);
    assert_int_equal(r->rotate.size, 10 << 20);
    const struct item *items = r->items.items;
    assert_int_equal(r->items.count, 2);
    assert_string_equal(items[0].path, "one");
    assert_int_equal(items[0].kind, 1);
    assert_string_equal(items[1].path, "two");
    assert_int_equal(items[1].kind, 0);
    const struct element *elements = r->sinks.items;
    assert_int_equal(r->sinks.count, 2);
    assert_null(elements[0].name);
    assert_string_equal(elements[0].type, "disk");
    assert_string_equal(elements[0].variant->module, "the disk");
    const struct disk *disk = elements[0].settings;
    assert_string_equal(disk->path, "/tmp/x");
    assert_int_equal(disk->rotate.size, 1024);
    const struct net *net = elements[1].settings;
    assert_string_equal(elements[1].name, "n");
    assert_string_equal(net->host, "h");
    assert_string_equal(net->password, "p");
    unload(&l);
}

static void variables_are_resolved_in_every_value(void **state)
{
    (void)state;
    struct loaded l;
    const struct root *r = load_good(&l,
        "text: 'a ${SITE} b$${SITE} c$d ${NOPE:x:y} ${NOPE:}${EMPTY:z}.'\n"
        "number: ${COUNT}\n"
        "path: ${ProgramFiles(x86)}\\etwship\n"
        "tags: ['${SITE}', $, $$]\n"
        "labels: {site: '${SITE}', '${SITE}': key}\n");
    assert_string_equal(r->text, "a berlin b${SITE} c$d x:y .");
    assert_int_equal(r->number, 4);
    assert_string_equal(r->path, "C:\\Program Files (x86)\\etwship");
    assert_string_equal(r->tags.items[0], "berlin");
    assert_string_equal(r->tags.items[1], "$");
    assert_string_equal(r->tags.items[2], "$$");
    assert_string_equal(r->labels.items[0].value, "berlin");
    assert_string_equal(r->labels.items[1].key, "${SITE}");
    unload(&l);
}

static void aliases_repeat_a_value(void **state)
{
    (void)state;
    struct loaded l;
    const struct root *r = load_good(&l, "items: [&a {path: p}, *a]\ntext: &t x\ntags: [*t, *t]\n");
    const struct item *items = r->items.items;
    assert_int_equal(r->items.count, 2);
    assert_string_equal(items[1].path, "p");
    assert_string_equal(r->tags.items[1], "x");
    unload(&l);
}

static void a_secret_may_stand_in_a_file(void **state)
{
    (void)state;
    static const char path[] = "test_config.secret";
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs("top secret \r\n", file);
    fclose(file);
    struct loaded l;
    assert_int_equal(chmod(path, 0644), 0);
    load(&l, "key: file:test_config.secret", 28);
    assert_int_equal(l.report.error_count, 1);
    assert_string_equal(l.report.lines[0].text,
        "f.yaml:1:6: error: key: 'test_config.secret' can be read by every user of this machine. "
        "take that right away from others");
    unload(&l);
    assert_int_equal(chmod(path, 0640), 0);
    const struct root *r = load_good(
        &l, "key: file:test_config.secret\ntext: file:test_config.secret\n");
    assert_string_equal(r->key, "top secret ");
    assert_string_equal(r->text, "file:test_config.secret");
    unload(&l);
    remove(path);
    load(&l, "key: file:test_config.secret", 28);
    assert_int_equal(l.report.error_count, 1);
    unload(&l);
}

struct broken {
    const char *text;
    const char *errors;
};

static const struct broken broken[] = {
/* clang-format off */
#include "unit/config/broken.inc"
    /* clang-format on */
};

static void everything_wrong_is_reported_with_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        assert_errors(broken[i].text, strlen(broken[i].text), broken[i].errors);
    }
}

static void a_broken_text_never_crashes_wherever_it_ends(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        size_t size = strlen(broken[i].text);
        for (size_t cut = 0; cut < size; cut++) {
            char *copy = malloc(cut + 1);
            assert_non_null(copy);
            memcpy(copy, broken[i].text, cut);
            struct loaded l;
            load(&l, copy, cut);
            unload(&l);
            free(copy);
        }
    }
}

static void bytes_that_are_no_text_are_refused(void **state)
{
    (void)state;
    assert_errors(
        "text: \xc3(", 8, "f.yaml:1:8: error: this is not UTF-8 text. save the file as UTF-8\n");
    assert_errors("on: true\ntext: a\xff", 17,
        "f.yaml:2:8: error: this is not UTF-8 text. save the file as UTF-8\n");
    assert_errors(
        "\xff\xfeo\0n\0", 6, "f.yaml:1:1: error: this is UTF-16 text. save the file as UTF-8\n");
    assert_errors(
        "\xfe\xff\0o\0n", 6, "f.yaml:1:1: error: this is UTF-16 text. save the file as UTF-8\n");
    assert_errors("text: a\0b", 9,
        "f.yaml:1:8: error: a control character. YAML takes it only as an escape in double "
        "quotes\n");
    assert_errors("text: a\x1b[31m", 12,
        "f.yaml:1:8: error: a control character. YAML takes it only as an escape in double "
        "quotes\n");
    assert_errors("text: \xed\xa0\x80", 9,
        "f.yaml:1:7: error: this is not UTF-8 text. save the file as UTF-8\n");
}

/* A text made of ${count} copies of ${part} between a head and a tail. */
static char *repeat(const char *head, const char *part, size_t count, const char *tail)
{
    size_t step = strlen(part);
    size_t size = strlen(head) + count * step + strlen(tail) + 1;
    char *text = malloc(size);
    assert_non_null(text);
    char *at = text + snprintf(text, size, "%s", head);
    for (size_t i = 0; i < count; i++, at += step) {
        memcpy(at, part, step);
    }
    memcpy(at, tail, strlen(tail) + 1);
    return text;
}

static void assert_repeat(
    const char *head, const char *part, size_t count, const char *tail, const char *errors)
{
    char *text = repeat(head, part, count, tail);
    assert_errors(text, strlen(text), errors);
    free(text);
}

static void hostile_sizes_end_in_one_error(void **state)
{
    (void)state;
    assert_repeat("a: ", "[", 100000, "",
        "f.yaml:1:35: error: nested more than 32 levels deep. flatten it\n");
    assert_repeat("a: ", "{a: ", 100000, "",
        "f.yaml:1:128: error: nested more than 32 levels deep. flatten it\n");
    assert_repeat(
        "", "- ", 100000, "", "f.yaml:1:65: error: nested more than 32 levels deep. flatten it\n");
    assert_repeat("tags:\n", "- a\n", 200000, "",
        "f.yaml:99999:3: error: more than 100000 values. split the configuration\n");
    assert_repeat("tags: [", "&a a,", 1000, "]",
        "f.yaml:1:1288: error: more than 256 anchors. repeat values instead\n");
    assert_repeat("text: ", "x", 65537, "",
        "f.yaml:1:7: error: a value of more than 65536 bytes. shorten it\n");
    assert_repeat("text: |\n", " xxxxxxxxx\n", 400000, "",
        "f.yaml:1:1: error: the file is larger than 4 MB. split the configuration\n");
    assert_repeat("", "%TAG !a! b\n", 300000, "--- a",
        "f.yaml:17:1: error: more than 16 lines start with %. indent or quote them\n");
    assert_repeat("text: '", "${NOPE:0123456789}", 5000, "'",
        "f.yaml:1:7: error: a value of more than 65536 bytes. shorten it\n");
}

static void a_value_within_the_limit_is_taken(void **state)
{
    (void)state;
    char *text = repeat("text: ", "x", 65536, "");
    struct loaded l;
    assert_int_equal(strlen(load_good(&l, text)->text), 65536);
    unload(&l);
    free(text);
}

static void what_counts_is_the_size_after_variables_were_resolved(void **state)
{
    (void)state;
    char *text = repeat("text: ", "${EMPTY}x${NOPE:0123456789}", 2000, "");
    struct loaded l;
    assert_int_equal(strlen(load_good(&l, text)->text), 22000);
    unload(&l);
    free(text);
}

static void an_alias_bomb_ends_in_one_error(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, 1 << 20);
    buf_add_text(&text, "items:\n");
    buf_add_text(&text, "  - &a {path: x}\n");
    for (size_t i = 0; i < 60000; i++) {
        buf_add_text(&text, "  - *a\n");
    }
    struct loaded l;
    load(&l, text.data, text.size);
    assert_int_equal(l.report.error_count, 1);
    assert_non_null(strstr(l.report.lines[0].text,
        "more than 100000 values with aliases followed. use fewer aliases"));
    unload(&l);
    buf_fini(&text);
    assert_errors("items: &a [{path: *a}, *a]\n", 27,
        "f.yaml:1:8: error: path: this must be one value. write it as text or a number, without "
        "brackets\n"
        "f.yaml:1:8: error: items: this must be a mapping. write {key: value}, or indented lines "
        "of key: value\n");
}

static void big_values_repeated_by_aliases_stop_at_the_memory_limit(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, 1 << 20);
    buf_add_text(&text, "text: &a ");
    for (size_t i = 0; i < 65000; i++) {
        buf_add_byte(&text, 'x');
    }
    buf_add_text(&text, "\npaths:\n");
    for (size_t i = 0; i < 2000; i++) {
        buf_add_text(&text, " - *a\n");
    }
    struct loaded l;
    load(&l, text.data, text.size);
    assert_int_equal(l.report.error_count, 1);
    assert_string_equal(l.report.lines[0].text,
        "f.yaml:1:7: error: the configuration needs more than 64 MB of memory. shorten it");
    unload(&l);
    buf_fini(&text);
}

static void further_errors_are_only_counted(void **state)
{
    (void)state;
    char *text = repeat("", "x: 1\n", 250, "");
    struct loaded l;
    load(&l, text, strlen(text));
    assert_int_equal(l.report.error_count, 250);
    assert_int_equal(l.report.line_count, 100);
    char *lines = lines_of(&l.report);
    const char *last = strstr(lines, "f.yaml:100:1: ");
    assert_non_null(last);
    assert_string_equal(strchr(last, '\n') + 1, "and 150 more\n");
    free(lines);
    unload(&l);
    free(text);
}

static void findings_of_the_caller_get_the_place_of_the_value(void **state)
{
    (void)state;
    struct loaded l;
    struct root *r = load_good(&l, "text: a\n"
                                   "tags: [b, c]\n"
                                   "sinks:\n"
                                   "  - type: disk\n"
                                   "    path: d\n"
                                   "  - {type: net, host: h}\n");
    struct element *e = r->sinks.items;
    struct net *net = e[1].settings;
    struct disk *disk = e[0].settings;
    config_error_at(l.config, &net->host, sizeof(net->host), &l.report, "host");
    config_error_at(l.config, net, sizeof(*net), &l.report, "settings");
    config_error_at(l.config, &e[1].name, sizeof(e[1].name), &l.report, "no name");
    config_error_at(l.config, &disk->rotate, sizeof(disk->rotate), &l.report, "no rotate");
    config_error_at(l.config, &r->tags.items[1], sizeof(char *), &l.report, "item");
    config_error_at(l.config, &r->text, sizeof(r->text), &l.report, "text");
    config_error_at(l.config, &r->path, sizeof(r->path), &l.report, "no path");
    char *lines = lines_of(&l.report);
    assert_string_equal(lines, "f.yaml:1:1: error: no path\n"
                               "f.yaml:1:7: error: text\n"
                               "f.yaml:2:11: error: item\n"
                               "f.yaml:4:5: error: no rotate\n"
                               "f.yaml:6:5: error: settings\n"
                               "f.yaml:6:5: error: no name\n"
                               "f.yaml:6:23: error: host\n");
    free(lines);
    unload(&l);
}

static void settings_can_be_set_without_a_file(void **state)
{
    (void)state;
    struct config *config = config_create(test_env, NULL);
    struct error err;
    struct root *r = config_new(config, root_fields, sizeof(*r), &err);
    assert_non_null(r);
    assert_int_equal(r->size, 65536);
    const char *values[] = {"a", "${SITE}"};
    assert_true(config_set(config, root_fields, r, "tags", values, 2, &err));
    assert_int_equal(r->tags.count, 2);
    assert_string_equal(r->tags.items[1], "${SITE}");
    const char *level[] = {"error"};
    assert_true(config_set(config, root_fields, r, "level", level, 1, &err));
    assert_int_equal(r->level, 0);
    assert_false(config_set(config, root_fields, r, "level", values, 1, &err));
    assert_string_equal(err.text, "'a' is not known. use one of: error, warning, information");
    assert_false(config_set(config, root_fields, r, "level", values, 2, &err));
    assert_false(config_set(config, root_fields, r, "tags", values, 0, &err));
    assert_false(config_set(config, root_fields, r, "nope", values, 1, &err));
    assert_false(config_set(config, root_fields, r, "labels", values, 1, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    config_destroy(config);
    config_destroy(NULL);
}

static void a_file_that_cannot_be_read_is_one_error(void **state)
{
    (void)state;
    struct config *config = config_create(NULL, NULL);
    struct config_report report;
    config_report_init(&report);
    assert_null(
        config_load(config, "no/such/file.yaml", root_fields, sizeof(struct root), &report));
    assert_int_equal(report.error_count, 1);
    assert_non_null(strstr(report.lines[0].text, "no/such/file.yaml: error: "));
    config_report_fini(&report);
    config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_given_has_its_default),
        cmocka_unit_test(every_type_reads_what_the_file_says),
        cmocka_unit_test(variables_are_resolved_in_every_value),
        cmocka_unit_test(aliases_repeat_a_value),
        cmocka_unit_test(a_secret_may_stand_in_a_file),
        cmocka_unit_test(everything_wrong_is_reported_with_its_place),
        cmocka_unit_test(a_broken_text_never_crashes_wherever_it_ends),
        cmocka_unit_test(bytes_that_are_no_text_are_refused),
        cmocka_unit_test(hostile_sizes_end_in_one_error),
        cmocka_unit_test(a_value_within_the_limit_is_taken),
        cmocka_unit_test(what_counts_is_the_size_after_variables_were_resolved),
        cmocka_unit_test(an_alias_bomb_ends_in_one_error),
        cmocka_unit_test(big_values_repeated_by_aliases_stop_at_the_memory_limit),
        cmocka_unit_test(further_errors_are_only_counted),
        cmocka_unit_test(findings_of_the_caller_get_the_place_of_the_value),
        cmocka_unit_test(settings_can_be_set_without_a_file),
        cmocka_unit_test(a_file_that_cannot_be_read_is_one_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
