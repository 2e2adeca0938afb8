#include <math.h>
#include <stdlib.h>

#include "filter/push/filter_push_own.h"

#include "base/order.h"

/*
 * Ids, levels and processes: tests divide values into ranges without differences, and one value of
 * each range is tried. Values with a definition are tried one by one.
 */
enum { MAX_CUTS = 2048, EVERY_LEVEL = 0xff, MAX_LEVEL = 255, LAST_USUAL_LEVEL = 5 };

static const uint64_t max_pid = UINT32_MAX;

static bool keeps_some(const struct filter_push_maker *maker, struct filter_part *parts)
{
    bool keeps = false;
    for (size_t i = 0; i < maker->part_count && !keeps; i++) {
        parts[i].event.record = &parts[i].record;
        keeps = filter_push_keeps(maker, &parts[i]);
    }
    return keeps;
}

static uint8_t *ids_of(const struct filter_push_maker *maker)
{
    return (uint8_t *)(uintptr_t)maker->push->ids;
}

/* ---- ranges of values ------------------------------------------------------------------------ */

/* Starts of ranges, from 0; sorted later. */
struct cuts {
    uint8_t field;
    uint64_t max;
    bool too_many;
    size_t count;
    uint64_t at[MAX_CUTS];
};

static void add_cut(struct cuts *cuts, uint64_t at)
{
    if (at > cuts->max) {
        return;
    }
    if (cuts->count == MAX_CUTS) {
        cuts->too_many = true;
        return;
    }
    cuts->at[cuts->count++] = at;
}

/* Add a value as a range of its own. */
static void add_value(struct cuts *cuts, uint64_t value)
{
    add_cut(cuts, value);
    if (value < cuts->max) {
        add_cut(cuts, value + 1);
    }
}

static void add_number(struct cuts *cuts, const struct filter_number *number)
{
    if (!number->is_real) {
        if (!number->negative) {
            add_value(cuts, number->size);
        }
        return;
    }
    double low = floor(number->real);
    if (low >= 0 && low <= (double)cuts->max) {
        add_value(cuts, (uint64_t)low);
    }
}

static void cut_by(void *self, const struct filter_op *op)
{
    struct cuts *cuts = self;
    if (op->path.field != cuts->field || op->test == TEST_HAS || op->test == TEST_EXISTS) {
        return;
    }
    for (uint32_t i = 0; i < op->literal_count; i++) {
        const struct filter_literal *literal = &op->literals[i];
        if (literal->type == LITERAL_NUMBER || literal->type == LITERAL_RANGE) {
            add_number(cuts, &literal->low);
        }
        if (literal->type == LITERAL_RANGE) {
            add_number(cuts, &literal->high);
        }
    }
}

static void find_cuts(
    const struct filter_push_maker *maker, struct cuts *cuts, uint8_t field, uint64_t max)
{
    cuts->field = field;
    cuts->max = max;
    cuts->too_many = false;
    cuts->count = 0;
    add_cut(cuts, 0);
    filter_push_each_op(maker, cut_by, cuts);
}

static void sort_cuts(struct cuts *cuts)
{
    size_t count = 0;
    qsort(cuts->at, cuts->count, sizeof(cuts->at[0]), order_numbers);
    for (size_t i = 0; i < cuts->count; i++) {
        if (count == 0 || cuts->at[i] != cuts->at[count - 1]) {
            cuts->at[count++] = cuts->at[i];
        }
    }
    cuts->count = count;
}

static uint64_t cut_end(const struct cuts *cuts, size_t index)
{
    return index + 1 < cuts->count ? cuts->at[index + 1] - 1 : cuts->max;
}

/* Tests of bits do not form ranges. */
struct bit_tests {
    uint8_t field;
    bool any;
};

static void look_for_bits(void *self, const struct filter_op *op)
{
    struct bit_tests *tests = self;
    tests->any = tests->any || (op->path.field == tests->field && op->test == TEST_HAS);
}

