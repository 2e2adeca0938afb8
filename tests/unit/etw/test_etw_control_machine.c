/* Updates of sessions, and all sessions of a machine. */
#include "etw/session/etw_kernel.h"
#include "etw_control_rig.h"

/* ---- update ---------------------------------------------------------------------------------- */

static void an_update_keeps_what_it_does_not_change(void **state)
{
    struct etw_session_change change = {.set_max_buffers = true, .max_buffers = 500};
    struct etw_session_state s;
    (void)state;
    fake.answer = tell;
    assert_true(etw_control_update("etwship-a", &change, &s, NULL));
    assert_int_equal(fake.count, 3); /* query, update, query */
    const uint8_t *b = fake.calls[1].block;
    assert_int_equal(fake.calls[1].code, 2);
    assert_memory_equal(b + 24, our_guid.bytes, 16);
    assert_u32(b, 40, 1);
    assert_u32(b, 48, 1048);
    assert_u32(b, 52, 1052);
    assert_u32(b, 56, 500);
    assert_u32(b, 60, 1060);
    assert_u32(b, 64, 0x110); /* independence is not changed, so it is not named */
    assert_u32(b, 68, 1068);  /* this session counts in ms */
    assert_u32(b, 72, 1072);
    assert_u32(b, 112, 0); /* the file stays */
    assert_u32(b, 116, NAME_AT);
}

static uint32_t tell_seconds(const struct fake_call *call, void *block)
{
    if (call->function != FAKE_CONTROL) {
        return 0;
    }
    tell(call, block);
    store_le32((uint8_t *)block + 64, 0x02000000);
    store_le32((uint8_t *)block + 68, 4);
    return 0;
}

static void an_update_changes_timer_mode_flags_and_file(void **state)
{
    struct etw_session_change change = {
        .set_flush = true,
        .flush_ms = 1001,
        .set_real_time = true,
        .real_time = true,
        .set_enable_flags = true,
        .enable_flags = 0x10000,
        .file = "D:\\b.etl",
    };
    struct etw_session_state s;
    (void)state;
    fake.answer = tell_seconds;
    assert_true(etw_control_update("NT Kernel Logger", &change, &s, NULL));
    assert_int_equal(fake.calls[2].code, 2); /* after the session and its groups */
    const uint8_t *b = fake.calls[2].block;
    assert_u32(b, 64, 0x100);
    assert_u32(b, 68, 2); /* the session's own unit, rounded up */
    assert_u32(b, 72, 0x10000);
    assert_u32(b, 112, FILE_AT);
    assert_utf16(b + FILE_AT, "D:\\b.etl");
    assert_int_equal(s.flush_ms, 4000);
}

/* Word 0 goes with the UPDATE. Afterwards all words are set, because the UPDATE switches off the
 * others. */
static void an_update_of_a_kernel_session_sets_its_groups_again(void **state)
{
    const struct etw_groups groups = {.words = {0x3, 0x40}};
    struct etw_session_change change = {.set_flush = true, .flush_ms = 5000, .groups = &groups};
    struct etw_session_state s;
    (void)state;
    fake.answer = tell_seconds;
    assert_true(etw_control_update("NT Kernel Logger", &change, &s, NULL));
    assert_int_equal(fake.calls[1].code, 2);
    assert_u32(fake.calls[1].block, 72, 0x3);
    const struct fake_call *set = &fake.calls[3];
    assert_int_equal(set->function, FAKE_SET);
    assert_int_equal(set->code, ETW_INFO_SYSTEM_ENABLE_FLAGS);
    assert_u32(set->block, 0, 0x3);
    assert_u32(set->block, 4, 0x40);
}

static bool groups_are_told;

/* A session that was started with an extension block. */
static uint32_t tell_extension(const struct fake_call *call, void *block)
{
    if (call->function == FAKE_QUERY) {
        return groups_are_told ? 0 : ETW_ERROR_NOT_SUPPORTED;
    }
    if (call->function == FAKE_CONTROL) {
        tell(call, block);
        store_le32((uint8_t *)block + 72, 0x80ff1080); /* TRACE_ENABLE_FLAG_EXTENSION */
        if (strcmp(call->name, "etwship-a") != 0) {
            store_le32((uint8_t *)block + 64, 0x02000000);
        }
    }
    return 0;
}

