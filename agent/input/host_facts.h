#ifndef ETWSHIP_INPUT_HOST_FACTS_H
#define ETWSHIP_INPUT_HOST_FACTS_H

#include "base/arena.h"
#include "event/record.h"

/* What is known of the machine that recorded, in the words of ECS. */

/* PROCESSOR_ARCHITECTURE_* (winnt.h): "x86_64", or nothing. Static. */
struct span host_facts_architecture(uint32_t number);

/* The name of the system whose registry calls it ${product}: Windows 11 says "Windows 10 Pro" of itself, and
 * is known by its build. Room: the product's size. Returns the size. */
size_t host_facts_system(struct span product, uint32_t build, uint8_t *ret_name);

/* Does a record of this class, classic or not, tell of the machine? Then it is for host_facts_learn. */
bool host_facts_is_class(const uint8_t class_guid[16]);

/*
 * Take from ${record} what it tells of the machine, as far as ${trace} does not say so already: the name,
 * the domain and the architecture (SystemConfig CPU), and what the system is called (SystemConfigEx
 * BuildInfo). Texts lie in ${arena}. Whatever is cut short or too long is left out.
 *
 * Source: SystemConfig_CPU on learn.microsoft.com; the layout of BuildInfo is that of
 * schema/kernel_classes.def.
 */
void host_facts_learn(
    struct trace_info *trace, const struct event_record *record, struct arena *arena);

#endif
