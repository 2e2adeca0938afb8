#include "input/windows/etw_plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "config/config_path.h"
#include "config/config_value.h"
#include "etw/etw_hold.h"
#include "etw/session/etw_heap.h"
#include "event/model/kernel_groups.h"
#include "event/model/trace_clock.h"
#include "input/live/kernel_flags.h"
#include "input/windows/etw_narrow.h"
#include "platform/plat_child.h"
#include "platform/plat_clock.h"

/*
 * Everything except the names of file and session is numeric, so the plan is one pass over the
 * settings. Values given as 0 get their defaults here.
 */
enum {
    MAX_PLAN_BYTES = 64 * 1024 * 1024,
    MAX_FINGERPRINT_BYTES = 1024 * 1024,
    KB = 1024,
    HOOK_IMAGE_LOAD = 0x030a,
};

static const uint64_t mb = 1024 * 1024;

/* ---- requests for one entry of `providers` --------------------------------------------------- */

/* Set ${ids} to the ids of ${from} without those of ${except}; false: more than ETW accepts. */
static bool put_ids(const struct provider_events *from, const struct provider_events *except,
    struct etw_filter_ids *ids)
{
    for (size_t i = 0; i < from->range_count; i++) {
        for (uint32_t id = from->ranges[i].first; id <= from->ranges[i].last; id++) {
            bool left_out = false;
            for (size_t k = 0; except && k < except->range_count && !left_out; k++) {
                left_out = id >= except->ranges[k].first && id <= except->ranges[k].last;
            }
            for (size_t k = 0; k < ids->count && !left_out; k++) {
                left_out = ids->ids[k] == id;
            }
            if (left_out) {
                continue;
            }
            if (ids->count == ETW_MAX_FILTER_IDS) {
                return false;
            }
            ids->ids[ids->count++] = (uint16_t)id;
        }
    }
    return true;
}

static bool put_texts(const char *const *items, size_t count, struct etw_filter_texts *texts)
{
    if (count > ETW_MAX_FILTER_TEXTS) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        texts->texts[texts->count++] = items[i];
    }
    return true;
}

static bool has_events(const struct provider_events *events)
{
    return events->range_count + events->name_count > 0;
}

/* Include and exclude become one filter: ids that are included and not excluded. */
static uint32_t put_events(const struct provider_spec *spec, struct etw_request *request)
{
    const struct provider_events *in = &spec->include;
    const struct provider_events *out = &spec->exclude;
    const struct provider_events *from = has_events(in) ? in : out;
    uint32_t kind_ids = ETW_FILTER_KIND(ETW_FILTER_EVENT_ID);
    uint32_t kind_names = ETW_FILTER_KIND(ETW_FILTER_EVENT_NAME);
    if (!has_events(from)) {
        return 0;
    }
    if (spec->group || (in->range_count + out->range_count && in->name_count + out->name_count)) {
        return (from->range_count ? kind_ids : 0) | (from->name_count ? kind_names : 0);
    }
    request->events.exclude = from == out;
    request->names.exclude = from == out;
    if (!put_ids(from, from == in ? out : NULL, &request->events)) {
        request->events.count = 0;
        return kind_ids;
    }
    if (from->range_count && request->events.count == 0) {
        return kind_ids; /* nothing is left: an empty filter would let everything through */
    }
    if ((from == in && out->name_count) ||
        !put_texts(from->names, from->name_count, &request->names)) {
        request->names.count = 0;
        return kind_names;
    }
    return 0;
}

static uint32_t put_stacks(const struct provider_stacks *stacks, struct etw_request *request)
{
    uint32_t kinds = 0;
    if (!put_ids(&stacks->events, NULL, &request->stack_events)) {
        request->stack_events.count = 0;
        kinds |= ETW_FILTER_KIND(ETW_FILTER_STACKWALK);
    }
    if (!put_texts(stacks->events.names, stacks->events.name_count, &request->stack_names)) {
        kinds |= ETW_FILTER_KIND(ETW_FILTER_STACKWALK_NAME);
    }
    request->stack_by_level = stacks->by_level;
    request->stack_level = stacks->level;
    request->stack_any = stacks->any;
    request->stack_all = stacks->all;
    return kinds;
}

