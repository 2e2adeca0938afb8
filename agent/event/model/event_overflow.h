#ifndef ETWSHIP_EVENT_EVENT_OVERFLOW_H
#define ETWSHIP_EVENT_EVENT_OVERFLOW_H

#include "base/buf.h"

/*
 * Destinations that index every string limit its length: Lucene refuses a whole document for one
 * term of more than 32,766 bytes. So a longer string is cut at a character in its place, and stands
 * whole in a top-level object `overflow`, which is not indexed. It is called there as the payload's
 * field is: `"A.B"` in a struct, `"A[3].B"` in an array; a string outside of the payload by its
 * whole path. A second one of a name gets `_2`.
 *
 * If an index cannot hold the record's time (`@timestamp`), the nearest time that it can hold
 * replaces it, and the original goes to `overflow`.
 *
 * Names of fields above EVENT_NAME_MAX_BYTES are cut, again on a character, and a second one of a
 * name among its siblings gets `_2`.
 *
 * Works on the finished JSON of a record, so that writers need not know of it, and records without
 * long strings cost one comparison. Numbers, lists and structure do not change.
 */
enum { EVENT_NAME_MAX_BYTES = 512 };

/* Memory for it, one per thread. */
struct event_overflow {
    struct buf original; /* the record as it was */
    struct buf members;  /* of `overflow` */
    struct buf path;     /* of where the reader is, escaped */
    struct buf names;    /* of these */
    struct buf siblings; /* long ones in the objects that are open */
};

void event_overflow_init(struct event_overflow *overflow);
void event_overflow_fini(struct event_overflow *overflow);

/*
 * The times that an index can hold. It refuses a document with another `@timestamp`.
 */
enum event_times {
    EVENT_TIMES_ANY,   /* not an index: all times */
    EVENT_TIMES_DATE,  /* milliseconds: up to the year 9999 */
    EVENT_TIMES_NANOS, /* nanoseconds since 1970 in 63 bits: up to 2262-04-11T23:47:16.854775807Z */
};

/* The text of the time that such an index can hold in place of ${filetime}. NULL: it can hold
 * ${filetime} itself. */
const char *event_overflow_nearest_time(enum event_times times, uint64_t filetime);

struct event_overflow_limits {
    uint32_t
        max_string_bytes; /* of a string, its path and a dot, unescaped; 0: there is no limit */
    const char *payload;  /* path of the object with the payload's fields: "data" */
    const char *time;     /* for the `@timestamp`; NULL: it does not change */
};

/*
 * Cut long strings in the record in ${out} from ${start} to its end: an object and a line break.
 * Text that is not JSON, or is nested deeper than records ever are, does not change. ${out} has
 * failed if there was no room.
 */
void event_overflow_apply(struct event_overflow *overflow,
    const struct event_overflow_limits *limits, size_t start, struct buf *out);

#endif
