/* Requests to ETW, byte for byte, and its answers. */
#include "etw_control_rig.h"

/* ---- layout ---------------------------------------------------------------------------------- */

static void a_start_fills_the_second_version_of_the_block(void **state)
{
    struct etw_session_spec spec = whole_spec();
    struct etw_session_state session;
    struct error err;
    (void)state;
    assert_true(etw_control_start(&spec, &session, &err));
    const struct fake_call *call = &fake.calls[0];
    const uint8_t *b = call->block;
    assert_int_equal(call->function, FAKE_START);
    assert_string_equal(call->name, "etwship-a");
    assert_u32(b, 0, START_BYTES);
    assert_u32(b, 4, 0);
    assert_memory_equal(b + 24, our_guid.bytes, 16);
    assert_u32(b, 40, 2);
    assert_u32(b, 44, 0x00020000 | 0x00800000);
    assert_u32(b, 48, 256);
    assert_u32(b, 52, 64);
    assert_u32(b, 56, 128);
    assert_u32(b, 60, 200);
    assert_u32(b, 64, 0x08400109 | 0x10);
    assert_u32(b, 68, 1500);
    assert_u32(b, 72, 0x00010003);
    assert_u32(b, 76, 9);
    for (size_t offset = 80; offset < 112; offset += 4) {
        assert_u32(b, offset, 0);
    }
    assert_u32(b, 112, FILE_AT);
    assert_u32(b, 116, NAME_AT);
    assert_u32(b, 120, 2);
    assert_u32(b, 124, 0);
    assert_int_equal(load_le64(b + 128), 0);
    assert_int_equal(load_le64(b + 136), 10);
    assert_u32(b, NAME_AT, 0); /* StartTrace puts it there */
    assert_utf16(b + FILE_AT, "C:\\t\\a%d.etl");
    assert_int_equal(session.handle, 0x10023);
}

static void a_session_without_file_has_no_offset_for_it(void **state)
{
    struct etw_session_spec spec = {.name = "etwship-a", .mode = 0x100, .flush_ms = 3000};
    struct etw_session_state session;
    (void)state;
    assert_true(etw_control_start(&spec, &session, NULL));
    assert_u32(fake.calls[0].block, 112, 0);
    assert_u32(fake.calls[0].block, 116, NAME_AT);
    /* Whole seconds need only documented members. */
    assert_u32(fake.calls[0].block, 64, 0x100);
    assert_u32(fake.calls[0].block, 68, 3);
}

static void an_extension_lies_behind_the_names_and_its_place_in_the_flags(void **state)
{
    static const uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct etw_session_spec spec = whole_spec();
    struct etw_session_state session;
    (void)state;
    spec.extension = span_make(bytes, sizeof(bytes));
    assert_true(etw_control_start(&spec, &session, NULL));
    const uint8_t *b = fake.calls[0].block;
    assert_u32(b, 0, START_BYTES);
    assert_u32(b, 72, 0x80ff0000 | BLOCK_BYTES);
    assert_memory_equal(b + BLOCK_BYTES, bytes, 8);
    for (size_t at = BLOCK_BYTES + 8; at < START_BYTES; at += 4) {
        assert_u32(b, at, 0);
    }
}

/* ---- refusals of a Windows ------------------------------------------------------------------- */

static uint32_t refuse_v2(const struct fake_call *call, void *block)
{
    (void)block;
    return load_le32(call->block + 44) & 0x00800000 ? ETW_ERROR_BAD_LENGTH : 0;
}

static void a_refused_second_version_is_followed_by_the_first(void **state)
{
    struct etw_session_spec spec = whole_spec();
    struct etw_session_state session;
    (void)state;
    fake.answer = refuse_v2;
    assert_true(etw_control_start(&spec, &session, NULL));
    assert_int_equal(fake.calls[1].function, FAKE_START);
    const uint8_t *b = fake.calls[1].block; /* the first call left it full of rubbish */
    assert_u32(b, 0, START_BYTES);
    assert_u32(b, 44, 0x00020000);
    assert_u32(b, 64, 0x08400109 | 0x10);
    assert_u32(b, 68, 1500);
    assert_u32(b, 112, FILE_AT);
    assert_int_equal(load_le64(b + 120), 0);
    assert_int_equal(load_le64(b + 136), 0);
    assert_utf16(b + FILE_AT, "C:\\t\\a%d.etl");
    /* The query after it does the same. */
    assert_int_equal(fake.calls[2].function, FAKE_CONTROL);
    assert_int_equal(fake.calls[3].function, FAKE_CONTROL);
    assert_int_equal(fake.count, 4);
}

static uint32_t refuse_ms(const struct fake_call *call, void *block)
{
    (void)block;
    bool is_start = call->function == FAKE_START;
    return is_start && (load_le32(call->block + 64) & 0x10) ? ETW_ERROR_INVALID_PARAMETER : 0;
}

