#include "filter/filter.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

static struct filter *compile(struct span text, struct filter_place *place, struct error *err)
{
    struct filter_rule rule = {.action = FILTER_ACTION_DROP, .text = text};
    return filter_create(&rule, 1, place, err);
}

/* The text, then the byte with the error, and its message. */
static const struct {
    const char *text;
    size_t offset;
    const char *error;
} errors[] = {
    {"", 0, "unexpected end of the expression; expected a field, not or ("},
    {"   ", 3, "unexpected end of the expression; expected a field, not or ("},
    {"event.level", 11,
        "unexpected end of the expression; expected an operator (== != < <= > >= in contains "
        "startswith endswith "
        "like matches has)"},
    {"event.level ==", 14, "unexpected end of the expression; expected a value"},
    {"event.level = 4", 12, "= is not part of this language. write =="},
    {"event.level == 4 && true", 17, "&& is not part of this language. write and"},
    {"event.level == 4 || true", 17, "|| is not part of this language. write or"},
    {"!true", 0, "! is not part of this language. write not"},
    {"event.level =~ 'x'", 12, "=~ is not part of this language. write matches"},
    {"(true", 5, "unexpected end of the expression; expected and, or or )"},
    {"true)", 4, "expected and, or or the end of the expression, not )"},
    {"true true", 5, "expected and, or or the end of the expression, not true"},
    {"true and", 8, "unexpected end of the expression; expected a field, not or ("},
    {"true or or", 8, "expected a field, not or (, not or"},
    {"not", 3, "unexpected end of the expression; expected a field, not or ("},
    {"and true", 0, "expected a field, not or (, not and"},
    {"false", 0, "only true can stand alone. write not true"},
    {"4 == 4", 0, "the field must come before the value: FIELD == 4"},
    {"'a' == 'a'", 0, "the field must come before the value: FIELD == 'a'"},
    {"contains(data.A, 'x')", 0, "contains must follow its field: FIELD contains (…)"},
    {"lower (data.A) == 'x'", 0,
        "unknown function lower. write FIELD contains 'text', exists(FIELD) or cidr(FIELD, "
        "…)"},
    {"data.A contain 'x'", 7, "contain is not an operator. did you mean contains?"},
    {"data.A Starts_With 'x'", 7, "Starts_With is not part of this language. write startswith"},
    {"data.A eq 'x'", 7, "eq is not part of this language. write =="},
    {"data.A <> 'x'", 7, "<> is not part of this language. write !="},
    {"data.A === 'x'", 7, "=== is not part of this language. write =="},
    {"data.A !== 'x'", 7, "!== is not part of this language. write !="},
    {"data.A ~ 'x'", 7, "~ is not part of this language. write matches"},
    {"data.A in [1]", 10, "[ is not part of this language. write ( ) around a list"},
    {"data.A like *.exe", 12, "unexpected *. write text in quotes"},
    {"data.A == null", 10, "null is not a value. for a missing field write not exists(data.A)"},
    {"data.A == \xe2\x80\x9cx\xe2\x80\x9d", 10,
        "typographic quotes are not supported. write ' or \""},
    {"data.A == 'it's'", 13, "write a quote inside a text twice: 'it''s'"},
    {"data.A in ('it's')", 14, "write a quote inside a text twice: 'it''s'"},
    {"@timestamp > 2026-11-21", 13, "write times in quotes, as in '2026-11-21T09:30:00Z'"},
    {"cidr(data.A, 10.0.0.0/8)", 13,
        "10.0.0.0 is not a number of at most 64 bits. write text, GUIDs and addresses in quotes"},
    {"provder.name == 'x'", 0, "events have no field provder.name. did you mean provider.name?"},
    {"true and proces.pid == 4", 9, "events have no field proces.pid. did you mean process.pid?"},
    {"QueryName == 'x'", 0, "events have no field QueryName. values of the payload are data.NAME"},
    {"data.A == abc", 10, "expected a value. write text in quotes: 'abc'"},
    {"data.A == verbose", 10, "expected a value. write text in quotes: 'verbose'"},
    {"data.A == 'abc", 10, "this text has no closing '"},
    {"data.A == \"abc'", 10, "this text has no closing \""},
    {"data.A == 'abc'x", 14, "write a quote inside a text twice: 'it''s'"},
    {"data.A == 12abc", 10,
        "12abc is not a number of at most 64 bits. write text, GUIDs and addresses in quotes"},
    {"data.A == 0x", 10, "0x is not a number of at most 64 bits"},
    {"data.A == 18446744073709551616", 10,
        "18446744073709551616 is not a number of at most 64 bits"},
    {"data.A == -9223372036854775809", 11,
        "9223372036854775809 is not a number of at most 64 bits"},
    {"data.A == 0x10000000000000000", 10, "0x10000000000000000 is not a number of at most 64 bits"},
    {"data.A == 1e999", 10, "1e999 is not a number of at most 64 bits"},
    {"data.A == 1e+", 10, "1e+ is not a number of at most 64 bits"},
    {"data.A == -", 11, "unexpected end of the expression; expected a number"},
    {"data.A == 1-2", 11, "write ranges in lists: in (10-20)"},
    {"data.A in 1", 10, "expected ( and a list of values, not 1"},
    {"data.A in ()", 11, "expected a value, not )"},
    {"data.A in (1,)", 13, "expected a value, not )"},
    {"data.A in (1 2)", 13, "expected ) or a comma, not 2"},
    {"data.A in (2-1)", 11, "this range is empty: its first number is greater than its second"},
    {"data.A in (1-'x')", 13, "expected a number, not 'x'"},
    {"data.A == (1, 2)", 10, "expected one value. for any of several write in (…)"},
    {"data.A not in (1)", 7, "write not first: not data.A in (…)"},
    {"event.level < error", 14,
        "names of levels are only allowed after ==, != and in, because a higher number is less "
        "severe. write a "
        "number, or event.level in (critical, error)"},
    {"event.level has verbose", 16,
        "names of levels are only allowed after ==, != and in, because a higher number is less "
        "severe. write a "
        "number, or event.level in (critical, error)"},
    {"event.level == 'verbose'", 15, "write names of levels without quotes: verbose"},
    {"event.level in (1, \"Error\"c)", 19, "write names of levels without quotes: Error"},
    {"event.level == '4'", 15, "event.level is a number. write one, without quotes"},
    {"event.level == verbsoe", 15, "verbsoe is not a level. did you mean verbose, without quotes?"},
    {"event.level == 'verbsoe'", 15,
        "verbsoe is not a level. did you mean verbose, without quotes?"},
    {"event.level == hot", 15,
        "hot is not a level. write a number, or critical, error, warning, information or verbose"},
    {"event.opcode == error", 16,
        "event.opcode is a number. write one, or ask for its name: event.opcode_name == 'error'"},
    {"event.keywords has Net", 19, "expected a value. write text in quotes: 'Net'"},
    {"process.pid == four", 15, "process.pid is a number. write one, without quotes"},
    {"process.pid == '4'", 15, "process.pid is a number. write one, without quotes"},
    {"process.pid contains '4'", 21, "process.pid is a number. compare it with == or in"},
    {"event.keywords == 'net'", 18,
        "event.keywords is a number. write one, or ask for its name: event.keywords_name == "
        "'net'"},
    {"provider.name == 4", 17, "provider.name is text. write it in quotes"},
    {"provider.name in ('x', 4)", 23, "provider.name is text. write it in quotes"},
    {"process.pid == true", 15, "process.pid is not true or false. compare it with another value"},
    {"data.A < true", 9, "true and false are not ordered. write == or !="},
    {"data.A contains 4", 16, "contains needs a text in quotes"},
    {"data.A matches true", 15, "matches needs a text in quotes"},
    {"@timestamp > 'yesterday'", 13,
        "'yesterday' is not a time. write it as in '2026-11-21T09:30:00Z'"},
    {"@timestamp > 5", 13, "5 is not a time. write it as in '2026-11-21T09:30:00Z'"},
    {"provider.guid == 'abc'", 17, "'abc' is not a GUID. write the complete GUID in quotes"},
    {"process == 4", 0, "process holds other fields. name one of them, or ask exists(process)"},
    {"data has 'x'", 0, "data holds other fields. name one of them, or ask exists(data)"},
    {"provider.name has 'x'", 18,
        "provider.name is neither a list nor a number. write == or contains"},
    {"process.pid has 'x'", 16, "bits of process.pid have no names"},
    {"tags has 4", 9, "tags holds text. write it in quotes"},
    {"extended.stack has 'x'", 19, "extended.stack holds numbers"},
    {"data.A has 1.5", 11, "has needs a name in quotes, or the bits as a number"},
    {"data.A has 0", 11, "0 has no bits. for no bit write == 0"},
    {"exists data.A", 7, "expected ( after exists: exists(FIELD)"},
    {"exists('x')", 7, "expected a field, not 'x'"},
    {"exists(data.A", 13, "unexpected end of the expression; expected )"},
    {"cidr(data.A)", 11, "expected a comma and a network, not )"},
    {"cidr(data.A, '10.0.0.0/33')", 13,
        "'10.0.0.0/33' is not a network. write it as in '10.0.0.0/8' or 'fe80::/10'"},
    {"cidr(data.A, 10)", 13, "10 is not a network. write it as in '10.0.0.0/8' or 'fe80::/10'"},
    {"cidr(process.pid, '::/0')", 18, "process.pid is a number, not an address"},
    {"data.A matches 'a(b'", 19, "not a regular expression: missing closing parenthesis"},
    {"data.A matches '''''('", 21, "not a regular expression: missing closing parenthesis"},
    {"data.A matches '[z-a]'", 19,
        "not a regular expression: range out of order in character class"},
    {"data.A == 1 # x", 12, "unexpected #"},
    {"data.A == 1 \x01", 12, "unexpected byte 0x01"},
    {"data.A[0] == 1", 6, "only [*], for any element, or ['NAME'] may follow a name"},
    {"data..A == 1", 4, "unexpected ."},
    {"exists(data[*])", 7,
        "data[*]: names are separated by dots, and odd ones written as data['NAME']"},
};

