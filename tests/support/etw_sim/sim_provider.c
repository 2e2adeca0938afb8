/*
 * Providers: GUIDs and the registrations of processes. A callback runs without the lock, its
 * registration kept by `busy`; unregistering waits for it, as Windows does, but not for itself.
 */
#include <stdlib.h>

#include "support/etw_sim/sim_state.h"

enum { CALLS_AT_ONCE = 256, HANDLE_SHIFT = 20 };

static _Thread_local const struct sim_registration *inside; /* whose callback this thread runs */

struct sim_guid *sim_provider_guid(struct etw_sim *sim, const struct guid *guid)
{
    struct span key = span_make(guid->bytes, sizeof(guid->bytes));
    struct sim_guid *g = map_get(&sim->guids, key);
    if (g) {
        return g;
    }
    g = calloc(1, sizeof(*g));
    if (!g) {
        return NULL;
    }
    g->guid = *guid;
    if (!map_put(&sim->guids, span_make(g->guid.bytes, sizeof(g->guid.bytes)), g)) {
        free(g);
        return NULL;
    }
    g->next = sim->guid_list;
    sim->guid_list = g;
    return g;
}

/* ---- handles --------------------------------------------------------------------------------- */

struct sim_registration *sim_provider_by_handle(struct etw_sim *sim, uint64_t handle)
{
    uint64_t index = handle & ((UINT64_C(1) << HANDLE_SHIFT) - 1);
    if (index >= sim->registration_room || !sim->registrations[index]) {
        return NULL;
    }
    struct sim_registration *r = sim->registrations[index];
    return r->handle == handle && !r->gone ? r : NULL;
}

static bool give_handle(struct etw_sim *sim, struct sim_registration *r)
{
    uint32_t index = 0;
    while (index < sim->registration_room && sim->registrations[index]) {
        index++;
    }
    if (index == sim->registration_room) {
        uint32_t room = sim->registration_room ? sim->registration_room * 2 : 16;
        struct sim_registration **more = index < UINT32_C(1) << (HANDLE_SHIFT - 1)
                                             ? realloc(sim->registrations, room * sizeof(*more))
                                             : NULL;
        if (!more) {
            return false;
        }
        memset(more + index, 0, (room - index) * sizeof(*more));
        sim->registrations = more;
        sim->registration_room = room;
    }
    sim->registrations[index] = r;
    r->handle = ++sim->last_registration << HANDLE_SHIFT | index;
    return true;
}

/* ---- notifying ------------------------------------------------------------------------------- */

size_t sim_provider_enables(
    const struct sim_registration *r, struct sim_enable *ret[2 * SIM_MAX_ENABLES])
{
    size_t count = 0;
    for (uint32_t i = 0; i < r->of->enable_count; i++) {
        ret[count++] = r->of->enables[i];
    }
    for (uint32_t i = 0; r->group && i < r->group->enable_count; i++) {
        struct sim_enable *e = r->group->enables[i];
        bool allowed = sim_enable_find(r->of, e->session) == NULL;
        for (uint32_t k = 0; k < e->session->disallowed_count; k++) {
            allowed = allowed && !guid_equal(&e->session->disallowed[k], &r->of->guid);
        }
        if (allowed) {
            ret[count++] = e;
        }
    }
    return count;
}

/*
 * The keywords of ${e} that callbacks get: without MatchAnyKeyword every one, and then
 * MatchAllKeyword is not used (enabletraceex2; PENABLECALLBACK's remarks test `keyword & any`). A
 * classic provider has flags of its own, in which 0 may mean anything.
 */
static uint64_t any_of(const struct sim_enable *e, enum etw_sim_kind kind)
{
    return e->any || kind == ETW_SIM_CLASSIC ? e->any : UINT64_MAX;
}

static uint64_t all_of(const struct sim_enable *e)
{
    return e->any ? e->all : 0;
}

