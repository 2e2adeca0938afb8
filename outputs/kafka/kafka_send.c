#include "outputs/kafka/kafka_send.h"

#include <stdlib.h>

#include "base/filetime.h"
#include "base/grow.h"
#include "outputs/delivery_id.h"
#include "outputs/http/http_frame.h"
#include "platform/plat_clock.h"

enum {
    KEPT_MAX_BYTES = 64 * 1024,
    FULL_WAIT_MS = 20,
    FULL_TRIES = 3000,
    MAX_VALUES = 8,
    MAX_SPARES = 1024, /* headers that differ in provider or code */
    SPARES_MAX_BYTES = 256 * 1024,
};

static const char unknown[] = "unknown";

/* Parts for KAFKA_HEADER_PROVIDER and KAFKA_HEADER_CODE. */
static const enum kafka_part header_parts[] = {KAFKA_PART_PROVIDER, KAFKA_PART_CODE};

static struct span keep(struct kafka_send *send, const char *text, bool *good)
{
    struct span copy = span_make(NULL, 0);
    *good = *good && arena_copy(&send->kept, span_text(text), &copy);
    return copy;
}

bool kafka_send_init(struct kafka_send *send, const struct kafka_settings *settings,
    const struct output_env *env, struct error *err)
{
    bool good = true;
    *send = (struct kafka_send){.target_capacity = 0};
    arena_init(&send->kept, KEPT_MAX_BYTES);
    arena_init(&send->spare_kept, SPARES_MAX_BYTES);
    map_init(&send->spares, MAX_SPARES);
    send->parts[KAFKA_PART_TOPIC] = keep(send, settings->topic, &good);
    send->parts[KAFKA_PART_KEY] = keep(send, settings->key, &good);
    struct span shape = keep(send, env->format ? env->format : "", &good);
    struct span agent = keep(send, env->agent_id ? env->agent_id : "", &good);
    send->shape = (const char *)shape.data;
    send->agent = (const char *)agent.data;
    for (int i = 0; i < KAFKA_HEADER_COUNT; i++) {
        send->headers[i] = kafka_settings_has_header(settings, (enum kafka_header)i);
    }
    return good || error_set(err, ERR_MEMORY, "out of memory");
}

static void free_spares(struct kafka_send *send)
{
    size_t cursor = 0;
    for (const struct map_slot *slot; (slot = map_next(&send->spares, &cursor));) {
        struct kafka_spare *spare = slot->value;
        for (size_t i = 0; i < spare->count; i++) {
            rd_kafka_headers_destroy(spare->lists[i]);
        }
        free(spare->lists);
    }
    map_clear(&send->spares);
    arena_reset(&send->spare_kept);
    send->lists = 0;
}

void kafka_send_fini(struct kafka_send *send)
{
    free_spares(send);
    map_fini(&send->spares);
    arena_fini(&send->spare_kept);
    free(send->targets);
    arena_fini(&send->kept);
}

bool kafka_send_begin(struct kafka_send *send, const struct delivery *delivery)
{
    size_t count = delivery->routes ? delivery->route_count : 1;
    if (!grow_to(&send->targets, count, &send->target_capacity, sizeof(*send->targets))) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        send->targets[i].known = false;
    }
    if (delivery->record_count > send->most_events) {
        send->most_events = delivery->record_count;
    }
    if (send->lists > send->most_events + send->most_events / 2 ||
        send->spares.count == MAX_SPARES) {
        free_spares(send);
    }
    send->now_ms = (int64_t)((plat_now_filetime() - FILETIME_UNIX_EPOCH) / FILETIME_PER_MS);
    return true;
}

static void split(struct kafka_send *send, const struct delivery *delivery, size_t route,
    struct span ret_parts[KAFKA_PART_COUNT])
{
    if (!delivery->routes ||
        !kafka_settings_split(delivery->route_names[route], ret_parts, send->topic_name)) {
        memcpy(ret_parts, send->parts, sizeof(send->parts));
    }
}