static void a_refused_timer_in_ms_is_given_in_seconds_rounded_up(void **state)
{
    struct etw_session_spec spec = whole_spec();
    struct etw_session_state session;
    (void)state;
    fake.answer = refuse_ms;
    assert_true(etw_control_start(&spec, &session, NULL));
    assert_int_equal(fake.calls[2].function, FAKE_START);
    assert_u32(fake.calls[2].block, 44, 0x00820000);
    assert_u32(fake.calls[2].block, 64, 0x08400109);
    assert_u32(fake.calls[2].block, 68, 2);
}

static uint32_t refuse_all(const struct fake_call *call, void *block)
{
    (void)call;
    (void)block;
    return ETW_ERROR_INVALID_PARAMETER;
}

static void settings_that_are_wrong_are_said_with_what_they_were(void **state)
{
    struct etw_session_spec spec = whole_spec();
    struct etw_session_state session = {.handle = 5};
    struct error err;
    (void)state;
    fake.answer = refuse_all;
    assert_false(etw_control_start(&spec, &session, &err));
    assert_int_equal(err.code, ERR_IO);
    assert_int_equal(err.os_code, 87);
    assert_non_null(strstr(err.text, "session etwship-a cannot be started (mode 0x8400109"));
    assert_non_null(strstr(err.text, "64 to 128 buffers of 256 KB"));
    assert_int_equal(fake.count, 4);
    assert_int_equal(session.handle, 5);
}

static void a_denied_start_is_tried_once_and_names_the_accounts_that_may(void **state)
{
    struct etw_session_spec spec = {.name = "etwship-a", .mode = 0x100};
    struct etw_session_state session;
    struct error err;
    (void)state;
    fake.answer = deny;
    assert_false(etw_control_start(&spec, &session, &err));
    assert_int_equal(fake.count, 1);
    assert_non_null(strstr(err.text, "Performance Log Users"));
    spec.mode = 0x02000100;
    assert_false(etw_control_start(&spec, &session, &err));
    assert_null(strstr(err.text, "Performance Log Users"));
    assert_non_null(strstr(err.text, "kernel events are for administrators"));
    assert_int_equal(err.os_code, 5);
}

