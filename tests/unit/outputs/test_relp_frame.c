#include "outputs/relp/relp_frame.h"

#include "support/test.h"

/* Frames of RELP: relp.txt of librelp. Bytes at random are for a fuzz target. */

static void a_frame_is_read_when_all_of_it_is_there(void **state)
{
    (void)state;
    static const char two[] = "7 rsp 6 200 OK\n8 rsp 0\n";
    struct relp_frame frame;
    size_t size;
    for (size_t i = 0; i < 15; i++) {
        assert_int_equal(relp_frame_read(span_make(two, i), &frame, &size), RELP_MORE);
    }
    assert_int_equal(relp_frame_read(span_text(two), &frame, &size), RELP_FRAME);
    assert_int_equal(size, 15);
    assert_int_equal(frame.txnr, 7);
    assert_span(frame.command, "rsp");
    assert_span(frame.data, "200 OK");
    assert_int_equal(relp_frame_read(span_text(two + 15), &frame, &size), RELP_FRAME);
    assert_int_equal(size, 8);
    assert_int_equal(frame.data.size, 0);
    assert_int_equal(relp_frame_read(span_text("x rsp 0\n"), &frame, &size), RELP_BAD);
}

static void an_answer_to_open_offers_its_commands(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        bool offers;
    } rows[] = {
        {"200 OK\nrelp_version=0\ncommands=syslog", true},
        {"200 OK\ncommands=syslog\nrelp_version=0", true},
        {"200 OK\ncommands=eventlog,syslog\n", true},
        {"200 OK\ncommands=syslog,eventlog\n", true},
        {"200 OK\ncommands=eventlog, syslog ,x\n", true},
        {"200 OK\ncommands=eventlog\ncommands=syslog\n", true},
        {"200 OK\ncommands=syslogs,asyslog\n", false},
        {"200 OK\ncommands=xsyslog", false},
        {"200 OK\ncommands=", false},
        {"200 OK\nmore_commands=syslog\n", false},
        {"200 OK\nrelp_version=0\n", false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (relp_frame_offers(span_text(rows[i].data), "syslog") != rows[i].offers) {
            fail_msg("%s", rows[i].data);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_is_read_when_all_of_it_is_there),
        cmocka_unit_test(an_answer_to_open_offers_its_commands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
