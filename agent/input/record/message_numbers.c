#include "input/record/message_numbers.h"

#include <string.h>

#include "input/record/etl_format.h"

/* Distance of ${a} to ${b} modulo 2^32: how far ${a} is after ${b}. */
static int32_t distance(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b);
}

void message_numbers_init(struct message_numbers *numbers, uint32_t mode, uint32_t buffer_bytes)
{
    /* header and number, rounded up to a multiple of 8 */
    enum { BUFFER_HEADER = 72, SMALLEST_MESSAGE = 16 };
    uint32_t bytes = buffer_bytes > BUFFER_HEADER ? buffer_bytes : 0;
    *numbers = (struct message_numbers){
        .is_on = mode & (ETL_MODE_LOCAL_SEQUENCE | ETL_MODE_GLOBAL_SEQUENCE),
        .is_global = mode & ETL_MODE_GLOBAL_SEQUENCE,
        .per_buffer = bytes ? (bytes - BUFFER_HEADER) / SMALLEST_MESSAGE + 1 : UINT32_MAX,
    };
}

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t missing_of(uint32_t base, uint32_t last, uint64_t came)
{
    uint64_t range = last - base;
    return range > came ? range - came : 0;
}

/* Numbers up to the last split that have not arrived are missing for good. */
static void settle(struct message_numbers *n)
{
    n->found = add(n->found, missing_of(n->base, n->split, n->came[0]));
    n->has_settled = n->has_settled || n->split != n->base;
    n->base = n->split;
    n->split = n->highest;
    n->came[0] = n->came[1];
    n->came[1] = 0;
}

/* Settle long before the distance between numbers becomes ambiguous. */
static void settle_if_far(struct message_numbers *n)
{
    const uint32_t most = UINT32_C(1) << 29;
    if (n->highest - n->split >= most) {
        settle(n);
        n->times[0] = n->found ? n->times[0] : n->times[1];
        n->times[1] = n->times[2];
    }
}

void message_numbers_note(struct message_numbers *n, uint32_t number, uint64_t time)
{
    if (!n->is_on) {
        return;
    }
    if (!n->has_any) {
        n->has_any = true;
        n->base = number - 1;
        n->split = n->base;
        n->highest = number;
        n->times[0] = n->times[1] = n->times[2] = time;
    }
    n->times[2] = time > n->times[2] ? time : n->times[2];
    if (n->split == n->base && time < n->times[0]) {
        n->times[0] = n->times[1] = time;
    }
    if (distance(number, n->split) > 0) {
        n->highest = distance(number, n->highest) > 0 ? number : n->highest;
        n->came[1]++;
        settle_if_far(n);
    } else if (distance(number, n->base) > 0) {
        n->came[0]++;
    } else if (n->has_settled) {
        n->late++;
    } else { /* the first numbers arrived out of order */
        n->split = n->split == n->base ? number - 1 : n->split;
        n->base = number - 1;
        n->came[n->split == n->base]++;
    }
}

void message_numbers_explain(struct message_numbers *n, uint64_t events, uint64_t buffers)
{
    uint64_t in_buffers = buffers > UINT64_MAX / n->per_buffer ? UINT64_MAX
                                                               : buffers * n->per_buffer;
    n->explained[2] = add(n->explained[2], add(events, in_buffers));
}

static uint64_t take(uint64_t *from, uint64_t most)
{
    uint64_t taken = *from < most ? *from : most;
    *from -= taken;
    return taken;
}

/* The part of ${missing} that was not reported yet. */
static uint64_t unexplained(struct message_numbers *n, uint64_t missing)
{
    missing -= take(&n->late, missing);
    for (size_t i = 0; i < 3; i++) {
        missing -= take(&n->explained[i], missing);
    }
    return missing;
}

bool message_numbers_cut(struct message_numbers *n, struct message_gap *ret_gap)
{
    if (!n->has_any) {
        return false;
    }
    bool has_new = n->highest != n->split;
    settle(n);
    *ret_gap = (struct message_gap){
        .count = unexplained(n, n->found), .from = n->times[0], .to = n->times[1]};
    n->found = 0;
    if (has_new) { /* otherwise the loss shows at the next number */
        memmove(n->explained, n->explained + 1, 2 * sizeof(n->explained[0]));
        n->explained[2] = 0;
    }
    memmove(n->times, n->times + 1, 2 * sizeof(n->times[0]));
    return ret_gap->count != 0;
}

bool message_numbers_end(struct message_numbers *n, struct message_gap *ret_gap)
{
    uint64_t missing = n->has_any ? missing_of(n->base, n->highest, n->came[0] + n->came[1]) : 0;
    *ret_gap = (struct message_gap){
        .count = unexplained(n, add(n->found, missing)), .from = n->times[0], .to = n->times[2]};
    *n = (struct message_numbers){
        .is_on = n->is_on, .is_global = n->is_global, .per_buffer = n->per_buffer};
    return ret_gap->count != 0;
}
