#include "outputs/elasticsearch/es_reply.h"

/*
 * All values of interest lie on one path. So the position in the reply is one container and, within
 * other containers, a count of their nesting:
 *
 *   { "items": [ { "create": { "status": 201, "_index": "…", "error": {…} } } ] }
 *   TOP        ITEMS ITEM      ACTION                                ERROR
 *
 * ERROR has the members "type" and "reason".
 *
 * The state between two items is always equal. So if the next bytes equal the previous item, from
 * its comma to its last brace, they have its meaning: they are compared instead of parsed. The
 * items of thousands of accepted events are mostly equal.
 */
enum container {
    CONTAINER_OUTSIDE,
    CONTAINER_TOP,
    CONTAINER_ITEMS,
    CONTAINER_ITEM,
    CONTAINER_ACTION,
    CONTAINER_ERROR, /* of an item, or of the request */
};

/* The meaning of the current key. */
enum slot {
    SLOT_NONE,
    SLOT_ITEMS,
    SLOT_STATUS,
    SLOT_ID,
    SLOT_INDEX,
    SLOT_ERROR,
    SLOT_TYPE,
    SLOT_REASON
};

static const struct {
    int container;
    const char *key;
    int slot;
} keys[] = {
    {CONTAINER_TOP, "items", SLOT_ITEMS},
    {CONTAINER_TOP, "error", SLOT_ERROR},
    {CONTAINER_TOP, "status", SLOT_STATUS},
    {CONTAINER_ACTION, "status", SLOT_STATUS},
    {CONTAINER_ACTION, "_id", SLOT_ID},
    {CONTAINER_ACTION, "_index", SLOT_INDEX},
    {CONTAINER_ACTION, "error", SLOT_ERROR},
    {CONTAINER_ERROR, "type", SLOT_TYPE},
    {CONTAINER_ERROR, "reason", SLOT_REASON},
};

static bool fail(struct es_reply *reply, const char *fault)
{
    reply->fault = fault;
    return false;
}

static int slot_of(int container, struct span key)
{
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (keys[i].container == container && span_is(key, keys[i].key)) {
            return keys[i].slot;
        }
    }
    return SLOT_NONE;
}

/* A name that is too long is dropped: a part of it would be another name. */
static void set_text(struct es_text *out, struct span text, size_t max)
{
    out->size = text.size <= max ? text.size : 0;
    memcpy(out->bytes, text.data, out->size);
}

static struct span view(const struct es_text *text)
{
    return span_make(text->bytes, text->size);
}

static bool set_status(struct es_reply *reply, enum json_token token, struct span text)
{
    int value = 0;
    bool good = token == JSON_NUMBER && text.size == 3;
    for (size_t i = 0; good && i < text.size; i++) {
        good = text.data[i] >= '0' && text.data[i] <= '9';
        value = value * 10 + (text.data[i] - '0');
    }
    int *status = reply->in_item ? &reply->status : &reply->request_status;
    if (!good || value < 100 || value > 599 || *status) {
        return fail(reply, "a status that is not an HTTP status");
    }
    *status = value;
    return true;
}

/* A scalar at the current key. */
static bool take_scalar(struct es_reply *reply, enum json_token token, struct span text)
{
    bool is_text = token == JSON_STRING;
    switch (reply->slot) {
    case SLOT_STATUS:
        return set_status(reply, token, text);
    case SLOT_ITEMS:
        return fail(reply, "items that are not one list");
    case SLOT_ID:
        set_text(&reply->id, is_text ? text : span_make(text.data, 0), ES_REPLY_MAX_REASON);
        return true;
    case SLOT_INDEX:
        set_text(&reply->index, is_text ? text : span_make(text.data, 0), ES_REPLY_MAX_INDEX);
        return true;
    case SLOT_TYPE:
        set_text(&reply->type, is_text ? text : span_make(text.data, 0), ES_REPLY_MAX_TYPE);
        return true;
    case SLOT_ERROR: /* some refusals have it as plain text */
    case SLOT_REASON:
        set_text(&reply->reason, is_text ? text : span_make(text.data, 0), ES_REPLY_MAX_REASON);
        return true;
    default:
        return true;
    }
}

