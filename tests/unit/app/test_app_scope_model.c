#include "app/plan/provider_selection.h"
#include "decode/decode.h"
#include "input/windows/etw_plan.h"
#include "scope_cases.h"

/*
 * Random lists of rules, entries and events: if the agent keeps an event, ETW must let it through
 * with the narrowed request. ETW is a model of the test's own here, of level, keywords, ids,
 * processes and predicates (enabletraceex2, event_filter_descriptor, payload_filter_predicate on
 * learn.microsoft.com), which uses the values from which the event was made. So the agent keeps the
 * same events with and without narrowing. ETWSHIP_STEPS: the number of pairs; ETWSHIP_SEED: other
 * pairs.
 */
enum { PAIRS = 400000, EVENTS_PER_CASE = 40 };

/* ---- ETW ------------------------------------------------------------------------------------- */

static bool test_number(uint16_t op, bool is_signed, uint64_t v, const char *value)
{
    const char *comma = strchr(value, ',');
    uint64_t a = is_signed ? (uint64_t)strtoll(value, NULL, 10) : strtoull(value, NULL, 10);
    uint64_t b = !comma      ? 0
                 : is_signed ? (uint64_t)strtoll(comma + 1, NULL, 10)
                             : strtoull(comma + 1, NULL, 10);
    bool below = is_signed ? (int64_t)v < (int64_t)a : v < a;
    bool above = is_signed ? (int64_t)v > (int64_t)a : v > a;
    bool above_b = is_signed ? (int64_t)v > (int64_t)b : v > b;
    switch (op) {
    case ETW_PAYLOAD_EQ:
        return v == a;
    case ETW_PAYLOAD_LE:
        return !above;
    case ETW_PAYLOAD_GT:
        return above;
    case ETW_PAYLOAD_LT:
        return below;
    case ETW_PAYLOAD_GE:
        return !below;
    default:
        assert_int_equal(op, ETW_PAYLOAD_BETWEEN);
        return !below && !above_b;
    }
}

static bool test_value(const struct etw_payload_test *test, const struct values *v)
{
    switch (*test->field) {
    case 'N':
        return test_number(test->op, false, v->n, test->value);
    case 'W':
        return test_number(test->op, true, (uint64_t)(int64_t)v->w, test->value);
    case 'H':
        return test_number(test->op, false, v->h, test->value);
    default:
        return test->op == ETW_PAYLOAD_IS ? strcmp(v->t, test->value) == 0
                                          : strstr(v->t, test->value) != NULL;
    }
}

/* Every filter of the event must let it through. */
static bool passes_payload(const struct etw_request *request, const struct made *made)
{
    for (size_t i = 0; i < request->payload_count; i++) {
        const struct etw_payload_filter *f = &request->payload[i];
        if (f->event.id != made->record.descriptor.id ||
            f->event.version != made->record.descriptor.version) {
            continue;
        }
        size_t holds = 0;
        for (size_t k = 0; k < f->count; k++) {
            holds += test_value(&f->tests[k], &made->values);
        }
        if (f->match_any ? holds == 0 : holds < f->count) {
            return false;
        }
    }
    return true;
}

static bool is_listed(const struct etw_filter_ids *list, uint16_t id)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->ids[i] == id) {
            return true;
        }
    }
    return false;
}

static bool etw_passes(const struct etw_request *request, const struct made *made)
{
    const struct event_descriptor *d = &made->record.descriptor;
    bool level = request->level == 0 || d->level <= request->level;
    bool keyword = d->keyword == 0 || request->any == 0 ||
                   ((d->keyword & request->any) && (d->keyword & request->all) == request->all);
    bool id = request->events.count == 0 ||
              is_listed(&request->events, d->id) != request->events.exclude;
    bool process = request->pid_count == 0;
    for (size_t i = 0; i < request->pid_count; i++) {
        process = process || (made->record.present && made->record.process_id == request->pids[i]);
    }
    if (made->record.kind ==
        RECORD_CLASSIC) { /* its keywords are flags, which the provider's own code tests */
        return level && process && request->any == 0;
    }
    return level && keyword && id && process && passes_payload(request, made);
}