static void mistakes_are_explained_at_their_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(errors); i++) {
        struct filter_place place;
        struct error err = {0};
        struct filter *filter = compile(span_text(errors[i].text), &place, &err);
        if (filter || place.offset != errors[i].offset || strcmp(err.text, errors[i].error) != 0) {
            print_error("%s\n%zu: %s\nnot %zu: %s\n", errors[i].text, place.offset, err.text,
                errors[i].offset, errors[i].error);
            fail();
        }
    }
}

static void the_place_of_a_mistake_is_a_line_a_column_and_a_mark(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t offset;
        size_t line;
        size_t column;
        const char *shown;
    } cases[] = {
        {"a == 1", 2, 1, 3, "  a == 1\n    ^"},
        {"a ==\n  b", 7, 2, 3, "    b\n    ^"},
        {"\xc3\xa9 == 1", 3, 1, 3, "  \xc3\xa9 == 1\n    ^"},
        {"a\tb", 2, 1, 3, "  a b\n    ^"},
        {"a", 1, 1, 2, "  a\n   ^"},
        {"", 0, 1, 1, "  \n  ^"},
        {"a\r\nb\x1b", 4, 2, 2, "  b \n   ^"},
        {"a", 9, 1, 2, "  a\n   ^"},
    };
    struct buf out;
    buf_init(&out, 1 << 16);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t line;
        size_t column;
        filter_position(span_text(cases[i].text), cases[i].offset, &line, &column);
        assert_int_equal(line, cases[i].line);
        assert_int_equal(column, cases[i].column);
        buf_reset(&out);
        filter_show_place(span_text(cases[i].text), cases[i].offset, &out);
        assert_span(buf_span(&out), cases[i].shown);
    }
    buf_fini(&out);
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* ${head}, ${count} times ${part}, ${tail}. */
static void assert_repeated(
    const char *head, const char *part, size_t count, const char *tail, const char *error)
{
    struct buf text;
    struct filter_place place;
    struct error err = {0};
    buf_init(&text, 1 << 20);
    buf_add_text(&text, head);
    for (size_t i = 0; i < count; i++) {
        buf_add_text(&text, part);
    }
    buf_add_text(&text, tail);
    struct filter *filter = compile(buf_span(&text), &place, &err);
    if (!filter != (error != NULL) || (error && strcmp(err.text, error) != 0)) {
        fail_msg("%s %zu: %s", part, count, err.text);
    }
    filter_destroy(filter);
    buf_fini(&text);
}

