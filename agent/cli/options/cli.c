#include "cli/options/cli.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text/nearest.h"
#include "base/visible.h"

static const struct cli_command *const commands[] = {&cmd_run, &cmd_check, &cmd_explain, &cmd_watch,
    &cmd_record, &cmd_dump, &cmd_stat, &cmd_providers, &cmd_schema, &cmd_sessions, &cmd_eventlog,
    &cmd_service, &cmd_autologger, &cmd_setup, &cmd_test_output, &cmd_status, &cmd_top, &cmd_tap,
    &cmd_spool, &cmd_deadletter, &cmd_secret, &cmd_selftest, &cmd_support, &cmd_completion,
    &cmd_version};

const struct cli_command *cli_command_at(size_t index)
{
    return index < sizeof(commands) / sizeof(commands[0]) ? commands[index] : NULL;
}

enum { MAX_LINE_BYTES = 4096 };

static struct {
    void (*hear)(void *self, bool is_warning, const char *text);
    void *self;
} listener;

void cli_listen(void (*hear)(void *self, bool is_warning, const char *text), void *self)
{
    listener.hear = hear;
    listener.self = self;
}

void cli_lines(bool are_warnings, struct span lines)
{
    struct buf shown;
    buf_init(&shown, 8 * lines.size + 2);
    buf_add_span(&shown, lines);
    visible_make(&shown, 0);
    fwrite(shown.data, 1, shown.size, stderr);
    buf_add_byte(&shown, 0);
    if (listener.hear && lines.size && !shown.failed) {
        listener.hear(listener.self, are_warnings, (const char *)shown.data);
    }
    buf_fini(&shown);
}

static void say(bool is_warning, const char *what)
{
    struct buf line;
    buf_init(&line, 8 * MAX_LINE_BYTES);
    buf_printf(&line, "etwship: %s", is_warning ? "warning: " : "");
    size_t start = line.size;
    buf_add_text(&line, what);
    visible_make_line(&line, start);
    buf_add_byte(&line, 0);
    if (listener.hear && !line.failed) {
        listener.hear(listener.self, is_warning, (const char *)line.data + start);
    }
    if (!line.failed) {
        line.data[line.size - 1] = '\n';
    }
    fwrite(line.data, 1, line.size, stderr);
    buf_fini(&line);
}

void cli_error(const char *format, ...)
{
    char what[MAX_LINE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    say(false, what);
}

void cli_warning(const char *format, ...)
{
    char what[MAX_LINE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    say(true, what);
}

static void print_overview(FILE *to)
{
    fputs("usage: etwship COMMAND [OPTION]... [ARGUMENT]...\n\n"
          "Reads Event Tracing for Windows (ETW) and ships every event as JSON.\n\n",
        to);
    for (size_t i = 0; cli_command_at(i); i++) {
        fprintf(to, "  %-11s %s\n", commands[i]->name, commands[i]->summary);
    }
    fputs("\n`etwship COMMAND --help` describes each. `etwship --version`, or -V, prints the "
          "version.\n",
        to);
}

int cli_run(const struct cli_command *command, int argc, char **argv)
{
    if (command->main) {
        return command->main(command, argc, argv);
    }
    struct cli_args args;
    int exit_code;
    if (cli_parse(command, argc, argv, &args, &exit_code)) {
        exit_code = command->run(&args);
        cli_args_fini(&args);
    }
    return exit_code;
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
    for (size_t i = 0; cli_command_at(i); i++) {
        if (strcmp(name, commands[i]->name) == 0) {
            return cli_run(commands[i], argc - 1, argv + 1);
        }
        nearest_consider(&nearest, span_text(commands[i]->name));
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
