#include "outputs/kafka/kafka_conf.h"

#ifdef ETWSHIP_KAFKA_OPENSSL
#include <openssl/crypto.h>
#endif
#include <stdio.h>

#include "base/text/nearest.h"
#include "outputs/kafka/kafka_options.h"

enum { REASON_BYTES = 400, NUMBER_BYTES = 32, BROKERS_MAX_BYTES = 64 * 1024 };

/* Options that have another key in the configuration, or that etwship decides. A name that ends
 * with a dot stands for all options that begin with it. */
static const struct {
    const char *name;
    const char *instead;
} ours[] = {
    {"bootstrap.servers", "write brokers"},
    {"metadata.broker.list", "write brokers"},
    {"security.protocol", "write transport and sasl"},
    {"sasl.mechanism", "write sasl: {mechanism}"},
    {"sasl.mechanisms", "write sasl: {mechanism}"},
    {"sasl.username", "write sasl: {user}"},
    {"sasl.password", "write sasl: {password}"},
    {"sasl.kerberos.", "Kerberos is not part of this build. use another mechanism"},
    {"sasl.oauthbearer.", "write sasl: {mechanism: OAUTHBEARER, token_url, …}"},
    {"enable.sasl.oauthbearer.", "write sasl: {mechanism: OAUTHBEARER, token_url, …}"},
    {"ssl.ca.location", "write tls: {ca}"},
    {"ssl.certificate.location", "write tls: {cert}"},
    {"ssl.key.location", "write tls: {key}"},
    {"ssl.key.password", "write tls: {key_password}"},
    {"ssl.endpoint.identification.algorithm", "write tls: {verify}"},
    {"enable.ssl.certificate.verification", "write tls: {verify}"},
    {"ssl.engine.", "it loads a library into etwship. remove it"},
    {"ssl.providers", "it loads a library into etwship. remove it"},
    {"plugin.", "it loads a library into etwship. remove it"},
    {"compression.codec", "write compression"},
    {"compression.type", "write compression"},
    {"partitioner", "write partitioner"},
    {"transactional.id", "write transactional_id"},
    {"transaction.timeout.ms", "write timeout"},
    {"message.timeout.ms", "the spool keeps undelivered events. write timeout, of one batch"},
    {"delivery.timeout.ms", "the spool keeps undelivered events. write timeout, of one batch"},
    {"enable.idempotence", "it is always on. remove it"},
    {"enable.gapless.guarantee", "etwship keeps batches in order without it. remove it"},
    {"acks", "all brokers in sync must have an event before it counts. remove it"},
    {"request.required.acks", "all brokers in sync must have an event before it counts. remove it"},
    {"message.copy.max.bytes", "etwship sets it. remove it"},
    {"message.max.bytes", "the topic limits the size of messages. remove it"},
    {"queue.buffering.max.", "batch: {bytes} limits the messages in flight. remove it"},
    {"isolation.level", "etwship sets it. remove it"},
    {"group.", "etwship does not join a consumer group. remove it"},
    {"log_level", "etwship has its own log. remove it"},
    {"debug", "etwship has its own log. remove it"},
};

static const char *instead_of(const char *name)
{
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        size_t size = strlen(ours[i].name);
        bool family = ours[i].name[size - 1] == '.';
        if (family ? strncmp(name, ours[i].name, size) == 0 : strcmp(name, ours[i].name) == 0) {
            return ours[i].instead;
        }
    }
    return NULL;
}

/* ---- the user's own options ------------------------------------------------------------------ */

static void consider_all(struct nearest *nearest, const char **dump, size_t count)
{
    for (size_t i = 0; i + 1 < count; i += 2) {
        if (!instead_of(dump[i])) {
            nearest_consider(nearest, span_text(dump[i]));
        }
    }
}