static void limits_hold_and_what_is_below_them_works(void **state)
{
    (void)state;
    assert_repeated(
        "", "(", 63, "true)))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))", NULL);
    assert_repeated("", "(", 64, "true", "nested more than 64 deep");
    assert_repeated("", "not ", 63, "true", NULL);
    assert_repeated("", "not ", 64, "true", "nested more than 64 deep");
    assert_repeated("", "(not ", 10000, "", "nested more than 64 deep");
    assert_repeated("true", " or true", 8000, "", NULL);
    assert_repeated("data.A<1", " or data.A<1", 4095, "", NULL);
    assert_repeated("data.A<1", " or data.A<1", 4096, "", "more than 4096 tests in one expression");
    assert_repeated("data.A in (1", ",1", 16383, ")", NULL);
    assert_repeated("data.A in (1", ",1", 16384, ")", "more than 16384 values in one expression");
    assert_repeated("data.A == '", "x", 70000, "'", "an expression has at most 65536 bytes");
    assert_repeated("data.A matches '", "x", 4096, "'", NULL);
    assert_repeated("data.A matches '", "x", 4097, "'", "a pattern has at most 4096 bytes");
    assert_repeated("data", ".x", 10, " == 1", NULL);
}

static void lists_of_rules_name_the_one_that_is_wrong(void **state)
{
    (void)state;
    struct filter_rule rules[] = {{.action = FILTER_ACTION_DROP, .text = span_text("true")},
        {.action = FILTER_ACTION_KEEP, .text = span_text("data.A matches 'x' and data.B ==")}};
    struct filter_place place;
    struct error err;
    assert_null(filter_create(rules, 2, &place, &err));
    assert_int_equal(place.rule, 1);
    assert_int_equal(place.offset, 32);
    assert_int_equal(err.code, ERR_CONFIG);
    struct filter_rule *many = calloc(FILTER_MAX_RULES + 1, sizeof(*many));
    assert_non_null(many);
    for (size_t i = 0; i <= FILTER_MAX_RULES; i++) {
        many[i].text = span_text("true");
    }
    assert_null(filter_create(many, FILTER_MAX_RULES + 1, &place, &err));
    struct filter *filter = filter_create(many, FILTER_MAX_RULES, &place, &err);
    assert_non_null(filter);
    filter_destroy(filter);
    free(many);
}