/* Level, keywords and sessions for a provider: merged over all sessions that enable it. */
static void merge(const struct etw_sim *sim, const struct sim_registration *r,
    struct etw_sim_provider_state *state)
{
    struct sim_enable *list[2 * SIM_MAX_ENABLES];
    size_t count = sim_provider_enables(r, list);
    uint64_t all = UINT64_MAX;
    state->enabled = false;
    state->level = 0;
    state->any = 0;
    state->all = 0;
    state->sessions = 0;
    for (size_t i = 0; i < count; i++) {
        const struct sim_enable *e = list[i];
        const struct sim_process *process = sim_world_process(sim, r->pid);
        if (!sim_filter_scope(e, r->kernel_mode, r->pid, process)) {
            continue;
        }
        bool only = state->sessions++ == 0;
        uint8_t level = e->level || only ? e->level : 0xff;
        bool unlimited = state->level == 0 && !only;
        state->level = unlimited ? 0xff : level > state->level ? level : state->level;
        state->any |= any_of(e, r->kind);
        all &= all_of(e);
        state->enabled = true;
    }
    state->all = state->enabled ? all : 0;
}

/* The arguments of a callback, read while the lock is held. */
struct message {
    struct sim_registration *to;
    struct etw_sim_provider_state state;
    enum sim_tell what;
    struct guid source_id;
    struct etw_filter filter;
    uint8_t *filter_data;
    struct sim_session *session; /* classic */
    uint8_t classic_level;
    uint32_t classic_flags;
};

static void call_classic(struct message *m)
{
    enum { REQUEST_ENABLE = 4, REQUEST_DISABLE = 5 };
    struct etw_wnode wnode = {.buffer_size = sizeof(wnode), .guid = m->to->of->guid};
    uint32_t size = sizeof(wnode);
    if (m->session) {
        wnode.historical_context = m->session->id | (uint64_t)m->classic_level << 16 |
                                   (uint64_t)m->classic_flags << 32;
    }
    m->to->classic(
        m->state.enabled ? REQUEST_ENABLE : REQUEST_DISABLE, m->to->context, &size, &wnode);
}

static void call(struct message *m)
{
    const struct sim_registration *outer = inside;
    struct sim_registration *r = m->to;
    inside = r;
    if (r->classic) {
        call_classic(m);
    } else if (r->callback) {
        uint32_t code = m->what == SIM_TELL_CAPTURE ? ETW_PROVIDER_CAPTURE_STATE
                        : m->state.enabled          ? ETW_PROVIDER_ENABLE
                                                    : ETW_PROVIDER_DISABLE;
        r->callback(&m->source_id, code, m->state.level, m->state.any, m->state.all,
            m->filter_data ? &m->filter : NULL, r->context);
    }
    inside = outer;
}

static void prepare(const struct etw_sim *sim, struct message *m, struct sim_registration *r,
    enum sim_tell what, const struct sim_enable *cause)
{
    *m = (struct message){.to = r, .what = what};
    r->busy++;
    merge(sim, r, &m->state);
    m->source_id = cause ? cause->source_id : (struct guid){{0}};
    for (uint32_t i = 0; cause && i < cause->filter_count; i++) {
        const struct etw_filter *f = &cause->filters[i];
        if (f->type == ETW_FILTER_SCHEMATIZED && f->size) {
            m->filter_data = malloc(f->size);
            m->filter = *f;
            m->filter.data = (uint64_t)(uintptr_t)m->filter_data;
            if (m->filter_data) {
                memcpy(m->filter_data, (const void *)(uintptr_t)f->data, f->size);
            }
        }
    }
    if (r->of->enable_count) {
        const struct sim_enable *e = r->of->enables[0];
        m->session = e->session;
        m->session->users++;
        m->classic_level = e->level;
        m->classic_flags = (uint32_t)e->any;
    }
    if (r->simulated) {
        struct etw_sim_provider_state *s = &r->simulated->state;
        m->state.callbacks = s->callbacks + 1;
        m->state.capture_states = s->capture_states + (what == SIM_TELL_CAPTURE);
        /* Like .NET, whatever the callback is about (eventtrace.cpp, EtwCallbackCommon). */
        bool acts = m->state.enabled && (m->state.any & r->simulated->options.commands);
        m->state.commanded = s->commanded + acts;
        m->state.source_id = m->source_id;
        m->state.had_filter = m->filter_data != NULL;
        *s = m->state;
    }
}

static void free_registration(struct sim_registration *r)
{
    free(r->classes);
    free(r);
}

