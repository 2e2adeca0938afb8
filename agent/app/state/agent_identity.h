#ifndef ETWSHIP_APP_AGENT_IDENTITY_H
#define ETWSHIP_APP_AGENT_IDENTITY_H

#include "base/buf.h"
#include "base/guid.h"
#include "config/config.h"
#include "event/write/event_writer.h"

/*
 * The identity of the agent: the `agent`, `labels` and `tags` members at the end of every event.
 *
 * agent.id stays the same for a data folder: it is kept there in the file `agent.id`, and made the
 * first time. agent.ephemeral_id is new at every start. Both are random UUIDs (RFC 9562 version 4).
 */

/* For commands without configuration: name, type and version. */
const struct event_agent *agent_identity_plain(void);
bool agent_identity_tail(struct buf *out, struct error *err);

/* For `run`: the same with ids, labels and tags, for filters and templates. ${data_dir} may be
 * NULL: then there is no agent.id. Labels and tags are borrowed. On failure, too, fini is
 * allowed. */
struct agent_identity {
    struct event_agent agent;
    char host[256];
    char id[GUID_TEXT_SIZE + 1];
    char ephemeral_id[GUID_TEXT_SIZE + 1];
    struct span *texts;
};

bool agent_identity_init(struct agent_identity *identity, const char *data_dir,
    const struct config_map *labels, const struct config_strings *tags, struct error *err);
void agent_identity_fini(struct agent_identity *identity);

/* One ephemeral_id for all agents of a process: the first one is copied to ${ephemeral_id},
 * GUID_TEXT_SIZE + 1 bytes, empty so far, and later callers get it from there. */
void agent_identity_keep(struct agent_identity *identity, char *ephemeral_id);

#endif
