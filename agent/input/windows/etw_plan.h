#ifndef ETWSHIP_INPUT_WINDOWS_ETW_PLAN_H
#define ETWSHIP_INPUT_WINDOWS_ETW_PLAN_H

#include "base/arena.h"
#include "etw/etw_enable.h"
#include "etw/etw_kernel.h"
#include "input/input.h"
#include "input/live_options.h"
#include "input/provider_spec.h"

/*
 * What a live session amounts to for ETW, from its settings and providers alone: no call, no clock,
 * so that `check` can say it on any system.
 */
enum etw_plan_kind {
    ETW_PLAN_REALTIME, /* struct live_realtime */
    ETW_PLAN_SYSTEM,   /* struct live_kernel, under a name of our own */
    ETW_PLAN_KERNEL,   /* struct live_kernel, the NT Kernel Logger */
    ETW_PLAN_ATTACH,   /* struct live_attach */
    ETW_PLAN_RECORD,   /* struct live_record */
    ETW_PLAN_HEAP,     /* struct live_heap */
};

/* Whose heaps: a program that is launched, or processes that run. */
struct etw_plan_heap {
    const char *launch; /* command line; NULL: none */
    const char *folder; /* where it runs */
    const char *image;  /* its name without its folder */
    bool ends_program;  /* it is ended with the agent */
    uint32_t *pids;
    size_t pid_count;
    const struct config_strings *names; /* of programs */
    uint8_t *stacks;                    /* ETW_HEAP_* */
    size_t stack_count;
};

/* One entry of `providers`. */
struct etw_plan_entry {
    const struct provider_spec *spec; /* borrowed */
    const char *label;                /* its name, or its GUID as text */
    bool named;                       /* the request's GUID is what follows from the name alone */
    bool nothing;                     /* no rule keeps any event of it: it is not switched on */
    struct etw_request request;       /* payload filters are left out: they need its manifest */
    uint32_t too_much; /* kinds of filters that are beyond ETW's limits: the agent's */
};

struct etw_plan {
    enum etw_plan_kind kind;
    const char *name; /* of the ETW session */
    bool ours;        /* its name begins with ETW_OUR_PREFIX: it may be stopped by name */
    bool reads;       /* events are consumed; else ETW writes a file alone */
    bool raw;         /* as buffers, if this Windows can */
    bool keeps;       /* it stays when the agent goes */
    bool boot;        /* an autologger may have started it: then it goes on */
    int on_existing;  /* enum live_existing */
    int in_use;       /* enum live_in_use, of ETW_PLAN_KERNEL */
    bool snapshot;    /* what is in memory is written at the end */
    struct live_guard guard;
    struct etw_session_spec session;

    bool is_system; /* a system logger: kernel events, or providers in such a session */
    struct etw_groups groups;
    struct etw_stack_event *stacks;
    size_t stack_count;
    bool profiles;          /* the profile timer or counters, which need a privilege */
    uint32_t profile_100ns; /* 0: left alone */
    const struct config_strings *counters;
    struct etw_stack_event *counter_events;
    size_t counter_event_count;

    struct etw_plan_heap heap; /* of ETW_PLAN_HEAP */

    struct etw_plan_entry *entries;
    size_t entry_count;

    struct guid fingerprint; /* of everything that a running session cannot be given any more */
    struct guid
        shape; /* the same but its providers, of whoever knows which ones are enabled in it */
    struct arena memory;
};

/* ${settings} are those that ${kind} says; they and what ${env} points to outlive the plan. NULL:
 * ERR_CONFIG, ERR_LIMIT, ERR_MEMORY. */
struct etw_plan *etw_plan_create(
    enum etw_plan_kind kind, const void *settings, const struct input_env *env, struct error *err);
void etw_plan_destroy(struct etw_plan *plan); /* NULL is fine */

/* The provider of the kernel's (etw_kernel.h) that is meant, by name or GUID; NULL: none. Short names
 * are for sessions of kernel events. */
const struct etw_system_provider *etw_plan_system_provider(
    const struct provider_spec *spec, bool short_names);

/*
 * What ETW shall be asked for by one entry, into ${ret_request} (zeroed before); ${ret_too_much}:
 * kinds of filters beyond ETW's limits, left out of it. Of ids and names together ETW applies the
 * one or the other by the kind of provider, which is not known here: both are left to the agent.
 */
void etw_plan_request(
    const struct provider_spec *spec, struct etw_request *ret_request, uint32_t *ret_too_much);

#endif
