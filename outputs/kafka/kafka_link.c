#include "outputs/kafka/kafka_link.h"

#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_clock.h"

enum {
    SLICE_MS = 100,
    MAX_TOPICS = 4096,
    TOPIC_NAMES_MAX_BYTES = MAX_TOPICS * 512,
    GIVE_UP_MS = 5000,
    REFUSED_MS = 2000, /* after one broker has refused, wait this long for another one to accept */
    REASON_BYTES = 400,
};

/* ---- reports of librdkafka ------------------------------------------------------------------- */

/* librdkafka frees headers that a message still has after the report. The report is const, but
 * rd_kafka_message_detach_headers is meant for it. */
static void keep_headers(struct kafka_spare *spare, const rd_kafka_message_t *message)
{
    rd_kafka_headers_t *headers;
    if (!rd_kafka_message_detach_headers((rd_kafka_message_t *)message, &headers)) {
        spare->lists[spare->count++] = headers;
    }
}

/* `_private` of a message points to its result. */
static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *message, void *self)
{
    struct kafka_link *link = self;
    struct kafka_result *result = message->_private;
    (void)rk;
    if (result) {
        result->known = true;
        result->code = (int16_t)message->err;
        result->offset = message->offset;
        result->partition = message->partition;
        result->unsure = message->err &&
                         rd_kafka_message_status(message) != RD_KAFKA_MSG_STATUS_NOT_PERSISTED;
        if (result->spare) {
            keep_headers(result->spare, message);
        }
    }
    link->waiting -= link->waiting > 0;
}

static void on_error(rd_kafka_t *rk, int code, const char *reason, void *self)
{
    struct kafka_link *link = self;
    rd_kafka_resp_err_t trouble = (rd_kafka_resp_err_t)code;
    if (trouble == RD_KAFKA_RESP_ERR__FATAL) {
        char text[REASON_BYTES];
        link->broken = true;
        trouble = rd_kafka_fatal_error(rk, text, sizeof(text));
    }
    /* With TLS 1.3 a broker refuses our certificate only after the handshake. librdkafka then
     * reports a lost connection, with the text of OpenSSL. */
    if (trouble == RD_KAFKA_RESP_ERR__TRANSPORT && strstr(reason, ":SSL routines:")) {
        trouble = RD_KAFKA_RESP_ERR__SSL;
    }
    /* The reason that a broker is down says more than ALL_BROKERS_DOWN. */
    link->down = link->down || trouble == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;
    bool says_more = !link->trouble || (trouble != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN &&
                                           kafka_words_class(link->trouble) < KAFKA_MEND);
    if (says_more) {
        snprintf(link->trouble_text, sizeof(link->trouble_text), "%s", reason);
        link->trouble = trouble;
    }
}

static void on_throttle(rd_kafka_t *rk, const char *broker, int32_t id, int throttle_ms, void *self)
{
    struct kafka_link *link = self;
    (void)rk, (void)broker, (void)id;
    if (throttle_ms > 0 && (uint32_t)throttle_ms > link->throttled_ms) {
        link->throttled_ms = (uint32_t)throttle_ms;
    }
}

static void on_token(rd_kafka_t *rk, const char *config, void *self)
{
    struct kafka_link *link = self;
    struct error err;
    (void)config;
    if (link->token && !kafka_token_give(link->token, rk, &err)) {
        link->trouble = RD_KAFKA_RESP_ERR__AUTHENTICATION;
        snprintf(link->trouble_text, sizeof(link->trouble_text), "%.390s", err.text);
    }
}

/* Set ${err} to the meaning of ${code} for ${what}, or to the last trouble if that is more
 * specific. */
static void tell(
    struct kafka_link *link, rd_kafka_resp_err_t code, const char *what, struct error *err)
{
    bool vague = code == RD_KAFKA_RESP_ERR__TIMED_OUT || code == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT ||
                 code == RD_KAFKA_RESP_ERR__TRANSPORT || code == RD_KAFKA_RESP_ERR__PURGE_QUEUE ||
                 code == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT || code == RD_KAFKA_RESP_ERR__FATAL ||
                 code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || code == link->trouble;
    if (vague && link->trouble) {
        kafka_words_tell(link->trouble, what, link->trouble_text, err);
    } else if (vague && link->throttled_ms >= 1000) {
        error_set(err, ERR_IO,
            "%s: the brokers throttle the agent, by up to %u ms. raise the quota of the agent's "
            "user",
            what, link->throttled_ms);
    } else if (code == RD_KAFKA_RESP_ERR__PURGE_QUEUE ||
               code == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT) {
        error_set(err, ERR_IO, "%s: no broker has answered in time", what);
    } else {
        kafka_words_tell(code, what, "", err);
    }
}

void kafka_link_tell_topic(
    struct kafka_link *link, rd_kafka_resp_err_t code, const char *name, struct error *err)
{
    char what[KAFKA_TOPIC_MAX_BYTES + 16];
    snprintf(what, sizeof(what), "topic %s", name);
    tell(link, code, what, err);
}

