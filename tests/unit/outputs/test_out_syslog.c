#include "unit/outputs/output_rig.h"

#include <signal.h>

#include "support/tcp_fake.h"

/* Messages as a receiver sees them, and the losses of a broken connection. */

static struct output_rig rig;
static struct tcp_fake *fake;

static void begin(const char *more)
{
    char yaml[512];
    struct error err = {0};
    fake = tcp_fake_start();
    snprintf(yaml, sizeof(yaml), "{address: '127.0.0.1:%u', transport: tcp%s}", tcp_fake_port(fake),
        more);
    rig_setup(&rig, &output_syslog, yaml);
    assert_true(rig.ops->connect(rig.self, &err));
}

static void end(void)
{
    rig_teardown(&rig);
    tcp_fake_stop(fake);
}

static void reconnect(void)
{
    struct error err = {0};
    rig.ops->disconnect(rig.self);
    assert_true(rig.ops->connect(rig.self, &err));
}

static const char native[] =
    "{\"@timestamp\":\"2026-11-21T09:30:00.1234567Z\",\"provider\":{\"name\":\"My Provider\"},"
    "\"event\":{\"code\":3008,\"level\":2},\"process\":{\"pid\":1234},"
    "\"data\":{\"Query Name\":\"a=b|c\\\\d\\ne\",\"N\":7,\"Empty\":\"\",\"L\":[1,2]},"
    "\"message\":\"two\\nlines\\tand \\\"quotes\\\"] = | \\u00e4\",\"host\":{\"name\":\"PC 1\"}}\n";

static const char ecs[] =
    "{\"@timestamp\":\"2026-11-21T09:30:00.1234567Z\",\"event\":{\"provider\":\"P\","
    "\"code\":\"5\",\"severity\":3},\"winlog\":{\"event_data\":{\"A\":\"x\"}}}\n";

