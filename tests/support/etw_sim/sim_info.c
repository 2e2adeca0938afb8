/* TraceSetInformation, TraceQueryInformation, EnumerateTraceGuids(Ex) (evntrace.h). */
#include <stdlib.h>

#include "support/etl_put.h"
#include "support/etw_sim/sim_remote.h"

enum { ANSWER_MAX = 4 << 20, ERROR_NOT_ENOUGH_ROOM = ETW_ERROR_INSUFFICIENT_BUFFER };

/* The classes that need a system session. */
static bool is_kernel_class(uint32_t info_class)
{
    return info_class == ETW_INFO_STACK_TRACING || info_class == ETW_INFO_SYSTEM_ENABLE_FLAGS ||
           info_class == ETW_INFO_PMC_EVENT_LIST || info_class == ETW_INFO_PMC_COUNTER_LIST;
}

static uint32_t set_captures(struct sim_session *s, struct span data)
{
    struct etw_periodic_capture head;
    if (data.size < sizeof(head)) {
        return ETW_ERROR_BAD_LENGTH;
    }
    memcpy(&head, data.data, sizeof(head));
    if (data.size < sizeof(head) + head.provider_count * sizeof(struct guid)) {
        return ETW_ERROR_BAD_LENGTH;
    }
    if (head.provider_count > SIM_MAX_CAPTURES) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    memcpy(s->captures, data.data + sizeof(head), head.provider_count * sizeof(struct guid));
    s->capture_count = head.seconds ? head.provider_count : 0;
    s->capture_s = head.seconds;
    s->capture_due = s->capture_count ? sim_clock_ticks(s->sim) + sim_clock_ticks_of_ms(s->sim,
                                                                      head.seconds * UINT64_C(1000))
                                      : 0;
    return 0;
}

static uint32_t set_session(struct sim_session *s, uint32_t info_class, struct span data)
{
    if (is_kernel_class(info_class) && !s->system) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    size_t ids = data.size / sizeof(struct etw_classic_event_id);
    switch (info_class) {
    case ETW_INFO_STACK_TRACING:
        if (data.size % sizeof(struct etw_classic_event_id)) {
            return ETW_ERROR_BAD_LENGTH;
        }
        if (ids > SIM_MAX_STACK_IDS) {
            return ETW_ERROR_INVALID_PARAMETER;
        }
        if (data.size) {
            memcpy(s->stacks, data.data, data.size);
        }
        s->stack_count = (uint32_t)ids;
        return 0;
    case ETW_INFO_SYSTEM_ENABLE_FLAGS:
        if (data.size != sizeof(s->mask)) {
            return ETW_ERROR_BAD_LENGTH;
        }
        memcpy(s->mask, data.data, sizeof(s->mask));
        return 0;
    case ETW_INFO_SET_DISALLOW_LIST:
        if (data.size % sizeof(struct guid) || data.size > sizeof(s->disallowed)) {
            return ETW_ERROR_INVALID_PARAMETER;
        }
        if (data.size) {
            memcpy(s->disallowed, data.data, data.size);
        }
        s->disallowed_count = (uint32_t)(data.size / sizeof(struct guid));
        return 0;
    case ETW_INFO_PERIODIC_CAPTURE_STATE_LIST:
        return set_captures(s, data);
    case ETW_INFO_PROVIDER_BINARY_TRACKING:
        if (data.size != 1) {
            return ETW_ERROR_BAD_LENGTH;
        }
        s->binary_tracking = data.data[0] != 0;
        return 0;
    case ETW_INFO_PMC_EVENT_LIST:
    case ETW_INFO_PMC_COUNTER_LIST:
        return 0;
    default:
        return ETW_ERROR_NOT_SUPPORTED;
    }
}

/* The sources of samples: the timer, and counters of the processor. */
static const struct {
    uint32_t source;
    const char *name;
    uint32_t least;
    uint32_t most;
} profile_sources[SIM_PROFILE_SOURCES] = {{0, "Timer", 1221, 1000000},
    {2, "TotalIssues", 4096, 2147483647}, {11, "CacheMisses", 4096, 2147483647},
    {19, "TotalCycles", 4096, 2147483647}};

/* SIM_PROFILE_SOURCES: no source has this number. */
static size_t find_source(uint32_t source)
{
    size_t i = 0;
    while (i < SIM_PROFILE_SOURCES && profile_sources[i].source != source) {
        i++;
    }
    return i;
}

static uint32_t set_config(struct etw_sim *sim, struct span data)
{
    if (data.size % 4 || data.size > sizeof(sim->profile_config)) {
        return ETW_ERROR_BAD_LENGTH;
    }
    for (size_t at = 0; at < data.size; at += 4) {
        if (find_source(load_le32(data.data + at)) == SIM_PROFILE_SOURCES) {
            return ETW_ERROR_INVALID_PARAMETER;
        }
        sim->profile_config[at / 4] = load_le32(data.data + at);
    }
    sim->profile_config_count = (uint32_t)(data.size / 4);
    return 0;
}

