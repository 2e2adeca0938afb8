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
