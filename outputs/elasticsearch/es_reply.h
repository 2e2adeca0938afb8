#ifndef ETWSHIP_OUTPUTS_ES_REPLY_H
#define ETWSHIP_OUTPUTS_ES_REPLY_H

#include "base/error.h"
#include "outputs/json_scan.h"

/*
 * The reply to a `_bulk` request (Elasticsearch and OpenSearch, "Bulk API"), parsed as it arrives.
 * It has an item per event by position, so only a complete reply counts: one that is cut off, is
 * not JSON, or has more or fewer items than events is useless. Replies trimmed by `filter_path` and
 * full ones are accepted; other members are skipped.
 *
 * The reader also accepts the reply to a refused request: {"error":…,"status":…}.
 */
enum {
    ES_REPLY_MAX_INDEX = 255, /* the longest name of an index */
    ES_REPLY_MAX_TYPE = 127,
    ES_REPLY_MAX_REASON = JSON_SCAN_MAX_TEXT,
    ES_REPLY_MAX_SAME = 512,
};

struct es_text {
    size_t size;
    uint8_t bytes[ES_REPLY_MAX_REASON];
};

/* The result for one event, or for the request. */
struct es_answer {
    int status;     /* 100-599; 0: missing, for a request only */
    struct span id; /* of the document; empty: not said, as filter_path asks */
    struct span index;
    struct span type; /* of the error; empty: none, or plain text */
    struct span reason;
};

/* ${place}: index of the event in the request. Views, valid during the call. The calls count only
 * after es_reply_end returns true. False: it answers for another event, so the reply is useless. */
typedef bool (*es_reply_item_fn)(void *self, size_t place, const struct es_answer *answer);

enum es_same_state {
    ES_SAME_NONE, /* before the end of the first item, or in an item that is too long to store */
    ES_SAME_BEGUN,
    ES_SAME_WHOLE, /* after an item */
};

/* The bytes of the last parsed item, from the end of the previous one, and its values. */
struct es_same {
    enum es_same_state state;
    size_t size; /* 0: not stored */
    uint8_t bytes[ES_REPLY_MAX_SAME];
    struct es_answer answer; /* views into the texts of the reply */
};

struct es_reply {
    struct json_scan scan;
    struct es_same same;
    es_reply_item_fn item;
    void *self;
    size_t expected;
    size_t seen;
    int container;
    int slot;
    unsigned junk;
    bool in_item;
    bool has_action;
    bool has_items;
    const char *fault;
    int status;
    int request_status;
    struct es_text id;
    struct es_text index;
    struct es_text type;
    struct es_text reason;
};

/* For a request of ${expected} events. ${item} may be NULL: for a refused request. */
void es_reply_init(struct es_reply *reply, size_t expected, es_reply_item_fn item, void *self);

/* False: the rest need not be read. */
bool es_reply_feed(struct es_reply *reply, struct span bytes);

/* True if every event has an item. False with ${err} set (ERR_FORMAT). */
bool es_reply_end(const struct es_reply *reply, struct error *err);

/* The error of a refused request, as far as readable; views into ${reply}. */
struct es_answer es_reply_refusal(const struct es_reply *reply);

/* "${url}: status 400 TYPE: REASON: ${words}", each cut to what people read; ${words} may be NULL,
 * as may ${err}. */
void es_reply_say(
    struct error *err, const char *url, const struct es_answer *answer, const char *words);

#endif
