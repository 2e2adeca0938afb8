#ifndef ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_SAMPLE_H
#define ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_SAMPLE_H

#include "base/buf.h"
#include "event/model/schema.h"

/*
 * Payloads made up from a schema: its provider could have written them. Equal ${seed} give equal
 * bytes.
 */
struct sim_sample {
    uint64_t seed;
    uint32_t process_id; /* the value of fields with out type PID */
    uint32_t thread_id;
    uint8_t pointer_size;
};

/* Append a payload that ${schema} takes to its last byte. False for a schema without layout. */
bool sim_sample_payload(
    struct buf *out, const struct event_schema *schema, const struct sim_sample *sample);

#endif