/* Intervals and sources are the machine's: without a session, with a privilege. */
static uint32_t set_machine(struct etw_sim *sim, uint32_t info_class, struct span data)
{
    struct etw_profile_interval interval;
    if (sim->options.no_profile_privilege) {
        return ETW_ERROR_PRIVILEGE_NOT_HELD;
    }
    if (info_class == ETW_INFO_PROFILE_SOURCE_CONFIG) {
        return set_config(sim, data);
    }
    if (data.size != sizeof(interval)) {
        return ETW_ERROR_BAD_LENGTH;
    }
    memcpy(&interval, data.data, sizeof(interval));
    size_t i = find_source(interval.source);
    if (i == SIM_PROFILE_SOURCES) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    uint32_t least = profile_sources[i].least;
    sim->profile_intervals[i] = interval.interval_100ns < least ? least : interval.interval_100ns;
    return 0;
}

uint32_t etw_sim_TraceSetInformation(
    uint64_t session, uint32_t info_class, void *data, uint32_t bytes)
{
    struct etw_sim *remote = sim_remote_world();
    if (remote) {
        return sim_remote_set(remote, session, info_class, data, bytes);
    }
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_TraceSetInformation, &code);
    if (!sim) {
        return code;
    }
    struct span input = span_make(data, bytes);
    if (!data && bytes) {
        return sim_world_leave(sim, ETW_ERROR_INVALID_PARAMETER);
    }
    if (info_class == ETW_INFO_SAMPLED_PROFILE_INTERVAL ||
        info_class == ETW_INFO_PROFILE_SOURCE_CONFIG) {
        return sim_world_leave(sim, set_machine(sim, info_class, input));
    }
    struct sim_session *s = session ? sim_session_by_handle(sim, session) : NULL;
    if (!s) {
        return sim_world_leave(
            sim, session ? ETW_ERROR_WMI_INSTANCE_NOT_FOUND : ETW_ERROR_INVALID_PARAMETER);
    }
    if (s->control_error || sim->options.not_administrator) {
        code = s->control_error ? s->control_error : ETW_ERROR_ACCESS_DENIED;
        return sim_world_leave(sim, code);
    }
    return sim_world_leave(sim, set_session(s, info_class, input));
}

/* ---- queries --------------------------------------------------------------------------------- */

/* PROFILE_SOURCE_INFO: u32 NextEntryOffset, Source, MinInterval, MaxInterval, u64, description. */
static void put_sources(struct buf *out)
{
    for (size_t i = 0; i < SIM_PROFILE_SOURCES; i++) {
        size_t start = out->size;
        etl_put_u32(out, 0);
        etl_put_u32(out, profile_sources[i].source);
        etl_put_u32(out, profile_sources[i].least);
        etl_put_u32(out, profile_sources[i].most);
        etl_put_u64(out, 0);
        etl_put_utf16z(out, profile_sources[i].name);
        etl_put_zeros(out, -(out->size - start) & 7);
        if (i + 1 < SIM_PROFILE_SOURCES && !out->failed) {
            store_le32(out->data + start, (uint32_t)(out->size - start));
        }
    }
}

static uint32_t query_session(const struct sim_session *s, uint32_t info_class, struct buf *out)
{
    if (!s) {
        return ETW_ERROR_WMI_INSTANCE_NOT_FOUND;
    }
    if (is_kernel_class(info_class) && !s->system) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    switch (info_class) {
    case ETW_INFO_STACK_TRACING:
        buf_add(out, s->stacks, s->stack_count * sizeof(s->stacks[0]));
        return 0;
    case ETW_INFO_SYSTEM_ENABLE_FLAGS:
        for (size_t i = 0; i < 8; i++) {
            etl_put_u32(out, s->mask[i] | s->provider_mask[i]);
        }
        return 0;
    case ETW_INFO_DISALLOW_LIST_QUERY:
        buf_add(out, s->disallowed, s->disallowed_count * sizeof(s->disallowed[0]));
        return 0;
    case ETW_INFO_PERIODIC_CAPTURE_STATE:
        etl_put_u32(out, s->capture_s);
        etl_put_u16(out, s->capture_count);
        etl_put_u16(out, 0);
        buf_add(out, s->captures, s->capture_count * sizeof(s->captures[0]));
        return 0;
    case ETW_INFO_PROVIDER_BINARY_TRACKING:
        etl_put_u8(out, s->binary_tracking);
        return 0;
    case ETW_INFO_STREAM_COUNT:
        etl_put_u32(out, s->streams);
        return 0;
    default:
        return ETW_ERROR_NOT_SUPPORTED;
    }
}

