#define _GNU_SOURCE

#include "platform/machine/linux/plat_cgroup.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VALUE = 64 };

static bool read_value(const char *group, const char *file, char value[MAX_VALUE])
{
    char path[PATH_MAX];
    int size = snprintf(path, sizeof(path), "%s/%s", group, file);
    FILE *in = size > 0 && (size_t)size < sizeof(path) ? fopen(path, "re") : NULL;
    bool read = in && fgets(value, MAX_VALUE, in);
    if (in) {
        fclose(in);
    }
    return read;
}

/* Parse a number after blanks at the front of ${text}. */
static bool take_number(const char **text, uint64_t *ret_number)
{
    char *end;
    unsigned long long number = strtoull(*text, &end, 10);
    bool taken = end != *text;
    *text = end;
    *ret_number = number;
    return taken;
}

/* Both files contain "max" for no limit. */
static void tighten(struct plat_cgroup *limits, const char *group)
{
    char value[MAX_VALUE];
    const char *text = value;
    uint64_t bytes;
    uint64_t quota;
    uint64_t period;
    if (read_value(group, "memory.max", value) && take_number(&text, &bytes) &&
        bytes < limits->memory_bytes) {
        limits->memory_bytes = bytes;
    }
    text = value;
    if (read_value(group, "cpu.max", value) && take_number(&text, &quota) &&
        take_number(&text, &period) && period) {
        double cpus = (double)quota / (double)period;
        limits->cpus = limits->cpus == 0 || cpus < limits->cpus ? cpus : limits->cpus;
    }
}

/* Find the line of version 2: "0::/path". Empty if there is none. */
static void find_group(const char *membership, char group[PATH_MAX])
{
    FILE *in = fopen(membership, "re");
    char line[PATH_MAX];
    group[0] = 0;
    while (in && fgets(line, sizeof(line), in)) {
        if (strncmp(line, "0::/", 4) == 0) {
            line[strcspn(line, "\n")] = 0;
            memcpy(group, line + 3, strlen(line + 3) + 1);
        }
    }
    if (in) {
        fclose(in);
    }
}

struct plat_cgroup plat_cgroup_read(const char *membership, const char *root)
{
    struct plat_cgroup limits = {.memory_bytes = UINT64_MAX, .cpus = 0};
    char group[PATH_MAX];
    char path[PATH_MAX];
    find_group(membership, group);
    int size = snprintf(path, sizeof(path), "%s%s", root, group);
    if (!group[0] || size <= 0 || (size_t)size >= sizeof(path) || strstr(group, "/..")) {
        return limits; /* ..: of another namespace */
    }
    tighten(&limits, path);
    for (char *end; (end = strrchr(path + strlen(root), '/'));) {
        *end = 0;
        tighten(&limits, path);
    }
    return limits;
}