static uint32_t properties_of(const struct provider_spec *spec)
{
    static const uint32_t extended[] = {
        [PROVIDER_EXTENDED_SID] = ETW_ENABLE_SID,
        [PROVIDER_EXTENDED_SESSION_ID] = ETW_ENABLE_TS_ID,
        [PROVIDER_EXTENDED_STACK] = ETW_ENABLE_STACK_TRACE,
        [PROVIDER_EXTENDED_PSM_KEY] = ETW_ENABLE_PSM_KEY,
        [PROVIDER_EXTENDED_EVENT_KEY] = ETW_ENABLE_EVENT_KEY,
        [PROVIDER_EXTENDED_START_KEY] = ETW_ENABLE_PROCESS_START_KEY,
        [PROVIDER_EXTENDED_CONTAINER_ID] = ETW_ENABLE_CONTAINER_TRACKING,
    };
    uint32_t properties = 0;
    for (size_t i = 0; i < sizeof(extended) / sizeof(extended[0]); i++) {
        properties |= spec->extended >> i & 1 ? extended[i] : 0;
    }
    properties |= spec->group ? ETW_ENABLE_PROVIDER_GROUP : 0;
    properties |= spec->only_keywords ? ETW_ENABLE_IGNORE_KEYWORD_0 : 0;
    properties |= spec->exclude_private ? ETW_ENABLE_EXCLUDE_INPRIVATE : 0;
    properties |= spec->containers ? ETW_ENABLE_SILOS : 0;
    return properties;
}

void etw_plan_request(
    const struct provider_spec *spec, struct etw_request *ret_request, uint32_t *ret_too_much)
{
    struct etw_request *request = ret_request;
    request->provider = guid_is_zero(&spec->guid) && spec->name.size ? guid_from_name(spec->name)
                                                                     : spec->guid;
    request->level = spec->level;
    request->any = spec->any.bits;
    request->all = spec->all.bits;
    request->named = spec->any.named;
    request->properties = properties_of(spec);
    for (size_t i = 0; i < spec->pid_count; i++) {
        request->pids[request->pid_count++] = spec->pids[i];
    }
    uint32_t too_much = put_events(spec, request) | put_stacks(&spec->stacks, request);
    if (!put_texts(spec->executables.items, spec->executables.count, &request->executables)) {
        too_much |= ETW_FILTER_KIND(ETW_FILTER_EXECUTABLE_NAME);
    }
    if (!put_texts(spec->packages.items, spec->packages.count, &request->packages)) {
        too_much |= ETW_FILTER_KIND(ETW_FILTER_PACKAGE_ID);
    }
    if (!put_texts(spec->apps.items, spec->apps.count, &request->apps)) {
        too_much |= ETW_FILTER_KIND(ETW_FILTER_PACKAGE_APP_ID);
    }
    put_texts(&spec->container, spec->container != NULL, &request->container);
    for (uint32_t kinds = etw_enable_kinds(request); kinds; kinds &= kinds - 1) {
        uint32_t kind = kinds & (~kinds + 1);
        if (!etw_enable_fits(request, kind, NULL)) {
            too_much |= kind;
        }
    }
    etw_enable_drop(request, too_much);
    if (spec->scope) {
        etw_narrow(request, spec, &too_much);
    }
    *ret_too_much = too_much;
}

const struct etw_system_provider *etw_plan_system_provider(
    const struct provider_spec *spec, bool short_names)
{
    if (spec->name.size == 0) {
        return etw_kernel_provider_of(&spec->guid);
    }
    const struct etw_system_provider *provider = etw_kernel_find_provider(spec->name);
    bool is_full = provider && span_equal_nocase(spec->name, span_text(provider->name));
    return is_full || short_names ? provider : NULL;
}

