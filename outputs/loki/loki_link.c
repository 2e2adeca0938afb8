#include "outputs/loki/loki_link.h"

bool loki_link_init(struct http_link *link, const struct loki_settings *settings,
    const struct output_env *env, struct error *err)
{
    const struct http_link_setup setup = {.url = span_text(settings->url),
        .options = &settings->http,
        .content_type = loki_settings_content_type(settings)};
    if (!http_link_init(link, &setup, env, err)) {
        return false;
    }
    return http_headers_add(&link->headers, "X-Scope-OrgID", settings->tenant) ||
           error_set(err, ERR_MEMORY, "out of memory");
}
