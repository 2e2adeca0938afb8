#include "app/run/agent_observed.h"

#include "base/grow.h"
#include "base/span.h"

struct agent_observed_session {
    char *name;
    uint64_t sequence;
};

static struct agent_observed_session *find(
    const struct agent_observed *observed, const char *session)
{
    for (size_t i = 0; i < observed->count; i++) {
        if (strcmp(observed->sessions[i].name, session) == 0) {
            return &observed->sessions[i];
        }
    }
    return NULL;
}

static struct agent_observed_session *add(struct agent_observed *observed, const char *session)
{
    bool has_room = grow_array(
        &observed->sessions, observed->count + 1, sizeof(*observed->sessions));
    char *name = has_room ? span_copy(span_text(session)) : NULL;
    if (!name) {
        return NULL;
    }
    struct agent_observed_session *added = &observed->sessions[observed->count++];
    *added = (struct agent_observed_session){.name = name};
    return added;
}

void agent_observed_note(struct agent_observed *observed, const char *session, uint64_t sequence)
{
    struct agent_observed_session *known = find(observed, session);
    if (!known) {
        known = add(observed, session);
    }
    if (known && sequence > known->sequence) {
        known->sequence = sequence;
    }
}

uint64_t agent_observed_find(const struct agent_observed *observed, const char *session)
{
    const struct agent_observed_session *known = find(observed, session);
    return known ? known->sequence : 0;
}

void agent_observed_fini(struct agent_observed *observed)
{
    for (size_t i = 0; i < observed->count; i++) {
        free(observed->sessions[i].name);
    }
    free(observed->sessions);
    *observed = (struct agent_observed){.sessions = NULL};
}
