#ifndef ETWSHIP_PLATFORM_PLAT_LIMITS_H
#define ETWSHIP_PLATFORM_PLAT_LIMITS_H

#include "base/error.h"

/*
 * Resource limits of this process. Each is set separately, any number of times; not thread-safe.
 * False: it is not in effect, and ${err} has "why. what to do". Programs that this process launches
 * are not limited.
 *
 * Windows: a job object with only this process (JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
 * JOBOBJECT_CPU_RATE_CONTROL_INFORMATION), and the priority class. Linux: memory and CPU are limits
 * of control groups, which belong to the service manager (cgroups(7)): they are compared with the
 * request and not changed. Priorities are nice values.
 */
enum plat_priority {
    PLAT_PRIORITY_INHERIT, /* as at the start of the process */
    PLAT_PRIORITY_NORMAL,
    PLAT_PRIORITY_BELOW_NORMAL,
    PLAT_PRIORITY_IDLE,
};

/* Hundredths of a percent of all processors together. */
enum { PLAT_LIMITS_ALL_CPU = 10000 };

/* Limit committed memory; allocations beyond it fail. On Linux it is memory in use, and a process
 * beyond it is killed. 0: no limit. */
bool plat_limits_set_memory(uint64_t bytes, struct error *err);

/* Limit CPU time; a process that used its share waits. PLAT_LIMITS_ALL_CPU: no limit. */
bool plat_limits_set_cpu(uint32_t hundredths, struct error *err);

bool plat_limits_set_priority(enum plat_priority priority, struct error *err);

/* True if the agent itself can set the limit. False with ${err} set: the service manager sets it,
 * and how. */
bool plat_limits_is_memory_ours(uint64_t bytes, struct error *err);
bool plat_limits_is_cpu_ours(uint32_t hundredths, struct error *err);

#endif