/* ---- the agent ------------------------------------------------------------------------------- */

static bool list_keeps(
    const struct filter *filter, struct filter_scratch *scratch, const struct event *event)
{
    size_t rule;
    return filter_event(filter, scratch, event, &rule) == FILTER_KEEP;
}

static bool agent_keeps(
    const struct case_ *c, struct filter_scratch *scratch, const struct event *event)
{
    bool any = c->question.any_count == 0;
    for (size_t i = 0; i < c->question.every_count; i++) {
        if (!list_keeps(c->every[i], scratch, event)) {
            return false;
        }
    }
    for (size_t i = 0; i < c->question.any_count; i++) {
        any = any || list_keeps(c->any[i], scratch, event);
    }
    return any && provider_selection_passes(c->selection, event);
}

static void complain(const struct case_ *c, const struct made *made)
{
    const struct event_descriptor *d = &made->record.descriptor;
    print_error("%skept, but ETW would not write it: id %u version %u level %u keyword 0x%llx pid "
                "%u kind %d n %u w %d h %llu t '%s'; with level %u any 0x%llx all 0x%llx, %u ids, "
                "%zu payload\n",
        c->text, d->id, d->version, d->level, (unsigned long long)d->keyword,
        made->record.process_id, (int)made->record.kind, made->values.n, made->values.w,
        (unsigned long long)made->values.h, made->values.t, c->narrow.level,
        (unsigned long long)c->narrow.any, (unsigned long long)c->narrow.all,
        c->narrow.events.count, c->narrow.payload_count);
    fail();
}

struct counts {
    uint64_t came;    /* events that ETW would write for the entry alone */
    uint64_t kept;    /* of these, the ones that the agent keeps */
    uint64_t avoided; /* of these, the ones that ETW need not write */
};

static void look(const struct case_ *c, struct filter_scratch *scratch, struct decoder *decoder,
    struct counts *counts)
{
    struct made made;
    struct event event;
    make_event(c, &made);
    if (!etw_passes(&c->wide, &made)) {
        return;
    }
    bool passes = !c->scope.nothing && etw_passes(&c->narrow, &made);
    decoder_run(
        decoder, &made.record, made.definition ? &made.definition->schema : NULL, 8, &event);
    bool keeps = agent_keeps(c, scratch, &event);
    counts->came++;
    counts->kept += keeps;
    counts->avoided += !passes;
    if (keeps && !passes) {
        complain(c, &made);
    }
}

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void what_is_kept_comes(void **state)
{
    (void)state;
    struct filter_scratch scratch;
    struct decoder decoder;
    struct counts counts = {0};
    uint64_t pairs = from_environment("ETWSHIP_STEPS", PAIRS);
    uint64_t seed = from_environment("ETWSHIP_SEED", 20261122);
    struct case_ *c = malloc(sizeof(*c));
    assert_non_null(c);
    assert_true(filter_scratch_init(&scratch, NULL, NULL));
    assert_true(decoder_init(&decoder, NULL));
    scratch.paths.session = span_text("s");
    chance_state = seed;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (uint64_t i = 0; i < pairs; i += EVENTS_PER_CASE) {
        make_case(c);
        for (int k = 0; k < EVENTS_PER_CASE; k++) {
            look(c, &scratch, &decoder, &counts);
        }
        end_case(c);
    }
    print_message("%llu came, %llu kept, %llu need not come\n", (unsigned long long)counts.came,
        (unsigned long long)counts.kept, (unsigned long long)counts.avoided);
    /* With random rules like these, narrowing saves at least a third of the events that are
     * dropped. */
    assert_true(counts.kept > counts.came / 10);
    assert_true(counts.avoided * 3 > counts.came - counts.kept);
    decoder_fini(&decoder);
    filter_scratch_fini(&scratch);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_kept_comes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
