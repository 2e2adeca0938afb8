#ifndef ETWSHIP_PLATFORM_LINUX_PLAT_CGROUP_H
#define ETWSHIP_PLATFORM_LINUX_PLAT_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/* What control groups (version 2: Documentation/admin-guide/cgroup-v2.rst of Linux) let a process take. Only for
 * folders named linux. */
struct plat_cgroup {
    uint64_t memory_bytes; /* memory.max; UINT64_MAX: no limit */
    double cpus;           /* cpu.max, in processors; 0: no limit */
};

/*
 * The tightest limits of the group that the file ${membership} names, as /proc/self/cgroup does, and of those that
 * it is in, below the folder ${root}, as /sys/fs/cgroup is one. None where there are no such groups.
 */
struct plat_cgroup plat_cgroup_read(const char *membership, const char *root);

#endif
