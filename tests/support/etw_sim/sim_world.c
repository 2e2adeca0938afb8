/*
 * A world, and what every function of it does first: is there a world, is this call to fail, which
 * process calls. `the_world` is there because the functions of Windows have no argument for it.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/etw_sim/sim_remote.h"

static _Atomic(struct etw_sim *) the_world;
static void (*make_world)(void);
static _Thread_local uint32_t caller_pid;
static _Thread_local uint32_t caller_tid;
static _Thread_local uint32_t last_error;
static _Thread_local uint32_t thread_number;
static atomic_uint thread_count;

static const char *const call_names[SIM_CALL_COUNT] = {
#define ETW_CALL(result, name, parameters) #name,
#include "etw/etw_calls.def"
#include "support/etw_sim/etw_sim_calls.def"
#undef ETW_CALL
};

void etw_sim_on_demand(void (*make)(void))
{
    make_world = make;
}

struct etw_sim *etw_sim_world(void)
{
    if (make_world) {
        make_world(); /* also while another thread makes it: until it is whole */
    }
    return atomic_load(&the_world);
}

static void set_defaults(struct etw_sim *sim)
{
    struct etw_sim_options *o = &sim->options;
    const uint64_t start_time = UINT64_C(134397270000000000); /* 2026-11-21T09:30:00Z */
    o->processors = o->processors ? o->processors : 2;
    o->processors = o->processors > SIM_MAX_CPUS ? SIM_MAX_CPUS : o->processors;
    o->max_sessions = o->max_sessions ? o->max_sessions : 64;
    o->max_sessions = o->max_sessions > SIM_MAX_SESSIONS ? SIM_MAX_SESSIONS : o->max_sessions;
    o->os_build = o->os_build ? o->os_build : 19045;
    o->start_time = o->start_time ? o->start_time : start_time;
    o->up_seconds = o->up_seconds ? o->up_seconds : 3600;
    o->perf_frequency = o->perf_frequency ? o->perf_frequency : 10000000;
    o->cpu_mhz = o->cpu_mhz ? o->cpu_mhz : 2400;
    o->step_ticks = o->step_ticks ? o->step_ticks : 1;
    o->playback_kb = o->playback_kb ? o->playback_kb : 10240;
    o->consumer_buffers = o->consumer_buffers ? o->consumer_buffers : 64;
    o->own_process = o->own_process ? o->own_process : 4711;
    snprintf(
        sim->own_image, sizeof(sim->own_image), "%s", o->own_image ? o->own_image : "etwship.exe");
    o->own_image = sim->own_image;
}

static void look_at_clocks(int64_t *ret_counter, uint64_t *ret_filetime)
{
    struct etw_sim *sim = etw_sim_world();
    if (sim->remote) {
        sim_remote_now(sim, ret_counter, ret_filetime);
        return;
    }
    *ret_counter = (int64_t)etw_sim_qpc(sim);
    *ret_filetime = etw_sim_filetime(sim);
}

static uint64_t look_at_frequency(void)
{
    return etw_sim_world()->options.perf_frequency;
}

static void fill_table(struct etw_sim *sim)
{
    struct etw_api *api = &sim->api;
#define ETW_CALL(result, name, parameters) api->name = etw_sim_##name;
#include "etw/etw_calls.def"
#undef ETW_CALL
    if (sim->options.no_raw_delivery) {
        api->OpenTraceFromRealTimeLogger = NULL;
    }
    api->last_error = etw_sim_last_error;
    api->now = look_at_clocks;
    api->frequency = look_at_frequency;
}

struct etw_sim *etw_sim_create(const struct etw_sim_options *options, struct error *err)
{
    struct etw_sim *sim = calloc(1, sizeof(*sim));
    if (!sim) {
        error_set(err, ERR_MEMORY, "no memory for a simulated world");
        return NULL;
    }
    sim->options = *options;
    set_defaults(sim);
    plat_mutex_init(&sim->lock);
    plat_cond_init(&sim->changed);
    plat_cond_init(&sim->timer);
    map_init(&sim->guids, 65536);
    buf_init(&sim->record, SIM_RECORD_ROOM);
    buf_init(&sim->payload, SIM_RECORD_ROOM);
    sim->profile_intervals[0] = 10000;
    for (size_t i = 1; i < SIM_PROFILE_SOURCES; i++) {
        sim->profile_intervals[i] = 65536;
    }
    sim->next_event_key = 1;
    fill_table(sim);
    struct etw_sim *none = NULL;
    if ((sim->options.machine && !sim_remote_attach(sim, err)) || !sim_clock_start(sim, err)) {
        etw_sim_destroy(sim);
        return NULL;
    }
    if (!atomic_compare_exchange_strong(&the_world, &none, sim)) {
        error_set(err, ERR_CONFIG, "there is a simulated world already");
        etw_sim_destroy(sim);
        return NULL;
    }
    return sim;
}

