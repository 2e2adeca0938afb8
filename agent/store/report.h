#ifndef ETWSHIP_STORE_REPORT_H
#define ETWSHIP_STORE_REPORT_H

#include "store/store.h"

/* What the store's caller is told: the functions of its settings. */
struct report;

struct report *report_create(const struct store_settings *settings); /* NULL: out of memory */
void report_destroy(struct report *report);

/* A line for the log. */
void report_news(const struct report *report, enum store_news news, const char *format, ...)
    ETWSHIP_PRINTF(3, 4);

/* A place for tests to crash at. */
void report_step(const struct report *report, const char *name);

/* The catalogue's file is about to be moved away, or was replaced. */
void report_close_readers(const struct report *report);

#endif
