#include <inttypes.h>
#include <stdio.h>

#include "filter/push/filter_push_own.h"

/*
 * Payload tests of ETW (tdhcreatepayloadfilter, payload_filter_predicate on learn.microsoft.com):
 * numbers, and text case-sensitively; all of up to eight tests, or any of them. A test of a rule is
 * used if no event for which it is false is kept; several tests, if no event is kept for which all
 * are false. So the absence of a field, or a decoding failure, never matters.
 */
enum { MAX_TESTS = FILTER_PUSH_MAX_TESTS, MAX_CANDIDATES = 32, MAX_EVENTS = 64, MAX_VALUE = 96 };

struct candidate {
    const struct filter_op *op;
    struct filter_push_test tests[MAX_TESTS]; /* one of them is true if the rule's test is */
    size_t count;
};

/* The rules' tests of one event's payload. */
struct gathering {
    struct filter_push_maker *maker;
    const struct event_schema *schema;
    struct candidate *candidates;
    size_t count;
};

/* ---- fields ---------------------------------------------------------------------------------- */

/* The plain field ${name}. If schema_finish changed its name, TDH does not know it. */
static const struct schema_field *find_field(const struct event_schema *schema, struct span name)
{
    const struct schema_field *found = NULL;
    for (uint16_t i = 0; i < schema->top_count && !found; i++) {
        found = span_equal(schema->fields[i].name, name) ? &schema->fields[i] : NULL;
    }
    bool is_plain = found && !found->is_array &&
                    !(found->flags & (FIELD_STRUCT | FIELD_OPTIONAL | FIELD_REST_COUNT));
    return is_plain ? found : NULL;
}

/* Bits of an integer type, negative if signed; 0: not an integer. */
static int bits_of(const struct schema_field *field)
{
    switch (field->in_type) {
    case IN_INT8:
        return -8;
    case IN_INT16:
        return -16;
    case IN_INT32:
        return -32;
    case IN_INT64:
        return -64;
    case IN_UINT8:
        return 8;
    case IN_UINT16:
        return 16;
    case IN_UINT32:
    case IN_HEX_INT32:
        return 32;
    case IN_UINT64:
    case IN_HEX_INT64:
        return 64;
    default:
        return 0;
    }
}

/* True if it is shown as a number. */
static bool is_number(const struct schema_field *field)
{
    switch (field->form) {
    case FORM_INT8:
    case FORM_INT16:
    case FORM_INT32:
    case FORM_INT64:
        return bits_of(field) < 0;
    case FORM_UINT8:
    case FORM_UINT16:
    case FORM_UINT32:
    case FORM_UINT64:
    case FORM_HEX8:
    case FORM_HEX16:
    case FORM_HEX32:
    case FORM_HEX64:
        return bits_of(field) > 0;
    default:
        return false;
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

static const char *copy(struct arena *arena, struct span text)
{
    struct span copied;
    return arena_copy(arena, text, &copied) ? (const char *)copied.data : NULL;
}

static bool fits(const struct filter_number *number, int bits)
{
    if (number->is_real || (number->negative && bits > 0)) {
        return false;
    }
    unsigned width = bits < 0 ? (unsigned)-bits - 1 : (unsigned)bits;
    uint64_t most = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
    return number->size <= most;
}

static int put_number(const struct filter_number *number, char *text, size_t size)
{
    return snprintf(
        text, size, "%s%" PRIu64, number->negative && number->size ? "-" : "", number->size);
}

/* Texts with only one representation in any encoding. */
static bool is_plain_text(struct span text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < ' ' || text.data[i] > '~' || text.data[i] == ',') {
            return false;
        }
    }
    return text.size > 0 && text.size < MAX_VALUE;
}

static bool op_of_number(enum filter_test test, enum filter_push_op *ret_op)
{
    switch (test) {
    case TEST_EQUAL:
    case TEST_IN:
        *ret_op = FILTER_PUSH_EQUAL;
        return true;
    case TEST_LESS:
        *ret_op = FILTER_PUSH_BELOW;
        return true;
    case TEST_LESS_EQUAL:
        *ret_op = FILTER_PUSH_AT_MOST;
        return true;
    case TEST_GREATER:
        *ret_op = FILTER_PUSH_ABOVE;
        return true;
    case TEST_GREATER_EQUAL:
        *ret_op = FILTER_PUSH_AT_LEAST;
        return true;
    default:
        return false;
    }
}

static const char *value_of_number(
    struct arena *arena, const struct filter_literal *literal, int bits, enum filter_push_op *op)
{
    char text[MAX_VALUE];
    bool is_range = literal->type == LITERAL_RANGE;
    bool good = (literal->type == LITERAL_NUMBER || is_range) && fits(&literal->low, bits) &&
                (!is_range || fits(&literal->high, bits));
    if (!good) {
        return NULL;
    }
    int size = put_number(&literal->low, text, sizeof(text));
    if (is_range) {
        *op = FILTER_PUSH_BETWEEN;
        text[size++] = ',';
        size += put_number(&literal->high, text + size, sizeof(text) - (size_t)size);
    }
    return copy(arena, span_make(text, (size_t)size));
}

