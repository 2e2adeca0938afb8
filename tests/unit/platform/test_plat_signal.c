#define _GNU_SOURCE

#include "support/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/plat_signal.h"

/* Signals are for a whole process, so each case runs in a child, whose exit code is the result. */
enum { STOPPED = 10, NO_STOP = 11 };

static int stop_pipe[2];

static void tell(void *self)
{
    (void)self;
    if (write(stop_pipe[1], "s", 1) != 1) {
        _exit(NO_STOP);
    }
}

static void never_return(void *self)
{
    tell(self);
    for (;;) {
        pause();
    }
}

static void wait_for_stop(void)
{
    char byte;
    if (read(stop_pipe[0], &byte, 1) != 1) {
        _exit(NO_STOP);
    }
}

static void first_signal(int number)
{
    if (!plat_on_stop(tell, NULL, NULL)) {
        _exit(NO_STOP);
    }
    kill(getpid(), number);
    wait_for_stop();
    _exit(STOPPED);
}

static void second_signal(int number)
{
    if (!plat_on_stop(never_return, NULL, NULL)) {
        _exit(NO_STOP);
    }
    kill(getpid(), number);
    wait_for_stop();
    for (;;) { /* a signal too soon after the first one would be merged with it */
        kill(getpid(), number);
        usleep(50 * 1000);
    }
}

static void signals_at_once(int number)
{
    if (!plat_on_stop(tell, NULL, NULL)) {
        _exit(NO_STOP);
    }
    kill(getpid(), number);
    kill(getpid(), SIGTERM);
    kill(getpid(), SIGINT);
    wait_for_stop();
    _exit(STOPPED);
}

static void closed_pipe(int number)
{
    (void)number;
    if (!plat_on_stop(tell, NULL, NULL)) {
        _exit(NO_STOP);
    }
    int fds[2];
    if (pipe(fds) != 0 || close(fds[0]) != 0) {
        _exit(NO_STOP);
    }
    _exit(write(fds[1], "x", 1) == -1 ? STOPPED : NO_STOP);
}

static void hangups(int number)
{
    (void)number;
    if (!plat_on_hangup(tell, NULL, NULL) || !plat_on_stop(never_return, NULL, NULL)) {
        _exit(NO_STOP);
    }
    for (int i = 0; i < 3; i++) {
        kill(getpid(), SIGHUP);
        wait_for_stop();
    }
    _exit(STOPPED);
}

static int exit_code_of(void (*body)(int number), int number)
{
    assert_int_equal(pipe2(stop_pipe, O_CLOEXEC), 0);
    fflush(stdout);
    fflush(stderr);
    pid_t child = fork();
    if (child == 0) {
        alarm(60); /* a hang is a failure, not a wait */
        body(number);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    close(stop_pipe[0]);
    close(stop_pipe[1]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void the_first_signal_asks_to_stop(void **state)
{
    (void)state;
    assert_int_equal(exit_code_of(first_signal, SIGINT), STOPPED);
    assert_int_equal(exit_code_of(first_signal, SIGTERM), STOPPED);
}

static void a_second_signal_ends_even_a_stop_that_hangs(void **state)
{
    (void)state;
    assert_int_equal(exit_code_of(second_signal, SIGINT), 130);
    assert_int_equal(exit_code_of(second_signal, SIGTERM), 130);
}

static void signals_that_come_at_once_are_one(void **state)
{
    (void)state;
    assert_int_equal(exit_code_of(signals_at_once, SIGINT), STOPPED);
    assert_int_equal(exit_code_of(signals_at_once, SIGTERM), STOPPED);
}

static void every_hangup_asks_for_log_files_to_be_reopened(void **state)
{
    (void)state;
    assert_int_equal(exit_code_of(hangups, 0), STOPPED);
}

static void a_closed_pipe_is_no_signal(void **state)
{
    (void)state;
    assert_int_equal(exit_code_of(closed_pipe, 0), STOPPED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_signal_asks_to_stop),
        cmocka_unit_test(signals_that_come_at_once_are_one),
        cmocka_unit_test(a_second_signal_ends_even_a_stop_that_hangs),
        cmocka_unit_test(every_hangup_asks_for_log_files_to_be_reopened),
        cmocka_unit_test(a_closed_pipe_is_no_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
