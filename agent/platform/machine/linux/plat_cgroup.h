#ifndef ETWSHIP_PLATFORM_LINUX_PLAT_CGROUP_H
#define ETWSHIP_PLATFORM_LINUX_PLAT_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/* Limits of control groups (version 2: Documentation/admin-guide/cgroup-v2.rst of Linux) for a
 * process. Only for folders named linux. */
struct plat_cgroup {
    uint64_t memory_bytes; /* memory.max; UINT64_MAX: no limit */
    double cpus;           /* cpu.max, in processors; 0: no limit */
};

/*
 * The tightest limits of the group named in the file ${membership} (like /proc/self/cgroup) and of
 * its parent groups, below the folder ${root} (like /sys/fs/cgroup). No limits if there are no such
 * groups.
 */
struct plat_cgroup plat_cgroup_read(const char *membership, const char *root);

#endif
