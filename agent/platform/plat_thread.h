#ifndef ETWSHIP_PLATFORM_PLAT_THREAD_H
#define ETWSHIP_PLATFORM_PLAT_THREAD_H

#include "base/error.h"

/*
 * Threads, mutexes and conditions. Mutexes and conditions are embedded; creating and using them
 * cannot fail on the supported systems. A thread must be joined or left.
 */

/* Space for the system's objects; the .c files check its size. */
struct plat_mutex {
    uint64_t room[8];
};

struct plat_cond {
    uint64_t room[8];
};

void plat_mutex_init(struct plat_mutex *mutex);
void plat_mutex_fini(struct plat_mutex *mutex); /* must not be held */
void plat_mutex_lock(struct plat_mutex *mutex); /* not recursive */
void plat_mutex_unlock(struct plat_mutex *mutex);

void plat_cond_init(struct plat_cond *cond);
void plat_cond_fini(struct plat_cond *cond); /* must not be waited for */

/* Wake one or all waiting threads, with or without the mutex held. */
void plat_cond_signal(struct plat_cond *cond);
void plat_cond_broadcast(struct plat_cond *cond);

/* Release ${mutex}, wait, lock it again. May return spuriously: check the condition. */
void plat_cond_wait(struct plat_cond *cond, struct plat_mutex *mutex);

/* Like plat_cond_wait until plat_monotonic_ns() reaches ${deadline_ns}; then false. UINT64_MAX: no
 * deadline. */
bool plat_cond_wait_until(struct plat_cond *cond, struct plat_mutex *mutex, uint64_t deadline_ns);

struct plat_thread;
typedef void plat_thread_fn(void *self);

/*
 * Run ${run}(${self}) on a new thread, named ${name} (its first 15 bytes) for debuggers. Stop
 * signals are never handled on it, so they do not interrupt its system calls. NULL with ${err} set
 * if the system has no more threads.
 */
struct plat_thread *plat_thread_start(
    const char *name, plat_thread_fn *run, void *self, struct error *err);

/* Wait for the end of the thread and free it. NULL is fine. */
void plat_thread_join(struct plat_thread *thread);

/* Abandon the thread instead of joining it, because it hangs in a system call. NULL is fine. */
void plat_thread_detach(struct plat_thread *thread);

#endif
