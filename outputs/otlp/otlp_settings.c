#include "outputs/otlp/otlp_settings.h"

#include "outputs/http/http_headers.h"
#include "outputs/http/http_platform.h"

static const char *const protocol_names[] = {"http/protobuf", "http/json", NULL};
const char otlp_settings_logs_path[] = "/v1/logs";
const char otlp_settings_metrics_path[] = "/v1/metrics";

// clang-format off
const struct config_field otlp_settings_fields[] = {
    {CONFIG_ROW("endpoint", STRING, struct otlp_settings, endpoint), .required = true,
        .is_address = true,
        .help = "address of a collector, as in https://collector:4318; /v1/logs is appended unless it ends with it"},
    {CONFIG_ROW("protocol", ENUM, struct otlp_settings, protocol), .names = protocol_names,
        .default_text = "http/protobuf", .help = "how log records are encoded; gRPC is not supported"},
    {CONFIG_ROW("metrics", DURATION, struct otlp_settings, metrics_ns), .default_text = "0s",
        .max = INT64_C(86400000000000),
        .help = "how often the agent's own metrics are sent to /v1/metrics of the same collector; 0s: never"},
    {CONFIG_ROW("headers", MAP, struct otlp_settings, headers), .max = HTTP_HEADERS_MAX,
        .hide_values = true,
        .help = "further headers of each request; their values are never shown"},
    HTTP_ROWS(struct otlp_settings, http_compression_names, "gzip"),
    {.key = NULL},
};
// clang-format on

const char *otlp_settings_format(const void *settings)
{
    return ((const struct otlp_settings *)settings)->protocol == OTLP_JSON ? "otel" : "otlp";
}

size_t otlp_settings_base_size(const char *endpoint)
{
    size_t size = strlen(endpoint);
    size_t end = strlen(otlp_settings_logs_path);
    return size >= end && strcmp(endpoint + size - end, otlp_settings_logs_path) == 0 ? size - end
                                                                                      : size;
}

const char *otlp_settings_content_type(enum otlp_protocol protocol)
{
    return protocol == OTLP_JSON ? "application/json" : "application/x-protobuf";
}

void otlp_settings_check(const void *settings, struct config_check *check)
{
    const struct otlp_settings *s = settings;
    http_options_check_url(check, "endpoint", &s->endpoint);
    if (s->endpoint && strpbrk(s->endpoint, "?#")) {
        CONFIG_FAULT(check, &s->endpoint,
            "endpoint: an address of a collector has no query. write keys under headers or auth");
    }
    http_options_check_headers(check, &s->headers, &s->http.auth);
    if (s->metrics_ns && s->metrics_ns < UINT64_C(1000000000)) {
        CONFIG_FAULT(
            check, &s->metrics_ns, "metrics: below a second. write 1s or more, or 0s for none");
    }
    for (size_t i = 0; i < s->headers.count; i++) {
        if (http_options_is_header(s->headers.items[i].key, "Content-Type")) {
            CONFIG_FAULT(check, &s->headers.items[i],
                "headers: Content-Type follows from protocol. remove it");
        }
    }
    http_options_check(check, &s->http);
}

void otlp_settings_can_run(const void *settings, struct config_check *check)
{
    http_platform_check(check, &((const struct otlp_settings *)settings)->http);
}

/* Users of other senders know the collectors' port for gRPC. */
void otlp_settings_warnings(const void *settings, struct config_check *check)
{
    static const char grpc_port[] = ":4317";
    const struct otlp_settings *s = settings;
    const char *host = s->endpoint ? strstr(s->endpoint, "://") : NULL;
    const char *port = host ? strstr(host, grpc_port) : NULL;
    if (port && (port[sizeof(grpc_port) - 1] == '\0' || port[sizeof(grpc_port) - 1] == '/')) {
        CONFIG_FAULT(check, &s->endpoint,
            "endpoint: collectors take gRPC at port 4317, and this output speaks HTTP. their port "
            "for that is 4318");
    }
}
