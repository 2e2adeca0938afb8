#include "outputs/kafka/kafka_send.h"

#include <stdlib.h>

#include "outputs/delivery_id.h"
#include "outputs/http/http_frame.h"

enum { KEPT_MAX_BYTES = 64 * 1024, FULL_WAIT_MS = 20, FULL_TRIES = 3000, MAX_VALUES = 8 };

static const char unknown[] = "unknown";

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

void kafka_send_fini(struct kafka_send *send)
{
    free(send->targets);
    arena_fini(&send->kept);
}

bool kafka_send_begin(struct kafka_send *send, const struct delivery *delivery)
{
    size_t count = delivery->routes ? delivery->route_count : 1;
    if (count > send->target_capacity) {
        struct kafka_target *targets = realloc(send->targets, count * sizeof(*targets));
        if (!targets) {
            return false;
        }
        send->targets = targets;
        send->target_capacity = count;
    }
    for (size_t i = 0; i < count; i++) {
        send->targets[i].known = false;
    }
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

static struct kafka_target *target_of(
    struct kafka_send *send, struct kafka_link *link, const struct delivery *delivery, size_t index)
{
    size_t route = delivery->routes ? delivery->routes[index] : 0;
    struct kafka_target *target = &send->targets[route];
    if (!target->known) {
        target->known = true;
        split(send, delivery, route, target->parts);
        target->topic = kafka_link_topic(link, (const char *)target->parts[KAFKA_PART_TOPIC].data);
    }
    return target;
}

/* ---- headers ------------------------------------------------------------------------------------- */

static void add(rd_kafka_headers_t *headers, const char *name, struct span value)
{
    if (value.size) {
        rd_kafka_header_add(headers, name, (ssize_t)strlen(name), value.data, (ssize_t)value.size);
    }
}

static rd_kafka_headers_t *make_headers(const struct kafka_send *send,
    const struct kafka_target *target, const struct delivery *delivery, size_t index)
{
    static const enum kafka_part parts[] = {KAFKA_PART_PROVIDER, KAFKA_PART_CODE};
    rd_kafka_headers_t *headers = rd_kafka_headers_new(KAFKA_HEADER_COUNT);
    for (int i = 0; i < 2; i++) {
        struct span value = target->parts[parts[i]];
        if (send->headers[i] && !span_is(value, unknown)) {
            add(headers, kafka_header_names[i], value);
        }
    }
    if (send->headers[KAFKA_HEADER_ID] && delivery->ids) {
        char id[DELIVERY_ID_MAX];
        size_t size = delivery_id_write(delivery, index, id);
        add(headers, kafka_header_names[KAFKA_HEADER_ID], span_make(id, size));
    }
    if (send->headers[KAFKA_HEADER_SHAPE]) {
        add(headers, kafka_header_names[KAFKA_HEADER_SHAPE], span_text(send->shape));
    }
    if (send->headers[KAFKA_HEADER_AGENT]) {
        add(headers, kafka_header_names[KAFKA_HEADER_AGENT], span_text(send->agent));
    }
    return headers;
}

/* ---- handing over -------------------------------------------------------------------------------- */

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

/* Neither key nor value is copied. ${headers}, which may be NULL, are given away. */
static void produce(struct kafka_link *link, rd_kafka_topic_t *topic, int32_t partition,
    struct span key, struct span value, rd_kafka_headers_t *headers, struct kafka_result *result)
{
    rd_kafka_vu_t values[MAX_VALUES];
    size_t count = 0;
    next_value(values, &count, RD_KAFKA_VTYPE_RKT)->u.rkt = topic;
    next_value(values, &count, RD_KAFKA_VTYPE_PARTITION)->u.i32 = partition;
    next_value(values, &count, RD_KAFKA_VTYPE_OPAQUE)->u.ptr = result;
    put_bytes(values, &count, RD_KAFKA_VTYPE_VALUE, value);
    if (key.size) {
        put_bytes(values, &count, RD_KAFKA_VTYPE_KEY, key);
    }
    if (headers) {
        next_value(values, &count, RD_KAFKA_VTYPE_HEADERS)->u.headers = headers;
    }
    *result = (struct kafka_result){.known = false};
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
            if (headers) {
                rd_kafka_headers_destroy(headers);
            }
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
    rd_kafka_headers_t *headers = make_headers(send, target, delivery, index);
    produce(link, target->topic, RD_KAFKA_PARTITION_UA, target->parts[KAFKA_PART_KEY],
        http_frame_record(delivery, index), headers, result);
}

void kafka_send_raw(struct kafka_link *link, rd_kafka_topic_t *topic, int32_t partition,
    struct span key, struct span value, struct kafka_result *result)
{
    produce(link, topic, partition, key, value, NULL, result);
}
