#ifndef ETWSHIP_PIPELINE_STREAM_H
#define ETWSHIP_PIPELINE_STREAM_H

#include "pipeline/deliver/delivery_host.h"
#include "pipeline/record/event_text.h"
#include "pipeline/record/flow.h"

/*
 * Events in one format, gathered into batches, for every output that wants this format: each event
 * is written once, and outputs share the bytes.
 */
struct stream;

enum { STREAM_BATCH_BYTES = 256 * 1024, STREAM_BATCH_RECORDS = 4096 };

struct stream_settings {
    const struct event_format *format;
    struct event_writer *writer;        /* borrowed */
    struct delivery_host *const *hosts; /* borrowed; copied list */
    size_t host_count;
    struct event_fields *fields; /* of each event these alone; gaps are whole. NULL: all */
    struct event_writer
        *details; /* for people: writes what stands below the line that names the event, as fields
                   * of ${details_format}. NULL: the format's JSON holds the fields */
    const struct event_format *details_format; /* NULL: native */
};

struct stream *stream_create(const struct stream_settings *settings, struct error *err);
void stream_destroy(struct stream *stream); /* NULL is fine; what is gathered is lost */

/* The stream as a consumer of a flow. It ends the flow when every output has ended. */
struct flow_consumer stream_consumer(struct stream *stream);

/* Deliver what is gathered. False when every output has ended. */
bool stream_flush(struct stream *stream);

#endif
