#ifndef ETWSHIP_OUTPUTS_ES_REPLY_H
#define ETWSHIP_OUTPUTS_ES_REPLY_H

#include "base/error.h"
#include "outputs/json_scan.h"

/*
 * The reply to a `_bulk` request (Elasticsearch and OpenSearch, "Bulk API"), read as it arrives. It
 * answers for each event by its place, so a reply counts only as a whole: one that is cut off, that
 * is no JSON, or that answers for more or fewer events than were sent, says nothing at all. Replies
 * trimmed by `filter_path` and whole ones are the same here; what is not asked for is skipped.
 *
 * The same reader takes the reply to a request that was refused as such: {"error":…,"status":…}.
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

/* What is said of one event, or of the request. */
struct es_answer {
    int status; /* 100-599; 0: not said, of a request alone */
    struct span index;
    struct span type; /* of the error; empty: there is none, or it is plain text */
    struct span reason;
};

/* ${place}: of the event in the request. Views, valid during the call. Nothing of it counts before
 * es_reply_end is true. */
typedef void (*es_reply_item_fn)(void *self, size_t place, const struct es_answer *answer);

enum es_same_state {
    ES_SAME_NONE, /* before the first item has ended, or in one that is too long to be kept */
    ES_SAME_BEGUN,
    ES_SAME_WHOLE, /* after an item */
};

/* The bytes of the last item that was read, from the end of the one before, and what they say. */
struct es_same {
    enum es_same_state state;
    size_t size; /* 0: not kept */
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
    struct es_text index;
    struct es_text type;
    struct es_text reason;
};

/* For a request of ${expected} events. ${item} may be NULL: for a refused request. */
void es_reply_init(struct es_reply *reply, size_t expected, es_reply_item_fn item, void *self);

/* False: the rest need not be read. */
bool es_reply_feed(struct es_reply *reply, struct span bytes);

/* Has every event been answered for? False with ${err} set (ERR_FORMAT). */
bool es_reply_end(const struct es_reply *reply, struct error *err);

/* What a refused request was told, as far as it can be read; views into ${reply}. */
struct es_answer es_reply_refusal(const struct es_reply *reply);

/* "${url}: status 400 TYPE: REASON: ${words}", each cut to what people read; ${words} may be NULL, as
 * may ${err}. */
void es_reply_say(
    struct error *err, const char *url, const struct es_answer *answer, const char *words);

#endif
