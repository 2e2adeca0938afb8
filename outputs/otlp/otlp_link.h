#ifndef ETWSHIP_OUTPUTS_OTLP_LINK_H
#define ETWSHIP_OUTPUTS_OTLP_LINK_H

#include "outputs/http/http_link.h"
#include "outputs/otlp/otlp_settings.h"

/* The link to the collector of ${settings}, for logs and metrics; as http_link_init. */
bool otlp_link_init(struct http_link *link, const struct otlp_settings *settings,
    const struct output_env *env, struct error *err);

#endif
