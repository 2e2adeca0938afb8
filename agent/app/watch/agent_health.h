#ifndef ETWSHIP_APP_AGENT_HEALTH_H
#define ETWSHIP_APP_AGENT_HEALTH_H

#include "app/watch/agent_status.h"
#include "base/buf.h"

/* Is the agent well, and if not, why? From numbers alone,
 * so that the same moment gives the same answer everywhere. */
enum agent_severity { AGENT_NOTE, AGENT_DEGRADED, AGENT_UNREADY };

enum agent_cause {
#define CAUSE(id, name, severity, todo) AGENT_CAUSE_##id,
#include "app/watch/agent_causes.def"
#undef CAUSE
    AGENT_CAUSE_COUNT
};

enum { AGENT_HEALTH_MAX_FINDINGS = 64, AGENT_HEALTH_TEXT_BYTES = 640, AGENT_TROUBLE_BYTES = 500 };

struct agent_finding {
    enum agent_cause cause;
    const char *session; /* NULL: it is of none */
    const char *output;  /* the same */
    char text[AGENT_HEALTH_TEXT_BYTES];
};

struct agent_health {
    struct agent_finding findings[AGENT_HEALTH_MAX_FINDINGS];
    size_t count;
    size_t left_out; /* for which there was no room */
    bool healthy;
    bool ready;
};

struct agent_session_state {
    bool failed;                       /* it has ended with an error */
    char trouble[AGENT_TROUBLE_BYTES]; /* why it is not read now, and tried again; "": it is */
};

/* State of the running agent; pointers are valid as long as its plan. */
struct agent_health_inputs {
    const struct agent_status *status;
    const struct agent_plan *plan;
    const struct agent_loads *loads;
    const struct agent_session_state *sessions;
    const bool *ended_outputs; /* by output */
    struct spool_usage spool;
    bool spool_keeps;
    bool positions_fail; /* they could not be stored */
    uint64_t letters_evicted;
    uint64_t error; /* agent_metrics_error */
    uint64_t now_ns;
};

/* The agent runs. */
void agent_health_look(const struct agent_health_inputs *inputs, struct agent_health *ret_health);

/* It does not, as ${cause}. */
void agent_health_set(struct agent_health *ret_health, enum agent_cause cause, const char *text);

const char *agent_health_cause_name(enum agent_cause cause);

/* {"status":…,"ready":…,"causes":[…]} */
void agent_health_json(const struct agent_health *health, struct buf *out);

/* As text: "healthy" or "degraded", then a line for each cause with what to do. */
void agent_health_text(const struct agent_health *health, struct buf *out);

/* All causes in one line: "output siem: connection refused; spool full"; empty if healthy. */
void agent_health_line(const struct agent_health *health, struct buf *out);

#endif
