#include "outputs/kafka/kafka_ring.h"

#include <stdio.h>

#include "base/crc32c.h"
#include "outputs/delivery_id.h"
#include "outputs/kafka/kafka_topic.h"
#include "platform/plat_clock.h"
#include "platform/plat_system.h"

enum {
    PART_BYTES = 256 * 1024, /* limit of one message: every topic accepts it by default (1 MB) */
    VALUES_MAX_BYTES = KAFKA_RING_PARTS * PART_BYTES,
    KEYS_MAX_BYTES = 64 * 1024,
    KEY_BYTES = 320,
    DELIVERED_MAX_IDS = 16 * 1024 * 1024,
    DELIVERED_MAX_BYTES = 512 * 1024 * 1024,
    SLICE_MS = 100,
    REASON_BYTES = 300,
    NONCE_DIGITS = 16,
    SETTLE_TRIES = 50,
};

static const char mark_name[] = "begin";
static const char checkpoint_head[] = "1 ";

/* ---- life ------------------------------------------------------------------------------------ */

static bool read_number(struct span *text, int64_t *ret_number)
{
    size_t digits = 0;
    int64_t number = 0;
    while (digits < text->size && digits < 18 && text->data[digits] >= '0' &&
           text->data[digits] <= '9') {
        number = number * 10 + (text->data[digits++] - '0');
    }
    *text = span_from(*text, digits + (digits < text->size));
    *ret_number = number;
    return digits > 0;
}

static void read_checkpoint(struct kafka_ring *ring, struct span text)
{
    int64_t partition, start;
    size_t head = sizeof(checkpoint_head) - 1;
    if (!span_is(span_first(text, head), checkpoint_head)) {
        return;
    }
    text = span_from(text, head);
    if (read_number(&text, &partition) && read_number(&text, &start) && partition <= INT32_MAX) {
        ring->partition = (int32_t)partition;
        ring->start = start;
    }
}

void kafka_ring_init(
    struct kafka_ring *ring, const char *topic, const char *id, struct span checkpoint)
{
    *ring = (struct kafka_ring){.topic = topic, .id = id, .partition = -1, .start = -1, .next = 1};
    for (size_t i = 0; i < KAFKA_RING_SLOTS; i++) {
        buf_init(&ring->slots[i].value, VALUES_MAX_BYTES);
        ring->slots[i].offset = -1;
    }
    map_init(&ring->delivered, DELIVERED_MAX_IDS);
    arena_init(&ring->delivered_ids, DELIVERED_MAX_BYTES);
    buf_init(&ring->values, VALUES_MAX_BYTES);
    buf_init(&ring->keys, KEYS_MAX_BYTES);
    read_checkpoint(ring, checkpoint);
}

void kafka_ring_fini(struct kafka_ring *ring)
{
    for (size_t i = 0; i < KAFKA_RING_SLOTS; i++) {
        buf_fini(&ring->slots[i].value);
    }
    map_fini(&ring->delivered);
    arena_fini(&ring->delivered_ids);
    buf_fini(&ring->values);
    buf_fini(&ring->keys);
}

void kafka_ring_checkpoint(const struct kafka_ring *ring, struct buf *out)
{
    int64_t start = INT64_MAX;
    for (size_t i = 0; i < KAFKA_RING_SLOTS; i++) {
        const struct kafka_slot *slot = &ring->slots[i];
        start = slot->number && slot->offset < start ? slot->offset : start;
    }
    start = start == INT64_MAX ? ring->start : start;
    if (ring->partition >= 0 && start >= 0) {
        buf_printf(out, "%s%d %lld", checkpoint_head, (int)ring->partition, (long long)start);
    }
}

/* ---- what was delivered ---------------------------------------------------------------------- */

bool kafka_ring_has(const struct kafka_ring *ring, const struct delivery *delivery, size_t index)
{
    char id[DELIVERY_ID_MAX];
    if (!ring->delivered.count || !delivery->ids) {
        return false;
    }
    size_t size = delivery_id_write(delivery, index, id);
    return map_get(&ring->delivered, span_make(id, size)) != NULL;
}

