#include "outputs/otlp/otlp_link.h"

bool otlp_link_init(struct http_link *link, const struct otlp_settings *settings,
    const struct output_env *env, struct error *err)
{
    const struct http_link_setup setup = {
        .url = span_make(settings->endpoint, otlp_settings_base_size(settings->endpoint)),
        .options = &settings->http,
        .headers = &settings->headers,
        .content_type = otlp_settings_content_type((enum otlp_protocol)settings->protocol)};
    return http_link_init(link, &setup, env, err);
}