/* Make the calls; the lock is released meanwhile. */
static void tell(struct etw_sim *sim, struct message *list, size_t count)
{
    plat_mutex_unlock(&sim->lock);
    for (size_t i = 0; i < count; i++) {
        call(&list[i]);
        free(list[i].filter_data);
    }
    plat_mutex_lock(&sim->lock);
    for (size_t i = 0; i < count; i++) {
        struct sim_registration *r = list[i].to;
        if (--r->busy == 0 && r->detached) {
            free_registration(r);
        }
        if (list[i].session) {
            sim_session_release(list[i].session);
        }
    }
    plat_cond_broadcast(&sim->changed);
}

static bool is_suspended(const struct sim_registration *r)
{
    return r->simulated && r->simulated->options.never_answers;
}

bool sim_provider_answers(const struct etw_sim *sim, const struct sim_guid *g)
{
    bool answers = true;
    for (uint32_t i = 0; i < sim->registration_room; i++) {
        const struct sim_registration *r = sim->registrations[i];
        bool is_told = r && !r->gone && (r->of == g || (g->is_group && r->group == g));
        answers = answers && !(is_told && is_suspended(r));
    }
    return answers;
}

void sim_provider_tell(
    struct etw_sim *sim, struct sim_guid *g, enum sim_tell what, const struct sim_enable *cause)
{
    struct message *list = calloc(CALLS_AT_ONCE, sizeof(*list));
    size_t count = 0;
    if (!list) {
        return;
    }
    if (g->is_group) {
        for (uint32_t i = 0; i < sim->registration_room && count < CALLS_AT_ONCE; i++) {
            struct sim_registration *r = sim->registrations[i];
            if (r && r->group == g && !r->gone && !is_suspended(r)) {
                prepare(sim, &list[count++], r, what, cause);
            }
        }
    }
    for (struct sim_registration *r = g->registrations; r && count < CALLS_AT_ONCE; r = r->next) {
        if (!is_suspended(r) && (what == SIM_TELL_CHANGE || r->kind != ETW_SIM_CLASSIC)) {
            prepare(sim, &list[count++], r, what, cause);
        }
    }
    if (count) {
        tell(sim, list, count);
    }
    free(list);
}

/* ---- registering ----------------------------------------------------------------------------- */

uint32_t sim_provider_register(struct etw_sim *sim, const struct guid *guid,
    const struct sim_registration *wanted, uint64_t *ret_handle)
{
    struct sim_guid *g = sim_provider_guid(sim, guid);
    struct sim_registration *r = g ? malloc(sizeof(*r)) : NULL;
    if (!r) {
        return ETW_ERROR_NOT_ENOUGH_MEMORY;
    }
    *r = *wanted;
    r->of = g;
    if (!give_handle(sim, r)) {
        free(r);
        return ETW_ERROR_NO_SYSTEM_RESOURCES;
    }
    if (ret_handle) {
        *ret_handle = r->handle; /* before the callback runs */
    }
    sim->registration_count++;
    struct sim_registration **at = &g->registrations;
    while (*at) {
        at = &(*at)->next;
    }
    r->next = NULL;
    *at = r;
    if (r->simulated) {
        r->simulated->registration = r;
    }
    struct sim_enable *enables[2 * SIM_MAX_ENABLES];
    r->pre_enabled = sim_provider_enables(r, enables) > 0;
    if (r->pre_enabled) { /* kept from before, without source id and filter */
        struct message m;
        prepare(sim, &m, r, SIM_TELL_CHANGE, NULL);
        tell(sim, &m, 1);
    }
    return 0;
}

void sim_provider_unregister(struct etw_sim *sim, struct sim_registration *r)
{
    r->gone = true;
    while (r->busy && inside != r) {
        plat_cond_wait(&sim->changed, &sim->lock);
    }
    struct sim_registration **at = &r->of->registrations;
    while (*at != r) {
        at = &(*at)->next;
    }
    *at = r->next;
    if (r->simulated) {
        r->simulated->registration = NULL;
    }
    sim->registration_count--;
    sim->registrations[r->handle & ((UINT64_C(1) << HANDLE_SHIFT) - 1)] = NULL;
    r->detached = true;
    if (!r->busy) { /* else this is its own callback, and the code that called it frees it */
        free_registration(r);
    }
}
