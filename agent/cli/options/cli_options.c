#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/append.h"
#include "base/text/nearest.h"
#include "cli/options/cli.h"
#include "config/config_value.h"

static const struct cli_option no_options[] = {{.name = NULL}};

static const struct cli_option *options_of(const struct cli_command *command)
{
    return command->options ? command->options : no_options;
}

/* ---- help ------------------------------------------------------------------------------------ */

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
    printf("\nEXIT STATUS\n       0  done\n       1  failed\n       2  wrong usage or "
           "configuration\n       3  finished, but something was damaged, undelivered or "
           "(--strict) undecoded\n          or unmatched; events that wait in the spool for the "
           "next run do not count as undelivered\n       130  ended by a second signal\n");
    if (command->examples) {
        printf("\nEXAMPLES\n%s", command->examples);
    }
}

/* ---- parsing --------------------------------------------------------------------------------- */

bool cli_next_word(const char **words, struct span *ret_word)
{
    if (!*words || !**words) {
        return false;
    }
    size_t size = strcspn(*words, "|");
    *ret_word = span_make(*words, size);
    *words += size + ((*words)[size] == '|');
    return true;
}

const char *cli_option_values(const struct cli_option *option)
{
    bool says = option->argument && strchr(option->argument, '|') &&
                !strpbrk(option->argument, "[ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return option->values ? option->values : says ? option->argument : NULL;
}

static bool usage(int *ret_exit)
{
    *ret_exit = EXIT_USAGE;
    return false;
}

/* True if ${value} is one of ${words}; else prints an error about ${what}. */
static bool check_word(const char *what, const char *value, const char *words)
{
    struct nearest nearest = {.text = span_text(value)};
    char known[512] = "";
    struct span word;
    while (cli_next_word(&words, &word)) {
        if (span_is(word, value)) {
            return true;
        }
        nearest_consider(&nearest, word);
        append_printf(known, sizeof(known), "%s%.*s", *known ? ", " : "", SPAN_ARG(word));
    }
    struct span meant = nearest_meant(&nearest);
    if (meant.size) {
        cli_error("%s: '%s' is not known. did you mean %.*s? known: %s", what, value,
            SPAN_ARG(meant), known);
    } else {
        cli_error("%s: '%s' is not known. use one of: %s", what, value, known);
    }
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

static void say_unknown(const struct cli_command *command, const char *text)
{
    bool is_long = text[1] == '-';
    size_t size = is_long ? strcspn(text, "=") : 2;
    struct nearest nearest = {.text = span_make(text + 2, size - 2)};
    for (const struct cli_option *o = options_of(command); is_long && o->name; o++) {
        nearest_consider(&nearest, span_text(o->name));
    }
    if (is_long) {
        nearest_consider(&nearest, span_text("help"));
    }
    struct span meant = nearest_meant(&nearest);
    if (meant.size) {
        cli_error("%s: unknown option %.*s. did you mean --%.*s?", command->name, (int)size, text,
            SPAN_ARG(meant));
    } else {
        cli_error("%s: unknown option %.*s. `etwship %s --help` lists all", command->name,
            (int)size, text, command->name);
    }
}

/* The option in ${text}, with its value if that is joined to it; NULL: none. */
static const struct cli_option *find_option(
    const struct cli_command *command, const char *text, const char **ret_value)
{
    *ret_value = NULL;
    if (text[0] != '-' || !text[1]) {
        return NULL;
    }
    if (text[1] == '-') {
        size_t size = strcspn(text + 2, "=");
        *ret_value = text[2 + size] == '=' ? text + 3 + size : NULL;
        return find_long(command, text + 2, size);
    }
    *ret_value = text[2] ? text + 2 + (text[2] == '=') : NULL;
    return find_short(command, text[1]);
}

/* The value of ${option} after argv[*i]; NULL, with an error printed, if there is none. A known
 * option there counts as an option, not as the value. */
static const char *next_value(const struct cli_command *command, const struct cli_option *option,
    int argc, char **argv, int *i)
{
    const char *joined;
    const char *next = *i + 1 < argc ? argv[*i + 1] : NULL;
    if (!next) {
        cli_error("%s: --%s needs a value: --%s %s", command->name, option->name, option->name,
            option->argument);
        return NULL;
    }
    if (find_option(command, next, &joined) || strcmp(next, "--help") == 0) {
        cli_error("%s: --%s needs a value, and %s is an option. if it is the value, write --%s=%s",
            command->name, option->name, next, option->name, next);
        return NULL;
    }
    ++*i;
    return next;
}

/* One option at argv[*i]; its value may be the next argument. */
static bool parse_option(struct cli_args *args, int argc, char **argv, int *i, int *ret_exit)
{
    const struct cli_command *command = args->command;
    const char *value = NULL;
    const struct cli_option *option = find_option(command, argv[*i], &value);
    if (!option) {
        say_unknown(command, argv[*i]);
        return usage(ret_exit);
    }
    if (!option->argument && value) {
        cli_error("%s: --%s takes no value", command->name, option->name);
        return usage(ret_exit);
    }
    if (option->argument && !value) {
        value = next_value(command, option, argc, argv, i);
    }
    char what[64];
    snprintf(what, sizeof(what), "--%s", option->name);
    const char *values = cli_option_values(option);
    if (option->argument && (!value || (values && !check_word(what, value, values)))) {
        return usage(ret_exit);
    }
    take(args, option, option->argument ? value : "");
    return true;
}

static bool check_operands(struct cli_args *args, int *ret_exit)
{
    const struct cli_command *command = args->command;
    if (args->operand_count < command->operands.min) {
        cli_error("%s: %s is missing. write etwship %s %s", command->name, command->operands.name,
            command->name, command->synopsis);
        return usage(ret_exit);
    }
    if (command->verbs && args->operand_count &&
        !check_word(command->name, args->operands[0], command->verbs)) {
        return usage(ret_exit);
    }
    if (args->operand_count > command->operands.max) {
        cli_error("%s: unexpected argument '%s'. write etwship %s %s", command->name,
            args->operands[command->operands.max], command->name, command->synopsis);
        return usage(ret_exit);
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
        cli_error("--%s: '%s' is not a number from 1 on", name, text);
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
        cli_error("--%s %s: the duration is 0. leave the option out for no limit", name, text);
        return false;
    }
    *ret_ns = ns;
    return true;
}
