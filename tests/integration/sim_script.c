#define _GNU_SOURCE

#include "sim_script.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "etw/session/etw_control.h"
#include "input/windows/session/etw_session.h"
#include "platform/plat_clock.h"
#include "support/await.h"
#include "support/etw_sim/sim_boot.h"

enum { MAX_PROVIDERS = 16, WAIT_MS = 60000, TICK_MS = 2, EXIT_SCRIPT = 98 };

struct provider {
    char name[64];
    struct guid guid;
    struct etw_sim_provider *provider;
    uint64_t sent;
};

static struct {
    struct etw_sim *sim;
    const char *script;
    struct provider providers[MAX_PROVIDERS];
    size_t provider_count;
} world;

static void refuse(const char *line)
{
    fprintf(stderr, "etwship-sim: cannot do: %s\n", line);
    _exit(EXIT_SCRIPT);
}

static struct provider *find(const char *name)
{
    for (size_t i = 0; i < world.provider_count; i++) {
        if (strcmp(world.providers[i].name, name) == 0) {
            return &world.providers[i];
        }
    }
    refuse(name);
    return NULL;
}

static void add_provider(const char *name, bool unregistered)
{
    struct provider *p = &world.providers[world.provider_count++];
    snprintf(p->name, sizeof(p->name), "%s", name);
    p->guid = guid_from_name(span_text(p->name));
    p->provider = etw_sim_provider_add(
        world.sim, &(struct etw_sim_provider_options){.guid = p->guid,
                       .name = p->name,
                       .kind = ETW_SIM_TRACELOGGING,
                       .pid = 900,
                       .unregistered = unregistered});
}

static bool is_read(const char *session, const struct provider *provider)
{
    struct etw_sim_enablement enablement;
    struct etw_sim_session_info info;
    return etw_sim_session_get(world.sim, session, &info) && info.consumers > 0 &&
           etw_sim_session_runs(world.sim, session) &&
           etw_sim_enabled(world.sim, session, &provider->guid, &enablement);
}

static void await(const char *session, const char *name)
{
    const struct provider *provider = find(name);
    for (int waited = 0; !is_read(session, provider); waited += TICK_MS) {
        if (waited > WAIT_MS) {
            refuse("await");
        }
        plat_sleep_ms(TICK_MS);
    }
}

/* A killed process is gone for the machine, too. */
static void await_left(const char *session)
{
    struct etw_sim_session_info info;
    for (int waited = 0; etw_sim_session_get(world.sim, session, &info) && info.consumers > 0;
         waited += TICK_MS) {
        if (waited > WAIT_MS) {
            refuse("left");
        }
        plat_sleep_ms(TICK_MS);
    }
}

/* A consumer that does nothing with events: its thread, "idle", takes what the simulation of a
 * consumer takes. It ends with its session. */
static struct plat_thread *idle_consumer;

static void ignore_event(struct etw_event_record *record)
{
    (void)record;
}

static uint32_t ignore_buffer(struct etw_logfile *logfile)
{
    (void)logfile;
    return 1;
}

static void consume_idly(void *trace)
{
    etw_api_get()->ProcessTrace(trace, 1, NULL, NULL);
    etw_api_get()->CloseTrace(*(uint64_t *)trace);
}

static void consume(const char *session)
{
    static uint64_t trace;
    struct error err;
    etw_char name[ETW_MAX_NAME_CHARS] = {0};
    for (size_t i = 0; session[i]; i++) {
        name[i] = (uint8_t)session[i];
    }
    struct etw_logfile logfile = {.logger_name = name,
        .process_trace_mode = ETW_PROCESS_REAL_TIME | ETW_PROCESS_EVENT_RECORD,
        .event_callback = ignore_event,
        .buffer_callback = ignore_buffer};
    trace = etw_api_get()->OpenTraceW(&logfile);
    idle_consumer = plat_thread_start("idle", consume_idly, &trace, &err);
    if (!idle_consumer) {
        refuse(session);
    }
}