/* ---- making ---------------------------------------------------------------------------------- */

bool kafka_link_init(struct kafka_link *link, const struct kafka_settings *settings,
    const struct output_env *env, struct error *err)
{
    *link = (struct kafka_link){.name = "kafka",
        .connect_timeout_ns = settings->connect_timeout_ns,
        .timeout_ns = settings->timeout_ns,
        .stopping = env->stopping,
        .host = env->host};
    map_init(&link->topics, MAX_TOPICS);
    arena_init(&link->topic_names, TOPIC_NAMES_MAX_BYTES);
    link->base = kafka_conf_create(settings, err);
    if (!link->base) {
        return false;
    }
    rd_kafka_conf_set_opaque(link->base, link);
    rd_kafka_conf_set_log_cb(link->base, NULL);
    rd_kafka_conf_set_error_cb(link->base, on_error);
    rd_kafka_conf_set_throttle_cb(link->base, on_throttle);
    if (settings->sasl.mechanism == KAFKA_OAUTHBEARER) {
        rd_kafka_conf_set_oauthbearer_token_refresh_cb(link->base, on_token);
        link->token = kafka_token_create(settings, env->stopping, env->note, env->host, err);
        return link->token != NULL;
    }
    return true;
}

void kafka_link_fini(struct kafka_link *link)
{
    kafka_link_close(link);
    if (link->base) {
        rd_kafka_conf_destroy(link->base);
    }
    kafka_token_destroy(link->token);
    map_fini(&link->topics);
    arena_fini(&link->topic_names);
}

bool kafka_link_stops(const struct kafka_link *link)
{
    return link->stopping && link->stopping(link->host);
}

void kafka_link_poll(struct kafka_link *link, int ms)
{
    if (link->rk) {
        rd_kafka_poll(link->rk, ms);
    }
}

static void forget_topics(struct kafka_link *link)
{
    size_t cursor = 0;
    for (const struct map_slot *slot; (slot = map_next(&link->topics, &cursor));) {
        rd_kafka_topic_destroy(slot->value);
    }
    map_clear(&link->topics);
    arena_reset(&link->topic_names);
}

rd_kafka_topic_t *kafka_link_topic(struct kafka_link *link, const char *name)
{
    struct span key = span_text(name);
    rd_kafka_topic_t *topic = map_get(&link->topics, key);
    if (topic) {
        return topic;
    }
    topic = rd_kafka_topic_new(link->rk, name, NULL);
    struct span copy;
    if (topic &&
        (!arena_copy(&link->topic_names, key, &copy) || !map_put(&link->topics, copy, topic))) {
        rd_kafka_topic_destroy(topic);
        link->broken = true; /* too many topics: the next producer starts without any */
        return NULL;
    }
    return topic;
}

/* Give up the waiting messages, and wait for librdkafka's report of each: until then it reads their
 * bytes. */
