#include "etw/etw_toolkit.h"
#include "etw/session/etw_heap.h"
#include "etw_fake.h"

/* The bytes are written by hand from the layout of TRACE_ENABLE_FLAG_EXT_HEADER and its items
 * (ntwmi.h). TraceEvent has that layout, too. */

static struct etw_session_spec heap_spec(void)
{
    return (struct etw_session_spec){.name = "etwship-heap",
        .guid = etw_heap_guid,
        .mode = ETW_MODE_REAL_TIME,
        .buffer_kb = 1024,
        .min_buffers = 32,
        .max_buffers = 256};
}

static const uint32_t pids[] = {0x1234, 77};
static const uint8_t stacks[] = {ETW_HEAP_ALLOC, ETW_HEAP_REALLOC};
static const struct etw_heap_request request = {
    .pids = pids, .pid_count = 2, .stacks = stacks, .stack_count = 2};

static uint32_t start_result;
static uint32_t toolkit_result;
static uint64_t toolkit_handle;

static struct {
    uint32_t calls;
    uint8_t block[8192];
    char name[ETW_NAME_BYTES];
    uint32_t pids[2];
    uint32_t pid_count;
    struct etw_classic_event_id stacks[2];
    uint32_t stack_count;
} toolkit;

static uint32_t answer(const struct fake_call *call, void *block)
{
    (void)block;
    return call->function == FAKE_START ? start_result : 0;
}

static uint32_t start_heap_trace(uint64_t *ret_session, struct etw_properties *properties,
    const etw_char *name, const uint32_t *list, uint32_t count,
    const struct etw_classic_event_id *events, uint32_t event_count)
{
    toolkit.calls++;
    memcpy(toolkit.block, properties, properties->wnode.buffer_size);
    etw_text_decode(name, ETW_MAX_NAME_CHARS, toolkit.name, sizeof(toolkit.name));
    toolkit.pid_count = count;
    toolkit.stack_count = event_count;
    memcpy(toolkit.pids, list, count * sizeof(*list));
    memcpy(toolkit.stacks, events, event_count * sizeof(*events));
    *ret_session = toolkit_handle;
    return toolkit_result;
}

static uint32_t update_heap_trace(struct etw_properties *properties, const etw_char *name,
    const uint32_t *list, uint32_t count, const struct etw_classic_event_id *events,
    uint32_t event_count)
{
    uint64_t ignored;
    return start_heap_trace(&ignored, properties, name, list, count, events, event_count);
}

static const struct etw_toolkit_api installed = {
    .StartHeapTrace = start_heap_trace, .UpdateHeapTrace = update_heap_trace};
static const struct etw_toolkit_api missing;

static int set_up(void **state)
{
    int result = fake_set_up(state);
    start_result = toolkit_result = 0;
    toolkit_handle = 9;
    memset(&toolkit, 0, sizeof(toolkit));
    fake.answer = answer;
    etw_toolkit_use(&missing);
    return result;
}

static int tear_down(void **state)
{
    etw_toolkit_use(NULL);
    return fake_tear_down(state);
}

static void the_block_is_what_ntwmi_says(void **state)
{
    static const uint8_t expected[] = {
        7, 0, 2, 0,       /* 7 dwords, 2 items */
        3, 0, 2, 0,       /* 3 dwords, ETW_EXT_PIDS */
        0x34, 0x12, 0, 0, /* the first process */
        77, 0, 0, 0,      /* the second process */
        3, 0, 3, 0,       /* 3 dwords, ETW_EXT_STACKWALK_FILTER */
        0x21, 0x10, 0, 0, /* group << 8 | type */
        0x22, 0x10, 0, 0, /* another one */
    };
    uint8_t block[ETW_MAX_EXTENSION_BYTES];
    (void)state;
    assert_int_equal(etw_heap_encode(&request, block), sizeof(expected));
    assert_memory_equal(block, expected, sizeof(expected));
}

static void without_stacks_there_is_one_item(void **state)
{
    static const uint8_t expected[] = {3, 0, 1, 0, 2, 0, 2, 0, 77, 0, 0, 0};
    uint8_t block[ETW_MAX_EXTENSION_BYTES];
    (void)state;
    assert_int_equal(
        etw_heap_encode(&(struct etw_heap_request){.pids = pids + 1, .pid_count = 1}, block),
        sizeof(expected));
    assert_memory_equal(block, expected, sizeof(expected));
}

