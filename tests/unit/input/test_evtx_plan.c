#include "input/evtx/evtx_plan.h"

#include "base/bytes.h"
#include "support/evtx_sample.h"
#include "support/test.h"

/* Which records of a chunk have a plan: those whose values have the types of an earlier one's. */

enum { WORK = 1 << 20, FIRST = EVTX_PUT_CHUNK_HEADER_BYTES };

static struct evtx_put put;
static struct evtx_plans plans;
static struct evtx_tree tree;
static struct evtx_room room;
static struct evtx_event event;
static uint32_t second; /* place in the chunk */

static struct span chunk(void)
{
    return span_make(put.bytes + EVTX_PUT_FILE_HEADER_BYTES, EVTX_PUT_CHUNK_BYTES);
}

static uint32_t size_of_record(uint32_t at)
{
    return load_le32(chunk().data + at + 4);
}

static struct evtx_plan *find(uint32_t at)
{
    enum { TAIL_BYTES = 4 };
    struct evtx_plan *plan = evtx_plans_find(&plans, &room, chunk(),
        at + EVTX_PUT_RECORD_HEAD_BYTES,
        size_of_record(at) - EVTX_PUT_RECORD_HEAD_BYTES - TAIL_BYTES);
    assert_true(plans.is_instance);
    return plan;
}

/* Two records of one template, and a plan made from the first. */
static int start(void **state)
{
    (void)state;
    evtx_put_begin(&put);
    evtx_sample_logon(&put, 1, EVTX_SAMPLE_TIME + 1, "PC-1", "anna");
    evtx_sample_logon(&put, 2, EVTX_SAMPLE_TIME + 2, "PC-2", "berta");
    evtx_put_finish(&put);
    second = FIRST + size_of_record(FIRST);

    const char *problem;
    uint32_t work = WORK;
    evtx_plans_clear(&plans);
    assert_null(find(FIRST));
    const struct evtx_fragment fragment = {.chunk = chunk(),
        .at = FIRST + EVTX_PUT_RECORD_HEAD_BYTES,
        .size = size_of_record(FIRST) - EVTX_PUT_RECORD_HEAD_BYTES};
    assert_null(evtx_tree_read(&tree, &room, &fragment, &work));
    assert_true(evtx_event_fill(&event, &tree, &problem));
    assert_null(problem);
    evtx_plans_add(&plans, &room, &tree, &event, WORK - work);
    return 0;
}

static void values_of_equal_types_have_a_plan(void **state)
{
    (void)state;
    uint32_t work = WORK;
    struct evtx_plan *plan = find(second);
    assert_non_null(plan);
    event.record = (struct event_record){.log_record_id = 2};
    assert_true(evtx_plan_run(plan, &room, &work, &event));
    assert_span(event.computer, "PC-2");
    assert_true(work < WORK);
}

/* More of these than a chunk has places for plans, so some of them meet the plan at its place. */
static void values_of_other_types_have_none(void **state)
{
    (void)state;
    enum { BITS = 10, TYPES_AT = 4 + 10 + 4 + 2 /* fragment, instance, count, size */ };
    _Static_assert(1 << BITS > 2 * EVTX_PLANS_SLOTS, "some meet it");
    uint8_t *types = put.bytes + EVTX_PUT_FILE_HEADER_BYTES + second + EVTX_PUT_RECORD_HEAD_BYTES +
                     TYPES_AT;
    assert_int_equal(types[0], EVTX_PUT_UINT16);
    for (unsigned nulls = 1; nulls < 1 << BITS; nulls++) {
        uint8_t kept[4 * BITS];
        memcpy(kept, types, sizeof(kept));
        for (unsigned i = 0; i < BITS; i++) {
            if (nulls >> i & 1) {
                types[(size_t)4 * i] = EVTX_PUT_NULL;
            }
        }
        assert_null(find(second));
        memcpy(types, kept, sizeof(kept));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(values_of_equal_types_have_a_plan, start),
        cmocka_unit_test_setup(values_of_other_types_have_none, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
