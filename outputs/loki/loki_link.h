#ifndef ETWSHIP_OUTPUTS_LOKI_LINK_H
#define ETWSHIP_OUTPUTS_LOKI_LINK_H

#include "outputs/http/http_link.h"
#include "outputs/loki/loki_settings.h"

/* The link to the Loki of ${settings}; as http_link_init. */
bool loki_link_init(struct http_link *link, const struct loki_settings *settings,
    const struct output_env *env, struct error *err);

#endif
