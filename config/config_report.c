#include "config/config_report.h"

#include <stdarg.h>
#include <stdio.h>

enum { REPORT_MAX_BYTES = 512 * 1024 };

void config_report_init(struct config_report *report)
{
    report->line_count = 0;
    report->error_count = 0;
    arena_init(&report->arena, REPORT_MAX_BYTES);
}

void config_report_fini(struct config_report *report)
{
    arena_fini(&report->arena);
    report->line_count = 0;
    report->error_count = 0;
}

static bool is_behind(const struct config_report_line *a, const struct config_report_line *b)
{
    return a->line > b->line || (a->line == b->line && a->column > b->column);
}

void config_report_add(struct config_report *report, const char *file, uint32_t line,
    uint32_t column, const char *format, ...)
{
    report->error_count++;
    if (!config_report_has_room(report)) {
        return;
    }
    char what[CONFIG_REPORT_MAX_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);

    char place[32] = "";
    if (line) {
        snprintf(place, sizeof(place), ":%u:%u", line, column);
    }
    char text[2 * CONFIG_REPORT_MAX_TEXT];
    int size = snprintf(text, sizeof(text), "%.900s%s: error: %s", file, place, what);
    struct span copy;
    if (size < 0 || !arena_copy(&report->arena, span_text(text), &copy)) {
        return;
    }
    struct config_report_line added = {line, column, (const char *)copy.data};
    size_t at = report->line_count++;
    for (; at > 0 && is_behind(&report->lines[at - 1], &added); at--) {
        report->lines[at] = report->lines[at - 1];
    }
    report->lines[at] = added;
}

void config_report_write(const struct config_report *report, const char *prefix, struct buf *out)
{
    for (size_t i = 0; i < report->line_count; i++) {
        buf_add_text(out, prefix);
        buf_add_text(out, report->lines[i].text);
        buf_add_byte(out, '\n');
    }
    if (report->error_count > report->line_count) {
        buf_add_text(out, prefix);
        buf_printf(out, "and %zu more\n", report->error_count - report->line_count);
    }
}
