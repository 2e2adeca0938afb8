#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#ifdef _WIN32
#include <windows.h>
#endif

#include "platform/plat_limits.h"
#include "platform/plat_thread.h"

/* Each test restores the state of the process, if the system lets it. */

static const uint64_t gb = UINT64_C(1) << 30;

#ifdef _WIN32

static DWORD priority_of(enum plat_priority priority)
{
    struct error err;
    assert_true(plat_limits_set_priority(priority, &err));
    return GetPriorityClass(GetCurrentProcess());
}

static void priorities_are_classes(void **state)
{
    (void)state;
    DWORD before = GetPriorityClass(GetCurrentProcess());
    assert_int_equal(priority_of(PLAT_PRIORITY_IDLE), IDLE_PRIORITY_CLASS);
    assert_int_equal(priority_of(PLAT_PRIORITY_BELOW_NORMAL), BELOW_NORMAL_PRIORITY_CLASS);
    assert_int_equal(priority_of(PLAT_PRIORITY_NORMAL), NORMAL_PRIORITY_CLASS);
    assert_int_equal(priority_of(PLAT_PRIORITY_INHERIT), before);
}

static JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits_now(void)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {0};
    assert_true(QueryInformationJobObject(
        NULL, JobObjectExtendedLimitInformation, &limits, sizeof(limits), NULL));
    return limits;
}

static bool is_wine(void)
{
    return GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "wine_get_version") != NULL;
}

/* Wine puts the process into the job, and ignores the limit of its memory. */
static void memory_is_limited_by_a_job(void **state)
{
    (void)state;
    struct error err;
    BOOL in_job = FALSE;
    assert_true(plat_limits_set_memory(gb, &err));
    assert_true(IsProcessInJob(GetCurrentProcess(), NULL, &in_job) && in_job);
    if (!is_wine()) {
        JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = limits_now();
        DWORD flags = limits.BasicLimitInformation.LimitFlags;
        assert_true(flags & JOB_OBJECT_LIMIT_PROCESS_MEMORY);
        assert_true(flags & JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK);
        assert_int_equal(limits.ProcessMemoryLimit, gb);
        assert_null(VirtualAlloc(NULL, (SIZE_T)(2 * gb), MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
    }
    assert_true(plat_limits_set_memory(2 * gb, &err)); /* and again in that job */
    assert_true(is_wine() || limits_now().ProcessMemoryLimit == 2 * gb);
    assert_true(plat_limits_set_memory(0, &err));
    assert_true(is_wine() ||
                !(limits_now().BasicLimitInformation.LimitFlags & JOB_OBJECT_LIMIT_PROCESS_MEMORY));
}

static void cpu_is_limited_or_says_why_not(void **state)
{
    (void)state;
    JOBOBJECT_CPU_RATE_CONTROL_INFORMATION rate = {0};
    struct error err = {0};
    if (!plat_limits_set_cpu(1250, &err)) {
        assert_true(is_wine());
        assert_non_null(strstr(err.text, "Windows 8"));
        return;
    }
    if (QueryInformationJobObject(
            NULL, JobObjectCpuRateControlInformation, &rate, sizeof(rate), NULL)) {
        assert_int_equal(rate.CpuRate, 1250);
    } else {
        assert_true(is_wine());
    }
    assert_true(plat_limits_set_cpu(PLAT_LIMITS_ALL_CPU, &err));
}

#else

/* The priority of this thread: proc_pid_stat(5), field 19, the 17th after the name. */
static int nice_now(void)
{
    char line[1024] = "";
    FILE *in = fopen("/proc/thread-self/stat", "r");
    assert_non_null(in);
    assert_non_null(fgets(line, sizeof(line), in));
    fclose(in);
    const char *at = strrchr(line, ')');
    for (int i = 0; at && i < 17; i++) {
        at = strchr(at + 1, ' ');
    }
    return at ? (int)strtol(at, NULL, 10) : 100;
}

struct worker {
    struct plat_mutex mutex;
    struct plat_cond changed;
    bool ends;
    int nice; /* at the thread's end */
};

static void run(void *self)
{
    struct worker *worker = self;
    plat_mutex_lock(&worker->mutex);
    while (!worker->ends) {
        plat_cond_wait(&worker->changed, &worker->mutex);
    }
    plat_mutex_unlock(&worker->mutex);
    worker->nice = nice_now();
}

/* On Linux each thread has its own priority. */
static void priorities_are_nice_values_of_all_threads(void **state)
{
    (void)state;
    struct worker worker = {.ends = false};
    struct error err = {0};
    int before = nice_now();
    plat_mutex_init(&worker.mutex);
    plat_cond_init(&worker.changed);
    struct plat_thread *thread = plat_thread_start("worker", run, &worker, &err);
    assert_non_null(thread);
    assert_true(plat_limits_set_priority(PLAT_PRIORITY_INHERIT, &err));
    assert_true(plat_limits_set_priority(PLAT_PRIORITY_IDLE, &err));
    plat_mutex_lock(&worker.mutex);
    worker.ends = true;
    plat_cond_signal(&worker.changed);
    plat_mutex_unlock(&worker.mutex);
    plat_thread_join(thread);
    assert_int_equal(worker.nice, 19);
    assert_int_equal(nice_now(), 19);
    if (plat_limits_set_priority(PLAT_PRIORITY_INHERIT, &err)) { /* root may raise it */
        assert_int_equal(nice_now(), before);
    } else {
        assert_non_null(strstr(err.text, "Nice="));
    }
    plat_cond_fini(&worker.changed);
    plat_mutex_fini(&worker.mutex);
}

static void memory_and_cpu_are_left_to_the_unit(void **state)
{
    (void)state;
    struct error err = {0};
    assert_true(plat_limits_set_memory(0, &err));
    assert_true(plat_limits_set_cpu(PLAT_LIMITS_ALL_CPU, &err));
    assert_false(plat_limits_is_memory_ours(3 * gb, &err));
    assert_non_null(strstr(err.text, "MemoryMax=3221225472"));
    assert_false(plat_limits_is_cpu_ours(5000, &err));
    assert_non_null(strstr(err.text, "CPUQuota="));
    assert_false(plat_limits_set_memory(1, &err)); /* no unit is that small */
    assert_non_null(strstr(err.text, "MemoryMax=1 "));
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef _WIN32
        cmocka_unit_test(priorities_are_classes),
        cmocka_unit_test(memory_is_limited_by_a_job),
        cmocka_unit_test(cpu_is_limited_or_says_why_not),
#else
        cmocka_unit_test(priorities_are_nice_values_of_all_threads),
        cmocka_unit_test(memory_and_cpu_are_left_to_the_unit),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
