#ifndef ETWSHIP_EVENT_EVENT_OPTIONS_H
#define ETWSHIP_EVENT_EVENT_OPTIONS_H

#include "base/buf.h"
#include "event/model/event_overflow.h"

/* The options of event_options.def. All that is here is made from that table. Texts are
 * borrowed. */
struct event_options {
#define OPTION(kind, type, member, key, id) type member;
#include "event/write/event_options.def"
#undef OPTION
};

bool event_options_equal(const struct event_options *a, const struct event_options *b);

/* Append the options to the key of a stream: options that are not equal have different texts. */
void event_options_add_key(const struct event_options *options, struct buf *out);

/* Append the options that change a document, for a part of its id. The data stream is not among
 * them, as ids are unique within it only. */
void event_options_add_id(const struct event_options *options, struct buf *out);

/* Append the texts of the options to ${out}. */
void event_options_add_texts(const struct event_options *options, struct buf *out);

/* Let the options borrow their texts from ${texts}, which begins with what event_options_add_texts
 * has appended. */
void event_options_take_texts(struct event_options *options, struct span texts);

#endif
