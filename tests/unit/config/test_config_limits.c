#include "support/config_rig.h"

/* Files beyond any reasonable size: each ends in an error, within bounds. */

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
        "of key: value. known keys: path, kind\n");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_sizes_end_in_one_error),
        cmocka_unit_test(a_value_within_the_limit_is_taken),
        cmocka_unit_test(what_counts_is_the_size_after_variables_were_resolved),
        cmocka_unit_test(an_alias_bomb_ends_in_one_error),
        cmocka_unit_test(big_values_repeated_by_aliases_stop_at_the_memory_limit),
        cmocka_unit_test(further_errors_are_only_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
