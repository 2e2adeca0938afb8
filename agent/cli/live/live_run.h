#ifndef ETWSHIP_CLI_LIVE_RUN_H
#define ETWSHIP_CLI_LIVE_RUN_H

#include "cli/options/cli.h"
#include "input/live/kernel_flags.h"
#include "outputs/output.h"

/*
 * A live session from the command line: `watch` and `record`. It is the agent with a configuration
 * of one session that is made in memory, and the session `etwship-NAME-PID` is stopped however it
 * ends.
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
    const struct output_ops *output; /* takes the events, without settings; NULL: those above */
    struct span pack;                /* definitions of events, as a schema pack; empty: none */
    struct span tmf;                 /* the same of WPP messages, as trace message formats */
    uint64_t max_events;             /* that are written; 0: no limit */
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

/* One of `watch` alone, which takes channels in place of those. */
#define LIVE_RUN_LOG_OPTION                                                                    \
    {                                                                                          \
        .name = "log", .argument = "CHANNEL", .repeated = true,                                \
        .help = "In place of providers: what comes to this channel of the Windows Event Log, " \
                "as in Security. * and ? match any."                                           \
    }

/* Take these options, and check them and what is set already. False: *ret_exit says how the command
 * ends, everything is said. ${lists}: room for 3 * LIVE_RUN_MAX_NAMES texts, which outlive the
 * settings. */
bool live_run_take(const struct cli_args *args, const char **lists, bool takes_logs,
    struct live_run_settings *settings, int *ret_exit);

/* Run it to its end: the exit code. */
int live_run(const struct live_run_settings *settings);

#endif
