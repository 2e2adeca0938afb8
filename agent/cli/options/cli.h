#ifndef ETWSHIP_CLI_CLI_H
#define ETWSHIP_CLI_CLI_H

#include "base/error.h"
#include "base/span.h"

/*
 * The command line: a table of commands, one file each, and shared functions. Only this layer and
 * main.c print.
 */
enum exit_code {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,   /* usage or configuration */
    EXIT_LOSSES = 3,  /* finished, but something was damaged, undelivered or undecoded */
    EXIT_KILLED = 130 /* ended by a second signal */
};

/* One option. A table ends with a row without a name. */
struct cli_option {
    const char *name; /* long form without dashes */
    char letter;      /* short form, or 0 */
    const char
        *argument; /* name of its value, for the help; NULL: a flag. `a|b|c` in lower case: one of
                     these */
    const char *values; /* allowed values as a|b|c, unless `argument` lists them */
    const char *(*known)(
        size_t index); /* suggested values for completion, NULL after the last; others are allowed
                          */
    bool repeated;
    const char *help;
};

struct cli_args;
struct app_config;

struct cli_command {
    const char *name;
    const char *synopsis; /* after the name */
    const char *summary;  /* a line */
    const char *description;
    const struct cli_option *options; /* --help is added */
    const char *examples;             /* lines, indented by the printer */
    const char *verbs;                /* the first operand is one of these, as in a|b|c; or NULL */
    struct {                          /* zero: it takes none */
        const char *name;             /* of the missing one, if there are fewer than min */
        size_t min;
        size_t max;
    } operands;
    int (*run)(const struct cli_args *args); /* the exit code */
    /* Replaces run in a command with a configuration: it is loaded, or its errors are printed. */
    int (*run_configured)(const struct cli_args *args, const struct app_config *config);
    /* Replaces run in a command that parses its arguments itself: argv[0] is its name. */
    int (*main)(const struct cli_command *command, int argc, char **argv);
};

enum { CLI_MAX_OPTIONS = 40, CLI_MAX_VALUES = 4096 };

/* The user's arguments. Everything points into argv. */
struct cli_args {
    const struct cli_command *command;
    const char *flags[CLI_MAX_OPTIONS]; /* last value by row of the table; "" for flags */
    const char **values;                /* repeated options: option row and value, in order */
    uint8_t *value_rows;
    size_t value_count;
    const char **operands;
    size_t operand_count;
};

/*
 * Parse the arguments after the command's name; argv[0] is the name. Options may stand anywhere,
 * `--` ends them. --help prints the page. False: *ret_exit is the exit code, errors are printed.
 */
bool cli_parse(const struct cli_command *command, int argc, char **argv, struct cli_args *ret_args,
    int *ret_exit);
void cli_args_fini(struct cli_args *args);

/* The allowed values of ${option} as a|b|c; NULL: any. */
const char *cli_option_values(const struct cli_option *option);

/* Remove the first word of ${words}, as in a|b|c; false: none left. */
bool cli_next_word(const char **words, struct span *ret_word);

/* Value of the option ${name}: NULL if it was not given, "" for a flag. */
const char *cli_value(const struct cli_args *args, const char *name);

/* All values of a repeated option, at most ${max}; how many. */
size_t cli_values(
    const struct cli_args *args, const char *name, const char **ret_values, size_t max);

/* A number that must be at least 1, or 0 if the option was not given. */
bool cli_count(const struct cli_args *args, const char *name, uint64_t *ret_count);

/* A duration as in 90s, in ns and not 0, or 0 if the option was not given. */
bool cli_duration(const struct cli_args *args, const char *name, uint64_t *ret_ns);

/* `etwship: text` on stderr. */
void cli_error(const char *format, ...) ETWSHIP_PRINTF(1, 2);
void cli_warning(const char *format, ...) ETWSHIP_PRINTF(1, 2);

/* An error with the text of ${err}. False. */
bool cli_fail(const struct error *err);

/* A warning, for code that gets a function to warn with. */
void cli_warn(void *self, const char *text);

/* Finished lines of errors or warnings, on stderr. */
void cli_lines(bool are_warnings, struct span lines);

/* A second receiver of these messages for a service, which has no stderr: ${text} without `etwship:
 * `, or lines. NULL: none. Called on the thread that reports. */
void cli_listen(void (*hear)(void *self, bool is_warning, const char *text), void *self);

/* Parse the arguments and run the command; its exit code. argv[0] is its name. */
int cli_run(const struct cli_command *command, int argc, char **argv);

/* The commands, each in a file of its name. */
extern const struct cli_command cmd_run;
extern const struct cli_command cmd_check;
extern const struct cli_command cmd_explain;
extern const struct cli_command cmd_status;
extern const struct cli_command cmd_top;
extern const struct cli_command cmd_tap;
extern const struct cli_command cmd_watch;
extern const struct cli_command cmd_record;
extern const struct cli_command cmd_dump;
extern const struct cli_command cmd_selftest;
extern const struct cli_command cmd_stat;
extern const struct cli_command cmd_providers;
extern const struct cli_command cmd_schema;
extern const struct cli_command cmd_sessions;
extern const struct cli_command cmd_eventlog;
extern const struct cli_command cmd_service;
extern const struct cli_command cmd_autologger;
extern const struct cli_command cmd_setup;
extern const struct cli_command cmd_test_output;
extern const struct cli_command cmd_spool;
extern const struct cli_command cmd_deadletter;
extern const struct cli_command cmd_secret;
extern const struct cli_command cmd_support;
extern const struct cli_command cmd_completion;
extern const struct cli_command cmd_version;

#endif