void kafka_ring_forget(struct kafka_ring *ring)
{
    if (ring->delivered.count) {
        map_fini(&ring->delivered);
        arena_fini(&ring->delivered_ids);
        map_init(&ring->delivered, DELIVERED_MAX_IDS);
        arena_init(&ring->delivered_ids, DELIVERED_MAX_BYTES);
    }
}

static bool take_id(void *self, struct span id)
{
    struct kafka_ring *ring = self;
    struct span copy;
    return map_get(&ring->delivered, id) ||
           (arena_copy(&ring->delivered_ids, id, &copy) && map_put(&ring->delivered, copy, ring));
}

/* Remember the ids of a slot. Its value contains the texts of all parts, each after its size. */
static bool take_slot(struct kafka_ring *ring, const struct kafka_slot *slot, struct error *err)
{
    struct span rest = buf_span(&slot->value);
    while (rest.size) {
        uint32_t size;
        uint64_t number;
        memcpy(&size, rest.data, sizeof(size)); /* written by keep_part */
        struct span text = span_first(span_from(rest, sizeof(size)), size);
        rest = span_from(rest, sizeof(size) + size);
        if (!kafka_position_read(text, &number, take_id, ring)) {
            return error_set(err, ERR_DAMAGED,
                "topic %s: a position of the agent cannot be read, or memory is short. check "
                "whether another program writes to this topic",
                ring->topic);
        }
    }
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The rest of the key after our id and '/'; empty if the message is not ours. */
static struct span our_key(const struct kafka_ring *ring, const rd_kafka_message_t *message)
{
    struct span key = span_make(message->key, message->key_len);
    size_t size = strlen(ring->id);
    bool ours = key.size > size + 1 && memcmp(key.data, ring->id, size) == 0 &&
                key.data[size] == '/';
    return ours ? span_from(key, size + 1) : span_make(NULL, 0);
}

static bool keep_part(struct kafka_ring *ring, const rd_kafka_message_t *message, struct span key)
{
    int64_t slot_index;
    uint64_t number;
    struct span value = span_make(message->payload, message->len);
    if (!read_number(&key, &slot_index) || slot_index >= KAFKA_RING_SLOTS ||
        !kafka_position_read(value, &number, NULL, NULL)) {
        return true;
    }
    struct kafka_slot *slot = &ring->slots[slot_index];
    if (number > slot->number) {
        slot->number = number;
        slot->offset = message->offset;
        buf_reset(&slot->value);
    }
    if (number == slot->number) {
        uint32_t size = (uint32_t)value.size;
        buf_add(&slot->value, &size, sizeof(size));
        buf_add_span(&slot->value, value);
    }
    ring->next = number >= ring->next ? number + 1 : ring->next;
    return !slot->value.failed;
}

/* Read up to the mark ${nonce}. Each message extends the time limit. */
static bool read_all(struct kafka_ring *ring, struct kafka_link *link, rd_kafka_topic_t *topic,
    struct span nonce, rd_kafka_resp_err_t *ret_code)
{
    uint64_t until = plat_monotonic_ns() + link->connect_timeout_ns;
    while (!kafka_link_stops(link) && plat_monotonic_ns() < until) {
        rd_kafka_message_t *message = rd_kafka_consume(topic, ring->partition, SLICE_MS);
        kafka_link_poll(link, 0);
        if (!message) {
            continue;
        }
        struct span key = message->err ? span_make(NULL, 0) : our_key(ring, message);
        bool found = span_is(key, mark_name) &&
                     span_equal(span_make(message->payload, message->len), nonce);
        bool good = !key.size || keep_part(ring, message, key);
        rd_kafka_resp_err_t code = message->err;
        until = code ? until : plat_monotonic_ns() + link->connect_timeout_ns;
        rd_kafka_message_destroy(message);
        if (found) {
            return true;
        }
        if (!good || kafka_words_class(code) == KAFKA_MEND) {
            *ret_code = good ? code : RD_KAFKA_RESP_ERR__FAIL;
            return false;
        }
    }
    *ret_code = RD_KAFKA_RESP_ERR__TIMED_OUT;
    return false;
}

static bool read_to(struct kafka_ring *ring, struct kafka_link *link, struct span nonce,
    rd_kafka_resp_err_t *ret_code, struct error *err)
{
    char reason[REASON_BYTES];
    rd_kafka_conf_t *conf = kafka_conf_reader(link->base, err);
    if (!conf) {
        return false;
    }
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, reason, sizeof(reason));
    if (!rk) {
        rd_kafka_conf_destroy(conf);
        return error_set(err, ERR_CONFIG, "%s: %s", link->name, reason);
    }
    rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, ring->topic, NULL);
    bool good = (!link->token || kafka_token_give(link->token, rk, err)) && topic;
    int64_t start = ring->start >= 0 ? ring->start : RD_KAFKA_OFFSET_BEGINNING;
    if (good && rd_kafka_consume_start(topic, ring->partition, start) == 0) {
        good = read_all(ring, link, topic, nonce, ret_code);
        rd_kafka_consume_stop(topic, ring->partition);
    } else if (good) {
        *ret_code = rd_kafka_last_error();
        good = false;
    }
    if (topic) {
        rd_kafka_topic_destroy(topic);
    }
    rd_kafka_destroy(rk);
    return good;
}

