#ifndef ETWSHIP_CLI_SERVICE_TEXT_H
#define ETWSHIP_CLI_SERVICE_TEXT_H

#include "base/buf.h"
#include "service/service_control.h"

/* Append the state of the service, a line per fact. */
void service_text_status(
    const struct service_status *status, const struct service_config *config, struct buf *out);

#endif
