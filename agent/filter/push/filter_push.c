#include "filter/push/filter_push.h"

#include <stdlib.h>

#include "filter/push/filter_push_own.h"

/*
 * An event of the provider belongs to one of up to four parts: with the provider's name; without
 * it, because no definition fits; and, unless there is a manifest, the same two for classic events,
 * which have neither id nor keywords.
 */
enum { EVERY_LEVEL = 0xff };

/* ---- lists and parts ------------------------------------------------------------------------- */

bool filter_push_keeps(const struct filter_push_maker *maker, const struct filter_part *part)
{
    const struct filter_push_question *q = maker->question;
    for (size_t i = 0; i < q->every_count; i++) {
        if (!filter_part_may_keep(&maker->asker, part, &maker->every[i])) {
            return false;
        }
    }
    bool any = q->any_count == 0;
    for (size_t i = 0; i < q->any_count && !any; i++) {
        any = filter_part_may_keep(&maker->asker, part, &maker->any[i]);
    }
    return any;
}

static void add_part(struct filter_push_maker *maker, enum record_kind kind)
{
    struct filter_part *part = &maker->parts[maker->part_count++];
    *part = (struct filter_part){
        .record = {.kind = kind, .provider = maker->question->guid, .pointer_size = 8}};
    part->event = (struct event){.record = &part->record, .status = DECODE_RAW};
    if (maker->question->session.size) {
        filter_known_add(&part->known, maker->asker.fields.session);
    }
    if (kind == RECORD_EVENT && !guid_is_zero(&maker->question->guid)) {
        filter_known_add(&part->known, maker->asker.fields.provider_guid);
    }
}

/* True if all definitions use the question's provider name. */
static bool is_called_so(const struct filter_push_question *q)
{
    for (size_t i = 0; i < q->event_count; i++) {
        const struct event_schema *schema = q->events[i].schema;
        if (schema && !span_equal_nocase(schema->provider_name, q->provider)) {
            return false;
        }
    }
    return q->provider.size > 0;
}

/* Add a part with the name, if it is known, and one without, because no definition may fit an
 * event. */
static void add_parts(struct filter_push_maker *maker, enum record_kind kind)
{
    add_part(maker, kind);
    if (!is_called_so(maker->question)) {
        return;
    }
    struct filter_part *named = &maker->parts[maker->part_count - 1];
    maker->named = (struct event_schema){.provider_name = maker->question->provider};
    named->event.schema = &maker->named;
    named->name_by_case = true;
    filter_known_add(&named->known, maker->asker.fields.provider_name);
    add_part(maker, kind);
    filter_known_add(&maker->parts[maker->part_count - 1].known, maker->asker.fields.provider_name);
}

static void make_parts(struct filter_push_maker *maker)
{
    const struct filter_fields *fields = &maker->asker.fields;
    add_parts(maker, RECORD_EVENT);
    maker->event_parts = maker->part_count;
    if (!maker->question->is_manifest) {
        add_parts(maker, RECORD_CLASSIC);
    }
    for (size_t i = maker->event_parts; i < maker->part_count; i++) {
        filter_known_add(&maker->parts[i].known, fields->code);
        filter_known_add(&maker->parts[i].known, fields->keywords);
        filter_known_add(&maker->parts[i].known, fields->keywords_name);
    }
}

struct filter_part filter_push_defined(
    const struct filter_push_maker *maker, const struct filter_push_event *event)
{
    const struct filter_fields *fields = &maker->asker.fields;
    struct filter_part part = maker->parts[0];
    part.record.descriptor = event->descriptor;
    for (size_t i = 0; i < 4; i++) {
        part.known.bits[i] |= fields->header[i] | (event->schema ? fields->names[i] : 0);
    }
    for (size_t bit = 0; bit < SCHEMA_UNSTATED_BITS; bit++) {
        for (size_t i = 0; event->unstated >> bit & 1 && i < 4; i++) {
            part.known.bits[i] &= ~fields->unstated[bit][i];
        }
    }
    if (guid_is_zero(&part.record.provider)) {
        part.known.bits[fields->provider_guid / 64] &= ~(UINT64_C(1) << fields->provider_guid % 64);
    }
    if (event->schema) {
        part.event.schema = event->schema;
        part.name_by_case = false;
        part.knows_layout = event->schema->has_layout;
    }
    return part;
}

