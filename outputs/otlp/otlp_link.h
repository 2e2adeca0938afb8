#ifndef ETWSHIP_OUTPUTS_OTLP_LINK_H
#define ETWSHIP_OUTPUTS_OTLP_LINK_H

#include "outputs/compress.h"
#include "outputs/http/http_headers.h"
#include "outputs/http/http_said.h"
#include "outputs/otlp/otlp_settings.h"
#include "outputs/output.h"

/* The way to a collector: its address, who we are, and how bodies are sent. One thread at a time. */
struct otlp_link {
    struct arena kept;
    const char *base; /* the address, without what names logs */
    enum otlp_protocol protocol;
    struct http_client *client;
    struct http_headers headers;
    struct compress *compress; /* NULL: none */
    struct buf packed;
    struct http_said said; /* to the last request */
};

/* Nothing of ${settings} is used later. ${env}: stopping and note, whose host it is; NULL: neither. False with
 * ${err} set; fini is due all the same. */
bool otlp_link_init(struct otlp_link *link, const struct otlp_settings *settings,
    const struct output_env *env, struct error *err);
void otlp_link_fini(struct otlp_link *link); /* zeroed is fine */

/* Send ${body} to ${path}, compressed as the settings say. True: `said` has the reply. False with ${err} set:
 * there is none (`said.reply`), or no memory. */
bool otlp_link_post(struct otlp_link *link, const char *path, struct span body, struct error *err);

#endif
