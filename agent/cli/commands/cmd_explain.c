#include "base/visible.h"
#include "cli/options/config_options.h"
#include "cli/text/explain.h"
#include "platform/plat_file.h"

/* `etwship explain`: which filters Windows applies, and which the agent applies. */

enum { MAX_OUTPUT_BYTES = 64 * 1024 * 1024 };

// clang-format off
static const struct cli_option options[] = {
    CLI_OPTIONS_CONFIG,
    {.name = "session", .argument = "NAME", .help = "Only this session."},
    {.name = "json", .help = "Print one JSON object instead of text."},
    {.name = NULL},
};
// clang-format on

static bool print(
    const struct cli_args *args, const struct explain *explain, size_t session, struct error *err)
{
    struct buf out;
    buf_init(&out, MAX_OUTPUT_BYTES);
    bool good = cli_value(args, "json") ? explain_write_json(explain, session, &out)
                                        : explain_write(explain, session, "", &out);
    visible_make(&out, 0);
    good = (good && !out.failed) || error_set(err, ERR_LIMIT, "the text is too long to print");
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
    if (!explain_init(&explain, config, cli_warn, &err)) {
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

const struct cli_command cmd_explain = {
    .name = "explain",
    .synopsis = "[-c FILE] [--set KEY=VALUE]... [--session NAME] [--json]",
    .summary = "show which filters Windows applies and which the agent applies",
    .description =
        "For each provider of a live session: the call of EnableTraceEx2 in words, with level, "
        "keywords, events, processes and values as its entry and the rules together want it; then "
        "the parts of the rules that ETW cannot apply, and why. For other sessions: the rules that "
        "the agent decides by the header of an event alone.\n"
        "It enables nothing, and works on every system. It takes the events of a provider from its "
        "manifest on this machine, else from the definitions that `schema` names.",
    .options = options,
    .examples = "       etwship explain -c etwship.yaml --session security\n",
    .run_configured = show,
};
