#ifndef ETWSHIP_INPUT_WINDOWS_ETW_PLAN_H
#define ETWSHIP_INPUT_WINDOWS_ETW_PLAN_H

#include "base/arena.h"
#include "etw/enable/etw_enable.h"
#include "etw/session/etw_kernel.h"
#include "input/input.h"
#include "input/live/live_options.h"
#include "input/live/provider_spec.h"

/*
 * Translation of a live session's settings and providers into ETW's terms: no calls and no clock,
 * so that `check` works on any system.
 */
enum etw_plan_kind {
    ETW_PLAN_REALTIME, /* struct live_realtime */
    ETW_PLAN_SYSTEM,   /* struct live_kernel, in a session with a name of ours */
    ETW_PLAN_KERNEL,   /* struct live_kernel, in the NT Kernel Logger */
    ETW_PLAN_ATTACH,   /* struct live_attach */
    ETW_PLAN_RECORD,   /* struct live_record */
    ETW_PLAN_HEAP,     /* struct live_heap */
};

/* Processes with traced heaps: a launched program, or running processes. */
struct etw_plan_heap {
    const char *launch; /* command line; NULL: none */
    const char *folder; /* its working folder */
    const char *image;  /* program name without folder */
    bool ends_program;  /* end the program with the agent */
    uint32_t *pids;
    size_t pid_count;
    const struct config_strings *names; /* program names */
    uint8_t *stacks;                    /* ETW_HEAP_* */
    size_t stack_count;
};

/* One entry of `providers`. */
struct etw_plan_entry {
    const struct provider_spec *spec; /* borrowed */
    const char *label;                /* name, or GUID as text */
    bool named;                       /* the request's GUID is only derived from the name */
    bool nothing;                     /* no rule keeps its events: it is not enabled */
    struct etw_request request;       /* without payload filters, which need its manifest */
    uint32_t too_much; /* kinds of filters beyond ETW's limits; the agent applies them */
};

struct etw_plan {
    enum etw_plan_kind kind;
    const char *name; /* of the ETW session */
    bool ours;        /* its name begins with ETW_OUR_PREFIX, so it may be stopped by name */
    bool reads;       /* events are consumed; else ETW only writes a file */
    bool raw;         /* as buffers, if this Windows supports it */
    bool keeps;       /* it continues when the agent stops */
    bool boot;        /* an autologger may have started it: it is then continued */
    int on_existing;  /* enum live_existing */
    int in_use;       /* enum live_in_use, of ETW_PLAN_KERNEL */
    bool snapshot;    /* memory content is written at the end */
    struct live_guard guard;
    struct etw_session_spec session;

    bool is_system; /* a system logger: for kernel events, or providers in such a session */
    struct etw_groups groups;
    struct etw_stack_event *stacks;
    size_t stack_count;
    bool profiles;          /* uses the profile timer or counters, which need a privilege */
    uint32_t profile_100ns; /* 0: unchanged */
    const struct config_strings *counters;
    struct etw_stack_event *counter_events;
    size_t counter_event_count;

    struct etw_plan_heap heap; /* of ETW_PLAN_HEAP */

    struct etw_plan_entry *entries;
    size_t entry_count;

    struct guid fingerprint; /* of everything that cannot be changed in a running session */
    struct guid
        /* like the fingerprint without providers; for an owner that knows which are enabled */
        shape;
    struct arena memory;
};

/* ${settings} must have the type of ${kind}; they and what ${env} points to must outlive the plan.
 * NULL: ERR_CONFIG, ERR_LIMIT, ERR_MEMORY. */
struct etw_plan *etw_plan_create(
    enum etw_plan_kind kind, const void *settings, const struct input_env *env, struct error *err);
void etw_plan_destroy(struct etw_plan *plan); /* NULL is fine */

/* The system provider (etw_kernel.h) that ${spec} names, by name or GUID, or NULL. Short names are
 * for sessions of kernel events. */
const struct etw_system_provider *etw_plan_system_provider(
    const struct provider_spec *spec, bool short_names);

/*
 * Write the ETW request for one entry into ${ret_request} (zeroed before). ${ret_too_much}: kinds
 * of filters beyond ETW's limits, which are left out. ETW applies either ids or names, depending on
 * the kind of provider, which is unknown here: if both are given, both are left to the agent.
 */
void etw_plan_request(
    const struct provider_spec *spec, struct etw_request *ret_request, uint32_t *ret_too_much);

#endif
