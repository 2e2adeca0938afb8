#ifndef ETWSHIP_BASE_EVENT_DESCRIPTOR_H
#define ETWSHIP_BASE_EVENT_DESCRIPTOR_H

#include <stdint.h>

/* EVENT_DESCRIPTOR, evntprov.h, as Windows has it in memory. */
struct event_descriptor {
    uint16_t id;
    uint8_t version;
    uint8_t channel;
    uint8_t level;
    uint8_t opcode;
    uint16_t task;
    uint64_t keyword;
};

_Static_assert(sizeof(struct event_descriptor) == 16, "EVENT_DESCRIPTOR");

#endif
