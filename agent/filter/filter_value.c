#include "base/span_compare.h"
#include "base/text/fold.h"
#include "base/utf.h"
#include "filter/filter_program.h"

/*
 * Compares a value with literals. The text of a value is made when a literal first needs it, its
 * folded form when a literal without `c` first needs it: once per value, in the scratch.
 */
struct subject {
    struct filter_scratch *scratch;
    const struct event_value *value;
    struct span text;
    struct span folded;
    bool has_text;
    bool has_folded;
};

static bool is_shown_as_text(enum event_value_type type)
{
    return type >= EVENT_VALUE_HEX && type <= EVENT_VALUE_BYTES && type != EVENT_VALUE_REAL;
}

static struct span text_of(struct subject *subject)
{
    if (!subject->has_text) {
        subject->text = event_value_text(&subject->scratch->paths.values, subject->value);
        subject->has_text = true;
    }
    return subject->text;
}

/* The text in the form of the literal. */
static struct span form_of(struct subject *subject, const struct filter_literal *literal)
{
    struct span text = text_of(subject);
    if (literal->exact) {
        return text;
    }
    struct buf *folded = &subject->scratch->folded;
    if (!subject->has_folded) {
        buf_reset(folded);
        if (buf_reserve(folded, fold_bound(text.size))) {
            folded->size = fold_utf8(text, folded->data);
        }
        subject->folded = buf_span(folded);
        subject->has_folded = true;
    }
    return subject->folded;
}

bool filter_number_of(const struct event_value *value, struct filter_number *number)
{
    *number = (struct filter_number){.is_real = value->type == EVENT_VALUE_REAL};
    switch (value->type) {
    case EVENT_VALUE_INT:
        number->negative = value->number < 0;
        number->size = value->number < 0 ? 0 - (uint64_t)value->number : (uint64_t)value->number;
        return true;
    case EVENT_VALUE_UINT:
    case EVENT_VALUE_HEX:
        number->size = value->unsigned_number;
        return true;
    case EVENT_VALUE_REAL:
        number->real = value->real;
        return true;
    default:
        return false;
    }
}

/* ---- comparison ------------------------------------------------------------------------------ */

/* Order of the two; false if they cannot be compared. */
static bool compare(struct subject *subject, const struct filter_literal *literal, int *ret_order)
{
    const struct event_value *value = subject->value;
    struct filter_number number;
    if (literal->type == LITERAL_NUMBER || (value->type == EVENT_VALUE_HEX && literal->is_number)) {
        if (!filter_number_of(value, &number)) {
            return false;
        }
        *ret_order = filter_number_compare(&number, &literal->low);
        return true;
    }
    if (literal->type != LITERAL_TEXT || !is_shown_as_text(value->type)) {
        return false;
    }
    if (value->type == EVENT_VALUE_TIME && literal->is_time) {
        *ret_order = (value->time > literal->time) - (value->time < literal->time);
        return true;
    }
    *ret_order = span_compare(form_of(subject, literal), literal->text);
    return true;
}

static bool equal(struct subject *subject, const struct filter_literal *literal)
{
    const struct event_value *value = subject->value;
    struct filter_number number;
    int order;
    switch (literal->type) {
    case LITERAL_BOOL:
        return value->type == EVENT_VALUE_BOOL && value->truth == literal->truth;
    case LITERAL_RANGE:
        return filter_number_of(value, &number) &&
               filter_number_compare(&number, &literal->low) >= 0 &&
               filter_number_compare(&number, &literal->high) <= 0;
    case LITERAL_NUMBER:
    case LITERAL_TEXT:
        break;
    }
    if (value->type == EVENT_VALUE_GUID && literal->is_guid) {
        return memcmp(value->bytes.data, literal->guid.bytes, sizeof(literal->guid.bytes)) == 0;
    }
    if (value->type == EVENT_VALUE_ADDRESS && literal->is_address) {
        return span_equal(value->bytes, span_make(literal->address.bytes, literal->address.size));
    }
    bool is_text = literal->type == LITERAL_TEXT && !literal->exact &&
                   is_shown_as_text(value->type) && value->type != EVENT_VALUE_HEX &&
                   value->type != EVENT_VALUE_TIME;
    if (is_text && !subject->has_folded) {
        struct span text = text_of(subject);
        return fold_match(text, literal->text) == text.size;
    }
    return compare(subject, literal, &order) && order == 0;
}

/* ---- text ------------------------------------------------------------------------------------ */

static bool starts(struct subject *subject, const struct filter_literal *literal)
{
    struct span text = text_of(subject);
    struct span start = literal->text;
    return literal->exact ? span_equal(span_first(text, start.size), start)
                          : fold_match(text, start) != SIZE_MAX;
}

static bool ends(struct span text, struct span end)
{
    return text.size >= end.size && span_equal(span_from(text, text.size - end.size), end);
}

static bool contains(struct span text, struct span part)
{
    if (part.size == 0) {
        return true;
    }
    while (text.size >= part.size) {
        const uint8_t *at = memchr(text.data, part.data[0], text.size - part.size + 1);
        if (!at) {
            return false;
        }
        if (memcmp(at, part.data, part.size) == 0) {
            return true;
        }
        text = span_from(text, (size_t)(at - text.data) + 1);
    }
    return false;
}

