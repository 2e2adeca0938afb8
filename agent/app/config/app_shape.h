#ifndef ETWSHIP_APP_APP_SHAPE_H
#define ETWSHIP_APP_APP_SHAPE_H

#include "app/config/app_config.h"

/*
 * What the events of an output look like: by its type, then by the keys that every output has.
 * Options that mean nothing to its format are zero.
 */
struct event_options app_shape_options(const struct app_output *output);

/*
 * 32 bits that tell documents of one event apart that look different: a part of the ids of records
 * that are read from files (delivery_id.h). Of the format and its options alone, the same on all
 * machines for ever. Neither sessions nor filters count: they decide which events come, not what
 * one looks like, and who changes a filter and reads a trace again wants what was missing, not
 * everything twice. Nor does the data stream, in which ids are by themselves.
 */
uint32_t app_shape_hash(const struct app_output *output);

#endif
