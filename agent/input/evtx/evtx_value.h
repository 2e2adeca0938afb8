#ifndef ETWSHIP_INPUT_EVTX_VALUE_H
#define ETWSHIP_INPUT_EVTX_VALUE_H

#include "base/guid.h"
#include "input/evtx/evtx_tree.h"

/* Values of binary XML: as numbers, as text, and in the form of an event's payload. */

/* Memory that is filled from its start. Once a part did not fit, `full` is set and that part is
 * left out. */
struct evtx_out {
    uint8_t *at;
    uint8_t *end;
    bool full;
};

void evtx_out_add(struct evtx_out *out, const void *bytes, size_t size);

/*
 * Size of a pointer, 4 or 8, on the machine of a record. An array of sizes does not show the width
 * of its elements, so the other sizes of the record determine it; without any it is 8.
 * ${ret_has_arrays}: the record has arrays of sizes.
 */
size_t evtx_value_pointer_size(const struct evtx_tree *tree, bool *ret_has_arrays);

/*
 * Add a value in the form of a self-describing event's payload. ${pointer_size}: 4 or 8, for arrays
 * of sizes. ${ret_type}: its type there, an enum in_type, with 0x40 for an array after its count.
 * False: there is no value.
 */
bool evtx_value_add(
    struct evtx_out *out, uint8_t type, struct span bytes, size_t pointer_size, uint8_t *ret_type);

/* Take the next element of an array of texts from ${rest}. False: none is left. */
bool evtx_value_next_text(uint8_t type, struct span *rest, struct span *ret_text);

/* Add the value as UTF-16 text, with a comma between the elements of an array. */
void evtx_value_add_text(
    struct evtx_out *out, uint8_t type, struct span bytes, size_t pointer_size);

/* The value of a node that has exactly one value. False: it has none, or not of this kind. */
bool evtx_value_number(const struct evtx_tree *tree, uint16_t node, uint64_t *ret_number);
bool evtx_value_guid(const struct evtx_tree *tree, uint16_t node, struct guid *ret_guid);
bool evtx_value_filetime(const struct evtx_tree *tree, uint16_t node, uint64_t *ret_time);

/* The SID of a node, binary or text (`S-1-5-18`), as bytes in ${memory}; empty: the node has
 * none. */
enum { EVTX_VALUE_SID_BYTES = 68 };
struct span evtx_value_sid(
    const struct evtx_tree *tree, uint16_t node, uint8_t memory[EVTX_VALUE_SID_BYTES]);

/* All values of a node as one UTF-8 text; empty if it exceeds ${size} bytes. */
struct span evtx_value_utf8(
    const struct evtx_tree *tree, uint16_t node, uint8_t *memory, size_t size);

#endif
