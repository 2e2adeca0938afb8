#include "outputs/kafka/kafka_settings.h"

#include <stdio.h>
#include <stdlib.h>

#include "outputs/joined_route.h"
#include "outputs/kafka/kafka_options.h"
#include "outputs/template_check.h"

static const char *const delivery_names[] = {"auto", "exactly_once", "at_least_once", NULL};
static const char *const transport_names[] = {"tls", "tcp", NULL};
static const char *const verify_names[] = {"full", "ca", "none", NULL};
static const char *const cleanup_names[] = {"delete", "compact", NULL};

const char *const kafka_header_names[KAFKA_HEADER_COUNT + 2] = {
    "provider", "code", "id", "shape", "agent", "none", NULL};
const char *const kafka_partitioner_names[] = {"murmur2_random", "murmur2", "consistent_random",
    "consistent", "fnv1a_random", "fnv1a", "random", NULL};
const char *const kafka_compression_names[] = {"none", "gzip", "snappy", "lz4", "zstd", NULL};
const char *const kafka_mechanism_names[] = {
    "none", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", NULL};

// clang-format off
static const struct config_field sasl_fields[] = {
    {CONFIG_ROW("mechanism", ENUM, struct kafka_sasl, mechanism), .names = kafka_mechanism_names,
        .default_text = "none", .help = "how the agent logs in"},
    {CONFIG_ROW("user", STRING, struct kafka_sasl, user),
        .help = "user of PLAIN and SCRAM; for Event Hubs $ConnectionString"},
    {CONFIG_ROW("password", SECRET, struct kafka_sasl, password),
        .help = "password of PLAIN and SCRAM; for Event Hubs the connection string"},
    {CONFIG_ROW("token_url", STRING, struct kafka_sasl, token_url), .is_address = true,
        .help = "OAUTHBEARER: address of the server that issues tokens for client_id and client_secret"},
    {CONFIG_ROW("client_id", STRING, struct kafka_sasl, client_id), .help = "OAUTHBEARER: name of the client"},
    {CONFIG_ROW("client_secret", SECRET, struct kafka_sasl, client_secret),
        .help = "OAUTHBEARER: secret of the client"},
    {CONFIG_ROW("scope", STRING, struct kafka_sasl, scope),
        .help = "OAUTHBEARER: scope of the token, if its server needs one"},
    {CONFIG_ROW("token_ca", PATH, struct kafka_sasl, token_ca),
        .help = "OAUTHBEARER: file of certificates (PEM) of the authorities that token_url may use; default: the system's"},
    {CONFIG_ROW("extensions", MAP, struct kafka_sasl, extensions), .max = 16,
        .help = "OAUTHBEARER: extensions that the brokers get with the token, such as logicalCluster"},
    {.key = NULL},
};

static const struct config_field tls_fields[] = {
    {CONFIG_ROW("ca", PATH, struct kafka_tls, ca),
        .help = "file of certificates (PEM) of the authorities that the brokers may use; default: the system's"},
    {CONFIG_ROW("cert", PATH, struct kafka_tls, cert), .help = "file of the agent's certificate (PEM)"},
    {CONFIG_ROW("key", PATH, struct kafka_tls, key), .help = "file of its key (PEM)"},
    {CONFIG_ROW("key_password", SECRET, struct kafka_tls, key_password),
        .help = "password of the key"},
    {CONFIG_ROW("verify", ENUM, struct kafka_tls, verify), .names = verify_names,
        .default_text = "full",
        .help = "full: check certificate and host name; ca: only the certificate; none: nothing"},
    {.key = NULL},
};

static const struct config_field create_fields[] = {
    {CONFIG_ROW("partitions", INT, struct kafka_create, partitions), .default_text = "-1",
        .min = -1, .max = 100000, .help = "number of partitions; -1: default of the brokers"},
    {CONFIG_ROW("replicas", INT, struct kafka_create, replicas), .default_text = "-1",
        .min = -1, .max = 1000, .help = "number of copies; -1: default of the brokers"},
    {CONFIG_ROW("retention", DURATION, struct kafka_create, retention_ns), .default_text = "0",
        .help = "how long the brokers keep messages; 0: default of the brokers"},
    {CONFIG_ROW("cleanup", ENUM, struct kafka_create, cleanup), .names = cleanup_names,
        .default_text = "delete",
        .help = "delete: older messages are removed; compact: the last message of each key stays"},
    {.key = NULL},
};

const struct config_field kafka_settings_fields[] = {
    {CONFIG_ROW("brokers", STRINGS, struct kafka_settings, brokers), .required = true, .min = 1,
        .max = 64, .is_address = true,
        .help = "hosts and ports of some brokers of the cluster, such as kafka1.example:9093"},
    {CONFIG_ROW("topic", STRING, struct kafka_settings, topic), .required = true,
        .help = "topic of the events; may be a template, such as etw-{provider.name}"},
    {CONFIG_ROW("key", STRING, struct kafka_settings, key), .default_text = "{host.name}",
        .help = "key of each message: events of one key stay in order; may be a template; empty: none"},
    {CONFIG_ROW("headers", STRINGS, struct kafka_settings, headers), .names = kafka_header_names,
        .help = "headers of each message: provider, code, id (the same when an event is sent again), shape (the format), agent; none; default: all"},
    {CONFIG_ROW("delivery", ENUM, struct kafka_settings, delivery), .names = delivery_names,
        .default_text = "auto",
        .help = "exactly_once: each batch is a transaction; at_least_once: an event may be delivered twice after a crash; auto: exactly_once where the brokers allow it"},
    {CONFIG_ROW("transactional_id", STRING, struct kafka_settings, transactional_id),
        .help = "name of the agent's transactions; default: etwship-AGENT-OUTPUT, where AGENT is agent.id"},
    {CONFIG_ROW("positions_topic", STRING, struct kafka_settings, positions_topic),
        .default_text = "etwship-positions",
        .help = "exactly_once: topic in which each transaction stores the position that it delivered"},
    {CONFIG_ROW("partitioner", ENUM, struct kafka_settings, partitioner),
        .names = kafka_partitioner_names, .default_text = "murmur2_random",
        .help = "how the key of a message selects its partition; murmur2_random: like clients in Java"},
    {CONFIG_ROW("compression", ENUM, struct kafka_settings, compression),
        .names = kafka_compression_names, .default_text = "lz4", .help = "compression of the batches"},
    {CONFIG_ROW("transport", ENUM, struct kafka_settings, transport), .names = transport_names,
        .default_text = "tls", .help = "tls, or tcp without it"},
    {CONFIG_STRUCT_ROW("sasl", struct kafka_settings, sasl, sasl_fields), .help = "credentials"},
    {CONFIG_STRUCT_ROW("tls", struct kafka_settings, tls, tls_fields),
        .help = "TLS: how the brokers' certificates are checked"},
    {CONFIG_STRUCT_ROW("create", struct kafka_settings, create, create_fields),
        .help = "settings of a topic that `etwship setup` creates"},
    {CONFIG_ROW("connect_timeout", DURATION, struct kafka_settings, connect_timeout_ns),
        .default_text = "30s", .min = 1000000, .max = INT64_C(3600000000000),
        .help = "longest wait until brokers answer, including TLS, login and transactions"},
    {CONFIG_ROW("timeout", DURATION, struct kafka_settings, timeout_ns), .default_text = "60s",
        .min = 1000000000, .max = INT64_C(900000000000),
        .help = "longest wait for the delivery of one batch; then it is sent again"},
    {CONFIG_ROW("rdkafka", MAP, struct kafka_settings, rdkafka), .max = 64, .hide_values = true,
        .help = "further options of librdkafka; their values are never shown"},
    {.key = NULL},
};
// clang-format on

bool kafka_settings_has_header(const struct kafka_settings *settings, enum kafka_header header)
{
    for (size_t i = 0; i < settings->headers.count; i++) {
        if (strcmp(settings->headers.items[i], kafka_header_names[header]) == 0) {
            return true;
        }
    }
    return settings->headers.count == 0;
}

/* Measured with librdkafka 2.12 (README.md, Memory). */
uint64_t kafka_settings_memory(const void *settings, uint64_t batch_bytes, uint64_t batch_events)
{
    enum {
        LIBRARY_BYTES = 10 * 1024 * 1024, /* threads, connections and names of the library */
        MESSAGE_BYTES = 1536,    /* one message without the event itself, and kept headers */
        ID_BYTES = 100,          /* one id that the output remembers after a restart */
        REMEMBERED_BATCHES = 16, /* KAFKA_RING_SLOTS */
        LEAST_EVENT_BYTES = 256,
    };
    const struct kafka_settings *s = settings;
    uint64_t most = batch_bytes / LEAST_EVENT_BYTES + 1;
    uint64_t events = batch_events < most ? batch_events : most;
    uint64_t ids = s->delivery == KAFKA_AT_LEAST_ONCE ? 0 : REMEMBERED_BATCHES * ID_BYTES * events;
    return LIBRARY_BYTES + batch_bytes + MESSAGE_BYTES * events + ids;
}

/* ---- routes ---------------------------------------------------------------------------------- */

bool kafka_settings_varies(const char *text)
{
    return strpbrk(text, "{}%") != NULL;
}

const char *kafka_settings_route(const void *settings)
{
    /* The owner passes its settings before any thread starts, so they can be changed here. */
    struct kafka_settings *s = (struct kafka_settings *)settings;
    bool provider = kafka_settings_has_header(s, KAFKA_HEADER_PROVIDER);
    bool code = kafka_settings_has_header(s, KAFKA_HEADER_CODE);
    if (!kafka_settings_varies(s->topic) && !kafka_settings_varies(s->key) && !provider && !code) {
        return NULL;
    }
    if (!s->route[0]) {
        snprintf(s->route, sizeof(s->route),
            "%s" JOINED_ROUTE_SEPARATOR "%s" JOINED_ROUTE_SEPARATOR "%s" JOINED_ROUTE_SEPARATOR
            "%s",
            s->topic, s->key, provider ? "{provider.name}" : "", code ? "{event.code}" : "");
    }
    return s->route;
}

static bool is_topic_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

static char topic_letter(char c)
{
    return (char)(is_topic_letter(c) ? c : '_');
}

bool kafka_settings_split(struct span rendered, struct span ret_parts[KAFKA_PART_COUNT],
    char topic_room[KAFKA_TOPIC_MAX_BYTES + 1])
{
    bool is_whole = joined_route_split(rendered, ret_parts, KAFKA_PART_COUNT);
    struct span *topic = &ret_parts[KAFKA_PART_TOPIC];
    joined_route_clean(topic, KAFKA_TOPIC_MAX_BYTES, topic_letter, topic_room);
    topic_room[topic->size] = '\0';
    return is_whole;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static void check_broker(struct config_check *check, const char *const *broker)
{
    const char *text = *broker;
    const char *colon = text ? strrchr(text, ':') : NULL;
    const char *port = colon ? colon + 1 : "";
    size_t digits = strspn(port, "0123456789");
    long number = digits && digits < 6 && !port[digits] ? strtol(port, NULL, 10) : 0;
    size_t host = colon ? (size_t)(colon - text) : 0;
    bool bracketed = host > 2 && text[0] == '[' && text[host - 1] == ']';
    bool plain = host && strcspn(text, ":/?#@[], ") >= host;
    if (text && (number < 1 || number > 65535 || host > 255 || !(bracketed || plain))) {
        CONFIG_FAULT(check, broker,
            "brokers: this is not a host and port. write it as in kafka1.example:9093");
    }
}

static bool check_letters(
    struct config_check *check, const char *key, const char *const *text, bool braces)
{
    bool inside = false;
    for (const char *c = *text; *c; c++) {
        bool is_date = braces && *c == '%' && c[1];
        inside = braces && (*c == '{' || (inside && *c != '}'));
        if (!inside && !is_date && !(braces && *c == '}') && !is_topic_letter(*c)) {
            CONFIG_FAULT(check, text,
                "%s: '%c' is not allowed in the name of a topic. write letters, digits, '.', '_' "
                "and '-'",
                key, (uint8_t)*c < ' ' || (uint8_t)*c > '~' ? '?' : *c);
            return false;
        }
        c += is_date;
    }
    return true;
}

static void check_topic(struct config_check *check, const char *key, const char *const *text)
{
    bool varies = *text && kafka_settings_varies(*text);
    if (!*text) {
        return;
    }
    if (!(*text)[0] || strcmp(*text, ".") == 0 || strcmp(*text, "..") == 0 ||
        (!varies && strlen(*text) > KAFKA_TOPIC_MAX_BYTES)) {
        CONFIG_FAULT(check, text,
            "%s: this is not a valid name of a topic. write 1 to %d letters, digits, '.', '_' and "
            "'-'",
            key, KAFKA_TOPIC_MAX_BYTES);
    } else if ((*text)[0] == '{' || (*text)[0] == '%') {
        CONFIG_FAULT(check, text,
            "%s: it must begin with literal text, else the writer of an event chooses its topic. "
            "write some first, as in etw-{provider.name}",
            key);
    } else if (varies && strlen(*text) > EVENT_TEMPLATE_MAX_BYTES / 8) {
        CONFIG_FAULT(check, text, "%s: a template has at most %d bytes. write a shorter one", key,
            EVENT_TEMPLATE_MAX_BYTES / 8);
    } else if (check_letters(check, key, text, true) && varies) {
        template_check(check, key, text, EVENT_TEMPLATE_PATH);
    }
}

static void check_key(struct config_check *check, const char *const *key)
{
    if (!*key) {
        return;
    }
    if (strchr(*key, '|') || strchr(*key, '/')) {
        CONFIG_FAULT(check, key, "key: '|' and '/' are not allowed in it. write other characters");
    } else if (strlen(*key) > EVENT_TEMPLATE_MAX_BYTES / 8) {
        CONFIG_FAULT(check, key, "key: it has at most %d bytes. write a shorter one",
            EVENT_TEMPLATE_MAX_BYTES / 8);
    } else if (kafka_settings_varies(*key)) {
        template_check(check, "key", key, EVENT_TEMPLATE_PATH);
    }
}

static void want(struct config_check *check, const struct kafka_sasl *sasl,
    const char *const *value, const char *name, bool wanted)
{
    const char *mechanism = kafka_mechanism_names[sasl->mechanism];
    if (wanted && !*value) {
        CONFIG_FAULT(check, &sasl->mechanism, "sasl: %s needs %s. write it, too", mechanism, name);
    } else if (!wanted && *value && sasl->mechanism == KAFKA_NO_SASL) {
        CONFIG_FAULT(check, value,
            "sasl: %s has no effect without mechanism. write mechanism: PLAIN, or another", name);
    } else if (!wanted && *value) {
        CONFIG_FAULT(check, value, "sasl: %s does not use %s. remove it", mechanism, name);
    }
}

static void check_sasl(struct config_check *check, const struct kafka_settings *s)
{
    const struct kafka_sasl *sasl = &s->sasl;
    bool bearer = sasl->mechanism == KAFKA_OAUTHBEARER;
    bool password = sasl->mechanism != KAFKA_NO_SASL && !bearer;
    want(check, sasl, &sasl->user, "user", password);
    want(check, sasl, &sasl->password, "password", password);
    want(check, sasl, &sasl->token_url, "token_url", bearer);
    want(check, sasl, &sasl->client_id, "client_id", bearer);
    want(check, sasl, &sasl->client_secret, "client_secret", bearer);
    if (!bearer) {
        want(check, sasl, &sasl->scope, "scope", false);
        want(check, sasl, &sasl->token_ca, "token_ca", false);
    }
    if (!bearer && sasl->extensions.count) {
        CONFIG_FAULT(
            check, &sasl->extensions, "sasl: only OAUTHBEARER has extensions. remove them");
    }
    http_options_check_url(check, "sasl", &sasl->token_url);
}

static void check_tls(struct config_check *check, const struct kafka_settings *s)
{
    const struct kafka_tls *tls = &s->tls;
    const char *const *values[] = {&tls->ca, &tls->cert, &tls->key, &tls->key_password};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        if (*values[i] && s->transport == KAFKA_TCP) {
            CONFIG_FAULT(
                check, values[i], "tls: transport: tcp does not use TLS. remove one of the two");
            return;
        }
    }
    if (tls->cert && !tls->key) {
        CONFIG_FAULT(check, &tls->cert, "tls: cert needs its key. add key");
    } else if (tls->key && !tls->cert) {
        CONFIG_FAULT(check, &tls->key, "tls: key needs its certificate. add cert");
    } else if (tls->key_password && !tls->key) {
        CONFIG_FAULT(check, &tls->key_password, "tls: key_password needs a key. add key");
    }
}

void kafka_settings_check(const void *settings, struct config_check *check)
{
    const struct kafka_settings *s = settings;
    for (size_t i = 0; i < s->brokers.count; i++) {
        check_broker(check, &s->brokers.items[i]);
    }
    for (size_t i = 0; i < s->headers.count; i++) {
        if (s->headers.count > 1 && s->headers.items[i] &&
            strcmp(s->headers.items[i], "none") == 0) {
            CONFIG_FAULT(check, &s->headers.items[i],
                "headers: none excludes all others. remove it, or the others");
        }
    }
    check_topic(check, "topic", &s->topic);
    check_topic(check, "positions_topic", &s->positions_topic);
    if (s->positions_topic && kafka_settings_varies(s->positions_topic)) {
        CONFIG_FAULT(check, &s->positions_topic,
            "positions_topic: it is the same topic for all events. write a name without fields");
    } else if (s->positions_topic && s->topic && strcmp(s->topic, s->positions_topic) == 0) {
        CONFIG_FAULT(check, &s->positions_topic,
            "positions_topic: this is the topic of the events. write another one");
    }
    if (s->transactional_id && (!s->transactional_id[0] || strlen(s->transactional_id) > 200)) {
        CONFIG_FAULT(
            check, &s->transactional_id, "transactional_id: write 1 to 200 bytes, or remove it");
    }
    check_key(check, &s->key);
    check_sasl(check, s);
    check_tls(check, s);
    kafka_options_check(check, &s->rdkafka);
}

void kafka_settings_warnings(const void *settings, struct config_check *check)
{
    const struct kafka_settings *s = settings;
    if (s->transport == KAFKA_TCP && s->sasl.mechanism == KAFKA_PLAIN) {
        CONFIG_FAULT(check, &s->transport,
            "transport: without TLS anyone on the network can read the password. write transport: "
            "tls, or use SCRAM");
    }
    if (s->transport == KAFKA_TLS && s->tls.verify == KAFKA_VERIFY_NONE) {
        CONFIG_FAULT(check, &s->tls.verify,
            "tls: with verify: none anyone can pretend to be the cluster. write ca: FILE");
    }
}
