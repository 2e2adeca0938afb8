#ifndef ETWSHIP_OUTPUTS_OTLP_SETTINGS_H
#define ETWSHIP_OUTPUTS_OTLP_SETTINGS_H

#include "config/config_check.h"
#include "outputs/http/http_options.h"

/* Settings of an output of type `otlp`. */
enum otlp_protocol { OTLP_PROTOBUF, OTLP_JSON };

struct otlp_settings {
    const char *endpoint;
    int protocol;        /* enum otlp_protocol */
    uint64_t metrics_ns; /* 0: none are sent */
    struct config_map headers;
    struct http_options http;
};

extern const struct config_field otlp_settings_fields[];

/* output_ops.check, warnings, can_run, format */
void otlp_settings_check(const void *settings, struct config_check *check);
void otlp_settings_warnings(const void *settings, struct config_check *check);
void otlp_settings_can_run(const void *settings, struct config_check *check);
const char *otlp_settings_format(const void *settings);

/* The size of ${endpoint} without the path of logs, which it may end with. */
size_t otlp_settings_base_size(const char *endpoint);

/* The paths of requests, which follow that. */
extern const char otlp_settings_logs_path[];
extern const char otlp_settings_metrics_path[];

/* Of requests. Static. */
const char *otlp_settings_content_type(enum otlp_protocol protocol);

#endif