/* ---- the mark -------------------------------------------------------------------------------- */

static rd_kafka_resp_err_t put_mark(
    struct kafka_ring *ring, struct kafka_link *link, struct span nonce, struct error *err)
{
    char key[KEY_BYTES];
    rd_kafka_resp_err_t code;
    rd_kafka_topic_t *topic = kafka_link_topic(link, ring->topic);
    struct kafka_result *result = &ring->results[0];
    snprintf(key, sizeof(key), "%s/%s", ring->id, mark_name);
    if (!topic || !kafka_link_begin(link, &code, err)) {
        return topic ? code : RD_KAFKA_RESP_ERR__INVALID_ARG;
    }
    kafka_send_raw(link, topic, ring->partition, span_text(key), nonce, result);
    kafka_link_wait(link);
    code = result->known ? (rd_kafka_resp_err_t)result->code : RD_KAFKA_RESP_ERR__TIMED_OUT;
    if (code) {
        if (link->rk) {
            kafka_link_abort(link);
        }
        return code;
    }
    return kafka_link_commit(link, &code, err) ? RD_KAFKA_RESP_ERR_NO_ERROR : code;
}

/* Find our partition of the topic of positions, by a hash of our id. Create the topic if it is
 * missing. */
static bool find_partition(struct kafka_ring *ring, struct kafka_link *link,
    rd_kafka_resp_err_t *ret_code, struct error *err)
{
    int32_t count;
    bool found = kafka_topic_find(link, ring->topic, &count, ret_code, err);
    if (!found && (*ret_code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
                      *ret_code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC)) {
        found = kafka_topic_make(link, ring->topic, &kafka_topic_positions, false, ret_code, err);
        /* Brokers learn of a new topic at different times. */
        bool known = false;
        for (int i = 0; found && !known && i < SETTLE_TRIES && !kafka_link_stops(link); i++) {
            kafka_link_poll(link, i ? SLICE_MS : 0);
            known = kafka_topic_find(link, ring->topic, &count, ret_code, err);
        }
        found = found && known;
    }
    if (found && (ring->partition < 0 || ring->partition >= count)) {
        ring->partition = (int32_t)(crc32c_add(0, span_text(ring->id)) % (uint32_t)count);
        ring->start = -1;
    }
    return found;
}

