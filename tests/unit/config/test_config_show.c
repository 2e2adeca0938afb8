#include "support/test.h"

#include "config/config_report.h"
#include "config/config_show.h"

/* The parts of a configuration that are shown, and those that never are. */

struct part {
    const char *key; /* of the KEYED mapping */
    const char *is;
    int64_t number;
};

struct root {
    bool on;
    int64_t number;
    uint64_t size;
    uint64_t age;
    uint64_t time;
    int word;
    const char *text;
    const char *address;
    const char *secret;
    struct config_strings list;
    struct config_map map;
    struct config_map hidden;
    struct part inner;
    struct part choice;
    struct config_list parts;
    struct config_list keyed;
};

static const char *const words[] = {"one", "two", NULL};

static const struct config_field part_fields[] = {
    {CONFIG_ROW("is", STRING, struct part, is)},
    {CONFIG_ROW("number", INT, struct part, number), .default_text = "1"},
    {.key = NULL},
};

static const struct config_field choice_fields[] = {
    {CONFIG_ROW("is", STRING, struct part, is), .required = true},
    {CONFIG_ROW("number", INT, struct part, number), .default_text = "1"},
    {.key = NULL},
};

static const struct config_field part_text = {CONFIG_ROW("parts", STRING, struct part, key)};

static const struct config_field root_fields[] = {
    {CONFIG_ROW("on", BOOL, struct root, on), .default_text = "true"},
    {CONFIG_ROW("number", INT, struct root, number)},
    {CONFIG_ROW("size", SIZE, struct root, size), .default_text = "3MB"},
    {CONFIG_ROW("age", DURATION, struct root, age), .default_text = "never", .may_be_never = true},
    {CONFIG_ROW("time", TIME, struct root, time)},
    {CONFIG_ROW("word", ENUM, struct root, word), .names = words, .default_text = "two"},
    {CONFIG_ROW("text", STRING, struct root, text)},
    {CONFIG_ROW("address", STRING, struct root, address), .is_address = true},
    {CONFIG_ROW("secret", SECRET, struct root, secret)},
    {CONFIG_ROW("list", STRINGS, struct root, list)},
    {CONFIG_ROW("map", MAP, struct root, map)},
    {CONFIG_ROW("hidden", MAP, struct root, hidden), .hide_values = true},
    {CONFIG_STRUCT_ROW("inner", struct root, inner, part_fields)},
    {CONFIG_STRUCT_ROW("choice", struct root, choice, choice_fields)},
    {CONFIG_ROW("parts", STRUCTS, struct root, parts), .fields = part_fields,
        .shorthand = &part_text, .size = sizeof(struct part)},
    {CONFIG_ROW("keyed", KEYED, struct root, keyed), .fields = part_fields,
        .size = sizeof(struct part)},
    {.key = NULL},
};

static const char *test_env(void *self, const char *name)
{
    (void)self;
    return strcmp(name, "HIDE") == 0 ? "from the environment" : NULL;
}

/* Show ${yaml}, as YAML or JSON; the caller frees the buffer. */
static void show(const char *yaml, bool json, struct buf *out)
{
    struct config *config = config_create(test_env, NULL);
    struct config_report report;
    config_report_init(&report);
    const void *root = config_parse(
        config, span_text(yaml), "f.yaml", root_fields, sizeof(struct root), &report);
    if (!config_report_ok(&report)) {
        fail_msg("%s", report.lines[0].text);
    }
    buf_init(out, 1 << 20);
    if (json) {
        config_show_json(config, root_fields, root, out);
    } else {
        config_show_yaml(config, root_fields, root, 0, out);
    }
    buf_add_byte(out, 0);
    config_report_fini(&report);
    config_destroy(config);
}

static const char everything[] = "number: -5\n"
                                 "size: 1000\n"
                                 "age: 90m\n"
                                 "time: 2026-11-21T09:30:00.5Z\n"
                                 "text: 'a: \"b\"\\ ${HIDE}'\n"
                                 "secret: hush\n"
                                 "list: [a, 'no', 'b c', '${HIDE}']\n"
                                 "map: {x: 'yes', y z: \"\\u0001\", w: '${HIDE}'}\n"
                                 "hidden: {h: hush}\n"
                                 "parts: [short, {is: long}, {number: 2}]\n"
                                 "keyed: {7: {is: x}, k: {}}\n";

