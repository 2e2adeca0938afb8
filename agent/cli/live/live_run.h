#ifndef ETWSHIP_CLI_LIVE_RUN_H
#define ETWSHIP_CLI_LIVE_RUN_H

#include "cli/options/cli.h"
#include "input/live/kernel_flags.h"
#include "outputs/output.h"

/*
 * A live session from the command line: `watch` and `record`. It runs the agent with a
 * configuration of one session, made in memory. The session `etwship-NAME-PID` is always stopped at
 * the end.
 */
enum { LIVE_RUN_MAX_NAMES = 256 };

struct live_run_settings {
    const char *name;   /* of the command */
    const char *record; /* the trace file that ETW writes; NULL: events go to standard output */
    const char *const *providers;
    size_t provider_count;
    const char *const *flags; /* of kernel events */
    size_t flag_count;
    const char *const *logs; /* channels of the Event Log, in place of the two above */
    size_t log_count;
    const char *const *schemas; /* files and folders */
    size_t schema_count;
    const char *where;  /* NULL: all events */
    const char *format; /* "native" or "ecs" */
    bool pretty;
    const struct output_ops *output; /* output for the events, without settings; NULL: as above */
    struct span pack;                /* definitions of events, as a schema pack; empty: none */
    struct span tmf;                 /* definitions of WPP messages, as trace message formats;
                                        empty: none */
    uint64_t max_events;             /* maximum number of written events; 0: no limit */
    uint64_t duration_ns;            /* 0: no limit */
};

/* Options that both commands have. */
#define LIVE_RUN_OPTIONS                                                                         \
    {.name = "provider",                                                                         \
        .letter = 'p',                                                                           \
        .argument = "PROVIDER",                                                                  \
        .repeated = true,                                                                        \
        .help = "Switch this provider on: (Name|GUID)[:Level[:EventIDs[:AnyKeywords"             \
                "[:AllKeywords]]]]. Ids may be ranges and are joined by , or + (1+5-9)."},       \
        {.name = "kernel-flag",                                                                  \
            .letter = 'k',                                                                       \
            .argument = "FLAG",                                                                  \
            .known = kernel_flags_name,                                                          \
            .repeated = true,                                                                    \
            .help = "Switch this group of kernel events on, as in process or disk_io."},         \
    {                                                                                            \
        .name = "duration", .argument = "D", .help = "Stop after this time, as in 90s or 1h30m." \
    }

/* Option of `watch` only, with channels in place of providers. */
#define LIVE_RUN_LOG_OPTION                                                                    \
    {                                                                                          \
        .name = "log", .argument = "CHANNEL", .repeated = true,                                \
        .help = "In place of providers: what comes to this channel of the Windows Event Log, " \
                "as in Security. * and ? match any."                                           \
    }

/* Read these options, and check them together with the settings. False: *ret_exit is the exit code,
 * errors are printed. ${lists}: room for 3 * LIVE_RUN_MAX_NAMES texts, which outlive the
 * settings. */
bool live_run_take(const struct cli_args *args, const char **lists, bool takes_logs,
    struct live_run_settings *settings, int *ret_exit);

/* Run it to its end: the exit code. */
int live_run(const struct live_run_settings *settings);

#endif
