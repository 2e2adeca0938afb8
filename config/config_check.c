#include "config/config_check.h"

#include <stdarg.h>
#include <stdio.h>

#include "config/config_report.h"

struct config_check {
    const struct config *config; /* NULL: the first fault becomes an error */
    struct config_report *report;
    struct error *err;
    size_t faults;
};

void config_check_say(const struct config *config, const void *member, size_t size,
    size_t character, const char *what, struct config_report *report)
{
    struct config_position at = config_position_of(config, member, size);
    bool as_written = at.text_offset != CONFIG_NOT_AS_WRITTEN;
    if (character == CONFIG_FAULT_WHOLE) {
        config_report_add(report, at.file, at.line, at.column, "%s", what);
    } else if (!at.line || !as_written || character < at.in_front) {
        config_report_add(report, at.file, at.line, at.column, "%s (character %zu of the whole)",
            what, character + 1);
    } else {
        config_report_add(report, at.file, at.line,
            at.column + at.text_offset + (uint32_t)character - at.in_front, "%s", what);
    }
}

void config_check_fault(struct config_check *check, const void *member, size_t size,
    size_t character, const char *format, ...)
{
    char what[CONFIG_REPORT_MAX_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    if (check->faults++ == 0 && !check->config) {
        error_set(check->err, ERR_CONFIG, "%s", what);
    }
    if (check->config && !config_is_flawed_at(check->config, member, size)) {
        config_check_say(check->config, member, size, character, what, check->report);
    }
}

void config_check_report(const struct config *config, config_check_fn *ask, const void *settings,
    struct config_report *report)
{
    struct config_check check = {.config = config, .report = report};
    if (ask) {
        ask(settings, &check);
    }
}

bool config_check_first(config_check_fn *ask, const void *settings, struct error *err)
{
    struct config_check check = {.err = err};
    if (ask) {
        ask(settings, &check);
    }
    return check.faults == 0;
}