static void everything_is_shown_as_yaml(void **state)
{
    (void)state;
    struct buf out;
    show(everything, false, &out);
    assert_string_equal((char *)out.data, "\"on\": true\n"
                                          "number: -5\n"
                                          "size: 1000B\n"
                                          "age: 90m\n"
                                          "time: \"2026-11-21T09:30:00.5000000Z\"\n"
                                          "word: two\n"
                                          "text: \"a: \\\"b\\\"\\\\ ${HIDE}\"\n"
                                          "secret: \"(set)\"\n"
                                          "list: [a, \"no\", \"b c\", \"${HIDE}\"]\n"
                                          "map:\n"
                                          "  x: \"yes\"\n"
                                          "  \"y z\": \"\\u0001\"\n"
                                          "  w: \"${HIDE}\"\n"
                                          "hidden:\n"
                                          "  h: \"(set)\"\n"
                                          "inner:\n"
                                          "  number: 1\n"
                                          "parts:\n"
                                          "  - short\n"
                                          "  - is: long\n"
                                          "    number: 1\n"
                                          "  - number: 2\n"
                                          "keyed:\n"
                                          "  7:\n"
                                          "    is: x\n"
                                          "    number: 1\n"
                                          "  k:\n"
                                          "    number: 1\n");
    buf_fini(&out);
}

static void everything_is_shown_as_json(void **state)
{
    (void)state;
    struct buf out;
    show(everything, true, &out);
    assert_string_equal((char *)out.data,
        "{\"on\":true,\"number\":-5,\"size\":\"1000B\",\"age\":\"90m\",\"time\":\"2026-11-21T09:30:"
        "00.5000000Z\",\"word\":\"two\",\"text\":\"a: \\\"b\\\"\\\\ ${HIDE}\",\"secret\":\"(set)\","
        "\"list\":[\"a\",\"no\",\"b c\",\"${HIDE}\"],\"map\":{\"x\":\"yes\",\"y z\":\"\\u0001\","
        "\"w\":\"${HIDE}\"},\"hidden\":{\"h\":\"(set)\"},\"inner\":{\"number\":1},\"parts\":["
        "\"short\",{\"is\":\"long\",\"number\":1},{\"number\":2}],\"keyed\":{\"7\":{\"is\":\"x\","
        "\"number\":1},\"k\":{\"number\":1}}}");
    buf_fini(&out);
}

static void what_is_shown_reads_back_as_the_same(void **state)
{
    (void)state;
    static const char plain[] = "number: -5\n"
                                "size: 1000\n"
                                "text: 'a: \"b\"\\'\n"
                                "list: ['no', 'b c', '0x1', '*']\n"
                                "map: {x: 'yes', y z: 'ä', '': \"\\u2028\"}\n"
                                "parts: [short, {is: long}]\n"
                                "keyed: {7: {is: x}}\n";
    struct buf once;
    struct buf twice;
    for (int json = 0; json < 2; json++) {
        show(plain, json, &once);
        show((const char *)once.data, json, &twice);
        assert_string_equal((char *)once.data, (char *)twice.data);
        buf_fini(&once);
        buf_fini(&twice);
    }
}

/* The defaults of its other keys are not shown, because they are not in the file either: the shown
 * text lacks a required key. */
static void what_was_not_chosen_is_not_shown(void **state)
{
    (void)state;
    struct buf out;
    show("number: 1\n", false, &out);
    assert_null(strstr((char *)out.data, "choice"));
    buf_fini(&out);
    show("choice: {is: x}\n", false, &out);
    assert_non_null(strstr((char *)out.data, "choice:\n  is: x\n  number: 1\n"));
    buf_fini(&out);
}

static void of_an_address_the_query_is_not_shown(void **state)
{
    (void)state;
    static const struct {
        const char *yaml;
        const char *shown;
    } cases[] = {
        {"address: 'http://h:1/p'\n", "address: \"http://h:1/p\"\n"},
        {"address: 'http://h:1/p?key=hush'\n", "address: \"http://h:1/p?(set)\"\n"},
        {"address: 'http://h#hush'\n", "address: \"http://h?(set)\"\n"},
        {"address: 'http://h/${HIDE}?hush'\n", "address: \"http://h/${HIDE}?(set)\"\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf out;
        show(cases[i].yaml, false, &out);
        assert_null(strstr((char *)out.data, "hush"));
        if (!strstr((char *)out.data, cases[i].shown)) {
            fail_msg("%s", (char *)out.data);
        }
        buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_shown_as_yaml),
        cmocka_unit_test(everything_is_shown_as_json),
        cmocka_unit_test(what_is_shown_reads_back_as_the_same),
        cmocka_unit_test(what_was_not_chosen_is_not_shown),
        cmocka_unit_test(of_an_address_the_query_is_not_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
