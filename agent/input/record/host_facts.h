#ifndef ETWSHIP_INPUT_HOST_FACTS_H
#define ETWSHIP_INPUT_HOST_FACTS_H

#include "base/arena.h"
#include "event/model/record.h"

/* Facts about the machine that recorded a trace, in ECS terms. */

/* Name of PROCESSOR_ARCHITECTURE_* (winnt.h), such as "x86_64", or empty. Static. */
struct span host_facts_architecture(uint32_t number);

/* Name of the system that the registry calls ${product}. Windows 11 also calls itself "Windows 10
 * Pro" there; its build distinguishes it. ${ret_name} must have the size of ${product}. Returns the
 * size. */
size_t host_facts_system(struct span product, uint32_t build, uint8_t *ret_name);

/*
 * Copy facts about the machine from ${record} to ${trace} unless ${trace} has them: name, domain
 * and architecture (SystemConfig CPU), name of the system (SystemConfigEx BuildInfo). Texts live in
 * ${arena}. Truncated or too long values are ignored. True if ${trace} changed.
 *
 * Source: SystemConfig_CPU on learn.microsoft.com; the layout of BuildInfo is that of
 * schema/events/kernel_classes.def.
 */
bool host_facts_learn(
    struct trace_info *trace, const struct event_record *record, struct arena *arena);

#endif