/* The one message that arrived, framed by RFC 6587, 3.4.1: its length, a space, the message. */
static const char *one_message(void)
{
    char *rest;
    struct span bytes = tcp_fake_bytes(fake);
    size_t size = (size_t)strtoul((const char *)bytes.data, &rest, 10);
    assert_int_equal(*rest, ' ');
    assert_int_equal(strlen(rest + 1), size);
    return rest + 1;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void a_message_is_as_rfc_5424_has_it(void **state)
{
    (void)state;
    const struct delivery_ids ids = {.epoch = 0xabc, .first_number = 7};
    char expected[2048];
    begin("");
    assert_int_equal(rig_send_routed(&rig, native, NULL, NULL, 0, &ids), OUTPUT_DELIVERED);
    /* local0 (16) * 8 + error (3); six digits, as the RFC allows no more. */
    snprintf(expected, sizeof(expected),
        "<131>1 2026-11-21T09:30:00.123456Z PC_1 etwship 1234 3008 [etw@32473 "
        "provider=\"My Provider\" code=\"3008\" level=\"2\" time=\"2026-11-21T09:30:00.1234567Z\" "
        "id=\"0000000000000abc0000000000000007\"] %.*s",
        (int)strlen(native) - 1, native);
    assert_string_equal(one_message(), expected);
    end();
    begin(", facility: auth, app_name: x, sd_id: none");
    assert_int_equal(rig_send(&rig, ecs), OUTPUT_DELIVERED);
    snprintf(expected, sizeof(expected), "<36>1 2026-11-21T09:30:00.123456Z - x - 5 - %.*s",
        (int)strlen(ecs) - 1, ecs);
    assert_string_equal(one_message(), expected);
    end();
}

/* The output does not search each event for the machine: events with equal ends have one
 * machine. */
static void each_message_names_its_own_machine(void **state)
{
    (void)state;
    static const char events[] =
        "{\"@timestamp\":\"\",\"event\":{\"code\":1},\"process\":{\"pid\":1},\"host\":{\"a\":1},"
        "\"agent\":{\"name\":\"p\"}}\n"
        "{\"@timestamp\":\"\",\"event\":{\"code\":2},\"process\":{\"pid\":2},\"host\":{\"a\":1},"
        "\"agent\":{\"name\":\"p\"}}\n"
        "{\"event\":{\"code\":3},\"host\":{\"a\":1},\"agent\":{\"name\":\"p\"}}\n"
        "{\"event\":{\"code\":4},\"data\":{\"x\":\",\\\"host\\\":{\"},\"host\":{\"name\":\"q\"},"
        "\"agent\":{\"name\":\"p\"}}\n"
        "{\"event\":{\"code\":5},\"agent\":{\"name\":\"r\"},\"host\":{\"a\":1}}\n"
        "{\"event\":{\"code\":6},\"agent\":{\"name\":\"s\"},\"host\":{\"a\":1}}\n"
        "{\"event\":{\"code\":7},\"data\":{\"y\":1,\"host\":{\"name\":\"t\"}}}\n"
        "{\"event\":{\"code\":8},\"host\":{\"name\":\"u\"}}\n";
    static const char *const names[] = {"p", "p", "p", "q", "r", "s", "-", "u"};
    begin(", sd_id: none");
    assert_int_equal(rig_send(&rig, events), OUTPUT_DELIVERED);
    const char *at = (const char *)tcp_fake_bytes(fake).data;
    for (int i = 0; i < 8; i++) {
        char header[64];
        at = strstr(at, ">1 - ");
        assert_non_null(at);
        snprintf(header, sizeof(header), ">1 - %s etwship %s %d - {", names[i],
            i < 2 ? i ? "2" : "1" : "-", i + 1);
        if (strncmp(at, header, strlen(header)) != 0) {
            fail_msg("%.60s is not %s", at, header);
        }
        at++;
    }
    end();
}

/* The output writes the common parts of a kind of events once. */
static void a_message_says_the_same_whatever_came_before(void **state)
{
    (void)state;
    static const char start[] = "{\"@timestamp\":\"2026-11-21T09:30:0";
    static const char a[] = "Z\",\"provider\":{\"name\":\"A\"},\"event\":{\"code\":1,\"level\":2}";
    static const char b[] = "Z\",\"provider\":{\"name\":\"B\"},\"event\":{\"code\":2}";
    static const char host[] = ",\"host\":{\"name\":\"h\"}}";
    static const struct {
        const char *time, *kind, *rest, *end, *head;
    } events[] = {
        {"0.0000001", a, ",\"process\":{\"pid\":7}", host,
            "<131>1 2026-11-21T09:30:00.000000Z h etwship 7 1 [etw@32473 provider=\"A\" code=\"1\" "
            "level=\"2\" time=\"2026-11-21T09:30:00.0000001Z\"] "},
        {"1.1234567", a, ",\"process\":{\"pid\":12}", host,
            "<131>1 2026-11-21T09:30:01.123456Z h etwship 12 1 [etw@32473 provider=\"A\" "
            "code=\"1\" "
            "level=\"2\" time=\"2026-11-21T09:30:01.1234567Z\"] "},
        {"1.1234568", b, ",\"process\":{\"pid\":7,\"x\":1}", host,
            "<134>1 2026-11-21T09:30:01.123456Z h etwship 7 2 [etw@32473 provider=\"B\" code=\"2\" "
            "time=\"2026-11-21T09:30:01.1234568Z\"] "},
        {"1.1234569", b, ",\"process\":{\"pid\":\"9\"}", host,
            "<134>1 2026-11-21T09:30:01.123456Z h etwship 9 2 [etw@32473 provider=\"B\" code=\"2\" "
            "time=\"2026-11-21T09:30:01.1234569Z\"] "},
        {"1.12345", a, "", host,
            "<131>1 2026-11-21T09:30:01.12345Z h etwship - 1 [etw@32473 provider=\"A\" code=\"1\" "
            "level=\"2\" time=\"2026-11-21T09:30:01.12345Z\"] "},
        {"1.123456x", a, ",\"process\":{\"pid\":7}", host,
            "<131>1 - h etwship 7 1 [etw@32473 provider=\"A\" code=\"1\" "
            "level=\"2\" time=\"2026-11-21T09:30:01.123456xZ\"] "},
        {"2.1234567", a, ",\"process\":{\"pid\":8}", ",\"host\":{\"name\":\"i\"}}",
            "<131>1 2026-11-21T09:30:02.123456Z i etwship 8 1 [etw@32473 provider=\"A\" code=\"1\" "
            "level=\"2\" time=\"2026-11-21T09:30:02.1234567Z\"] "},
    };
    enum { COUNT = sizeof(events) / sizeof(events[0]) };
    char lines[COUNT * 256] = "";
    char expected[COUNT * 1024] = "";
    begin("");
    for (int twice = 0; twice < 2; twice++) {
        for (size_t i = 0; i < COUNT; i++) {
            char line[256];
            size_t size = (size_t)snprintf(line, sizeof(line), "%s%s%s%s%s", start, events[i].time,
                events[i].kind, events[i].rest, events[i].end);
            snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "%zu %s%s",
                strlen(events[i].head) + size, events[i].head, line);
            if (!twice) {
                snprintf(lines + strlen(lines), sizeof(lines) - strlen(lines), "%s\n", line);
            }
        }
        assert_int_equal(rig_send(&rig, lines), OUTPUT_DELIVERED);
    }
    assert_string_equal((const char *)tcp_fake_bytes(fake).data, expected);
    end();
}

