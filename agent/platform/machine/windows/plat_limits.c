#include "platform/plat_limits.h"

#include <windows.h>

#include "platform/windows/plat_wide.h"

/*
 * The job is created with the first limit and has no name, so other processes cannot access it. A
 * process cannot leave a job; a job without limits has no effect. The handle stays open until the
 * process ends.
 */
static struct {
    HANDLE job;
    DWORD priority; /* at the start of this process; 0: not queried yet */
} own;

static bool fail(struct error *err, const char *what)
{
    return plat_wide_error(err, GetLastError(), what, "cannot be limited");
}

/* Children leave this job: a launched program has a job of its own (plat_child.c). */
static bool set_memory(HANDLE job, uint64_t bytes)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {0};
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK |
                                              (bytes ? JOB_OBJECT_LIMIT_PROCESS_MEMORY : 0);
    limits.ProcessMemoryLimit = (SIZE_T)bytes;
    return SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof(limits));
}

static bool make_job(struct error *err)
{
    HANDLE job = own.job ? own.job : CreateJobObjectW(NULL, NULL);
    if (own.job) {
        return true;
    }
    if (!job || !set_memory(job, 0)) {
        fail(err, "the process");
    } else if (AssignProcessToJobObject(job, GetCurrentProcess())) {
        own.job = job;
        return true;
    } else if (GetLastError() == ERROR_ACCESS_DENIED) {
        error_set_os(err, ERROR_ACCESS_DENIED, "access is denied",
            "the program that started the process put it into a job, and before Windows 8 a "
            "process has only one. set the limit in that job, or start the agent in another way");
    } else {
        fail(err, "the process");
    }
    if (job) {
        CloseHandle(job);
    }
    return false;
}

bool plat_limits_set_memory(uint64_t bytes, struct error *err)
{
    if (bytes > SIZE_MAX) {
        return error_set(err, ERR_LIMIT, "it exceeds the address space of a process. write less");
    }
    if (bytes == 0 && !own.job) {
        return true;
    }
    return make_job(err) && (set_memory(own.job, bytes) || fail(err, "memory"));
}

bool plat_limits_set_cpu(uint32_t hundredths, struct error *err)
{
    JOBOBJECT_CPU_RATE_CONTROL_INFORMATION rate = {0};
    if (hundredths >= PLAT_LIMITS_ALL_CPU && !own.job) {
        return true;
    }
    if (hundredths < PLAT_LIMITS_ALL_CPU) {
        rate.ControlFlags = JOB_OBJECT_CPU_RATE_CONTROL_ENABLE |
                            JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP;
        rate.CpuRate = hundredths;
    }
    return make_job(err) && (SetInformationJobObject(own.job, JobObjectCpuRateControlInformation,
                                 &rate, sizeof(rate)) ||
                                plat_wide_error(err, GetLastError(), "cpu",
                                    "cannot be limited: that needs Windows 8 or newer, without "
                                    "fair sharing of processors (Remote Desktop Services)"));
}

bool plat_limits_set_priority(enum plat_priority priority, struct error *err)
{
    static const DWORD classes[] = {[PLAT_PRIORITY_NORMAL] = NORMAL_PRIORITY_CLASS,
        [PLAT_PRIORITY_BELOW_NORMAL] = BELOW_NORMAL_PRIORITY_CLASS,
        [PLAT_PRIORITY_IDLE] = IDLE_PRIORITY_CLASS};
    HANDLE self = GetCurrentProcess();
    own.priority = own.priority ? own.priority : GetPriorityClass(self);
    DWORD wanted = priority == PLAT_PRIORITY_INHERIT ? own.priority : classes[priority];
    return SetPriorityClass(self, wanted) ||
           plat_wide_error(err, GetLastError(), "the priority", "cannot be changed");
}

bool plat_limits_is_memory_ours(uint64_t bytes, struct error *err)
{
    (void)bytes;
    (void)err;
    return true;
}

bool plat_limits_is_cpu_ours(uint32_t hundredths, struct error *err)
{
    (void)hundredths;
    (void)err;
    return true;
}
