#include "input/live/live_options.h"
#include "input/windows/etw_targets.h"
#include "input/windows/session/etw_session.h"

/* The inputs for sessions that ETW runs, by type. */

static void *create(
    enum etw_plan_kind kind, const void *settings, const struct input_env *env, struct error *err)
{
    struct etw_plan *plan = etw_plan_create(kind, settings, env, err);
    return plan ? etw_session_create(plan, env, &etw_session_timing, err) : NULL;
}

static enum input_end run(void *self, const struct input_sink *sink, struct error *err)
{
    return etw_session_run(self, sink, err);
}

static void stop(void *self)
{
    etw_session_stop(self);
}

static void destroy(void *self)
{
    etw_session_destroy(self);
}

static bool goes_on(const void *self, const void *next)
{
    return etw_session_goes_on(self, next);
}

static void pass_on(void *self)
{
    etw_session_pass_on(self);
}

static void write_takeover(void *self, struct buf *out)
{
    etw_session_write_takeover(self, out);
}

#define RUN_BY_ETW .needs_etw = true, .run = run, .stop = stop, .destroy = destroy

/* For sessions that the agent starts, and so may hand over to the next configuration. */
#define OWNED_BY_US \
    RUN_BY_ETW, .continues = goes_on, .leave_running = pass_on, .takeover = write_takeover

static void *create_realtime(const void *settings, const struct input_env *env, struct error *err)
{
    return create(ETW_PLAN_REALTIME, settings, env, err);
}

static struct input_live realtime_live(const void *settings)
{
    const struct live_realtime *s = settings;
    return (struct input_live){.session = &s->session};
}

const struct input_ops input_realtime = {
    .name = "realtime",
    .fields = live_options_realtime,
    .settings_size = sizeof(struct live_realtime),
    .switches_on = true,
    .providers = INPUT_PROVIDERS_REQUIRED,
    .check = live_options_check_realtime,
    .live = realtime_live,
    .create = create_realtime,
    .end_takeover = etw_session_end_takeover,
    OWNED_BY_US,
};

static void *create_system(const void *settings, const struct input_env *env, struct error *err)
{
    return create(ETW_PLAN_SYSTEM, settings, env, err);
}

static struct input_live kernel_live(const void *settings)
{
    const struct live_kernel *s = settings;
    return (struct input_live){.session = &s->session, .groups = &s->groups};
}

static bool has_no_flags(const void *settings)
{
    return ((const struct live_kernel *)settings)->groups.flags.count == 0;
}

const struct input_ops input_system = {
    .name = "system",
    .fields = live_options_system,
    .settings_size = sizeof(struct live_kernel),
    .switches_on = true,
    .kernel = true,
    .needs_providers = has_no_flags,
    .check = live_options_check_system,
    .live = kernel_live,
    .create = create_system,
    .end_takeover = etw_session_end_takeover,
    OWNED_BY_US,
};

static void *create_kernel(const void *settings, const struct input_env *env, struct error *err)
{
    return create(ETW_PLAN_KERNEL, settings, env, err);
}

const struct input_ops input_kernel = {
    .name = "kernel",
    .fields = live_options_kernel,
    .settings_size = sizeof(struct live_kernel),
    .providers = INPUT_PROVIDERS_NONE,
    .check = live_options_check_kernel,
    .live = kernel_live,
    .create = create_kernel,
    .end_takeover = etw_session_end_takeover,
    OWNED_BY_US,
};

static void *create_attach(const void *settings, const struct input_env *env, struct error *err)
{
    return create(ETW_PLAN_ATTACH, settings, env, err);
}

const struct input_ops input_attach = {
    .name = "attach",
    .fields = live_options_attach,
    .settings_size = sizeof(struct live_attach),
    .create = create_attach,
    RUN_BY_ETW,
};

static void *create_record(const void *settings, const struct input_env *env, struct error *err)
{
    return create(ETW_PLAN_RECORD, settings, env, err);
}

static bool record_delivers(const void *settings)
{
    return ((const struct live_record *)settings)->live;
}

static bool record_needs_providers(const void *settings)
{
    return ((const struct live_record *)settings)->groups.flags.count == 0;
}

static struct input_live record_live(const void *settings)
{
    const struct live_record *s = settings;
    return (struct input_live){.session = &s->session, .groups = &s->groups};
}

const struct input_ops input_record = {
    .name = "record",
    .fields = live_options_record,
    .settings_size = sizeof(struct live_record),
    .switches_on = true,
    .delivers = record_delivers,
    .needs_providers = record_needs_providers,
    .check = live_options_check_record,
    .live = record_live,
    .create = create_record,
    .end_takeover = etw_session_end_takeover,
    OWNED_BY_US,
};

static void *create_heap(const void *settings, const struct input_env *env, struct error *err)
{
    return create(ETW_PLAN_HEAP, settings, env, err);
}

static struct input_live heap_live(const void *settings)
{
    const struct live_heap *s = settings;
    return (struct input_live){.session = &s->session,
        .launch = s->launch,
        .launch_folder = s->folder,
        .launch_in_service = s->in_service};
}

const struct input_ops input_heap = {
    .name = "heap",
    .fields = live_options_heap,
    .settings_size = sizeof(struct live_heap),
    .is_alone = true,
    .providers = INPUT_PROVIDERS_NONE,
    .check = live_options_check_heap,
    .warnings = live_options_heap_warnings,
    .live = heap_live,
    .create = create_heap,
    .end_takeover = etw_targets_end_takeover,
    OWNED_BY_US,
};
