#include "event/model/event_overflow.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/overflow_model.h"
#include "support/test.h"

enum { MAX_OUT_BYTES = 1 << 26 };

static struct event_overflow overflow;
static struct buf out;

static int setup(void **state)
{
    (void)state;
    event_overflow_init(&overflow);
    buf_init(&out, MAX_OUT_BYTES);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    event_overflow_fini(&overflow);
    buf_fini(&out);
    return 0;
}

static struct span apply(struct span record, uint32_t max_string_bytes, const char *payload)
{
    const struct event_overflow_limits limits = {
        .max_string_bytes = max_string_bytes, .payload = payload};
    buf_reset(&out);
    buf_add_text(&out, "before\n");
    buf_add_span(&out, record);
    event_overflow_apply(&overflow, &limits, 7, &out);
    assert_false(out.failed);
    const char *wrong = overflow_model_check(record, span_from(buf_span(&out), 7), &limits);
    if (wrong) {
        fail_msg("%s: %.*s", wrong, (int)(out.size < 2000 ? out.size : 2000), (char *)out.data);
    }
    return span_from(buf_span(&out), 7);
}

struct row {
    uint32_t max;
    const char *payload;
    const char *record;
    const char *expected; /* NULL: unchanged */
};

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct span after = apply(span_text(rows[i].record), rows[i].max, rows[i].payload);
        assert_span(after, rows[i].expected ? rows[i].expected : rows[i].record);
    }
}

