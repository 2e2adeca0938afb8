#include "support/config_rig.h"
#include "support/temp_folder.h"

/* The content of a file, the places of values, and settings without a file. */

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
    assert_true(temp_file_share(path, true));
    load(&l, "key: file:test_config.secret", 28);
    assert_int_equal(l.report.error_count, 1);
    assert_string_equal(l.report.lines[0].text,
        "f.yaml:1:6: error: key: 'test_config.secret' can be read by every "
        "user of this machine. remove that right");
    unload(&l);
    assert_true(temp_file_share(path, false));
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

#define EMPTY_KEY "is empty. write the secret there, or remove the key"
#define BLANK_KEY "holds only white space. write the secret there, or remove the key"
#define LONG_KEY "has more than one line. write the secret there, and nothing else"
#define NO_KEY "is empty. set it to the secret, or remove the key"

static void assert_key_fails(const char *text, const char *what)
{
    struct loaded l;
    char wanted[300];
    load(&l, text, strlen(text));
    snprintf(wanted, sizeof(wanted), "f.yaml:1:6: error: key: %s", what);
    assert_int_equal(l.report.error_count, 1);
    assert_string_equal(l.report.lines[0].text, wanted);
    assert_null(strstr(l.report.lines[0].text, "hush"));
    unload(&l);
}

static void a_secret_is_not_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *what;
    } cases[] = {
        {"key: ''", "it " EMPTY_KEY},
        {"key: ' '", "it " BLANK_KEY},
        {"key: \"\\t\\n\"", "it " BLANK_KEY},
        {"key: \"hush\\nhush\"", "it " LONG_KEY},
        {"key: \"hush\\rhush\"", "it " LONG_KEY},
        {"key: ${EMPTY}", "the environment variable EMPTY " NO_KEY},
        {"key: ${EMPTY:hush}", "the environment variable EMPTY " NO_KEY},
        {"key: ${BLANK}", "the environment variable BLANK " NO_KEY},
        {"key: 'Bearer ${BLANK}'", "the environment variable BLANK " NO_KEY},
        {"key: '${SITE}${EMPTY}'", "the environment variable EMPTY " NO_KEY},
        {"key: ${LINES}", "the environment variable LINES: it " LONG_KEY},
        {"key: ${NOPE:}", "it " EMPTY_KEY},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_key_fails(cases[i].text, cases[i].what);
    }
    /* In other places nothing is replaced, and $${ is no variable. */
    struct loaded l;
    const struct root *r = load_good(&l, "key: 'a$${EMPTY}b'\ntext: ${EMPTY}\nlabels: {a: ''}\n");
    assert_string_equal(r->key, "a${EMPTY}b");
    assert_string_equal(r->text, "");
    unload(&l);
}

static void write_secret(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_true(temp_file_share(path, false));
}

static void a_secret_s_file_holds_one_line(void **state)
{
    (void)state;
    static const char path[] = "test_config.line";
    static const struct {
        const char *text;
        const char *what; /* NULL: the key is `hush` */
    } cases[] = {
        {"hush", NULL},
        {"hush\n", NULL},
        {"hush\r\n", NULL},
        {"", EMPTY_KEY},
        {"\n", EMPTY_KEY},
        {"\r\n", EMPTY_KEY},
        {"\n\n", BLANK_KEY},
        {" \t\n", BLANK_KEY},
        {"hush\nhush", LONG_KEY},
        {"hush\nhush\n", LONG_KEY},
        {"hush\n\n", LONG_KEY},
        {"\nhush\n", LONG_KEY},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_secret(path, cases[i].text);
        if (cases[i].what) {
            char what[200];
            snprintf(what, sizeof(what), "the file '%s' %s", path, cases[i].what);
            assert_key_fails("key: file:test_config.line", what);
            continue;
        }
        struct loaded l;
        assert_string_equal(load_good(&l, "key: file:test_config.line")->key, "hush");
        unload(&l);
    }
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_given_has_its_default),
        cmocka_unit_test(every_type_reads_what_the_file_says),
        cmocka_unit_test(variables_are_resolved_in_every_value),
        cmocka_unit_test(aliases_repeat_a_value),
        cmocka_unit_test(a_secret_may_stand_in_a_file),
        cmocka_unit_test(a_secret_is_not_nothing),
        cmocka_unit_test(a_secret_s_file_holds_one_line),
        cmocka_unit_test(findings_of_the_caller_get_the_place_of_the_value),
        cmocka_unit_test(settings_can_be_set_without_a_file),
        cmocka_unit_test(a_file_that_cannot_be_read_is_one_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
