#ifndef ETWSHIP_INPUT_MESSAGE_NUMBERS_H
#define ETWSHIP_INPUT_MESSAGE_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Which messages of a session are missing, by the numbers that it gives them: TRACE_MESSAGE_SEQUENCE
 * in a session with EVENT_TRACE_USE_LOCAL_SEQUENCE, or with EVENT_TRACE_USE_GLOBAL_SEQUENCE, where all
 * such sessions of the machine count together (TraceMessage, Logging Mode Constants on
 * learn.microsoft.com). Numbers come in any order, as processors have buffers of their own, and
 * begin again behind 2^32 - 1. What is kept is a few numbers, however many come. What lies 2^29 numbers
 * back is in no buffer any more, so traces that nothing cuts may have any number of them.
 *
 * A number that has not come may still lie in a buffer. So whoever reads says when buffers were
 * emptied (message_numbers_cut); what was missing before the cut before that one is missing for
 * good. Where ETW's own counters tell of a loss, they count, and the numbers that may be among it
 * do not count again: a lost event may have taken a number, and a lost buffer has many.
 */
struct message_numbers {
    bool is_on;     /* the session numbers messages */
    bool is_global; /* those of other sessions, too */
    bool has_any;
    bool has_settled;    /* a cut has settled numbers: `base` does not move down any more */
    uint32_t per_buffer; /* messages that a buffer holds at most */
    uint32_t base;       /* all up to it are settled */
    uint32_t split;      /* the highest at the last cut */
    uint32_t highest;    /* so far */
    uint64_t came[2];    /* of the numbers up to `split`, and behind it */
    uint64_t late;       /* that came when they had been taken for missing */
    uint64_t found;      /* missing for good; told with the next */
    uint64_t explained
        [3]; /* by ETW's counters: before the last two cuts that numbers came before, between
                              them, since */
    uint64_t times[3]; /* FILETIME: the newest at either cut, and now */
};

struct message_gap {
    uint64_t count;
    uint64_t from; /* FILETIME; 0: not known */
    uint64_t to;
};

/* ${mode}: LogFileMode. ${buffer_bytes}: of the session; 0: not known. */
void message_numbers_init(struct message_numbers *numbers, uint32_t mode, uint32_t buffer_bytes);

/* A message with ${number} has come, of ${time} (FILETIME). */
void message_numbers_note(struct message_numbers *numbers, uint32_t number, uint64_t time);

/* ETW has counted so many events and buffers as lost since the last such call. */
void message_numbers_explain(struct message_numbers *numbers, uint64_t events, uint64_t buffers);

/* Everything that was written up to now is not only on its way: buffers have been emptied. True: what
 * was written before the last cut, and did not come, is ${ret_gap}. */
bool message_numbers_cut(struct message_numbers *numbers, struct message_gap *ret_gap);

/* Nothing more will come; the same for all that is left. Then it is as new. */
bool message_numbers_end(struct message_numbers *numbers, struct message_gap *ret_gap);

/* The reason that a gap of these has: a local one is exact, of a global one that many at most are
 * missing, as others may be messages of other sessions. */
static inline const char *message_numbers_reason(const struct message_numbers *numbers)
{
    return numbers->is_global ? "global_message_numbers" : "message_numbers";
}

#endif