static void give_up(struct kafka_link *link)
{
    uint64_t until = plat_monotonic_ns() + (uint64_t)GIVE_UP_MS * NS_PER_MS;
    rd_kafka_purge(link->rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    while (link->waiting && plat_monotonic_ns() < until) {
        rd_kafka_poll(link->rk, SLICE_MS / 10);
    }
}

void kafka_link_close(struct kafka_link *link)
{
    if (!link->rk) {
        return;
    }
    if (link->waiting) {
        give_up(link);
    }
    forget_topics(link);
    rd_kafka_destroy_flags(link->rk, 0);
    link->rk = NULL;
    link->waiting = 0;
    link->broken = false;
}

/* ---- connecting ------------------------------------------------------------------------------ */

static bool lasts(const struct kafka_link *link)
{
    return link->down || kafka_words_class(link->trouble) == KAFKA_MEND;
}

static bool fail(struct kafka_link *link, rd_kafka_resp_err_t code, rd_kafka_resp_err_t *ret_code,
    struct error *err)
{
    tell(link, code, link->name, err);
    *ret_code = link->trouble ? link->trouble : code;
    return false;
}

static bool wait_for_broker(
    struct kafka_link *link, uint64_t until, rd_kafka_resp_err_t *ret_code, struct error *err)
{
    uint64_t soon = plat_monotonic_ns() + (uint64_t)REFUSED_MS * NS_PER_MS;
    for (;;) {
        const struct rd_kafka_metadata *metadata = NULL;
        rd_kafka_resp_err_t code = rd_kafka_metadata(link->rk, 0, NULL, &metadata, SLICE_MS);
        if (!code) {
            rd_kafka_metadata_destroy(metadata);
            return true;
        }
        rd_kafka_poll(link->rk, 0);
        uint64_t now = plat_monotonic_ns();
        bool refused = link->trouble && now >= soon;
        if (lasts(link) || refused || kafka_link_stops(link) || now >= until) {
            return fail(link, code, ret_code, err);
        }
    }
}

/* Read and free the error of a transactional call. */
static rd_kafka_resp_err_t read_error(rd_kafka_error_t *error, bool *again, bool *fatal)
{
    rd_kafka_resp_err_t code = rd_kafka_error_code(error);
    *again = rd_kafka_error_is_retriable(error) || code == RD_KAFKA_RESP_ERR__TIMED_OUT;
    *fatal = rd_kafka_error_is_fatal(error);
    rd_kafka_error_destroy(error);
    return code;
}

static bool init_transactions(
    struct kafka_link *link, uint64_t until, rd_kafka_resp_err_t *ret_code, struct error *err)
{
    for (;;) {
        bool again, fatal;
        rd_kafka_error_t *error = rd_kafka_init_transactions(link->rk, SLICE_MS * 5);
        if (!error) {
            return true;
        }
        char text[REASON_BYTES];
        snprintf(text, sizeof(text), "%s", rd_kafka_error_string(error));
        rd_kafka_resp_err_t code = read_error(error, &again, &fatal);
        rd_kafka_poll(link->rk, 0);
        bool late = kafka_link_stops(link) || plat_monotonic_ns() >= until;
        if (!again || late || lasts(link)) {
            link->trouble = again && link->trouble ? link->trouble : code;
            snprintf(link->trouble_text, sizeof(link->trouble_text), "%s", text);
            return fail(link, code, ret_code, err);
        }
    }
}

bool kafka_link_open(struct kafka_link *link, const struct kafka_conf_producer *producer,
    rd_kafka_resp_err_t *ret_code, struct error *err)
{
    char reason[REASON_BYTES];
    uint64_t until = plat_monotonic_ns() + link->connect_timeout_ns;
    kafka_link_close(link);
    link->trouble = RD_KAFKA_RESP_ERR_NO_ERROR;
    link->down = false;
    *ret_code = RD_KAFKA_RESP_ERR_INVALID_CONFIG;
    rd_kafka_conf_t *conf = kafka_conf_producer(link->base, producer, err);
    if (!conf) {
        return false;
    }
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    link->transactions = producer->transactional_id != NULL;
    link->rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof(reason));
    if (!link->rk) {
        rd_kafka_conf_destroy(conf);
        return error_set(err, ERR_CONFIG, "%s: %s", link->name, reason);
    }
    if (link->token && !kafka_token_give(link->token, link->rk, err)) {
        *ret_code = RD_KAFKA_RESP_ERR__AUTHENTICATION;
        kafka_link_close(link);
        return false;
    }
    if (!wait_for_broker(link, until, ret_code, err) ||
        (link->transactions && !init_transactions(link, until, ret_code, err))) {
        kafka_link_close(link);
        return false;
    }
    return true;
}

/* ---- messages -------------------------------------------------------------------------------- */

bool kafka_link_wait(struct kafka_link *link)
{
    uint64_t until = plat_monotonic_ns() + link->timeout_ns;
    while (link->waiting && !kafka_link_stops(link) && plat_monotonic_ns() < until) {
        rd_kafka_flush(link->rk, SLICE_MS);
    }
    if (link->waiting) {
        give_up(link);
        if (link->waiting) {
            kafka_link_close(link); /* its threads may read messages until they end */
        }
        link->broken = true;
        return false;
    }
    return true;
}

bool kafka_link_begin(struct kafka_link *link, rd_kafka_resp_err_t *ret_code, struct error *err)
{
    bool again, fatal;
    rd_kafka_error_t *error = rd_kafka_begin_transaction(link->rk);
    if (!error) {
        return true;
    }
    *ret_code = read_error(error, &again, &fatal);
    tell(link, *ret_code, link->name, err);
    link->broken = true;
    return false;
}

/* Only an answer of the brokers tells the outcome, so a timeout of one call is no failure yet. */
bool kafka_link_commit(struct kafka_link *link, rd_kafka_resp_err_t *ret_code, struct error *err)
{
    uint64_t until = plat_monotonic_ns() + link->timeout_ns;
    for (;;) {
        bool again, fatal;
        rd_kafka_error_t *error = rd_kafka_commit_transaction(link->rk, SLICE_MS * 5);
        if (!error) {
            return true;
        }
        bool must_abort = rd_kafka_error_txn_requires_abort(error);
        *ret_code = read_error(error, &again, &fatal);
        kafka_link_poll(link, 0);
        if (again && !must_abort && !kafka_link_stops(link) && plat_monotonic_ns() < until) {
            continue;
        }
        tell(link, *ret_code, link->name, err);
        if (must_abort) {
            kafka_link_abort(link);
        } else {
            link->broken = true;
        }
        return false;
    }
}

void kafka_link_abort(struct kafka_link *link)
{
    bool again, fatal;
    uint64_t until = plat_monotonic_ns() + link->timeout_ns;
    for (;;) {
        rd_kafka_error_t *error = rd_kafka_abort_transaction(link->rk, SLICE_MS * 5);
        if (!error) {
            return;
        }
        read_error(error, &again, &fatal);
        kafka_link_poll(link, 0);
        if (!again || kafka_link_stops(link) || plat_monotonic_ns() >= until) {
            link->broken = true; /* the next producer aborts it */
            return;
        }
    }
}
