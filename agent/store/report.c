#include "store/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct report {
    void (*news)(void *self, enum store_news news, const char *text);
    void (*close_readers)(void *self);
    void (*step)(void *self, const char *name);
    void *self;
};

struct report *report_create(const struct store_settings *settings)
{
    struct report *report = calloc(1, sizeof(*report));
    if (report) {
        *report = (struct report){.news = settings->report,
            .close_readers = settings->close_readers,
            .step = settings->step,
            .self = settings->self};
    }
    return report;
}

void report_destroy(struct report *report)
{
    free(report);
}

void report_news(const struct report *report, enum store_news news, const char *format, ...)
{
    if (report->news) {
        char text[1024];
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        report->news(report->self, news, text);
    }
}

void report_step(const struct report *report, const char *name)
{
    if (report->step) {
        report->step(report->self, name);
    }
}

void report_close_readers(const struct report *report)
{
    if (report->close_readers) {
        report->close_readers(report->self);
    }
}