static void too_much_is_refused_before_windows_is_asked(void **state)
{
    static uint32_t many[ETW_MAX_HEAP_PROCESSES + 1];
    struct etw_session_state session;
    struct etw_session_spec spec = heap_spec();
    struct error err = {0};
    (void)state;
    struct etw_heap_request none = {.pids = many, .pid_count = 0};
    assert_false(etw_heap_start(&spec, &none, &session, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    struct etw_heap_request all = {.pids = many, .pid_count = ETW_MAX_HEAP_PROCESSES + 1};
    assert_false(etw_heap_start(&spec, &all, &session, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_int_equal(fake.count, 0);
    all.pid_count--;
    assert_true(etw_heap_start(&spec, &all, &session, &err));
}

static void the_start_carries_guid_and_block(void **state)
{
    static const uint8_t guid[16] = {0xab, 0x62, 0x29, 0x22, 0x80, 0x61, 0x88, 0x4b, 0xa8, 0x25,
        0x34, 0x6b, 0x75, 0xf2, 0xa2, 0x4a}; /* {222962ab-6180-4b88-a825-346b75f2a24a} */
    struct etw_session_state session;
    struct etw_session_spec spec = heap_spec();
    struct error err = {0};
    uint8_t block[ETW_MAX_EXTENSION_BYTES];
    (void)state;
    assert_true(etw_heap_start(&spec, &request, &session, &err));
    const struct fake_call *call = &fake.calls[0];
    assert_int_equal(call->function, FAKE_START);
    assert_memory_equal(call->block + 24, guid, sizeof(guid));
    uint32_t flags = load_le32(call->block + 72);
    assert_int_equal(flags & 0xffff0000, 0x80ff0000);
    size_t bytes = etw_heap_encode(&request, block);
    assert_memory_equal(call->block + (flags & 0xffff), block, bytes);
    assert_int_equal(load_le32(call->block), 144 + 4096 + 1280);
}

static void fails(uint32_t code, const char *what)
{
    struct etw_session_state session;
    struct etw_session_spec spec = heap_spec();
    struct error err = {0};
    start_result = code;
    assert_false(etw_heap_start(&spec, &request, &session, &err));
    assert_int_equal(err.code, ERR_IO);
    assert_int_equal(err.os_code, code);
    if (!strstr(err.text, what)) {
        print_error("%s\n", err.text);
    }
    assert_non_null(strstr(err.text, what));
}

static void what_windows_refuses_is_said_in_words_for_heaps(void **state)
{
    (void)state;
    fails(1004, "does not accept the list of processes and stacks");
    fails(1004, "install the Windows Performance Toolkit");
    fails(14, "no memory for 32 to 256 buffers of 1024 KB");
    fails(14, "buffers: {size: 256KB, min: 16}");
    fails(8, "no memory for 32 to 256 buffers");
    fails(1450, "no memory for 32 to 256 buffers");
    fails(5, "only administrators may trace heaps");
}

static void the_toolkit_is_asked_where_windows_does_not_know_the_block(void **state)
{
    struct etw_session_state session;
    struct etw_session_spec spec = heap_spec();
    struct error err = {0};
    (void)state;
    etw_toolkit_use(&installed);
    start_result = 1004;
    assert_true(etw_heap_start(&spec, &request, &session, &err));
    assert_int_equal(session.handle, 9);
    assert_int_equal(toolkit.calls, 1);
    assert_string_equal(toolkit.name, "etwship-heap");
    assert_int_equal(load_le32(toolkit.block + 72), 0); /* EnableFlags: it makes the block */
    assert_int_equal(load_le32(toolkit.block + 48), 1024);
    assert_int_equal(toolkit.pid_count, 2);
    assert_int_equal(toolkit.pids[0], 0x1234);
    assert_int_equal(toolkit.stack_count, 2);
    assert_true(guid_equal(&toolkit.stacks[1].guid, &etw_heap_guid));
    assert_int_equal(toolkit.stacks[1].type, 0x22);
}

static void the_toolkit_is_not_asked_for_anything_else(void **state)
{
    struct etw_session_state session;
    struct etw_session_spec spec = heap_spec();
    struct error err = {0};
    (void)state;
    etw_toolkit_use(&installed);
    start_result = 183;
    assert_false(etw_heap_start(&spec, &request, &session, &err));
    assert_int_equal(toolkit.calls, 0);
    start_result = 87;
    toolkit_result = 14;
    assert_false(etw_heap_start(&spec, &request, &session, &err));
    assert_int_equal(toolkit.calls, 1);
    assert_non_null(strstr(err.text, "no memory for"));
}

static void a_handle_of_0_is_none(void **state)
{
    struct etw_session_state session;
    struct etw_session_spec spec = heap_spec();
    struct error err = {0};
    (void)state;
    etw_toolkit_use(&installed);
    start_result = 1004;
    toolkit_handle = 0;
    assert_false(etw_heap_start(&spec, &request, &session, &err));
    assert_non_null(strstr(err.text, "gave it no handle"));
}

static void processes_of_a_running_session_are_changed_by_the_toolkit(void **state)
{
    struct etw_session_spec spec = heap_spec();
    struct error err = {0};
    (void)state;
    assert_false(etw_heap_update(&spec, &request, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    etw_toolkit_use(&installed);
    assert_true(etw_heap_update(&spec, &request, &err));
    assert_int_equal(fake.count, 0); /* no other session is started */
    assert_string_equal(toolkit.name, "etwship-heap");
    assert_int_equal(toolkit.pid_count, 2);
    assert_int_equal(toolkit.pids[1], 77);
    assert_int_equal(toolkit.stacks[0].type, 0x21);
    assert_int_equal(load_le32(toolkit.block + 112), 0); /* LogFileNameOffset: no other file */
    toolkit_result = 4201;
    assert_false(etw_heap_update(&spec, &request, &err));
    assert_int_equal(err.os_code, 4201);

    static char too_long[ETW_MAX_NAME_CHARS + 1];
    memset(too_long, 'n', ETW_MAX_NAME_CHARS);
    spec.name = too_long;
    err = (struct error){0};
    assert_false(etw_heap_update(&spec, &request, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_non_null(strstr(err.text, "longer than 1023 characters"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_block_is_what_ntwmi_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_stacks_there_is_one_item, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            too_much_is_refused_before_windows_is_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_start_carries_guid_and_block, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            what_windows_refuses_is_said_in_words_for_heaps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            the_toolkit_is_asked_where_windows_does_not_know_the_block, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            the_toolkit_is_not_asked_for_anything_else, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_handle_of_0_is_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            processes_of_a_running_session_are_changed_by_the_toolkit, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
