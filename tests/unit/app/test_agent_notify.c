#define _GNU_SOURCE

#include "support/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "app/run/agent_notify.h"

/* A service manager on a socket; the clock is the test's. */
static struct {
    int fd;
    struct agent_notify notify;
} rig;

static const uint64_t second_ns = UINT64_C(1000000000);

static int set_up(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[64];
    int size = snprintf(name, sizeof(name), "@etwship-notify-%ld", (long)getpid());
    memcpy(address.sun_path + 1, name + 1, (size_t)size - 1);
    rig.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    setenv("NOTIFY_SOCKET", name, 1);
    setenv("WATCHDOG_USEC", "20000000", 1);
    unsetenv("WATCHDOG_PID");
    int bound = bind(rig.fd, (struct sockaddr *)&address,
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)size));
    agent_notify_init(&rig.notify);
    return bound;
}

static uint64_t tick(enum agent_phase phase, uint64_t now_ns)
{
    const struct agent_moment moment = {.phase = phase};
    return agent_notify_tick(&rig.notify, &moment, 10 * second_ns, now_ns);
}

static int tear_down(void **state)
{
    (void)state;
    agent_notify_fini(&rig.notify);
    close(rig.fd);
    return 0;
}

static void expect(const char *text)
{
    char got[8192];
    ssize_t size = recv(rig.fd, got, sizeof(got), 0);
    assert_true(size >= 0);
    assert_span(span_make(got, (size_t)size), text);
}

static void expect_nothing(void)
{
    char got[1];
    assert_int_equal(recv(rig.fd, got, sizeof(got), 0), -1);
    assert_int_equal(errno, EAGAIN);
}

#define READY "READY=1\nSTATUS=Running"
/* agent.shutdown of 10 s, and 30 s for the final steps. */
#define STOPPING "STOPPING=1\nSTATUS=Stopping\nEXTEND_TIMEOUT_USEC=40000000"

static void nothing_is_said_before_everything_runs(void **state)
{
    (void)state;
    assert_true(tick(AGENT_STARTING, 100 * second_ns) == UINT64_MAX);
    assert_false(agent_notify_status(&rig.notify, span_text("0 received")));
    expect_nothing();
}

static void a_life_is_told_once_each_and_in_order(void **state)
{
    (void)state;
    uint64_t now = 100 * second_ns;
    assert_true(tick(AGENT_RUNNING, now) == now + 10 * second_ns);
    expect(READY);
    tick(AGENT_RUNNING, now + 1);
    expect_nothing();
    assert_true(tick(AGENT_STOPPING, now + 2) == now + 10 * second_ns);
    expect(STOPPING);
    tick(AGENT_STOPPING, now + 3);
    expect_nothing();
}

static void a_short_life_is_told_whole(void **state)
{
    (void)state;
    tick(AGENT_STOPPING, 100 * second_ns);
    expect(READY);
    expect(STOPPING);
    expect_nothing();
}

static uint64_t tick_reload(enum agent_phase phase, uint64_t begun, uint64_t over, uint64_t now_ns)
{
    const struct agent_moment moment = {
        .phase = phase, .reloads_begun = begun, .reloads_over = over};
    return agent_notify_tick(&rig.notify, &moment, 10 * second_ns, now_ns);
}

/* sd_notify(3): RELOADING=1 comes with the time of CLOCK_MONOTONIC, READY=1 when it is over. */
#define RELOADING(seconds) "RELOADING=1\nMONOTONIC_USEC=" seconds "000000\nSTATUS=Reloading"

static void a_reload_is_told_with_its_time_and_when_it_is_over(void **state)
{
    (void)state;
    tick_reload(AGENT_RUNNING, 0, 0, 100 * second_ns);
    expect(READY);
    tick_reload(AGENT_RUNNING, 1, 0, 101 * second_ns);
    expect(RELOADING("101"));
    tick_reload(AGENT_RUNNING, 1, 0, 102 * second_ns);
    expect_nothing();
    tick_reload(AGENT_RUNNING, 1, 1, 103 * second_ns);
    expect(READY);
    tick_reload(AGENT_RUNNING, 1, 1, 104 * second_ns);
    expect_nothing();
}

static void an_unseen_reload_is_reported_whole_as_the_manager_waits_for_it(void **state)
{
    (void)state;
    tick_reload(AGENT_RUNNING, 0, 0, 100 * second_ns);
    expect(READY);
    tick_reload(AGENT_RUNNING, 2, 2, 105 * second_ns);
    expect(RELOADING("105"));
    expect(READY);
    /* One reload begins when another ends. */
    tick_reload(AGENT_RUNNING, 3, 2, 106 * second_ns);
    expect(RELOADING("106"));
    tick_reload(AGENT_RUNNING, 4, 3, 107 * second_ns);
    expect(READY);
    expect(RELOADING("107"));
    expect_nothing();
}

static void a_stop_ends_a_reload(void **state)
{
    (void)state;
    tick_reload(AGENT_RUNNING, 1, 0, 100 * second_ns);
    expect(READY);
    expect(RELOADING("100"));
    tick_reload(AGENT_STOPPING, 1, 0, 101 * second_ns);
    expect(STOPPING);
    tick_reload(AGENT_STOPPING, 1, 1, 102 * second_ns);
    expect_nothing();
}

