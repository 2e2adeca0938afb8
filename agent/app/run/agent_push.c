#include "app/run/agent_push.h"

#include <stdio.h>
#include <stdlib.h>

#include "app/log/log.h"
#include "app/run/agent_runner.h"
#include "app/run/agent_view.h"
#include "base/filetime.h"
#include "base/guid.h"
#include "platform/plat_clock.h"
#include "platform/plat_system.h"
#include "platform/plat_thread.h"
#include "status/metric_otlp.h"

/*
 * One thread for all outputs. Each time it takes one view of the agent (agent_view.h), and writes
 * it for every output that is due. A collector that does not answer delays the others by the
 * output's `timeout`. The log gets one line when an output begins to fail, and one when it works
 * again.
 */
enum { NAMES_MAX_BYTES = 1 << 20, REQUEST_MAX_BYTES = 32 * 1024 * 1024, NAME_BYTES = 128 };

#define LAST_NS UINT64_C(2000000000)
#define NS_PER_FILETIME UINT64_C(100)

struct target {
    struct agent_push *push;
    const struct output_metrics *ops;
    void *self;
    char name[NAME_BYTES]; /* of the output */
    enum metric_otlp_encoding encoding;
    uint64_t every_ns;
    uint64_t next_ns;
    bool fails;
};

struct agent_push {
    struct agent_runner *runner;
    struct target *targets;
    size_t count;
    struct plat_thread *thread;
    char host[256];
    char instance[GUID_TEXT_SIZE + 1];
    uint64_t started; /* FILETIME: that process */

    /* Of the thread. */
    struct metric_set set;
    struct agent_health health;
    struct arena names;
    struct buf request;

    /* Guarded by the mutex. */
    struct plat_mutex mutex;
    struct plat_cond changed;
    bool over;
    bool asked;           /* for all, now */
    uint64_t deadline_ns; /* when agent_push_last stops waiting; UINT64_MAX: it does not wait */
};

/* ---- log ------------------------------------------------------------------------------ */

static void say(
    const struct target *target, enum log_level level, const char *what, const char *words)
{
    struct agent_runner *runner = target->push->runner;
    struct log *log = agent_runner_hold_log(runner);
    log_write(log, level, NULL, "output %s: %s%s", target->name, what, words);
    agent_runner_release_log(runner);
}

static void note(void *target, const char *text)
{
    say(target, LOG_LEVEL_INFO, "", text);
}

/* Is it time to give up a request? */
static bool is_stopping(void *target)
{
    struct agent_push *push = ((struct target *)target)->push;
    plat_mutex_lock(&push->mutex);
    bool stops = push->over || plat_monotonic_ns() >= push->deadline_ns;
    plat_mutex_unlock(&push->mutex);
    return stops;
}

/* ---- sending --------------------------------------------------------------------------------- */

static uint64_t nanos(uint64_t filetime)
{
    return filetime > FILETIME_UNIX_EPOCH ? (filetime - FILETIME_UNIX_EPOCH) * NS_PER_FILETIME : 0;
}

static bool look(struct agent_push *push)
{
    metric_set_reset(&push->set);
    arena_reset(&push->names);
    return agent_view_take(push->runner, &push->set, &push->health, &push->names);
}

static void send(struct agent_push *push, struct target *target)
{
    const struct metric_otlp_origin origin = {.version = span_text(ETWSHIP_VERSION),
        .instance = span_text(push->instance),
        .host = span_text(push->host),
        .now = nanos(plat_now_filetime()),
        .started = nanos(push->started)};
    struct error err;
    buf_reset(&push->request);
    metric_otlp_write(&push->set, &origin, target->encoding, &push->request);
    bool good = !push->request.failed ||
                error_set(&err, ERR_MEMORY, "out of memory for a request of metrics");
    good = good && target->ops->send(target->self, buf_span(&push->request), &err);
    if (!good && is_stopping(target)) {
        return; /* given up: that says nothing about the destination */
    }
    if (!good && !target->fails) {
        say(target, LOG_LEVEL_WARNING,
            "the collector rejects the agent's own metrics; the agent tries again later: ",
            err.text);
    }
    if (good && target->fails) {
        say(target, LOG_LEVEL_INFO, "the collector accepts the agent's own metrics again", "");
    }
    target->fails = !good;
}

static void send_due(struct agent_push *push, bool all)
{
    uint64_t now = plat_monotonic_ns();
    bool looked = false;
    for (size_t i = 0; i < push->count; i++) {
        struct target *target = &push->targets[i];
        if (!all && now < target->next_ns) {
            continue;
        }
        target->next_ns = now + target->every_ns;
        looked = looked || look(push);
        if (looked) {
            send(push, target);
        }
    }
}

static uint64_t next_of(const struct agent_push *push)
{
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < push->count; i++) {
        next = push->targets[i].next_ns < next ? push->targets[i].next_ns : next;
    }
    return next;
}