/* A list or an object at the current key. */
static bool open_container(struct es_reply *reply, enum json_token token)
{
    switch (reply->slot) {
    case SLOT_ITEMS:
        if (token != JSON_ARRAY || reply->has_items) {
            return fail(reply, "items that are not one list");
        }
        reply->has_items = true;
        reply->container = CONTAINER_ITEMS;
        return true;
    case SLOT_ERROR:
        if (token == JSON_OBJECT) {
            reply->container = CONTAINER_ERROR;
            return true;
        }
        break;
    case SLOT_STATUS:
        return fail(reply, "a status that is not an HTTP status");
    default:
        break;
    }
    reply->junk = 1;
    return true;
}

static bool in_object(struct es_reply *reply, enum json_token token, struct span text)
{
    switch (token) {
    case JSON_KEY:
        reply->slot = slot_of(reply->container, text);
        return true;
    case JSON_OBJECT:
    case JSON_ARRAY:
        return open_container(reply, token);
    case JSON_OBJECT_END:
        reply->container = reply->container == CONTAINER_TOP      ? CONTAINER_OUTSIDE
                           : reply->container == CONTAINER_ACTION ? CONTAINER_ITEM
                           : reply->in_item                       ? CONTAINER_ACTION
                                                                  : CONTAINER_TOP;
        return true;
    default:
        return take_scalar(reply, token, text);
    }
}

static bool in_items(struct es_reply *reply, enum json_token token)
{
    if (token == JSON_ARRAY_END) {
        reply->container = CONTAINER_TOP;
        return true;
    }
    if (token != JSON_OBJECT) {
        return fail(reply, "an item that is not an object");
    }
    if (reply->seen == reply->expected) {
        return fail(reply, "more items than events were sent");
    }
    reply->container = CONTAINER_ITEM;
    reply->in_item = true;
    reply->has_action = false;
    reply->status = 0;
    reply->id.size = 0;
    reply->index.size = 0;
    reply->type.size = 0;
    reply->reason.size = 0;
    return true;
}

static bool take_answer(struct es_reply *reply, const struct es_answer *answer)
{
    if (reply->item && !reply->item(reply->self, reply->seen, answer)) {
        return fail(reply, "an item for another event");
    }
    reply->seen++;
    return true;
}

static bool in_item(struct es_reply *reply, enum json_token token)
{
    if (token == JSON_KEY && !reply->has_action) {
        reply->has_action = true;
        return true;
    }
    if (token == JSON_OBJECT) {
        reply->container = CONTAINER_ACTION;
        return true;
    }
    if (token != JSON_OBJECT_END || reply->status == 0) {
        return fail(reply, "an item without a status");
    }
    struct es_answer answer = {reply->status, view(&reply->id), view(&reply->index),
        view(&reply->type), view(&reply->reason)};
    if (!take_answer(reply, &answer)) {
        return false;
    }
    reply->same.answer = answer;
    reply->in_item = false;
    /* Values of an item do not apply to the request. */
    reply->type.size = 0;
    reply->reason.size = 0;
    reply->index.size = 0;
    reply->container = CONTAINER_ITEMS;
    return true;
}

static bool take_token(void *self_, enum json_token token, struct span text)
{
    struct es_reply *reply = self_;
    if (reply->junk) {
        bool opens = token == JSON_OBJECT || token == JSON_ARRAY;
        bool closes = token == JSON_OBJECT_END || token == JSON_ARRAY_END;
        reply->junk = opens ? reply->junk + 1 : closes ? reply->junk - 1 : reply->junk;
        return true;
    }
    switch (reply->container) {
    case CONTAINER_OUTSIDE:
        reply->container = CONTAINER_TOP;
        return token == JSON_OBJECT || fail(reply, "no object");
    case CONTAINER_ITEMS:
        return in_items(reply, token);
    case CONTAINER_ITEM:
        return in_item(reply, token);
    default:
        return in_object(reply, token, text);
    }
}