static void fault_unknown(
    struct config_check *check, const struct config_pair *pair, const rd_kafka_conf_t *conf)
{
    struct nearest nearest = {.text = span_text(pair->key)};
    size_t count, topic_count;
    rd_kafka_topic_conf_t *topic = rd_kafka_topic_conf_new();
    const char **dump = rd_kafka_conf_dump((rd_kafka_conf_t *)conf, &count);
    const char **topic_dump = rd_kafka_topic_conf_dump(topic, &topic_count);
    consider_all(&nearest, dump, count);
    consider_all(&nearest, topic_dump, topic_count);
    struct span meant = nearest_meant(&nearest);
    if (meant.size) {
        CONFIG_FAULT(check, &pair->value,
            "rdkafka: librdkafka has no option %s. did you mean %.*s?", pair->key, SPAN_ARG(meant));
    } else {
        CONFIG_FAULT(check, &pair->value, "rdkafka: librdkafka %s has no option %s. remove it",
            rd_kafka_version_str(), pair->key);
    }
    rd_kafka_conf_dump_free(dump, count);
    rd_kafka_conf_dump_free(topic_dump, topic_count);
    rd_kafka_topic_conf_destroy(topic);
}

void kafka_options_check(struct config_check *check, const struct config_map *options)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    for (size_t i = 0; i < options->count; i++) {
        const struct config_pair *pair = &options->items[i];
        char reason[REASON_BYTES] = "";
        const char *instead = instead_of(pair->key);
        rd_kafka_conf_res_t result = instead ? RD_KAFKA_CONF_OK
                                             : rd_kafka_conf_set(conf, pair->key, pair->value,
                                                   reason, sizeof(reason));
        if (instead) {
            CONFIG_FAULT(check, &pair->value, "rdkafka: %s is not allowed. %s", pair->key, instead);
        } else if (result == RD_KAFKA_CONF_UNKNOWN) {
            fault_unknown(check, pair, conf);
        } else if (result != RD_KAFKA_CONF_OK) {
            /* librdkafka's reason may quote the value, so it is not shown. */
            CONFIG_FAULT(check, &pair->value,
                "rdkafka: %s: librdkafka does not take this value. see its CONFIGURATION.md",
                pair->key);
        }
    }
    rd_kafka_conf_destroy(conf);
}

/* ---- settings as options --------------------------------------------------------------------- */

/* Collects options; keeps the first failure. */
struct setting {
    rd_kafka_conf_t *conf;
    struct error *err;
    bool good;
};

static void set(struct setting *to, const char *name, const char *value)
{
    char reason[REASON_BYTES];
    if (to->good && value &&
        rd_kafka_conf_set(to->conf, name, value, reason, sizeof(reason)) != RD_KAFKA_CONF_OK) {
        to->good = error_set(to->err, ERR_CONFIG, "librdkafka: %s", reason);
    }
}

static void set_number(struct setting *to, const char *name, uint64_t value)
{
    char text[NUMBER_BYTES];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    set(to, name, text);
}

#ifdef ETWSHIP_KAFKA_OPENSSL

/* OpenSSL keeps memory for each thread that uses it. As a static library on Windows it is not told
 * when a thread ends (OPENSSL_thread_stop(3)), so each producer would leave some memory behind. */