static void burst(const char *name, uint64_t count, uint32_t rate, unsigned level)
{
    struct provider *p = find(name);
    struct etw_sim_event event = {.descriptor = {.id = 7, .level = (uint8_t)level}};
    etw_sim_burst(p->provider, &event, p->sent, count, rate);
    p->sent += count;
}

static void replay(const char *path, const char *name, uint32_t rate)
{
    struct error err;
    uint64_t records;
    struct provider *p = find(name);
    const struct etw_sim_replay what = {
        .path = path, .provider = p->guid, .per_second = rate, .rounds = 1};
    if (!etw_sim_replay(world.sim, &what, &records, &err)) {
        refuse(err.text);
    }
    p->sent += records;
}

/* What other programs do, from a process of their own. */
enum { STRANGER = 6666 };

static void stop(const char *session)
{
    etw_sim_as(STRANGER, STRANGER);
    etw_control_stop(session, NULL, NULL);
    etw_sim_as(0, 0);
}

static void disable(const char *session, const char *name)
{
    struct etw_sim_session_info info;
    const struct provider *provider = find(name);
    if (!etw_sim_session_get(world.sim, session, &info)) {
        refuse(session);
    }
    etw_sim_as(STRANGER, STRANGER);
    etw_api_get()->EnableTraceEx2(
        info.handle, &provider->guid, ETW_PROVIDER_DISABLE, 0, 0, 0, 0, NULL);
    etw_sim_as(0, 0);
}

static void mend(const char *function)
{
    enum { NO_CALL = 1000000000 };
    if (!etw_sim_fail(world.sim, function, NO_CALL, 1, ETW_ERROR_NO_SYSTEM_RESOURCES)) {
        refuse(function);
    }
}

/* No other program can start one meanwhile, however quick. */
static void replace(const char *session)
{
    struct etw_sim_session_options options = {.name = session, .mode = ETW_MODE_REAL_TIME};
    etw_sim_fail(world.sim, "StartTraceW", 1, 0, ETW_ERROR_NO_SYSTEM_RESOURCES);
    stop(session);
    if (!etw_sim_session_add(world.sim, &options, NULL)) {
        refuse(session);
    }
    mend("StartTraceW");
}

static void report(const char *session, FILE *out)
{
    struct etw_sim_session_info info;
    uint64_t sent = 0;
    if (!etw_sim_session_get(world.sim, session, &info)) {
        refuse(session);
    }
    for (size_t i = 0; i < world.provider_count; i++) {
        sent += world.providers[i].sent;
    }
    const struct etw_sim_counts *c = &info.counts;
    fprintf(out,
        "{\"handle\":%" PRIu64 ",\"sent\":%" PRIu64 ",\"offered\":%" PRIu64
        ",\"events_lost\":%" PRIu64 ",\"delivered\":%" PRIu64 ",\"in_lost_buffers\":%" PRIu64
        ",\"buffers_lost\":%" PRIu64 ",\"discarded\":%" PRIu64 ",\"sessions\":%u,\"traces\":%u}\n",
        info.handle, sent, c->offered, c->events_lost, c->delivered, c->in_lost_buffers,
        c->buffers_lost, c->discarded, etw_sim_session_count(world.sim),
        etw_sim_open_traces(world.sim));
}

/* EVENT_FILTER_EVENT_ID: FilterIn, reserved, count, ids. */
static void report_ids(const uint8_t *filter, FILE *out)
{
    fprintf(out, ",\"%s\":[", filter[0] ? "include" : "exclude");
    for (uint16_t i = 0; i < load_le16(filter + 2); i++) {
        fprintf(out, "%s%u", i ? "," : "", load_le16(filter + 4 + 2 * i));
    }
    fputs("]", out);
}

static void report_provider(const char *session, const char *name, FILE *out)
{
    struct etw_sim_enablement e = {.level = 0};
    bool enabled = etw_sim_enabled(world.sim, session, &find(name)->guid, &e);
    fprintf(out, "{\"enabled\":%s,\"level\":%u,\"any\":%llu,\"all\":%llu,\"enables\":%u",
        enabled ? "true" : "false", e.level, (unsigned long long)e.any, (unsigned long long)e.all,
        e.enables);
    for (uint32_t i = 0; i < e.filter_count; i++) {
        if (e.filters[i].type == ETW_FILTER_EVENT_ID) {
            report_ids(e.ids, out);
        }
    }
    fputs("}\n", out);
}

