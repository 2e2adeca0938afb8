#include "filter/push/filter_part.h"

#include <stdio.h>
#include <string.h>

#include "base/text/fold.h"

/* Possible results of a test or rule. */
enum { MAY_BE_TRUE = 1, MAY_BE_FALSE = 2, MAY_BE_EITHER = 3 };

static bool find_field(const char *path, uint8_t *ret_field)
{
    struct event_path compiled;
    if (!event_path_compile(span_text(path), &compiled, NULL)) {
        return false;
    }
    *ret_field = compiled.field;
    return true;
}

/* Register the fields from the header, and those that a definition adds. */
static void add_field(struct filter_fields *fields, const char *name)
{
    struct event_path path;
    struct span text = span_text(name);
    bool is_event = span_is(span_first(text, 6), "event.");
    if ((!is_event && !span_is(span_first(text, 9), "provider.")) ||
        !event_path_compile(text, &path, NULL)) {
        return;
    }
    uint64_t *bits = is_event && path.need == EVENT_PATH_RECORD ? fields->header : fields->names;
    bits[path.field / 64] |= UINT64_C(1) << path.field % 64;
}

/* Register a number and its name. */
static void add_unstated(uint64_t bits[4], const char *part)
{
    static const char *const endings[] = {"", "_name"};
    for (size_t i = 0; i < 2; i++) {
        char name[32];
        uint8_t field;
        snprintf(name, sizeof(name), "event.%s%s", part, endings[i]);
        if (find_field(name, &field)) {
            bits[field / 64] |= UINT64_C(1) << field % 64;
        }
    }
}

bool filter_part_fields(struct filter_fields *fields)
{
    static const char *const parts[SCHEMA_UNSTATED_BITS] = {
        "level", "keywords", "task", "opcode", "channel"};
    *fields = (struct filter_fields){.code = 0};
    for (size_t i = 0; i < SCHEMA_UNSTATED_BITS; i++) {
        add_unstated(fields->unstated[i], parts[i]);
    }
    for (size_t i = 0; event_path_name(i); i++) {
        add_field(fields, event_path_name(i));
    }
    return find_field("event.code", &fields->code) && find_field("event.level", &fields->level) &&
           find_field("event.keywords", &fields->keywords) &&
           find_field("event.keywords_name", &fields->keywords_name) &&
           find_field("process.pid", &fields->pid) && find_field("data", &fields->data) &&
           find_field("etw.session", &fields->session) &&
           find_field("provider.name", &fields->provider_name) &&
           find_field("provider.guid", &fields->provider_guid);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static unsigned truth(bool is_true)
{
    return is_true ? MAY_BE_TRUE : MAY_BE_FALSE;
}

static bool has_exact(const struct filter_op *op)
{
    for (uint32_t i = 0; i < op->literal_count; i++) {
        if (op->literals[i].exact) {
            return true;
        }
    }
    return false;
}

static bool has_text(const struct filter_op *op)
{
    for (uint32_t i = 0; i < op->literal_count; i++) {
        if (op->literals[i].type == LITERAL_TEXT) {
            return true;
        }
    }
    return false;
}

uint64_t filter_part_bits_of(const struct filter_keyword_names *names, struct span name)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < names->count; i++) {
        const struct event_schema *schema = names->events[i].schema;
        for (size_t k = 0; schema && k < schema->keyword_count; k++) {
            struct span known = schema->keywords[k].name;
            if (fold_match(known, name) != known.size) {
                continue;
            }
            if (schema->keywords[k].mask == 0) {
                return 0;
            }
            bits |= schema->keywords[k].mask;
        }
    }
    return bits;
}

/* The number has all bits of ${mask}. If several definitions differ, one bit would suffice. */
static unsigned has_mask(const struct filter_masks *known, uint64_t mask)
{
    if ((known->ones & mask) == mask) {
        return MAY_BE_TRUE;
    }
    return known->zeros & mask ? MAY_BE_FALSE : MAY_BE_EITHER;
}

static unsigned is_number(const struct filter_masks *known, uint64_t number)
{
    bool impossible = (number & known->zeros) || (known->ones & ~number) ||
                      (known->nonzero && number == 0);
    return impossible ? MAY_BE_FALSE : MAY_BE_EITHER;
}

static bool whole(const struct filter_literal *literal, uint64_t *ret_number)
{
    bool is_number = literal->type == LITERAL_NUMBER ||
                     (literal->type == LITERAL_TEXT && literal->is_number);
    *ret_number = literal->low.size;
    return is_number && !literal->low.is_real && !literal->low.negative;
}