static const char *label_of(struct arena *memory, const struct provider_spec *spec)
{
    char guid[GUID_TEXT_SIZE];
    guid_write(&spec->guid, guid);
    struct span text = spec->name.size ? spec->name : span_make(guid, sizeof(guid));
    char *label = arena_alloc(memory, text.size + 1);
    if (label) {
        memcpy(label, text.data, text.size);
        label[text.size] = 0;
    }
    return label;
}

static bool plan_entries(struct etw_plan *plan, const struct input_env *env, struct error *err)
{
    plan->entries = arena_alloc_array(
        &plan->memory, env->provider_count + 1, sizeof(*plan->entries));
    for (size_t i = 0; plan->entries && i < env->provider_count; i++) {
        struct etw_plan_entry *entry = &plan->entries[i];
        const struct provider_spec *spec = &env->providers[i];
        *entry = (struct etw_plan_entry){.spec = spec, .label = label_of(&plan->memory, spec)};
        entry->named = spec->name.size && guid_is_zero(&spec->guid);
        if (!entry->label) {
            break;
        }
        etw_plan_request(spec, &entry->request, &entry->too_much);
        entry->nothing = spec->scope && spec->scope->nothing;
        const struct etw_system_provider *system = etw_plan_system_provider(
            spec, plan->kind == ETW_PLAN_SYSTEM);
        if (system) {
            entry->request.provider = system->guid;
            entry->named = false;
        }
        plan->entry_count++;
    }
    return plan->entry_count == env->provider_count ||
           error_set(err, ERR_MEMORY, "out of memory for providers");
}

/* ---- kernel events --------------------------------------------------------------------------- */

static bool find_event(const struct input_env *env, const char *text,
    struct etw_stack_event *ret_event, struct error *err)
{
    struct span name = span_text(text);
    int64_t hook;
    if (name.size && name.data[0] >= '0' && name.data[0] <= '9') {
        const struct guid *class_guid = config_value_int(name, &hook, NULL) && hook <= UINT16_MAX
                                            ? kernel_group_class((uint16_t)hook)
                                            : NULL;
        if (!class_guid) {
            return error_set(
                err, ERR_CONFIG, "no kernel event has the hook %.40s. write Class/Name", text);
        }
        *ret_event = (struct etw_stack_event){*class_guid, (uint8_t)hook};
        return true;
    }
    if (!env->kernel_event || !env->kernel_event(name, &ret_event->class_guid, &ret_event->type)) {
        return error_set(err, ERR_CONFIG,
            "unknown kernel event %.100s. write Class/Name as in events, or the number "
            "of its hook",
            text);
    }
    return true;
}

static bool find_events(struct etw_plan *plan, const struct input_env *env,
    const struct config_strings *texts, struct etw_stack_event **ret_events, size_t *ret_count,
    struct error *err)
{
    struct etw_stack_event *events = arena_alloc_array(
        &plan->memory, texts->count + 1, sizeof(*events));
    if (!events) {
        return error_set(err, ERR_MEMORY, "out of memory for stacks");
    }
    for (size_t i = 0; i < texts->count; i++) {
        if (!find_event(env, texts->items[i], &events[i], err)) {
            return false;
        }
    }
    *ret_events = events;
    *ret_count = texts->count;
    return true;
}

/* EVENT_TRACE_FLAG_PROFILE of word 0 (evntrace.h), PERF_PMC_PROFILE of word 1 (ntwmi.h). */
static const uint32_t profile_flag = 0x01000000;
static const uint32_t pmc_profile_flag = 0x00000400;

