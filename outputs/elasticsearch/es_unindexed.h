#ifndef ETWSHIP_OUTPUTS_ES_UNINDEXED_H
#define ETWSHIP_OUTPUTS_ES_UNINDEXED_H

#include "base/buf.h"
#include "outputs/elasticsearch/es_bulk.h"
#include "outputs/elasticsearch/es_exchange.h"

/*
 * An index with types for payload fields refuses an event with an object in place of a value, or a
 * value in place of an object. Such an event is sent again with its payload under another,
 * unindexed name: `data_unindexed`, in the ecs event `winlog.event_data_unindexed`. One thread.
 */
#define ES_UNINDEXED_SUFFIX "_unindexed"

struct es_unindexed {
    bool is_ecs;
    size_t *records; /* records of the current delivery refused by their items, in order */
    size_t count;
    size_t capacity;
    struct buf body;
    struct buf lines;          /* of one event */
    enum es_verdict *verdicts; /* of the current reply */
};

void es_unindexed_init(struct es_unindexed *unindexed, bool is_ecs);
void es_unindexed_fini(struct es_unindexed *unindexed);

/* Begin a delivery of ${record_count} records. False: out of memory. */
bool es_unindexed_begin(struct es_unindexed *unindexed, size_t record_count);

/* Note a record, in order. */
void es_unindexed_add(struct es_unindexed *unindexed, size_t record);

/*
 * Send the noted records again, at most ${max_bytes} at a time, and put the results into
 * ${statuses} of the delivery in ${bulk}: a record without a payload, or refused again, stays
 * RECORD_REJECTED; without an answer it becomes RECORD_RETRY. Returns how many were sent;
 * ${ret_outcome} is that of the last request without an answer, its verdict ES_READ if there was
 * none.
 */
size_t es_unindexed_send(struct es_unindexed *unindexed, struct es_exchange *exchange,
    const struct es_bulk *bulk, uint64_t max_bytes, enum record_status *statuses,
    struct es_outcome *ret_outcome);

/* Append ${lines}, the lines of one event in a `_bulk` request, with the payload renamed. False,
 * and nothing is appended: it has no payload. The caller checks ${out} for failure. */
bool es_unindexed_write(struct span lines, bool is_ecs, struct buf *out);

#endif
