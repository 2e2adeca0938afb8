#include "etw/enable/etw_registrations.h"
#include "etw_fake.h"

/* Answers of EnumerateTraceGuidsEx, put together from numbers. */
static uint8_t answer[65536];
static uint32_t answer_bytes;
static uint32_t answer_result;
static uint32_t calls;

static const struct guid provider = {{1, 2, 3}};

static uint32_t enumerate(uint32_t info_class, void *in, uint32_t in_bytes, void *out,
    uint32_t out_bytes, uint32_t *ret_bytes)
{
    calls++;
    if (info_class == 1) {
        assert_int_equal(in_bytes, 16);
        assert_memory_equal(in, provider.bytes, 16);
    } else {
        assert_int_equal(info_class, 0);
        assert_null(in);
    }
    *ret_bytes = answer_bytes;
    if (answer_result) {
        return answer_result;
    }
    if (out_bytes < answer_bytes) {
        return ETW_ERROR_INSUFFICIENT_BUFFER;
    }
    memcpy(out, answer, answer_bytes);
    return 0;
}

static int set_up(void **state)
{
    int result = fake_set_up(state);
    fake.api.EnumerateTraceGuidsEx = enumerate;
    memset(answer, 0, sizeof(answer));
    answer_bytes = 8;
    answer_result = 0;
    calls = 0;
    return result;
}

#define registrations_test(function) \
    cmocka_unit_test_setup_teardown(function, set_up, fake_tear_down)

static void add_instance(uint32_t enable_count, uint32_t pid, uint32_t flags, bool is_last)
{
    uint8_t *p = answer + answer_bytes;
    store_le32(answer, load_le32(answer) + 1);
    store_le32(p, is_last ? 0 : 16 + 32 * enable_count);
    store_le32(p + 4, enable_count);
    store_le32(p + 8, pid);
    store_le32(p + 12, flags);
    answer_bytes += 16;
}

static void add_enable(uint32_t is_enabled, uint16_t logger, uint8_t level, uint64_t any)
{
    uint8_t *p = answer + answer_bytes;
    store_le32(p, is_enabled);
    p[4] = level;
    store_le16(p + 6, logger);
    store_le32(p + 8, 0x81);
    store_le64(p + 16, any);
    store_le64(p + 24, 0x7);
    answer_bytes += 32;
}

static void add_two_instances(void)
{
    add_instance(2, 880, 0, false);
    add_enable(1, 0x21, 5, 0x40);
    add_enable(0, 0x22, 5, 0);
    add_instance(1, 0, 0, true);
    add_enable(1, 0x23, 255, UINT64_MAX);
}

static void sessions_are_read_from_every_instance(void **state)
{
    struct etw_registrations found;
    (void)state;
    add_two_instances();
    assert_true(etw_registrations_query(&provider, &found, NULL));
    assert_true(found.known);
    assert_false(found.is_classic);
    assert_int_equal(found.instance_count, 2);
    assert_int_equal(found.registered_count, 2); /* a driver has no process */
    assert_int_equal(found.process_count, 1);
    assert_int_equal(found.hold_count, 2);
    assert_int_equal(found.holds[0].logger_id, 0x21);
    assert_int_equal(found.holds[0].pid, 880);
    assert_int_equal(found.holds[0].level, 5);
    assert_int_equal(found.holds[0].properties, 0x81);
    assert_int_equal(found.holds[0].any, 0x40);
    assert_int_equal(found.holds[0].all, 7);
    assert_int_equal(found.holds[1].logger_id, 0x23);
    assert_int_equal(found.holds[1].pid, 0);
}

/* TRACE_PROVIDER_FLAG_PRE_ENABLE: "The provider is not registered; however, one or more sessions
 * have enabled the provider" (trace_provider_instance_info on learn.microsoft.com). */
static void what_sessions_have_enabled_alone_is_not_registered(void **state)
{
    struct etw_registrations found;
    (void)state;
    add_instance(1, 0, 2, true);
    add_enable(1, 0x21, 5, 0x40);
    assert_true(etw_registrations_query(&provider, &found, NULL));
    assert_int_equal(found.instance_count, 1);
    assert_int_equal(found.registered_count, 0);
    assert_int_equal(found.hold_count, 1);
}