static unsigned ask_masks(const struct filter_asker *asker, const struct filter_masks *known,
    const struct filter_op *op, const struct filter_literal *literal)
{
    uint64_t number;
    if (op->test == TEST_HAS && literal->type == LITERAL_TEXT) {
        /* a name guarantees only that its bits are set if a definition has it */
        uint64_t bits = literal->exact ? 0 : filter_part_bits_of(&asker->names, literal->text);
        bool impossible = bits && (known->zeros & bits) == bits;
        return impossible ? MAY_BE_FALSE : MAY_BE_EITHER;
    }
    if (!whole(literal, &number)) {
        return MAY_BE_EITHER;
    }
    if (op->test == TEST_HAS) {
        return has_mask(known, number);
    }
    return op->test == TEST_EQUAL || op->test == TEST_IN ? is_number(known, number) : MAY_BE_EITHER;
}

static unsigned keywords_answer(
    const struct filter_asker *asker, const struct filter_part *part, const struct filter_op *op)
{
    unsigned answer = MAY_BE_FALSE;
    if (op->test == TEST_EXISTS) {
        return MAY_BE_TRUE;
    }
    for (uint32_t i = 0; i < op->literal_count; i++) {
        unsigned one = ask_masks(asker, &part->keywords, op, &op->literals[i]);
        if (one == MAY_BE_TRUE) {
            return one;
        }
        answer |= one;
    }
    return answer;
}

static bool is_denied(const struct filter_part *part, const struct filter_op *op)
{
    for (size_t i = 0; i < part->denied_count; i++) {
        if (part->denied[i] == op) {
            return true;
        }
    }
    return false;
}

/* True if everything that the test uses is known. */
static bool is_known(
    const struct filter_asker *asker, const struct filter_part *part, const struct filter_op *op)
{
    uint8_t field = op->path.field;
    if (!filter_known_has(&part->known, field)) {
        return false;
    }
    if (op->test == TEST_HAS && op->has_names && has_text(op)) {
        return field == asker->fields.keywords &&
               filter_known_has(&part->known, asker->fields.keywords_name);
    }
    return field != asker->fields.provider_name || !part->name_by_case || !has_exact(op);
}

static unsigned ask_test(
    const struct filter_asker *asker, const struct filter_part *part, const struct filter_op *op)
{
    if (is_known(asker, part, op)) {
        uint64_t given_up = asker->scratch->given_up;
        bool holds = filter_op_holds(asker->scratch, op, &part->event);
        return holds || asker->scratch->given_up == given_up ? truth(holds) : MAY_BE_EITHER;
    }
    if (part->keywords.given && op->path.field == asker->fields.keywords) {
        return keywords_answer(asker, part, op);
    }
    if (op->path.need == EVENT_PATH_EVENT && part->knows_layout &&
        !event_path_possible(&op->path, part->event.schema)) {
        return MAY_BE_FALSE;
    }
    return is_denied(part, op) ? MAY_BE_FALSE : MAY_BE_EITHER;
}

/* ---- rules ----------------------------------------------------------------------------------- */

struct walk {
    uint8_t *reached;
    unsigned outcome;
};

/* Jumps lead forward: filter_emit.c places tests in evaluation order. */
static void follow(struct walk *walk, uint32_t from, uint32_t next)
{
    if (next >= FILTER_TRUE) {
        walk->outcome |= truth(next == FILTER_TRUE);
    } else if (next <= from) {
        walk->outcome = MAY_BE_EITHER;
    } else {
        walk->reached[next] = 1;
    }
}

static unsigned outcome_of(const struct filter_asker *asker, const struct filter_part *part,
    const struct filter_code *code)
{
    struct walk walk = {.reached = asker->reached};
    if (code->start >= FILTER_TRUE) {
        return truth(code->start == FILTER_TRUE);
    }
    memset(walk.reached, 0, code->op_count);
    walk.reached[code->start] = 1;
    for (uint32_t at = code->start; at < code->op_count && walk.outcome != MAY_BE_EITHER; at++) {
        if (!walk.reached[at]) {
            continue;
        }
        const struct filter_op *op = &code->ops[at];
        unsigned answer = ask_test(asker, part, op);
        if (answer & MAY_BE_TRUE) {
            follow(&walk, at, op->on_true);
        }
        if (answer & MAY_BE_FALSE) {
            follow(&walk, at, op->on_false);
        }
    }
    return walk.outcome;
}

bool filter_part_may_match(const struct filter_asker *asker, const struct filter_part *part,
    const struct filter_code *code)
{
    return outcome_of(asker, part, code) & MAY_BE_TRUE;
}

bool filter_part_may_keep(const struct filter_asker *asker, const struct filter_part *part,
    const struct filter_part_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct filter_code *code = &list->filter->rules[list->rules[i]];
        unsigned outcome = outcome_of(asker, part, code);
        if (!(outcome & MAY_BE_TRUE)) {
            continue;
        }
        if (code->action != FILTER_ACTION_DROP) {
            return true; /* SAMPLE and LIMIT keep some events */
        }
        if (!(outcome & MAY_BE_FALSE)) {
            return false;
        }
    }
    return true;
}
