#ifndef ETWSHIP_APP_NO_MATCH_H
#define ETWSHIP_APP_NO_MATCH_H

#include "app/plan/provider_selection.h"
#include "app/trace/trace_run.h"

/*
 * Selections of recorded traces that matched nothing: which name it was, and what the traces have
 * that may have been meant. The traces are read once more for that, so it is asked at the end, and
 * only if something matched nothing.
 */
enum { NO_MATCH_MAX_EVENTS = 2000000 }; /* so many are looked at, from the start */

struct no_match_settings {
    /* The traces, read as the selections were asked, between the same times. */
    const struct input_ops *input;
    const void *settings;
    struct schema_cache *cache;
    const struct codepage *ansi; /* NULL: 1252 */
    bool shows_progress;

    const struct provider_selection *selection; /* NULL: there is none */
    const char *providers;                      /* the option of its entries, as in `--provider` */

    /* Lists of rules, of which nothing passed all. */
    const struct filter *const *filters;
    size_t filter_count;
    const char *rules; /* what they are called, as in `--where` */

    void (*tell)(void *self, const char *text); /* a line for each finding, without its end */
    void *self;
};

struct no_match {
    size_t findings; /* lines that were told */
    uint64_t seen;   /* events */
};

/* Tell what no event matches. A name that nothing can be said of is not told. False with ${err} set
 * if the traces cannot be read again. */
bool no_match_find(
    const struct no_match_settings *settings, struct no_match *ret_found, struct error *err);

#endif
