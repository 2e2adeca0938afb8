#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "platform/plat_system.h"

/*
 * The handler does what is allowed in one: it counts, and writes a byte to a pipe. A thread that
 * waits on the pipe calls back. So it does not matter which thread the system picks for a signal or
 * when that thread was made, and the second signal works even while the first is being handled.
 * Thread and pipe live as long as the process.
 */
static struct {
    int read_fd;
    int write_fd;
    void (*stop)(void *self);
    void *self;
} stopper = {.read_fd = -1, .write_fd = -1};

static atomic_int signals_seen;

enum { EXIT_SECOND_SIGNAL = 130 };

static void on_signal(int number)
{
    (void)number;
    if (atomic_fetch_add(&signals_seen, 1) > 0) {
        _exit(EXIT_SECOND_SIGNAL);
    }
    int saved = errno;
    static const char byte = 1;
    if (write(stopper.write_fd, &byte, 1) != 1) {
        _exit(EXIT_SECOND_SIGNAL); /* nobody would ever know that a stop was asked for */
    }
    errno = saved;
}

static void *wait_for_signal(void *unused)
{
    (void)unused;
    char byte;
    ssize_t got;
    do {
        got = read(stopper.read_fd, &byte, 1);
    } while (got < 0 && errno == EINTR);
    if (got == 1) {
        stopper.stop(stopper.self);
    }
    return NULL;
}

static bool install(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    return sigaction(number, &action, NULL) == 0;
}

bool plat_on_stop(void (*stop)(void *self), void *self, struct error *err)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) {
        return error_set_os(err, errno, strerror(errno), "cannot make a pipe for signals");
    }
    stopper.read_fd = fds[0];
    stopper.write_fd = fds[1];
    stopper.stop = stop;
    stopper.self = self;

    pthread_t thread;
    int code = pthread_create(&thread, NULL, wait_for_signal, NULL);
    if (code != 0) {
        close(fds[0]);
        close(fds[1]);
        return error_set_os(err, code, strerror(code), "cannot start the thread for signals");
    }
    pthread_detach(thread);
    if (!install(SIGINT, on_signal) || !install(SIGTERM, on_signal) || !install(SIGPIPE, SIG_IGN)) {
        return error_set_os(err, errno, strerror(errno), "cannot handle signals");
    }
    return true;
}
