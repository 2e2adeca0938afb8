#include "base/visible.h"
#include "cli/options/config_options.h"
#include "cli/text/explain.h"
#include "platform/plat_file.h"

/* `etwship explain`: what does Windows get to do, and what is left to the agent? */

enum { MAX_OUTPUT_BYTES = 64 * 1024 * 1024 };

// clang-format off
static const struct cli_option options[] = {
    CLI_OPTIONS_CONFIG,
    {.name = "session", .argument = "NAME", .help = "This session alone."},
    {.name = "json", .help = "One JSON object instead of words."},
    {.name = NULL},
};
// clang-format on

static void warn(void *self, const char *text)
{
    (void)self;
    cli_warning("%s", text);
}

static bool print(
    const struct cli_args *args, const struct explain *explain, size_t session, struct error *err)
{
    struct buf out;
    buf_init(&out, MAX_OUTPUT_BYTES);
    bool good = cli_value(args, "json") ? explain_write_json(explain, session, &out)
                                        : explain_write(explain, session, "", &out);
    visible_make(&out, 0);
    good = (good && !out.failed) || error_set(err, ERR_LIMIT, "too much to print");
    good = good &&
           (plat_file_write(plat_file_stdout(), buf_span(&out), err) || err->code == ERR_STOPPED);
    buf_fini(&out);
    return good;
}

static int show(const struct cli_args *args, const struct app_config *config)
{
    struct explain explain;
    struct error err;
    const char *name = cli_value(args, "session");
    int exit_code = EXIT_FAILED;
    if (!explain_init(&explain, config, warn, &err)) {
        cli_error("%s", err.text);
    } else if (name && explain_find(&explain, name) == SIZE_MAX) {
        cli_error("no session %s is enabled. `etwship check` lists them", name);
        exit_code = EXIT_USAGE;
    } else if (!print(args, &explain, name ? explain_find(&explain, name) : SIZE_MAX, &err)) {
        cli_error("%s", err.text);
    } else {
        exit_code = EXIT_DONE;
    }
    explain_fini(&explain);
    return exit_code;
}

static int run(const struct cli_args *args)
{
    return config_options_run(args, show);
}

const struct cli_command cmd_explain = {
    .name = "explain",
    .synopsis = "[-c FILE] [--set KEY=VALUE]... [--session NAME] [--json]",
    .summary = "say what Windows is asked for, and what is left to the agent",
    .description =
        "For each provider of a live session the call of EnableTraceEx2 in words: level, keywords, "
        "events, processes and values, as its entry and the rules together want it; then what of "
        "the rules ETW cannot do, and why. Of other sessions: which rules the header of an event "
        "decides, before anything else is looked at.\n"
        "Nothing is switched on, and it works on every system. What a provider writes is known "
        "from "
        "its manifest on this machine, else from the definitions that `schema` names.",
    .options = options,
    .examples = "       etwship explain -c etwship.yaml --session security\n",
    .min_operands = 0,
    .max_operands = 0,
    .run = run,
};
