#ifndef ETWSHIP_INPUT_PROVIDER_SPEC_H
#define ETWSHIP_INPUT_PROVIDER_SPEC_H

#include "base/guid.h"
#include "config/config.h"

/*
 * What a session wants from one provider: the result of both forms of an entry of `providers`. The
 * compact form is
 *   (Name|GUID)[:Level[:EventIDs[:AnyKeywords[:AllKeywords]]]]
 * An empty part means its default: every level, all ids, any = all bits, all = 0.
 */
enum {
    PROVIDER_LEVEL_ALL = 0xff, /* a level of 0 means the same */
    PROVIDER_MAX_RANGES = 64,
    PROVIDER_MAX_PIDS = 8, /* limit of ETW */
};

struct provider_id_range {
    uint16_t first;
    uint16_t last;
};

/* Ids, and names of events without an id of their own (TraceLogging). */
struct provider_events {
    struct provider_id_range ranges[PROVIDER_MAX_RANGES];
    size_t range_count;
    const char *const *names;
    size_t name_count;
};

/* Bits, and names that the provider's definition translates to bits. */
struct provider_keywords {
    bool given; /* something was written, even if it is 0 */
    uint64_t bits;
    uint64_t named; /* the bits that were not given as a full mask */
    const char *const *names;
    size_t name_count;
};

/* Data that ETW adds to each event. */
enum provider_extended {
    PROVIDER_EXTENDED_SID,
    PROVIDER_EXTENDED_SESSION_ID,
    PROVIDER_EXTENDED_STACK,
    PROVIDER_EXTENDED_PSM_KEY,
    PROVIDER_EXTENDED_EVENT_KEY,
    PROVIDER_EXTENDED_START_KEY,
    PROVIDER_EXTENDED_CONTAINER_ID,
};

/* A condition that ETW evaluates (PAYLOAD_FILTER_PREDICATE); exactly one operator is set. */
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
    const char *id;            /* number of the event */
    struct config_list fields; /* struct provider_predicate */
};

/* Events that get a stack. Empty: all, if PROVIDER_EXTENDED_STACK is set. */
struct provider_stacks {
    struct provider_events events;
    bool by_level; /* the following three apply */
    uint8_t level;
    uint64_t any;
    uint64_t all;
};

struct provider_scope; /* provider_scope.h */

/* Spans and names are borrowed from the text or strings they were read from. */
struct provider_spec {
    struct span name; /* empty: given by GUID */
    struct guid guid; /* zero: given by name */
    uint8_t level;
    struct provider_keywords any; /* no bits and no names: every event */
    struct provider_keywords all;
    struct provider_events include; /* empty: every event */
    struct provider_events exclude;
    uint32_t pids[PROVIDER_MAX_PIDS];
    size_t pid_count; /* 0: every process */

    /* Only ETW evaluates the following; recorded traces contain what was requested at recording. */
    struct config_strings executables; /* only these programs; empty: all */
    struct config_strings packages;
    struct config_strings apps; /* package-relative application ids */
    const char *container;      /* only this container, in ETW's form; NULL: all */
    struct config_list payload; /* struct provider_payload, each with conditions on an event */
    uint32_t extended;          /* 1 << enum provider_extended */
    struct provider_stacks stacks;
    uint64_t capture_every_ns; /* 0: not repeated */
    bool capture_at_start;
    bool optional;   /* the machine may lack the provider */
    bool classic;    /* its keywords are flags, and it serves one session at a time (WPP, MOF) */
    const char *wpp; /* file or folder with formats of its messages; NULL: none */
    struct config_strings flags; /* WPP flags, names and numbers */
    /* take a classic provider away from the session it serves */
    bool take_over;
    bool group;                         /* the GUID is that of a provider group */
    struct config_strings disallow;     /* GUIDs of group members to leave out */
    bool only_keywords;                 /* drop events without keywords */
    bool exclude_private;               /* drop events of private browsing */
    bool containers;                    /* include events of server containers */
    const struct provider_scope *scope; /* what rules can keep; NULL: unknown */
};

/* Select all events of every provider. */
void provider_spec_init(struct provider_spec *spec);

/* Parse the compact form. Each error is reported to ${fault} as "what. what to do" with its
 * character offset, counted from 0. False if there is one. */
typedef void provider_spec_fault_fn(void *self, size_t character, const char *what);
bool provider_spec_read(
    struct provider_spec *spec, struct span text, provider_spec_fault_fn *fault, void *self);

/* Like provider_spec_read, with the first error in ${err}. */
bool provider_spec_parse(struct provider_spec *spec, struct span text, struct error *err);

/* Set parts of the long form. A name that is a GUID sets the GUID. */
bool provider_spec_set_name(struct provider_spec *spec, struct span text, struct error *err);
bool provider_spec_parse_level(struct span text, uint8_t *ret_level, struct error *err);

/* Parse a number; false if it may be a name. */
bool provider_spec_parse_bits(struct span text, uint64_t *ret_bits);

/* Add `5` or `5-9` to ${events}. */
bool provider_spec_add_range(struct provider_events *events, struct span text, struct error *err);

#endif
