#include "cli/live/live_run.h"
#include "platform/plat_file.h"

/* `etwship record`: let ETW write a trace file. */

// clang-format off
static const struct cli_option options[] = {
    LIVE_RUN_OPTIONS,
    {.name = "output", .letter = 'o', .argument = "FILE.etl", .help = "The trace file to write."},
    {.name = NULL},
};
// clang-format on

static int run(const struct cli_args *args)
{
    static const char *lists[2 * LIVE_RUN_MAX_NAMES];
    struct live_run_settings settings = {.name = args->command->name};
    int exit_code;
    settings.record = cli_value(args, "output");
    if (!settings.record) {
        cli_error("record: --output FILE.etl is missing");
        exit_code = EXIT_USAGE;
    } else if (live_run_take(args, lists, false, &settings, &exit_code)) {
        exit_code = live_run(&settings);
        if (exit_code == EXIT_DONE && plat_path_kind(settings.record) == PLAT_PATH_NONE) {
            cli_error("record: no %s was written", settings.record);
            exit_code = EXIT_FAILED;
        }
    }
    return exit_code;
}

const struct cli_command cmd_record = {
    .name = "record",
    .synopsis = "-p PROVIDER... [-k FLAG]... [--duration D] -o FILE.etl",
    .summary = "record live events into a trace file",
    .description =
        "Enables the providers in a session of its own. Windows writes its events to the file "
        "until Ctrl-C or the end of --duration. The session is always stopped. `etwship dump` "
        "reads the file, here or anywhere.\n"
        "Needs Windows, and the right to trace: administrator, or, without kernel events, "
        "Performance Log Users.",
    .options = options,
    .examples = "       etwship record -p Microsoft-Windows-DNS-Client --duration 1m -o dns.etl\n"
                "       etwship record -k process -k image_load -o boot.etl\n",
    .run = run,
};
