#ifndef ETWSHIP_OUTPUTS_KAFKA_SETTINGS_H
#define ETWSHIP_OUTPUTS_KAFKA_SETTINGS_H

#include "config/config_check.h"
#include "event/select/event_template.h"
#include "outputs/delivery_id.h"
#include "outputs/http/http_options.h"

/* Settings of an output of type `kafka`. */
enum kafka_delivery {
    KAFKA_AUTO, /* exactly once where the brokers allow transactions, else at least once */
    KAFKA_EXACTLY_ONCE,
    KAFKA_AT_LEAST_ONCE,
};

enum kafka_transport { KAFKA_TLS, KAFKA_TCP };

enum kafka_compression { KAFKA_UNCOMPRESSED, KAFKA_GZIP, KAFKA_SNAPPY, KAFKA_LZ4, KAFKA_ZSTD };

enum kafka_mechanism {
    KAFKA_NO_SASL,
    KAFKA_PLAIN,
    KAFKA_SCRAM_SHA_256,
    KAFKA_SCRAM_SHA_512,
    KAFKA_OAUTHBEARER,
};

struct kafka_sasl {
    int mechanism; /* enum kafka_mechanism */
    const char *user;
    const char *password;
    const char *token_url;
    const char *client_id;
    const char *client_secret;
    const char *scope;
    const char *token_ca;
    struct config_map extensions;
};

enum kafka_verify { KAFKA_VERIFY_FULL, KAFKA_VERIFY_CA, KAFKA_VERIFY_NONE };

struct kafka_tls {
    const char *ca;
    const char *cert;
    const char *key;
    const char *key_password;
    int verify; /* enum kafka_verify */
};

/* Settings of topics that `setup` creates; -1 and 0: the brokers' defaults. */
struct kafka_create {
    int64_t partitions;
    int64_t replicas;
    uint64_t retention_ns;
    int cleanup; /* 0: delete, 1: compact */
};

/* The headers of a message. */
enum kafka_header {
    KAFKA_HEADER_PROVIDER,
    KAFKA_HEADER_CODE,
    KAFKA_HEADER_ID,
    KAFKA_HEADER_SHAPE,
    KAFKA_HEADER_AGENT,
    KAFKA_HEADER_COUNT,
};

/* The parts of a route, in its order. */
enum kafka_part {
    KAFKA_PART_TOPIC,
    KAFKA_PART_KEY,
    KAFKA_PART_PROVIDER,
    KAFKA_PART_CODE,
    KAFKA_PART_COUNT,
};

enum { KAFKA_TOPIC_MAX_BYTES = 249 };

struct kafka_settings {
    struct config_strings brokers;
    const char *topic;
    const char *key;
    struct config_strings headers;
    int delivery; /* enum kafka_delivery */
    const char *transactional_id;
    const char *positions_topic;
    int partitioner;
    int compression; /* enum kafka_compression */
    int transport;   /* enum kafka_transport */
    struct kafka_sasl sasl;
    struct kafka_tls tls;
    struct kafka_create create;
    uint64_t connect_timeout_ns;
    uint64_t timeout_ns;
    struct config_map rdkafka;
    char route[EVENT_TEMPLATE_MAX_BYTES]; /* for kafka_settings_route, made on first use */
};

extern const struct config_field kafka_settings_fields[];
extern const char *const kafka_header_names[KAFKA_HEADER_COUNT + 2]; /* then "none", and NULL */
extern const char *const kafka_partitioner_names[];
extern const char *const kafka_compression_names[];
extern const char *const kafka_mechanism_names[];

/* True if ${text} is a template that events fill. */
bool kafka_settings_varies(const char *text);

/* The rows of output_ops that no build leaves out. */
#define KAFKA_SETTINGS_OPS                                                                        \
    .name = "kafka", .fields = kafka_settings_fields,                                             \
    .settings_size = sizeof(struct kafka_settings), .alone = true, .check = kafka_settings_check, \
    .warnings = kafka_settings_warnings, .route = kafka_settings_route,                           \
    .route_safety = EVENT_TEMPLATE_PATH, .ids = delivery_id_always,                               \
    .memory = kafka_settings_memory

/* output_ops.check, warnings */
void kafka_settings_check(const void *settings, struct config_check *check);
void kafka_settings_warnings(const void *settings, struct config_check *check);

/* output_ops.memory */
uint64_t kafka_settings_memory(const void *settings, uint64_t batch_bytes, uint64_t batch_events);

bool kafka_settings_has_header(const struct kafka_settings *settings, enum kafka_header header);

/* output_ops.route: one template of all parts (joined_route.h), if one of them varies; NULL: none
 * does. */
const char *kafka_settings_route(const void *settings);

/* Split ${rendered}, a route of one event, into its parts. The topic is written to ${topic_room},
 * with a NUL and with `_` for each character that a topic cannot have. False: the number of parts
 * is wrong. */
bool kafka_settings_split(struct span rendered, struct span ret_parts[KAFKA_PART_COUNT],
    char topic_room[KAFKA_TOPIC_MAX_BYTES + 1]);

#endif
