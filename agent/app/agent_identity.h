#ifndef ETWSHIP_APP_AGENT_IDENTITY_H
#define ETWSHIP_APP_AGENT_IDENTITY_H

#include "base/buf.h"
#include "config/config.h"
#include "event/event_writer.h"

/*
 * Who ships: the `agent`, `labels` and `tags` members at the end of every event.
 *
 * agent.id stays the same for a data folder: it is kept there in the file `agent.id`, and made the
 * first time. agent.ephemeral_id is new at every start. Both are random UUIDs (RFC 9562 version 4).
 */

/* For commands without configuration: name, type and version. */
const struct event_agent *agent_identity_plain(void);
bool agent_identity_tail(struct buf *out, struct error *err);

/* For `run`. ${data_dir} may be NULL: then there is no agent.id. */
bool agent_identity_tail_full(const char *data_dir, const struct config_map *labels,
    const struct config_strings *tags, struct buf *out, struct error *err);

#endif
