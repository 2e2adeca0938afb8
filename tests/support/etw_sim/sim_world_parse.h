#ifndef ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_WORLD_PARSE_H
#define ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_WORLD_PARSE_H

#include "base/arena.h"
#include "support/etw_sim/etw_sim.h"

/* The statements of a world file (sim_world_file.h), read and checked, nothing done yet. */
enum sim_world_verb {
    SIM_WORLD_PROCESSORS,
    SIM_WORLD_WINDOWS,
    SIM_WORLD_LOGGER,
    SIM_WORLD_HEAPS,
    SIM_WORLD_OWN,
    SIM_WORLD_NOT_ADMINISTRATOR,
    SIM_WORLD_NO_PROFILE_PRIVILEGE,
    SIM_WORLD_SCHEMAS,
    SIM_WORLD_LEARN,
    SIM_WORLD_NAMES,
    SIM_WORLD_PROVIDER,
    SIM_WORLD_EMIT,
    SIM_WORLD_SESSION,
    SIM_WORLD_PROCESS,
    SIM_WORLD_CALLS,
};

/* One statement: the words after its verb, and its options. Texts end with a NUL. */
struct sim_world_item {
    enum sim_world_verb verb;
    uint32_t line;
    uint32_t number;  /* the first word, where it is a number */
    const char *name; /* the first text */
    const char *path; /* the second, of `emit` */
    struct guid guid;
    uint32_t kind; /* enum etw_sim_kind */
    uint32_t pid;
    uint32_t error;
    uint32_t open_error;
    uint32_t rate;
    uint32_t rounds;
    uint32_t mode;
    uint32_t buffer;
    uint32_t flags;
    uint32_t clock;
    uint32_t kernel;
    uint32_t unregistered;
    const char *package;
    const char *app;
    struct sim_world_item *next;
};

enum { SIM_WORLD_MAX_BYTES = 4 * 1024 * 1024 };

/* The statements of ${text}, which is not trusted, in order, in ${arena}; false with ${err} set
 * ("NAME:LINE: what"). */
bool sim_world_parse(struct span text, const char *name, struct arena *arena,
    struct sim_world_item **ret_first, struct error *err);

#endif
