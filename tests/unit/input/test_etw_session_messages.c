#define _GNU_SOURCE

#include "etw_session_rig.h"
#include "support/etl_encode.h"
#include "support/etw_sim/etw_sim.h"

/* WPP messages in live sessions: the values of their headers, and which messages are missing. */
enum {
    USUAL = ETL_MESSAGE_SEQUENCE | ETL_MESSAGE_GUID | ETL_MESSAGE_TIMESTAMP | ETL_MESSAGE_SYSTEMINFO
};

static const struct guid message_guid = {{0xd9, 0xbd, 0xbb, 0xa5, 0xf9, 0x73, 0xed, 0x3b, 0x93,
    0xaa, 0x52, 0x1a, 0x4c, 0x96, 0xd9, 0x34}};

static struct etw_sim_provider *begin_with(
    struct rig *rig, int sequence, int delivery, const struct etw_sim_options *options)
{
    rig_init(rig, options);
    rig->settings.session.sequence = sequence;
    rig->settings.session.delivery = delivery;
    struct etw_sim_provider *provider = etw_sim_provider_add(
        rig->sim, &(struct etw_sim_provider_options){
                      .guid = provider_guid, .kind = ETW_SIM_CLASSIC, .pid = 900});
    start(rig);
    rig_await(rig, is_enabled, NAME);
    return provider;
}

static struct etw_sim_provider *begin(struct rig *rig, int sequence, int delivery)
{
    static const struct etw_sim_options one = {.processors = 1};
    return begin_with(rig, sequence, delivery, &one);
}

static void write_messages(struct etw_sim_provider *provider, uint32_t flags, unsigned count)
{
    const struct etw_sim_message message = {.guid = message_guid,
        .component = 0x123,
        .number = 10,
        .flags = flags,
        .payload = span_text("value")};
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(etw_sim_write_message(provider, &message), 0);
    }
}

static void numbers_come_with_raw_buffers(void **state)
{
    (void)state;
    struct rig rig;
    struct etw_sim_provider *provider = begin(&rig, LIVE_SEQUENCE_LOCAL, LIVE_DELIVERY_RAW);
    write_messages(provider, USUAL, 2);
    rig_stop(&rig);
    assert_int_equal(rig.events, 2);
    assert_int_equal(rig.last.kind, RECORD_MESSAGE);
    assert_int_equal(rig.last.descriptor.id, 10);
    assert_true(rig.last.present & RECORD_HAS_SEQUENCE);
    assert_int_equal(rig.last.message_sequence, 2);
    assert_int_equal(rig.last.message_flags & 0x2f, USUAL); /* and the flag of pointer width */
    assert_int_equal(rig.gap_count, 0);
    rig_fini(&rig);
}

/* The fields that MESSAGE_TRACE_HEADER has. Where ETW keeps them to itself, as far as one can
 * tell. */
static void what_a_message_does_not_hold_is_absent(void **state)
{
    (void)state;
    static const struct {
        uint32_t flags;
        uint32_t present; /* beside RECORD_HAS_TIME */
    } cases[] = {
        {ETL_MESSAGE_GUID | ETL_MESSAGE_TIMESTAMP | ETL_MESSAGE_SYSTEMINFO,
            RECORD_HAS_PROCESS | RECORD_HAS_THREAD},
        {ETL_MESSAGE_GUID | ETL_MESSAGE_TIMESTAMP, 0},
        {ETL_MESSAGE_GUID, RECORD_TIME_OF_BUFFER},
        {ETL_MESSAGE_COMPONENT | ETL_MESSAGE_TIMESTAMP, RECORD_HAS_COMPONENT},
        {ETL_MESSAGE_TIMESTAMP, 0},
        {0, RECORD_TIME_OF_BUFFER},
    };
    const struct guid none = {{0}};
    for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
        bool raw = i % 2;
        struct rig rig;
        struct etw_sim_provider *provider = begin(
            &rig, LIVE_SEQUENCE_NONE, raw ? LIVE_DELIVERY_RAW : LIVE_DELIVERY_EVENTS);
        write_messages(provider, USUAL, 1);
        write_messages(provider, cases[i / 2].flags, 1);
        rig_stop(&rig);
        assert_int_equal(rig.events, 2);
        uint32_t present = rig.last.present & (uint32_t) ~(RECORD_HAS_MESSAGE_FLAGS);
        if (present != (cases[i / 2].present | RECORD_HAS_TIME)) {
            fail_msg("flags 0x%x, raw %d: present 0x%x", cases[i / 2].flags, raw, present);
        }
        assert_int_equal(
            guid_equal(&rig.last.provider, &none), !(cases[i / 2].flags & ETL_MESSAGE_GUID));
        assert_int_equal(
            rig.last.message_component, cases[i / 2].flags & ETL_MESSAGE_COMPONENT ? 0x123 : 0);
        assert_int_equal(rig.last.descriptor.id, 10);
        assert_int_equal(rig.last.payload.size, 5);
        rig_fini(&rig);
    }
}

