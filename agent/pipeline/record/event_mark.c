#include "pipeline/record/event_mark.h"

#include <stdio.h>

void event_mark_unsure(struct event_mark *mark, struct filter_scratch *scratch, struct event *event)
{
    enum { MAX_NAME_BYTES = 100 };
    if (scratch->unsure.size == 0) {
        return;
    }
    const char *before = event->error ? event->error : "";
    snprintf(mark->text, sizeof(mark->text),
        "%s%srule %.*s could not be evaluated: a regular expression exceeded its limits", before,
        *before ? "; " : "", SPAN_ARG(span_first(scratch->unsure, MAX_NAME_BYTES)));
    event->error = mark->text;
    scratch->unsure = span_make(NULL, 0);
}