static void values_of_structured_data_are_escaped(void **state)
{
    (void)state;
    begin("");
    assert_int_equal(
        rig_send(&rig, "{\"provider\":{\"name\":\"a\\\"b\\\\c]d\"}}\n"), OUTPUT_DELIVERED);
    assert_non_null(strstr(one_message(), "provider=\"a\\\"b\\\\c\\]d\"]"));
    end();
}

static void cef_and_leef_escape_as_their_documents_say(void **state)
{
    (void)state;
    begin(", message: cef, sd_id: none");
    assert_int_equal(rig_send(&rig, native), OUTPUT_DELIVERED);
    assert_string_equal(strstr(one_message(), "CEF:"),
        "CEF:0|etwship|My Provider|1|3008|3008|8|rt=1795253400123 dvchost=PC 1 dvcpid=1234 "
        "msg=two\\nlines\tand \"quotes\"] \\= | \xc3\xa4 Query_Name=a\\=b|c\\\\d\\ne N=7 L=[1,2]");
    end();
    begin(", message: leef, sd_id: none");
    assert_int_equal(rig_send(&rig, native), OUTPUT_DELIVERED);
    assert_string_equal(strstr(one_message(), "LEEF:"),
        "LEEF:2.0|etwship|My Provider|1|3008|x09|devTime=1795253400123\tsev=8\tcat=3008\t"
        "identHostName=PC 1\tpid=1234\tmsg=two\\nlines\\tand \"quotes\"] = | \xc3\xa4\t"
        "Query_Name=a=b|c\\d\\ne\tN=7\tL=[1,2]");
    end();
    begin(", message: cef, sd_id: none");
    assert_int_equal(
        rig_send(&rig, "{\"provider\":{\"name\":\"a|b\\\\c\\nd\"}}\n"), OUTPUT_DELIVERED);
    assert_non_null(strstr(one_message(), "|a\\|b\\\\c d|"));
    end();
}

/* A reader uses the first of two equal keys, or the last: both must be ours. */
static void a_payload_cannot_take_the_place_of_our_own_keys(void **state)
{
    (void)state;
    static const char event[] = "{\"event\":{\"code\":1},\"process\":{\"pid\":4},\"host\":{"
                                "\"name\":\"h\"},\"message\":\"m\","
                                "\"provider\":{\"name\":\"a|b\\\\c\"},\"data\":{\"msg\":\"1\","
                                "\"MSG\":\"2\",\"dvchost\":\"3\",\"rt\":4,"
                                "\"dvcpid\":5,\"sev\":6,\"cat\":7,\"devTime\":8,\"identHostName\":"
                                "9,\"pid\":10,\"msgs\":11}}\n";
    begin(", message: cef, sd_id: none");
    assert_int_equal(rig_send(&rig, event), OUTPUT_DELIVERED);
    assert_string_equal(strstr(one_message(), "CEF:"),
        "CEF:0|etwship|a\\|b\\\\c|1|1|1|3|dvchost=h dvcpid=4 msg=m data_msg=1 data_MSG=2 "
        "data_dvchost=3 "
        "data_rt=4 data_dvcpid=5 sev=6 cat=7 devTime=8 identHostName=9 pid=10 msgs=11");
    end();
    begin(", message: leef, sd_id: none");
    assert_int_equal(rig_send(&rig, event), OUTPUT_DELIVERED);
    assert_string_equal(strstr(one_message(), "LEEF:"),
        "LEEF:2.0|etwship|a b\\c|1|1|x09|sev=3\tcat=1\tidentHostName=h\tpid=4\tmsg=m\tdata_msg=1\t"
        "data_MSG=2\tdvchost=3\trt=4\tdvcpid=5\tdata_sev=6\tdata_cat=7\tdata_devTime=8\t"
        "data_identHostName=9\tdata_pid=10\tmsgs=11");
    end();
}