static bool has_bit_tests(const struct filter_push_maker *maker, uint8_t field)
{
    struct bit_tests tests = {.field = field};
    filter_push_each_op(maker, look_for_bits, &tests);
    return tests.any;
}

/* ---- ids ------------------------------------------------------------------------------------- */

static void keep_ids(uint8_t *ids, uint64_t first, uint64_t last)
{
    for (uint64_t id = first; id <= last; id++) {
        ids[id / 8] |= (uint8_t)(1u << id % 8);
    }
}

/* True if an event of the id is defined; ${ret_kept}: one of these may be kept. */
static bool ask_defined(struct filter_push_maker *maker, uint16_t id, bool *ret_kept)
{
    const struct filter_push_question *q = maker->question;
    bool defined = false;
    *ret_kept = false;
    for (size_t i = 0; i < q->event_count; i++) {
        if (q->events[i].descriptor.id != id) {
            continue;
        }
        struct filter_part part = filter_push_defined(maker, &q->events[i]);
        part.event.record = &part.record;
        defined = true;
        if (filter_push_keeps(maker, &part)) {
            *ret_kept = true;
            maker->kept[maker->kept_count++] = &q->events[i];
        }
    }
    return defined;
}

static bool keeps_id(const struct filter_push_maker *maker, uint16_t id)
{
    bool keeps = false;
    for (size_t i = 0; i < maker->event_parts && !keeps; i++) {
        struct filter_part part = maker->parts[i];
        part.record.descriptor.id = id;
        part.event.record = &part.record;
        filter_known_add(&part.known, maker->asker.fields.code);
        keeps = filter_push_keeps(maker, &part);
    }
    return keeps;
}

/* False: both the included and the excluded ids are too many for ETW, and not all are known. */
static bool ask_ranges(struct filter_push_maker *maker, struct cuts *cuts, uint8_t *ids)
{
    uint64_t kept_count = 0;
    uint64_t dropped_count = 0;
    sort_cuts(cuts);
    for (size_t i = 0; i < cuts->count; i++) {
        bool kept;
        uint64_t last = cut_end(cuts, i);
        bool defined = ask_defined(maker, (uint16_t)cuts->at[i], &kept);
        if (!defined) {
            kept = keeps_id(maker, (uint16_t)cuts->at[i]);
            maker->knows_all = maker->knows_all && !kept;
        }
        if (kept) {
            keep_ids(ids, cuts->at[i], last);
        }
        kept_count += kept && !defined ? last - cuts->at[i] + 1 : 0;
        dropped_count += kept ? 0 : last - cuts->at[i] + 1;
        if (!maker->question->is_log && kept_count > FILTER_PUSH_MAX_IDS &&
            dropped_count > FILTER_PUSH_MAX_IDS) {
            return false;
        }
    }
    return true;
}

static bool find_ids(struct filter_push_maker *maker, struct cuts *cuts)
{
    const struct filter_push_question *q = maker->question;
    struct filter_push *push = maker->push;
    uint8_t *ids = arena_alloc(maker->arena, FILTER_PUSH_IDS / 8);
    if (!ids) {
        return false;
    }
    push->ids = ids;
    find_cuts(maker, cuts, maker->asker.fields.code, UINT16_MAX);
    for (size_t i = 0; i < q->event_count; i++) {
        add_value(cuts, q->events[i].descriptor.id);
    }
    maker->knows_all = true;
    for (size_t i = maker->event_parts; i < maker->part_count; i++) {
        maker->keeps_classic = maker->keeps_classic || filter_push_keeps(maker, &maker->parts[i]);
    }
    bool complex = cuts->too_many || has_bit_tests(maker, cuts->field);
    if (complex || !ask_ranges(maker, cuts, ids)) {
        push->notes |= complex ? FILTER_PUSH_COMPLEX : FILTER_PUSH_MANY_IDS;
        maker->knows_all = false;
        keep_ids(ids, 0, UINT16_MAX);
        return true;
    }
    if (maker->keeps_classic) {
        keep_ids(ids, 0, 0);
        maker->knows_all = false;
    }
    return true;
}