/* Of the source that the caller's block names (trace_query_info_class). */
static uint32_t put_interval(const struct etw_sim *sim, struct span asked, struct buf *out)
{
    if (asked.size < sizeof(struct etw_profile_interval) || !asked.data) {
        return ETW_ERROR_BAD_LENGTH;
    }
    size_t i = find_source(load_le32(asked.data));
    if (i == SIM_PROFILE_SOURCES) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    etl_put_u32(out, profile_sources[i].source);
    etl_put_u32(out, sim->profile_intervals[i]);
    return 0;
}

/* ${asked} is what the caller's block holds: some classes read it. */
static uint32_t query(
    struct etw_sim *sim, uint64_t session, uint32_t info_class, struct span asked, struct buf *out)
{
    switch (info_class) {
    case ETW_INFO_SAMPLED_PROFILE_INTERVAL:
        return put_interval(sim, asked, out);
    case ETW_INFO_PROFILE_SOURCE_CONFIG:
        for (uint32_t i = 0; i < sim->profile_config_count; i++) {
            etl_put_u32(out, sim->profile_config[i]);
        }
        return 0;
    case ETW_INFO_PROFILE_SOURCE_LIST:
        put_sources(out);
        return 0;
    case ETW_INFO_VERSION:
        etl_put_u32(out, 16);
        etl_put_u32(out, 0);
        return 0;
    case ETW_INFO_MAX_LOGGERS:
        etl_put_u32(out, sim->options.max_sessions);
        return 0;
    case ETW_INFO_MAX_PMC_COUNTERS:
        etl_put_u32(out, SIM_PROFILE_SOURCES);
        return 0;
    default: /* the other classes belong to sessions */
        return session ? query_session(sim_session_by_handle(sim, session), info_class, out)
                       : ETW_ERROR_INVALID_PARAMETER;
    }
}

/* Copy the collected bytes to the caller, or only the size if they do not fit. */
static uint32_t answer(
    struct buf *from, uint32_t code, void *to, uint32_t bytes, uint32_t *ret_bytes)
{
    if (!code && from->failed) {
        code = ETW_ERROR_NOT_ENOUGH_MEMORY;
    }
    if (!code) {
        if (ret_bytes) {
            *ret_bytes = (uint32_t)from->size;
        }
        if (from->size > bytes || (from->size && !to)) {
            code = ERROR_NOT_ENOUGH_ROOM;
        } else if (from->size) {
            memcpy(to, from->data, from->size);
        }
    }
    buf_fini(from);
    return code;
}

uint32_t etw_sim_TraceQueryInformation(
    uint64_t session, uint32_t info_class, void *data, uint32_t bytes, uint32_t *ret_bytes)
{
    struct etw_sim *remote = sim_remote_world();
    if (remote) {
        return sim_remote_query(remote, session, info_class, data, bytes, ret_bytes);
    }
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_TraceQueryInformation, &code);
    if (!sim) {
        return code;
    }
    struct buf out;
    buf_init(&out, ANSWER_MAX);
    code = query(sim, session, info_class, span_make(data, data ? bytes : 0), &out);
    code = answer(&out, code, data, bytes, ret_bytes);
    if (code == ERROR_NOT_ENOUGH_ROOM) {
        code = ETW_ERROR_BAD_LENGTH;
    }
    return sim_world_leave(sim, code);
}

/* ---- EnumerateTraceGuidsEx ------------------------------------------------------------------- */

static void put_guids(const struct etw_sim *sim, uint32_t info_class, uint32_t pid, struct buf *out)
{
    for (const struct sim_guid *g = sim->guid_list; g; g = g->next) {
        bool wanted = info_class == ETW_INFO_GROUP_QUERY_LIST ? g->is_group
                                                              : g->registrations != NULL;
        if (wanted && info_class == ETW_INFO_GUID_QUERY_PROCESS) {
            wanted = false;
            for (const struct sim_registration *r = g->registrations; r; r = r->next) {
                wanted = wanted || r->pid == pid;
            }
        }
        if (wanted) {
            etl_put_guid(out, &g->guid);
        }
    }
}

static void put_enable(const struct sim_enable *e, struct buf *out)
{
    const struct etw_enable_info info = {.is_enabled = 1,
        .level = e->level,
        .logger_id = e->session->id,
        .enable_property = e->property,
        .match_any_keyword = e->any,
        .match_all_keyword = e->all};
    buf_add(out, &info, sizeof(info));
}

/* TRACE_GUID_INFO, then one instance per process; a provider that is only enabled has one without
 * a process. */
