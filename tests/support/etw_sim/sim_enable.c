/*
 * EnableTraceEx2. An enablement belongs to a GUID, whether a process has registered it or not; a
 * second ENABLE of that session replaces it, with its filters. A manifest provider serves eight
 * sessions, a classic one the last that enabled it (enabletraceex2).
 */
#include <stdlib.h>

#include "support/etw_sim/sim_remote.h"

struct sim_enable *sim_enable_find(const struct sim_guid *g, const struct sim_session *s)
{
    for (uint32_t i = 0; i < g->enable_count; i++) {
        if (g->enables[i]->session == s) {
            return g->enables[i];
        }
    }
    return NULL;
}

static void free_filters(struct sim_enable *e)
{
    for (uint32_t i = 0; i < e->filter_count; i++) {
        free((void *)(uintptr_t)e->filters[i].data);
    }
    e->filter_count = 0;
}

void sim_enable_drop(struct sim_guid *g, const struct sim_session *s)
{
    for (uint32_t i = 0; i < g->enable_count; i++) {
        struct sim_enable *e = g->enables[i];
        if (e->session == s) {
            free_filters(e);
            free(e);
            g->enable_count--;
            memmove(&g->enables[i], &g->enables[i + 1],
                (g->enable_count - i) * sizeof(struct sim_enable *));
            return;
        }
    }
}

static bool is_classic(const struct sim_guid *g)
{
    return g->registrations && g->registrations->kind == ETW_SIM_CLASSIC;
}

/* The enablement of ${s}, made if need be. */
static struct sim_enable *make(struct sim_guid *g, struct sim_session *s, uint32_t *ret_code)
{
    struct sim_enable *e = sim_enable_find(g, s);
    if (e) {
        return e;
    }
    if (is_classic(g)) {
        while (g->enable_count) {
            sim_enable_drop(g, g->enables[0]->session);
        }
    }
    *ret_code = ETW_ERROR_NO_SYSTEM_RESOURCES;
    if (g->enable_count == SIM_MAX_ENABLES) {
        return NULL;
    }
    *ret_code = ETW_ERROR_NOT_ENOUGH_MEMORY;
    e = calloc(1, sizeof(*e));
    if (e) {
        e->session = s;
        g->enables[g->enable_count++] = e;
    }
    return e;
}

/* Filters are copied during the call; of version 1, exactly one schematized. */
static bool copy_filters(struct sim_enable *e, const struct etw_enable_parameters *parameters)
{
    const struct etw_filter *list = (const struct etw_filter *)(uintptr_t)parameters->filters;
    uint32_t count = parameters->version >= 2 ? parameters->filter_count : list ? 1 : 0;
    free_filters(e);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *data = malloc(list[i].size ? list[i].size : 1);
        if (!data) {
            return false;
        }
        if (list[i].size) {
            memcpy(data, (const void *)(uintptr_t)list[i].data, list[i].size);
        }
        e->filters[i] = list[i];
        e->filters[i].data = (uint64_t)(uintptr_t)data;
        e->filter_count = i + 1;
    }
    return true;
}

static uint32_t enable(struct etw_sim *sim, struct sim_session *s, struct sim_guid *g,
    uint8_t level, uint64_t any, uint64_t all, const struct etw_enable_parameters *parameters)
{
    uint32_t code = parameters ? sim_filter_check(parameters) : 0;
    if (code) {
        return code;
    }
    if (g->enable_error) {
        return g->enable_error;
    }
    struct sim_enable *e = sim_enable_find(g, s);
    if (e && !g->registrations && !g->is_group && e->level != level) {
        return ETW_ERROR_INVALID_FUNCTION;
    }
    e = make(g, s, &code);
    if (!e) {
        return code;
    }
    e->level = level;
    e->any = any;
    e->all = all;
    e->property = parameters ? parameters->enable_property : 0;
    e->source_id = parameters ? parameters->source_id : (struct guid){{0}};
    e->was_read = e->enables ? e->was_read : s->users > 0;
    e->enables++;
    e->is_silent = false;
    g->is_group = g->is_group || e->property & ETW_ENABLE_PROVIDER_GROUP;
    if (!parameters) {
        free_filters(e);
    } else if (!copy_filters(e, parameters)) {
        return ETW_ERROR_NOT_ENOUGH_MEMORY;
    }
    sim_kernel_update_providers(s);
    sim_provider_tell(sim, g, SIM_TELL_CHANGE, e);
    return 0;
}