static void run(void *self)
{
    struct agent_push *push = self;
    plat_mutex_lock(&push->mutex);
    while (!push->over) {
        bool all = push->asked;
        bool due = all || plat_monotonic_ns() >= next_of(push);
        if (!due) {
            plat_cond_wait_until(&push->changed, &push->mutex, next_of(push));
            continue;
        }
        plat_mutex_unlock(&push->mutex);
        send_due(push, all);
        plat_mutex_lock(&push->mutex);
        if (all) {
            push->asked = false;
            push->deadline_ns = UINT64_MAX;
        }
        plat_cond_broadcast(&push->changed);
    }
    plat_mutex_unlock(&push->mutex);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static bool wants(const struct app_output *output)
{
    return output->enabled && output->ops->metrics &&
           output->ops->metrics->every_ns(output->settings) > 0;
}

static void add_target(struct agent_push *push, const struct app_output *output)
{
    struct target *target = &push->targets[push->count];
    const struct output_metrics *ops = output->ops->metrics;
    const struct output_env env = {
        .name = target->name, .note = note, .stopping = is_stopping, .host = target};
    struct error err;
    *target = (struct target){.push = push,
        .ops = ops,
        .encoding = ops->as_json(output->settings) ? METRIC_OTLP_JSON : METRIC_OTLP_PROTOBUF,
        .every_ns = ops->every_ns(output->settings)};
    snprintf(target->name, sizeof(target->name), "%s", output->name);
    target->next_ns = plat_monotonic_ns() + target->every_ns;
    target->self = ops->create(output->settings, &env, &err);
    if (target->self) {
        push->count++;
    } else {
        say(target, LOG_LEVEL_ERROR, "the agent's own metrics cannot be sent: ", err.text);
    }
}

static void destroy(struct agent_push *push)
{
    for (size_t i = 0; i < push->count; i++) {
        push->targets[i].ops->destroy(push->targets[i].self);
    }
    free(push->targets);
    metric_set_fini(&push->set);
    arena_fini(&push->names);
    buf_fini(&push->request);
    plat_cond_fini(&push->changed);
    plat_mutex_fini(&push->mutex);
    free(push);
}

static struct agent_push *create(
    struct agent_runner *runner, const struct app_config *config, size_t count)
{
    struct agent_push *push = calloc(1, sizeof(*push));
    struct target *targets = calloc(count, sizeof(*targets));
    if (!push || !targets) {
        free(push);
        free(targets);
        return NULL;
    }
    push->runner = runner;
    push->targets = targets;
    push->deadline_ns = UINT64_MAX;
    plat_mutex_init(&push->mutex);
    plat_cond_init(&push->changed);
    metric_set_init(&push->set);
    arena_init(&push->names, NAMES_MAX_BYTES);
    buf_init(&push->request, REQUEST_MAX_BYTES);
    plat_host_name(push->host, sizeof(push->host));
    for (size_t i = 0; i < config->output_count; i++) {
        if (wants(&config->outputs[i])) {
            add_target(push, &config->outputs[i]);
        }
    }
    return push;
}

struct agent_push *agent_push_start(struct agent_runner *runner, const char *instance,
    uint64_t started, const struct app_config *config)
{
    struct error err;
    size_t count = 0;
    for (size_t i = 0; i < config->output_count; i++) {
        count += wants(&config->outputs[i]);
    }
    if (!count) {
        return NULL;
    }
    error_set(&err, ERR_MEMORY, "out of memory");
    struct agent_push *push = create(runner, config, count);
    if (push) {
        snprintf(push->instance, sizeof(push->instance), "%s", instance);
        push->started = started;
        push->thread = plat_thread_start("metrics", run, push, &err);
    }
    if (push && push->thread) {
        return push;
    }
    struct log *log = agent_runner_hold_log(runner);
    log_write(log, LOG_LEVEL_ERROR, NULL, "the agent's own metrics cannot be sent: %s", err.text);
    agent_runner_release_log(runner);
    if (push) {
        destroy(push);
    }
    return NULL;
}

void agent_push_last(struct agent_push *push)
{
    if (!push) {
        return;
    }
    uint64_t until = plat_monotonic_ns() + LAST_NS;
    plat_mutex_lock(&push->mutex);
    push->asked = true;
    push->deadline_ns = until;
    plat_cond_broadcast(&push->changed);
    while (push->asked && plat_monotonic_ns() < until) {
        plat_cond_wait_until(&push->changed, &push->mutex, until);
    }
    /* The thread may be in a request still: what it sends after that one is sent as always. */
    push->asked = false;
    push->deadline_ns = UINT64_MAX;
    plat_mutex_unlock(&push->mutex);
}

void agent_push_stop(struct agent_push *push)
{
    if (push) {
        plat_mutex_lock(&push->mutex);
        push->over = true;
        plat_cond_broadcast(&push->changed);
        plat_mutex_unlock(&push->mutex);
        plat_thread_join(push->thread);
        destroy(push);
    }
}
