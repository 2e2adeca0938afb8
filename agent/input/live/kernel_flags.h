#ifndef ETWSHIP_INPUT_KERNEL_FLAGS_H
#define ETWSHIP_INPUT_KERNEL_FLAGS_H

#include "base/span.h"

/*
 * Names of kernel event groups (kernel_flags.def): process, EVENT_TRACE_FLAG_PROCESS,
 * PERF_REG_HIVE, the MOF class FileIo, or the mask itself as 0x20000002. Case is ignored.
 *
 * A mask is a PERF_* group mask: its top three bits select the word of PERFINFO_GROUPMASK (0: the
 * flags of EVENT_TRACE_PROPERTIES.EnableFlags), the others are bits of that word.
 */

/* Mask of ${text}; false if there is no such group or the mask must not be set. */
bool kernel_flags_find(struct span text, uint32_t *ret_mask);

/* Names for configurations, the most common first; NULL after the last. */
const char *kernel_flags_name(size_t index);

#endif
