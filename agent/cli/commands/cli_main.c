#include "cli/commands/cli_main.h"

#include <stdio.h>

#include "base/text/nearest.h"

const struct cli_command *const cli_main_commands[] = {&cmd_run, &cmd_check, &cmd_explain,
    &cmd_watch, &cmd_record, &cmd_dump, &cmd_stat, &cmd_providers, &cmd_schema, &cmd_sessions,
    &cmd_eventlog, &cmd_service, &cmd_autologger, &cmd_setup, &cmd_test_output, &cmd_status,
    &cmd_top, &cmd_tap, &cmd_spool, &cmd_deadletter, &cmd_secret, &cmd_selftest, &cmd_support,
    &cmd_completion, &cmd_version, NULL};

static void print_overview(FILE *to)
{
    fputs("usage: etwship COMMAND [OPTION]... [ARGUMENT]...\n\n"
          "Reads Event Tracing for Windows (ETW) and ships every event as JSON.\n\n",
        to);
    for (size_t i = 0; cli_main_commands[i]; i++) {
        fprintf(to, "  %-11s %s\n", cli_main_commands[i]->name, cli_main_commands[i]->summary);
    }
    fputs("\n`etwship COMMAND --help` describes each. `etwship --version`, or -V, prints the "
          "version.\n",
        to);
}

int cli_main(int argc, char **argv)
{
    if (argc < 2) {
        print_overview(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_overview(stdout);
        return EXIT_DONE;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        name = cmd_version.name;
    }
    struct nearest nearest = {.text = span_text(name)};
    for (size_t i = 0; cli_main_commands[i]; i++) {
        if (strcmp(name, cli_main_commands[i]->name) == 0) {
            return cli_run(cli_main_commands[i], argc - 1, argv + 1);
        }
        nearest_consider(&nearest, span_text(cli_main_commands[i]->name));
    }
    nearest_consider(&nearest, span_text("--help"));
    nearest_consider(&nearest, span_text("--version"));
    struct span meant = nearest_meant(&nearest);
    if (meant.size) {
        cli_error("unknown command '%s'. did you mean %.*s?", name, SPAN_ARG(meant));
    } else {
        cli_error("unknown command '%s'. `etwship --help` lists all", name);
    }
    return EXIT_USAGE;
}
