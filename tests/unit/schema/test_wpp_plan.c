#include "schema/wpp_plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "decode/decode.h"
#include "event/event_writer.h"
#include "support/payload.h"
#include "support/test.h"

/*
 * From the text of a trace message format and the bytes of a record to JSON. What is expected was
 * written by hand: after "What are the WPP extended format specification strings?" and "Trace
 * Message Prefix" on learn.microsoft.com, the C standard for numbers (7.21.6.1), and
 * docs/reference/events.md for the values.
 */
#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))
#define GUID "a5bbbdd9-73f9-3bed-93aa-521a4c96d934"
#define HEAD GUID " driver // SRC=main.c MJ= MN=\n#typev main_c31 10 "
#define TAIL " //   LEVEL=TRACE_LEVEL_ERROR FLAGS=TRACE_POWER FUNC=run\n"

struct made {
    struct arena arena;
    struct decoder decoder;
    struct event_writer *writer;
    struct event_schema *schema;
    struct event_record record;
    struct trace_info trace;
    struct event event;
    struct span payload;
    struct buf out;
};

static bool keep(void *self, const struct tmf_message *message)
{
    *(const struct tmf_message **)self = message;
    return true;
}

static void fail_at(void *self, const char *text)
{
    (void)self;
    fail_msg("%s", text);
}

static void make(struct made *m, const char *tmf, const char *payload, uint8_t pointer_size)
{
    static const struct event_writer_settings settings;
    struct error err = {0};
    const struct tmf_message *message = NULL;
    *m = (struct made){.payload = payload_make(payload)};
    arena_init(&m->arena, 1 << 24);
    buf_init(&m->out, 1 << 24);
    assert_true(decoder_init(&m->decoder, &err));
    m->writer = event_writer_create(&settings, NULL);
    assert_non_null(m->writer);
    const struct tmf_sink sink = {.message = keep, .warn = fail_at, .self = &message};
    assert_true(tmf_read(span_text(tmf), &m->arena, "x.tmf", &sink, &err));
    assert_non_null(message);
    m->schema = wpp_plan_make(message, &m->arena, &err);
    if (!m->schema) {
        fail_msg("%s", err.text);
    }
    m->schema->serial = 1;
    m->record = (struct event_record){.kind = RECORD_MESSAGE,
        .pointer_size = pointer_size,
        .present = RECORD_HAS_THREAD | RECORD_HAS_PROCESS | RECORD_HAS_SEQUENCE,
        .thread_id = 0xab,
        .process_id = 77,
        .message_sequence = 12,
        .cpu = 3,
        .time = UINT64_C(134397270001234567), /* 2026-11-21T09:30:00.1234567Z */
        .provider = m->schema->provider,
        .descriptor = {.id = 10},
        .payload = m->payload,
        .trace = &m->trace};
    decoder_run(&m->decoder, &m->record, m->schema, pointer_size, &m->event);
    event_format_native.event(m->writer, &m->event, &m->out);
    buf_add_byte(&m->out, 0);
    assert_false(m->out.failed);
}

static void fini(struct made *m)
{
    event_writer_destroy(m->writer);
    decoder_fini(&m->decoder);
    payload_free(m->payload);
    buf_fini(&m->out);
    arena_fini(&m->arena);
}

/* The text of a member of the line: from ${key} up to ${end}. */
static struct span part_of(const struct made *m, const char *key, const char *end)
{
    const char *start = strstr((const char *)m->out.data, key);
    const char *stop = start ? strstr(start + strlen(key), end) : NULL;
    if (!stop) {
        return span_make(NULL, 0);
    }
    start += strlen(key);
    return span_make(start, (size_t)(stop - start));
}

/* ---- item types --------------------------------------------------------------------------------- */

