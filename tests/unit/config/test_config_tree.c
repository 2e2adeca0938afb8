#include "support/test.h"

#include <stdio.h>

#include "config/config.h"
#include "config/config_report.h"
#include "platform/plat_file.h"
#include "support/temp_folder.h"

/* Configurations made of several files and of settings on the command line. */

struct log {
    const char *level;
    uint64_t size;
};

struct agent {
    const char *data_dir;
    struct config_map labels;
    struct log log;
};

struct item {
    const char *name;
    const char *type;
    const char *path;
    struct config_list rules;
};

struct rule {
    const char *drop;
    const char *keep;
};

struct condition {
    const char *key;
    const char *is;
};

struct root {
    int64_t version;
    struct agent agent;
    struct config_strings include;
    struct config_strings tags;
    struct config_list items;
    struct config_list payload;
    const char *secret;
};

static const struct config_field log_fields[] = {
    {CONFIG_ROW("level", STRING, struct log, level)},
    {CONFIG_ROW("size", SIZE, struct log, size), .default_text = "1MB"},
    {.key = NULL},
};

static const struct config_field agent_fields[] = {
    {CONFIG_ROW("data_dir", PATH, struct agent, data_dir)},
    {CONFIG_ROW("labels", MAP, struct agent, labels)},
    {CONFIG_STRUCT_ROW("log", struct agent, log, log_fields)},
    {.key = NULL},
};

static const struct config_field rule_fields[] = {
    {CONFIG_ROW("drop", STRING, struct rule, drop)},
    {CONFIG_ROW("keep", STRING, struct rule, keep)},
    {.key = NULL},
};

static const char *const item_types[] = {"auto", NULL};

static const struct config_field item_fields[] = {
    {CONFIG_ROW("name", STRING, struct item, name)},
    {CONFIG_ROW("type", STRING, struct item, type), .default_text = "plain"},
    {CONFIG_ROW("path", PATH, struct item, path), .names = item_types},
    {CONFIG_ROW("rules", STRUCTS, struct item, rules), .fields = rule_fields,
        .size = sizeof(struct rule)},
    {.key = NULL},
};

static const struct config_field item_shorthand = {CONFIG_ROW("items", STRING, struct item, name)};

static const struct config_field condition_fields[] = {
    {CONFIG_ROW("is", STRING, struct condition, is), .required = true},
    {.key = NULL},
};

static const struct config_field root_fields[] = {
    {CONFIG_ROW("version", INT, struct root, version), .default_text = "1"},
    {CONFIG_STRUCT_ROW("agent", struct root, agent, agent_fields)},
    {CONFIG_ROW("include", PATHS, struct root, include)},
    {CONFIG_ROW("tags", STRINGS, struct root, tags)},
    {CONFIG_ROW("items", STRUCTS, struct root, items), .fields = item_fields,
        .shorthand = &item_shorthand, .size = sizeof(struct item)},
    {CONFIG_ROW("payload", KEYED, struct root, payload), .fields = condition_fields,
        .size = sizeof(struct condition)},
    {CONFIG_ROW("secret", SECRET, struct root, secret)},
    {.key = NULL},
};

static char folder[TEMP_FOLDER_BYTES];

static int set_up(void **state)
{
    (void)state;
    return temp_folder_make(folder, "tree");
}

