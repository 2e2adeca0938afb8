#include "unit/outputs/output_rig.h"

#include <signal.h>

#include "outputs/relp/relp_frame.h"
#include "support/relp_fake.h"

static struct output_rig rig;
static struct relp_fake *fake;

static const char *yaml(const char *more)
{
    static char text[512];
    snprintf(text, sizeof(text), "{address: '127.0.0.1:%u', transport: tcp, sd_id: none%s}",
        relp_fake_port(fake), more);
    return text;
}

static void begin(const char *more)
{
    struct error err = {0};
    fake = relp_fake_start();
    rig_setup(&rig, &output_relp, yaml(more));
    assert_true(rig.ops->connect(rig.self, &err));
}

static void end(void)
{
    rig_teardown(&rig);
    relp_fake_stop(fake);
}

static void assert_taken(const char *expected)
{
    char bodies[4096];
    relp_fake_bodies(fake, bodies, sizeof(bodies));
    assert_string_equal(bodies, expected);
}

/* ---- sessions -------------------------------------------------------------------------------- */

static void each_message_is_answered_for_and_the_session_ends_in_order(void **state)
{
    (void)state;
    begin("");
    assert_int_equal(rig_send(&rig, "1\n2\n"), OUTPUT_DELIVERED);
    assert_int_equal(rig_send(&rig, "3\n"), OUTPUT_DELIVERED);
    assert_taken("1\n2\n3\n");
    rig.ops->disconnect(rig.self);
    assert_int_equal(relp_fake_closes(fake), 1);
    end();
}

static void what_was_answered_before_a_break_does_not_come_again(void **state)
{
    (void)state;
    struct error err = {0};
    begin("");
    relp_fake_takes(fake, 2);
    assert_int_equal(rig_send(&rig, "1\n2\n3\n4\n"), OUTPUT_MIXED);
    assert_int_equal(rig.records[0], RECORD_DELIVERED);
    assert_int_equal(rig.records[1], RECORD_DELIVERED);
    assert_int_equal(rig.records[2], RECORD_RETRY);
    assert_int_equal(rig.records[3], RECORD_RETRY);
    assert_int_equal(rig.report.maybe_duplicates, 2);
    relp_fake_takes(fake, SIZE_MAX);
    assert_int_equal(rig_send(&rig, "3\n4\n"), OUTPUT_RECONNECT);
    rig.ops->disconnect(rig.self);
    assert_true(rig.ops->connect(rig.self, &err));
    assert_int_equal(rig_send(&rig, "3\n4\n"), OUTPUT_DELIVERED);
    assert_taken("1\n2\n3\n4\n");
    end();
}

static void a_small_window_delivers_all(void **state)
{
    (void)state;
    char lines[1024] = "";
    begin(", window: 3");
    for (int i = 0; i < 100; i++) {
        snprintf(lines + strlen(lines), sizeof(lines) - strlen(lines), "%d\n", i);
    }
    assert_int_equal(rig_send(&rig, lines), OUTPUT_DELIVERED);
    assert_taken(lines);
    end();
}

static void a_receiver_that_refuses_messages_degrades_the_output(void **state)
{
    (void)state;
    begin("");
    relp_fake_answers(fake, "500 disk full", NULL);
    assert_int_equal(rig_send(&rig, "1\n2\n"), OUTPUT_RETRY);
    assert_true(rig.report.degraded);
    assert_non_null(strstr(rig.report.error.text, "500 disk full"));
    assert_int_equal(rig.report.maybe_duplicates, 0);
    relp_fake_answers(fake, NULL, NULL);
    assert_int_equal(rig_send(&rig, "1\n2\n"), OUTPUT_DELIVERED);
    end();
}

static void no_answer_but_the_right_one_counts(void **state)
{
    (void)state;
    static const char *const answers[] = {"7 rsp 6 200 OK\n", "1 rsp 6 200 OK\n",
        "2 rsp 3 500\n2 rsp 3 500\n", "hello\n", "2 ok 6 200 OK\n", "0 serverclose 0\n",
        "2 rsp 6 200 OK", "2222222222 rsp 0\n", "2 rsp 99999999 200 OK\n", "",
        "2 rsp 6 500 no\n2 rsp 6 200 OK\n", "3 rsp 6 200 OK\n4 rsp 6 200 OK\n"};
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        begin(", timeout: 1s");
        relp_fake_raw(fake, answers[i]);
        enum output_verdict verdict = rig_send(&rig, "1\n2\n");
        if (verdict != OUTPUT_RECONNECT &&
            (verdict != OUTPUT_MIXED || rig.records[0] != RECORD_RETRY)) {
            fail_msg("%s: %d", answers[i], verdict);
        }
        assert_int_equal(rig_send(&rig, "1\n2\n"), OUTPUT_RECONNECT); /* the connection is closed */
        end();
    }
}

