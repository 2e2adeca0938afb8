/*
 * Apache Kafka, through librdkafka: each event is a message. A delivery ends when the brokers have
 * answered for all its messages. A message without an error is then in all in-sync replicas.
 *
 * Exactly once: each delivery is a transaction, which also writes the ids of its events
 * (kafka_ring.h). At least once: an idempotent producer. It repeats requests without making
 * duplicates, as long as the process lives.
 */
#include "outputs/kafka/out_kafka.h"

#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_clock.h"

enum {
    KEPT_MAX_BYTES = 64 * 1024,
    ID_BYTES = 300,
    TEXT_BYTES = 700,
    IDLE_MS = 5000,
};

/* ---- making ---------------------------------------------------------------------------------- */

static const char *keep(struct out_kafka *self, const char *text, bool *good)
{
    struct span copy;
    *good = *good && arena_copy(&self->kept, span_text(text), &copy);
    return *good ? (const char *)copy.data : NULL;
}

/* The id of our transactions; NULL: none. They need a host that stores positions, and an id that
 * stays the same after a restart. */
static const char *name_transactions(struct out_kafka *self, const struct kafka_settings *s,
    const struct output_env *env, bool *good)
{
    char id[ID_BYTES];
    bool nameless = !env->agent_id || !env->agent_id[0];
    if (s->delivery == KAFKA_AT_LEAST_ONCE || !env->save || (nameless && !s->transactional_id)) {
        return NULL;
    }
    if (s->transactional_id) {
        return keep(self, s->transactional_id, good);
    }
    snprintf(
        id, sizeof(id), "etwship-%.100s-%.100s", env->agent_id, env->name ? env->name : "kafka");
    return keep(self, id, good);
}

void *out_kafka_create(const void *settings, const struct output_env *env, struct error *err)
{
    const struct kafka_settings *s = settings;
    struct out_kafka *self = calloc(1, sizeof(*self));
    bool good = true;
    if (!self) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    arena_init(&self->kept, KEPT_MAX_BYTES);
    self->wanted = (enum kafka_delivery)s->delivery;
    self->one_topic = !kafka_settings_varies(s->topic);
    self->save = env->save;
    self->warn = env->warn;
    self->note = env->note;
    self->guarantee = env->guarantee;
    self->host = env->host;
    self->id = name_transactions(self, s, env, &good);
    const char *topic = keep(self, s->positions_topic, &good);
    kafka_ring_init(&self->ring, topic, self->id, env->checkpoint);
    if (!good) {
        error_set(err, ERR_MEMORY, "out of memory");
    }
    good = kafka_send_init(&self->send, s, env, err) && good;
    if (!kafka_link_init(&self->link, s, env, err) || !good) {
        out_kafka_destroy(self);
        return NULL;
    }
    return self;
}

void out_kafka_destroy(void *self_)
{
    struct out_kafka *self = self_;
    if (self) {
        kafka_link_fini(&self->link);
        kafka_ring_fini(&self->ring);
        kafka_send_fini(&self->send);
        arena_fini(&self->kept);
        free(self->results);
        free(self->marks);
        free(self);
    }
}

/* ---- connecting ------------------------------------------------------------------------------ */

/* Replace the producer by a new one. With transactions, read which records were delivered. False
 * with ${err} set. */
static bool open_link(struct out_kafka *self, rd_kafka_resp_err_t *ret_code, struct error *err)
{
    const struct kafka_conf_producer producer = {.transactional_id = self->once ? self->id : NULL,
        .timeout_ms = self->link.timeout_ns / NS_PER_MS};
    self->stale = false;
    /* Brokers accept a transaction as a whole or not at all. Without transactions, a group is at
     * most one request per partition: of two requests, they could refuse the first and accept the
     * second. */
    size_t most = self->once ? SIZE_MAX : KAFKA_CONF_BATCH_BYTES;
    if (self->groups.most != most) {
        self->groups = (struct kafka_groups){.most = most, .usual = most, .suspect = SIZE_MAX};
    }
    if (!kafka_link_open(&self->link, &producer, ret_code, err)) {
        return false;
    }
    if (self->once && !kafka_ring_recall(&self->ring, &self->link, ret_code, err)) {
        kafka_link_close(&self->link);
        return false;
    }
    return true;
}

/* Show the current mode in the status, and log it when it changes. ${why}: the brokers' reason
 * against transactions, or NULL. */
static void tell_mode(struct out_kafka *self, const char *why)
{
    char text[TEXT_BYTES];
    bool same = self->told && self->told_once == self->once;
    self->told = true;
    self->told_once = self->once;
    if (self->guarantee) {
        self->guarantee(self->host, self->once ? "exactly_once" : "at_least_once");
    }
    if (same) {
        return;
    }
    if (self->once && self->note) {
        snprintf(text, sizeof(text), "delivers exactly once, as %s", self->id);
        self->note(self->host, text);
    } else if (!self->once && why && self->warn) {
        snprintf(text, sizeof(text),
            "delivers at least once, as the brokers do not allow transactions: %s. to accept that, "
            "write delivery: at_least_once",
            why);
        self->warn(self->host, text);
    } else if (!self->once && self->note) {
        self->note(self->host,
            self->wanted == KAFKA_AT_LEAST_ONCE
                ? "delivers at least once"
                : "delivers at least once, as this run keeps no positions over a restart");
    }
}

bool out_kafka_connect(struct out_kafka *self, rd_kafka_resp_err_t *ret_code, struct error *err)
{
    char why[sizeof(err->text)] = "";
    self->once = self->id != NULL;
    bool good = open_link(self, ret_code, err);
    if (!good && self->once && self->wanted == KAFKA_AUTO &&
        kafka_words_refuses_transactions(*ret_code)) {
        snprintf(why, sizeof(why), "%s", err->text);
        self->once = false;
        good = open_link(self, ret_code, err);
    }
    if (good) {
        tell_mode(self, why[0] ? why : NULL);
    }
    return good;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static bool kafka_checkpoint(void *self, struct buf *out, struct error *err)
{
    kafka_ring_checkpoint(&((struct out_kafka *)self)->ring, out);
    return !out->failed || error_set(err, ERR_LIMIT, "a checkpoint is too long");
}

/* Handle reports of the brokers between deliveries, and renew tokens. */
static uint64_t kafka_idle(void *self)
{
    kafka_link_poll(&((struct out_kafka *)self)->link, 0);
    return plat_monotonic_ns() + (uint64_t)IDLE_MS * NS_PER_MS;
}

const struct output_ops output_kafka = {
    KAFKA_SETTINGS_OPS,
    .setup = kafka_talk_setup,
    .examine = kafka_talk_examine,
    .create = out_kafka_create,
    .send = kafka_batch_send,
    .destroy = out_kafka_destroy,
    .checkpoint = kafka_checkpoint,
    .idle = kafka_idle,
};