bool sim_script_act(char *line, FILE *out)
{
    char a[128] = "";
    char b[128] = "";
    char c[128] = "";
    unsigned level = 4;
    line[strcspn(line, "\n")] = 0;
    if (sscanf(line, "provider %127s %127s", a, b) >= 1) {
        add_provider(a, strcmp(b, "unregistered") == 0);
    } else if (sscanf(line, "await %127s %127s", a, b) == 2) {
        await(a, b);
    } else if (sscanf(line, "left %127s", a) == 1) {
        await_left(a);
    } else if (sscanf(line, "burst %127s %127s %127s %u", a, b, c, &level) >= 3) {
        burst(a, strtoull(b, NULL, 10), (uint32_t)strtoul(c, NULL, 10), level);
    } else if (sscanf(line, "replay %127s %127s %127s", a, b, c) == 3) {
        replay(a, b, (uint32_t)strtoul(c, NULL, 10));
    } else if (sscanf(line, "consume %127s", a) == 1) {
        consume(a);
    } else if (sscanf(line, "register %127s", a) == 1) {
        etw_sim_provider_register(find(a)->provider);
    } else if (sscanf(line, "stop %127s", a) == 1) {
        stop(a);
    } else if (sscanf(line, "replace %127s", a) == 1) {
        replace(a);
    } else if (sscanf(line, "disable %127s %127s", a, b) == 2) {
        disable(a, b);
    } else if (sscanf(line, "fail %127s %127s %127s", a, b, c) == 3) {
        if (!etw_sim_fail(
                world.sim, a, 1, (uint32_t)strtoul(b, NULL, 10), (uint32_t)strtoul(c, NULL, 10))) {
            refuse(a);
        }
    } else if (sscanf(line, "mend %127s", a) == 1) {
        mend(a);
    } else if (strncmp(line, "file ", 5) == 0) {
        if (!await_file(line + 5)) {
            refuse(line);
        }
    } else if (strcmp(line, "settle") == 0) {
        etw_sim_settle(world.sim, WAIT_MS);
    } else if (sscanf(line, "report %127s", a) == 1) {
        report(a, out);
        return true;
    } else if (sscanf(line, "enablement %127s %127s", a, b) == 2) {
        report_provider(a, b, out);
        return true;
    } else if (strcmp(line, "boot") == 0) {
        fprintf(out, "{\"started\":%u}\n", sim_boot());
        return true;
    } else if (strcmp(line, "shutdown") == 0) {
        sim_shutdown();
    } else if (strcmp(line, "leave") == 0) {
        kill(getpid(), SIGTERM);
    } else if (*line) {
        refuse(line);
    }
    return false;
}

static void play(void *self)
{
    char line[512];
    FILE *script = fopen(world.script, "r");
    (void)self;
    if (!script) {
        refuse(world.script);
    }
    while (fgets(line, sizeof(line), script)) {
        sim_script_act(line, stderr);
    }
    fclose(script);
}

void sim_script_begin(struct etw_sim *sim)
{
    world.sim = sim;
}

void sim_script_shorten_intervals(void)
{
    etw_session_timing.poll_ms = 20;
    etw_session_timing.retry_ms = 20;
    etw_session_timing.look_ms = 50;
}

struct plat_thread *sim_script_start(struct etw_sim *sim, struct error *err)
{
    sim_script_begin(sim);
    world.script = getenv("ETWSIM_SCRIPT");
    if (!world.script) {
        return NULL;
    }
    sim_script_shorten_intervals();
    return plat_thread_start("script", play, NULL, err);
}

void sim_script_end(struct plat_thread *script)
{
    if (script) {
        plat_thread_join(script);
        plat_thread_join(idle_consumer);
        idle_consumer = NULL;
        fprintf(stderr, "{\"left_sessions\":%u,\"left_traces\":%u}\n",
            etw_sim_session_count(world.sim), etw_sim_open_traces(world.sim));
    }
}
