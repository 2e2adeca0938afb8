#ifndef ETWSHIP_PLATFORM_PLAT_LIMITS_H
#define ETWSHIP_PLATFORM_PLAT_LIMITS_H

#include "base/error.h"

/*
 * What the system lets this process take. Each is set by itself, any number of times; one thread at a time.
 * False: it does not hold, and ${err} says why, as "why. what to do". Programs that this process launches
 * are under none of them.
 *
 * Windows: a job object that nothing but this process is in (JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
 * JOBOBJECT_CPU_RATE_CONTROL_INFORMATION), and the priority class. Linux: memory and CPU are limits of
 * control groups, which are the service manager's (cgroups(7)): they are compared with what is asked for
 * and not changed. Priorities are nice values.
 */
enum plat_priority {
    PLAT_PRIORITY_INHERIT, /* as the process was started */
    PLAT_PRIORITY_NORMAL,
    PLAT_PRIORITY_BELOW_NORMAL,
    PLAT_PRIORITY_IDLE,
};

/* Hundredths of a percent of all processors together. */
enum { PLAT_LIMITS_ALL_CPU = 10000 };

/* Memory that is promised to the process (its commit charge); what is beyond fails to be allocated. On Linux
 * what is in use, and who goes beyond is killed. 0: no limit. */
bool plat_limits_set_memory(uint64_t bytes, struct error *err);

/* A hard limit: who has used it up waits. PLAT_LIMITS_ALL_CPU: none. */
bool plat_limits_set_cpu(uint32_t hundredths, struct error *err);

bool plat_limits_set_priority(enum plat_priority priority, struct error *err);

/* Is it for the agent to set them? False with ${err} set: for the service manager, and how. */
bool plat_limits_is_memory_ours(uint64_t bytes, struct error *err);
bool plat_limits_is_cpu_ours(uint32_t hundredths, struct error *err);

#endif