/* One argument: its item type, how the text shows it, the bytes, data and text that come of it. */
static const struct {
    const char *type;
    const char *spec;
    const char *payload;
    const char *data;
    const char *text;
} items[] = {
    /* numbers */
    {"ItemChar", "d", "fe", "-2", "-2"},
    {"ItemChar", "c", "41", "65", "A"},
    {"ItemChar", "02x", "0a", "10", "0a"},
    {"ItemUChar", "s", "fe", "254", "254"},
    {"ItemUChar", "d", "c7", "199", "199"},
    {"ItemUChar", "hhd", "c7", "199", "-57"},
    {"ItemUShort", "d", "ffff", "65535", "65535"},
    {"ItemUShort", "hd", "ffff", "65535", "-1"},
    {"ItemShort", "hd", "ffff", "-1", "-1"},
    {"ItemShort", "04hX", "efbe", "48879", "BEEF"},
    {"ItemShort", "hu", "ffff", "65535", "65535"},
    {"ItemUShort", "u", "ffff", "65535", "65535"},
    {"ItemLong", "d", "ffffffff", "-1", "-1"},
    {"ItemLong", "i", "2a000000", "42", "42"},
    {"ItemLong", "u", "ffffffff", "4294967295", "4294967295"},
    {"ItemLong", "x", "c0500000", "20672", "50c0"},
    {"ItemLong", "08x", "c0500000", "20672", "000050c0"},
    {"ItemLong", "#X", "c0500000", "20672", "0X50C0"},
    {"ItemLong", "o", "08000000", "8", "10"},
    {"ItemLong", "6d", "2a000000", "42", "    42"},
    {"ItemLong", "-6d", "2a000000", "42", "42    "},
    {"ItemLong", "06d", "d6ffffff", "-42", "-00042"},
    {"ItemLong", "+d", "2a000000", "42", "+42"},
    {"ItemLong", " d", "2a000000", "42", " 42"},
    {"ItemLong", ".4d", "2a000000", "42", "0042"},
    {"ItemLong", "6.4d", "2a000000", "42", "  0042"},
    {"ItemLong", "hd", "ffff0100", "131071", "-1"},
    {"ItemLong", "c", "2a000000", "42", "*"},
    {"ItemLong", "s", "d6ffffff", "-42", "-42"},
    {"ItemULong", "lu", "ffffffff", "4294967295", "4294967295"},
    {"ItemULongX", "s", "ff000000", "\"0xff\"", "0xff"},
    {"ItemLongLong", "I64d", "feffffffffffffff", "-2", "-2"},
    {"ItemLongLong", "lld", "0000000001000000", "4294967296", "4294967296"},
    {"ItemULongLong", "I64u", "ffffffffffffffff", "18446744073709551615", "18446744073709551615"},
    {"ItemLongLongX", "I64x", "efbeadde00000000", "\"0xdeadbeef\"", "deadbeef"},
    {"ItemLongLongXX", "012I64X", "efbeadde00000000", "\"0xdeadbeef\"", "0000DEADBEEF"},
    {"ItemLongLongO", "I64o", "0002000000000000", "512", "1000"},
    {"ItemFloat", "f", "0000c03f", "1.5", "1.500000"},
    {"ItemDouble", "s", "000000000000f83f", "1.5", "1.5"},
    {"ItemDouble", "s", "0000000000200940", "3.140625", "3.14062"}, /* "dbl=3.14062" of tracefmt */
    {"ItemFloat", "s", "00004940", "3.140625", "3.14062"},
    {"ItemDouble", "10s", "0000000000200940", "3.140625", "   3.14062"},
    {"ItemDouble", ".2f", "000000000000f83f", "1.5", "1.50"},
    {"ItemDouble", "09.2f", "000000000000f8bf", "-1.5", "-00001.50"},
    {"ItemDouble", "-8.1f", "000000000000f83f", "1.5", "1.5     "},
    {"ItemDouble", "e", "000000000000f83f", "1.5", "1.500000e+00"},
    {"ItemDouble", "g", "000000000000f83f", "1.5", "1.5"},
    /* WPP writes doubles as `s`; `%.2f` of the source becomes `.2s`. 123.456, -0.5, infinity */
    {"ItemDouble", ".2s", "77be9f1a2fdd5e40", "123.456", "123.46"},
    {"ItemDouble", "8.1s", "77be9f1a2fdd5e40", "123.456", "   123.5"},
    {"ItemDouble", "-8.0s", "77be9f1a2fdd5e40", "123.456", "123     "},
    {"ItemDouble", "06.1s", "000000000000e0bf", "-0.5", "-000.5"},
    {"ItemDouble", "9s", "77be9f1a2fdd5e40", "123.456", "  123.456"},
    {"ItemFloat", ".1s", "79e9f642", "123.456", "123.5"},
    /* A precision cuts strings alone. */
    {"ItemLong", ".2s", "39300000", "12345", "12345"},
    {"ItemLong", "8.2s", "39300000", "12345", "   12345"},
    {"ItemNTSTATUS", ".4s", "220000c0", "3221225506,\"arg10_name\":\"STATUS_ACCESS_DENIED\"",
        "0xc0000022(STATUS_ACCESS_DENIED)"},
    {"ItemGuid", ".8s", "d9bdbba5f973ed3b93aa521a4c96d934", "\"" GUID "\"", GUID},
    {"ItemListByte(Low,APC,DPC)", ".2s", "01", "1,\"arg10_name\":\"APC\"", "0x00000001(APC)"},
    {"ItemIPAddr", ".3s", "c0000207", "\"192.0.2.7\"", "192.0.2.7"},
    {"ItemPWString", ".2s", "0600 L'abc'", "\"abc\"", "ab"},
    {"ItemWString", "5.2s", "L'wide'0000", "\"wide\"", "   wi"},
    {"ItemPString", ".2s", "0300'abc'", "\"abc\"", "ab"},
    {"ItemChar4", ".3s", "'RGBA'", "\"RGBA\"", "RGB"},
    {"ItemPtr", "p", "1032547600e0ffff", "\"0xffffe00076543210\"", "FFFFE00076543210"},
    {"ItemPtr", "Ix", "1032000000000000", "\"0x3210\"", "3210"},
    {"ItemPtr", "Id", "ffffffffffffffff", "-1", "-1"},
    {"ItemPtr", "Iu", "0a00000000000000", "10", "10"},
    /* strings */
    {"ItemString", "s", "'core-state'00", "\"core-state\"", "core-state"},
    {"ItemString", "12s", "'core'00", "\"core\"", "        core"},
    {"ItemString", "-6.2s", "'core'00", "\"core\"", "co    "},
    {"ItemString", "s", "'a\"b'5c00", "\"a\\\"b\\\\\"", "a\\\"b\\\\"},
    {"ItemString", "4s", "'\"'0a00", "\"\\\"\\n\"", "  \\\"\\n"},
    {"ItemString", "d", "'core'00", "\"core\"", "core"},
    {"ItemRString", "s", "'x'00", "\"x\"", "x"},
    {"ItemWString", "ws", "L'wide'0000", "\"wide\"", "wide"},
    {"ItemRWString", "S", "L'wide'0000", "\"wide\"", "wide"},
    {"ItemPString", "s", "0300'abc'", "\"abc\"", "abc"},
    {"ItemPWString", "wZ", "0600 L'abc'", "\"abc\"", "abc"},
    {"ItemPWString", "s", "0000", "\"\"", ""},
    {"ItemChar4", "s", "'RGBA'", "\"RGBA\"", "RGBA"},
    {"ItemDSString", "s", "0003'abc'", "\"abc\"", "abc"}, /* the count's high byte first */
    {"ItemDSWString", "s", "0004L'ab'", "\"ab\"", "ab"},
    {"ItemNWString", "s", "L'ab'", "\"ab\"", "ab"}, /* up to the end */
    {"ItemCharShort", "s", "fe", "-2", "-2"},
    /* counted bytes */
    {"ItemHexDump", "s", "0400deadbeef", "\"deadbeef\"", "de ad be ef"},
    {"ItemHEXDump", "s", "0000", "\"\"", ""},
    /* identifiers */
    {"ItemGuid", "s", "d9bdbba5f973ed3b93aa521a4c96d934", "\"" GUID "\"", GUID},
    {"ItemCLSID", "s", "d9bdbba5f973ed3b93aa521a4c96d934", "\"" GUID "\"", GUID},
    {"ItemLIBID", "s", "d9bdbba5f973ed3b93aa521a4c96d934", "\"" GUID "\"", GUID},
    {"ItemIID", "s", "d9bdbba5f973ed3b93aa521a4c96d934", "\"" GUID "\"", GUID},
    {"ItemSid", "s", "010100000000000512000000", "\"S-1-5-18\"", "S-1-5-18"},
    /* codes */
    {"ItemNTSTATUS", "s", "220000c0", "3221225506,\"arg10_name\":\"STATUS_ACCESS_DENIED\"",
        "0xc0000022(STATUS_ACCESS_DENIED)"},
    {"ItemNTSTATUS", "08X", "220000c0", "3221225506,\"arg10_name\":\"STATUS_ACCESS_DENIED\"",
        "C0000022"},
    {"ItemNTSTATUS", "s", "ffff00e0", "3758161919", "0xe000ffff"},
    {"ItemNTerror", "s", "220000c0", "3221225506,\"arg10_name\":\"STATUS_ACCESS_DENIED\"",
        "0xc0000022(STATUS_ACCESS_DENIED)"},
    {"ItemNDIS_STATUS", "s", "00000000", "0,\"arg10_name\":\"STATUS_SUCCESS\"",
        "0x00000000(STATUS_SUCCESS)"},
    {"ItemWINERROR", "s", "05000000", "5,\"arg10_name\":\"ERROR_ACCESS_DENIED\"",
        "5(ERROR_ACCESS_DENIED)"},
    {"ItemWINERROR", "s", "fffff000", "15794175", "15794175"},
    {"ItemHRESULT", "s", "05400080", "-2147467259,\"arg10_name\":\"E_FAIL\"", "0x80004005(E_FAIL)"},
    {"ItemNDIS_OID", "s", "02010100", "\"0x10102\"", "0x00010102"},
    {"ItemHRESULT", "s", "05000780", "-2147024891,\"arg10_name\":\"E_ACCESSDENIED\"",
        "0x80070005(ERROR_ACCESS_DENIED)"},
    {"ItemHRESULT", "s", "00000000", "0,\"arg10_name\":\"S_OK\"", "0x00000000(S_OK)"},
    {"ItemHRESULT", "s", "ffff0780", "-2146959361", "0x8007ffff"},
    /* names */
    /* "b=0x00000001(true) irql=0x00000002(DPC)" */
    {"ItemListByte(Low,APC,DPC)", "s", "02", "2,\"arg10_name\":\"DPC\"", "0x00000002(DPC)"},
    {"ItemListByte(Low,APC,DPC)", "s", "07", "7", "0x00000007"},
    {"ItemListByte(Low,APC,DPC)", "d", "02", "2,\"arg10_name\":\"DPC\"", "2"},
    {"ItemListShort(false, true)", "s", "0100", "1,\"arg10_name\":\"true\"", "0x00000001(true)"},
    {"ItemListLong(FALSE,TRUE)", "18s", "00000000", "0,\"arg10_name\":\"FALSE\"",
        " 0x00000000(FALSE)"},
    {"ItemSetByte(1,2,3,4,5,6,7,8)", "s", "05", "5,\"arg10_name\":[\"1\",\"3\"]", "[1,3]"},
    {"ItemSetShort(a,b)", "s", "0000", "0,\"arg10_name\":[]", "[]"},
    {"ItemSetLong(a,b)", "s", "06000000", "6,\"arg10_name\":[\"b\",\"0x4\"]", "[b,0x4]"},
    {"ItemEnum(_POWER_STATE)", "s", "03000000", "3", "3"},
    {"ItemEnum(_POWER_STATE)", "s", "ffffffff", "-1", "-1"},
    {"ItemFlagsEnum(_FLAGS)", "s", "11000000", "\"0x11\"", "0x11"},
    /* the network */
    {"ItemIPAddr", "s", "c0000207", "\"192.0.2.7\"", "192.0.2.7"},
    {"ItemIPV6Addr", "s", "20010db8000000000000000000000001", "\"2001:db8::1\"", "2001:db8::1"},
    {"ItemMACAddr", "s", "0011223344fe", "\"0011223344fe\"", "00:11:22:33:44:fe"},
    {"ItemPort", "s", "01bb", "443", "443"},
    {"ItemPort", "d", "01bb", "443", "443"},
    /* times: 2026-11-21T09:30:00.1234567Z; one day, two hours, three minutes, four seconds in units
     * of 100 ns; "102ms" and "delta=5.000s" are tracefmt's, days Microsoft's page's */
    {"ItemTimestamp", "s", "87b234e19a79dd01", "\"2026-11-21T09:30:00.1234567Z\"",
        "2026-11-21T09:30:00.1234567Z"},
    {"ItemTimeDelta", "s", "60900f0000000000", "1020000", "102ms"},
    {"ItemTimeDelta", "s", "80f0fa0200000000", "50000000", "5.000s"},
    {"ItemTimeDelta", "s", "0f27000000000000", "9999", "0ms"},
    {"ItemTimeDelta", "s", "7f96980000000000", "9999999", "999ms"},
    {"ItemTimeDelta", "s", "8096980000000000", "10000000", "1.000s"},
    {"ItemTimeDelta", "s", "ff45c32300000000", "599999999", "59.999s"},
    {"ItemTimeDelta", "s", "0046c32300000000", "600000000", "0~0:01:00"},
    {"ItemTimeDelta", "s", "00bc9e5bda000000", "937840000000", "1~2:03:04"},
    {"ItemTimeDelta", "s", "a06ff0ffffffffff", "-1020000", "-102ms"},
    {"ItemTimeDelta", "s", "ffffffffffffffff", "-1", "0ms"},
    {"ItemTimeDelta", "s", "0000000000000080", "-9223372036854775808", "-10675199~2:48:05"},
    {"ItemTimeDelta", "I64d", "60900f0000000000", "1020000", "1020000"},
    {"ItemWaitTime", "s", "87b234e19a79dd01", "134397270001234567", "2026-11-21T09:30:00.1234567Z"},
    {"ItemWaitTime", "s", "800f05fdffffffff", "-50000000", "-5.000s"},
};

