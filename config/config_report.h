#ifndef ETWSHIP_CONFIG_CONFIG_REPORT_H
#define ETWSHIP_CONFIG_CONFIG_REPORT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

/*
 * All errors of a configuration, found in one run: file after file in the order in which the files
 * were named first, each from its first line to its last. A line reads
 * `FILE:LINE:COLUMN: error: what. what to do`. Bounded: further errors are only counted.
 */
enum {
    CONFIG_REPORT_MAX_LINES = 100,
    CONFIG_REPORT_MAX_FILES = 300,
    CONFIG_REPORT_MAX_TEXT = 1024,
};

struct config_report_line {
    size_t file;   /* index into files */
    uint32_t line; /* 0: the file as a whole */
    uint32_t column;
    const char *text;   /* the whole line */
    const char *what;   /* the line without its place and kind */
    const char *detail; /* further lines, without a final newline; NULL: none */
};

struct config_report {
    struct arena arena;
    const char *kind; /* "error"; may be set to something else between init and the first line */
    const char *files[CONFIG_REPORT_MAX_FILES];
    size_t file_count;
    struct config_report_line lines[CONFIG_REPORT_MAX_LINES];
    size_t line_count;
    size_t error_count; /* line_count and the lines without room */
};

void config_report_init(struct config_report *report);
void config_report_fini(struct config_report *report);

static inline bool config_report_ok(const struct config_report *report)
{
    return report->error_count == 0;
}

/* Is there room for another line? If not, the caller need not compose its text. */
static inline bool config_report_has_room(const struct config_report *report)
{
    return report->line_count < CONFIG_REPORT_MAX_LINES;
}

/* Add an error at ${line}:${column} (from 1; line 0 leaves both out) of ${file}. */
void config_report_add(struct config_report *report, const char *file, uint32_t line,
    uint32_t column, const char *format, ...) ETWSHIP_PRINTF(5, 6);

/* Give ${file} its place in the order before it has an error. */
void config_report_name(struct config_report *report, const char *file);

/* As config_report_add, with an excerpt below: ${text}, and a ^ under its character ${offset}.
 * No excerpt if it is too long to read. */
void config_report_add_excerpt(struct config_report *report, const char *file, uint32_t line,
    uint32_t column, const char *what, struct span text, size_t offset);

/* Append all lines to ${out}, each after ${prefix} and ended by a newline, then "and N more". */
void config_report_write(const struct config_report *report, const char *prefix, struct buf *out);

#endif
