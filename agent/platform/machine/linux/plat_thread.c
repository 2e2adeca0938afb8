#define _GNU_SOURCE

#include "platform/plat_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(struct plat_mutex), "plat_mutex is too small");
_Static_assert(sizeof(pthread_cond_t) <= sizeof(struct plat_cond), "plat_cond is too small");
_Static_assert(_Alignof(pthread_mutex_t) <= _Alignof(struct plat_mutex), "plat_mutex alignment");
_Static_assert(_Alignof(pthread_cond_t) <= _Alignof(struct plat_cond), "plat_cond alignment");

static pthread_mutex_t *mutex_of(struct plat_mutex *mutex)
{
    return (pthread_mutex_t *)mutex->room;
}

static pthread_cond_t *cond_of(struct plat_cond *cond)
{
    return (pthread_cond_t *)cond->room;
}

/* The type spins for some 100 rounds before the kernel puts the thread to sleep. Mutexes are held
 * for less than a microsecond here, and a sleep with its wake-up takes several. */
void plat_mutex_init(struct plat_mutex *mutex)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(mutex_of(mutex), &attributes);
    pthread_mutexattr_destroy(&attributes);
}

void plat_mutex_fini(struct plat_mutex *mutex)
{
    pthread_mutex_destroy(mutex_of(mutex));
}

void plat_mutex_lock(struct plat_mutex *mutex)
{
    pthread_mutex_lock(mutex_of(mutex));
}

void plat_mutex_unlock(struct plat_mutex *mutex)
{
    pthread_mutex_unlock(mutex_of(mutex));
}

void plat_cond_init(struct plat_cond *cond)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond_of(cond), &attributes);
    pthread_condattr_destroy(&attributes);
}

void plat_cond_fini(struct plat_cond *cond)
{
    pthread_cond_destroy(cond_of(cond));
}

void plat_cond_signal(struct plat_cond *cond)
{
    pthread_cond_signal(cond_of(cond));
}

void plat_cond_broadcast(struct plat_cond *cond)
{
    pthread_cond_broadcast(cond_of(cond));
}

void plat_cond_wait(struct plat_cond *cond, struct plat_mutex *mutex)
{
    pthread_cond_wait(cond_of(cond), mutex_of(mutex));
}

bool plat_cond_wait_until(struct plat_cond *cond, struct plat_mutex *mutex, uint64_t deadline_ns)
{
    if (deadline_ns == UINT64_MAX) {
        plat_cond_wait(cond, mutex);
        return true;
    }
    struct timespec until = {
        .tv_sec = (time_t)(deadline_ns / 1000000000), .tv_nsec = (long)(deadline_ns % 1000000000)};
    return pthread_cond_timedwait(cond_of(cond), mutex_of(mutex), &until) != ETIMEDOUT;
}

/* ---- threads --------------------------------------------------------------------------------- */

enum { NAME_SIZE = 16 }; /* pthread_setname_np(3) */

struct plat_thread {
    pthread_t id;
};

/* What a thread begins with. It belongs to the thread, because the thread may be abandoned, and its
 * plat_thread freed, before it begins. */
struct task {
    plat_thread_fn *run;
    void *self;
    char name[NAME_SIZE];
};

static void *start(void *self)
{
    struct task task = *(struct task *)self;
    free(self);
    pthread_setname_np(pthread_self(), task.name);
    task.run(task.self);
    return NULL;
}

static int create_without_signals(pthread_t *ret_id, struct task *task)
{
    sigset_t stops;
    sigset_t before;
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &stops, &before);
    int code = pthread_create(ret_id, NULL, start, task);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

struct plat_thread *plat_thread_start(
    const char *name, plat_thread_fn *run, void *self, struct error *err)
{
    struct plat_thread *thread = calloc(1, sizeof(*thread));
    struct task *task = calloc(1, sizeof(*task));
    if (!thread || !task) {
        free(thread);
        free(task);
        error_set(err, ERR_MEMORY, "out of memory for a thread");
        return NULL;
    }
    *task = (struct task){.run = run, .self = self};
    strncpy(task->name, name, sizeof(task->name) - 1);
    int code = create_without_signals(&thread->id, task);
    if (code != 0) {
        free(thread);
        free(task);
        error_set_os(err, code, strerror(code), "cannot start the thread %s", name);
        return NULL;
    }
    return thread;
}

void plat_thread_join(struct plat_thread *thread)
{
    if (thread) {
        pthread_join(thread->id, NULL);
        free(thread);
    }
}

void plat_thread_detach(struct plat_thread *thread)
{
    if (thread) {
        pthread_detach(thread->id);
        free(thread);
    }
}
