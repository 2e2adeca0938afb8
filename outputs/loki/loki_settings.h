#ifndef ETWSHIP_OUTPUTS_LOKI_SETTINGS_H
#define ETWSHIP_OUTPUTS_LOKI_SETTINGS_H

#include "config/config_check.h"
#include "outputs/http/http_options.h"
#include "outputs/output.h"

/* Settings of an output of type `loki`. */
enum loki_label {
    LOKI_HOST,
    LOKI_PROVIDER,
    LOKI_CHANNEL,
    LOKI_LEVEL,
    LOKI_SESSION,
    LOKI_LABEL_COUNT,
};

enum loki_encoding { LOKI_JSON, LOKI_PROTOBUF };

struct loki_settings {
    const char *url;
    int encoding;                 /* enum loki_encoding */
    struct config_strings labels; /* none: the first four */
    const char *tenant;
    int64_t max_streams;
    struct http_options http;
};

extern const char *const loki_label_names[LOKI_LABEL_COUNT];
extern const struct config_field loki_settings_fields[];

/* A bit per label that streams have. */
unsigned loki_settings_labels(const struct loki_settings *settings);

/* output_ops.check, can_run, streams */
void loki_settings_check(const void *settings, struct config_check *check);
void loki_settings_can_run(const void *settings, struct config_check *check);
void loki_settings_streams(const void *settings, const struct output_spread *spreads, size_t count,
    struct output_streams *ret_streams);

/* The path to append to the address, or NULL if it has it. Static. */
const char *loki_settings_path(const char *url);

/* Content type of requests. Static. */
const char *loki_settings_content_type(const struct loki_settings *settings);

#endif