static void text_keeps_its_lines_and_marks_utf_8_where_that_is_wanted(void **state)
{
    (void)state;
    begin(", message: text, bom: true, sd_id: none");
    assert_int_equal(rig_send(&rig, native), OUTPUT_DELIVERED);
    assert_non_null(
        strstr(one_message(), " - \xef\xbb\xbftwo\nlines\tand \"quotes\"] = | \xc3\xa4"));
    end();
    begin(", message: text, framing: newline, sd_id: none");
    assert_int_equal(rig_send(&rig, native), OUTPUT_DELIVERED);
    assert_non_null(strstr((const char *)tcp_fake_bytes(fake).data, " - two lines\tand "));
    assert_int_equal(tcp_fake_bytes(fake).data[0], '<'); /* no length precedes a line */
    assert_ptr_equal(strchr((const char *)tcp_fake_bytes(fake).data, '\n') + 1,
        tcp_fake_bytes(fake).data + tcp_fake_bytes(fake).size);
    end();
}

static void a_long_message_arrives_whole_and_a_longer_one_is_cut_on_a_character(void **state)
{
    (void)state;
    enum { LONG = 60000 };
    static char line[LONG + 64];
    size_t at = (size_t)snprintf(line, sizeof(line), "{\"message\":\"");
    while (at < LONG) {
        at += (size_t)snprintf(line + at, sizeof(line) - at, "\xc3\xa4");
    }
    snprintf(line + at, sizeof(line) - at, "\"}\n");
    begin("");
    assert_int_equal(rig_send(&rig, line), OUTPUT_DELIVERED);
    assert_true(strstr(one_message(), "\xc3\xa4\"}") != NULL);
    end();
    begin(", max_message: 1000B");
    assert_int_equal(rig_send(&rig, line), OUTPUT_DELIVERED);
    const char *message = one_message();
    assert_true(strlen(message) == 1000 || strlen(message) == 999);
    assert_int_equal((uint8_t)message[strlen(message) - 1], 0xa4);
    assert_non_null(strstr(message, " cut_from=\"60"));
    end();
}

static void app_name_comes_from_a_template_and_holds_no_space(void **state)
{
    (void)state;
    static const uint32_t routes[] = {0};
    const struct span names[] = {span_text("etw-My Prov\xc3\xa4")};
    begin(", app_name: 'etw-{provider.name}', sd_id: none");
    assert_int_equal(rig_send_routed(&rig, "1\n", routes, names, 1, NULL), OUTPUT_DELIVERED);
    assert_string_equal(one_message(), "<134>1 - - etw-My_Prov__ - - - 1");
    end();
}

static void settings_that_cannot_be_meant_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *words;
    } cases[] = {
        {"{address: 'host'}", "address: this is not a host and port"},
        {"{address: 'host:0'}", "address: this is not a host and port"},
        {"{address: 'host:65536'}", "address: this is not a host and port"},
        {"{address: '::1:514'}", "address: this is not a host and port"},
        {"{address: 'https://host:514'}", "address: this is not a host and port"},
        {"{address: 'a b:514'}", "address: the address holds a space"},
        {"{address: 'h:1', sd_id: 'a b'}", "sd_id: "},
        {"{address: 'h:1', app_name: 'a b'}", "app_name: "},
        {"{address: 'h:1', app_name: '{nope}'}", "app_name: "},
        {"{address: 'h:1', transport: udp, framing: newline}", "framing: over udp"},
        {"{address: 'h:1', tls: {cert: c.pem}}", "tls: cert and key belong together"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rig_assert_fault(&output_syslog, cases[i].yaml, cases[i].words);
    }
}

/* ---- connections ----------------------------------------------------------------------------- */

