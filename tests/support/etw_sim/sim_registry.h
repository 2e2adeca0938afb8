#ifndef ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_REGISTRY_H
#define ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_REGISTRY_H

#include "etw/etw_registry.h"

/*
 * A registry in memory, or in a file that several programs share, one after the other: a line per
 * key or value. Names are compared without regard to case and keep the case they were made with.
 * Keys come in the order in which they were made.
 */
struct sim_registry;

/* ${path} NULL: only in memory. Returns NULL without memory, or if the file is invalid. */
struct sim_registry *sim_registry_create(const char *path);
void sim_registry_destroy(struct sim_registry *registry);

const struct etw_registry_api *sim_registry_api(struct sim_registry *registry);

/* The ${nth} call from now on (1: the next) that writes or removes something returns ${code} and
 * does nothing; 0: none. */
void sim_registry_fail(struct sim_registry *registry, uint32_t nth, uint32_t code);

/* From the ${nth} changing call on (1: the next) nothing is changed any more, as if the caller had
 * been killed before it; 0: all calls work again. */
void sim_registry_cut(struct sim_registry *registry, uint32_t nth);

/* The number of calls that have written or removed something. */
uint32_t sim_registry_changes(const struct sim_registry *registry);

/* All of it as text, for comparing: `KEY`, `KEY NAME=VALUE` as etw_registry_show has it, in
 * order. */
void sim_registry_dump(const struct sim_registry *registry, struct buf *out);

#endif