static bool plan_groups(struct etw_plan *plan, const struct live_groups *groups,
    const struct input_env *env, struct error *err)
{
    for (size_t i = 0; i < groups->flags.count; i++) {
        uint32_t mask;
        if (!kernel_flags_find(span_text(groups->flags.items[i]), &mask)) {
            return error_set(err, ERR_CONFIG, "flags: unknown group '%.60s' of kernel events",
                groups->flags.items[i]);
        }
        if (!etw_kernel_add(&plan->groups, mask, err)) {
            return false;
        }
    }
    plan->profiles = plan->groups.words[0] & profile_flag ||
                     plan->groups.words[1] & pmc_profile_flag || groups->profile_ns > 0 ||
                     groups->counters.events.count > 0;
    plan->profile_100ns = (uint32_t)(groups->profile_ns / 100);
    plan->counters = &groups->counters.sources;
    return find_events(plan, env, &groups->stacks, &plan->stacks, &plan->stack_count, err) &&
           find_events(plan, env, &groups->counters.events, &plan->counter_events,
               &plan->counter_event_count, err);
}

/* ---- the session ----------------------------------------------------------------------------- */

static void plan_session(struct etw_plan *plan, const struct live_session *s)
{
    struct etw_session_spec *session = &plan->session;
    uint64_t min = (uint64_t)s->buffers.min;
    uint64_t max = (uint64_t)s->buffers.max;
    session->clock = s->clock == LIVE_CLOCK_SYSTEM ? TRACE_CLOCK_SYSTEM_TIME : TRACE_CLOCK_QPC;
    session->buffer_kb = (uint32_t)(s->buffers.size_bytes / KB);
    session->min_buffers = (uint32_t)min;
    session->max_buffers = (uint32_t)(max ? max : 2 * min);
    session->flush_ms = (uint32_t)(s->flush_ns / NS_PER_MS);
    session->mode |= plan->reads ? ETW_MODE_REAL_TIME : 0;
    session->mode |= s->independent ? ETW_MODE_INDEPENDENT_SESSION : 0;
    session->mode |= s->hybrid == LIVE_HYBRID_STOP ? ETW_MODE_STOP_ON_HYBRID_SHUTDOWN
                                                   : ETW_MODE_PERSIST_ON_HYBRID_SHUTDOWN;
    session->mode |= s->buffers.paged ? ETW_MODE_USE_PAGED_MEMORY : 0;
    session->mode |= s->sequence == LIVE_SEQUENCE_GLOBAL  ? ETW_MODE_USE_GLOBAL_SEQUENCE
                     : s->sequence == LIVE_SEQUENCE_LOCAL ? ETW_MODE_USE_LOCAL_SEQUENCE
                                                          : 0;
    plan->raw = s->delivery == LIVE_DELIVERY_RAW;
    plan->keeps = s->keep_on_restart;
    plan->boot = s->boot;
    plan->on_existing = s->on_existing;
    plan->guard = s->guard;
}

/* Logging Mode Constants, EVENT_TRACE_PROPERTIES.MaximumFileSize. */
static void plan_file(struct etw_plan *plan, const struct live_log_file *file)
{
    static const uint32_t modes[] = {
        [LIVE_LOG_SEQUENTIAL] = ETW_MODE_SEQUENTIAL,
        [LIVE_LOG_CIRCULAR] = ETW_MODE_CIRCULAR,
        [LIVE_LOG_APPEND] = ETW_MODE_APPEND,
        [LIVE_LOG_NEWFILE] = ETW_MODE_NEWFILE,
        [LIVE_LOG_BUFFERING] = ETW_MODE_BUFFERING,
    };
    struct etw_session_spec *session = &plan->session;
    uint64_t size = file->max_size_bytes;
    session->file = file->path;
    session->mode |= modes[file->mode] | (file->preallocate ? ETW_MODE_PREALLOCATE : 0);
    if (file->mode == LIVE_LOG_BUFFERING) { /* its buffers, `min` of them, are the ring */
        uint64_t buffers = size / KB / session->buffer_kb;
        session->min_buffers = buffers < 2            ? 2
                               : buffers > UINT32_MAX ? UINT32_MAX
                                                      : (uint32_t)buffers;
        session->max_buffers = session->min_buffers;
        plan->snapshot = true;
    } else if (size % mb == 0 && size / mb <= UINT32_MAX) {
        session->max_file_size = (uint32_t)(size / mb);
    } else {
        session->mode |= ETW_MODE_USE_KBYTES_FOR_SIZE;
        session->max_file_size = (uint32_t)((size + KB - 1) / KB);
    }
}

