#ifndef ETWSHIP_EVENT_EVENT_OVERFLOW_H
#define ETWSHIP_EVENT_EVENT_OVERFLOW_H

#include "base/buf.h"

/*
 * Destinations that index every string take none above some length: Lucene refuses the whole
 * document for one term of more than 32,766 bytes. So a longer string keeps its first part where it
 * stands, cut on a character, and stands whole in a top-level object `overflow`, which nobody
 * indexes. It is called there as the payload's field is: `"A.B"` in a struct, `"A[3].B"` in an
 * array; a string outside of the payload by its whole path. A second one of a name gets `_2`.
 *
 * A time of the record (`@timestamp`) that an index cannot hold is treated alike: the nearest one that it
 * can hold stands there, and the time itself in `overflow`.
 *
 * Names of fields above EVENT_NAME_MAX_BYTES are cut, again on a character, and a second one of a
 * name among its siblings gets `_2`.
 *
 * Works on the finished JSON of a record, so that nothing that writes one has to know of it, and
 * records without long strings cost a comparison. Numbers, lists and structure stay as they are.
 */
enum { EVENT_NAME_MAX_BYTES = 512 };

/* Memory for it, one per thread. */
struct event_overflow {
    struct buf source;   /* the record as it was */
    struct buf members;  /* of `overflow` */
    struct buf path;     /* of where the reader is, escaped */
    struct buf names;    /* of these */
    struct buf siblings; /* long ones in the objects that are open */
};

void event_overflow_init(struct event_overflow *overflow);
void event_overflow_fini(struct event_overflow *overflow);

/*
 * Which times an index can hold. A document whose `@timestamp` is none of these is refused as a whole.
 */
enum event_times {
    EVENT_TIMES_ANY,   /* it is no index */
    EVENT_TIMES_DATE,  /* milliseconds: up to the year 9999 */
    EVENT_TIMES_NANOS, /* nanoseconds since 1970 in 63 bits: up to 2262-04-11T23:47:16.854775807Z */
};

struct event_overflow_limits {
    uint32_t
        max_string_bytes; /* of a string, its path and a dot, unescaped; 0: there is no limit */
    const char *payload;  /* path of the object with the payload's fields: "data" */
    enum event_times times;
};

/* Can such an index hold the record's `@timestamp`, with which every record of the agent begins? */
bool event_overflow_holds_time(enum event_times times, struct span record);

/*
 * Cut what is too long in the record that stands in ${out} from ${start} to its end: an object and a
 * line break. What is no JSON, or nested deeper than records ever are, is left as it is. ${out} has
 * failed if there was no room.
 */
void event_overflow_apply(struct event_overflow *overflow,
    const struct event_overflow_limits *limits, size_t start, struct buf *out);

#endif