bool kafka_ring_recall(struct kafka_ring *ring, struct kafka_link *link,
    rd_kafka_resp_err_t *ret_code, struct error *err)
{
    uint64_t random;
    char nonce[NONCE_DIGITS + 1];
    error_set(err, ERR_IO, "topic %s: positions cannot be read", ring->topic);
    if (!plat_random(&random, sizeof(random), err) || !find_partition(ring, link, ret_code, err)) {
        return false;
    }
    snprintf(nonce, sizeof(nonce), "%016llx", (unsigned long long)random);
    for (size_t i = 0; i < KAFKA_RING_SLOTS; i++) {
        buf_reset(&ring->slots[i].value);
        ring->slots[i].number = 0;
        ring->slots[i].offset = -1;
    }
    *ret_code = put_mark(ring, link, span_text(nonce), err);
    bool good = !*ret_code && read_to(ring, link, span_text(nonce), ret_code, err);
    if (!good && *ret_code) {
        kafka_link_tell_topic(link, *ret_code, ring->topic, err);
    }
    for (size_t i = 0; i < KAFKA_RING_SLOTS; i++) {
        good = good && take_slot(ring, &ring->slots[i], err);
        buf_fini(&ring->slots[i].value);
        buf_init(&ring->slots[i].value, VALUES_MAX_BYTES);
    }
    ring->stored = 0; /* unknown, so the host must store its position before the next delivery */
    return good;
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool end_part(struct kafka_ring *ring)
{
    if (ring->part_count == KAFKA_RING_PARTS || ring->values.failed) {
        return false;
    }
    buf_printf(&ring->keys, "%s/%u/%zu", ring->id, (unsigned)(ring->next % KAFKA_RING_SLOTS),
        ring->part_count);
    ring->value_ends[ring->part_count] = ring->values.size;
    ring->key_ends[ring->part_count++] = ring->keys.size;
    return !ring->keys.failed;
}

static bool write_parts(
    struct kafka_ring *ring, const struct delivery *delivery, const struct kafka_mark *marks)
{
    struct kafka_position_writer writer;
    size_t start = 0;
    buf_reset(&ring->values);
    buf_reset(&ring->keys);
    ring->part_count = 0;
    kafka_position_begin(&writer, &ring->values, ring->next);
    for (size_t i = 0; delivery->ids && i < delivery->record_count; i++) {
        char id[DELIVERY_ID_MAX];
        if (marks[i].skip) {
            continue;
        }
        if (ring->values.size - start > PART_BYTES - 2 * DELIVERY_ID_MAX) {
            if (!end_part(ring)) {
                return false;
            }
            start = ring->values.size;
            kafka_position_begin(&writer, &ring->values, ring->next);
        }
        kafka_position_add(&writer, span_make(id, delivery_id_write(delivery, i, id)));
    }
    return end_part(ring);
}

bool kafka_ring_put(struct kafka_ring *ring, struct kafka_link *link,
    const struct delivery *delivery, const struct kafka_mark *marks)
{
    rd_kafka_topic_t *topic = kafka_link_topic(link, ring->topic);
    if (!topic || !write_parts(ring, delivery, marks)) {
        return false;
    }
    for (size_t i = 0; i < ring->part_count; i++) {
        size_t value = i ? ring->value_ends[i - 1] : 0;
        size_t key = i ? ring->key_ends[i - 1] : 0;
        kafka_send_raw(link, topic, ring->partition,
            span_make(ring->keys.data + key, ring->key_ends[i] - key),
            span_make(ring->values.data + value, ring->value_ends[i] - value), &ring->results[i]);
    }
    return true;
}

rd_kafka_resp_err_t kafka_ring_code(const struct kafka_ring *ring)
{
    for (size_t i = 0; i < ring->part_count; i++) {
        if (!ring->results[i].known || ring->results[i].code) {
            return ring->results[i].known ? (rd_kafka_resp_err_t)ring->results[i].code
                                          : RD_KAFKA_RESP_ERR__TIMED_OUT;
        }
    }
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

void kafka_ring_turn(struct kafka_ring *ring)
{
    struct kafka_slot *slot = &ring->slots[ring->next % KAFKA_RING_SLOTS];
    slot->number = ring->next++;
    slot->offset = ring->part_count ? ring->results[0].offset : -1;
}

bool kafka_ring_is_due(const struct kafka_ring *ring)
{
    return !ring->stored || ring->next - ring->stored >= KAFKA_RING_SLOTS / 2;
}

void kafka_ring_stored(struct kafka_ring *ring)
{
    ring->stored = ring->next;
}
