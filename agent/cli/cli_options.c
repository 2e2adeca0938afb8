#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "config/config_value.h"

static const struct cli_option no_options[] = {{.name = NULL}};

static const struct cli_option *options_of(const struct cli_command *command)
{
    return command->options ? command->options : no_options;
}

/* ---- help ---------------------------------------------------------------------------------------- */

/* Indented by 7 and filled to 78 columns; an empty line in ${text} ends a paragraph. */
static void print_paragraphs(const char *text, int indent)
{
    int column = 0;
    while (*text) {
        if (*text == '\n') {
            fputs(column ? "\n\n" : "\n", stdout);
            column = 0;
            text++;
            continue;
        }
        int size = (int)strcspn(text, " \n");
        if (column && column + 1 + size > 78) {
            putchar('\n');
            column = 0;
        }
        column += column ? printf(" %.*s", size, text) : printf("%*s%.*s", indent, "", size, text);
        text += size;
        text += *text == ' ';
    }
    putchar('\n');
}

static void print_option(const struct cli_option *option)
{
    char short_form[8] = "";
    if (option->letter) {
        snprintf(short_form, sizeof(short_form), "-%c, ", option->letter);
    }
    printf("       %s--%s%s%s%s\n", short_form, option->name, option->argument ? " " : "",
        option->argument ? option->argument : "", option->repeated ? " (may be repeated)" : "");
    print_paragraphs(option->help, 14);
}

static void print_help(const struct cli_command *command)
{
    static const struct cli_option help = {
        .name = "help", .letter = 'h', .help = "Print this page."};
    printf("NAME\n       etwship %s - %s\n\n", command->name, command->summary);
    printf("SYNOPSIS\n       etwship %s %s\n\nDESCRIPTION\n", command->name, command->synopsis);
    print_paragraphs(command->description, 7);
    printf("\nOPTIONS\n");
    for (const struct cli_option *o = options_of(command); o->name; o++) {
        print_option(o);
    }
    print_option(&help);
    printf("\nEXIT STATUS\n"
           "       0  done\n"
           "       1  failed\n"
           "       2  wrong usage or configuration\n"
           "       3  finished, but something was damaged, undelivered or (--strict) undecoded;\n"
           "          what waits in the spool for the next run is not undelivered\n"
           "       130  ended by a second signal\n");
    if (command->examples) {
        printf("\nEXAMPLES\n%s", command->examples);
    }
}

/* ---- parsing ----------------------------------------------------------------------------------------- */

static bool usage(const struct cli_command *command, int *ret_exit)
{
    fprintf(stderr, "usage: etwship %s %s\n", command->name, command->synopsis);
    *ret_exit = EXIT_USAGE;
    return false;
}

static const struct cli_option *find_long(
    const struct cli_command *command, const char *name, size_t size)
{
    for (const struct cli_option *o = options_of(command); o->name; o++) {
        if (strlen(o->name) == size && strncmp(o->name, name, size) == 0) {
            return o;
        }
    }
    return NULL;
}

static const struct cli_option *find_short(const struct cli_command *command, char letter)
{
    for (const struct cli_option *o = options_of(command); o->name; o++) {
        if (o->letter == letter) {
            return o;
        }
    }
    return NULL;
}

static void take(struct cli_args *args, const struct cli_option *option, const char *value)
{
    size_t row = (size_t)(option - options_of(args->command));
    args->flags[row] = value;
    args->values[args->value_count] = value;
    args->value_rows[args->value_count++] = (uint8_t)row;
}