static bool own_name(struct etw_plan *plan, const struct input_env *env, struct error *err)
{
    enum { MAX_NAME = 512 };
    struct buf name;
    struct span copy;
    buf_init(&name, MAX_NAME);
    buf_printf(&name, "%s%s%c", ETW_OUR_PREFIX, env->name ? env->name : "", 0);
    bool good = !name.failed && arena_copy(&plan->memory, buf_span(&name), &copy);
    if (good) {
        plan->name = (const char *)copy.data;
        plan->ours = true;
        plan->session.name = plan->name;
        plan->session.guid = guid_from_name(span_text(plan->name));
    }
    buf_fini(&name);
    return good || error_set(err, ERR_LIMIT, "the name of the session is too long");
}

static bool plan_kernel(struct etw_plan *plan, const struct live_kernel *s,
    const struct input_env *env, struct error *err)
{
    bool is_logger = plan->kind == ETW_PLAN_KERNEL;
    plan->reads = true;
    plan->is_system = true;
    plan->in_use = s->in_use;
    plan_session(plan, &s->session);
    if (is_logger) {
        plan->name = ETW_KERNEL_LOGGER;
        plan->session.name = plan->name;
        plan->session.guid = etw_kernel_guid;
    } else if (!own_name(plan, env, err)) {
        return false;
    } else {
        plan->session.mode |= ETW_MODE_SYSTEM_LOGGER;
    }
    return plan_groups(plan, &s->groups, env, err);
}

static bool plan_record(struct etw_plan *plan, const struct live_record *s,
    const struct input_env *env, struct error *err)
{
    plan->reads = s->live;
    plan->is_system = s->groups.flags.count > 0;
    for (size_t i = 0; i < env->provider_count; i++) {
        plan->is_system |= etw_plan_system_provider(&env->providers[i], false) != NULL;
    }
    plan_session(plan, &s->session);
    plan_file(plan, &s->log_file);
    plan->session.mode |= plan->is_system ? ETW_MODE_SYSTEM_LOGGER : 0;
    return own_name(plan, env, err) && plan_groups(plan, &s->groups, env, err);
}

/* A copy with NUL; NULL if memory is short. */
static const char *copy_text(struct etw_plan *plan, struct span text)
{
    struct span copy;
    return arena_copy(&plan->memory, text, &copy) ? (const char *)copy.data : NULL;
}

static bool plan_launch(struct etw_plan *plan, const struct live_heap *s, struct error *err)
{
    struct etw_plan_heap *heap = &plan->heap;
    struct span program = plat_child_program(s->launch);
    struct span folder = config_path_folder(program);
    heap->launch = s->launch;
    heap->ends_program = s->on_stop == LIVE_ON_STOP_END;
    heap->image = copy_text(plan, span_from(program, folder.size));
    heap->folder = s->folder ? s->folder : copy_text(plan, folder);
    return (heap->image && heap->folder) ||
           error_set(err, ERR_MEMORY, "out of memory for a session");
}

static bool plan_heap(struct etw_plan *plan, const struct live_heap *s, const struct input_env *env,
    struct error *err)
{
    struct etw_plan_heap *heap = &plan->heap;
    plan->reads = true;
    plan_session(plan, &s->session);
    heap->names = &s->processes;
    heap->pids = arena_alloc_array(&plan->memory, s->pids.count + 1, sizeof(*heap->pids));
    heap->stacks = arena_alloc_array(&plan->memory, s->stacks.count + 1, sizeof(*heap->stacks));
    if (!heap->pids || !heap->stacks) {
        return error_set(err, ERR_MEMORY, "out of memory for a session");
    }
    for (size_t i = 0; i < s->pids.count; i++) {
        if (!live_options_pid(s->pids.items[i], &heap->pids[heap->pid_count++])) {
            return error_set(
                err, ERR_CONFIG, "pids: '%.40s' is not a process id", s->pids.items[i]);
        }
    }
    for (size_t i = 0; i < s->stacks.count; i++) {
        if (!live_options_heap_stack(s->stacks.items[i], &heap->stacks[heap->stack_count++])) {
            return error_set(
                err, ERR_CONFIG, "stacks: unknown heap operation '%.40s'", s->stacks.items[i]);
        }
    }
    if ((s->launch && !plan_launch(plan, s, err)) || !own_name(plan, env, err)) {
        return false;
    }
    plan->session.guid = etw_heap_guid;
    return true;
}

