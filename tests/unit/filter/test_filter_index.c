#include "filter/filter_index.h"

#include "filter/filter_program.h"
#include "unit/event/writer_fixture.h"

/* Which of many rules about one field an index finds for an event. */

enum { RULES = 24 };

static struct filter *make(const char *const *texts)
{
    struct filter_rule rules[RULES];
    struct filter_place place;
    struct error err;
    for (size_t i = 0; i < RULES; i++) {
        rules[i] = (struct filter_rule){.action = FILTER_ACTION_DROP, .text = span_text(texts[i])};
    }
    struct filter *filter = filter_create(rules, RULES, &place, &err);
    if (!filter) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(filter->word_count, 1);
    for (size_t i = 0; i < RULES; i++) {
        assert_int_equal(filter_index_group(filter, i), 0);
    }
    return filter;
}

/* A bit for each rule that may be true for an event with the field T. */
static uint64_t find(const struct filter *filter, const struct piece *field)
{
    struct writer_fixture f;
    struct filter_scratch scratch;
    uint64_t found = 0;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&f, field, 1);
    assert_true(filter_scratch_init(&scratch, NULL, NULL));
    const struct filter_look look = {
        .scratch = &scratch, .event = &f.event, .known = EVENT_PATH_EVENT};
    filter_index_find(filter, &look, 1, &found);
    filter_scratch_fini(&scratch);
    fixture_fini(&f);
    return found;
}

/* Rule i compares T with the text "t<i>", but for the last two. */
static const char *const equal[RULES] = {"data.T == 't0'", "data.T == 't1'", "data.T == 't2'",
    "data.T == 't3'", "data.T == 't4'", "data.T == 't5'", "data.T == 't6'", "data.T == 't7'",
    "data.T == 't8'", "data.T == 't9'", "data.T == 't10'", "data.T == 't11'", "data.T == 't12'",
    "data.T == 't13'", "data.T == 't14'", "data.T == 't15'", "data.T == 't16'", "data.T == 't17'",
    "data.T == 't18'", "data.T == 't19'", "data.T == 't20'", "data.T == 't21'",
    "data.T contains '13'", "data.T == 13"};

static void a_value_finds_the_rules_that_compare_with_it(void **state)
{
    (void)state;
    static const struct piece text = {"T", IN_ANSI_STRING, 0, "'T13'", NULL};
    static const struct piece number = {"T", IN_UINT32, 0, "0d000000", NULL};
    static const struct piece other = {"T", IN_ANSI_STRING, 0, "'u'", NULL};
    struct filter *filter = make(equal);
    assert_int_equal(find(filter, &text), 1 << 13 | 1 << 22);
    assert_int_equal(find(filter, &number), 1 << 23);
    assert_int_equal(find(filter, &other), 0);
    filter_destroy(filter);
}

/* A time can be written in many ways. */
static void a_time_finds_all_rules(void **state)
{
    (void)state;
    static const struct piece time = {"T", IN_FILETIME, 0, "8747 ba0a ef7a dd01", NULL};
    struct filter *filter = make(equal);
    assert_int_equal(find(filter, &time), (1 << RULES) - 1);
    filter_destroy(filter);
}

/* To test all of them is cheaper then. */
static void a_text_with_too_many_parts_finds_all_rules(void **state)
{
    (void)state;
    static const char *const parts[RULES] = {"data.T contains 'z'", "data.T contains 'a'",
        "data.T contains 'b'", "data.T contains 'c'", "data.T contains 'd'", "data.T contains 'e'",
        "data.T contains 'f'", "data.T contains 'g'", "data.T contains 'h'", "data.T contains 'i'",
        "data.T contains 'j'", "data.T contains 'k'", "data.T contains 'l'", "data.T contains 'm'",
        "data.T contains 'n'", "data.T contains 'o'", "data.T contains 'p'", "data.T contains 'q'",
        "data.T contains 'r'", "data.T contains 's'", "data.T contains 't'", "data.T contains 'u'",
        "data.T contains 'v'", "data.T contains 'w'"};
    char payload[1024] = "'";
    const struct piece text = {"T", IN_ANSI_STRING, 0, payload, NULL};
    struct filter *filter = make(parts);
    memset(payload + 1, 'a', 10);
    strcpy(payload + 11, "z'");
    assert_int_equal(find(filter, &text), 1 << 0 | 1 << 1);
    memset(payload + 1, 'a', 1000);
    strcpy(payload + 1001, "z'");
    assert_int_equal(find(filter, &text), (1 << RULES) - 1);
    filter_destroy(filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_finds_the_rules_that_compare_with_it),
        cmocka_unit_test(a_time_finds_all_rules),
        cmocka_unit_test(a_text_with_too_many_parts_finds_all_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
