#ifndef ETWSHIP_OUTPUTS_HTTP_HERE_H
#define ETWSHIP_OUTPUTS_HTTP_HERE_H

#include "outputs/http/http_options.h"

/* Report what of ${options}, valid as they are, this system cannot do, as its libcurl speaks TLS by another
 * library (output_ops.can_run). */
void http_here_check(struct config_check *check, const struct http_options *options);

#endif
