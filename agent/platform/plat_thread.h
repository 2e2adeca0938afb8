#ifndef ETWSHIP_PLATFORM_PLAT_THREAD_H
#define ETWSHIP_PLATFORM_PLAT_THREAD_H

#include "base/error.h"

/*
 * Threads, mutexes and conditions. Mutexes and conditions are embedded; making and using them
 * cannot fail on the systems we run on. A thread that ends without being
 * joined or left is a bug.
 */

/* Room for whatever the system needs; the .c files check that it is enough. */
struct plat_mutex {
    uint64_t room[8];
};

struct plat_cond {
    uint64_t room[8];
};

void plat_mutex_init(struct plat_mutex *mutex);
void plat_mutex_fini(struct plat_mutex *mutex); /* nobody holds it */
void plat_mutex_lock(struct plat_mutex *mutex); /* not recursive */
void plat_mutex_unlock(struct plat_mutex *mutex);

void plat_cond_init(struct plat_cond *cond);
void plat_cond_fini(struct plat_cond *cond); /* nobody waits for it */

/* Wake one, or all, of those who wait. With or without the mutex held. */
void plat_cond_signal(struct plat_cond *cond);
void plat_cond_broadcast(struct plat_cond *cond);

/* Let go of ${mutex}, wait, hold it again. May return for no reason: test what was waited for. */
void plat_cond_wait(struct plat_cond *cond, struct plat_mutex *mutex);

/* The same until plat_monotonic_ns() reaches ${deadline_ns}; false when it has. UINT64_MAX: for ever. */
bool plat_cond_wait_until(struct plat_cond *cond, struct plat_mutex *mutex, uint64_t deadline_ns);

struct plat_thread;
typedef void plat_thread_fn(void *self);

/*
 * Run ${run}(${self}) on a new thread, called ${name} (15 bytes of it) in debuggers. Signals that
 * ask the agent to stop are never handled on it, so its system calls are not interrupted by them.
 * NULL with ${err} set if the system has no more threads.
 */
struct plat_thread *plat_thread_start(
    const char *name, plat_thread_fn *run, void *self, struct error *err);

/* Wait for its end and free it. NULL is fine. */
void plat_thread_join(struct plat_thread *thread);

/* Instead of joining it: the thread is on its own, as it hangs inside a call of the system. NULL is
 * fine. */
void plat_thread_leave(struct plat_thread *thread);

#endif