const char *kafka_send_topic(struct kafka_send *send, const struct delivery *delivery, size_t index)
{
    struct span parts[KAFKA_PART_COUNT];
    split(send, delivery, delivery->routes ? delivery->routes[index] : 0, parts);
    return (const char *)parts[KAFKA_PART_TOPIC].data;
}

/* NULL: there are too many, or the names are too long. */
static struct kafka_spare *spare_of(
    struct kafka_send *send, const struct span parts[KAFKA_PART_COUNT])
{
    uint8_t name[2 * EVENT_TEMPLATE_MAX_NAME + 2];
    struct span key = {.data = name};
    for (int i = 0; i < 2; i++) {
        struct span part = send->headers[i] ? parts[header_parts[i]] : span_make(NULL, 0);
        if (key.size + part.size + 1 > sizeof(name)) {
            return NULL;
        }
        if (part.size) {
            memcpy(name + key.size, part.data, part.size);
        }
        name[key.size + part.size] = '\0';
        key.size += part.size + 1;
    }
    struct kafka_spare *spare = map_get(&send->spares, key);
    struct span copy;
    if (spare) {
        return spare;
    }
    spare = arena_alloc(&send->spare_kept, sizeof(*spare));
    return spare && arena_copy(&send->spare_kept, key, &copy) && map_put(&send->spares, copy, spare)
               ? spare
               : NULL;
}

static struct kafka_target *target_of(
    struct kafka_send *send, struct kafka_link *link, const struct delivery *delivery, size_t index)
{
    size_t route = delivery->routes ? delivery->routes[index] : 0;
    struct kafka_target *target = &send->targets[route];
    if (!target->known) {
        target->known = true;
        split(send, delivery, route, target->parts);
        target->topic = kafka_link_topic(link, (const char *)target->parts[KAFKA_PART_TOPIC].data);
        target->spare = spare_of(send, target->parts);
    }
    return target;
}

/* ---- headers --------------------------------------------------------------------------------- */

static void add(rd_kafka_headers_t *headers, const char *name, struct span value)
{
    if (value.size) {
        rd_kafka_header_add(headers, name, (ssize_t)strlen(name), value.data, (ssize_t)value.size);
    }
}

/* Make all headers except the id. */
static rd_kafka_headers_t *make_headers(
    const struct kafka_send *send, const struct kafka_target *target)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new(KAFKA_HEADER_COUNT);
    for (int i = 0; i < 2; i++) {
        struct span value = target->parts[header_parts[i]];
        if (send->headers[i] && !span_is(value, unknown)) {
            add(headers, kafka_header_names[i], value);
        }
    }
    if (send->headers[KAFKA_HEADER_SHAPE]) {
        add(headers, kafka_header_names[KAFKA_HEADER_SHAPE], span_text(send->shape));
    }
    if (send->headers[KAFKA_HEADER_AGENT]) {
        add(headers, kafka_header_names[KAFKA_HEADER_AGENT], span_text(send->agent));
    }
    return headers;
}

static bool has_room(struct kafka_spare *spare)
{
    size_t room = spare->room ? 2 * spare->room : 8;
    return spare->made < spare->room ||
           grow_to(&spare->lists, room, &spare->room, sizeof(*spare->lists));
}

/* Take headers that can be reused, or make them. ${ret_spare}: where to return them; NULL:
 * nowhere. */
static rd_kafka_headers_t *take_headers(
    struct kafka_send *send, const struct kafka_target *target, struct kafka_spare **ret_spare)
{
    struct kafka_spare *spare = target->spare;
    *ret_spare = spare;
    if (spare && spare->count) {
        rd_kafka_headers_t *headers = spare->lists[--spare->count];
        rd_kafka_header_remove(headers, kafka_header_names[KAFKA_HEADER_ID]);
        return headers;
    }
    if (spare && has_room(spare)) {
        spare->made++;
        send->lists++;
    } else {
        *ret_spare = NULL;
    }
    return make_headers(send, target);
}

static void drop_headers(struct kafka_spare *spare, rd_kafka_headers_t *headers)
{
    if (spare) {
        spare->lists[spare->count++] = headers;
    } else if (headers) {
        rd_kafka_headers_destroy(headers);
    }
}

/* ---- handing over ---------------------------------------------------------------------------- */

