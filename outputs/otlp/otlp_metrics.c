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

static void metrics_destroy(void *link)
{
    if (link) {
        otlp_link_fini(link);
        free(link);
    }
}

static void *metrics_create(const void *settings, const struct output_env *env, struct error *err)
{
    struct otlp_link *link = calloc(1, sizeof(*link));
    if (!link) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    if (!otlp_link_init(link, settings, env, err)) {
        metrics_destroy(link);
        return NULL;
    }
    return link;
}

static bool judge(struct otlp_link *link, struct error *err)
{
    int status = link->said.reply.status;
    struct otlp_reply reply;
    char words[400];
    otlp_reply_read(buf_span(&link->said.body), status, link->protocol, &reply);
    if (otlp_reply_verdict(status) == OTLP_TAKEN && !link->said.page && !reply.rejected) {
        return true;
    }
    snprintf(words, sizeof(words), "%s%s%s",
        link->said.page  ? "a web page answers, and no collector"
        : reply.rejected ? "not all metrics were taken"
                         : otlp_reply_words(status),
        reply.message[0] ? ": " : "", reply.message);
    http_client_hide(link->client, words);
    link->said.shown[0] = '\0'; /* of protobuf nobody can read it */
    http_said_tell(&link->said, link->base, words, err);
    return false;
}

static bool metrics_send(void *link, struct span request, struct error *err)
{
    return otlp_link_post(link, otlp_settings_metrics_path, request, err) && judge(link, err);
}

const struct output_metrics otlp_metrics = {
    .every_ns = metrics_every,
    .as_json = metrics_as_json,
    .create = metrics_create,
    .send = metrics_send,
    .destroy = metrics_destroy,
};
