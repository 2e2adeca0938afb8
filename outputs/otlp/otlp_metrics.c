#include "outputs/otlp/otlp_metrics.h"

#include <stdio.h>
#include <stdlib.h>

#include "outputs/otlp/otlp_link.h"
#include "outputs/otlp/otlp_reply.h"
#include "outputs/otlp/otlp_settings.h"

static uint64_t metrics_every(const void *settings)
{
    return ((const struct otlp_settings *)settings)->metrics_ns;
}

static bool metrics_as_json(const void *settings)
{
    return ((const struct otlp_settings *)settings)->protocol == OTLP_JSON;
}

struct sender {
    struct http_link link;
    enum otlp_protocol protocol;
};

static void metrics_destroy(void *self_)
{
    struct sender *self = self_;
    if (self) {
        http_link_fini(&self->link);
        free(self);
    }
}

static void *metrics_create(const void *settings, const struct output_env *env, struct error *err)
{
    const struct otlp_settings *s = settings;
    struct sender *self = calloc(1, sizeof(*self));
    if (!self) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    self->protocol = (enum otlp_protocol)s->protocol;
    if (!otlp_link_init(&self->link, s, env, err)) {
        metrics_destroy(self);
        return NULL;
    }
    return self;
}

static bool judge(struct sender *self, struct error *err)
{
    struct http_response *response = &self->link.response;
    int status = response->reply.status;
    struct otlp_reply reply;
    char words[400];
    otlp_reply_read(buf_span(&response->body), status, self->protocol, &reply);
    if (otlp_reply_verdict(status) == OTLP_TAKEN && !response->page && !reply.rejected) {
        return true;
    }
    snprintf(words, sizeof(words), "%s%s%s",
        response->page   ? "a web page answered instead of a collector"
        : reply.rejected ? "the collector did not accept all metrics"
                         : otlp_reply_words(status),
        reply.message[0] ? ": " : "", reply.message);
    http_client_hide(self->link.client, words);
    response->shown[0] = '\0'; /* protobuf is unreadable */
    http_response_error(response, self->link.url, words, err);
    return false;
}

static bool metrics_send(void *self_, struct span request, struct error *err)
{
    struct sender *self = self_;
    return http_link_post(&self->link, otlp_settings_metrics_path, request, err) &&
           judge(self, err);
}

const struct output_metrics otlp_metrics = {
    .every_ns = metrics_every,
    .as_json = metrics_as_json,
    .create = metrics_create,
    .send = metrics_send,
    .destroy = metrics_destroy,
};
