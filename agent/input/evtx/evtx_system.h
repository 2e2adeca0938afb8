#ifndef ETWSHIP_INPUT_EVTX_SYSTEM_H
#define ETWSHIP_INPUT_EVTX_SYSTEM_H

#include "input/evtx/evtx_event.h"

/* The System of a record's XML, which becomes the header of the event. */

/* The parts of System that are read. */
enum evtx_system_part {
    EVTX_SYSTEM_PROVIDER,
    EVTX_SYSTEM_GUID,
    EVTX_SYSTEM_ID,
    EVTX_SYSTEM_QUALIFIERS,
    EVTX_SYSTEM_VERSION,
    EVTX_SYSTEM_LEVEL,
    EVTX_SYSTEM_TASK,
    EVTX_SYSTEM_OPCODE,
    EVTX_SYSTEM_KEYWORDS,
    EVTX_SYSTEM_TIME,
    EVTX_SYSTEM_RECORD_ID,
    EVTX_SYSTEM_ACTIVITY,
    EVTX_SYSTEM_RELATED,
    EVTX_SYSTEM_PROCESS,
    EVTX_SYSTEM_THREAD,
    EVTX_SYSTEM_CPU,
    EVTX_SYSTEM_KERNEL_TIME,
    EVTX_SYSTEM_USER_TIME,
    EVTX_SYSTEM_SESSION,
    EVTX_SYSTEM_CHANNEL,
    EVTX_SYSTEM_COMPUTER,
    EVTX_SYSTEM_USER,
    EVTX_SYSTEM_PARTS,
};

/* The nodes of these parts, elements or attributes; EVTX_TREE_NONE: the record lacks the part. */
struct evtx_system {
    uint16_t nodes[EVTX_SYSTEM_PARTS];
};

/* Find the parts below the node ${system}. */
void evtx_system_find(
    const struct evtx_tree *tree, uint16_t system, struct evtx_system *ret_system);

/* Parts of the header that all records of a template share. */
struct evtx_shared {
    bool has_names;
    bool has_provider;
    bool has_computer;
    struct span names; /* provider and channel, each with its NUL; UTF-8 like `computer` */
    struct span computer;
    struct guid provider;
};

/* Fill the header. ${shared}: parts of it that are known already; NULL: none. */
void evtx_system_fill(struct evtx_event *event, const struct evtx_tree *tree,
    const struct evtx_system *system, const struct evtx_shared *shared);

/* The name of the provider of ${event}, whose header evtx_system_fill has filled. Borrows the
 * memory of ${event}. */
struct span evtx_system_provider(const struct evtx_event *event);

/* False: a name of the provider, channel or computer has characters that no name has, so the record
 * is damaged. */
bool evtx_system_has_names(const struct evtx_tree *tree, const struct evtx_system *system);

/* The parts that all records of this template share with ${event}, whose header evtx_system_fill
 * has filled. Borrows the memory of ${event}. */
struct evtx_shared evtx_system_share(
    const struct evtx_event *event, const struct evtx_tree *tree, const struct evtx_system *system);

#endif
