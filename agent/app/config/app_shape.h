#ifndef ETWSHIP_APP_APP_SHAPE_H
#define ETWSHIP_APP_APP_SHAPE_H

#include "app/config/app_config.h"

/*
 * The shape of the events of an output: by its type, then by the keys that every output has.
 * Options that its format does not use are zero.
 */
struct event_options app_shape_options(const struct app_output *output);

/*
 * 32 bits that tell apart documents of one event that differ: a part of the ids of records that are
 * read from files (delivery_id.h). They depend only on the format and its options, are equal on all
 * machines, and never change. Sessions and filters do not count: they decide which events arrive,
 * not their shape, and a user who changes a filter and reads a trace again wants the missing
 * events, not all of them twice. The data stream does not count either, as ids are unique within it
 * only. False: out of memory.
 */
bool app_shape_hash(const struct app_output *output, uint32_t *ret_hash, struct error *err);

#endif
