#ifndef ETWSHIP_EVENT_KERNEL_GROUPS_H
#define ETWSHIP_EVENT_KERNEL_GROUPS_H

#include "base/guid.h"

/*
 * The groups of the kernel logger: a hook id is group << 8 | type, and the group stands for an
 * event class (EVENT_TRACE_GROUP_*, ntwmi.h). Names are those that users see.
 */
struct kernel_group {
    const char *name;
    struct guid class_guid;
};

/* Groups 0x00 to 0x1e are known. */
enum { KERNEL_GROUP_COUNT = 0x1f };

/* The group with this number, or NULL. Static. */
const struct kernel_group *kernel_group_find(uint8_t group);

/* Class of a hook: its group's, but Image for 0x030a (image load), one of the process hooks. NULL
 * where the group is unknown. Static. */
const struct guid *kernel_group_class(uint16_t hook_id);

#endif
