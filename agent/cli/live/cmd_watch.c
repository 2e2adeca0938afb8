#include "cli/live/live_run.h"
#include "cli/options/trace_options.h"
#include "cli/options/where.h"

/* `etwship watch`: show live events of providers. */

// clang-format off
static const struct cli_option options[] = {
    LIVE_RUN_OPTIONS,
    LIVE_RUN_LOG_OPTION,
    {.name = "where", .argument = "EXPR",
        .help = "Only events for which the expression is true, as in \"event.level <= 3\"."},
    {.name = "max-events", .letter = 'n', .argument = "N", .help = "Stop after N events."},
    {.name = "format", .letter = 'f', .argument = "native|ecs",
        .help = "Shape of the events: native (the default), or ecs."},
    {.name = "pretty", .help = "For people: a line per event and one per value."},
    {.name = "schema", .argument = "PATH", .repeated = true,
        .help = "Use the event layouts of this manifest or schema pack, or of all below this folder, before those of Windows."},
    {.name = NULL},
};
// clang-format on

static bool take(const struct cli_args *args, const char **lists,
    struct live_run_settings *settings, int *ret_exit)
{
    struct where where;
    *ret_exit = EXIT_USAGE;
    settings->where = cli_value(args, "where");
    settings->format = cli_value(args, "format");
    settings->pretty = cli_value(args, "pretty") != NULL;
    settings->schemas = lists + (size_t)3 * LIVE_RUN_MAX_NAMES;
    settings->schema_count = cli_values(
        args, "schema", lists + (size_t)3 * LIVE_RUN_MAX_NAMES, LIVE_RUN_MAX_NAMES);
    if (!cli_count(args, "max-events", &settings->max_events)) {
        return false;
    }
    bool good = where_init(&where, settings->where, NULL, ret_exit);
    where_fini(&where);
    return good && trace_options_are_schemas(settings->schemas, settings->schema_count, ret_exit) &&
           live_run_take(args, lists, true, settings, ret_exit);
}

static int run(const struct cli_args *args)
{
    static const char *lists[4 * LIVE_RUN_MAX_NAMES];
    struct live_run_settings settings = {.name = args->command->name};
    int exit_code;
    if (take(args, lists, &settings, &exit_code)) {
        exit_code = live_run(&settings);
    }
    return exit_code;
}

const struct cli_command cmd_watch = {
    .name = "watch",
    .synopsis =
        "-p PROVIDER... | -k FLAG... | --log CHANNEL... [--where EXPR] [-n N] [--duration D]",
    .summary = "show live events",
    .description = "Enables the providers in a session of its own and writes their decoded events "
                   "as lines of JSON to standard output until Ctrl-C, -n or --duration ends it. "
                   "The session is always stopped. With --log it shows new events of Event Log "
                   "channels instead. Layouts come from the events themselves, from --schema, and "
                   "from this machine. Losses are events of their own.\n"
                   "Needs Windows, and the right to trace: administrator, or, without kernel "
                   "events, Performance Log Users.",
    .options = options,
    .examples = "       etwship watch --pretty -p Microsoft-Windows-DNS-Client\n"
                "       etwship watch -k process -n 10\n"
                "       etwship watch --log Security --where \"event.code in (4624, 4625)\"\n"
                "       etwship watch -p Microsoft-Windows-Kernel-Process:4:1 --where "
                "\"data.ImageName endswith '\\cmd.exe'\"\n",
    .run = run,
};