static int tear_down(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static const char *path_of(const char *name)
{
    static char paths[8][256];
    static size_t next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

struct loaded {
    struct config *config;
    const struct root *root;
    struct config_additions additions;
    struct config_report report;
};

static void load(struct loaded *l, const char *const *settings)
{
    l->config = config_create(NULL, NULL);
    assert_non_null(l->config);
    config_report_init(&l->report);
    l->additions = (struct config_additions){.include_key = "include", .overrides = settings};
    while (settings && settings[l->additions.override_count]) {
        l->additions.override_count++;
    }
    config_use(l->config, &l->additions);
    l->root = config_load(
        l->config, path_of("main.yaml"), root_fields, sizeof(struct root), &l->report);
}

static void unload(struct loaded *l)
{
    config_destroy(l->config);
    config_report_fini(&l->report);
}

static void load_good(struct loaded *l, const char *const *settings)
{
    load(l, settings);
    if (!l->root || !config_report_ok(&l->report)) {
        fail_msg("%s", l->report.line_count ? l->report.lines[0].text : "no reason");
    }
}

/* All lines of the report, without the folder's name. */
static void assert_errors(const char *const *settings, const char *expected)
{
    struct loaded l;
    load(&l, settings);
    struct buf out;
    struct buf short_out;
    buf_init(&out, 1 << 20);
    buf_init(&short_out, 1 << 20);
    config_report_write(&l.report, "", &out);
    buf_add_byte(&out, 0);
    size_t skip = strlen(folder) + 1;
    for (const char *at = (const char *)out.data; *at;) {
        bool is_folder = strncmp(at, folder, skip - 1) == 0 && at[skip - 1] == '/';
        at += is_folder ? skip : 0;
        buf_add_byte(&short_out, (uint8_t)*at++);
    }
    buf_add_byte(&short_out, 0);
    if (strcmp((char *)short_out.data, expected) != 0) {
        print_error("got:\n%s\nexpected:\n%s\n", (char *)short_out.data, expected);
        fail();
    }
    buf_fini(&out);
    buf_fini(&short_out);
    unload(&l);
}

static const struct item *item_at(const struct loaded *l, size_t i)
{
    return (const struct item *)l->root->items.items + i;
}

static void lists_of_included_files_are_appended_in_the_order_of_their_names(void **state)
{
    (void)state;
    assert_true(plat_dir_create(path_of("conf.d"), NULL));
    put("main.yaml", "version: 1\ninclude: [conf.d/*.yaml]\ntags: [m]\n"
                     "items: [{name: main, path: x}]\n");
    put("conf.d/20.yaml", "version: 1\nitems: [{name: twenty, path: y}, short]\ntags: [t]\n");
    put("conf.d/10.yaml", "items: [{name: ten, path: auto}]\nagent: {log: {level: debug}}\n");
    put("conf.d/30.yaml", "# nothing yet\n");
    struct loaded l;
    load_good(&l, NULL);
    static const char *const names[] = {"main", "ten", "twenty", "short"};
    assert_int_equal(l.root->items.count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(item_at(&l, i)->name, names[i]);
        assert_string_equal(item_at(&l, i)->type, "plain");
    }
    assert_int_equal(l.root->tags.count, 2);
    assert_string_equal(l.root->tags.items[1], "t");
    assert_string_equal(l.root->agent.log.level, "debug");
    /* Paths are relative to the file that contains them; words are not paths. */
    assert_string_equal(item_at(&l, 0)->path, path_of("x"));
    assert_string_equal(item_at(&l, 1)->path, "auto");
    assert_string_equal(item_at(&l, 2)->path, path_of("conf.d/y"));
    unload(&l);
}

static void mappings_of_included_files_are_merged(void **state)
{
    (void)state;
    put("main.yaml", "include: [a.yaml]\nagent:\n  labels: {x: '1'}\n  log: {level: info}\n");
    put("a.yaml", "agent:\n  labels: {y: '2'}\n  log: {size: 2MB}\n  data_dir: /d\n");
    struct loaded l;
    load_good(&l, NULL);
    assert_int_equal(l.root->agent.labels.count, 2);
    assert_string_equal(l.root->agent.labels.items[1].key, "y");
    assert_string_equal(l.root->agent.log.level, "info");
    assert_int_equal(l.root->agent.log.size, 2 << 20);
    assert_string_equal(l.root->agent.data_dir, "/d");
    unload(&l);
}

static void what_two_files_say_is_reported_with_both_places(void **state)
{
    (void)state;
    put("main.yaml", "include: [a.yaml, b.yaml]\nagent:\n  log: {level: info}\ntags: [x]\n");
    put("a.yaml", "agent: {log: {level: debug}, data_dir: ''}\ntags: y\n");
    put("b.yaml", "include: [c.yaml]\n");
    assert_errors(NULL,
        "a.yaml:1:15: error: the key 'level' is given twice, first in main.yaml:3:9. remove one\n"
        "a.yaml:1:40: error: data_dir: the path is empty. write one, or remove the key\n"
        "a.yaml:2:1: error: the key 'tags' is given twice, first in main.yaml:4:1. remove one\n"
        "b.yaml:1:1: error: only the first file may include others. name the files there\n");
}

static void errors_of_included_files_come_after_those_of_the_first(void **state)
{
    (void)state;
    put("main.yaml", "include: [a.yaml, none.yaml, x?.yaml, none/*.yaml]\nitms: []\n");
    put("a.yaml", "a: [\n");
    struct loaded l;
    load(&l, NULL);
    assert_int_equal(l.report.error_count, 3);
    assert_non_null(strstr(l.report.lines[0].text, "main.yaml:1:19: error: include: "));
    assert_non_null(strstr(l.report.lines[0].text, "none.yaml"));
    assert_non_null(strstr(l.report.lines[1].text, "main.yaml:2:1: error: unknown key 'itms'"));
    assert_non_null(strstr(l.report.lines[2].text, "a.yaml:2:1: error: not valid YAML"));
    unload(&l);
}

static void patterns_that_fit_no_file_are_told(void **state)
{
    (void)state;
    put("main.yaml", "include:\n  - a*.yaml\n  - 'x?.yaml'\n  - none/*.yaml\ntags: [m]\n");
    put("a.yaml", "tags: [a]\n");
    struct loaded l;
    struct config_report warnings;
    load_good(&l, NULL);
    config_report_init(&warnings);
    warnings.kind = "warning";
    config_report_remarks(l.config, &warnings);
    assert_int_equal(warnings.error_count, 2);
    assert_non_null(
        strstr(warnings.lines[0].text, "main.yaml:3:5: warning: include: no file matches "
                                       "'x?.yaml'. check the pattern, or remove it"));
    assert_non_null(
        strstr(warnings.lines[1].text, "main.yaml:4:5: warning: include: no file matches "
                                       "'none/*.yaml'. check the pattern, or remove "
                                       "it"));
    config_report_fini(&warnings);
    unload(&l);
}

static void a_file_is_read_once_however_often_it_is_named(void **state)
{
    (void)state;
    put("main.yaml", "include: ['*.yaml', a.yaml]\ntags: [m]\n");
    put("a.yaml", "tags: [a]\n");
    put("b.yaml", "tags: [b]\n");
    struct loaded l;
    load_good(&l, NULL);
    assert_int_equal(l.root->tags.count, 3);
    unload(&l);
    remove(path_of("b.yaml"));
}

static void an_alias_in_an_included_file_stays_one(void **state)
{
    (void)state;
    put("main.yaml", "include: [a.yaml]\n");
    put("a.yaml", "items: [&i {name: n, rules: &r [{drop: x}]}, *i, {rules: *r}]\n");
    struct loaded l;
    load_good(&l, NULL);
    assert_int_equal(l.root->items.count, 3);
    assert_string_equal(((const struct rule *)item_at(&l, 2)->rules.items)->drop, "x");
    unload(&l);
    put("a.yaml", "items: &i [{rules: *i}]\n");
    load(&l, NULL);
    assert_false(config_report_ok(&l.report));
    unload(&l);
}

static void settings_replace_and_add_values(void **state)
{
    (void)state;
    put("main.yaml", "agent: {log: {level: info}}\n"
                     "items:\n"
                     "  - {name: one, path: a}\n"
                     "  - {name: one.more, path: b}\n"
                     "  - {type: file, path: c}\n"
                     "  - text\n"
                     "tags:\n");
    static const char *const settings[] = {"agent.log.level=debug", "agent.log.size=3MB",
        "agent.labels={a: '1', b: [}]", "items.one.path=/new", "items.one.more.path=rel",
        "items.file.path=C:\\x", "items.3=other", "items.4.name=last", "tags=[a, b]", "tags.1=c",
        "items.0.rules.0.drop=a == 'b, c'", "version=1", NULL};
    static const char *good[sizeof(settings) / sizeof(settings[0])];
    size_t count = 0;
    for (size_t i = 0; settings[i]; i++) {
        if (i != 2) {
            good[count++] = settings[i];
        }
    }
    struct loaded l;
    load_good(&l, good);
    assert_string_equal(l.root->agent.log.level, "debug");
    assert_int_equal(l.root->agent.log.size, 3 << 20);
    assert_int_equal(l.root->items.count, 5);
    assert_string_equal(item_at(&l, 0)->path, "/new");
    assert_string_equal(item_at(&l, 1)->path, "rel");
    assert_string_equal(item_at(&l, 2)->path, "C:\\x");
    assert_string_equal(item_at(&l, 3)->name, "other");
    assert_string_equal(item_at(&l, 4)->name, "last");
    assert_string_equal(l.root->tags.items[1], "c");
    assert_string_equal(((const struct rule *)item_at(&l, 0)->rules.items)->drop, "a == 'b, c'");
    unload(&l);
}

static void wrong_settings_are_reported_by_their_key(void **state)
{
    (void)state;
    put("main.yaml",
        "agent: {data_dir: /d, log: {size: 1MB}}\nitems: [{name: one}, {name: two}]\n");
    static const char *const settings[] = {"agent.log.size=large", "agent.dta_dir=/x",
        "items.tow.path=/x", "items.7.path=/x", "agent.data_dir.x=/x", "nothing", "=x", "a..b=1",
        "tags=[a", "items.one.path=", NULL};
    assert_errors(settings,
        "--set 'agent.log.size': error: size: 'large' is not a size. write a whole number and a "
        "unit (B KB MB GB TB), as in 64KB\n--set 'agent.dta_dir': error: unknown key 'dta_dir'. "
        "did you mean 'data_dir'?\n--set 'items.tow.path': error: there is no element 'tow'. did "
        "you mean 'two'?\n--set 'items.7.path': error: there is no element '7'. write a number "
        "from 0 to 2, or one of: one, two\n--set 'agent.data_dir.x': error: this goes into a "
        "single value. end the key before it\n--set 'nothing': error: this is not a setting. write "
        "KEY=VALUE, as in agent.memory=64MB\n--set '': error: the key has an empty part. write "
        "KEY=VALUE, as in agent.memory=64MB\n--set 'a..b': error: the key has an empty part. write "
        "KEY=VALUE, as in agent.memory=64MB\n--set 'tags':2:1: error: a comma or ] is missing "
        "before this; the [ is at 1:1. add it. a text with #, quotes or brackets belongs in "
        "quotes\n--set 'items.one.path': error: path: the path is empty. write one, or remove the "
        "key\n");
}

static void expressions_that_yaml_cuts_are_reported_as_such(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *errors;
    } cases[] = {
        {"items: [{rules: [{drop: event.id in (1, 2)}]}]\n",
            "main.yaml:1:41: error: '2)' became a key, because in { } a comma ends a value. quote "
            "the whole expression after 'drop'\n"},
        {"items: [{rules: [drop: a in (1, 2)]}]\n",
            "main.yaml:1:33: error: '2)' became an item, because in [ ] a comma ends the one "
            "before. quote the whole expression\n"},
        {"items: [Some-Provider:]\n", "main.yaml:1:9: error: in [ ] and { } a text with a colon at "
                                      "its end, or before a comma, "
                                      "needs quotes. quote the whole expression\n"},
        {"items:\n  - Some-Provider:\n",
            "main.yaml:2:5: error: 'Some-Provider' became a key, because of a colon after it or "
            "braces around it. quote the whole expression\n"},
        {"items:\n  - {1c95126e-7eea-49a9-a3fe-a378b03ddb4d}\n",
            "main.yaml:2:6: error: '1c95126e-7eea-49a9-a3fe-a378b03ddb4d' became a key, because "
            "of a colon after it or braces around it. quote the whole expression\n"},
        {"items: [{path: '%TEMP%\\x'}, {path: 'a-%Y_%m-%d'}]\n",
            "main.yaml:1:16: error: path: '%TEMP%' is not resolved here. write ${TEMP}, in "
            "quotes, for the environment variable\n"},
        {"payload: {1: {is: a}, 1: {is: b}, 2: {}, 3: x}\n",
            "main.yaml:1:23: error: the key '1' is given twice, first in line 1. remove one\n"
            "main.yaml:1:38: error: the key 'is' is missing. add it: it is required\n"
            "main.yaml:1:45: error: payload: this must be a mapping. write {key: value}, or "
            "indented lines of key: value. known keys: is\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        put("main.yaml", cases[i].text);
        assert_errors(NULL, cases[i].errors);
    }
}

static void a_secret_is_relative_to_its_file_too(void **state)
{
    (void)state;
    put("main.yaml", "secret: file:key.txt\n");
    put("key.txt", "abc\n");
    assert_true(temp_file_share(path_of("key.txt"), false));
    struct loaded l;
    load_good(&l, NULL);
    assert_string_equal(l.root->secret, "abc");
    unload(&l);
}

static void what_was_wrong_inside_an_element_is_known(void **state)
{
    (void)state;
    put("main.yaml", "items: [{name: a}, {name: [b]}, {nme: c}, {name: d, rules: [{x: y}]}]\n");
    struct loaded l;
    load(&l, NULL);
    static const bool flawed[] = {false, true, true, true};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(config_is_flawed(l.config, item_at(&l, i)), flawed[i]);
    }
    struct config_position position = config_position_of(
        l.config, &item_at(&l, 0)->name, sizeof(const char *));
    assert_int_equal(position.line, 1);
    assert_int_equal(position.column, 16);
    assert_string_equal(position.file, path_of("main.yaml"));
    unload(&l);
}

static void too_many_values_over_all_files_end_in_one_error(void **state)
{
    (void)state;
    put("main.yaml", "include: ['big-*.yaml']\n");
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof(name), "big-%d.yaml", i);
        FILE *file = fopen(path_of(name), "wb");
        assert_non_null(file);
        fputs("tags:\n", file);
        for (int k = 0; k < 40000; k++) {
            fputs("- a\n", file);
        }
        fclose(file);
    }
    assert_errors(NULL, "big-2.yaml: error: more than 100000 values in all files. remove some\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_included_files_are_appended_in_the_order_of_their_names),
        cmocka_unit_test(mappings_of_included_files_are_merged),
        cmocka_unit_test(what_two_files_say_is_reported_with_both_places),
        cmocka_unit_test(errors_of_included_files_come_after_those_of_the_first),
        cmocka_unit_test(patterns_that_fit_no_file_are_told),
        cmocka_unit_test(a_file_is_read_once_however_often_it_is_named),
        cmocka_unit_test(an_alias_in_an_included_file_stays_one),
        cmocka_unit_test(settings_replace_and_add_values),
        cmocka_unit_test(wrong_settings_are_reported_by_their_key),
        cmocka_unit_test(expressions_that_yaml_cuts_are_reported_as_such),
        cmocka_unit_test(a_secret_is_relative_to_its_file_too),
        cmocka_unit_test(what_was_wrong_inside_an_element_is_known),
        cmocka_unit_test(too_many_values_over_all_files_end_in_one_error),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
