#include "source_rig.h"

#include "pipeline/slab/guard_slab.h"

/* Reports of a session's guard, on their way to the workers. */

static struct guard_report report(enum guard_action action)
{
    return (struct guard_report){.kind = "session_stopped",
        .action = action,
        .session = span_text("etwship-x"),
        .detail = span_text("stopped"),
        .by_user = span_text("S-1-5-18"),
        .repairs = 3,
        .time = 77};
}

static void a_slab_has_its_own_copy_of_every_text(void **state)
{
    (void)state;
    char detail[] = "stopped";
    struct guard_report told = report(GUARD_REPAIRED);
    told.detail = span_make(detail, strlen(detail));
    struct slab *slab = guard_slab_create(4, &told);
    assert_non_null(slab);
    detail[0] = 'X';
    assert_int_equal(slab->kind, SLAB_GUARD);
    assert_int_equal(slab->session, 4);
    assert_int_equal(slab->now, 77);
    assert_int_equal(slab->last_sequence, 0);
    assert_int_equal(slab->guard.repairs, 3);
    assert_true(span_equal(slab->guard.session, span_text("etwship-x")));
    assert_true(span_equal(slab->guard.detail, span_text("stopped")));
    assert_true(span_equal(slab->guard.by_user, span_text("S-1-5-18")));
    assert_int_equal(slab->guard.provider.size, 0);
    slab_destroy(slab);
}

static uint64_t counted(struct rig *rig, enum guard_action action)
{
    struct session_counts counts;
    ledger_look(rig->ledger, &counts, NULL);
    return counts.guard[action];
}

/* A queue without room for events has room for some reports. Reports beyond that are counted. */
static void reports_need_no_room_but_have_a_limit(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, false);
    rig_start(&rig);
    push_many(&rig, 200);
    const struct guard_report repaired = report(GUARD_REPAIRED);
    const struct guard_report gave_up = report(GUARD_GAVE_UP);
    for (int i = 0; i < 31; i++) {
        rig.sink.guard(rig.sink.self, &repaired);
    }
    rig.sink.guard(rig.sink.self, &gave_up);
    rig.sink.guard(rig.sink.self, &gave_up);            /* one too many */
    assert_int_equal(counted(&rig, GUARD_REPAIRED), 0); /* the others report it when they come */
    assert_int_equal(counted(&rig, GUARD_GAVE_UP), 1);
    uint64_t reports[GUARD_ACTIONS] = {0};
    while (slab_queue_bytes(rig.queue)) {
        struct slab *slab = slab_queue_pop(rig.queue, 0);
        for (size_t i = 0; i < GUARD_ACTIONS; i++) {
            reports[i] += slab->counts.guard[i];
        }
        take_apart(&rig, slab);
    }
    assert_int_equal(reports[GUARD_REPAIRED], 31);
    assert_int_equal(reports[GUARD_GAVE_UP], 1);
    rig.sink.guard(rig.sink.self, &repaired); /* there is room again */
    take(&rig);
    assert_int_equal(counted(&rig, GUARD_REPAIRED), 0);
    rig_finish(&rig, true);
    rig_fini(&rig);
}

static void a_queue_that_is_over_counts_them(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, false);
    rig_start(&rig);
    slab_queue_close(rig.queue);
    const struct guard_report repaired = report(GUARD_REPAIRED);
    rig.sink.guard(rig.sink.self, &repaired);
    assert_int_equal(counted(&rig, GUARD_REPAIRED), 1);
    rig_finish(&rig, true);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slab_has_its_own_copy_of_every_text),
        cmocka_unit_test(reports_need_no_room_but_have_a_limit),
        cmocka_unit_test(a_queue_that_is_over_counts_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
