#define _GNU_SOURCE

#include "platform/plat_child.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>

#include "support/await.h"
#include "support/test.h"

/* What a program finds of this process's signals, and what is left of it. */

static struct plat_child *launch(const char *line)
{
    struct error err = {0};
    struct plat_child *child = plat_child_launch(line, "/", &err);
    if (!child) {
        print_error("%s\n", err.text);
    }
    assert_non_null(child);
    assert_true(plat_child_go(child, NULL));
    return child;
}

static void a_broken_pipe_ends_a_program_as_usual(void **state)
{
    (void)state;
    uint32_t code = 0;
    struct plat_child *child = launch("/bin/sh -c \"kill -PIPE $$; exit 7\"");
    AWAIT(plat_child_has_ended(child, &code));
    assert_int_equal(code, UINT32_MAX); /* the signal has ended it */
    plat_child_close(child);
}

static void a_program_that_was_released_leaves_no_zombie(void **state)
{
    (void)state;
    struct plat_child *child = launch("/bin/true");
    pid_t pid = (pid_t)plat_child_pid(child);
    plat_child_close(child);
    AWAIT(kill(pid, 0) != 0); /* a zombie could be asked */
    assert_int_equal(errno, ESRCH);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN); /* as the agent does */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broken_pipe_ends_a_program_as_usual),
        cmocka_unit_test(a_program_that_was_released_leaves_no_zombie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