static void signs_of_life_come_in_half_of_the_time_until_the_end(void **state)
{
    (void)state;
    uint64_t now = 100 * second_ns;
    uint64_t next = tick(AGENT_RUNNING, now);
    expect(READY);
    for (int i = 0; i < 5; i++) {
        enum agent_phase phase = i < 3 ? AGENT_RUNNING : AGENT_STOPPING;
        tick(phase, next - 1);
        if (i == 3) {
            expect(STOPPING);
        }
        expect_nothing();
        now = next;
        next = tick(phase, now);
        assert_true(next == now + 10 * second_ns);
        expect("WATCHDOG=1");
        expect_nothing();
    }
}

static void without_a_watchdog_no_thread_is_woken(void **state)
{
    (void)state;
    agent_notify_fini(&rig.notify);
    unsetenv("WATCHDOG_USEC");
    agent_notify_init(&rig.notify);
    assert_true(tick(AGENT_RUNNING, 100 * second_ns) == UINT64_MAX);
    expect(READY);
    assert_true(tick(AGENT_RUNNING, 900 * second_ns) == UINT64_MAX);
    expect_nothing();
}

static void without_a_manager_nothing_is_to_be_done(void **state)
{
    (void)state;
    agent_notify_fini(&rig.notify);
    unsetenv("NOTIFY_SOCKET");
    agent_notify_init(&rig.notify);
    assert_true(tick(AGENT_STOPPING, 100 * second_ns) == UINT64_MAX);
    agent_notify_status(&rig.notify, span_text("unheard"));
    expect_nothing();
}

static void what_found_no_room_is_told_later_and_still_in_order(void **state)
{
    (void)state;
    uint64_t now = 100 * second_ns;
    int filled = 0;
    while (plat_notify_send(rig.notify.manager, span_text("X=1"))) {
        filled++;
    }
    uint64_t next = tick(AGENT_RUNNING, now);
    assert_true(next > now && next <= now + second_ns);
    /* No other message overtakes it. */
    tick(AGENT_STOPPING, next - 1);
    for (int i = 0; i < filled; i++) {
        expect("X=1");
    }
    expect_nothing();
    tick(AGENT_STOPPING, next);
    expect(READY);
    expect(STOPPING);
    expect_nothing();
}

static void a_sign_of_life_without_room_is_repeated_before_it_is_missed(void **state)
{
    (void)state;
    uint64_t due = tick(AGENT_RUNNING, 100 * second_ns);
    expect(READY);
    while (plat_notify_send(rig.notify.manager, span_text("X=1"))) {}
    assert_false(agent_notify_status(&rig.notify, span_text("the caller repeats it")));
    uint64_t next = tick(AGENT_RUNNING, due);
    assert_true(next > due && next <= due + second_ns);
    char got[64];
    while (recv(rig.fd, got, sizeof(got), 0) >= 0) {}
    assert_true(tick(AGENT_RUNNING, next) == next + 10 * second_ns);
    expect("WATCHDOG=1");
}

static void a_status_is_one_line_of_text(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        const char *message;
    } cases[] = {
        {"1 received", "STATUS=1 received"},
        {"", "STATUS="},
        {"a\nSTOPPING=1", "STATUS=a STOPPING=1"},
        {"a\r\tb", "STATUS=a  b"},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "STATUS=\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"cut \xe2\x82", "STATUS=cut \xef\xbf\xbd"},
        {"broken \xff.", "STATUS=broken \xef\xbf\xbd."},
    };
    tick(AGENT_RUNNING, 100 * second_ns);
    expect(READY);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_true(agent_notify_status(&rig.notify, span_text(cases[i].line)));
        expect(cases[i].message);
    }
}

static void a_long_status_is_cut_between_characters(void **state)
{
    (void)state;
    char line[8 * PLAT_NOTIFY_MAX_BYTES];
    tick(AGENT_RUNNING, 100 * second_ns);
    expect(READY);
    for (size_t ahead = 0; ahead < 4; ahead++) {
        size_t size = ahead;
        memset(line, 'x', ahead);
        for (; size + 3 <= sizeof(line); size += 3) {
            memcpy(line + size, "\xe2\x82\xac", 3);
        }
        agent_notify_status(&rig.notify, span_make(line, size));
        char got[8192];
        ssize_t sent = recv(rig.fd, got, sizeof(got), 0);
        assert_in_range(sent, 1000, PLAT_NOTIFY_MAX_BYTES);
        assert_memory_equal(got + sent - 3, "\xe2\x82\xac", 3);
    }
}

#define with_manager(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_manager(nothing_is_said_before_everything_runs),
        with_manager(a_life_is_told_once_each_and_in_order),
        with_manager(a_short_life_is_told_whole),
        with_manager(a_reload_is_told_with_its_time_and_when_it_is_over),
        with_manager(an_unseen_reload_is_reported_whole_as_the_manager_waits_for_it),
        with_manager(a_stop_ends_a_reload),
        with_manager(signs_of_life_come_in_half_of_the_time_until_the_end),
        with_manager(without_a_watchdog_no_thread_is_woken),
        with_manager(without_a_manager_nothing_is_to_be_done),
        with_manager(what_found_no_room_is_told_later_and_still_in_order),
        with_manager(a_sign_of_life_without_room_is_repeated_before_it_is_missed),
        with_manager(a_status_is_one_line_of_text),
        with_manager(a_long_status_is_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
