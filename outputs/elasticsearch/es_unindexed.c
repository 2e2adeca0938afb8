#include "outputs/elasticsearch/es_unindexed.h"

#include <stdlib.h>

#include "base/grow.h"
#include "outputs/json_member.h"

enum { BODY_MAX_BYTES = 1 << 30 };

/* ---- one event ------------------------------------------------------------------------------- */

/* End of the payload's name in ${document}; 0: no payload. The agent's formats write no blanks
 * between a name and its value. */
static size_t name_end(struct span document, bool is_ecs)
{
    const char *key = is_ecs ? "\"event_data\":" : "\"data\":";
    size_t size = strlen(key);
    struct span value = is_ecs
                            ? json_member_find(json_member_find(document, "winlog"), "event_data")
                            : json_member_find(document, "data");
    size_t at = value.data ? (size_t)(value.data - document.data) : 0;
    return at > size && memcmp(value.data - size, key, size) == 0 ? at - 2 : 0;
}

bool es_unindexed_write(struct span lines, bool is_ecs, struct buf *out)
{
    const uint8_t *newline = lines.size ? memchr(lines.data, '\n', lines.size) : NULL;
    size_t start = newline ? (size_t)(newline - lines.data) + 1 : lines.size;
    size_t end = name_end(span_from(lines, start), is_ecs);
    if (!end) {
        return false;
    }
    buf_add_span(out, span_first(lines, start + end));
    buf_add_text(out, ES_UNINDEXED_SUFFIX);
    buf_add_span(out, span_from(lines, start + end));
    return true;
}

/* ---- life ------------------------------------------------------------------------------------ */

void es_unindexed_init(struct es_unindexed *unindexed, bool is_ecs)
{
    *unindexed = (struct es_unindexed){.is_ecs = is_ecs};
    buf_init(&unindexed->body, BODY_MAX_BYTES);
    buf_init(&unindexed->lines, BODY_MAX_BYTES);
}

void es_unindexed_fini(struct es_unindexed *unindexed)
{
    buf_fini(&unindexed->body);
    buf_fini(&unindexed->lines);
    free(unindexed->records);
    free(unindexed->verdicts);
    unindexed->records = NULL;
    unindexed->verdicts = NULL;
}

bool es_unindexed_begin(struct es_unindexed *unindexed, size_t record_count)
{
    unindexed->count = 0;
    size_t capacity = unindexed->capacity; /* of both arrays */
    return grow_to(&unindexed->records, record_count, &capacity, sizeof(*unindexed->records)) &&
           grow_to(&unindexed->verdicts, record_count, &unindexed->capacity,
               sizeof(*unindexed->verdicts));
}

void es_unindexed_add(struct es_unindexed *unindexed, size_t record)
{
    unindexed->records[unindexed->count++] = record;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* Only items of a complete reply are used, which has all of them. */
static void start_reply(void *unindexed_)
{
    (void)unindexed_;
}

static bool take_item(void *unindexed_, size_t place, const struct es_answer *item)
{
    struct es_unindexed *unindexed = unindexed_;
    unindexed->verdicts[place] = es_verdict_item(item);
    return true;
}

/* Append the lines of records from ${first} on to the body, as many as fit, at least one. Records
 * without a payload are removed from the list. Returns the index after the last record. */
static size_t gather(struct es_unindexed *unindexed, const struct es_bulk *bulk, size_t first,
    uint64_t max_bytes, size_t *ret_count)
{
    size_t at = first;
    size_t count = 0;
    buf_reset(&unindexed->body);
    for (; at < unindexed->count; at++) {
        size_t record = unindexed->records[at];
        struct es_body body = es_bulk_body(bulk, record, 1);
        if (count && unindexed->body.size + body.size > max_bytes) {
            break;
        }
        buf_reset(&unindexed->lines);
        es_bulk_gather(&body, &unindexed->lines);
        unindexed->body.failed |= unindexed->lines.failed;
        if (es_unindexed_write(buf_span(&unindexed->lines), unindexed->is_ecs, &unindexed->body)) {
            unindexed->records[first + count++] = record;
        }
    }
    *ret_count = count;
    return at;
}

static enum record_status status_of(enum es_verdict request, enum es_verdict item)
{
    if (request == ES_RETRY || request == ES_RETRY_SLOWLY) {
        return RECORD_RETRY;
    }
    if (request != ES_READ || item == ES_REFUSED) {
        return RECORD_REJECTED;
    }
    return item == ES_TAKEN || item == ES_DUPLICATE ? RECORD_DELIVERED : RECORD_RETRY;
}

size_t es_unindexed_send(struct es_unindexed *unindexed, struct es_exchange *exchange,
    const struct es_bulk *bulk, uint64_t max_bytes, enum record_status *statuses,
    struct es_outcome *ret_outcome)
{
    size_t sent = 0;
    *ret_outcome = (struct es_outcome){.verdict = ES_READ};
    for (size_t at = 0; at < unindexed->count;) {
        struct es_outcome outcome = {.verdict = ES_RETRY};
        size_t first = at;
        size_t count;
        at = gather(unindexed, bulk, first, max_bytes, &count);
        const struct span body = buf_span(&unindexed->body);
        const struct es_stretch stretch = {.parts = &body,
            .part_count = 1,
            .size = body.size,
            .count = count,
            .start = start_reply,
            .item = take_item,
            .self = unindexed};
        if (count && !unindexed->body.failed && !es_exchange_must_stop(exchange)) {
            es_exchange_ask(exchange, &stretch, &outcome);
            sent += count;
            bool later = outcome.verdict == ES_RETRY || outcome.verdict == ES_RETRY_SLOWLY;
            *ret_outcome = later ? outcome : *ret_outcome;
        }
        for (size_t i = 0; i < count; i++) {
            statuses[unindexed->records[first + i]] = status_of(
                outcome.verdict, unindexed->verdicts[i]);
        }
    }
    return sent;
}