static void missing_numbers_are_told_while_the_session_runs(void **state)
{
    (void)state;
    struct rig rig;
    const struct etw_sim_options options = {.processors = 1, .real_clock = true};
    struct etw_sim_provider *provider = begin_with(
        &rig, LIVE_SEQUENCE_LOCAL, LIVE_DELIVERY_RAW, &options);
    write_messages(provider, USUAL, 3);
    etw_sim_skip_numbers(rig.sim, NAME, 5);
    write_messages(provider, USUAL, 1);
    rig_await(&rig, rig_has_gap, "message_numbers");
    assert_int_equal(rig_lost(&rig, "message_numbers", NULL), 5);
    assert_true(rig.gaps[0].exact);
    assert_string_equal(rig.gaps[0].stage, "etw");
    /* these are reported at the end, the previous ones not again */
    etw_sim_skip_numbers(rig.sim, NAME, 2);
    write_messages(provider, USUAL, 1);
    rig_stop(&rig);
    assert_int_equal(rig_lost(&rig, "message_numbers", NULL), 7);
    rig_fini(&rig);
}

static void nothing_is_missing_where_processors_take_turns(void **state)
{
    (void)state;
    struct rig rig;
    const struct etw_sim_options options = {.processors = 8};
    struct etw_sim_provider *provider = begin_with(
        &rig, LIVE_SEQUENCE_LOCAL, LIVE_DELIVERY_RAW, &options);
    for (uint16_t i = 0; i < 4000; i++) {
        const struct etw_sim_message message = {.guid = message_guid,
            .number = 10,
            .cpu = (uint16_t)(i * 7 % 8),
            .flags = USUAL,
            .payload = span_text("value")};
        assert_int_equal(etw_sim_write_message(provider, &message), 0);
    }
    rig_stop(&rig);
    assert_int_equal(rig.events, 4000);
    assert_int_equal(rig.gap_count, 0);
    rig_fini(&rig);
}

static bool has_events(struct rig *rig, const void *what)
{
    (void)what;
    return rig_events(rig) > 0;
}

static void what_lost_buffers_held_is_told_in_buffers_alone(void **state)
{
    (void)state;
    struct rig rig;
    const struct etw_sim_options options = {.processors = 1, .real_clock = true};
    struct etw_sim_provider *provider = begin_with(
        &rig, LIVE_SEQUENCE_LOCAL, LIVE_DELIVERY_RAW, &options);
    write_messages(provider, USUAL, 1);
    rig_await(&rig, has_events, NULL);
    etw_sim_lose_buffers(rig.sim, NAME, 2, false);
    write_messages(provider, USUAL, 5000);
    rig_stop(&rig);
    struct etw_sim_session_info info;
    assert_true(etw_sim_session_get(rig.sim, NAME, &info));
    assert_true(info.counts.in_lost_buffers > 0);
    assert_int_equal(rig_events(&rig) + info.counts.in_lost_buffers, 5001);
    assert_int_equal(rig_lost(&rig, "realtime_buffers_lost", NULL), 2);
    assert_int_equal(rig_lost(&rig, "message_numbers", NULL), 0);
    rig_fini(&rig);
}

/* Numbers count over all sessions: those of another session are not missing. */
static void numbers_of_other_sessions_are_not_missing(void **state)
{
    (void)state;
    for (unsigned others = 0; others < 2; others++) {
        struct rig rig;
        struct etw_sim_provider *provider = begin(&rig, LIVE_SEQUENCE_GLOBAL, LIVE_DELIVERY_RAW);
        if (others) {
            assert_int_not_equal(etw_sim_session_add(rig.sim,
                                     &(struct etw_sim_session_options){.name = "theirs",
                                         .mode = ETW_MODE_REAL_TIME | ETW_MODE_USE_GLOBAL_SEQUENCE},
                                     NULL),
                0);
        }
        write_messages(provider, USUAL, 1);
        etw_sim_skip_numbers(rig.sim, NAME, 3);
        write_messages(provider, USUAL, 1);
        rig_stop(&rig);
        assert_int_equal(rig.events, 2);
        assert_int_equal(rig.gap_count, others ? 0 : 1);
        if (!others) {
            assert_int_equal(rig_lost(&rig, "global_message_numbers", NULL), 3);
            assert_false(rig.gaps[0].exact);
        }
        rig_fini(&rig);
    }
}

static void a_session_that_begins_again_counts_anew(void **state)
{
    (void)state;
    struct rig rig;
    struct etw_sim_provider *provider = begin(&rig, LIVE_SEQUENCE_LOCAL, LIVE_DELIVERY_RAW);
    write_messages(provider, USUAL, 50);
    struct etw_session_state last;
    assert_true(etw_control_stop(NAME, &last, NULL));
    rig_await(&rig, rig_has_gap, "session_stopped");
    rig_await(&rig, is_enabled, NAME);
    write_messages(provider, USUAL, 3); /* their numbers begin at 1 */
    rig_stop(&rig);
    assert_int_equal(rig.events, 53);
    assert_int_equal(rig_lost(&rig, "message_numbers", NULL), 0);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_with_raw_buffers),
        cmocka_unit_test(what_a_message_does_not_hold_is_absent),
        cmocka_unit_test(missing_numbers_are_told_while_the_session_runs),
        cmocka_unit_test(nothing_is_missing_where_processors_take_turns),
        cmocka_unit_test(what_lost_buffers_held_is_told_in_buffers_alone),
        cmocka_unit_test(numbers_of_other_sessions_are_not_missing),
        cmocka_unit_test(a_session_that_begins_again_counts_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
