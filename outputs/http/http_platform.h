#ifndef ETWSHIP_OUTPUTS_HTTP_PLATFORM_H
#define ETWSHIP_OUTPUTS_HTTP_PLATFORM_H

#include "outputs/http/http_options.h"

/* Report valid ${options} that this system does not support, as its libcurl uses another TLS
 * library (output_ops.can_run). */
void http_platform_check(struct config_check *check, const struct http_options *options);

#endif
