#include "cli/text/deadletter_text.h"

#include "support/test.h"

/* 2026-11-21T19:00:00.1234567Z */
static const uint64_t some_time = UINT64_C(134397612001234567);

static const struct dead_letter *sample(size_t index)
{
    static struct dead_letter letters[2];
    letters[0] = (struct dead_letter){.id = 7,
        .time = some_time,
        .output = span_text("siem"),
        .status = 400,
        .type = span_text("mapper_parsing_exception"),
        .reason = span_text("failed to parse"),
        .index = span_text("logs-\xc3\xa4"),
        .document = span_text("{\"a\":1}")};
    letters[1] = (struct dead_letter){
        .id = 1234, .time = some_time, .output = span_text("a\n\x1b[2J\xc2\x9b\x7f")};
    return &letters[index];
}

static void a_table_is_aligned_and_has_no_holes(void **state)
{
    (void)state;
    struct deadletter_widths widths;
    struct buf out;
    buf_init(&out, 10000);
    deadletter_text_widths(&widths);
    deadletter_text_measure(&widths, sample(0));
    deadletter_text_measure(&widths, sample(1));
    deadletter_text_row(&widths, NULL, &out);
    deadletter_text_row(&widths, sample(0), &out);
    deadletter_text_row(&widths, sample(1), &out);
    assert_span(buf_span(&out),
        "ID    TIME                          OUTPUT                    STATUS  TYPE"
        "                      INDEX   REASON\n"
        "7     2026-11-21T19:00:00.1234567Z  siem                      400     "
        "mapper_parsing_exception  logs-\xc3\xa4  failed to parse\n"
        "1234  2026-11-21T19:00:00.1234567Z  a\\n\\u001b[2J\\u009b\\u007f  -       -"
        "                         -       -\n");
    buf_fini(&out);
}

static void long_cells_are_cut_on_a_character(void **state)
{
    (void)state;
    struct deadletter_widths widths;
    struct buf out;
    struct dead_letter letter = {.id = 1, .time = some_time, .output = span_text("o")};
    char type[101];
    char reason[1001];
    memset(reason, 'r', sizeof(reason) - 1);
    reason[sizeof(reason) - 1] = '\0';
    for (size_t i = 0; i < sizeof(type) - 1; i++) {
        type[i] = i == 0 ? 'x' : i % 2 ? '\xc3' : '\xa4';
    }
    letter.type = span_make(type, sizeof(type) - 1);
    letter.reason = span_text(reason);
    buf_init(&out, 10000);
    deadletter_text_widths(&widths);
    deadletter_text_measure(&widths, &letter);
    deadletter_text_row(&widths, &letter, &out);
    struct buf expected;
    buf_init(&expected, 10000);
    buf_printf(&expected, "1   2026-11-21T19:00:00.1234567Z  o       -       x");
    for (int i = 0; i < 23; i++) {
        buf_add_text(&expected, "\xc3\xa4");
    }
    buf_printf(&expected, "...  -      %.300s...\n", reason);
    buf_add_byte(&expected, 0);
    assert_span(buf_span(&out), (const char *)expected.data);
    buf_fini(&expected);
    buf_fini(&out);
}

static void details_show_what_is_known_and_steer_no_terminal(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 10000);
    deadletter_text_details(sample(0), &out);
    assert_span(buf_span(&out), "id        7\n"
                                "time      2026-11-21T19:00:00.1234567Z\n"
                                "output    siem\n"
                                "status    400\n"
                                "type      mapper_parsing_exception\n"
                                "reason    failed to parse\n"
                                "index     logs-\xc3\xa4\n"
                                "document  {\"a\":1}\n");
    buf_reset(&out);
    deadletter_text_details(sample(1), &out);
    assert_span(buf_span(&out), "id        1234\n"
                                "time      2026-11-21T19:00:00.1234567Z\n"
                                "output    a\\n\\u001b[2J\\u009b\\u007f\n"
                                "document  was too long to be kept\n");
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_aligned_and_has_no_holes),
        cmocka_unit_test(long_cells_are_cut_on_a_character),
        cmocka_unit_test(details_show_what_is_known_and_steer_no_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
