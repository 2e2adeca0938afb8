#define _GNU_SOURCE

#include "support/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "platform/plat_notify.h"

/* The socket of a service manager is a real one, bound like systemd's (unix(7)). */
struct manager {
    int fd;
    char name[128]; /* for NOTIFY_SOCKET */
    char folder[64];
};

static void set_up_name(struct manager *manager, bool abstract)
{
    snprintf(manager->folder, sizeof(manager->folder), "/tmp/etwship-notify-XXXXXX");
    assert_non_null(mkdtemp(manager->folder));
    snprintf(
        manager->name, sizeof(manager->name), "%s%s/socket", abstract ? "@" : "", manager->folder);
}

static void set_up(struct manager *manager, bool abstract)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    set_up_name(manager, abstract);
    memcpy(address.sun_path, manager->name, strlen(manager->name));
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(manager->name));
    if (abstract) {
        address.sun_path[0] = '\0';
    } else {
        size++;
    }
    manager->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(manager->fd >= 0);
    assert_int_equal(bind(manager->fd, (struct sockaddr *)&address, size), 0);
    setenv("NOTIFY_SOCKET", manager->name, 1);
}

static void tear_down(struct manager *manager)
{
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    if (manager->fd >= 0) {
        close(manager->fd);
    }
    if (manager->name[0] == '/') {
        unlink(manager->name);
    }
    rmdir(manager->folder);
}

static void expect(const struct manager *manager, const char *text)
{
    char got[8192];
    ssize_t size = recv(manager->fd, got, sizeof(got), 0);
    assert_true(size >= 0);
    assert_span(span_make(got, (size_t)size), text);
}

static void expect_nothing(const struct manager *manager)
{
    char got[1];
    assert_int_equal(recv(manager->fd, got, sizeof(got), 0), -1);
    assert_int_equal(errno, EAGAIN);
}

static void messages_arrive_one_by_one_at(bool abstract)
{
    struct manager manager;
    set_up(&manager, abstract);
    struct plat_notify *notify = plat_notify_open();
    assert_non_null(notify);
    assert_true(plat_notify_send(notify, span_text("READY=1\nSTATUS=up")));
    assert_true(plat_notify_send(notify, span_text("WATCHDOG=1")));
    expect(&manager, "READY=1\nSTATUS=up");
    expect(&manager, "WATCHDOG=1");
    expect_nothing(&manager);
    plat_notify_close(notify);
    tear_down(&manager);
}

static void messages_arrive_at_a_path(void **state)
{
    (void)state;
    messages_arrive_one_by_one_at(false);
}

static void messages_arrive_at_an_abstract_name(void **state)
{
    (void)state;
    messages_arrive_one_by_one_at(true);
}

static void a_name_may_fill_the_address(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[sizeof(address.sun_path) + 2] = "";
    struct manager manager = {.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    /* Random letters after a common part, because abstract names belong to the whole machine. */
    int head = snprintf(name, sizeof(name), "@etwship-notify-%ld-", (long)getpid());
    memset(name + head, 'n', sizeof(address.sun_path) - (size_t)head);
    memcpy(address.sun_path, name, sizeof(address.sun_path));
    address.sun_path[0] = '\0';
    assert_int_equal(bind(manager.fd, (struct sockaddr *)&address, sizeof(address)), 0);
    setenv("NOTIFY_SOCKET", name, 1);
    struct plat_notify *notify = plat_notify_open();
    assert_true(plat_notify_send(notify, span_text("READY=1")));
    expect(&manager, "READY=1");
    plat_notify_close(notify);
    /* With one more byte it has no room in an address. */
    name[sizeof(address.sun_path)] = 'n';
    setenv("NOTIFY_SOCKET", name, 1);
    assert_null(plat_notify_open());
    /* Nor has a path of that size with its NUL. */
    name[0] = '/';
    name[sizeof(address.sun_path)] = '\0';
    setenv("NOTIFY_SOCKET", name, 1);
    assert_null(plat_notify_open());
    unsetenv("NOTIFY_SOCKET");
    close(manager.fd);
}

static void without_a_manager_nothing_happens(void **state)
{
    (void)state;
    static const char *const names[] = {
        NULL, "", "@", "/", "relative/socket", "vsock:2:1234", "vsock-stream:2:1234"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i]) {
            setenv("NOTIFY_SOCKET", names[i], 1);
        } else {
            unsetenv("NOTIFY_SOCKET");
        }
        assert_null(plat_notify_open());
    }
    unsetenv("NOTIFY_SOCKET");
    assert_true(plat_notify_send(NULL, span_text("READY=1")));
    assert_int_equal(plat_notify_watchdog_ns(NULL), 0);
    plat_notify_close(NULL);
}