static void a_connection_that_was_closed_is_noticed_before_anything_is_written(void **state)
{
    (void)state;
    begin(", sd_id: none");
    assert_int_equal(rig_send(&rig, "1\n"), OUTPUT_DELIVERED);
    tcp_fake_close(fake, false);
    assert_int_equal(rig_send(&rig, "2\n3\n"), OUTPUT_RECONNECT);
    assert_non_null(strstr(rig.report.error.text, "has closed the connection"));
    assert_int_equal(rig.report.maybe_lost, 0);
    assert_int_equal(rig.report.maybe_duplicates, 0);
    reconnect();
    assert_int_equal(rig_send(&rig, "2\n3\n"), OUTPUT_DELIVERED);
    assert_string_equal((const char *)tcp_fake_bytes(fake).data,
        "26 <134>1 - - etwship - - - 126 <134>1 - - etwship - - - 226 <134>1 - - etwship - - - 3");
    end();
}

static void what_a_reset_may_have_lost_is_told_with_a_bound(void **state)
{
    (void)state;
    begin("");
    assert_int_equal(rig_send(&rig, "1\n2\n"), OUTPUT_DELIVERED);
    assert_int_equal(rig_send(&rig, "3\n"), OUTPUT_DELIVERED);
    tcp_fake_close(fake, true); /* the receiver has read nothing of it */
    assert_int_equal(rig_send(&rig, "4\n"), OUTPUT_RECONNECT);
    assert_int_equal(rig.report.maybe_lost, 3);
    reconnect();
    assert_int_equal(rig_send(&rig, "4\n"), OUTPUT_DELIVERED);
    /* Bytes of an earlier connection are not counted again. */
    tcp_fake_close(fake, true);
    assert_int_equal(rig_send(&rig, "5\n"), OUTPUT_RECONNECT);
    assert_int_equal(rig.report.maybe_lost, 1);
    end();
}

/* However many deliveries its buffer holds. */
static void small_deliveries_count_as_well_as_large_ones(void **state)
{
    (void)state;
    enum { DELIVERIES = 40 };
    begin("");
    for (int i = 0; i < DELIVERIES; i++) {
        assert_int_equal(rig_send(&rig, "1\n"), OUTPUT_DELIVERED);
    }
    tcp_fake_close(fake, true);
    assert_int_equal(rig_send(&rig, "2\n"), OUTPUT_RECONNECT);
    assert_int_equal(rig.report.maybe_lost, DELIVERIES);
    end();
}

/* A program that announces its end, and ends with unread messages: an end, and then a reset. */
static void a_reset_after_an_end_is_one(void **state)
{
    (void)state;
    begin("");
    assert_int_equal(rig_send(&rig, "1\n2\n"), OUTPUT_DELIVERED);
    tcp_fake_end(fake);
    tcp_fake_close(fake, true);
    assert_int_equal(rig_send(&rig, "3\n"), OUTPUT_RECONNECT);
    assert_int_equal(rig.report.maybe_lost, 2);
    reconnect();
    /* A receiver that ends after it has read everything has lost nothing. */
    assert_int_equal(rig_send(&rig, "3\n"), OUTPUT_DELIVERED);
    tcp_fake_end(fake);
    tcp_fake_close(fake, false);
    assert_int_equal(rig_send(&rig, "4\n"), OUTPUT_RECONNECT);
    assert_int_equal(rig.report.maybe_lost, 0);
    end();
}

static void a_reset_after_the_last_delivery_is_noticed_while_nothing_is_sent(void **state)
{
    (void)state;
    begin("");
    assert_int_equal(rig_send(&rig, "1\n2\n"), OUTPUT_DELIVERED);
    assert_true(rig.ops->idle(rig.self) != UINT64_MAX);
    tcp_fake_end(fake);
    tcp_fake_close(fake, true);
    assert_true(rig.ops->idle(rig.self) == UINT64_MAX);
    assert_int_equal(rig_send(&rig, "3\n"), OUTPUT_RECONNECT);
    assert_int_equal(rig.report.maybe_lost, 2);
    reconnect();
    assert_int_equal(rig_send(&rig, "3\n"), OUTPUT_DELIVERED);
    assert_int_equal(rig.report.maybe_lost, 0); /* counted once */
    /* A break while the output gives up the connection counts for the next delivery. */
    tcp_fake_close(fake, true);
    reconnect();
    assert_int_equal(rig_send(&rig, "4\n"), OUTPUT_DELIVERED);
    assert_int_equal(rig.report.maybe_lost, 1);
    end();
}

static char warned[512];

static void keep_warning(void *host, const char *text)
{
    (void)host;
    snprintf(warned, sizeof(warned), "%s", text);
}