/* Every beginning of an expression either compiles or says why not. */
static void an_expression_cut_anywhere_does_no_harm(void **state)
{
    (void)state;
    static const char text[] =
        "not (provider.name in ('a''b', \"c\"c) or data['x y'][*].Z like ('*a', 'b?')) and "
        "cidr(data.IP, '10.0.0.0/8', 'fe80::/10') and exists(labels.a.b) and data.N in (-5 - -1, "
        "0x10, 1.5e3-2e3) and event.level == info and data.R matches '^(a|b)+$' and data.F has 1";
    for (size_t size = 0; size < sizeof(text); size++) {
        char *copy = malloc(size ? size : 1);
        assert_non_null(copy);
        memcpy(copy, text, size);
        struct filter_place place = {.offset = SIZE_MAX};
        struct error err = {0};
        struct filter *filter = compile(span_make(copy, size), &place, &err);
        if (!filter) {
            assert_true(err.text[0] && place.offset <= size);
        } else if (size == sizeof(text) - 1) {
            filter_destroy(filter);
            free(copy);
            return;
        }
        filter_destroy(filter);
        free(copy);
    }
    fail();
}

/* ---- fields ---------------------------------------------------------------------------------- */

static void gather(void *self, const struct filter_field *field)
{
    buf_printf(self, "%zu:%zu %.*s (%.*s) ", field->place.rule, field->place.offset,
        SPAN_ARG(field->path), SPAN_ARG(field->name));
}

static void the_payload_fields_of_a_filter_are_told(void **state)
{
    (void)state;
    struct filter_rule rules[] = {
        {.action = FILTER_ACTION_DROP, .text = span_text("event.code == 1 and data.A.B == 1")},
        {.action = FILTER_ACTION_KEEP,
            .text = span_text("exists(data['x y'][*]) or not data.F has 'x'")}};
    struct filter_place place;
    struct buf out;
    buf_init(&out, 1 << 16);
    struct filter *filter = filter_create(rules, 2, &place, NULL);
    assert_non_null(filter);
    filter_each_field(filter, gather, &out);
    assert_span(buf_span(&out), "0:20 data.A.B (A) 1:7 data['x y'][*] (x y) 1:30 data.F (F) ");
    filter_destroy(filter);
    buf_fini(&out);
}

static void each_known(void *self, filter_name_fn *take, void *take_self)
{
    (void)self;
    take(take_self, span_text("QueryName"));
    take(take_self, span_text("QueryType"));
    take(take_self, span_text("Flags"));
}

static void unknown_payload_fields_are_told_with_the_nearest_name(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool known;
        const char *meant;
    } cases[] = {{"QueryName", true, ""}, {"QuerryName", false, "QueryName"},
        {"queryname", false, "QueryName"}, {"Flags_name", true, ""}, {"Image", false, ""}};
    struct filter_names names = {.each = each_known};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct filter_field field = {.name = span_text(cases[i].name)};
        struct span meant = span_make(NULL, 0);
        assert_int_equal(filter_field_known(&field, &names, &meant), cases[i].known);
        assert_span(meant, cases[i].meant);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_explained_at_their_place),
        cmocka_unit_test(the_place_of_a_mistake_is_a_line_a_column_and_a_mark),
        cmocka_unit_test(limits_hold_and_what_is_below_them_works),
        cmocka_unit_test(lists_of_rules_name_the_one_that_is_wrong),
        cmocka_unit_test(an_expression_cut_anywhere_does_no_harm),
        cmocka_unit_test(the_payload_fields_of_a_filter_are_told),
        cmocka_unit_test(unknown_payload_fields_are_told_with_the_nearest_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
