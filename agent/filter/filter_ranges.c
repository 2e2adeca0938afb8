#include <stdlib.h>

#include "base/order.h"
#include "filter/filter_program.h"

/*
 * Tests of a plain number of the header, such as process.pid, as ascending ranges of numbers. One
 * search among them decides, without a value being made and compared with each literal.
 */

static bool is_plain(const struct filter_number *number)
{
    return !number->is_real && !number->negative;
}

/* Numbers for which the test with this one literal is true; first > last: none. UNEQUAL as EQUAL.
 * False: the literal is not a plain integer. */
static bool range_of(
    enum filter_test test, const struct filter_literal *literal, struct filter_range *ret_range)
{
    static const struct filter_range none = {.first = 1, .last = 0};
    uint64_t low = literal->low.size;
    bool is_list = test <= TEST_UNEQUAL || test == TEST_IN;
    if (literal->type == LITERAL_RANGE && is_list) {
        *ret_range = (struct filter_range){low, literal->high.size};
        return is_plain(&literal->low) && is_plain(&literal->high);
    }
    if (literal->type != LITERAL_NUMBER || !is_plain(&literal->low)) {
        return false;
    }
    switch (test) {
    case TEST_LESS:
        *ret_range = low ? (struct filter_range){0, low - 1} : none;
        return true;
    case TEST_LESS_EQUAL:
        *ret_range = (struct filter_range){0, low};
        return true;
    case TEST_GREATER:
        *ret_range = low < UINT64_MAX ? (struct filter_range){low + 1, UINT64_MAX} : none;
        return true;
    case TEST_GREATER_EQUAL:
        *ret_range = (struct filter_range){low, UINT64_MAX};
        return true;
    default:
        *ret_range = (struct filter_range){low, low};
        return is_list;
    }
}

static int compare_ranges(const void *a, const void *b)
{
    const struct filter_range *x = a;
    const struct filter_range *y = b;
    return order_u64(x->first, y->first);
}

/* Sort ranges and join those that meet; returns how many are left. */
static uint32_t join(struct filter_range *ranges, uint32_t count)
{
    uint32_t kept = 0;
    if (count > 1) {
        qsort(ranges, count, sizeof(*ranges), compare_ranges);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct filter_range *before = kept ? &ranges[kept - 1] : NULL;
        if (!before || (before->last < UINT64_MAX && ranges[i].first > before->last + 1)) {
            ranges[kept++] = ranges[i];
        } else if (ranges[i].last > before->last) {
            before->last = ranges[i].last;
        }
    }
    return kept;
}

/* Replace joined ranges by the numbers between them, at most one range more; returns how many. */
static uint32_t invert(struct filter_range *ranges, uint32_t count)
{
    uint32_t kept = 0;
    uint64_t next = 0;
    bool any_left = true;
    for (uint32_t i = 0; i < count; i++) {
        struct filter_range range = ranges[i];
        if (range.first > next) {
            ranges[kept++] = (struct filter_range){next, range.first - 1};
        }
        any_left = range.last < UINT64_MAX;
        next = range.last + 1;
    }
    if (any_left) {
        ranges[kept++] = (struct filter_range){next, UINT64_MAX};
    }
    return kept;
}

bool filter_ranges_make(struct filter *filter, struct filter_op *op)
{
    enum filter_test test = (enum filter_test)op->test;
    if (!event_path_is_number(&op->path) || test > TEST_IN) {
        return true;
    }
    struct filter_range *ranges = arena_alloc_array(
        &filter->arena, (size_t)op->literal_count + 1, sizeof(*ranges));
    if (!ranges) {
        return false;
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < op->literal_count; i++) {
        if (!range_of(test, &op->literals[i], &ranges[count])) {
            return true;
        }
        count += ranges[count].first <= ranges[count].last;
    }
    count = join(ranges, count);
    op->range_count = test == TEST_UNEQUAL ? invert(ranges, count) : count;
    op->ranges = ranges;
    op->has_ranges = true;
    return true;
}

bool filter_ranges_hold(const struct filter_op *op, const struct event_record *record)
{
    uint64_t number;
    if (op->range_count == 0 || !event_path_number(&op->path, record, &number)) {
        return false;
    }
    const struct filter_range *at = op->ranges;
    uint32_t left = op->range_count;
    while (left > 1) { /* to the last that starts at the number or before */
        uint32_t half = left / 2;
        at += at[half].first <= number ? half : 0;
        left -= half;
    }
    return at->first <= number && number <= at->last;
}