/* Match a pattern: `*` any characters, `?` one. Backtracking to the last `*` suffices. */
static bool like(struct span text, struct span pattern)
{
    size_t t = 0;
    size_t p = 0;
    size_t star = SIZE_MAX; /* after the last `*` */
    size_t retry = 0;       /* end of that one's match so far */
    while (t < text.size) {
        if (p < pattern.size && pattern.data[p] == '*') {
            star = ++p;
            retry = t;
        } else if (p < pattern.size && pattern.data[p] == '?') {
            utf8_next(text, &t);
            p++;
        } else if (p < pattern.size && pattern.data[p] == text.data[t]) {
            t++;
            p++;
        } else if (star != SIZE_MAX) {
            utf8_next(text, &retry);
            t = retry;
            p = star;
        } else {
            return false;
        }
    }
    while (p < pattern.size && pattern.data[p] == '*') {
        p++;
    }
    return p == pattern.size;
}

bool filter_regex_finds(
    struct filter_scratch *scratch, const struct filter_literal *literal, struct span text)
{
    enum { MAX_GIVEN_UP = 8 }; /* per event: each takes milliseconds */
    if (scratch->given_up - scratch->given_up_before >= MAX_GIVEN_UP) {
        scratch->given_up++;
        return false;
    }
    const uint8_t *data = text.data ? text.data : (const uint8_t *)"";
    int found = pcre2_match(
        literal->regex, data, text.size, 0, 0, scratch->match, scratch->match_limits);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) {
        found = pcre2_match(literal->regex, data, text.size, 0, PCRE2_NO_JIT, scratch->match,
            scratch->match_limits);
    }
    scratch->given_up += found < PCRE2_ERROR_NOMATCH;
    return found >= 0;
}

static bool matches(struct subject *subject, const struct filter_literal *literal)
{
    return filter_regex_finds(subject->scratch, literal, text_of(subject));
}

static bool search(
    struct subject *subject, const struct filter_literal *literal, enum filter_test test)
{
    switch (test) {
    case TEST_CONTAINS:
        return contains(form_of(subject, literal), literal->text);
    case TEST_STARTS:
        return starts(subject, literal);
    case TEST_ENDS:
        return ends(form_of(subject, literal), literal->text);
    case TEST_LIKE:
        return like(form_of(subject, literal), literal->text);
    default:
        return matches(subject, literal);
    }
}

static bool in_network(struct subject *subject, const struct ip_network *network)
{
    const struct event_value *value = subject->value;
    struct ip_address address;
    if (value->type == EVENT_VALUE_ADDRESS) {
        return ip_network_holds(network, value->bytes);
    }
    if (value->type == EVENT_VALUE_OBJECT && value->schema) {
        struct event_value inner = event_value_socket_member(value->bytes, span_text("address"));
        return inner.type == EVENT_VALUE_ADDRESS && ip_network_holds(network, inner.bytes);
    }
    return value->type == EVENT_VALUE_TEXT && ip_parse(text_of(subject), &address) &&
           ip_network_holds(network, span_make(address.bytes, address.size));
}

/* ---- tests ----------------------------------------------------------------------------------- */

static bool is_ordered(enum filter_test test, int order)
{
    switch (test) {
    case TEST_LESS:
        return order < 0;
    case TEST_LESS_EQUAL:
        return order <= 0;
    case TEST_GREATER:
        return order > 0;
    default:
        return order >= 0;
    }
}

/* For text, compared as text only. */
static bool is_among_sorted(struct subject *subject, const struct filter_op *op)
{
    struct span text = form_of(subject, &op->literals[0]);
    uint32_t low = 0;
    uint32_t high = op->sorted_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = span_compare(op->literals[middle].text, text);
        if (order == 0) {
            return true;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return false;
}

bool filter_value_in(
    struct filter_scratch *scratch, const struct filter_op *op, const struct event_value *value)
{
    enum { FEW = 3 }; /* a few are faster one by one */
    struct subject subject = {.scratch = scratch, .value = value};
    bool is_text = value->type == EVENT_VALUE_TEXT || value->type == EVENT_VALUE_BYTES;
    uint32_t first = is_text && op->sorted_count > FEW ? op->sorted_count : 0;
    if (first && is_among_sorted(&subject, op)) {
        return true;
    }
    for (uint32_t i = first; i < op->literal_count; i++) {
        if (equal(&subject, &op->literals[i])) {
            return true;
        }
    }
    return false;
}

bool filter_value_has_bits(const struct filter_op *op, const struct event_value *value)
{
    struct filter_number number;
    if (!filter_number_of(value, &number) || number.is_real) {
        return false;
    }
    uint64_t bits = number.negative ? 0 - number.size : number.size;
    for (uint32_t i = 0; i < op->literal_count; i++) {
        const struct filter_number *wanted = &op->literals[i].low;
        uint64_t mask = wanted->negative ? 0 - wanted->size : wanted->size;
        if (op->literals[i].type == LITERAL_NUMBER && (bits & mask) == mask) {
            return true;
        }
    }
    return false;
}

bool filter_value_test(
    struct filter_scratch *scratch, const struct filter_op *op, const struct event_value *value)
{
    enum filter_test test = (enum filter_test)op->test;
    struct subject subject = {.scratch = scratch, .value = value};
    int order;
    switch (test) {
    case TEST_EQUAL:
    case TEST_IN:
        return filter_value_in(scratch, op, value);
    case TEST_UNEQUAL:
        return !filter_value_in(scratch, op, value);
    case TEST_LESS:
    case TEST_LESS_EQUAL:
    case TEST_GREATER:
    case TEST_GREATER_EQUAL:
        return compare(&subject, op->literals, &order) && is_ordered(test, order);
    default:
        break;
    }
    if (test != TEST_CIDR && !is_shown_as_text(value->type)) {
        return false;
    }
    for (uint32_t i = 0; i < op->literal_count; i++) {
        const struct filter_literal *literal = &op->literals[i];
        if (test == TEST_CIDR ? in_network(&subject, &literal->network)
                              : search(&subject, literal, test)) {
            return true;
        }
    }
    return false;
}