static bool plan_kind(
    struct etw_plan *plan, const void *settings, const struct input_env *env, struct error *err)
{
    switch (plan->kind) {
    case ETW_PLAN_REALTIME:
        plan->reads = true;
        plan_session(plan, &((const struct live_realtime *)settings)->session);
        return own_name(plan, env, err);
    case ETW_PLAN_SYSTEM:
    case ETW_PLAN_KERNEL:
        return plan_kernel(plan, settings, env, err);
    case ETW_PLAN_RECORD:
        return plan_record(plan, settings, env, err);
    case ETW_PLAN_HEAP:
        return plan_heap(plan, settings, env, err);
    case ETW_PLAN_ATTACH:
        break;
    }
    const struct live_attach *attach = settings;
    plan->reads = true;
    plan->name = attach->session;
    plan->raw = attach->delivery == LIVE_DELIVERY_RAW;
    plan->guard = attach->guard;
    return true;
}

static bool take_fingerprint(struct etw_plan *plan, struct error *err)
{
    const struct etw_session_spec *s = &plan->session;
    struct buf text;
    buf_init(&text, MAX_FINGERPRINT_BYTES);
    buf_printf(&text, "1 %u %u %u %u %u %x %u %s", s->clock, s->buffer_kb, s->min_buffers,
        s->max_buffers, s->flush_ms, s->mode, s->max_file_size, s->file ? s->file : "");
    for (size_t i = 0; i < ETW_GROUP_WORDS; i++) {
        buf_printf(&text, " %x", plan->groups.words[i]);
    }
    for (size_t i = 0; i < plan->stack_count; i++) {
        char guid[GUID_TEXT_SIZE];
        guid_write(&plan->stacks[i].class_guid, guid);
        buf_printf(&text, " %.36s/%u", guid, plan->stacks[i].type);
    }
    for (size_t i = 0; i < plan->counter_event_count; i++) {
        char guid[GUID_TEXT_SIZE];
        guid_write(&plan->counter_events[i].class_guid, guid);
        buf_printf(&text, " %.36s:%u", guid, plan->counter_events[i].type);
    }
    for (size_t i = 0; plan->counter_event_count && i < plan->counters->count; i++) {
        buf_printf(&text, " %s", plan->counters->items[i]);
    }
    struct guid shape = guid_from_name(buf_span(&text));
    for (size_t i = 0; i < plan->entry_count; i++) {
        buf_printf(&text, "\n%s", plan->entries[i].label);
    }
    bool good = !text.failed;
    if (good) {
        plan->shape = shape;
        plan->fingerprint = guid_from_name(buf_span(&text));
    }
    buf_fini(&text);
    return good || error_set(err, ERR_LIMIT, "too many providers in one session");
}

struct etw_plan *etw_plan_create(
    enum etw_plan_kind kind, const void *settings, const struct input_env *env, struct error *err)
{
    struct etw_plan *plan = calloc(1, sizeof(*plan));
    if (!plan) {
        error_set(err, ERR_MEMORY, "out of memory for a session");
        return NULL;
    }
    plan->kind = kind;
    arena_init(&plan->memory, MAX_PLAN_BYTES);
    if (!plan_kind(plan, settings, env, err) || !plan_entries(plan, env, err) ||
        !take_fingerprint(plan, err)) {
        etw_plan_destroy(plan);
        return NULL;
    }
    return plan;
}

void etw_plan_destroy(struct etw_plan *plan)
{
    if (plan) {
        arena_fini(&plan->memory);
        free(plan);
    }
}