static size_t count_ids(const uint8_t *ids)
{
    size_t count = 0;
    for (size_t i = 0; i < FILTER_PUSH_IDS / 8; i++) {
        for (unsigned bits = ids[i]; bits; bits &= bits - 1) {
            count++;
        }
    }
    return count;
}

/* Add ids that must arrive for other events. */
static void add_needs(struct filter_push_maker *maker, uint8_t *ids)
{
    const struct filter_push_question *q = maker->question;
    for (size_t i = 0; i < q->need_count; i++) {
        keep_ids(ids, q->needs[i].id, q->needs[i].id);
        maker->push->notes |= FILTER_PUSH_NEEDED;
    }
    if (!q->is_manifest && !q->is_log) {
        keep_ids(ids, RECORD_MANIFEST_ID, RECORD_MANIFEST_ID);
    }
}

/* True if the event passes level and keywords, as far as its definition states them. */
static bool passes_masks(const struct filter_push *push, const struct filter_push_event *event)
{
    const struct event_descriptor *d = &event->descriptor;
    bool masks = d->keyword == 0 || push->any == 0 || (event->unstated & SCHEMA_NO_KEYWORDS) ||
                 ((d->keyword & push->any) && (d->keyword & push->all) == push->all);
    return (d->level <= push->level || (event->unstated & SCHEMA_NO_LEVEL)) && masks;
}

/* Excluded ids need not be listed if the masks drop them. */
void filter_push_values_spare(struct filter_push_maker *maker)
{
    uint8_t *ids = ids_of(maker);
    const struct filter_push_question *q = maker->question;
    if (maker->push->id_count <= FILTER_PUSH_MAX_IDS) {
        return;
    }
    uint8_t *seen = arena_alloc(maker->arena, FILTER_PUSH_IDS / 8);
    for (size_t i = 0; seen && i < q->event_count; i++) {
        uint16_t id = q->events[i].descriptor.id;
        if (passes_masks(maker->push, &q->events[i])) {
            keep_ids(seen, id, id);
        }
    }
    for (size_t i = 0; seen && i < q->event_count; i++) {
        uint16_t id = q->events[i].descriptor.id;
        if (!(seen[id / 8] >> id % 8 & 1)) {
            keep_ids(ids, id, id);
        }
    }
    maker->push->id_count = count_ids(ids);
}

/* ---- levels ---------------------------------------------------------------------------------- */

static bool keeps_level(const struct filter_push_maker *maker, uint8_t level)
{
    struct filter_part parts[FILTER_PUSH_PARTS];
    memcpy(parts, maker->parts, sizeof(parts));
    for (size_t i = 0; i < maker->part_count; i++) {
        parts[i].record.descriptor.level = level;
        filter_known_add(&parts[i].known, maker->asker.fields.level);
    }
    return keeps_some(maker, parts);
}

/* The highest level of the definitions, or of winmeta.xml. */
static uint8_t highest_level(const struct filter_push_question *q)
{
    uint8_t highest = q->is_manifest ? LAST_USUAL_LEVEL : MAX_LEVEL;
    for (size_t i = 0; i < q->event_count; i++) {
        const struct filter_push_event *event = &q->events[i];
        uint8_t level = event->unstated & SCHEMA_NO_LEVEL ? MAX_LEVEL : event->descriptor.level;
        highest = level > highest ? level : highest;
    }
    return highest;
}

/* The highest kept level in definitions; above MAX_LEVEL if one does not state its level. */
static unsigned highest_kept(const struct filter_push_maker *maker)
{
    unsigned highest = 1;
    for (size_t i = 0; i < maker->kept_count; i++) {
        const struct filter_push_event *event = maker->kept[i];
        if (event->unstated & SCHEMA_NO_LEVEL) {
            return MAX_LEVEL + 1;
        }
        highest = event->descriptor.level > highest ? event->descriptor.level : highest;
    }
    return highest;
}

