#ifndef ETWSHIP_APP_LOG_H
#define ETWSHIP_APP_LOG_H

#include "base/error.h"
#include "base/span.h"

/*
 * The agent's own log: lines of text or JSON, on standard error or in a file that is rotated.
 * Failures that repeat are thinned: the first of a kind is written at once, those that follow
 * within a minute become one line that ends in "(repeated 41 times in 60 s)". Logging never fails
 * and never stops the agent: lines that a file does not take go to standard error, and the file is
 * tried again. Any thread may call everything but create and destroy.
 */
enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

/* The cause of a line (log_causes.def), by which programs sort lines. */
enum log_cause {
#define CAUSE(id, name, todo) LOG_CAUSE_##id,
#include "app/log/log_causes.def"
#undef CAUSE
    LOG_CAUSE_COUNT
};

/* A name that stays what it is, and what people do about it. */
const char *log_cause_name(enum log_cause cause);
const char *log_cause_what_to_do(enum log_cause cause);

/* The names that a configuration gives them, in this order; each list ends with NULL. */
extern const char *const log_level_names[];
extern const char *const log_format_names[];

/* A longer line is cut, and ends in "…". */
enum { LOG_MAX_TEXT_BYTES = 4096 };

struct log_settings {
    enum log_level level; /* what is less important is left out */
    enum log_format format;
    const char *path;     /* copied; NULL: standard error */
    uint64_t rotate_size; /* bytes; a file that would grow beyond it is set aside. 0: never */
    unsigned rotate_keep; /* files set aside: PATH.1 is the newest. 0: none */

    /* Called with every line, too, unchanged, on the thread that wrote it; NULL: none. It must not
     * write to this log. */
    void (*also)(void *also_self, enum log_level level, enum log_cause cause, const char *text);
    void *also_self;

    /* For tests; NULL: plat_monotonic_ns, and the stream stderr. */
    uint64_t (*now_ns)(void *self);
    void (*console)(void *self, struct span line);
    void *self;
};

/* NULL only if there is no memory: a file that cannot be opened is reported as above. */
struct log *log_create(const struct log_settings *settings, struct error *err);

/* Write the counts of what was thinned, close the file. NULL is fine. */
void log_destroy(struct log *log);

/*
 * Write a line: one sentence without a newline; what and where and what to do. ${kind} says which
 * lines are the same failure ("output siem: send"; copied, 63 bytes count), NULL: never thinned.
 * ${log} may be NULL, then nothing is written.
 */
void log_write(struct log *log, enum log_level level, const char *kind, const char *format, ...)
    ETWSHIP_PRINTF(4, 5);

/* Write a line that has a cause: the Event Log gives each cause an id of its own. */
void log_write_as(struct log *log, enum log_cause cause, enum log_level level, const char *kind,
    const char *format, ...) ETWSHIP_PRINTF(5, 6);

/* The last warnings and errors that were written, the newest first, of which long ones are cut.
 * ${each} is called within this call, and must not write to the log. */
enum { LOG_RECENT_MAX = 20, LOG_RECENT_TEXT_BYTES = 600 };
void log_recent(struct log *log,
    void (*each)(
        void *self, uint64_t time, enum log_level level, enum log_cause cause, const char *text),
    void *self);

/* Write the counts whose minute is over. They are also written by the next log_write; call this now
 * and then (the agent does, with its statistics) so that they come without one. */
void log_tick(struct log *log);

/* The file was moved away (SIGHUP): close it; the next line creates a new one. */
void log_reopen(struct log *log);

#endif