static void free_providers(struct etw_sim *sim)
{
    while (sim->providers) {
        struct etw_sim_provider *p = sim->providers;
        sim->providers = p->next;
        free(p);
    }
    for (uint32_t i = 0; i < sim->registration_room; i++) {
        if (sim->registrations[i]) {
            free(sim->registrations[i]->classes);
        }
        free(sim->registrations[i]);
    }
    free(sim->registrations);
    while (sim->guid_list) {
        struct sim_guid *g = sim->guid_list;
        sim->guid_list = g->next;
        free(g);
    }
    map_fini(&sim->guids);
    while (sim->processes) {
        struct sim_process *p = sim->processes;
        sim->processes = p->next;
        free(p);
    }
}

void etw_sim_destroy(struct etw_sim *sim)
{
    if (!sim) {
        return;
    }
    sim_clock_stop(sim);
    plat_mutex_lock(&sim->lock);
    for (size_t i = 0; i < SIM_MAX_SESSIONS; i++) {
        if (sim->sessions[i]) {
            sim_session_end(sim->sessions[i]);
        }
    }
    plat_mutex_unlock(&sim->lock);
    struct etw_sim *self = sim;
    atomic_compare_exchange_strong(&the_world, &self, NULL);
    sim_consumer_free_all(sim);
    sim_remote_unregister_all(sim);
    sim_remote_detach(sim);
    while (sim->ended) {
        struct sim_session *s = sim->ended;
        sim->ended = s->next;
        sim_session_free(s);
    }
    sim_replay_free(sim);
    sim_access_free(sim);
    free_providers(sim);
    buf_fini(&sim->record);
    buf_fini(&sim->payload);
    plat_cond_fini(&sim->changed);
    plat_cond_fini(&sim->timer);
    plat_mutex_fini(&sim->lock);
    free(sim);
}

const struct etw_api *etw_sim_api(struct etw_sim *sim)
{
    return &sim->api;
}

/* ---- faults ---------------------------------------------------------------------------------- */

static size_t call_by_name(const char *function)
{
    size_t i = 0;
    while (i < SIM_CALL_COUNT && strcmp(call_names[i], function) != 0) {
        i++;
    }
    return i;
}

static void set_fault(
    struct etw_sim *sim, struct sim_fault *fault, uint32_t nth, uint32_t times, uint32_t code)
{
    plat_mutex_lock(&sim->lock);
    *fault = (struct sim_fault){
        .skip = nth ? nth - 1 : 0, .left = times ? times : UINT32_MAX, .code = code};
    plat_mutex_unlock(&sim->lock);
}

bool etw_sim_fail(
    struct etw_sim *sim, const char *function, uint32_t nth, uint32_t times, uint32_t code)
{
    size_t call = call_by_name(function);
    if (call == SIM_CALL_COUNT) {
        return false;
    }
    set_fault(sim, &sim->faults[call], nth, times, code);
    return true;
}

void etw_sim_fail_control(
    struct etw_sim *sim, uint32_t control, uint32_t nth, uint32_t times, uint32_t code)
{
    if (control < SIM_CONTROL_CODES) {
        set_fault(sim, &sim->control_faults[control], nth, times, code);
    }
}

