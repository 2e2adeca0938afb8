#include "unit/schema/wpp_plan_rig.h"

/* ---- whole messages -------------------------------------------------------------------------- */

static void no_sid_is_the_text_that_the_provider_wrote(void **state)
{
    (void)state;
    struct made m;
    make(&m, HEAD "\"<%10!s!> %11!d!\"" TAIL "{\na, ItemSid -- 10\nb, ItemLong -- 11\n}\n",
        "'NULL' 00 07000000", 8);
    assert_int_equal(m.event.status, DECODE_COMPLETE);
    assert_span(part_of(&m, "\"message\":\"", "\""), "<NULL> 7");
    assert_non_null(strstr((const char *)m.out.data, "\"data\":{\"arg11\":7}"));
    fini(&m);
}

static void a_message_is_its_text_its_arguments_and_its_place(void **state)
{
    (void)state;
    struct made m;
    make(&m,
        GUID
        " wpp_provider // SRC=wpptest.c MJ= MN=\n"
        "#typev wpptest_c31 10 \"%0wpp probe seq=%10!d! name=%11!s! value=0x%12!x!\" //   "
        "LEVEL=TEST_ALL FUNC=main\n"
        "{\ni, ItemLong -- 10\n'core-state', ItemString -- 11\n0x50C0 + i, ItemLong -- 12\n}\n",
        "00000000 'core-state'00 c0500000", 8);
    m.out.size--; /* the NUL */
    assert_span(buf_span(&m.out),
        "{\"@timestamp\":\"2026-11-21T09:30:00.1234567Z\",\"provider\":{\"name\":\"wpp_provider\","
        "\"guid\":\"" GUID "\",\"kind\":\"wpp\"},\"event\":{\"code\":10,\"name\":\"main\"},"
        "\"process\":{\"pid\":77,\"thread\":{\"id\":171}},\"etw\":{\"sequence\":0,\"cpu\":3},"
        "\"data\":{\"arg10\":0,\"arg11\":\"core-state\",\"arg12\":20672},"
        "\"wpp\":{\"module\":\"wpp_provider\",\"source\":\"wpptest.c\",\"line\":31,"
        "\"function\":\"main\",\"level\":\"TEST_ALL\",\"message_number\":10,\"sequence\":12,"
        "\"args\":[\"i\",\"'core-state'\",\"0x50C0 + i\"],"
        "\"types\":[\"ItemLong\",\"ItemString\",\"ItemLong\"]},"
        "\"message\":\"wpp probe seq=0 name=core-state value=0x50c0\"}\n");
    fini(&m);
}

/* Only the text; every record has thread 0xab, process 77, sequence 12 and processor 3. */
static const struct {
    const char *format;
    const char *text;
} texts[] = {
    {"%0[%!FUNC!] %!LEVEL! %!FLAGS!", "[run] TRACE_LEVEL_ERROR TRACE_POWER"},
    {"%0 after the prefix \\n", "after the prefix"},
    {"%!STDPREFIX! x", "x"},
    {"%!FILE!:%!LINE! %!MOD! %!TYP!%!SPACE!.", "main.c:31 driver main_c31 ."},
    {"%1!s!, %2!s!, %1!8s!|%1!-8s!|", "driver, main_c31,   driver|driver  |"},
    {"[%9!d!]%8!04X!.%3!04X!::%4!s!", "[3]004D.00AB::2026-11-21T09:30:00.1234567Z"},
    {"%!CPU! %!PID! %!TID! %!SEQ! %!NOW!", "3 4d ab c 2026-11-21T09:30:00.1234567Z"},
    {"%7!d! %7 %8", "12 12 77"},
    {"kernel time %5!s!, user time %6!s!", "kernel time %5!s!, user time %6!s!"},
    {"100%% of %, %z and %!NO! at %", "100% of %, %z and %!NO! at %"},
    {"a\\\"b\\\\c\\td\\x", "a\\\"b\\\\c\\td\\\\x"},
    {"no such argument %12!d!, %!open", "no such argument %12!d!, %!open"},
    {"%10 %10!s! %10!d!%11!x!", "42 42 42ff"},
    {"%11!s!%10!s!%11!s!", "25542255"},
    /* The text after `%0` is the driver's. */
    {"%02 devices found", "2 devices found"},
    {"%0802.11 scan on %10!d!", "802.11 scan on 42"},
    {"%0100% of %10!u!", "100% of 42"},
    {"%010 of %10", "10 of 42"},
    {"%0!d! %10", "!d! 42"},
    {"%0%10!d!0 %0", "420"},
    /* No argument has a number of three digits. */
    {"%100 %1105 %8!d!0", "420 25505 770"},
};