/* ---- relevant rules -------------------------------------------------------------------------- */

static bool take_list(
    struct filter_push_maker *maker, const struct filter *filter, struct filter_part_list *list)
{
    list->filter = filter;
    list->rules = arena_alloc_array(maker->arena, filter->rule_count + 1, sizeof(*list->rules));
    if (!list->rules) {
        return false;
    }
    for (size_t i = 0; i < filter->rule_count; i++) {
        bool matters = false;
        for (size_t k = 0; k < maker->part_count && !matters; k++) {
            matters = filter_action_decides(filter->rules[i].action) &&
                      filter_part_may_match(&maker->asker, &maker->parts[k], &filter->rules[i]);
        }
        list->rules[list->count] = (uint32_t)i;
        list->count += matters;
    }
    return true;
}

static bool take_lists(struct filter_push_maker *maker)
{
    const struct filter_push_question *q = maker->question;
    bool good = true;
    for (size_t i = 0; i < q->every_count && good; i++) {
        good = take_list(maker, q->every[i], &maker->every[i]);
    }
    for (size_t i = 0; i < q->any_count && good; i++) {
        good = take_list(maker, q->any[i], &maker->any[i]);
    }
    return good;
}

static void each_op(const struct filter_part_list *list,
    void (*each)(void *self, const struct filter_op *op), void *self)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct filter_code *code = &list->filter->rules[list->rules[i]];
        for (uint32_t k = 0; k < code->op_count; k++) {
            each(self, &code->ops[k]);
        }
    }
}

void filter_push_each_op(const struct filter_push_maker *maker,
    void (*each)(void *self, const struct filter_op *op), void *self)
{
    for (size_t i = 0; i < maker->question->every_count; i++) {
        each_op(&maker->every[i], each, self);
    }
    for (size_t i = 0; i < maker->question->any_count; i++) {
        each_op(&maker->any[i], each, self);
    }
}

static uint32_t most_ops(const struct filter *const *filters, size_t count)
{
    uint32_t most = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < filters[i]->rule_count; k++) {
            uint32_t ops = filters[i]->rules[k].op_count;
            most = ops > most ? ops : most;
        }
    }
    return most;
}

/* ---- plan ------------------------------------------------------------------------------------ */

static bool make(struct filter_push_maker *maker)
{
    if (!filter_push_values_find(maker)) {
        return false;
    }
    filter_push_keywords(maker);
    filter_push_values_spare(maker);
    if (!maker->push->nothing) {
        filter_push_payload(maker);
        filter_push_left(maker);
    }
    return true;
}

bool filter_push_make(const struct filter_push_question *question, struct arena *arena,
    struct filter_push *ret_push, struct error *err)
{
    *ret_push = (struct filter_push){.level = EVERY_LEVEL};
    struct filter_scratch scratch;
    struct filter_push_maker maker = {.question = question, .arena = arena, .push = ret_push};
    maker.asker.names = (struct filter_keyword_names){question->events, question->event_count};
    maker.asker.scratch = &scratch;
    uint32_t most = most_ops(question->every, question->every_count);
    uint32_t other = most_ops(question->any, question->any_count);
    maker.asker.reached = arena_alloc(arena, (most > other ? most : other) + 1);
    maker.every = arena_alloc_array(arena, question->every_count + 1, sizeof(*maker.every));
    maker.any = arena_alloc_array(arena, question->any_count + 1, sizeof(*maker.any));
    maker.kept = arena_alloc_array(
        arena, question->event_count + 1, sizeof(struct filter_push_event *));
    bool good = filter_scratch_init(&scratch, NULL, err) && maker.asker.reached && maker.every &&
                maker.any && maker.kept && filter_part_fields(&maker.asker.fields);
    scratch.paths.session = question->session;
    if (good) {
        make_parts(&maker);
        good = take_lists(&maker) && make(&maker);
    }
    filter_scratch_fini(&scratch);
    return good || error_set(err, ERR_MEMORY, "no memory left for filters");
}