static void a_manager_that_is_gone_is_no_reason_to_try_again(void **state)
{
    (void)state;
    struct manager manager;
    set_up(&manager, false);
    struct plat_notify *notify = plat_notify_open();
    assert_non_null(notify);
    close(manager.fd);
    manager.fd = -1;
    assert_true(plat_notify_send(notify, span_text("WATCHDOG=1"))); /* ECONNREFUSED */
    unlink(manager.name);
    assert_true(plat_notify_send(notify, span_text("WATCHDOG=1"))); /* ENOENT */
    plat_notify_close(notify);
    tear_down(&manager);
}

static void a_manager_that_comes_back_is_found(void **state)
{
    (void)state;
    struct manager manager;
    set_up(&manager, false);
    struct plat_notify *notify = plat_notify_open();
    close(manager.fd);
    unlink(manager.name);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, manager.name, strlen(manager.name));
    manager.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(manager.fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_true(plat_notify_send(notify, span_text("WATCHDOG=1")));
    expect(&manager, "WATCHDOG=1");
    plat_notify_close(notify);
    tear_down(&manager);
}

static void a_full_queue_is_not_waited_for(void **state)
{
    (void)state;
    enum { MORE_THAN_ANY_QUEUE = 1000000 };
    struct manager manager;
    set_up(&manager, false);
    struct plat_notify *notify = plat_notify_open();
    int taken = 0;
    while (taken < MORE_THAN_ANY_QUEUE && plat_notify_send(notify, span_text("WATCHDOG=1"))) {
        taken++;
    }
    assert_true(taken > 0 && taken < MORE_THAN_ANY_QUEUE);
    expect(&manager, "WATCHDOG=1");
    assert_true(plat_notify_send(notify, span_text("READY=1")));
    for (int i = 1; i < taken; i++) {
        expect(&manager, "WATCHDOG=1");
    }
    expect(&manager, "READY=1");
    plat_notify_close(notify);
    tear_down(&manager);
}

static void what_the_manager_would_throw_away_is_not_sent(void **state)
{
    (void)state;
    static const char text[PLAT_NOTIFY_MAX_BYTES + 1] = "X_";
    struct manager manager;
    set_up(&manager, false);
    struct plat_notify *notify = plat_notify_open();
    assert_true(plat_notify_send(notify, span_make(text, sizeof(text))));
    expect_nothing(&manager);
    assert_true(plat_notify_send(notify, span_make(text, PLAT_NOTIFY_MAX_BYTES)));
    char got[2 * PLAT_NOTIFY_MAX_BYTES];
    assert_int_equal(recv(manager.fd, got, sizeof(got), 0), PLAT_NOTIFY_MAX_BYTES);
    plat_notify_close(notify);
    tear_down(&manager);
}

static void the_watchdog_is_what_the_environment_says(void **state)
{
    (void)state;
    char self[32];
    snprintf(self, sizeof(self), "%ld", (long)getpid());
    const struct {
        const char *usec;
        const char *pid;
        uint64_t ns;
    } cases[] = {
        {NULL, NULL, 0},
        {NULL, self, 0},
        {"20000000", NULL, UINT64_C(20000000000)},
        {"20000000", self, UINT64_C(20000000000)},
        {"20000000", "1", 0}, /* meant for another process, such as a wrapper */
        {"20000000", "", 0},
        {"20000000", "x", 0},
        {"1", NULL, 1000},
        {"0", NULL, 0},
        {"", NULL, 0},
        {"-1", NULL, 0},
        {"+1", NULL, 0},
        {" 1", NULL, 0},
        {"1s", NULL, 0},
        {"18446744073709551", NULL, UINT64_C(18446744073709551000)},
        {"18446744073709552", NULL, 0},
        {"18446744073709551616", NULL, 0},
    };
    struct manager manager;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        set_up(&manager, false);
        if (cases[i].usec) {
            setenv("WATCHDOG_USEC", cases[i].usec, 1);
        }
        if (cases[i].pid) {
            setenv("WATCHDOG_PID", cases[i].pid, 1);
        }
        struct plat_notify *notify = plat_notify_open();
        assert_non_null(notify);
        assert_true(plat_notify_watchdog_ns(notify) == cases[i].ns);
        plat_notify_close(notify);
        tear_down(&manager);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_arrive_at_a_path),
        cmocka_unit_test(messages_arrive_at_an_abstract_name),
        cmocka_unit_test(a_name_may_fill_the_address),
        cmocka_unit_test(without_a_manager_nothing_happens),
        cmocka_unit_test(a_manager_that_is_gone_is_no_reason_to_try_again),
        cmocka_unit_test(a_manager_that_comes_back_is_found),
        cmocka_unit_test(a_full_queue_is_not_waited_for),
        cmocka_unit_test(what_the_manager_would_throw_away_is_not_sent),
        cmocka_unit_test(the_watchdog_is_what_the_environment_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
