#ifndef ETWSHIP_INPUT_MESSAGE_NUMBERS_H
#define ETWSHIP_INPUT_MESSAGE_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Finds missing messages of a session by their numbers: TRACE_MESSAGE_SEQUENCE in a session with
 * EVENT_TRACE_USE_LOCAL_SEQUENCE, or with EVENT_TRACE_USE_GLOBAL_SEQUENCE, where all such sessions
 * of the machine share one counter. Source: TraceMessage and Logging Mode Constants on
 * learn.microsoft.com. Numbers arrive in any order, because processors have separate buffers, and
 * wrap after 2^32 - 1. The state is a few numbers, however many arrive. A number 2^29 behind is in
 * no buffer any more, so traces without cuts may have any length.
 *
 * A missing number may still be in a buffer. So the reader reports when buffers were emptied
 * (message_numbers_cut). What was missing before the previous cut is missing for good. If ETW's own
 * counters report a loss, they count, and numbers that may belong to it are not counted again: a
 * lost event may have taken a number, and a lost buffer contains many.
 */
struct message_numbers {
    bool is_on;     /* the session numbers messages */
    bool is_global; /* the counter is shared with other sessions */
    bool has_any;
    bool has_settled;    /* a cut has settled numbers: `base` never decreases any more */
    uint32_t per_buffer; /* maximum of messages in a buffer */
    uint32_t base;       /* numbers up to it are settled */
    uint32_t split;      /* highest number at the last cut */
    uint32_t highest;    /* so far */
    uint64_t came[2];    /* count of numbers up to `split`, and after it */
    uint64_t late;       /* arrived after they had counted as missing */
    uint64_t found;      /* missing for good; reported with the next gap */
    uint64_t explained
        [3]; /* by ETW's counters: before the last two cuts that numbers came before, between
                              them, since */
    uint64_t times[3]; /* FILETIME: newest at the last two cuts, and now */
};

struct message_gap {
    uint64_t count;
    uint64_t from; /* FILETIME; 0: unknown */
    uint64_t to;
};

/* ${mode}: LogFileMode. ${buffer_bytes}: buffer size of the session; 0: unknown. */
void message_numbers_init(struct message_numbers *numbers, uint32_t mode, uint32_t buffer_bytes);

/* A message with ${number} and ${time} (FILETIME) arrived. */
void message_numbers_note(struct message_numbers *numbers, uint32_t number, uint64_t time);

/* ETW counted this many events and buffers as lost since the previous call. */
void message_numbers_explain(struct message_numbers *numbers, uint64_t events, uint64_t buffers);

/* Buffers were emptied, so everything written so far has been read. True: ${ret_gap} is what was
 * written before the previous cut and did not arrive. */
bool message_numbers_cut(struct message_numbers *numbers, struct message_gap *ret_gap);

/* No more messages follow: report all that is missing, as in message_numbers_cut, and reset. */
bool message_numbers_end(struct message_numbers *numbers, struct message_gap *ret_gap);

/* Reason of these gaps. A local count is exact. A global count is an upper bound, because missing
 * numbers may belong to other sessions. */
static inline const char *message_numbers_reason(const struct message_numbers *numbers)
{
    return numbers->is_global ? "global_message_numbers" : "message_numbers";
}

#endif
