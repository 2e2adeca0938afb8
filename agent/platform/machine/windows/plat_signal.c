#include <stdatomic.h>
#include <windows.h>

#include "platform/plat_signal.h"
#include "platform/windows/plat_wide.h"

/*
 * Windows calls the handler on its own thread. After Ctrl-C and Ctrl-Break the process continues.
 * When the console closes, the user logs off or the machine shuts down, the process ends when the
 * handler returns, so the handler does not return: the orderly end competes with the system's time
 * limit.
 */
static struct {
    void (*stop)(void *self);
    void *self;
} stopper;

static atomic_ullong first_signal_ms; /* GetTickCount64; 0: none yet */
static atomic_int repeated_signals;

/* State of plat_on_kill; changed and called under the lock. */
static struct {
    SRWLOCK lock;
    void (*last)(void *self);
    void *self;
} killing = {.lock = SRWLOCK_INIT};

enum { EXIT_SECOND_SIGNAL = 130 };

static void end_at_once(void)
{
    if (atomic_fetch_add(&repeated_signals, 1) == 0) {
        AcquireSRWLockExclusive(&killing.lock);
        if (killing.last) {
            killing.last(killing.self);
        }
    }
    TerminateProcess(GetCurrentProcess(), EXIT_SECOND_SIGNAL);
}

static BOOL WINAPI on_control(DWORD event)
{
    unsigned long long now_ms = GetTickCount64();
    unsigned long long first_ms = 0;
    if (atomic_compare_exchange_strong(&first_signal_ms, &first_ms, now_ms)) {
        stopper.stop(stopper.self);
    } else if (now_ms - first_ms >= PLAT_STOP_REPEAT_MS) {
        end_at_once();
    }
    if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT) {
        Sleep(INFINITE);
    }
    return TRUE;
}

bool plat_on_stop(void (*stop)(void *self), void *self, struct error *err)
{
    stopper.stop = stop;
    stopper.self = self;
    if (!SetConsoleCtrlHandler(on_control, TRUE)) {
        return plat_wide_error(err, GetLastError(), "Ctrl-C", "cannot be handled");
    }
    return true;
}

void plat_on_kill(void (*last)(void *self), void *self)
{
    AcquireSRWLockExclusive(&killing.lock);
    killing.last = last;
    killing.self = self;
    ReleaseSRWLockExclusive(&killing.lock);
}

bool plat_on_hangup(void (*hangup)(void *self), void *self, struct error *err)
{
    (void)hangup;
    (void)self;
    (void)err;
    return true; /* Windows has no such signal */
}
