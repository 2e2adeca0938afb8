#ifndef ETWSHIP_FILTER_FILTER_PUSH_H
#define ETWSHIP_FILTER_FILTER_PUSH_H

#include "filter/filter.h"

/*
 * Which events of a provider lists of rules can keep, as far as ETW can tell events apart before they are
 * written: by level, keywords, id, process and values of the payload. A plan is never stricter than the
 * lists: what they keep passes it. What passes it they look at again. Pure; any thread.
 *
 * What a definition says of an event is believed: one of its id has the level and the keywords of one of
 * its versions. What it does not state is not known. Of a provider with a manifest that states all levels
 * it is also believed that its levels are those of its events, or the five of winmeta.xml. Nothing else
 * is assumed of events that no definition has.
 */

/* An event that a provider is known to write. */
struct filter_push_event {
    struct event_descriptor descriptor;
    const struct event_schema *schema; /* NULL: its names and its payload are not known */
    uint8_t unstated; /* SCHEMA_NO_*: of the descriptor is not known what it has there */
};

/* Events that must come whatever the rules say, as others are told by them. */
struct filter_push_need {
    uint16_t id;
    uint8_t level;
    uint64_t keyword;
};

struct filter_push_question {
    const struct filter *const *every; /* lists that must all keep an event */
    size_t every_count;
    const struct filter *const *any; /* and of these, if there are any, one */
    size_t any_count;
    struct span session;  /* as events of it have it; empty: unknown */
    struct span provider; /* empty: unknown */
    struct guid guid;     /* zero: unknown */
    bool is_manifest;     /* registered with a manifest: it writes no other kind of event */
    const struct filter_push_event *events;
    size_t event_count;
    const struct filter_push_need *needs;
    size_t need_count;
};

/* What there is, and what ETW takes of it at most: a list of ids that come, or do not. */
enum {
    FILTER_PUSH_IDS = 65536,
    FILTER_PUSH_MAX_IDS = 64,
    FILTER_PUSH_MAX_PIDS = 8,
    FILTER_PUSH_MAX_TESTS = 8,
};

/* How one value of a payload is tested, by the numbers of PAYLOAD_OPERATOR (tdh.h). */
enum filter_push_op {
    FILTER_PUSH_EQUAL = 0,
    FILTER_PUSH_AT_MOST = 2,
    FILTER_PUSH_ABOVE = 3,
    FILTER_PUSH_BELOW = 4,
    FILTER_PUSH_AT_LEAST = 5,
    FILTER_PUSH_BETWEEN = 6,   /* ends included: `low,high` */
    FILTER_PUSH_CONTAINS = 20, /* text, by case */
    FILTER_PUSH_IS = 30,       /* the same */
};

struct filter_push_test {
    const char *field;
    enum filter_push_op op;
    const char *value;
};

/* What an event must hold to be kept. */
struct filter_push_payload {
    struct event_descriptor event;
    bool any; /* one of the tests is enough; else: all */
    size_t count;
    const struct filter_push_test *tests;
};

/* Why a test is for the agent alone. */
enum filter_push_why {
    FILTER_PUSH_NO_FIELD,      /* ETW does not look at the field */
    FILTER_PUSH_NO_TEST,       /* nor test it in this way */
    FILTER_PUSH_BY_CASE,       /* it compares text by case, and the rule does not */
    FILTER_PUSH_NO_DEFINITION, /* no definition says where in the payload it is */
    FILTER_PUSH_NOT_ALONE,     /* whatever it says, the event may be kept */
};

struct filter_push_left {
    const char *path; /* as the rule has it */
    enum filter_push_why why;
};

/* Why less could be told than there is. */
enum {
    FILTER_PUSH_NEEDED = 1,      /* some ids come for those who need them */
    FILTER_PUSH_MANY_PIDS = 2,   /* more processes than ETW takes */
    FILTER_PUSH_SYSTEM_PIDS = 4, /* process 0 or 4 is kept, where ETW does not look */
    FILTER_PUSH_ANY_LEVEL = 8,   /* levels above verbose are kept, which nobody may have */
    FILTER_PUSH_COMPLEX = 16,    /* too many values to go through */
    FILTER_PUSH_MANY_IDS = 32,   /* more ids, of either kind, than ETW takes */
    FILTER_PUSH_NO_LEVEL =
        64, /* what is kept has definitions, and not all of them state a level … */
    FILTER_PUSH_NO_KEYWORDS = 128, /* … or keywords */
};

struct filter_push {
    bool nothing;       /* no event is kept */
    uint8_t level;      /* the highest that is kept; 0xff: every level */
    uint64_t any;       /* 0: every keyword */
    uint64_t all;       /* only where `any` is not 0 */
    const uint8_t *ids; /* bitmap of FILTER_PUSH_IDS bits, set where the id is kept */
    size_t id_count;    /* that are kept */
    uint32_t pids[FILTER_PUSH_MAX_PIDS];
    size_t pid_count; /* 0: every process */
    const struct filter_push_payload *payload;
    size_t payload_count;
    const struct filter_push_left
        *left; /* what rules that matter test beyond all that, for people */
    size_t left_count;
    unsigned notes; /* FILTER_PUSH_* */
};

/* Into ${ret_push}, with memory of ${arena}. Lists and events need not outlive it. */
bool filter_push_make(const struct filter_push_question *question, struct arena *arena,
    struct filter_push *ret_push, struct error *err);

static inline bool filter_push_has_id(const struct filter_push *push, uint16_t id)
{
    return push->ids[id / 8] >> id % 8 & 1;
}

#endif