static void names_and_files_have_limits(void **state)
{
    char name[1100];
    struct etw_session_spec spec = {.name = name, .mode = 0x100};
    struct etw_session_state session;
    struct error err;
    (void)state;
    memset(name, 'n', sizeof(name));
    name[1024] = '\0';
    assert_false(etw_control_start(&spec, &session, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_false(etw_control_query(name, &session, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_int_equal(fake.count, 0);
    name[1023] = '\0';
    assert_true(etw_control_start(&spec, &session, &err));
    spec = (struct etw_session_spec){.name = "a", .file = name};
    name[1023] = 'n';
    assert_false(etw_control_start(&spec, &session, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    spec.name = "";
    assert_false(etw_control_start(&spec, &session, &err));
    assert_int_equal(err.code, ERR_CONFIG);
}

/* ---- query ----------------------------------------------------------------------------------- */

static void a_query_reads_every_field_from_its_place(void **state)
{
    struct etw_session_state s;
    (void)state;
    fake.answer = tell;
    assert_true(etw_control_query("etwship-a", &s, NULL));
    assert_int_equal(fake.calls[0].code, 0);
    assert_int_equal(fake.calls[0].session, 0);
    assert_string_equal(fake.calls[0].name, "etwship-a");
    assert_int_equal(s.handle, 0x7f0000000021);
    assert_int_equal(etw_control_logger_id(&s), 0x21);
    assert_true(guid_equal(&s.guid, &our_guid));
    assert_string_equal(s.name, "EtwShip-A");
    assert_string_equal(s.file, "C:\\a.etl");
    assert_int_equal(s.clock, 1);
    assert_int_equal(s.buffer_kb, 1048);
    assert_int_equal(s.min_buffers, 1052);
    assert_int_equal(s.max_buffers, 1056);
    assert_int_equal(s.max_file_size, 1060);
    assert_int_equal(s.mode, 0x08000110);
    assert_int_equal(s.flush_ms, 1068);
    assert_int_equal(s.enable_flags, 1072);
    assert_int_equal(s.buffers, 1080);
    assert_int_equal(s.free_buffers, 1084);
    assert_int_equal(s.events_lost, 1088);
    assert_int_equal(s.buffers_written, 1092);
    assert_int_equal(s.log_buffers_lost, 1096);
    assert_int_equal(s.real_time_buffers_lost, 1100);
    assert_int_equal(s.v2_options, 4);
}

static uint32_t wild_offset;

static uint32_t tell_wild_offsets(const struct fake_call *call, void *block)
{
    uint8_t *b = block;
    (void)call;
    memset(b + 144, 'x', 2 * 2048);
    store_le32(b + 112, wild_offset);
    store_le32(b + 116, wild_offset);
    store_le32(b + 68, 0xffffffff); /* seconds */
    return 0;
}

static void offsets_that_lead_out_of_the_block_give_no_text(void **state)
{
    static const uint32_t offsets[] = {
        0, 1, 119, 121, BLOCK_BYTES - 1, BLOCK_BYTES, 0x7fffffff, 0xffffffff};
    struct etw_session_state s;
    (void)state;
    fake.answer = tell_wild_offsets;
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
        wild_offset = offsets[i];
        assert_true(etw_control_query("a", &s, NULL));
        assert_string_equal(s.name, "a"); /* the name of the request */
        assert_string_equal(s.file, "");
        assert_int_equal(s.flush_ms, 0xffffffff);
    }
    wild_offset = BLOCK_BYTES - 2;
    assert_true(etw_control_query("a", &s, NULL));
    assert_string_equal(s.name, "\xe7\xa1\xb8"); /* U+7878, the block's last unit */
}

/* ---- control --------------------------------------------------------------------------------- */

static uint32_t short_of_room(const struct fake_call *call, void *block)
{
    tell(call, block);
    return ETW_ERROR_MORE_DATA;
}

static void a_stop_that_had_no_room_for_the_names_is_a_stop(void **state)
{
    struct etw_session_state s;
    struct error err;
    (void)state;
    fake.answer = short_of_room;
    assert_true(etw_control_stop("etwship-a", &s, &err));
    assert_int_equal(fake.calls[0].code, 1);
    assert_int_equal(s.events_lost, 1088);
    assert_true(etw_control_stop("etwship-a", NULL, &err));
    assert_false(etw_control_flush("etwship-a", &err));
    assert_int_equal(err.os_code, 234);
}

static void every_call_gets_a_block_of_its_own(void **state)
{
    struct etw_session_state s;
    (void)state;
    fake.answer = tell;
    assert_true(etw_control_stop("etwship-a", &s, NULL));
    assert_true(etw_control_flush("etwship-a", NULL));
    assert_true(etw_control_query("etwship-a", &s, NULL));
    for (size_t i = 0; i < 3; i++) {
        assert_u32(fake.calls[i].block, 0, BLOCK_BYTES);
        assert_u32(fake.calls[i].block, 116, NAME_AT);
        for (size_t at = 48; at < 112; at += 4) {
            assert_u32(fake.calls[i].block, at, 0);
        }
        assert_u32(fake.calls[i].block, NAME_AT, 0);
    }
    assert_int_equal(fake.calls[1].code, 3);
}

static uint32_t not_there(const struct fake_call *call, void *block)
{
    (void)call;
    (void)block;
    return ETW_ERROR_WMI_INSTANCE_NOT_FOUND;
}

static void a_session_that_is_not_there_is_named(void **state)
{
    struct etw_session_state s;
    struct error err;
    (void)state;
    fake.answer = not_there;
    assert_false(etw_control_query("nobody", &s, &err));
    assert_int_equal(err.os_code, 4201);
    assert_non_null(strstr(err.text, "session nobody"));
    assert_non_null(strstr(err.text, "no session of this name runs"));
}

static void the_old_kernel_session_is_named_by_its_guid_too(void **state)
{
    static const uint8_t kernel[16] = {0xad, 0x4a, 0x81, 0x9e, 0x04, 0x32, 0xd2, 0x11, 0x9a, 0x82,
        0x00, 0x60, 0x08, 0xa8, 0x69, 0x39};
    static const uint8_t none[16];
    (void)state;
    assert_true(etw_control_stop("nt kernel logger", NULL, NULL));
    assert_memory_equal(fake.calls[0].block + 24, kernel, 16);
    assert_true(etw_control_stop("etwship-a", NULL, NULL));
    assert_memory_equal(fake.calls[1].block + 24, none, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fake_test(a_start_fills_the_second_version_of_the_block),
        fake_test(a_session_without_file_has_no_offset_for_it),
        fake_test(an_extension_lies_behind_the_names_and_its_place_in_the_flags),
        fake_test(a_refused_second_version_is_followed_by_the_first),
        fake_test(a_refused_timer_in_ms_is_given_in_seconds_rounded_up),
        fake_test(settings_that_are_wrong_are_said_with_what_they_were),
        fake_test(a_denied_start_is_tried_once_and_names_the_accounts_that_may),
        fake_test(names_and_files_have_limits),
        fake_test(a_query_reads_every_field_from_its_place),
        fake_test(offsets_that_lead_out_of_the_block_give_no_text),
        fake_test(a_stop_that_had_no_room_for_the_names_is_a_stop),
        fake_test(every_call_gets_a_block_of_its_own),
        fake_test(a_session_that_is_not_there_is_named),
        fake_test(the_old_kernel_session_is_named_by_its_guid_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
