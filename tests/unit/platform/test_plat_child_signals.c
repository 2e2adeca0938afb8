#include "platform/plat_child.h"

#include <signal.h>
#include <stdint.h>

#include "support/await.h"
#include "support/test.h"

/* What a program finds of this process's signals. */

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

int main(void)
{
    signal(SIGPIPE, SIG_IGN); /* as the agent does */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broken_pipe_ends_a_program_as_usual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