static void put_info(const struct sim_guid *g, struct buf *out)
{
    enum { FLAG_LEGACY = 1, FLAG_PRE_ENABLE = 2 };
    uint32_t instances = 0;
    for (const struct sim_registration *r = g->registrations; r; r = r->next) {
        instances++;
    }
    bool only_enabled = instances == 0;
    etl_put_u32(out, only_enabled ? 1 : instances);
    etl_put_u32(out, 0);
    const struct sim_registration *r = g->registrations;
    do {
        struct etw_instance_info info = {
            .enable_count = g->enable_count, .pid = r && !r->kernel_mode ? r->pid : 0};
        info.flags = (r && r->kind == ETW_SIM_CLASSIC ? FLAG_LEGACY : 0) |
                     (only_enabled || r->pre_enabled ? FLAG_PRE_ENABLE : 0);
        if (r && r->next) {
            info.next_offset = (uint32_t)(sizeof(info) +
                                          g->enable_count * sizeof(struct etw_enable_info));
        }
        buf_add(out, &info, sizeof(info));
        for (uint32_t i = 0; i < g->enable_count; i++) {
            put_enable(g->enables[i], out);
        }
        r = r ? r->next : NULL;
    } while (r);
}

static uint32_t enumerate(
    struct etw_sim *sim, uint32_t info_class, const void *in, uint32_t in_bytes, struct buf *out)
{
    uint32_t pid = 0;
    struct guid guid;
    switch (info_class) {
    case ETW_INFO_GUID_QUERY_LIST:
    case ETW_INFO_GROUP_QUERY_LIST:
        put_guids(sim, info_class, 0, out);
        return 0;
    case ETW_INFO_GUID_QUERY_PROCESS:
        if (!in || in_bytes != sizeof(pid)) {
            return ETW_ERROR_INVALID_PARAMETER;
        }
        memcpy(&pid, in, sizeof(pid));
        put_guids(sim, info_class, pid, out);
        return 0;
    case ETW_INFO_GUID_QUERY_INFO:
    case ETW_INFO_GROUP_QUERY_INFO:
        if (!in || in_bytes != sizeof(guid)) {
            return ETW_ERROR_INVALID_PARAMETER;
        }
        memcpy(&guid, in, sizeof(guid));
        break;
    case ETW_INFO_MAX_LOGGERS:
        etl_put_u32(out, sim->options.max_sessions);
        return 0;
    default:
        return ETW_ERROR_INVALID_PARAMETER;
    }
    const struct sim_guid *g = map_get(&sim->guids, span_make(guid.bytes, sizeof(guid.bytes)));
    if (!g || (!g->registrations && g->enable_count == 0)) {
        return ETW_ERROR_WMI_GUID_NOT_FOUND;
    }
    put_info(g, out);
    return 0;
}

uint32_t etw_sim_EnumerateTraceGuidsEx(uint32_t info_class, void *in, uint32_t in_bytes, void *out,
    uint32_t out_bytes, uint32_t *ret_bytes)
{
    struct etw_sim *remote = sim_remote_world();
    if (remote) {
        return sim_remote_enumerate(remote, info_class, in, in_bytes, out, out_bytes, ret_bytes);
    }
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_EnumerateTraceGuidsEx, &code);
    if (!sim) {
        return code;
    }
    struct buf answered;
    buf_init(&answered, ANSWER_MAX);
    code = enumerate(sim, info_class, in, in_bytes, &answered);
    code = answer(&answered, code, out, out_bytes, ret_bytes);
    return sim_world_leave(sim, code);
}

uint32_t etw_sim_EnumerateTraceGuids(
    struct etw_guid_properties **list, uint32_t capacity, uint32_t *ret_count)
{
    if (sim_remote_world()) {
        return ETW_ERROR_NOT_SUPPORTED;
    }
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_EnumerateTraceGuids, &code);
    if (!sim) {
        return code;
    }
    if (!list || !ret_count || capacity == 0) {
        return sim_world_leave(sim, ETW_ERROR_INVALID_PARAMETER);
    }
    uint32_t count = 0;
    for (const struct sim_guid *g = sim->guid_list; g; g = g->next) {
        if (!g->registrations) {
            continue;
        }
        if (count < capacity && list[count]) {
            const struct sim_enable *e = g->enable_count ? g->enables[0] : NULL;
            *list[count] = (struct etw_guid_properties){.guid = g->guid,
                .guid_type = g->registrations->kind == ETW_SIM_CLASSIC,
                .logger_id = e ? e->session->id : 0,
                .enable_level = e ? e->level : 0,
                .enable_flags = e ? (uint32_t)e->any : 0,
                .is_enabled = e != NULL};
        }
        count++;
    }
    *ret_count = count;
    return sim_world_leave(sim, count > capacity ? ETW_ERROR_MORE_DATA : 0);
}
