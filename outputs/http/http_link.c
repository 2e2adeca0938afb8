#include "outputs/http/http_link.h"

enum { PACKED_MAX_BYTES = 512 * 1024 * 1024, KEPT_MAX_BYTES = 1024 * 1024 };

bool http_link_init(struct http_link *link, const struct http_link_setup *setup,
    const struct output_env *env, struct error *err)
{
    enum http_compression compression = (enum http_compression)setup->options->compression;
    struct span url;
    *link = (struct http_link){.url = NULL};
    arena_init(&link->kept, KEPT_MAX_BYTES);
    buf_init(&link->packed, PACKED_MAX_BYTES);
    http_headers_init(&link->headers);
    http_response_init(&link->response);
    link->client = http_client_create(&(struct http_client_setup){.options = setup->options,
                                          .scheme = setup->scheme,
                                          .stopping = env->stopping,
                                          .note = env->note,
                                          .host = env->host},
        err);
    if (!link->client || !compress_open(compression, &link->compress, err)) {
        return false;
    }
    if (!arena_copy(&link->kept, setup->url, &url) ||
        (setup->headers && !http_headers_take(&link->headers, setup->headers, link->client)) ||
        !http_headers_add(&link->headers, "Content-Type", setup->content_type) ||
        !http_headers_add(&link->headers, "Content-Encoding",
            link->compress ? http_compression_names[compression] : NULL)) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    link->url = (const char *)url.data;
    return true;
}

void http_link_fini(struct http_link *link)
{
    http_client_destroy(link->client);
    http_headers_fini(&link->headers);
    compress_destroy(link->compress);
    buf_fini(&link->packed);
    http_response_fini(&link->response);
    arena_fini(&link->kept);
}

bool http_link_pack(struct http_link *link, struct span *body, struct error *err)
{
    link->response.reply = (struct http_reply){.status = 0};
    if (link->compress) {
        if (!compress_whole(link->compress, *body, &link->packed, err)) {
            return false;
        }
        *body = buf_span(&link->packed);
    }
    return true;
}

bool http_link_send(struct http_link *link, const char *method, const char *path, struct span body,
    struct error *err)
{
    struct http_header headers[HTTP_HEADERS_MAX + HTTP_HEADERS_OWN_MAX + 1];
    memcpy(headers, link->headers.list, sizeof(link->headers.list));
    headers[link->headers.count] = link->own;
    const struct http_request request = {.method = method,
        .url = link->url,
        .path = path,
        .headers = headers,
        .header_count = link->headers.count + (link->own.value != NULL),
        .parts = &body,
        .part_count = 1};
    return http_response_fetch(&link->response, link->client, &request, err);
}

bool http_link_post(struct http_link *link, const char *path, struct span body, struct error *err)
{
    return http_link_pack(link, &body, err) && http_link_send(link, "POST", path, body, err);
}