uint32_t sim_enable_capture(struct etw_sim *sim, struct sim_session *s, const struct guid *guid)
{
    struct sim_guid *g = sim_provider_guid(sim, guid);
    struct sim_enable *e = g ? sim_enable_find(g, s) : NULL;
    if (e) {
        e->captures++;
        sim_provider_tell(sim, g, SIM_TELL_CAPTURE, e);
    }
    return 0;
}

/* A group is a "controllable entity much like a provider" (provider-traits), and each call says
 * which of the two it means (enable_trace_parameters): without it a group stays as it is. */
static bool is_meant(const struct sim_guid *g, const struct sim_session *s,
    const struct etw_enable_parameters *parameters)
{
    const struct sim_enable *e = sim_enable_find(g, s);
    uint32_t property = parameters ? parameters->enable_property : 0;
    return e && !((e->property ^ property) & ETW_ENABLE_PROVIDER_GROUP);
}

static uint32_t disable(struct etw_sim *sim, struct sim_session *s, struct sim_guid *g,
    const struct etw_enable_parameters *parameters)
{
    if (is_meant(g, s, parameters)) {
        sim_enable_drop(g, s);
        sim_kernel_update_providers(s);
        sim_provider_tell(sim, g, SIM_TELL_CHANGE, NULL);
    }
    return 0;
}

uint32_t sim_enable_control(struct etw_sim *sim, uint64_t session, const struct guid *provider,
    uint32_t code, uint8_t level, uint64_t any, uint64_t all,
    const struct etw_enable_parameters *parameters)
{
    if (!provider || session == 0 || code > ETW_PROVIDER_CAPTURE_STATE) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    struct sim_session *s = sim_session_by_handle(sim, session);
    if (!s) {
        return ETW_ERROR_WMI_INSTANCE_NOT_FOUND;
    }
    if (s->control_error || sim->options.not_administrator) {
        return s->control_error ? s->control_error : ETW_ERROR_ACCESS_DENIED;
    }
    struct sim_guid *g = sim_provider_guid(sim, provider);
    if (!g) {
        return ETW_ERROR_NOT_ENOUGH_MEMORY;
    }
    switch (code) {
    case ETW_PROVIDER_ENABLE:
        code = enable(sim, s, g, level, any, all, parameters);
        if (!code && s->running) {
            sim_watch_provider(s, 14, provider);
        }
        return code;
    case ETW_PROVIDER_CAPTURE_STATE:
        if (guid_equal(provider, &sim_session_system_guid)) {
            sim_rundown_write(s, false);
        }
        return is_meant(g, s, parameters) ? sim_enable_capture(sim, s, provider) : 0;
    default:
        sim_watch_provider(s, 15, provider);
        return disable(sim, s, g, parameters);
    }
}

/* Windows waits for the callbacks of every registered process at once, up to ${timeout_ms}. */
static uint32_t wait_for_answers(
    struct etw_sim *sim, const struct guid *provider, uint32_t code, uint32_t timeout_ms)
{
    const struct sim_guid *g = code || !timeout_ms ? NULL : sim_provider_guid(sim, provider);
    if (!g || sim_provider_answers(sim, g)) {
        return code;
    }
    sim->waited_ms += timeout_ms;
    return ETW_ERROR_TIMEOUT;
}

