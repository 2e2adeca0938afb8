#include "cli/options/cli.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/visible.h"
#include "cli/options/config_options.h"

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

static void say(bool is_warning, const char *format, va_list args)
{
    char what[MAX_LINE_BYTES];
    struct buf line;
    vsnprintf(what, sizeof(what), format, args);
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
    va_list args;
    va_start(args, format);
    say(false, format, args);
    va_end(args);
}

void cli_warning(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(true, format, args);
    va_end(args);
}

bool cli_fail(const struct error *err)
{
    cli_error("%s", err->text);
    return false;
}

void cli_warn(void *self, const char *text)
{
    (void)self;
    cli_warning("%s", text);
}

static int run(const struct cli_command *command, const struct cli_args *args)
{
    struct app_config config;
    if (command->run) {
        return command->run(args);
    }
    if (!config_options_load(args, &config)) {
        return EXIT_USAGE;
    }
    int exit_code = command->run_configured(args, &config);
    app_config_fini(&config);
    return exit_code;
}

int cli_run(const struct cli_command *command, int argc, char **argv)
{
    if (command->main) {
        return command->main(command, argc, argv);
    }
    struct cli_args args;
    int exit_code;
    if (cli_parse(command, argc, argv, &args, &exit_code)) {
        exit_code = run(command, &args);
        cli_args_fini(&args);
    }
    return exit_code;
}