static void variables_and_escapes_become_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        char tmf[512];
        snprintf(tmf, sizeof(tmf),
            HEAD "\"%s\"" TAIL "{\na, ItemLong -- 10\nb, ItemUChar -- 11\n}\n", texts[i].format);
        struct made m;
        make(&m, tmf, "2a000000ff", 8);
        struct span text = part_of(&m, "\"message\":\"", "\"}\n");
        if (!span_is(text, texts[i].text)) {
            fail_msg("%s is %s", texts[i].format, (const char *)m.out.data);
        }
        fini(&m);
    }
}

/* With an argument 100, three digits are one number. */
static void numbers_have_as_many_digits_as_an_argument_s(void **state)
{
    (void)state;
    struct made m;
    make(&m,
        HEAD "\"%100!d! %1000 %10!d! %99999!d!\"" TAIL
             "{\na, ItemUChar -- 10\nb, ItemUChar -- 100\n}\n",
        "0708", 8);
    assert_span(part_of(&m, "\"message\":\"", "\""), "8 80 7 %99999!d!");
    fini(&m);
    make(&m, HEAD "\"%65535!d! %65536!d!\"" TAIL "{\na, ItemUChar -- 65535\n}\n", "07", 8);
    assert_span(part_of(&m, "\"message\":\"", "\""), "7 %65536!d!");
    fini(&m);
}

static void what_the_header_does_not_have_stays_as_it_was_written(void **state)
{
    (void)state;
    struct made m;
    make(&m, HEAD "\"%8!d!.%3!04X! %7!d! %9!d!\"" TAIL "{\n}\n", "", 8);
    m.record.present = 0;
    buf_reset(&m.out);
    event_format_native.event(m.writer, &m.event, &m.out);
    buf_add_byte(&m.out, 0);
    assert_span(part_of(&m, "\"message\":\"", "\""), "%8!d!.%3!04X! %7!d! 3");
    assert_null(strstr((const char *)m.out.data, "process"));
    fini(&m);
}

static void pointers_are_as_wide_as_the_writer_s(void **state)
{
    (void)state;
    struct made m;
    make(&m,
        HEAD "\"%10!p! %11!Id! %12!d!\"" TAIL
             "{\na, ItemPtr -- 10\nb, ItemPtr -- 11\nc, ItemLong -- 12\n}\n",
        "10320000 feffffff 07000000", 4);
    assert_span(part_of(&m, "\"message\":\"", "\""), "00003210 -2 7");
    assert_span(
        part_of(&m, "\"data\":", ",\"wpp\""), "{\"arg10\":\"0x3210\",\"arg11\":-2,\"arg12\":7}");
    fini(&m);
}

/* ---- what cannot be decoded ------------------------------------------------------------------ */