static bool make_test(struct arena *arena, const struct schema_field *field,
    const struct filter_op *op, const struct filter_literal *literal, struct filter_push_test *test)
{
    enum filter_test asked = (enum filter_test)op->test;
    test->field = copy(arena, field->name);
    test->value = NULL;
    if (is_number(field)) {
        test->value = op_of_number(asked, &test->op)
                          ? value_of_number(arena, literal, bits_of(field), &test->op)
                          : NULL;
    } else if (field->in_type == IN_UNICODE_STRING && field->form == FORM_UTF16 &&
               literal->type == LITERAL_TEXT && literal->exact && is_plain_text(literal->text)) {
        bool is = asked == TEST_EQUAL || asked == TEST_IN;
        test->op = is ? FILTER_PUSH_IS : FILTER_PUSH_CONTAINS;
        test->value = is || asked == TEST_CONTAINS ? copy(arena, literal->text) : NULL;
    }
    return test->field && test->value;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void gather(void *self, const struct filter_op *op)
{
    struct gathering *g = self;
    bool is_plain = op->path.field == g->maker->asker.fields.data && op->path.step_count == 1 &&
                    !op->path.steps[0].each && !op->path.names;
    if (!is_plain || g->count == MAX_CANDIDATES || op->literal_count > MAX_TESTS) {
        return;
    }
    const struct schema_field *field = find_field(g->schema, op->path.steps[0].name);
    struct candidate *candidate = &g->candidates[g->count];
    *candidate = (struct candidate){.op = op};
    for (uint32_t i = 0; field && i < op->literal_count; i++) {
        if (!make_test(g->maker->arena, field, op, &op->literals[i],
                &candidate->tests[candidate->count++])) {
            return;
        }
    }
    g->count += candidate->count > 0;
}

/* True if no event is kept for which all chosen tests are false. */
static bool is_needed(
    const struct gathering *g, const struct filter_part *part, const bool *chosen, size_t except)
{
    const struct filter_op *denied[MAX_CANDIDATES];
    struct filter_part known = *part;
    known.event.record = &known.record;
    known.denied = denied;
    for (size_t i = 0; i < g->count; i++) {
        if (chosen[i] && i != except) {
            denied[known.denied_count++] = g->candidates[i].op;
        }
    }
    return known.denied_count && !filter_push_keeps(g->maker, &known);
}

/* Choose tests that are each necessary: an event must pass all. */
static size_t choose_all(
    const struct gathering *g, const struct filter_part *part, struct filter_push_test *tests)
{
    size_t count = 0;
    for (size_t i = 0; i < g->count; i++) {
        bool one[MAX_CANDIDATES] = {false};
        one[i] = true;
        if (count < MAX_TESTS && g->candidates[i].count == 1 && is_needed(g, part, one, SIZE_MAX)) {
            tests[count++] = g->candidates[i].tests[0];
        }
    }
    return count;
}

/* Choose a minimal set: an event must pass one of them. */
static size_t choose_any(
    const struct gathering *g, const struct filter_part *part, struct filter_push_test *tests)
{
    bool chosen[MAX_CANDIDATES] = {false};
    size_t count = 0;
    memset(chosen, true, g->count);
    if (!is_needed(g, part, chosen, SIZE_MAX)) {
        return 0;
    }
    for (size_t i = 0; i < g->count; i++) {
        chosen[i] = !is_needed(g, part, chosen, i);
    }
    for (size_t i = 0; i < g->count; i++) {
        for (size_t k = 0; chosen[i] && k < g->candidates[i].count; k++) {
            if (count == MAX_TESTS) {
                return 0;
            }
            tests[count++] = g->candidates[i].tests[k];
        }
    }
    return count;
}

static bool is_needed_by_others(const struct filter_push_question *q, uint16_t id)
{
    for (size_t i = 0; i < q->need_count; i++) {
        if (q->needs[i].id == id) {
            return true;
        }
    }
    return false;
}

/* A filter applies to all events of an id and version, so no other definition may describe them
 * differently. */
static bool is_alone(const struct filter_push_question *q, const struct event_descriptor *d)
{
    size_t count = 0;
    for (size_t i = 0; i < q->event_count; i++) {
        const struct event_descriptor *other = &q->events[i].descriptor;
        count += other->id == d->id && other->version == d->version;
    }
    return count == 1;
}

static bool push_event(
    struct gathering *g, const struct filter_push_event *event, struct filter_push_payload *payload)
{
    struct filter_push_test tests[MAX_TESTS];
    struct filter_part part = filter_push_defined(g->maker, event);
    g->schema = event->schema;
    g->count = 0;
    filter_push_each_op(g->maker, gather, g);
    size_t count = choose_all(g, &part, tests);
    payload->any = count == 0;
    count = count ? count : choose_any(g, &part, tests);
    struct filter_push_test *kept = arena_alloc_array(g->maker->arena, count + 1, sizeof(*kept));
    if (!kept || count == 0) {
        return false;
    }
    memcpy(kept, tests, count * sizeof(*kept));
    payload->event = event->descriptor;
    payload->tests = kept;
    payload->count = count;
    payload->any = payload->any && count > 1;
    return true;
}

void filter_push_payload(struct filter_push_maker *maker)
{
    struct candidate candidates[MAX_CANDIDATES];
    struct gathering g = {.maker = maker, .candidates = candidates};
    struct filter_push *push = maker->push;
    struct filter_push_payload *list = arena_alloc_array(maker->arena, MAX_EVENTS, sizeof(*list));
    size_t count = 0;
    for (size_t i = 0; list && maker->question->is_manifest && i < maker->kept_count; i++) {
        const struct filter_push_event *event = maker->kept[i];
        bool is_known = event->schema && event->schema->has_layout &&
                        is_alone(maker->question, &event->descriptor);
        if (count == MAX_EVENTS) {
            /* ETW accepts no more, and some filters alone would still let the others through */
            return;
        }
        if (is_known && !is_needed_by_others(maker->question, event->descriptor.id) &&
            push_event(&g, event, &list[count])) {
            count++;
        }
    }
    push->payload = list;
    push->payload_count = list ? count : 0;
}