bool etw_sim_remove(struct etw_sim *sim, const char *function)
{
#define ETW_CALL(result, name, parameters) \
    if (strcmp(function, #name) == 0) {    \
        sim->api.name = NULL;              \
        return true;                       \
    }
#include "etw/etw_calls.def"
#undef ETW_CALL
    return false;
}

uint32_t etw_sim_calls(struct etw_sim *sim, const char *function)
{
    size_t call = call_by_name(function);
    if (call == SIM_CALL_COUNT) {
        return 0;
    }
    plat_mutex_lock(&sim->lock);
    uint32_t count = sim->calls[call];
    plat_mutex_unlock(&sim->lock);
    return count;
}

static uint32_t take_fault(struct sim_fault *fault)
{
    if (!fault->code || fault->left == 0) {
        return 0;
    }
    if (fault->skip) {
        fault->skip--;
        return 0;
    }
    if (fault->left != UINT32_MAX) {
        fault->left--;
    }
    return fault->code;
}

struct etw_sim *sim_world_enter(enum sim_call call, uint32_t *ret_code)
{
    struct etw_sim *sim = etw_sim_world();
    uint32_t code = ETW_ERROR_CALL_NOT_IMPLEMENTED;
    if (sim) {
        plat_mutex_lock(&sim->lock);
        sim->calls[call]++;
        code = take_fault(&sim->faults[call]);
        if (!code) {
            sim_session_reap(sim);
            return sim;
        }
        plat_mutex_unlock(&sim->lock);
    }
    if (ret_code) {
        *ret_code = code;
    }
    return NULL;
}

uint32_t sim_world_control_fault(struct etw_sim *sim, uint32_t code)
{
    return code < SIM_CONTROL_CODES ? take_fault(&sim->control_faults[code]) : 0;
}

void sim_world_note(
    const struct etw_sim *sim, const char *what, const etw_char *session, uint32_t code)
{
    char text[SIM_TEXT_BYTES] = "";
    if (sim->options.on_call) {
        if (session) {
            sim_text_to_utf8(session, text, sizeof(text));
        }
        sim->options.on_call(sim->options.on_call_self, what, text, code);
    }
}

/* ---- who calls ------------------------------------------------------------------------------- */

void sim_world_set_last_error(uint32_t code)
{
    last_error = code;
    struct etw_sim *sim = etw_sim_world();
    if (sim && sim->options.set_last_error) {
        sim->options.set_last_error(code);
    }
}

uint32_t etw_sim_last_error(void)
{
    return last_error;
}

void etw_sim_as(uint32_t pid, uint32_t tid)
{
    caller_pid = pid;
    caller_tid = tid;
}

uint32_t sim_world_pid(const struct etw_sim *sim)
{
    return caller_pid ? caller_pid : sim->options.own_process;
}

uint32_t sim_world_tid(const struct etw_sim *sim)
{
    if (caller_tid) {
        return caller_tid;
    }
    if (sim->options.thread_id) {
        return sim->options.thread_id();
    }
    if (!thread_number) {
        thread_number = 4 * (1 + atomic_fetch_add(&thread_count, 1));
    }
    return thread_number;
}

static struct sim_process *find_process(const struct etw_sim *sim, uint32_t pid)
{
    struct sim_process *p = sim->processes;
    while (p && p->p.pid != pid) {
        p = p->next;
    }
    return p;
}

const struct sim_process *sim_world_process(const struct etw_sim *sim, uint32_t pid)
{
    static const struct sim_process any = {.p = {.image = "process.exe", .session_id = 1}};
    static const struct sim_process kernel = {.p = {.pid = 4, .image = "System"}};
    static _Thread_local struct sim_process own;
    const struct sim_process *p = find_process(sim, pid);
    if (p) {
        return p;
    }
    if (pid == sim->options.own_process) {
        own.p = (struct etw_sim_process){
            .pid = pid, .image = sim->options.own_image, .session_id = 1};
        return &own;
    }
    return pid == 4 ? &kernel : &any;
}

bool sim_world_process_runs(const struct etw_sim *sim, uint32_t pid)
{
    return pid == sim->options.own_process || find_process(sim, pid) != NULL;
}

static void end_process(struct etw_sim *sim, uint32_t pid)
{
    struct sim_process **at = &sim->processes;
    while (*at && (*at)->p.pid != pid) {
        at = &(*at)->next;
    }
    struct sim_process *p = *at;
    if (p) {
        *at = p->next;
        free(p);
    }
    /* A filter by pid means the processes that ran when it was set. */
    for (struct sim_guid *g = sim->guid_list; g; g = g->next) {
        for (uint32_t i = 0; i < g->enable_count; i++) {
            sim_filter_forget_pid(g->enables[i], pid);
        }
    }
}

void etw_sim_process_start(struct etw_sim *sim, const struct etw_sim_process *process)
{
    struct sim_process *p = calloc(1, sizeof(*p));
    if (!p) {
        return;
    }
    p->p = *process;
    snprintf(p->image, sizeof(p->image), "%s", process->image ? process->image : "process.exe");
    snprintf(p->package, sizeof(p->package), "%s", process->package ? process->package : "");
    snprintf(p->app, sizeof(p->app), "%s", process->package_app ? process->package_app : "");
    p->p.image = p->image;
    p->p.package = p->package[0] ? p->package : NULL;
    p->p.package_app = p->app[0] ? p->app : NULL;
    plat_mutex_lock(&sim->lock);
    end_process(sim, process->pid);
    if (!p->p.start_key) {
        p->p.start_key = UINT64_C(0x1000000000000) + ++sim->next_start_key;
    }
    p->next = sim->processes;
    sim->processes = p;
    plat_mutex_unlock(&sim->lock);
}

void etw_sim_process_end(struct etw_sim *sim, uint32_t pid)
{
    plat_mutex_lock(&sim->lock);
    end_process(sim, pid);
    plat_mutex_unlock(&sim->lock);
}