static void an_update_never_names_an_extension(void **state)
{
    struct etw_session_change change = {.set_flush = true, .flush_ms = 1000};
    struct etw_session_state s;
    struct error err;
    (void)state;
    fake.answer = tell_extension;
    groups_are_told = false;
    assert_false(etw_control_update("NT Kernel Logger", &change, &s, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    for (size_t i = 0; i < fake.count; i++) { /* its flags would be lost */
        assert_false(fake.calls[i].function == FAKE_CONTROL && fake.calls[i].code == 2);
    }

    fake.count = 0;
    change.set_enable_flags = true;
    change.enable_flags = 0x80000003;
    assert_true(etw_control_update("NT Kernel Logger", &change, &s, &err));
    assert_int_equal(fake.calls[2].code, 2);
    assert_u32(fake.calls[2].block, 72, 0x3);

    fake.count = 0;
    change.set_enable_flags = false;
    assert_true(etw_control_update("etwship-a", &change, &s, &err)); /* it has no kernel events */
    assert_int_equal(fake.calls[1].code, 2);
    assert_u32(fake.calls[1].block, 72, 0);

    const struct etw_groups groups = {.words = {0x80000003, 0x40}};
    groups_are_told = true;
    fake.count = 0;
    change.groups = &groups;
    assert_true(etw_control_update("NT Kernel Logger", &change, &s, &err));
    assert_u32(fake.calls[1].block, 72, 0x3);

    fake.count = 0;
    change.set_enable_flags = true;
    assert_true(etw_control_update("NT Kernel Logger", &change, &s, &err));
    assert_u32(fake.calls[1].block, 72, 0x3);
}

static void kernel_flags_are_for_sessions_with_kernel_events(void **state)
{
    struct etw_session_change change = {.set_enable_flags = true, .enable_flags = 1};
    struct etw_session_state s;
    struct error err;
    (void)state;
    fake.answer = tell;
    assert_false(etw_control_update("etwship-a", &change, &s, &err));
    assert_int_equal(err.code, ERR_CONFIG);
    assert_int_equal(fake.count, 1);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static uint32_t running;      /* how many sessions there are */
static uint32_t most_at_once; /* how many pointers a call may have */
static uint32_t list_calls;

static uint32_t fake_list(struct etw_properties **list, uint32_t capacity, uint32_t *ret_count)
{
    list_calls++;
    if (capacity > most_at_once) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    for (uint32_t i = 0; i < capacity; i++) {
        uint8_t *b = (uint8_t *)list[i];
        assert_u32(b, 0, BLOCK_BYTES);
        assert_u32(b, 44, 0x00020000);
        if (i < running) {
            char name[32];
            snprintf(name, sizeof(name), "session %u", i);
            put_text(b, load_le32(b + 116), name);
            store_le64(b + 8, i + 1);
            store_le32(b + 64, i % 16 == 0 ? 0x02000000 : 0x100);
        }
    }
    *ret_count = running;
    return running > capacity ? ETW_ERROR_MORE_DATA : 0;
}

static int list_set_up(void **state)
{
    list_calls = 0;
    most_at_once = 100000;
    running = 3;
    int result = fake_set_up(state);
    fake.api.QueryAllTracesW = fake_list;
    return result;
}

static void lists_hold_all_sessions_of_the_machine(void **state)
{
    static const struct {
        uint32_t running;
        uint32_t calls;
    } rows[] = {{0, 1}, {1, 1}, {64, 1}, {65, 2}, {256, 2}, {1200, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct etw_session_list list;
        running = rows[i].running;
        list_calls = 0;
        assert_true(etw_control_list(&list, NULL));
        assert_int_equal(list.count, rows[i].running);
        assert_int_equal(list_calls, rows[i].calls);
        if (list.count) {
            char last[32];
            snprintf(last, sizeof(last), "SESSION %u", running - 1);
            const struct etw_session_state *found = etw_control_find(&list, last);
            assert_ptr_equal(found, &list.items[running - 1]);
            assert_ptr_equal(etw_control_find_logger(&list, (uint16_t)running), found);
        }
        assert_null(etw_control_find(&list, "session"));
        assert_null(etw_control_find_logger(&list, 0));
        etw_control_list_fini(&list);
        assert_null(list.items);
    }
}

static uint32_t told_most; /* TraceMaxLoggersQuery's answer; 0: refused */

static uint32_t tell_most(
    uint64_t session, uint32_t info_class, void *data, uint32_t bytes, uint32_t *ret_bytes)
{
    assert_int_equal(session, 0);
    assert_int_equal(info_class, 19);
    assert_int_equal(bytes, 4);
    memcpy(data, &told_most, 4);
    *ret_bytes = 4;
    return told_most ? 0 : ETW_ERROR_NOT_SUPPORTED;
}

static uint32_t tell_most_too(uint32_t info_class, void *in, uint32_t in_bytes, void *out,
    uint32_t out_bytes, uint32_t *ret_bytes)
{
    assert_null(in);
    assert_int_equal(in_bytes, 0);
    told_most = 100;
    return tell_most(0, info_class, out, out_bytes, ret_bytes);
}

/* Windows refuses a call with room for more sessions than there can be (queryalltraces). */
static void a_machine_is_asked_for_as_many_sessions_as_it_can_have(void **state)
{
    static const struct {
        uint32_t told;
        uint32_t most;
        uint32_t running;
        uint32_t calls;
    } rows[] = {{256, 256, 200, 1}, {32, 32, 32, 1}, {100, 100, 70, 1}, {0, 100, 70, 1},
        {256, 64, 40, 2}, {256, 32, 20, 3}, {1000000, 64, 40, 1}};
    (void)state;
    fake.api.TraceQueryInformation = tell_most;
    fake.api.EnumerateTraceGuidsEx = tell_most_too;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct etw_session_list list;
        told_most = rows[i].told;
        most_at_once = rows[i].most;
        running = rows[i].running;
        list_calls = 0;
        assert_true(etw_control_list(&list, NULL));
        assert_int_equal(list.count, rows[i].running);
        assert_int_equal(list_calls, rows[i].calls);
        etw_control_list_fini(&list);
    }
}

static void a_list_without_end_is_refused(void **state)
{
    struct etw_session_list list;
    struct error err;
    (void)state;
    running = 1000000;
    assert_false(etw_control_list(&list, &err));
    assert_int_equal(err.os_code, 234);
    assert_in_range(list_calls, 1, 8);
}

static uint32_t refuse_starts(const struct fake_call *call, void *block)
{
    (void)block;
    return call->function == FAKE_START   ? ETW_ERROR_NO_SYSTEM_RESOURCES
           : call->function == FAKE_QUERY ? ETW_ERROR_NOT_SUPPORTED
                                          : ETW_ERROR_WMI_INSTANCE_NOT_FOUND;
}

static void a_machine_without_free_slots_names_the_sessions_that_hold_them(void **state)
{
    struct etw_session_spec spec = {.name = "etwship-a", .mode = 0x100};
    struct etw_session_state session;
    struct error err;
    (void)state;
    running = 64;
    fake.answer = refuse_starts;
    assert_false(etw_control_start(&spec, &session, &err));
    assert_int_equal(err.os_code, 1450);
    assert_non_null(strstr(err.text, "64 of 64 sessions run, 4 of 8 with kernel events"));
    assert_non_null(strstr(err.text, ": session 0, session 16, session 32, session 48"));
    assert_non_null(strstr(err.text, "`etwship sessions list`"));
}

static uint32_t exists(const struct fake_call *call, void *block)
{
    (void)block;
    return call->function == FAKE_START ? ETW_ERROR_ALREADY_EXISTS
                                        : ETW_ERROR_WMI_INSTANCE_NOT_FOUND;
}

static uint32_t list_one_with_our_guid(
    struct etw_properties **list, uint32_t capacity, uint32_t *ret_count)
{
    (void)capacity;
    tell(NULL, list[0]);
    *ret_count = 1;
    return 0;
}

static void a_session_of_another_name_with_our_guid_is_named(void **state)
{
    struct etw_session_spec spec = {.name = "etwship-b", .guid = our_guid};
    struct etw_session_state session;
    struct error err;
    (void)state;
    fake.answer = exists;
    fake.api.QueryAllTracesW = list_one_with_our_guid;
    assert_false(etw_control_start(&spec, &session, &err));
    assert_int_equal(err.os_code, 183);
    assert_non_null(strstr(err.text, "session 'EtwShip-A' already has its GUID"));
}

/* ---- systems without ------------------------------------------------------------------------- */

static void what_a_system_lacks_is_said(void **state)
{
    struct etw_session_spec spec = {.name = "etwship-a"};
    struct etw_session_change change = {.set_flush = true};
    struct etw_session_state session;
    struct etw_session_list list;
    struct error err[6];
    (void)state;
    fake.api = (struct etw_api){0};
    assert_false(etw_control_start(&spec, &session, &err[0]));
    assert_false(etw_control_query("a", &session, &err[1]));
    assert_false(etw_control_stop("a", &session, &err[2]));
    assert_false(etw_control_flush("a", &err[3]));
    assert_false(etw_control_update("a", &change, &session, &err[4]));
    assert_false(etw_control_list(&list, &err[5]));
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(err[i].code, ERR_UNSUPPORTED);
    }
    assert_int_equal(etw_control_max_sessions(), 64);
}

static uint32_t tell_max(const struct fake_call *call, void *block)
{
    assert_int_equal(call->code, 19);
    assert_int_equal(call->block_bytes, 4);
    store_le32(block, 256);
    return 0;
}

static void the_machine_says_how_many_sessions_it_can_run(void **state)
{
    (void)state;
    fake.answer = tell_max;
    assert_int_equal(etw_control_max_sessions(), 256);
    fake.answer = deny;
    assert_int_equal(etw_control_max_sessions(), 64);
}

#define list_test(function) cmocka_unit_test_setup_teardown(function, list_set_up, fake_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        fake_test(an_update_keeps_what_it_does_not_change),
        fake_test(an_update_changes_timer_mode_flags_and_file),
        fake_test(an_update_of_a_kernel_session_sets_its_groups_again),
        fake_test(an_update_never_names_an_extension),
        fake_test(kernel_flags_are_for_sessions_with_kernel_events),
        list_test(lists_hold_all_sessions_of_the_machine),
        list_test(a_machine_is_asked_for_as_many_sessions_as_it_can_have),
        list_test(a_list_without_end_is_refused),
        list_test(a_machine_without_free_slots_names_the_sessions_that_hold_them),
        list_test(a_session_of_another_name_with_our_guid_is_named),
        fake_test(what_a_system_lacks_is_said),
        fake_test(the_machine_says_how_many_sessions_it_can_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