/* Byte by byte, and never complete. */
static void an_answer_that_never_ends_is_none(void **state)
{
    (void)state;
    begin(", timeout: 200ms");
    relp_fake_raw(fake, "2 rsp 100000 200 ");
    relp_fake_drips(fake);
    assert_int_equal(rig_send(&rig, "1\n"), OUTPUT_RECONNECT);
    assert_non_null(strstr(rig.report.error.text, "no answer in time"));
    assert_int_equal(rig.report.maybe_duplicates, 1);
    end();
}

static void an_answer_to_what_comes_later_is_none(void **state)
{
    (void)state;
    begin("");
    relp_fake_raw(fake, "2 rsp 6 200 OK\n3 rsp 6 200 OK\n");
    enum output_verdict verdict = rig_send(&rig, "1\n");
    assert_int_equal(verdict, OUTPUT_DELIVERED);
    assert_int_equal(rig_send(&rig, "2\n"), OUTPUT_RECONNECT);
    assert_non_null(strstr(rig.report.error.text, "an answer to a message that was not sent"));
    assert_int_equal(rig.report.maybe_duplicates, 0);
    end();
}

static void a_session_that_cannot_be_opened_says_why(void **state)
{
    (void)state;
    static const struct {
        const char *answer, *words;
    } cases[] = {{"500 not you", "refuses to open a session: 500 not you"},
        {"200 OK\ncommands=eventlog,syslogs", "does not accept syslog messages"},
        {"200 OK", "does not accept syslog messages"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct output_rig trial;
        fake = relp_fake_start();
        relp_fake_answers(fake, NULL, cases[i].answer);
        assert_false(rig_examine(&trial, &output_relp, yaml("")));
        assert_non_null(strstr(trial.findings, cases[i].words));
        relp_fake_stop(fake);
    }
    struct output_rig trial;
    fake = relp_fake_start();
    assert_true(rig_examine(&trial, &output_relp, yaml("")));
    relp_fake_stop(fake);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void frames_are_read_as_they_come(void **state)
{
    (void)state;
    static const char bytes[] = "12 rsp 6 200 OK\n3 serverclose 0\n4 rsp 0 \n";
    struct relp_frame frame;
    size_t size;
    for (size_t i = 0; i < 16; i++) {
        assert_int_equal(relp_frame_read(span_make(bytes, i), &frame, &size), RELP_MORE);
    }
    assert_int_equal(relp_frame_read(span_text(bytes), &frame, &size), RELP_FRAME);
    assert_int_equal(size, 16);
    assert_int_equal(frame.txnr, 12);
    assert_true(span_is(frame.command, "rsp") && span_is(frame.data, "200 OK"));
    assert_int_equal(relp_frame_code(frame.data), 200);
    assert_int_equal(relp_frame_read(span_text(bytes + 16), &frame, &size), RELP_FRAME);
    assert_true(span_is(frame.command, "serverclose") && frame.data.size == 0);
    assert_int_equal(relp_frame_read(span_text(bytes + 32), &frame, &size), RELP_FRAME);
    static const char *const bad[] = {"x", " 1 rsp 0\n", "1  rsp 0\n", "1 RSP 0\n", "1 rsp x\n",
        "1 rsp 6 200 OKx", "1 rsp 0x", "1234567890 rsp 0\n", "1 rsp 131073 "};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (relp_frame_read(span_text(bad[i]), &frame, &size) != RELP_BAD) {
            fail_msg("%s is taken", bad[i]);
        }
    }
    assert_int_equal(relp_frame_code(span_text("20")), 0);
    assert_int_equal(relp_frame_code(span_text("2000")), 0);
    assert_int_equal(relp_frame_code(span_text("500\nx")), 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_message_is_answered_for_and_the_session_ends_in_order),
        cmocka_unit_test(what_was_answered_before_a_break_does_not_come_again),
        cmocka_unit_test(a_small_window_delivers_all),
        cmocka_unit_test(a_receiver_that_refuses_messages_degrades_the_output),
        cmocka_unit_test(no_answer_but_the_right_one_counts),
        cmocka_unit_test(an_answer_that_never_ends_is_none),
        cmocka_unit_test(an_answer_to_what_comes_later_is_none),
        cmocka_unit_test(a_session_that_cannot_be_opened_says_why),
        cmocka_unit_test(frames_are_read_as_they_come),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