static void find_level(struct filter_push_maker *maker)
{
    const struct filter_push_question *q = maker->question;
    struct filter_push *push = maker->push;
    unsigned level = highest_level(q);
    if (has_bit_tests(maker, maker->asker.fields.level)) {
        push->notes |= FILTER_PUSH_COMPLEX;
        level = EVERY_LEVEL;
    }
    while (level > 1 && !keeps_level(maker, (uint8_t)level)) {
        level--;
    }
    if (level == highest_level(q)) {
        level = EVERY_LEVEL; /* all levels */
    }
    if (maker->knows_all) {
        unsigned highest = highest_kept(maker);
        push->notes |= highest > MAX_LEVEL && level == EVERY_LEVEL ? FILTER_PUSH_NO_LEVEL : 0;
        level = highest < level ? highest : level;
    }
    for (size_t i = 0; i < q->need_count; i++) {
        level = q->needs[i].level > level ? q->needs[i].level : level;
    }
    push->level = (uint8_t)level;
    if (level == EVERY_LEVEL && highest_level(q) == MAX_LEVEL &&
        !keeps_level(maker, LAST_USUAL_LEVEL)) {
        push->notes |= FILTER_PUSH_ANY_LEVEL;
    }
}

/* ---- processes ------------------------------------------------------------------------------- */

static bool keeps_process(const struct filter_push_maker *maker, bool present, uint64_t pid)
{
    struct filter_part parts[FILTER_PUSH_PARTS];
    memcpy(parts, maker->parts, sizeof(parts));
    for (size_t i = 0; i < maker->part_count; i++) {
        parts[i].record.present = present ? RECORD_HAS_PROCESS : 0;
        parts[i].record.process_id = (uint32_t)pid;
        filter_known_add(&parts[i].known, maker->asker.fields.pid);
    }
    return keeps_some(maker, parts);
}

/* ETW selects user processes only: events of the kernel, in process 0 or 4 or without one, would
 * not arrive. */
static void find_pids(struct filter_push_maker *maker, struct cuts *cuts)
{
    enum { IDLE = 0, SYSTEM = 4 };
    struct filter_push *push = maker->push;
    uint8_t field = maker->asker.fields.pid;
    find_cuts(maker, cuts, field, max_pid);
    if (cuts->count == 1 || cuts->too_many || has_bit_tests(maker, field) ||
        maker->question->need_count || keeps_process(maker, false, 0)) {
        return;
    }
    sort_cuts(cuts);
    for (size_t i = 0; i < cuts->count; i++) {
        if (!keeps_process(maker, true, cuts->at[i])) {
            continue;
        }
        uint64_t last = cut_end(cuts, i);
        bool is_range = last - cuts->at[i] >= FILTER_PUSH_MAX_PIDS;
        bool is_system = cuts->at[i] <= SYSTEM && (last >= SYSTEM || cuts->at[i] == IDLE);
        uint64_t more = is_range ? FILTER_PUSH_MAX_PIDS : last - cuts->at[i] + 1;
        if (is_range || is_system || push->pid_count + more > FILTER_PUSH_MAX_PIDS) {
            push->notes |= is_system && !is_range ? FILTER_PUSH_SYSTEM_PIDS
                           : last == max_pid      ? 0
                                                  : FILTER_PUSH_MANY_PIDS;
            push->pid_count = 0;
            return;
        }
        for (uint64_t pid = cuts->at[i]; pid <= last; pid++) {
            push->pids[push->pid_count++] = (uint32_t)pid;
        }
    }
}

bool filter_push_values_find(struct filter_push_maker *maker)
{
    struct filter_push *push = maker->push;
    struct cuts *cuts = malloc(sizeof(*cuts));
    bool good = cuts && find_ids(maker, cuts);
    if (good) {
        push->nothing = count_ids(push->ids) == 0 && maker->question->need_count == 0;
        add_needs(maker, ids_of(maker));
        push->id_count = count_ids(push->ids);
        find_level(maker);
        find_pids(maker, cuts);
    }
    free(cuts);
    return good;
}
