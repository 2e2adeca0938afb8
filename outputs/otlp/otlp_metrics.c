#include "outputs/otlp/otlp_metrics.h"

#include <stdio.h>
#include <stdlib.h>

#include "outputs/compress.h"
#include "outputs/http/http_headers.h"
#include "outputs/http/http_said.h"
#include "outputs/otlp/otlp_reply.h"
#include "outputs/otlp/otlp_settings.h"

enum { PACKED_MAX_BYTES = 32 * 1024 * 1024, KEPT_MAX_BYTES = 64 * 1024 };

struct sender {
    struct arena kept;
    const char *base; /* of the address */
    enum otlp_protocol protocol;
    struct http_client *client;
    struct http_headers headers;
    struct compress *compress; /* NULL: none */
    struct buf packed;
    struct http_said said;
};

static uint64_t metrics_every(const void *settings)
{
    return ((const struct otlp_settings *)settings)->metrics_ns;
}

static bool metrics_as_json(const void *settings)
{
    return ((const struct otlp_settings *)settings)->protocol == OTLP_JSON;
}

static void metrics_destroy(void *self_)
{
    struct sender *self = self_;
    if (self) {
        http_client_destroy(self->client);
        http_headers_fini(&self->headers);
        compress_destroy(self->compress);
        buf_fini(&self->packed);
        http_said_fini(&self->said);
        arena_fini(&self->kept);
        free(self);
    }
}

static bool set_up(struct sender *self, const struct otlp_settings *s, const struct output_env *env,
    struct error *err)
{
    enum http_compression compression = (enum http_compression)s->http.compression;
    struct span base = span_make(s->endpoint, otlp_settings_base_size(s->endpoint));
    struct span kept;
    self->protocol = (enum otlp_protocol)s->protocol;
    self->client = http_client_create(
        &(struct http_client_setup){
            .options = &s->http, .stopping = env->stopping, .note = env->note, .host = env->host},
        err);
    if (!self->client) {
        return false;
    }
    if (compression != HTTP_PLAIN) {
        self->compress = compress_create(compression, err);
        if (!self->compress) {
            return false;
        }
    }
    if (!arena_copy(&self->kept, base, &kept) ||
        !http_headers_take(&self->headers, &s->headers, self->client) ||
        !http_headers_add(
            &self->headers, "Content-Type", otlp_settings_content_type(self->protocol)) ||
        !http_headers_add(&self->headers, "Content-Encoding",
            self->compress ? http_compression_names[compression] : NULL)) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    self->base = (const char *)kept.data;
    return true;
}

static void *metrics_create(const void *settings, const struct output_env *env, struct error *err)
{
    struct sender *self = calloc(1, sizeof(*self));
    if (!self) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    arena_init(&self->kept, KEPT_MAX_BYTES);
    buf_init(&self->packed, PACKED_MAX_BYTES);
    http_headers_init(&self->headers);
    http_said_init(&self->said);
    if (!set_up(self, settings, env, err)) {
        metrics_destroy(self);
        return NULL;
    }
    return self;
}

static bool judge(struct sender *self, struct error *err)
{
    int status = self->said.reply.status;
    struct otlp_reply reply;
    char words[400];
    otlp_reply_read(buf_span(&self->said.body), status, self->protocol, &reply);
    if (otlp_reply_verdict(status) == OTLP_TAKEN && !self->said.page && !reply.rejected) {
        return true;
    }
    snprintf(words, sizeof(words), "%s%s%s",
        self->said.page  ? "a web page answers, and no collector"
        : reply.rejected ? "not all metrics were taken"
                         : otlp_reply_words(status),
        reply.message[0] ? ": " : "", reply.message);
    http_client_hide(self->client, words);
    self->said.shown[0] = '\0'; /* of protobuf nobody can read it */
    http_said_tell(&self->said, self->base, words, err);
    return false;
}

static bool metrics_send(void *self_, struct span body, struct error *err)
{
    struct sender *self = self_;
    if (self->compress) {
        if (!compress_whole(self->compress, body, &self->packed, err)) {
            return false;
        }
        body = buf_span(&self->packed);
    }
    const struct http_request request = {.method = "POST",
        .url = self->base,
        .path = otlp_settings_metrics_path,
        .headers = self->headers.list,
        .header_count = self->headers.count,
        .parts = &body,
        .part_count = 1};
    return http_said_ask(&self->said, self->client, &request, err) && judge(self, err);
}

const struct output_metrics otlp_metrics = {
    .every_ns = metrics_every,
    .as_json = metrics_as_json,
    .create = metrics_create,
    .send = metrics_send,
    .destroy = metrics_destroy,
};
