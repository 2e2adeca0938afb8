#include "config/config_report.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf.h"
#include "config/config_text.h"

enum { REPORT_MAX_BYTES = 1024 * 1024, EXCERPT_MAX_BYTES = 1024 };

void config_report_init(struct config_report *report)
{
    report->line_count = 0;
    report->error_count = 0;
    report->file_count = 0;
    report->kind = "error";
    arena_init(&report->arena, REPORT_MAX_BYTES);
}

void config_report_fini(struct config_report *report)
{
    arena_fini(&report->arena);
    report->line_count = 0;
    report->error_count = 0;
    report->file_count = 0;
}

/* Files beyond the last that has room share its place in the order. */
static size_t index_of(struct config_report *report, const char *file)
{
    size_t i = 0;
    while (i < report->file_count && strcmp(report->files[i], file) != 0) {
        i++;
    }
    struct span copy;
    if (i < report->file_count) {
        return i;
    }
    if (i == CONFIG_REPORT_MAX_FILES || !arena_copy(&report->arena, span_text(file), &copy)) {
        return i ? i - 1 : 0;
    }
    report->files[report->file_count++] = (const char *)copy.data;
    return i;
}

void config_report_name(struct config_report *report, const char *file)
{
    index_of(report, file);
}

static bool is_behind(const struct config_report_line *a, const struct config_report_line *b)
{
    if (a->file != b->file) {
        return a->file > b->file;
    }
    return a->line > b->line || (a->line == b->line && a->column > b->column);
}

/* Copy of the line as the file has it; NULL if there is no room. */
static const char *copy_line(struct config_report *report, const char *file, uint32_t line,
    uint32_t column, const char *what)
{
    char place[32] = "";
    if (line) {
        snprintf(place, sizeof(place), ":%u:%u", line, column);
    }
    char text[2 * CONFIG_REPORT_MAX_TEXT];
    int size = snprintf(text, sizeof(text), "%.900s%s: %s: %s", file, place, report->kind, what);
    /* Make one line of a text that a module, a file name or the system may have broken. */
    for (char *c = text; *c; c++) {
        *c = (uint8_t)*c < ' ' || *c == 0x7f ? '?' : *c;
    }
    struct span copy;
    return size >= 0 && arena_copy(&report->arena, span_text(text), &copy) ? (const char *)copy.data
                                                                           : NULL;
}

static void add(struct config_report *report, const char *file, uint32_t line, uint32_t column,
    const char *what, const char *detail)
{
    size_t what_size = strlen(what);
    struct config_report_line added = {
        .file = index_of(report, file),
        .line = line,
        .column = column,
        .text = copy_line(report, file, line, column, what),
        .detail = detail,
    };
    if (!added.text) {
        return;
    }
    added.what = added.text + strlen(added.text) - what_size;
    size_t at = report->line_count++;
    for (; at > 0 && is_behind(&report->lines[at - 1], &added); at--) {
        report->lines[at] = report->lines[at - 1];
    }
    report->lines[at] = added;
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
    add(report, file, line, column, what, NULL);
}

/* Two indented lines: ${text}, and a ^ under its character ${offset}. Empty if it does not fit. */
static void write_excerpt(struct span text, size_t offset, struct buf *out)
{
    size_t at = 0;
    size_t characters = 0;
    buf_add_text(out, "    ");
    while (at < text.size) {
        uint32_t c = utf8_next(text, &at);
        uint8_t bytes[4];
        buf_add(out, bytes, utf8_put(config_text_is_control(c) ? ' ' : c, bytes));
        characters++;
    }
    buf_printf(out, "\n%*s^", (int)(4 + (offset < characters ? offset : characters)), "");
    if (out->failed) {
        out->size = 0;
    }
}

void config_report_add_excerpt(struct config_report *report, const char *file, uint32_t line,
    uint32_t column, const char *what, struct span text, size_t offset)
{
    report->error_count++;
    if (!config_report_has_room(report)) {
        return;
    }
    struct buf excerpt;
    struct span copy;
    buf_init(&excerpt, EXCERPT_MAX_BYTES);
    write_excerpt(text, offset, &excerpt);
    bool good = excerpt.size && arena_copy(&report->arena, buf_span(&excerpt), &copy);
    buf_fini(&excerpt);
    add(report, file, line, column, what, good ? (const char *)copy.data : NULL);
}

void config_report_write(const struct config_report *report, const char *prefix, struct buf *out)
{
    for (size_t i = 0; i < report->line_count; i++) {
        buf_add_text(out, prefix);
        buf_add_text(out, report->lines[i].text);
        buf_add_byte(out, '\n');
        if (report->lines[i].detail) {
            buf_add_text(out, report->lines[i].detail);
            buf_add_byte(out, '\n');
        }
    }
    if (report->error_count > report->line_count) {
        buf_add_text(out, prefix);
        buf_printf(out, "and %zu more\n", report->error_count - report->line_count);
    }
}
