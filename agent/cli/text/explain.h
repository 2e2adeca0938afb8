#ifndef ETWSHIP_CLI_EXPLAIN_H
#define ETWSHIP_CLI_EXPLAIN_H

#include "app/plan/agent_plan.h"
#include "input/live/provider_scope.h"
#include "input/windows/etw_plan.h"
#include "schema/cache/schema_cache.h"

/*
 * The calls of EnableTraceEx2 for a configuration, and the filters left to the agent: for `explain`
 * and `check -v`. It enables nothing, so it works on every system; names that are unknown here stay
 * names.
 */
struct explain {
    const struct app_config *config;
    struct schema_shared *schemas;
    struct schema_cache *definitions;
    struct agent_plan plan;
    bool hides; /* a rule has text of the environment */
};

/* False with ${err} set; fini is allowed. ${config} outlives it.
 * Warnings of definitions go to ${warn}. */
bool explain_init(struct explain *explain, const struct app_config *config,
    void (*warn)(void *self, const char *text), struct error *err);
void explain_fini(struct explain *explain);

/* The index of a session in the plan; SIZE_MAX: unknown name, or not enabled. */
size_t explain_find(const struct explain *explain, const char *name);

/* One call of EnableTraceEx2: all entries of one provider. */
struct explain_call {
    const struct app_provider *provider; /* of the first of them */
    const struct provider_spec *spec;
    size_t entries;
    bool nothing;               /* there is no call: no rule keeps any of its events */
    struct etw_request request; /* without payload filters of entries, which need its manifest */
    struct etw_request wide;    /* the request without rules */
    uint32_t too_much;          /* kinds of filters beyond ETW's limits */
    const char *hindrance;      /* why rules exclude no events; NULL: they may */
};

/* Call ${each} for every call at the session's start. False: out of memory. */
typedef void explain_fn(void *self, const struct explain_call *call);
bool explain_each(const struct explain *explain, size_t session, explain_fn *each, void *self);

/* Number of rules that apply to events of the session, and of those of outputs among them. */
size_t explain_rules(const struct explain *explain, size_t session, size_t *ret_of_outputs);

/* A value in a rule, for display: values of environment variables are hidden. */
const char *explain_value(const struct explain *explain, const char *value);

/* Append the names of the keywords in ${bits}, separated by commas. */
void explain_keywords(
    const struct explain *explain, const struct guid *guid, uint64_t bits, struct buf *out);

/* Notes on the call, a sentence each. */
void explain_notes(const struct explain *explain, size_t session, const struct explain_call *call,
    void (*note)(void *self, const char *text), void *self);

/* Why a field is left to the agent: "ETW has no such test". Static. */
const char *explain_why(int why);

/* Append it for people, after ${indent}; ${session} SIZE_MAX: all of them. */
bool explain_write(
    const struct explain *explain, size_t session, const char *indent, struct buf *out);

/* Append it as a JSON object and a newline. */
bool explain_write_json(const struct explain *explain, size_t session, struct buf *out);

#endif