static void a_record_that_ends_early_keeps_what_came_before(void **state)
{
    (void)state;
    struct made m;
    make(&m,
        HEAD "\"%10!d! %11!s! %12!08x!\"" TAIL
             "{\na, ItemLong -- 10\nb, ItemPString -- 11\nc, ItemLong -- 12\n}\n",
        "2a000000 0900 'abc'", 8);
    assert_int_equal(m.event.status, DECODE_PARTIAL);
    assert_span(part_of(&m, "\"data\":", ",\"payload_rest\""), "{\"arg10\":42}");
    assert_span(part_of(&m, "\"payload_rest\":\"", "\""), "0900616263");
    assert_span(part_of(&m, "\"decode_error\":\"", "\""),
        "arg11: its length exceeds the payload at byte 6 of 9");
    assert_span(part_of(&m, "\"message\":\"", "\""), "42 %11!s! %12!08x!");
    fini(&m);
}

static void an_item_of_unknown_layout_ends_the_decoding(void **state)
{
    (void)state;
    struct made m;
    make(&m,
        HEAD "\"%10!d! %11!s! %12!d!\"" TAIL
             "{\na, ItemLong -- 10\nb, ItemOfMine(x) -- 11\nc, ItemLong -- 12\n}\n",
        "2a000000 0102 07000000", 8);
    assert_int_equal(m.event.status, DECODE_PARTIAL);
    assert_span(part_of(&m, "\"payload_rest\":\"", "\""), "010207000000");
    assert_span(part_of(&m, "\"decode_error\":\"", "\""),
        "arg11: item type ItemOfMine(x) has an unknown layout");
    assert_span(part_of(&m, "\"message\":\"", "\""), "42 %11!s! %12!d!");
    assert_non_null(strstr(
        (const char *)m.out.data, "\"types\":[\"ItemLong\",\"ItemOfMine(x)\",\"ItemLong\"]"));
    fini(&m);
}

static void bytes_behind_the_last_argument_are_no_error(void **state)
{
    (void)state;
    struct made m;
    make(&m, HEAD "\"%10!d!\"" TAIL "{\na, ItemLong -- 10\n}\n", "2a000000 ffff", 8);
    assert_int_equal(m.event.status, DECODE_RESIDUE);
    assert_span(part_of(&m, "\"payload_rest\":\"", "\""), "ffff");
    assert_null(strstr((const char *)m.out.data, "decode_error"));
    fini(&m);
}