/* The common code of the three forms. */
static uint32_t enable_trace(enum sim_call call, uint64_t session, const struct guid *provider,
    uint32_t control, uint8_t level, uint64_t any, uint64_t all, uint32_t timeout_ms,
    const struct etw_enable_parameters *parameters)
{
    struct etw_sim *remote = sim_remote_world();
    if (remote) {
        return sim_remote_enable(
            remote, session, provider, control, level, any, all, timeout_ms, parameters);
    }
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(call, &code);
    if (!sim) {
        return code;
    }
    code = sim_enable_control(sim, session, provider, control, level, any, all, parameters);
    return sim_world_leave(sim, wait_for_answers(sim, provider, code, timeout_ms));
}

uint64_t etw_sim_waited_ms(struct etw_sim *sim)
{
    plat_mutex_lock(&sim->lock);
    uint64_t waited_ms = sim->waited_ms;
    plat_mutex_unlock(&sim->lock);
    return waited_ms;
}

uint32_t etw_sim_EnableTraceEx2(uint64_t session, const struct guid *provider, uint32_t control,
    uint8_t level, uint64_t any, uint64_t all, uint32_t timeout_ms,
    struct etw_enable_parameters *parameters)
{
    /* Callbacks run before the call returns, whatever the timeout is. */
    return enable_trace(SIM_CALL_EnableTraceEx2, session, provider, control, level, any, all,
        timeout_ms, parameters);
}

uint32_t etw_sim_EnableTraceEx(const struct guid *provider, const struct guid *source_id,
    uint64_t session, uint32_t is_enabled, uint8_t level, uint64_t any, uint64_t all,
    uint32_t property, struct etw_filter *filter)
{
    struct etw_enable_parameters parameters = {
        .version = 1, .enable_property = property, .filters = (uint64_t)(uintptr_t)filter};
    if (source_id) {
        parameters.source_id = *source_id;
    }
    return enable_trace(SIM_CALL_EnableTraceEx, session, provider, is_enabled != 0, level, any, all,
        0, &parameters);
}

uint32_t etw_sim_EnableTrace(uint32_t is_enabled, uint32_t flags, uint32_t level,
    const struct guid *provider, uint64_t session)
{
    return enable_trace(SIM_CALL_EnableTrace, session, provider, is_enabled != 0, (uint8_t)level,
        flags, 0, 0, NULL);
}

static void copy_ids(const struct sim_enable *e, struct etw_sim_enablement *ret)
{
    for (uint32_t i = 0; i < e->filter_count; i++) {
        const struct etw_filter *filter = &e->filters[i];
        if (filter->type == ETW_FILTER_EVENT_ID) {
            memcpy(ret->ids, (const void *)(uintptr_t)filter->data,
                filter->size < sizeof(ret->ids) ? filter->size : sizeof(ret->ids));
        }
    }
}

bool etw_sim_enabled(struct etw_sim *sim, const char *name, const struct guid *provider,
    struct etw_sim_enablement *ret)
{
    etw_char name16[ETW_MAX_NAME_CHARS];
    sim_text_from_utf8(name, name16, ETW_MAX_NAME_CHARS);
    plat_mutex_lock(&sim->lock);
    const struct sim_session *s = sim_session_by_name(sim, name16);
    const struct sim_guid *g = sim_provider_guid(sim, provider);
    const struct sim_enable *e = s && g ? sim_enable_find(g, s) : NULL;
    if (e && ret) {
        *ret = (struct etw_sim_enablement){.level = e->level,
            .any = e->any,
            .all = e->all,
            .property = e->property,
            .filter_count = e->filter_count,
            .enables = e->enables,
            .captures = e->captures,
            .was_read = e->was_read};
        memcpy(ret->filters, e->filters, e->filter_count * sizeof(e->filters[0]));
        copy_ids(e, ret);
    }
    plat_mutex_unlock(&sim->lock);
    return e != NULL;
}
