#define _GNU_SOURCE

#include "platform/plat_limits.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "platform/machine/linux/plat_cgroup.h"

/* ---- memory and CPU -------------------------------------------------------------------------- */

/* A control group may contain other processes and belongs to its manager, so it is only read. */
static struct plat_cgroup read_group(void)
{
    return plat_cgroup_read("/proc/self/cgroup", "/sys/fs/cgroup");
}

static double cpus_of(uint32_t hundredths)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return (double)hundredths / PLAT_LIMITS_ALL_CPU * (count > 0 ? (double)count : 1);
}

bool plat_limits_is_memory_ours(uint64_t bytes, struct error *err)
{
    return error_set(err, ERR_UNSUPPORTED,
        "on Linux the unit or container sets this limit. set MemoryMax=%llu there, as in systemctl "
        "edit etwship",
        (unsigned long long)bytes);
}

bool plat_limits_is_cpu_ours(uint32_t hundredths, struct error *err)
{
    return error_set(err, ERR_UNSUPPORTED,
        "on Linux the unit or container sets this limit. set CPUQuota=%.0f%% there, a share of one "
        "processor, as in systemctl edit etwship",
        cpus_of(hundredths) * 100 < 1 ? 1 : cpus_of(hundredths) * 100);
}

bool plat_limits_set_memory(uint64_t bytes, struct error *err)
{
    return bytes == 0 || read_group().memory_bytes <= bytes ||
           plat_limits_is_memory_ours(bytes, err);
}

bool plat_limits_set_cpu(uint32_t hundredths, struct error *err)
{
    const double percent = 0.01; /* quotas are whole percents */
    struct plat_cgroup group = read_group();
    return hundredths >= PLAT_LIMITS_ALL_CPU ||
           (group.cpus > 0 && group.cpus <= cpus_of(hundredths) + percent) ||
           plat_limits_is_cpu_ours(hundredths, err);
}

/* ---- priority -------------------------------------------------------------------------------- */

static struct {
    bool known;
    int nice; /* at the start of this process */
} start;

static bool set_nice(id_t thread, int nice)
{
    /* the thread has ended */
    return setpriority(PRIO_PROCESS, thread, nice) == 0 || errno == ESRCH;
}

/* On Linux the nice value belongs to a thread (setpriority(2)), and a new thread inherits that of
 * its creator. So the loop repeats if a thread was created meanwhile. */
static bool set_all(int nice)
{
    bool ok = true;
    bool again = true;
    while (ok && again) {
        DIR *tasks = opendir("/proc/self/task");
        const struct dirent *entry;
        if (!tasks) {
            return false;
        }
        again = false;
        while (ok && (entry = readdir(tasks))) {
            id_t thread = (id_t)strtoul(entry->d_name, NULL, 10);
            if (thread && getpriority(PRIO_PROCESS, thread) != nice) {
                ok = set_nice(thread, nice);
                again = true;
            }
        }
        int code = errno;
        closedir(tasks);
        errno = code;
    }
    return ok;
}

bool plat_limits_set_priority(enum plat_priority priority, struct error *err)
{
    static const int values[] = {
        [PLAT_PRIORITY_NORMAL] = 0, [PLAT_PRIORITY_BELOW_NORMAL] = 10, [PLAT_PRIORITY_IDLE] = 19};
    if (!start.known) {
        start.nice = getpriority(PRIO_PROCESS, 0);
        start.known = true;
    }
    int nice = priority == PLAT_PRIORITY_INHERIT ? start.nice : values[priority];
    return set_all(nice) ||
           error_set_os(err, errno, strerror(errno),
               "the system refuses the nice value %d. set Nice=%d for the unit, or restart it",
               nice, nice);
}
