#ifndef ETWSHIP_INPUT_KERNEL_FLAGS_H
#define ETWSHIP_INPUT_KERNEL_FLAGS_H

#include "base/span.h"

/*
 * Groups of kernel events as people name them (kernel_flags.def): process, EVENT_TRACE_FLAG_PROCESS,
 * PERF_REG_HIVE, the MOF class FileIo, or the mask itself as 0x20000002. Without regard to case.
 *
 * A mask is a PERF_* group mask: its top three bits choose the word of PERFINFO_GROUPMASK (0: the
 * flags of EVENT_TRACE_PROPERTIES.EnableFlags), the others are bits of that word.
 */

/* The mask of ${text}; false: there is no such group, or the number is no mask that may be set. */
bool kernel_flags_find(struct span text, uint32_t *ret_mask);

/* The names that configurations use, the most common first; NULL behind the last. */
const char *kernel_flags_name(size_t index);

#endif
