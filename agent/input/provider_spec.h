#ifndef ETWSHIP_INPUT_PROVIDER_SPEC_H
#define ETWSHIP_INPUT_PROVIDER_SPEC_H

#include "base/guid.h"
#include "config/config.h"

/*
 * What is wanted of one provider: what both forms of an entry of `providers` amount to. The compact
 * one is
 *   (Name|GUID)[:Level[:EventIDs[:AnyKeywords[:AllKeywords]]]]
 * where an empty part is its default: every level, all ids, any = all bits, all = 0.
 */
enum {
    PROVIDER_LEVEL_ALL = 0xff, /* a level of 0 means the same */
    PROVIDER_MAX_RANGES = 64,
    PROVIDER_MAX_PIDS = 8, /* as many as ETW takes */
};

struct provider_id_range {
    uint16_t first;
    uint16_t last;
};

/* Ids, and names of events that have no id of their own (TraceLogging). */
struct provider_events {
    struct provider_id_range ranges[PROVIDER_MAX_RANGES];
    size_t range_count;
    const char *const *names;
    size_t name_count;
};

/* Bits, and names that only the provider's definition turns into bits. */
struct provider_keywords {
    bool given; /* something was written, even if it is 0 */
    uint64_t bits;
    uint64_t named; /* of the bits, those that were not given as all 64 of them */
    const char *const *names;
    size_t name_count;
};

/* What ETW adds to each event. */
enum provider_extended {
    PROVIDER_EXTENDED_SID,
    PROVIDER_EXTENDED_SESSION_ID,
    PROVIDER_EXTENDED_STACK,
    PROVIDER_EXTENDED_PSM_KEY,
    PROVIDER_EXTENDED_EVENT_KEY,
    PROVIDER_EXTENDED_START_KEY,
    PROVIDER_EXTENDED_CONTAINER_ID,
};

/* A condition that ETW itself evaluates (PAYLOAD_FILTER_PREDICATE); one of them is given. */
struct provider_predicate {
    const char *field;
    const char *is;
    const char *is_not;
    const char *contains;
    const char *not_contains;
    const char *below;
    const char *above;
    const char *at_most;
    const char *at_least;
    struct config_strings between; /* two */
    struct config_strings not_between;
};

/* Conditions on the fields of one event, all of which must hold. */
struct provider_payload {
    const char *id;            /* of the event, a number */
    struct config_list fields; /* struct provider_predicate */
};

/* Which events get a stack; nothing: all, if PROVIDER_EXTENDED_STACK is asked for. */
struct provider_stacks {
    struct provider_events events;
    bool by_level; /* the three below count */
    uint8_t level;
    uint64_t any;
    uint64_t all;
};

struct provider_scope; /* provider_scope.h */

/* Spans and names are borrowed from the text, or the strings, it was read from. */
struct provider_spec {
    struct span name; /* empty: given by GUID */
    struct guid guid; /* zero: given by name */
    uint8_t level;
    struct provider_keywords any; /* no bits and no names: every event */
    struct provider_keywords all;
    struct provider_events include; /* nothing: every event */
    struct provider_events exclude;
    uint32_t pids[PROVIDER_MAX_PIDS];
    size_t pid_count; /* 0: every process */

    /* What ETW alone can do; recorded traces hold what was asked for then. */
    struct config_strings executables; /* of these programs alone; none: of all */
    struct config_strings packages;
    struct config_strings apps; /* package-relative application ids */
    const char *container;      /* of this one alone, in the form that ETW takes; NULL: of all */
    struct config_list payload; /* struct provider_payload, each with conditions on an event */
    uint32_t extended;          /* 1 << enum provider_extended */
    struct provider_stacks stacks;
    uint64_t capture_every_ns; /* 0: not again */
    bool capture_at_start;
    bool optional;   /* a machine may lack it */
    bool classic;    /* its keywords are flags: it serves one session at a time (WPP, MOF) */
    const char *wpp; /* formats of its messages, a file or folder; NULL: none */
    struct config_strings flags;        /* of WPP, names and numbers */
    bool take_over;                     /* from the session that a classic one serves */
    bool group;                         /* the GUID is that of a provider group */
    struct config_strings disallow;     /* GUIDs of members of the group that are left out */
    bool only_keywords;                 /* no events without keyword */
    bool exclude_private;               /* none of private browsing */
    bool containers;                    /* of server containers, too */
    const struct provider_scope *scope; /* what rules can keep of it; NULL: nobody knows */
};

/* Everything of every provider. */
void provider_spec_init(struct provider_spec *spec);

/* Read the compact form. Everything that is wrong with it is told to ${fault}, as "what. what to do",
 * with the character, from 0, where it stands. False if something is. */
typedef void provider_spec_fault_fn(void *self, size_t character, const char *what);
bool provider_spec_read(
    struct provider_spec *spec, struct span text, provider_spec_fault_fn *fault, void *self);

/* The same for one error, the first one. */
bool provider_spec_parse(struct provider_spec *spec, struct span text, struct error *err);

/* Parts of the long form. A name that is a GUID is taken as one. */
bool provider_spec_set_name(struct provider_spec *spec, struct span text, struct error *err);
bool provider_spec_parse_level(struct span text, uint8_t *ret_level, struct error *err);

/* A number; else false: it may be a name. */
bool provider_spec_parse_bits(struct span text, uint64_t *ret_bits);

/* `5` or `5-9`, added to ${events}. */
bool provider_spec_add_range(struct provider_events *events, struct span text, struct error *err);

#endif
