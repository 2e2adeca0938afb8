#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "platform/plat_signal.h"
#include "platform/plat_thread.h"

/*
 * The handler only does what is allowed in one: it sets a flag and writes a byte to a pipe. A
 * thread that waits on the pipe makes the callbacks. So it does not matter which thread receives a
 * signal, though only the first thread does (plat_thread_start), and a second stop works even while
 * the first is being handled. A full pipe loses nothing: the thread will wake up anyway and check
 * the flags. Thread and pipe live as long as the process.
 */
struct callback {
    void (*call)(void *self);
    void *self;
};

static struct {
    int read_fd;
    int write_fd;
    struct callback stop;
    struct callback hangup;
} wakeup = {.read_fd = -1, .write_fd = -1};

static atomic_llong first_stop_ms; /* monotonic clock; 0: none yet */
static atomic_int repeated_stops;
static atomic_bool stop_wanted;
static atomic_bool hangup_wanted;
static atomic_bool kill_wanted;

/* State of plat_on_kill; the lock is also held during the call. */
static struct {
    pthread_mutex_t lock;
    struct callback last;
} killing = {.lock = PTHREAD_MUTEX_INITIALIZER};
static atomic_bool has_last; /* for the handler */

enum { EXIT_SECOND_SIGNAL = 130 };

static void wake(void)
{
    int saved = errno;
    static const char byte = 1;
    if (write(wakeup.write_fd, &byte, 1) != 1 && errno != EAGAIN) {
        _exit(EXIT_SECOND_SIGNAL); /* the callback for a stop was never set up */
    }
    errno = saved;
}

static long long monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void on_stop_signal(int number)
{
    (void)number;
    long long now_ms = monotonic_ms();
    long long first_ms = 0;
    if (atomic_compare_exchange_strong(&first_stop_ms, &first_ms, now_ms)) {
        atomic_store(&stop_wanted, true);
        wake();
        return;
    }
    if (now_ms - first_ms < PLAT_STOP_REPEAT_MS) {
        return;
    }
    if (atomic_fetch_add(&repeated_stops, 1) > 0 || !atomic_load(&has_last)) {
        _exit(EXIT_SECOND_SIGNAL);
    }
    atomic_store(&kill_wanted, true);
    wake();
}

static void end_at_once(void)
{
    pthread_mutex_lock(&killing.lock);
    if (killing.last.call) {
        killing.last.call(killing.last.self);
    }
    _exit(EXIT_SECOND_SIGNAL);
}

static void on_hangup(int number)
{
    (void)number;
    atomic_store(&hangup_wanted, true);
    wake();
}

static void wait_for_signals(void *unused)
{
    (void)unused;
    for (;;) {
        char bytes[64];
        ssize_t got = read(wakeup.read_fd, bytes, sizeof(bytes));
        if (got <= 0 && errno != EINTR) {
            return;
        }
        if (atomic_exchange(&stop_wanted, false)) {
            wakeup.stop.call(wakeup.stop.self);
        }
        if (atomic_load(&kill_wanted)) {
            end_at_once();
        }
        if (atomic_exchange(&hangup_wanted, false)) {
            wakeup.hangup.call(wakeup.hangup.self);
        }
    }
}

static bool install(int number, void (*handler)(int), struct error *err)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    return sigaction(number, &action, NULL) == 0 ||
           error_set_os(err, errno, strerror(errno), "cannot handle signals");
}

/* Create pipe and thread once. */
static bool start(struct error *err)
{
    if (wakeup.read_fd >= 0) {
        return true;
    }
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) {
        return error_set_os(err, errno, strerror(errno), "cannot make a pipe for signals");
    }
    fcntl(fds[1], F_SETFL, O_NONBLOCK); /* the handler must not block */
    wakeup.read_fd = fds[0];
    wakeup.write_fd = fds[1];

    struct plat_thread *thread = plat_thread_start("signals", wait_for_signals, NULL, err);
    if (!thread) {
        close(fds[0]);
        close(fds[1]);
        wakeup.read_fd = wakeup.write_fd = -1;
        return false;
    }
    plat_thread_detach(thread);
    return true;
}

bool plat_on_stop(void (*stop)(void *self), void *self, struct error *err)
{
    wakeup.stop = (struct callback){.call = stop, .self = self};
    return start(err) && install(SIGINT, on_stop_signal, err) &&
           install(SIGTERM, on_stop_signal, err) && install(SIGPIPE, SIG_IGN, err);
}

void plat_on_kill(void (*last)(void *self), void *self)
{
    pthread_mutex_lock(&killing.lock);
    killing.last = (struct callback){.call = last, .self = self};
    atomic_store(&has_last, last != NULL);
    pthread_mutex_unlock(&killing.lock);
}

bool plat_on_hangup(void (*hangup)(void *self), void *self, struct error *err)
{
    wakeup.hangup = (struct callback){.call = hangup, .self = self};
    return start(err) && install(SIGHUP, on_hangup, err);
}
