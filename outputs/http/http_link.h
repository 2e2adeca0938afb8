#ifndef ETWSHIP_OUTPUTS_HTTP_LINK_H
#define ETWSHIP_OUTPUTS_HTTP_LINK_H

#include "outputs/compress.h"
#include "outputs/http/http_headers.h"
#include "outputs/http/http_response.h"
#include "outputs/output.h"

/* The link of an output to one server: address, headers and compression. One thread at a time. */
struct http_link {
    struct arena kept;
    const char *url; /* without the path of requests */
    struct http_client *client;
    struct http_headers headers;
    struct http_header own;    /* one more, set by the owner; no value: none */
    struct compress *compress; /* NULL: none */
    struct buf packed;
    struct http_response response; /* to the last request */
};

struct http_link_setup {
    struct span url;
    const struct http_options *options;
    const char *scheme;               /* of http_client_setup */
    const struct config_map *headers; /* key `headers`; NULL: none */
    const char *content_type;         /* NULL: `headers` has it */
};

/* ${setup} is not used later; of ${env}: stopping, note and their host. False with ${err} set; call
 * fini in any case. */
bool http_link_init(struct http_link *link, const struct http_link_setup *setup,
    const struct output_env *env, struct error *err);
void http_link_fini(struct http_link *link); /* zeroed is fine */

/* Compress ${body} as the options say; it is valid until the next call. False with ${err} set: out
 * of memory, and `response.reply` is empty. */
bool http_link_pack(struct http_link *link, struct span *body, struct error *err);

/* Send ${body}, which is packed, to ${path}. True: `response` has the reply. False with ${err} set:
 * no reply (see `response.reply`). */
bool http_link_send(struct http_link *link, const char *method, const char *path, struct span body,
    struct error *err);

/* Pack ${body}, and send it with POST. */
bool http_link_post(struct http_link *link, const char *path, struct span body, struct error *err);

#endif