void es_reply_init(struct es_reply *reply, size_t expected, es_reply_item_fn item, void *self)
{
    json_scan_init(&reply->scan, take_token, reply);
    reply->item = item;
    reply->self = self;
    reply->expected = expected;
    reply->same.state = ES_SAME_NONE;
    reply->same.size = 0;
    reply->seen = 0;
    reply->container = CONTAINER_OUTSIDE;
    reply->slot = SLOT_NONE;
    reply->junk = 0;
    reply->in_item = false;
    reply->has_action = false;
    reply->has_items = false;
    reply->fault = NULL;
    reply->status = 0;
    reply->request_status = 0;
    reply->id.size = 0;
    reply->index.size = 0;
    reply->type.size = 0;
    reply->reason.size = 0;
}

/* Skip items equal to the previous one. Items with ids are not equal. */
static struct span skip_same(struct es_reply *reply, struct span bytes)
{
    const struct es_same *same = &reply->same;
    bool known = same->state == ES_SAME_WHOLE && same->size && !same->answer.id.size;
    while (known && reply->seen < reply->expected && same->size <= bytes.size &&
           memcmp(same->bytes, bytes.data, same->size) == 0 && take_answer(reply, &same->answer)) {
        bytes = span_from(bytes, same->size);
    }
    return bytes;
}

/* Keep ${part}, which was just parsed, as text of the current item. ${ended}: the item ended with
 * it. */
static void keep_same(struct es_same *same, struct span part, bool ended)
{
    if (same->state == ES_SAME_WHOLE) {
        same->state = ES_SAME_BEGUN;
        same->size = 0;
    }
    if (same->state == ES_SAME_BEGUN && part.size <= sizeof(same->bytes) - same->size) {
        memcpy(same->bytes + same->size, part.data, part.size);
        same->size += part.size;
    } else {
        same->state = ES_SAME_NONE;
        same->size = 0;
    }
    same->state = ended ? ES_SAME_WHOLE : same->state;
}

/* Read up to a brace: an item ends with one, so nothing of the next item is read. */
static bool feed_part(struct es_reply *reply, struct span *bytes)
{
    const uint8_t *brace = memchr(bytes->data, '}', bytes->size);
    struct span part = span_first(*bytes, brace ? (size_t)(brace - bytes->data) + 1 : bytes->size);
    size_t seen = reply->seen;
    bool good = json_scan_feed(&reply->scan, part);
    keep_same(&reply->same, part, reply->seen > seen);
    *bytes = span_from(*bytes, part.size);
    return good;
}

bool es_reply_feed(struct es_reply *reply, struct span bytes)
{
    bool good = true;
    while (good && bytes.size) {
        bytes = skip_same(reply, bytes);
        good = !bytes.size || feed_part(reply, &bytes);
    }
    if (!good && !reply->fault) {
        reply->fault = "no JSON";
    }
    return good;
}

bool es_reply_end(const struct es_reply *reply, struct error *err)
{
    if (reply->fault) {
        return error_set(err, ERR_FORMAT, "the reply cannot be read (%s)", reply->fault);
    }
    if (!json_scan_is_whole(&reply->scan)) {
        return error_set(err, ERR_FORMAT, "the reply is cut off");
    }
    if (reply->seen != reply->expected) {
        return error_set(err, ERR_FORMAT, "the reply answers for %zu of %zu events", reply->seen,
            reply->expected);
    }
    return true;
}

struct es_answer es_reply_refusal(const struct es_reply *reply)
{
    bool known = !reply->in_item;
    return (struct es_answer){reply->request_status, span_make(NULL, 0), span_make(NULL, 0),
        known ? view(&reply->type) : span_make(NULL, 0),
        known ? view(&reply->reason) : span_make(NULL, 0)};
}

enum { SAID_MAX_BYTES = 200 }; /* length of a server's text in messages */

void es_reply_say(
    struct error *err, const char *url, const struct es_answer *answer, const char *words)
{
    struct span type = span_first(answer->type, SAID_MAX_BYTES);
    struct span reason = span_first(answer->reason, SAID_MAX_BYTES);
    error_set(err, ERR_IO, "%s: status %d%s%.*s%s%.*s%s%s", url, answer->status,
        type.size ? " " : "", SPAN_ARG(type), reason.size ? ": " : "", SPAN_ARG(reason),
        words ? ": " : "", words ? words : "");
}
