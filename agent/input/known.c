#include "input/input.h"
#include "input/live_options.h"

/* What known.def lists: keys without an input behind them. */

const struct input_ops input_heap = {
    .name = "heap",
    .fields = live_options_heap,
    .settings_size = sizeof(struct live_heap),
    .needs_etw = true,
    .providers = INPUT_PROVIDERS_NONE,
    .check = live_options_check_heap,
};

const struct input_ops input_realtime = {
    .name = "realtime",
    .fields = live_options_realtime,
    .settings_size = sizeof(struct live_realtime),
    .needs_etw = true,
    .switches_on = true,
    .providers = INPUT_PROVIDERS_REQUIRED,
    .check = live_options_check_realtime,
};

static bool has_no_flags(const void *settings)
{
    return ((const struct live_kernel *)settings)->groups.flags.count == 0;
}

const struct input_ops input_system = {
    .name = "system",
    .fields = live_options_system,
    .settings_size = sizeof(struct live_kernel),
    .needs_etw = true,
    .switches_on = true,
    .needs_providers = has_no_flags,
    .check = live_options_check_kernel,
};

const struct input_ops input_kernel = {
    .name = "kernel",
    .fields = live_options_kernel,
    .settings_size = sizeof(struct live_kernel),
    .needs_etw = true,
    .providers = INPUT_PROVIDERS_NONE,
    .check = live_options_check_kernel,
};

const struct input_ops input_attach = {
    .name = "attach",
    .fields = live_options_attach,
    .settings_size = sizeof(struct live_attach),
    .needs_etw = true,
};

static bool record_delivers(const void *settings)
{
    return ((const struct live_record *)settings)->live;
}

static bool record_needs_providers(const void *settings)
{
    return ((const struct live_record *)settings)->groups.flags.count == 0;
}

const struct input_ops input_record = {
    .name = "record",
    .fields = live_options_record,
    .settings_size = sizeof(struct live_record),
    .needs_etw = true,
    .switches_on = true,
    .delivers = record_delivers,
    .needs_providers = record_needs_providers,
    .check = live_options_check_record,
};