/* One option at argv[*i]; its value may be the next argument. */
static bool parse_option(struct cli_args *args, int argc, char **argv, int *i, int *ret_exit)
{
    const char *text = argv[*i];
    const char *inline_value = NULL;
    const struct cli_option *option;
    if (text[1] == '-') {
        size_t size = strcspn(text + 2, "=");
        option = find_long(args->command, text + 2, size);
        inline_value = text[2 + size] == '=' ? text + 3 + size : NULL;
    } else {
        option = find_short(args->command, text[1]);
        inline_value = text[2] ? text + 2 + (text[2] == '=') : NULL;
    }
    if (!option) {
        cli_error("unknown option %s", text);
        return usage(args->command, ret_exit);
    }
    if (!option->argument) {
        if (inline_value) {
            cli_error("--%s takes no value", option->name);
            return usage(args->command, ret_exit);
        }
        take(args, option, "");
        return true;
    }
    if (!inline_value && *i + 1 >= argc) {
        cli_error("--%s needs a value: %s", option->name, option->argument);
        return usage(args->command, ret_exit);
    }
    take(args, option, inline_value ? inline_value : argv[++*i]);
    return true;
}

static bool check_operands(struct cli_args *args, int *ret_exit)
{
    const struct cli_command *command = args->command;
    if (args->operand_count < command->min_operands) {
        cli_error("%s: %s is missing", command->name, command->operand);
        return usage(command, ret_exit);
    }
    if (args->operand_count > command->max_operands) {
        cli_error("%s: too much: '%s'", command->name, args->operands[command->max_operands]);
        return usage(command, ret_exit);
    }
    return true;
}

bool cli_parse(const struct cli_command *command, int argc, char **argv, struct cli_args *ret_args,
    int *ret_exit)
{
    struct cli_args args = {.command = command};
    args.values = calloc((size_t)argc, sizeof(*args.values));
    args.value_rows = calloc((size_t)argc, sizeof(*args.value_rows));
    args.operands = calloc((size_t)argc, sizeof(*args.operands));
    bool ok = args.values && args.value_rows && args.operands;
    if (!ok) {
        cli_error("out of memory");
        *ret_exit = EXIT_FAILED;
    }
    bool options_end = false;
    for (int i = 1; ok && i < argc; i++) {
        const char *text = argv[i];
        if (!options_end && (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0)) {
            print_help(command);
            *ret_exit = EXIT_DONE;
            ok = false;
        } else if (!options_end && strcmp(text, "--") == 0) {
            options_end = true;
        } else if (!options_end && text[0] == '-' && text[1]) {
            ok = parse_option(&args, argc, argv, &i, ret_exit);
        } else {
            args.operands[args.operand_count++] = text;
        }
    }
    ok = ok && check_operands(&args, ret_exit);
    if (!ok) {
        cli_args_fini(&args);
        return false;
    }
    *ret_args = args;
    return true;
}

void cli_args_fini(struct cli_args *args)
{
    free(args->values);
    free(args->value_rows);
    free(args->operands);
    *args = (struct cli_args){.command = args->command};
}

const char *cli_value(const struct cli_args *args, const char *name)
{
    const struct cli_option *options = options_of(args->command);
    for (size_t row = 0; options[row].name; row++) {
        if (strcmp(options[row].name, name) == 0) {
            return args->flags[row];
        }
    }
    return NULL;
}

size_t cli_values(
    const struct cli_args *args, const char *name, const char **ret_values, size_t max)
{
    const struct cli_option *options = options_of(args->command);
    size_t count = 0;
    for (size_t i = 0; i < args->value_count && count < max; i++) {
        if (strcmp(options[args->value_rows[i]].name, name) == 0) {
            ret_values[count++] = args->values[i];
        }
    }
    return count;
}

bool cli_count(const struct cli_args *args, const char *name, uint64_t *ret_count)
{
    const char *text = cli_value(args, name);
    *ret_count = 0;
    if (!text) {
        return true;
    }
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || value == 0) {
        cli_error("--%s %s: not a number from 1 on", name, text);
        return false;
    }
    *ret_count = value;
    return true;
}

bool cli_duration(const struct cli_args *args, const char *name, uint64_t *ret_ns)
{
    const char *text = cli_value(args, name);
    struct error err;
    uint64_t ns = 0;
    if (text && !config_value_duration(span_text(text), &ns, &err)) {
        cli_error("--%s: %s", name, err.text);
        return false;
    }
    if (text && ns == 0) {
        cli_error("--%s %s: no time at all. leave the option out for no limit", name, text);
        return false;
    }
    *ret_ns = ns;
    return true;
}
