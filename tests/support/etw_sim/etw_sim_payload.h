#ifndef ETWSHIP_TESTS_SUPPORT_ETW_SIM_PAYLOAD_H
#define ETWSHIP_TESTS_SUPPORT_ETW_SIM_PAYLOAD_H

#include "base/span.h"
#include "event/model/record.h"

/*
 * The data of a PAYLOAD filter as the simulated TdhAggregatePayloadFilters makes it and as the
 * simulated sessions evaluate it: a private format, as Windows' own is. One blob: an
 * etw_sim_payload_blob, then `filters` times an etw_sim_payload_filter, each followed by its
 * predicates. Fixed sizes, so that it stays within ETW's 4096 bytes.
 */
enum {
    ETW_SIM_PAYLOAD_MAGIC = 0x31504953, /* "SIP1" */
    ETW_SIM_PAYLOAD_TEXT = 64,          /* UTF-16 units of a text to compare with */
    ETW_SIM_PAYLOAD_FIELDS = 24,        /* fields before the one that is looked at */
};

/* What a field takes in the payload. */
enum etw_sim_field {
    ETW_SIM_FIELD_TEXT16 = 0xfe, /* UTF-16 up to its NUL */
    ETW_SIM_FIELD_TEXT8 = 0xff,  /* bytes up to their NUL */
    ETW_SIM_FIELD_SIGNED = 0x40, /* a flag beside 1, 2, 4 or 8: a signed number of so many bytes */
    /* 1 to 63: so many bytes, an unsigned number if 1, 2, 4 or 8 */
};

struct etw_sim_payload_predicate {
    uint8_t before[ETW_SIM_PAYLOAD_FIELDS]; /* enum etw_sim_field of the fields before it */
    uint8_t before_count;
    uint8_t field;       /* its own */
    uint16_t compare_op; /* ETW_PAYLOAD_* */
    uint16_t text_chars;
    uint16_t reserved;
    uint64_t value[2]; /* numbers; the second for BETWEEN and MODULO */
    uint16_t text[ETW_SIM_PAYLOAD_TEXT];
};

struct etw_sim_payload_filter {
    uint16_t event_id;
    uint8_t event_version;
    uint8_t match_any; /* of its predicates, else all */
    uint8_t match_all; /* what TdhAggregatePayloadFilters was told for it */
    uint8_t predicates;
    uint16_t reserved;
};

struct etw_sim_payload_blob {
    uint32_t magic;
    uint16_t filters;
    uint16_t reserved;
};

/*
 * Does an event with this descriptor and payload pass ${blob}? Events that no filter names pass.
 * Of several filters for one event, all with match_all must hold, and one of those without it, if
 * there are any. A field that is not there makes its predicate false. A blob that is none passes
 * nothing.
 */
bool etw_sim_payload_pass(
    struct span blob, const struct event_descriptor *descriptor, struct span payload);

/* Is ${blob} well formed? */
bool etw_sim_payload_valid(struct span blob);

#endif
