#include "filter/push/filter_push_own.h"

/*
 * A mask is valid if every kept event has one of its bits, or no keyword at all. Fewer bits let
 * fewer events through: first the bits named by tests are tried, then those that definitions give
 * to kept events.
 */

/* Bits 48 to 63 belong to the system: channels share them among all events of a log
 * (winmeta.xml). */
static const uint64_t own_bits = UINT64_C(0x0000ffffffffffff);

struct candidates {
    const struct filter_push_maker *maker;
    uint64_t bits;
};

static void add_bits(void *self, const struct filter_op *op)
{
    struct candidates *candidates = self;
    const struct filter_push_maker *maker = candidates->maker;
    bool is_test = op->test == TEST_HAS || op->test == TEST_EQUAL || op->test == TEST_IN;
    if (op->path.field != maker->asker.fields.keywords || !is_test) {
        return;
    }
    for (uint32_t i = 0; i < op->literal_count; i++) {
        const struct filter_literal *literal = &op->literals[i];
        bool is_number = literal->type == LITERAL_NUMBER ||
                         (literal->type == LITERAL_TEXT && literal->is_number);
        if (is_number && !literal->low.is_real && !literal->low.negative) {
            candidates->bits |= literal->low.size;
        } else if (literal->type == LITERAL_TEXT && !literal->exact) {
            candidates->bits |= filter_part_bits_of(&maker->asker.names, literal->text);
        }
    }
}

/* True if no event is kept that has keywords but none of ${bits}. */
static bool is_needed(const struct filter_push_maker *maker, uint64_t bits)
{
    for (size_t i = 0; i < maker->event_parts; i++) {
        struct filter_part part = maker->parts[i];
        part.event.record = &part.record;
        part.keywords = (struct filter_masks){.given = true, .nonzero = true, .zeros = bits};
        if (filter_push_keeps(maker, &part)) {
            return false;
        }
    }
    return true;
}

static uint64_t fewest_bits(const struct filter_push_maker *maker, uint64_t bits)
{
    if (bits == 0 || !is_needed(maker, bits)) {
        return 0;
    }
    for (unsigned i = 0; i < 64; i++) {
        uint64_t less = bits & ~(UINT64_C(1) << i);
        if (less != bits && less && is_needed(maker, less)) {
            bits = less;
        }
    }
    return bits;
}

static uint64_t bits_that_all_have(const struct filter_push_maker *maker, uint64_t bits)
{
    uint64_t all = 0;
    for (unsigned i = 0; i < 64; i++) {
        uint64_t bit = UINT64_C(1) << i;
        all |= bits & bit && is_needed(maker, bit) ? bit : 0;
    }
    return all;
}

/* Masks from the definitions of all kept events; 0 if one of them does not state its keywords. */
static void ask_definitions(
    const struct filter_push_maker *maker, uint64_t *ret_any, uint64_t *ret_all)
{
    *ret_any = 0;
    *ret_all = UINT64_MAX;
    for (size_t i = 0; i < maker->kept_count; i++) {
        if (maker->kept[i]->unstated & SCHEMA_NO_KEYWORDS) {
            maker->push->notes |= FILTER_PUSH_NO_KEYWORDS;
            *ret_any = *ret_all = 0;
            return;
        }
        uint64_t keyword = maker->kept[i]->descriptor.keyword;
        if (keyword) {
            *ret_any |= keyword & own_bits ? keyword & own_bits : keyword;
            *ret_all &= keyword;
        }
    }
    *ret_all &= *ret_any;
}

/* True if the events that must arrive pass the masks. */
static bool lets_needs_through(const struct filter_push_question *q, uint64_t any, uint64_t all)
{
    bool good = q->is_manifest ||
                ((filter_manifest_keyword & any) != 0 && (filter_manifest_keyword & all) == all);
    for (size_t i = 0; i < q->need_count && good; i++) {
        uint64_t keyword = q->needs[i].keyword;
        good = keyword == 0 || ((keyword & any) && (keyword & all) == all);
    }
    return good;
}

void filter_push_keywords(struct filter_push_maker *maker)
{
    struct candidates candidates = {.maker = maker};
    struct filter_push *push = maker->push;
    if (maker->keeps_classic) {
        return; /* keywords of classic providers are flags */
    }
    filter_push_each_op(maker, add_bits, &candidates);
    uint64_t any = fewest_bits(maker, candidates.bits);
    uint64_t all = any ? bits_that_all_have(maker, candidates.bits) : 0;
    if (!any && maker->knows_all) {
        ask_definitions(maker, &any, &all);
    }
    if (any && lets_needs_through(maker->question, any, all)) {
        push->any = all ? all : any;
        push->all = all & (all - 1) ? all : 0;
    } else if (any && lets_needs_through(maker->question, any, 0)) {
        push->any = any;
    }
}