static void a_provider_is_of_processes_if_no_driver_has_registered_it(void **state)
{
    static const struct {
        uint32_t pids[2];
        uint32_t flags, result;
        bool expected, has_driver;
    } rows[] = {
        {{880, 12}, 0, 0, true, false},
        {{880, 12}, 2, 0, true, false}, /* registered after a session had enabled it */
        {{880, 0}, 0, 0, false, true}, {{880, 4}, 0, 0, false, true},
        {{0, 880}, 2, 0, false, false}, /* a session has enabled it, no driver registered it */
        {{880, 12}, 0, ETW_ERROR_ACCESS_DENIED, false, false},
        {{880, 12}, 0, ETW_ERROR_WMI_GUID_NOT_FOUND, false, false}, /* not registered */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        memset(answer, 0, sizeof(answer));
        answer_bytes = 8;
        add_instance(0, rows[i].pids[0], rows[i].flags, false);
        add_instance(0, rows[i].pids[1], rows[i].flags, true);
        answer_result = rows[i].result;
        assert_int_equal(etw_registrations_are_of_processes(&provider), rows[i].expected);
        assert_int_equal(etw_registrations_have_driver(&provider), rows[i].has_driver);
    }
}

/* Many processes with many sessions each: the entries of one session are found at any place. */
static void what_one_session_has_is_added_up_over_all_instances(void **state)
{
    (void)state;
    struct etw_provider_enabled found;
    for (uint32_t i = 0; i < 75; i++) {
        add_instance(3, 1000 + i, 0, i == 74);
        add_enable(1, 0x10, 1, 0x1);
        add_enable(i != 3, 0x21, i == 74 ? 4 : 2, i == 74 ? 0x40 : 0x10);
        add_enable(1, 0x22, 255, 0);
    }
    assert_true(etw_registrations_query_session(&provider, 0x21, &found, NULL));
    assert_true(found.known);
    assert_int_equal(found.instances, 75);
    assert_int_equal(found.entries, 74);
    assert_int_equal(found.level, 4);
    assert_int_equal(found.any, 0x50);
    assert_int_equal(found.all, 7);
    assert_int_equal(found.properties, 0x81);
    assert_true(etw_registrations_query_session(&provider, 0x22, &found, NULL));
    assert_int_equal(found.any, UINT64_MAX); /* 0 is all of them */
    assert_true(etw_registrations_query_session(&provider, 0x99, &found, NULL));
    assert_int_equal(found.instances, 75);
    assert_int_equal(found.entries, 0);
    answer_result = ETW_ERROR_WMI_GUID_NOT_FOUND; /* it is not registered */
    assert_true(etw_registrations_query_session(&provider, 0x21, &found, NULL));
    assert_true(found.known);
    assert_int_equal(found.instances, 0);
    answer_result = ETW_ERROR_ACCESS_DENIED;
    assert_true(etw_registrations_query_session(&provider, 0x21, &found, NULL));
    assert_false(found.known);
}

static void an_answer_that_is_cut_anywhere_is_refused(void **state)
{
    (void)state;
    add_two_instances();
    uint32_t whole = answer_bytes;
    for (uint32_t cut = 0; cut < whole; cut++) {
        struct etw_registrations found = {.instance_count = 99};
        struct error err;
        answer_bytes = cut;
        assert_false(etw_registrations_query(&provider, &found, &err));
        assert_int_equal(err.code, ERR_FORMAT);
        assert_int_equal(found.instance_count, 99);
    }
}