static rd_kafka_resp_err_t on_thread_exit(
    rd_kafka_t *rk, rd_kafka_thread_type_t type, const char *thread, void *self)
{
    (void)rk, (void)type, (void)thread, (void)self;
    OPENSSL_thread_stop();
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_new(
    rd_kafka_t *rk, const rd_kafka_conf_t *conf, void *self, char *reason, size_t size)
{
    (void)conf, (void)self;
    rd_kafka_resp_err_t code = rd_kafka_interceptor_add_on_thread_exit(
        rk, "openssl", on_thread_exit, NULL);
    if (code) {
        snprintf(reason, size, "%s", rd_kafka_err2str(code));
    }
    return code;
}

static void watch_threads(rd_kafka_conf_t *conf)
{
    rd_kafka_conf_interceptor_add_on_new(conf, "openssl", on_new, NULL);
}

#else

static void watch_threads(rd_kafka_conf_t *conf)
{
    (void)conf;
}

#endif

/* The configuration; NULL after a failure. */
static rd_kafka_conf_t *finish(struct setting *to)
{
    if (!to->good) {
        rd_kafka_conf_destroy(to->conf);
        return NULL;
    }
    watch_threads(to->conf); /* copies of a configuration lack these interceptors */
    return to->conf;
}

static void set_brokers(struct setting *to, const struct config_strings *brokers)
{
    struct buf text;
    buf_init(&text, BROKERS_MAX_BYTES);
    for (size_t i = 0; i < brokers->count; i++) {
        buf_printf(&text, "%s%s", i ? "," : "", brokers->items[i]);
    }
    buf_add_byte(&text, '\0');
    set(to, "bootstrap.servers", text.failed ? "" : (const char *)text.data);
    buf_fini(&text);
}

static void set_tls(struct setting *to, const struct kafka_settings *s)
{
    if (s->transport == KAFKA_TCP) {
        return;
    }
    set(to, "ssl.ca.location", s->tls.ca);
    set(to, "ssl.certificate.location", s->tls.cert);
    set(to, "ssl.key.location", s->tls.key);
    set(to, "ssl.key.password", s->tls.key_password);
    set(to, "ssl.endpoint.identification.algorithm",
        s->tls.verify == KAFKA_VERIFY_FULL ? "https" : "none");
    set(to, "enable.ssl.certificate.verification",
        s->tls.verify == KAFKA_VERIFY_NONE ? "false" : "true");
}

rd_kafka_conf_t *kafka_conf_create(const struct kafka_settings *settings, struct error *err)
{
    static const char *const protocols[2][2] = {
        {"ssl", "sasl_ssl"}, {"plaintext", "sasl_plaintext"}};
    const struct kafka_settings *s = settings;
    struct setting to = {.conf = rd_kafka_conf_new(), .err = err, .good = true};
    bool sasl = s->sasl.mechanism != KAFKA_NO_SASL;
    if (s->compression == KAFKA_ZSTD) {
        set(&to, "compression.level", "1"); /* takes half the time of its default, 3 */
    }
    for (size_t i = 0; i < s->rdkafka.count; i++) {
        set(&to, s->rdkafka.items[i].key, s->rdkafka.items[i].value);
    }
    set_brokers(&to, &s->brokers);
    set(&to, "client.id", "etwship");
    set(&to, "security.protocol", protocols[s->transport][sasl]);
    set_tls(&to, s);
    if (sasl) {
        set(&to, "sasl.mechanism", kafka_mechanism_names[s->sasl.mechanism]);
        set(&to, "sasl.username", s->sasl.user);
        set(&to, "sasl.password", s->sasl.password);
    }
    /* A request points to the events: librdkafka no longer reads them after it has reported the
     * result. But for an uncompressed request TLS would make a record of each piece, so its pieces
     * are copied together. */
    bool in_pieces = s->transport == KAFKA_TLS && s->compression == KAFKA_UNCOMPRESSED;
    set(&to, "message.copy.max.bytes", in_pieces ? "1000000000" : "0");
    set(&to, "compression.type", kafka_compression_names[s->compression]);
    set(&to, "partitioner", kafka_partitioner_names[s->partitioner]);
    return finish(&to);
}

rd_kafka_conf_t *kafka_conf_producer(
    const rd_kafka_conf_t *base, const struct kafka_conf_producer *producer, struct error *err)
{
    struct setting to = {.conf = rd_kafka_conf_dup(base), .err = err, .good = true};
    set(&to, "enable.idempotence", "true");
    set(&to, "acks", "all");
    set(&to, "message.max.bytes", "100000000");
    set(&to, "queue.buffering.max.kbytes", "262144");
    set(&to, "queue.buffering.max.messages", "1000000");
    set(&to, "linger.ms",
        "1000"); /* a group comes at once, and kafka_link_wait ends the lingering */
    set(&to, "topic.metadata.propagation.max.ms", "3000");
    set_number(&to, "batch.size", KAFKA_CONF_BATCH_BYTES);
    set(&to, "batch.num.messages", "100000");
    set(&to, "transactional.id", producer->transactional_id);
    if (producer->transactional_id) {
        set_number(&to, "transaction.timeout.ms", producer->timeout_ms);
    }
    set_number(&to, "message.timeout.ms", producer->transactional_id ? producer->timeout_ms : 0);
    return finish(&to);
}

rd_kafka_conf_t *kafka_conf_reader(const rd_kafka_conf_t *base, struct error *err)
{
    struct setting to = {.conf = rd_kafka_conf_dup(base), .err = err, .good = true};
    set(&to, "isolation.level", "read_committed");
    set(&to, "enable.auto.commit", "false");
    set(&to, "enable.auto.offset.store", "false");
    set(&to, "auto.offset.reset", "earliest");
    set(&to, "allow.auto.create.topics", "false");
    set(&to, "queued.max.messages.kbytes", "2048"); /* read ahead of our requests */
    set(&to, "fetch.max.bytes", "1048576");
    return finish(&to);
}
