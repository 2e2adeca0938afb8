#ifndef ETWSHIP_OUTPUTS_ES_UNINDEXED_H
#define ETWSHIP_OUTPUTS_ES_UNINDEXED_H

#include "base/buf.h"
#include "outputs/elasticsearch/es_bulk.h"
#include "outputs/elasticsearch/es_exchange.h"

/*
 * An index that has types for the fields of payloads refuses an event whose payload has an object where
 * the index has a value, or a value where it has an object. Such an event is sent once more with its
 * payload under another name, where nothing is indexed: `data_unindexed`, of the ecs event
 * `winlog.event_data_unindexed`. One thread.
 */
#define ES_UNINDEXED_SUFFIX "_unindexed"

struct es_unindexed {
    bool is_ecs;
    size_t *records; /* of the delivery in hand that were refused by their items, in order */
    size_t count;
    size_t capacity;
    struct buf body;
    struct buf lines;          /* of one event */
    enum es_verdict *verdicts; /* of the reply that is being read */
};

void es_unindexed_init(struct es_unindexed *unindexed, bool is_ecs);
void es_unindexed_fini(struct es_unindexed *unindexed);

/* Another delivery begins, of ${record_count} records. False: out of memory. */
bool es_unindexed_begin(struct es_unindexed *unindexed, size_t record_count);

/* Note a record, in order. */
void es_unindexed_add(struct es_unindexed *unindexed, size_t record);

/*
 * Send those that were noted once more, at most ${max_bytes} at a time, and put what came of it into
 * ${statuses} of the delivery that is in ${bulk}: a record that has no payload, or that is refused once
 * more, stays RECORD_REJECTED; without an answer it becomes RECORD_RETRY. Returns how many were sent;
 * ${ret_outcome} is that of the last request without an answer, its verdict ES_READ if there was none.
 */
size_t es_unindexed_send(struct es_unindexed *unindexed, struct es_exchange *exchange,
    const struct es_bulk *bulk, uint64_t max_bytes, enum record_status *statuses,
    struct es_outcome *ret_outcome);

/* Append ${lines}, what a `_bulk` request has for one event, so changed. False, and nothing is appended:
 * it has no payload. A failed ${out} is the caller's to see. */
bool es_unindexed_write(struct span lines, bool is_ecs, struct buf *out);

#endif
