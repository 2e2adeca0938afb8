#include "outputs/otlp/otlp_link.h"

enum { PACKED_MAX_BYTES = 512 * 1024 * 1024, KEPT_MAX_BYTES = 64 * 1024 };

bool otlp_link_init(struct otlp_link *link, const struct otlp_settings *settings,
    const struct output_env *env, struct error *err)
{
    static const struct output_env nobody;
    enum http_compression compression = (enum http_compression)settings->http.compression;
    struct span base = span_make(settings->endpoint, otlp_settings_base_size(settings->endpoint));
    env = env ? env : &nobody;
    *link = (struct otlp_link){.protocol = (enum otlp_protocol)settings->protocol};
    arena_init(&link->kept, KEPT_MAX_BYTES);
    buf_init(&link->packed, PACKED_MAX_BYTES);
    http_headers_init(&link->headers);
    http_said_init(&link->said);
    link->client = http_client_create(&(struct http_client_setup){.options = &settings->http,
                                          .stopping = env->stopping,
                                          .note = env->note,
                                          .host = env->host},
        err);
    if (!link->client) {
        return false;
    }
    if (compression != HTTP_PLAIN) {
        link->compress = compress_create(compression, err);
        if (!link->compress) {
            return false;
        }
    }
    if (!arena_copy(&link->kept, base, &base) ||
        !http_headers_take(&link->headers, &settings->headers, link->client) ||
        !http_headers_add(
            &link->headers, "Content-Type", otlp_settings_content_type(link->protocol)) ||
        !http_headers_add(&link->headers, "Content-Encoding",
            link->compress ? http_compression_names[compression] : NULL)) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    link->base = (const char *)base.data;
    return true;
}

void otlp_link_fini(struct otlp_link *link)
{
    http_client_destroy(link->client);
    http_headers_fini(&link->headers);
    compress_destroy(link->compress);
    buf_fini(&link->packed);
    http_said_fini(&link->said);
    arena_fini(&link->kept);
}

bool otlp_link_post(struct otlp_link *link, const char *path, struct span body, struct error *err)
{
    link->said.reply = (struct http_reply){.status = 0};
    if (link->compress) {
        if (!compress_whole(link->compress, body, &link->packed, err)) {
            return false;
        }
        body = buf_span(&link->packed);
    }
    const struct http_request request = {.method = "POST",
        .url = link->base,
        .path = path,
        .headers = link->headers.list,
        .header_count = link->headers.count,
        .parts = &body,
        .part_count = 1};
    return http_said_ask(&link->said, link->client, &request, err);
}