static void answers_that_lie_about_their_sizes_are_survived(void **state)
{
    static const struct {
        size_t offset;
        uint32_t value;
        bool is_fine;
    } rows[] = {
        {0, 0xffffffff, true}, /* the chain ends before */
        {8, 0xffffffff, false},
        {8, 1, true},
        {8, 15, true},
        {12, 0xffffffff, false},
        {12, 0x08000001, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct etw_registrations found;
        memset(answer, 0, sizeof(answer));
        answer_bytes = 8;
        add_two_instances();
        store_le32(answer + rows[i].offset, rows[i].value);
        assert_int_equal(etw_registrations_query(&provider, &found, NULL), rows[i].is_fine);
    }
}

static void more_sessions_than_can_be_told_are_left_out(void **state)
{
    struct etw_registrations found;
    (void)state;
    add_instance(1000, 1, 0, true);
    for (uint16_t i = 0; i < 1000; i++) {
        add_enable(1, i, 1, 0);
    }
    assert_true(etw_registrations_query(&provider, &found, NULL));
    assert_int_equal(found.hold_count, ETW_MAX_HOLDS);
    assert_int_equal(calls, 2);
}

static void an_unregistered_provider_has_no_instances(void **state)
{
    static const struct {
        uint32_t result;
        bool known;
    } rows[] = {{4200, true}, {2, true}, {1168, true}, {5, false}, {50, false}, {120, false}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct etw_registrations found;
        answer_result = rows[i].result;
        assert_true(etw_registrations_query(&provider, &found, NULL));
        assert_int_equal(found.known, rows[i].known);
        assert_int_equal(found.instance_count, 0);
    }
    struct etw_registrations found = {.known = true};
    fake.api.EnumerateTraceGuidsEx = NULL;
    assert_true(etw_registrations_query(&provider, &found, NULL));
    assert_false(found.known);
}

static void an_answer_that_is_always_too_long_ends(void **state)
{
    struct etw_registrations found;
    (void)state;
    answer_result = ETW_ERROR_INSUFFICIENT_BUFFER;
    assert_true(etw_registrations_query(&provider, &found, NULL));
    assert_false(found.known);
    assert_in_range(calls, 1, 16);
}

static void only_classic_providers_have_an_owner(void **state)
{
    struct etw_session_state sessions[2] = {
        {.handle = 0x10021, .name = "first"}, {.handle = 0x20023, .name = "second"}};
    struct etw_session_list list = {.items = sessions, .count = 2};
    struct etw_registrations found = {
        .known = true, .is_classic = true, .hold_count = 1, .holds = {{.logger_id = 0x23}}};
    (void)state;
    assert_ptr_equal(etw_registrations_owner(&found, &list, 0), &sessions[1]);
    assert_ptr_equal(etw_registrations_owner(&found, &list, 0x10021), &sessions[1]);
    assert_null(etw_registrations_owner(&found, &list, 0x20023)); /* ours already */
    found.is_classic = false;
    assert_null(etw_registrations_owner(&found, &list, 0));
    found.is_classic = true;
    found.known = false;
    assert_null(etw_registrations_owner(&found, &list, 0));
    found.known = true;
    list.count = 1; /* the list does not say */
    assert_null(etw_registrations_owner(&found, &list, 0));
}

static void a_classic_instance_is_told(void **state)
{
    struct etw_registrations found;
    (void)state;
    add_instance(1, 4, 1, true);
    add_enable(1, 2, 3, 0xff);
    assert_true(etw_registrations_query(&provider, &found, NULL));
    assert_true(found.is_classic);
}

static void registered_guids_are_listed(void **state)
{
    struct guid *guids;
    size_t count;
    struct error err;
    (void)state;
    answer_bytes = 2000 * 16 + 5;
    answer[16 * 1999] = 0x77;
    assert_true(etw_registrations_list(&guids, &count, NULL));
    assert_int_equal(count, 2000);
    assert_int_equal(guids[1999].bytes[0], 0x77);
    free(guids);
    answer_result = 5;
    assert_false(etw_registrations_list(&guids, &count, &err));
    assert_int_equal(err.os_code, 5);
    fake.api.EnumerateTraceGuidsEx = NULL;
    assert_false(etw_registrations_list(&guids, &count, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        registrations_test(sessions_are_read_from_every_instance),
        registrations_test(what_sessions_have_enabled_alone_is_not_registered),
        registrations_test(a_provider_is_of_processes_if_no_driver_has_registered_it),
        registrations_test(what_one_session_has_is_added_up_over_all_instances),
        registrations_test(an_answer_that_is_cut_anywhere_is_refused),
        registrations_test(answers_that_lie_about_their_sizes_are_survived),
        registrations_test(more_sessions_than_can_be_told_are_left_out),
        registrations_test(an_unregistered_provider_has_no_instances),
        registrations_test(an_answer_that_is_always_too_long_ends),
        registrations_test(only_classic_providers_have_an_owner),
        registrations_test(a_classic_instance_is_told),
        registrations_test(registered_guids_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
