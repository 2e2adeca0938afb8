#include <inttypes.h>
#include <stdio.h>

#include "filter/filter.h"
#include "support/test.h"

/*
 * Tests of header numbers against plain comparisons: every operator, lists of single numbers and of
 * ranges in any order, which meet, overlap or are empty, around the limits of 64 bits.
 */
enum { EXPRESSIONS = 3000, RECORDS = 60, MAX_LITERALS = 40, TEXT_BYTES = 4096 };

static uint64_t random_state = 88172645463325252;

static uint64_t any(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static uint64_t any_number(void)
{
    static const uint64_t edges[] = {
        0, 1, 2, UINT32_MAX - 1, UINT32_MAX, UINT32_MAX + UINT64_C(1), UINT64_MAX - 1, UINT64_MAX};
    return any() % 4 ? any() % 24 : edges[any() % (sizeof(edges) / sizeof(edges[0]))];
}

struct literal {
    uint64_t low;
    uint64_t high;
};

struct expression {
    char text[TEXT_BYTES];
    unsigned chosen;
    struct literal literals[MAX_LITERALS];
    unsigned count;
};

enum { OPERATOR_IN = 6 };
static const char *const operators[] = {"==", "!=", "<", "<=", ">", ">=", "in"};

static void make_expression(struct expression *e, const char *path)
{
    e->chosen = (unsigned)(any() % 7);
    bool is_list = e->chosen == OPERATOR_IN;
    e->count = is_list ? 1 + (unsigned)(any() % (any() % 8 ? 9 : MAX_LITERALS)) : 1;
    size_t at = (size_t)snprintf(
        e->text, TEXT_BYTES, "%s %s %s", path, operators[e->chosen], is_list ? "(" : "");
    for (unsigned i = 0; i < e->count; i++) {
        uint64_t a = any_number();
        uint64_t b = any_number();
        bool is_range = is_list && any() % 3 == 0;
        e->literals[i] = (struct literal){is_range && b < a ? b : a, is_range && b > a ? b : a};
        at += (size_t)snprintf(
            e->text + at, TEXT_BYTES - at, "%s%" PRIu64, i ? ", " : "", e->literals[i].low);
        if (is_range) {
            at += (size_t)snprintf(e->text + at, TEXT_BYTES - at, "-%" PRIu64, e->literals[i].high);
        }
    }
    snprintf(e->text + at, TEXT_BYTES - at, is_list ? ")" : "");
}

static bool expected_of(const struct expression *e, uint64_t number)
{
    uint64_t low = e->literals[0].low;
    bool is_among = false;
    for (unsigned i = 0; i < e->count; i++) {
        is_among = is_among || (number >= e->literals[i].low && number <= e->literals[i].high);
    }
    switch (e->chosen) {
    case 1:
        return !is_among;
    case 2:
        return number < low;
    case 3:
        return number <= low;
    case 4:
        return number > low;
    case 5:
        return number >= low;
    default:
        return is_among;
    }
}

static void check_record(const struct filter *filter, struct filter_scratch *scratch,
    const struct expression *e, const struct event_record *record, bool expected)
{
    size_t rule = 99;
    enum filter_verdict verdict = filter_header(filter, scratch, record, &rule);
    if (verdict != (expected ? FILTER_KEEP : FILTER_DROP) || rule != (expected ? 0 : 1)) {
        fail_msg("%s: process %u of %x, processor %u: verdict %d", e->text, record->process_id,
            record->present, record->cpu, verdict);
    }
}

static struct filter *compile(const struct expression *e)
{
    struct filter_rule rules[] = {{.action = FILTER_ACTION_KEEP, .text = span_text(e->text)},
        {.action = FILTER_ACTION_DROP, .text = span_text("true")}};
    struct filter_place place;
    struct error err = {0};
    struct filter *filter = filter_create(rules, 2, &place, &err);
    if (!filter) {
        fail_msg("%s: %s", e->text, err.text);
    }
    return filter;
}

static void ranges_say_what_each_comparison_says(void **unused)
{
    (void)unused;
    struct filter_scratch scratch;
    assert_true(filter_scratch_init(&scratch, NULL, NULL));
    for (unsigned i = 0; i < EXPRESSIONS; i++) {
        struct expression e;
        bool is_cpu = i % 4 == 0;
        make_expression(&e, is_cpu ? "etw.cpu" : "process.pid");
        struct filter *filter = compile(&e);
        for (unsigned k = 0; k < RECORDS; k++) {
            uint64_t number = any_number();
            bool is_there = is_cpu || any() % 8;
            struct event_record record = {.kind = RECORD_EVENT,
                .cpu = (uint16_t)number,
                .process_id = (uint32_t)number,
                .present = is_there ? RECORD_HAS_PROCESS : 0};
            uint64_t value = is_cpu ? record.cpu : record.process_id;
            check_record(filter, &scratch, &e, &record, is_there && expected_of(&e, value));
        }
        filter_destroy(filter);
    }
    filter_scratch_fini(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranges_say_what_each_comparison_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
