#ifndef ETWSHIP_PIPELINE_WIDTH_EVIDENCE_H
#define ETWSHIP_PIPELINE_WIDTH_EVIDENCE_H

#include "event/model/event.h"

/*
 * How wide the pointers in classic events are. The header says it for the program that wrote the
 * event, but a 32-bit program may write payloads in the layout of its 64-bit machine. Many payloads
 * fit one width alone, which proves it. Others fit both, as a text takes the bytes that a pointer
 * leaves: those are decoded as the proven ones of their trace, class and process, or as those of
 * their trace and class where their process proved nothing.
 *
 * A text is weaker evidence: where narrow pointers leave a path it is no accident, and where they
 * leave garbage before a path that wide ones leave, neither. Evidence that contradicts itself is
 * none. One thread at a time.
 */
struct width_evidence;

struct width_evidence *width_evidence_create(struct error *err); /* NULL: out of memory */
void width_evidence_destroy(struct width_evidence *evidence);    /* NULL is fine */

enum width_evidence_kind {
    WIDTH_PROVEN,  /* no other width takes the payload */
    WIDTH_BY_TEXT, /* … takes it, too, but the text would not be one */
};

/* The payload of ${record} has pointers of ${width} bytes (4 or 8). */
void width_evidence_add(struct width_evidence *evidence, const struct event_record *record,
    uint8_t width, enum width_evidence_kind kind);

/* The width of events like ${record}, 4 or 8; 0: nothing is known. ${evidence} may be NULL. */
uint8_t width_evidence_find(
    const struct width_evidence *evidence, const struct event_record *record);

enum width_text {
    WIDTH_TEXT_ANY,     /* there is none, or it says nothing */
    WIDTH_TEXT_PATH,    /* it begins like a path */
    WIDTH_TEXT_GARBAGE, /* it begins with what no text has */
};

/* How plausible the first text of a decoded event is. */
enum width_text width_evidence_text(const struct event *event);

#endif