/* As tracepdb writes them, behind the messages that use them; tracefmt made "state=StateActive
 * flags=FlagRead | FlagExec(0x5)" of 1 and 5. */
static void enumerations_of_the_file_name_values(void **state)
{
    (void)state;
    static const char enumerations[] = "#enumv _STATE\n{\nStateIdle,0x0\nStateActive,0x1\n}\n"
                                       "#enumv _FLAGS\r\n{\r\nFlagRead,0x1\r\nFlagWrite,0x2\r\n"
                                       "FlagExec,0x4\r\n}\r\n"
                                       "#enumv _STATE\n{\nAnother,1\n}\n#enumv _OPEN\n{\nA,1\n";
    static const struct {
        const char *type;
        const char *payload;
        const char *data;
        const char *text;
    } cases[] = {
        {"ItemEnum(_STATE)", "01000000", "1,\"arg10_name\":\"StateActive\"", "StateActive"},
        {"ItemEnum(_STATE)", "07000000", "7", "7"},
        {"ItemFlagsEnum(_FLAGS)", "05000000", "\"0x5\",\"arg10_name\":[\"FlagRead\",\"FlagExec\"]",
            "FlagRead | FlagExec(0x5)"},
        {"ItemFlagsEnum(_FLAGS)", "12000000", "\"0x12\",\"arg10_name\":[\"FlagWrite\",\"0x10\"]",
            "FlagWrite(0x12)"},
        {"ItemFlagsEnum(_FLAGS)", "00000000", "\"0x0\",\"arg10_name\":[]", "0x0"},
        {"ItemEnum(_OPEN)", "01000000", "1", "1"}, /* it has no end */
        {"ItemEnum(_NONE)", "01000000", "1", "1"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char tmf[1024];
        char data[256];
        snprintf(tmf, sizeof(tmf), HEAD "\"%%0<%%10!s!>\"" TAIL "{\nx, %s -- 10\n}\n%s",
            cases[i].type, enumerations);
        snprintf(data, sizeof(data), "{\"arg10\":%s}", cases[i].data);
        struct made m;
        make(&m, tmf, cases[i].payload, 8);
        struct span text = part_of(&m, "\"message\":\"<", ">\"");
        if (!strstr((const char *)m.out.data, data) || !span_is(text, cases[i].text)) {
            fail_msg("%s is %s", cases[i].type, (const char *)m.out.data);
        }
        fini(&m);
    }
}

static void each_item_type_has_its_bytes_and_its_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(items); i++) {
        char tmf[512];
        char data[256];
        snprintf(tmf, sizeof(tmf), HEAD "\"%%0<%%10!%s!>\"" TAIL "{\nx, %s -- 10\n}\n",
            items[i].spec, items[i].type);
        snprintf(data, sizeof(data), "{\"arg10\":%s}", items[i].data);
        struct made m;
        make(&m, tmf, items[i].payload, 8);
        if (m.event.status != DECODE_COMPLETE) {
            fail_msg("%s: %s", items[i].type, m.event.error ? m.event.error : "left over");
        }
        struct span text = part_of(&m, "\"message\":\"<", ">\"");
        if (!strstr((const char *)m.out.data, data) || !span_is(text, items[i].text)) {
            fail_msg("%s as %s is %s", items[i].type, items[i].spec, (const char *)m.out.data);
        }
        fini(&m);
    }
}

/* ---- whole messages ----------------------------------------------------------------------------- */

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

/* The text alone; every record has thread 0xab, process 77, sequence 12 and processor 3. */
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
    /* What follows `%0` is the driver's. */
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

/* ---- what cannot be decoded --------------------------------------------------------------------- */

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

/* ---- limits ---------------------------------------------------------------------------------------- */

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

/* The name of a function, of 9,000 digits, a hundred times: the format itself knows it. */
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
    assert_int_equal(m.schema->wpp->args[ARGUMENTS - 1].size, EXPRESSION); /* filters find them */
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
        cmocka_unit_test(each_item_type_has_its_bytes_and_its_text),
        cmocka_unit_test(enumerations_of_the_file_name_values),
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
