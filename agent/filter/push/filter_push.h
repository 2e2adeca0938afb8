#ifndef ETWSHIP_FILTER_FILTER_PUSH_H
#define ETWSHIP_FILTER_FILTER_PUSH_H

#include "filter/filter.h"

/*
 * Determines which events of a provider the rules can keep, as far as ETW can distinguish events
 * before they are written: by level, keywords, id, process and payload values. A plan is never
 * stricter than the lists: whatever they keep passes it. They evaluate what passes again. Pure;
 * thread-safe.
 *
 * Definitions are trusted: an event has the level and keywords of one of the versions of its id.
 * Values that a definition does not state are unknown. A provider with a manifest that states all
 * levels is trusted to use only levels of its events, or the five of winmeta.xml. Nothing else is
 * assumed about events without a definition.
 */

/* An event that a provider is known to write. */
struct filter_push_event {
    struct event_descriptor descriptor;
    const struct event_schema *schema; /* NULL: names and payload are unknown */
    uint8_t unstated;                  /* SCHEMA_NO_*: unknown parts of the descriptor */
};

/* Events that must arrive regardless of rules, because other events need them. */
struct filter_push_need {
    uint16_t id;
    uint8_t level;
    uint64_t keyword;
};

struct filter_push_question {
    const struct filter *const *every; /* lists that must all keep an event */
    size_t every_count;
    const struct filter *const *any; /* if there are any, one of these must keep it as well */
    size_t any_count;
    struct span session;  /* session name in events; empty: unknown */
    struct span provider; /* empty: unknown */
    struct guid guid;     /* zero: unknown */
    bool is_manifest;     /* registered with a manifest: it writes no other kinds of events */
    bool is_log; /* of event logs: ranges of ids can be asked for, and no event is a manifest */
    const struct filter_push_event *events;
    size_t event_count;
    const struct filter_push_need *needs;
    size_t need_count;
};

/* Range of ids, and limits of ETW: a list of ids to include or to exclude. */
enum {
    FILTER_PUSH_IDS = 65536,
    FILTER_PUSH_MAX_IDS = 64,
    FILTER_PUSH_MAX_PIDS = 8,
    FILTER_PUSH_MAX_TESTS = 8,
};

/* Comparison of a payload value, numbered like PAYLOAD_OPERATOR (tdh.h). */
enum filter_push_op {
    FILTER_PUSH_EQUAL = 0,
    FILTER_PUSH_AT_MOST = 2,
    FILTER_PUSH_ABOVE = 3,
    FILTER_PUSH_BELOW = 4,
    FILTER_PUSH_AT_LEAST = 5,
    FILTER_PUSH_BETWEEN = 6,   /* inclusive: `low,high` */
    FILTER_PUSH_CONTAINS = 20, /* text, case-sensitive */
    FILTER_PUSH_IS = 30,       /* text, case-sensitive */
};

struct filter_push_test {
    const char *field;
    enum filter_push_op op;
    const char *value;
};

/* Condition for an event to be kept. */
struct filter_push_payload {
    struct event_descriptor event;
    bool any; /* one of the tests must hold; else all */
    size_t count;
    const struct filter_push_test *tests;
};

/* Why only the agent can evaluate a test. */
enum filter_push_why {
    FILTER_PUSH_NO_FIELD,      /* ETW does not evaluate the field */
    FILTER_PUSH_NO_TEST,       /* ETW does not support the test */
    FILTER_PUSH_BY_CASE,       /* ETW compares case-sensitively, the rule does not */
    FILTER_PUSH_NO_DEFINITION, /* no definition has the field's position in the payload */
    FILTER_PUSH_NOT_ALONE,     /* the event may be kept regardless of the result */
};

struct filter_push_left {
    const char *path; /* as in the rule */
    enum filter_push_why why;
};

/* Why the plan is less precise than possible. */
enum {
    FILTER_PUSH_NEEDED = 1,        /* some ids are included for other events */
    FILTER_PUSH_MANY_PIDS = 2,     /* more processes than ETW supports */
    FILTER_PUSH_SYSTEM_PIDS = 4,   /* process 0 or 4 is kept, which ETW cannot select */
    FILTER_PUSH_ANY_LEVEL = 8,     /* levels above verbose are kept, which no event should have */
    FILTER_PUSH_COMPLEX = 16,      /* too many values to enumerate */
    FILTER_PUSH_MANY_IDS = 32,     /* too many ids for either kind of list */
    FILTER_PUSH_NO_LEVEL = 64,     /* definitions of kept events lack a level */
    FILTER_PUSH_NO_KEYWORDS = 128, /* definitions of kept events lack keywords */
};

struct filter_push {
    bool nothing;       /* no event is kept */
    uint8_t level;      /* highest kept level; 0xff: every level */
    uint64_t any;       /* 0: every keyword */
    uint64_t all;       /* only if `any` is not 0 */
    const uint8_t *ids; /* bitmap of FILTER_PUSH_IDS bits: ids that are kept */
    size_t id_count;    /* number of kept ids */
    uint32_t pids[FILTER_PUSH_MAX_PIDS];
    size_t pid_count; /* 0: every process */
    const struct filter_push_payload *payload;
    size_t payload_count;
    const struct filter_push_left
        *left; /* what rules that matter test beyond all that, for people */
    size_t left_count;
    unsigned notes; /* FILTER_PUSH_* */
};

/* Make a plan in ${ret_push} with memory of ${arena}. Lists and events need not outlive it. */
bool filter_push_make(const struct filter_push_question *question, struct arena *arena,
    struct filter_push *ret_push, struct error *err);

static inline bool filter_push_has_id(const struct filter_push *push, uint16_t id)
{
    return push->ids[id / 8] >> id % 8 & 1;
}

#endif
