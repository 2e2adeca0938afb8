#include "platform/plat_thread.h"

#include <errno.h>
#include <process.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "platform/plat_clock.h"

_Static_assert(sizeof(SRWLOCK) <= sizeof(struct plat_mutex), "plat_mutex is too small");
_Static_assert(sizeof(CONDITION_VARIABLE) <= sizeof(struct plat_cond), "plat_cond is too small");

static SRWLOCK *lock_of(struct plat_mutex *mutex)
{
    return (SRWLOCK *)mutex->room;
}

static CONDITION_VARIABLE *cond_of(struct plat_cond *cond)
{
    return (CONDITION_VARIABLE *)cond->room;
}

void plat_mutex_init(struct plat_mutex *mutex)
{
    InitializeSRWLock(lock_of(mutex));
}

void plat_mutex_fini(struct plat_mutex *mutex)
{
    (void)mutex;
}

void plat_mutex_lock(struct plat_mutex *mutex)
{
    AcquireSRWLockExclusive(lock_of(mutex));
}

void plat_mutex_unlock(struct plat_mutex *mutex)
{
    ReleaseSRWLockExclusive(lock_of(mutex));
}

void plat_cond_init(struct plat_cond *cond)
{
    InitializeConditionVariable(cond_of(cond));
}

void plat_cond_fini(struct plat_cond *cond)
{
    (void)cond;
}

void plat_cond_signal(struct plat_cond *cond)
{
    WakeConditionVariable(cond_of(cond));
}

void plat_cond_broadcast(struct plat_cond *cond)
{
    WakeAllConditionVariable(cond_of(cond));
}

void plat_cond_wait(struct plat_cond *cond, struct plat_mutex *mutex)
{
    SleepConditionVariableSRW(cond_of(cond), lock_of(mutex), INFINITE, 0);
}

bool plat_cond_wait_until(struct plat_cond *cond, struct plat_mutex *mutex, uint64_t deadline_ns)
{
    enum { LONGEST_MS = 60 * 1000 };
    if (deadline_ns == UINT64_MAX) {
        plat_cond_wait(cond, mutex);
        return true;
    }
    uint64_t now = plat_monotonic_ns();
    if (now >= deadline_ns) {
        return false;
    }
    /* rounded up: waking a moment early would make the caller spin */
    uint64_t wait_ms = (deadline_ns - now + 999999) / 1000000;
    DWORD slice = wait_ms < LONGEST_MS ? (DWORD)wait_ms : LONGEST_MS;
    if (!SleepConditionVariableSRW(cond_of(cond), lock_of(mutex), slice, 0)) {
        return plat_monotonic_ns() < deadline_ns;
    }
    return true;
}

/* ---- threads --------------------------------------------------------------------------------- */

enum { NAME_SIZE = 16 };

struct plat_thread {
    HANDLE handle;
};

/* What a thread begins with. It belongs to the thread, because the thread may be abandoned, and its
 * plat_thread freed, before it begins. */
struct task {
    plat_thread_fn *run;
    void *self;
};

static unsigned __stdcall start(void *self)
{
    struct task task = *(struct task *)self;
    free(self);
    task.run(task.self);
    return 0;
}

/* SetThreadDescription (Windows 10 1607), looked up because older systems lack it. */
static void name_thread(HANDLE handle, const char *name)
{
    typedef HRESULT(WINAPI describe_fn)(HANDLE, PCWSTR);
    HMODULE kernel = GetModuleHandleW(L"kernel32.dll");
    FARPROC found = kernel ? GetProcAddress(kernel, "SetThreadDescription") : NULL;
    describe_fn *describe;
    memcpy(&describe, &found, sizeof(describe));
    if (describe) {
        WCHAR wide[NAME_SIZE] = {0};
        for (size_t i = 0; i + 1 < NAME_SIZE && name[i]; i++) {
            wide[i] = (unsigned char)name[i];
        }
        describe(handle, wide);
    }
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
    /* _beginthreadex instead of CreateThread, because the thread uses the C library */
    thread->handle = (HANDLE)_beginthreadex(NULL, 0, start, task, 0, NULL);
    if (!thread->handle) {
        int code = errno; /* that function sets no last error */
        free(thread);
        free(task);
        error_set_os(err, code, strerror(code), "cannot start the thread %s", name);
        return NULL;
    }
    name_thread(thread->handle, name);
    return thread;
}

void plat_thread_join(struct plat_thread *thread)
{
    if (thread) {
        WaitForSingleObject(thread->handle, INFINITE);
        CloseHandle(thread->handle);
        free(thread);
    }
}

void plat_thread_detach(struct plat_thread *thread)
{
    if (thread) {
        CloseHandle(thread->handle);
        free(thread);
    }
}