static void a_message_without_a_text_has_none(void **state)
{
    (void)state;
    struct made m;
    make(&m, HEAD "\"%0\"" TAIL "{\n}\n", "", 8);
    assert_null(strstr((const char *)m.out.data, "\"message\":"));
    assert_non_null(strstr((const char *)m.out.data, "\"data\":{}"));
    fini(&m);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void an_insert_too_many_stays_as_it_was_written(void **state)
{
    (void)state;
    enum { INSERTS = 1030, SHOWN = 1023 };
    struct buf tmf;
    struct buf text;
    buf_init(&tmf, 1 << 20);
    buf_init(&text, 1 << 20);
    buf_printf(&tmf, HEAD "\"%%0");
    for (size_t i = 0; i < INSERTS; i++) {
        buf_printf(&tmf, "%%10!u!,");
        buf_printf(&text, i < SHOWN ? "4294967295," : "%%10!u!,");
    }
    buf_printf(&tmf, "\"" TAIL "{\nx, ItemLong -- 10\n}\n%c", 0);
    buf_add_byte(&text, 0);
    assert_false(tmf.failed || text.failed);
    struct made m;
    make(&m, (const char *)tmf.data, "ffffffff", 8);
    assert_int_equal(m.event.status, DECODE_COMPLETE);
    assert_span(part_of(&m, "\"data\":", ",\"wpp\""), "{\"arg10\":4294967295}");
    assert_span(part_of(&m, "\"message\":\"", "\"}\n"), (const char *)text.data);
    fini(&m);
    buf_fini(&tmf);
    buf_fini(&text);
}

/* The name of a function, of 9,000 digits, a hundred times: it is part of the format. */
static void a_text_too_long_stays_as_it_was_written(void **state)
{
    (void)state;
    enum { NAME = 9000, NAMES = 100, SHOWN = 262144 / NAME + 1 };
    char *tmf = malloc(65536);
    assert_non_null(tmf);
    int size = snprintf(tmf, 65536, HEAD "\"%%10!d! ");
    for (size_t i = 0; i < NAMES; i++) {
        size += snprintf(tmf + size, 65536 - (size_t)size, "%%!FUNC!");
    }
    snprintf(tmf + size, 65536 - (size_t)size, "%%10!x!\" // FUNC=%0*d\n{\nx, ItemUChar -- 10\n}\n",
        NAME, 0);
    struct made m;
    make(&m, tmf, "0f", 8);
    assert_int_equal(m.event.status, DECODE_COMPLETE);
    struct span text = part_of(&m, "\"message\":\"", "\"}\n");
    assert_int_equal(text.size,
        strlen("15 ") + SHOWN * NAME + (NAMES - SHOWN) * strlen("%!FUNC!") + strlen("%10!x!"));
    assert_memory_equal(text.data, "15 000", 6);
    assert_memory_equal(text.data + text.size - 13, "%!FUNC!%10!x!", 13);
    fini(&m);
    free(tmf);
}

/* 200 expressions of 1,000 bytes; their types are short. */
static void a_list_too_long_is_left_out(void **state)
{
    (void)state;
    enum { ARGUMENTS = 200, EXPRESSION = 1000 };
    struct buf tmf;
    struct buf payload;
    buf_init(&tmf, 1 << 20);
    buf_init(&payload, 1 << 20);
    buf_printf(&tmf, HEAD "\"%%209!u!\"" TAIL "{\n");
    for (unsigned i = 0; i < ARGUMENTS; i++) {
        buf_printf(&tmf, "%0*u, ItemUChar -- %u\n", EXPRESSION, i, 10 + i);
        buf_printf(&payload, "%02x", i);
    }
    buf_printf(&tmf, "}\n%c", 0);
    buf_add_byte(&payload, 0);
    struct made m;
    make(&m, (const char *)tmf.data, (const char *)payload.data, 8);
    assert_int_equal(m.event.status, DECODE_COMPLETE);
    assert_span(part_of(&m, "\"message\":\"", "\"}\n"), "199");
    assert_span(part_of(&m, "\"arg208\":", ","), "198");
    assert_span(part_of(&m, "\"sequence\":12,", "["), "\"types\":");
    assert_int_equal(m.schema->wpp->args[ARGUMENTS - 1].size, EXPRESSION); /* filters find it */
    fini(&m);
    buf_fini(&tmf);
    buf_fini(&payload);
}

static void widths_and_digits_have_a_limit(void **state)
{
    (void)state;
    struct made m;
    make(&m, HEAD "\"%10!999999d!%10!.999999x!\"" TAIL "{\na, ItemLong -- 10\n}\n", "2a000000", 8);
    struct span text = part_of(&m, "\"message\":\"", "\"");
    assert_int_equal(text.size, WPP_MAX_WIDTH + WPP_MAX_PRECISION);
    fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_sid_is_the_text_that_the_provider_wrote),
        cmocka_unit_test(a_message_is_its_text_its_arguments_and_its_place),
        cmocka_unit_test(variables_and_escapes_become_text),
        cmocka_unit_test(numbers_have_as_many_digits_as_an_argument_s),
        cmocka_unit_test(what_the_header_does_not_have_stays_as_it_was_written),
        cmocka_unit_test(pointers_are_as_wide_as_the_writer_s),
        cmocka_unit_test(a_record_that_ends_early_keeps_what_came_before),
        cmocka_unit_test(an_item_of_unknown_layout_ends_the_decoding),
        cmocka_unit_test(bytes_behind_the_last_argument_are_no_error),
        cmocka_unit_test(a_message_without_a_text_has_none),
        cmocka_unit_test(an_insert_too_many_stays_as_it_was_written),
        cmocka_unit_test(a_text_too_long_stays_as_it_was_written),
        cmocka_unit_test(a_list_too_long_is_left_out),
        cmocka_unit_test(widths_and_digits_have_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