static rd_kafka_vu_t *next_value(rd_kafka_vu_t *values, size_t *count, rd_kafka_vtype_t type)
{
    rd_kafka_vu_t *value = &values[(*count)++];
    value->vtype = type;
    return value;
}

static void put_bytes(
    rd_kafka_vu_t *values, size_t *count, rd_kafka_vtype_t type, struct span bytes)
{
    rd_kafka_vu_t *value = next_value(values, count, type);
    value->u.mem.ptr = (void *)bytes.data;
    value->u.mem.size = bytes.size;
}

struct message {
    rd_kafka_topic_t *topic;
    int32_t partition;
    int64_t time_ms; /* 0: now */
    struct span key;
    struct span value;
    rd_kafka_headers_t *headers; /* librdkafka owns them after the call; NULL: none */
    struct kafka_spare *spare;
};

/* Neither key nor value is copied. */
static void produce(
    struct kafka_link *link, const struct message *message, struct kafka_result *result)
{
    rd_kafka_vu_t values[MAX_VALUES];
    size_t count = 0;
    next_value(values, &count, RD_KAFKA_VTYPE_RKT)->u.rkt = message->topic;
    next_value(values, &count, RD_KAFKA_VTYPE_PARTITION)->u.i32 = message->partition;
    next_value(values, &count, RD_KAFKA_VTYPE_TIMESTAMP)->u.i64 = message->time_ms;
    next_value(values, &count, RD_KAFKA_VTYPE_OPAQUE)->u.ptr = result;
    put_bytes(values, &count, RD_KAFKA_VTYPE_VALUE, message->value);
    if (message->key.size) {
        put_bytes(values, &count, RD_KAFKA_VTYPE_KEY, message->key);
    }
    if (message->headers) {
        next_value(values, &count, RD_KAFKA_VTYPE_HEADERS)->u.headers = message->headers;
    }
    *result = (struct kafka_result){.known = false, .spare = message->spare};
    for (int tries = 0;; tries++) {
        link->waiting++;
        rd_kafka_error_t *error = rd_kafka_produceva(link->rk, values, count);
        if (!error) {
            return;
        }
        link->waiting--;
        rd_kafka_resp_err_t code = rd_kafka_error_code(error);
        rd_kafka_error_destroy(error);
        bool full = code == RD_KAFKA_RESP_ERR__QUEUE_FULL;
        if (!full || tries >= FULL_TRIES || kafka_link_stops(link)) {
            drop_headers(message->spare, message->headers);
            link->broken = link->broken || code == RD_KAFKA_RESP_ERR__FATAL ||
                           code == RD_KAFKA_RESP_ERR__STATE;
            *result = (struct kafka_result){.known = true, .code = (int16_t)code};
            return;
        }
        rd_kafka_poll(link->rk, FULL_WAIT_MS);
    }
}

void kafka_send_put(struct kafka_send *send, struct kafka_link *link,
    const struct delivery *delivery, size_t index, struct kafka_result *result)
{
    struct kafka_target *target = target_of(send, link, delivery, index);
    if (!target->topic) {
        *result = (struct kafka_result){.known = true, .code = RD_KAFKA_RESP_ERR__INVALID_ARG};
        return;
    }
    struct message message = {.topic = target->topic,
        .partition = RD_KAFKA_PARTITION_UA,
        .time_ms = send->now_ms,
        .key = target->parts[KAFKA_PART_KEY],
        .value = http_frame_record(delivery, index)};
    message.headers = take_headers(send, target, &message.spare);
    if (send->headers[KAFKA_HEADER_ID] && delivery->ids) {
        char id[DELIVERY_ID_MAX];
        size_t size = delivery_id_write(delivery, index, id);
        add(message.headers, kafka_header_names[KAFKA_HEADER_ID], span_make(id, size));
    }
    produce(link, &message, result);
}

void kafka_send_raw(struct kafka_link *link, rd_kafka_topic_t *topic, int32_t partition,
    struct span key, struct span value, struct kafka_result *result)
{
    const struct message message = {
        .topic = topic, .partition = partition, .key = key, .value = value};
    produce(link, &message, result);
}