static void a_reset_that_no_delivery_can_report_is_a_warning(void **state)
{
    (void)state;
    char yaml[128];
    struct error err = {0};
    struct config *config = config_create(NULL, NULL);
    fake = tcp_fake_start();
    snprintf(yaml, sizeof(yaml), "{address: '127.0.0.1:%u', transport: tcp}", tcp_fake_port(fake));
    void *settings = rig_settings(config, &output_syslog, yaml, &err);
    rig = (struct output_rig){.ops = &output_syslog,
        .self = output_syslog.create(
            settings, &(struct output_env){.name = "t", .warn = keep_warning}, &err)};
    assert_non_null(rig.self);
    assert_true(rig.ops->connect(rig.self, &err));
    assert_int_equal(rig_send(&rig, "1\n2\n3\n"), OUTPUT_DELIVERED);
    tcp_fake_close(fake, true);
    rig.ops->disconnect(rig.self);
    end();
    assert_string_equal(
        warned, "a connection failed: at most 3 events that were sent before may be lost");
    config_destroy(config);
}

static void a_receiver_that_takes_nothing_ends_the_try(void **state)
{
    (void)state;
    enum { LINE = 4000000 };
    static char line[LINE + 2];
    memset(line, '1', LINE);
    line[LINE] = '\n';
    begin(", timeout: 100ms, max_message: 8MB");
    enum output_verdict verdict = OUTPUT_DELIVERED;
    for (int i = 0; i < 10 && verdict == OUTPUT_DELIVERED; i++) {
        verdict = rig_send(&rig, line);
    }
    assert_int_equal(verdict, OUTPUT_RECONNECT);
    end();
}

static void datagrams_are_a_message_each(void **state)
{
    (void)state;
    struct error err = {0};
    rig_setup(&rig, &output_syslog, "{address: '127.0.0.1:9', transport: udp}");
    assert_int_equal(rig_send(&rig, "1\n"), OUTPUT_RECONNECT);
    assert_true(rig.ops->connect(rig.self, &err));
    assert_int_equal(rig_send(&rig, "1\n"), OUTPUT_DELIVERED);
    rig_teardown(&rig);
}

static void an_examination_names_what_is_wrong(void **state)
{
    (void)state;
    struct output_rig trial;
    assert_false(
        rig_examine(&trial, &output_syslog, "{address: '127.0.0.1:1', connect_timeout: 2s}"));
    assert_non_null(strstr(trial.findings, "fault: tls://127.0.0.1:1: no connection"));
    assert_true(rig_examine(&trial, &output_syslog, "{address: '127.0.0.1:1', transport: udp}"));
    assert_non_null(
        strstr(trial.findings, "note: the name has an address. over udp there is no answer"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_is_as_rfc_5424_has_it),
        cmocka_unit_test(each_message_names_its_own_machine),
        cmocka_unit_test(a_message_says_the_same_whatever_came_before),
        cmocka_unit_test(values_of_structured_data_are_escaped),
        cmocka_unit_test(cef_and_leef_escape_as_their_documents_say),
        cmocka_unit_test(a_payload_cannot_take_the_place_of_our_own_keys),
        cmocka_unit_test(text_keeps_its_lines_and_marks_utf_8_where_that_is_wanted),
        cmocka_unit_test(a_long_message_arrives_whole_and_a_longer_one_is_cut_on_a_character),
        cmocka_unit_test(app_name_comes_from_a_template_and_holds_no_space),
        cmocka_unit_test(settings_that_cannot_be_meant_are_refused),
        cmocka_unit_test(a_connection_that_was_closed_is_noticed_before_anything_is_written),
        cmocka_unit_test(what_a_reset_may_have_lost_is_told_with_a_bound),
        cmocka_unit_test(small_deliveries_count_as_well_as_large_ones),
        cmocka_unit_test(a_reset_after_an_end_is_one),
        cmocka_unit_test(a_reset_after_the_last_delivery_is_noticed_while_nothing_is_sent),
        cmocka_unit_test(a_reset_that_no_delivery_can_report_is_a_warning),
        cmocka_unit_test(a_receiver_that_takes_nothing_ends_the_try),
        cmocka_unit_test(datagrams_are_a_message_each),
        cmocka_unit_test(an_examination_names_what_is_wrong),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