static void a_long_string_keeps_its_head_and_stands_whole_in_overflow(void **state)
{
    (void)state;
    static const struct row rows[] = {
        /* `data.A` and the dot after it take seven bytes. */
        {12, "data", "{\"data\":{\"A\":\"12345\"}}\n", NULL},
        {12, "data", "{\"data\":{\"A\":\"123456\"}}\n",
            "{\"data\":{\"A\":\"12345\"},\"overflow\":{\"A\":\"123456\"}}\n"},
        {12, "data", "{\"data\":{\"A\":\"123456\",\"B\":\"12345\",\"C\":\"1234567\"},\"x\":1}\n",
            "{\"data\":{\"A\":\"12345\",\"B\":\"12345\",\"C\":\"12345\"},\"x\":1,"
            "\"overflow\":{\"A\":\"123456\",\"C\":\"1234567\"}}\n"},
        {7, "data", "{\"data\":{\"A\":\"1\"}}\n",
            "{\"data\":{\"A\":\"\"},\"overflow\":{\"A\":\"1\"}}\n"},
        {1, "data", "{\"data\":{\"A\":\"1\",\"B\":\"\"}}\n",
            "{\"data\":{\"A\":\"\",\"B\":\"\"},\"overflow\":{\"A\":\"1\"}}\n"},
        {9, "data", "{\"data\":{},\"n\":123456789012345,\"t\":true,\"l\":[1.5e300,null]}\n", NULL},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

static void a_cut_falls_between_characters(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {6, "data", "{\"A\":\"12\xc3\xa9\xc3\xa9\"}\n",
            "{\"A\":\"12\xc3\xa9\",\"overflow\":{\"A\":\"12\xc3\xa9\xc3\xa9\"}}\n"},
        {5, "data", "{\"A\":\"12\xc3\xa9\"}\n",
            "{\"A\":\"12\",\"overflow\":{\"A\":\"12\xc3\xa9\"}}\n"},
        {5, "data", "{\"A\":\"\xf0\x9f\x98\x80\"}\n",
            "{\"A\":\"\",\"overflow\":{\"A\":\"\xf0\x9f\x98\x80\"}}\n"},
        {6, "data", "{\"A\":\"\xf0\x9f\x98\x80\"}\n", NULL},
        {6, "data", "{\"A\":\"1\xe2\x82\xac\"}\n", NULL},
        {5, "data", "{\"A\":\"1\xe2\x82\xac\"}\n",
            "{\"A\":\"1\",\"overflow\":{\"A\":\"1\xe2\x82\xac\"}}\n"},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

/* The limits apply to the text that a server reads. */
static void escapes_count_as_what_they_stand_for(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {6, "data", "{\"A\":\"\\n\\\"\\\\\\t\"}\n", NULL},
        {5, "data", "{\"A\":\"\\n\\\"\\\\\\t\"}\n",
            "{\"A\":\"\\n\\\"\\\\\",\"overflow\":{\"A\":\"\\n\\\"\\\\\\t\"}}\n"},
        {4, "data", "{\"A\":\"\\u0001\\u001f\"}\n", NULL},
        {3, "data", "{\"A\":\"\\u0001\\u001f\"}\n",
            "{\"A\":\"\\u0001\",\"overflow\":{\"A\":\"\\u0001\\u001f\"}}\n"},
        {4, "data", "{\"A\":\"\\u00e9\"}\n", NULL},
        {3, "data", "{\"A\":\"\\u00e9\"}\n", "{\"A\":\"\",\"overflow\":{\"A\":\"\\u00e9\"}}\n"},
        {5, "data", "{\"A\":\"\\ud83d\\uDE00\"}\n",
            "{\"A\":\"\",\"overflow\":{\"A\":\"\\ud83d\\uDE00\"}}\n"},
        {6, "data", "{\"A\":\"\\ud83d\\uDE00\"}\n", NULL},
        {8, "data", "{\"A\\\"\\\\\":\"12345\"}\n",
            "{\"A\\\"\\\\\":\"1234\",\"overflow\":{\"A\\\"\\\\\":\"12345\"}}\n"},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

static void structure_stays_and_overflow_says_where_a_string_was(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {14, "data", "{\"data\":{\"S\":{\"A\":\"123456\",\"B\":1},\"T\":\"1\"}}\n",
            "{\"data\":{\"S\":{\"A\":\"12345\",\"B\":1},\"T\":\"1\"},"
            "\"overflow\":{\"S.A\":\"123456\"}}\n"},
        {12, "data", "{\"data\":{\"L\":[\"1\",\"123456\",7,[\"222222\"]]}}\n",
            "{\"data\":{\"L\":[\"1\",\"12345\",7,[\"22222\"]]},"
            "\"overflow\":{\"L[1]\":\"123456\",\"L[3][0]\":\"222222\"}}\n"},
        {14, "data", "{\"data\":{\"L\":[{\"A\":\"1\"},{\"B\":2,\"A\":\"123456\"}]},\"m\":\"x\"}\n",
            "{\"data\":{\"L\":[{\"A\":\"1\"},{\"B\":2,\"A\":\"12345\"}]},\"m\":\"x\","
            "\"overflow\":{\"L[1].A\":\"123456\"}}\n"},
        {25, "winlog.event_data",
            "{\"winlog\":{\"event_data\":{\"A\":\"123456\"},\"x\":\"1234567890123456789\"},"
            "\"message\":\"123456789012345678\"}\n",
            "{\"winlog\":{\"event_data\":{\"A\":\"12345\"},\"x\":\"1234567890123456\"},"
            "\"message\":\"12345678901234567\",\"overflow\":{\"A\":\"123456\","
            "\"winlog.x\":\"1234567890123456789\",\"message\":\"123456789012345678\"}}\n"},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

static void two_strings_never_share_a_name_in_overflow(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {8, "data", "{\"data\":{\"m\":\"aaaa\"},\"m\":\"bbbbbbbbb\"}\n",
            "{\"data\":{\"m\":\"a\"},\"m\":\"bbbbbb\",\"overflow\":{\"m\":\"aaaa\","
            "\"m_2\":\"bbbbbbbbb\"}}\n"},
        {8, "data", "{\"data\":{\"m\":\"aaaa\",\"m_2\":\"cc\"},\"m\":\"bbbbbbbbb\"}\n",
            "{\"data\":{\"m\":\"a\",\"m_2\":\"\"},\"m\":\"bbbbbb\",\"overflow\":{\"m\":\"aaaa\","
            "\"m_2\":\"cc\",\"m_3\":\"bbbbbbbbb\"}}\n"},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

/* ---- names ----------------------------------------------------------------------------------- */

/* ${count} members of one value. Their names are ${size} times `n`, except for the last
 * character. */
static void add_members(struct buf *record, size_t count, size_t size)
{
    for (size_t i = 0; i < count; i++) {
        buf_add_text(record, i ? ",\"" : "{\"");
        for (size_t k = 0; k + 1 < size; k++) {
            buf_add_byte(record, 'n');
        }
        buf_add_byte(record, (uint8_t)('A' + i % 26));
        buf_printf(record, "\":\"v%zu\"", i);
    }
    buf_add_byte(record, '}');
}

static void names_are_cut_and_stay_apart(void **state)
{
    (void)state;
    static const size_t sizes[] = {500, 511, 512, 513, 514, 600, 40000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct buf record;
        buf_init(&record, MAX_OUT_BYTES);
        buf_add_text(&record, "{\"data\":[");
        add_members(&record, 25, sizes[i]); /* more than there are tries */
        buf_add_byte(&record, ',');
        add_members(&record, 2, sizes[i]); /* other siblings: the numbers begin again */
        buf_add_text(&record, "]}\n");
        struct span after = apply(buf_span(&record), 32000, "data");
        char cut[EVENT_NAME_MAX_BYTES + 1];
        memset(cut, 'n', sizeof(cut));
        size_t size = sizes[i] < EVENT_NAME_MAX_BYTES ? sizes[i] : EVENT_NAME_MAX_BYTES;
        cut[size - 1] = sizes[i] > EVENT_NAME_MAX_BYTES ? 'n' : 'A';
        cut[size] = '\0';
        char first[2 * sizeof(cut)];
        snprintf(first, sizeof(first), "{\"data\":[{\"%s\":\"v0\"", cut);
        assert_span(span_first(after, strlen(first)), first);
        if (sizes[i] > EVENT_NAME_MAX_BYTES) {
            memcpy(cut + size - 2, "_2", 2);
            char last[2 * sizeof(cut)];
            snprintf(last, sizeof(last), ",\"%s\":\"v1\"}]}\n", cut);
            assert_span(span_from(after, after.size - strlen(last)), last);
        }
        buf_fini(&record);
    }
}

/* A name of exactly as many bytes as another one after its cut. */
static void a_name_that_fits_stays_apart_from_one_that_was_cut(void **state)
{
    (void)state;
    char fits[EVENT_NAME_MAX_BYTES + 1] = "";
    memset(fits, 'n', EVENT_NAME_MAX_BYTES);
    static const char *const patterns[] = {
        "{\"%s\":1,\"%sx\":2,\"%sy\":3}\n", "{\"%sx\":1,\"%s\":2,\"%sy\":3}\n"};
    for (size_t i = 0; i < 2; i++) {
        char record[4 * sizeof(fits)];
        snprintf(record, sizeof(record), patterns[i], fits, fits, fits);
        apply(span_text(record), 32000, "data");
    }
}

/* A cut name is the path that its strings have: 512 bytes, `data.` and a dot. */
static void cut_names_count_as_they_are(void **state)
{
    (void)state;
    struct buf record;
    buf_init(&record, MAX_OUT_BYTES);
    buf_add_text(&record, "{\"data\":{\"");
    for (size_t i = 0; i < 700; i++) {
        buf_add_byte(&record, 'n');
    }
    buf_add_text(&record, "\":\"12345678901\"}}\n");
    struct span after = apply(buf_span(&record), 5 + 512 + 1 + 10, "data");
    static const char expected[] = "\":\"1234567890\"},\"overflow\":{\"";
    struct span behind = span_from(after, sizeof("{\"data\":{\"") - 1 + 512);
    assert_span(span_first(behind, sizeof(expected) - 1), expected);
    buf_fini(&record);
}

/* ---- random records -------------------------------------------------------------------------- */

static void what_is_no_record_stays_as_it_is(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {1, "data", "", NULL},
        {1, "data", "{", NULL},
        {1, "data", "{\"A\":\"abc", NULL},
        {1, "data", "{\"A\":\"abc\\", NULL},
        {1, "data", "{\"A\":\"abc\"", NULL},
        {1, "data", "{\"A\":\"abc\"]\n", NULL},
        {1, "data", "[\"abc\"]\n", NULL},
        {1, "data", "\"abc\"\n", NULL},
        {1, "data", "abc,\n", NULL},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
    struct buf deep;
    buf_init(&deep, MAX_OUT_BYTES);
    for (size_t i = 0; i < 70; i++) {
        buf_add_text(&deep, "{\"A\":");
    }
    buf_add(&deep, "\"abc\"", sizeof("\"abc\""));
    const struct row row = {1, "data", (const char *)deep.data, NULL};
    check_rows(&row, 1);
    buf_fini(&deep);
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void add_random_text(struct buf *record, uint32_t *seed, uint32_t max)
{
    static const char *const characters[] = {
        "a", "b", "\\n", "\\u0007", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\\\"", "_2"};
    buf_add_byte(record, '"');
    for (uint32_t left = next_random(seed) % max; left; left--) {
        buf_add_text(record, characters[next_random(seed) % 9]);
    }
    buf_add_byte(record, '"');
}

static void add_random_value(struct buf *record, uint32_t *seed, unsigned depth)
{
    uint32_t kind = next_random(seed) % (depth < 6 ? 5 : 2);
    uint32_t count = kind > 1 ? next_random(seed) % 5 : 0;
    if (kind == 0) {
        buf_printf(record, "%lu", (unsigned long)next_random(seed));
    } else if (kind == 1) {
        add_random_text(record, seed, 40);
    } else {
        buf_add_byte(record, kind == 2 ? '[' : '{');
        for (uint32_t i = 0; i < count; i++) {
            buf_add_text(record, i ? "," : "");
            if (kind > 2) { /* names that differ */
                buf_printf(
                    record, "\"%c%lu\":", (char)('A' + i), (unsigned long)(next_random(seed) % 3));
            }
            add_random_value(record, seed, depth + 1);
        }
        buf_add_byte(record, kind == 2 ? ']' : '}');
    }
}

static void every_value_of_any_record_is_there_whole(void **state)
{
    (void)state;
    struct buf record;
    buf_init(&record, MAX_OUT_BYTES);
    for (uint32_t run = 0; run < 3000; run++) {
        uint32_t seed = run;
        buf_reset(&record);
        buf_add_text(&record, "{\"data\":");
        add_random_value(&record, &seed, 0);
        buf_add_text(&record, ",\"message\":");
        add_random_text(&record, &seed, 60);
        buf_add_text(&record, "}\n");
        apply(buf_span(&record), 1 + run % 50, "data");
    }
    buf_fini(&record);
}

static void a_record_without_room_fails_as_a_whole(void **state)
{
    (void)state;
    static const char record[] = "{\"data\":{\"A\":\"1234567890\"}}\n";
    const struct event_overflow_limits limits = {.max_string_bytes = 9, .payload = "data"};
    struct buf small;
    buf_init(&small, sizeof(record));
    buf_add_text(&small, record);
    event_overflow_apply(&overflow, &limits, 0, &small);
    assert_true(small.failed);
    buf_fini(&small);
}

/* It keeps a copy of the record, which has a most of its own. */
static void a_record_that_is_too_long_fails_as_a_whole(void **state)
{
    (void)state;
    enum { MOST = 64 * 1024 * 1024 };
    const struct event_overflow_limits limits = {.max_string_bytes = 9, .payload = "data"};
    struct buf large;
    buf_init(&large, MOST + 1);
    assert_true(buf_reserve(&large, MOST + 1));
    memset(large.data, 'x', MOST + 1);
    large.size = MOST + 1;
    event_overflow_apply(&overflow, &limits, 0, &large);
    assert_true(large.failed);
    buf_fini(&large);
}

/* Servers: date takes years of four digits; date_nanos what 63 bits of nanoseconds since 1970 hold,
 * which ends at 2262-04-11T23:47:16.854775807Z ("date nanoseconds field type"). */
static void a_time_beyond_the_index_gives_way_to_the_nearest(void **state)
{
    static const struct {
        enum event_times times;
        const char *time; /* of the record */
        uint64_t filetime;
        const char *shown; /* NULL: unchanged */
    } rows[] = {
        {EVENT_TIMES_NANOS, "1970-01-01T00:00:00.0000000Z", UINT64_C(116444736000000000), NULL},
        {EVENT_TIMES_NANOS, "1969-12-31T23:59:59.9999999Z", UINT64_C(116444735999999999),
            "1970-01-01T00:00:00.0000000Z"},
        {EVENT_TIMES_NANOS, "1601-01-01T00:00:00.0000000Z", 0, "1970-01-01T00:00:00.0000000Z"},
        {EVENT_TIMES_NANOS, "2026-11-21T09:30:00.1234567Z", UINT64_C(134397270001234567), NULL},
        {EVENT_TIMES_NANOS, "2262-04-11T23:47:16.8547758Z", UINT64_C(208678456368547758), NULL},
        {EVENT_TIMES_NANOS, "2262-04-11T23:47:16.8547759Z", UINT64_C(208678456368547759),
            "2262-04-11T23:47:16.8547758Z"},
        {EVENT_TIMES_NANOS, "9999-12-31T23:59:59.9999999Z", UINT64_C(2650467743999999999),
            "2262-04-11T23:47:16.8547758Z"},
        {EVENT_TIMES_NANOS, "0x7fffffffffffffff", INT64_MAX, "2262-04-11T23:47:16.8547758Z"},
        {EVENT_TIMES_DATE, "1601-01-01T00:00:00.0000000Z", 0, NULL},
        {EVENT_TIMES_DATE, "9999-12-31T23:59:59.9999999Z", UINT64_C(2650467743999999999), NULL},
        {EVENT_TIMES_DATE, "0x7fffffffffffffff", INT64_MAX, "9999-12-31T23:59:59.9999999Z"},
        {EVENT_TIMES_ANY, "0x7fffffffffffffff", INT64_MAX, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct event_overflow_limits limits = {.max_string_bytes = i % 2 ? 1000 : 0,
            .payload = "data",
            .time = event_overflow_nearest_time(rows[i].times, rows[i].filetime)};
        char record[512];
        char expected[512];
        /* A payload field with this name is not a time of the record. */
        snprintf(record, sizeof(record),
            "{\"@timestamp\":\"%s\",\"data\":{\"@timestamp\":\"0x1\"}}\n", rows[i].time);
        snprintf(expected, sizeof(expected), "%s", record);
        if (rows[i].shown) {
            snprintf(expected, sizeof(expected),
                "{\"@timestamp\":\"%s\",\"data\":{\"@timestamp\":\"0x1\"},"
                "\"overflow\":{\"@timestamp\":\"%s\"}}\n",
                rows[i].shown, rows[i].time);
        }
        assert_int_equal(limits.time == NULL, rows[i].shown == NULL);
        buf_reset(&out);
        buf_add_text(&out, record);
        event_overflow_apply(&overflow, &limits, 0, &out);
        assert_span(buf_span(&out), expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_string_keeps_its_head_and_stands_whole_in_overflow),
        cmocka_unit_test(a_cut_falls_between_characters),
        cmocka_unit_test(escapes_count_as_what_they_stand_for),
        cmocka_unit_test(structure_stays_and_overflow_says_where_a_string_was),
        cmocka_unit_test(two_strings_never_share_a_name_in_overflow),
        cmocka_unit_test(names_are_cut_and_stay_apart),
        cmocka_unit_test(a_name_that_fits_stays_apart_from_one_that_was_cut),
        cmocka_unit_test(cut_names_count_as_they_are),
        cmocka_unit_test(what_is_no_record_stays_as_it_is),
        cmocka_unit_test(every_value_of_any_record_is_there_whole),
        cmocka_unit_test(a_record_without_room_fails_as_a_whole),
        cmocka_unit_test(a_record_that_is_too_long_fails_as_a_whole),
        cmocka_unit_test(a_time_beyond_the_index_gives_way_to_the_nearest),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
