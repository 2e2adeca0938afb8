#include "cli/text/session_text.h"
#include "etw/etw_hold.h"
#include "support/json_check.h"
#include "support/test.h"

#ifdef _WIN32
#include "support/squatter.h"
#endif

static struct etw_session_state sessions[3];
static struct buf out;

static int set_up(void **state)
{
    (void)state;
    buf_init(&out, 1024 * 1024);
    memset(sessions, 0, sizeof(sessions));
    sessions[0] = (struct etw_session_state){
        .handle = 0x10001,
        .name = "NT Kernel Logger",
        .clock = 1,
        .buffers = 64,
        .free_buffers = 60,
        .buffers_written = 1234567,
        .mode = ETW_MODE_REAL_TIME | ETW_MODE_SYSTEM_LOGGER,
        .enable_flags = 0x10003,
    };
    sessions[1] = (struct etw_session_state){
        .handle = 0x20017,
        .name = "etwship-text-a",
        .file = "C:\\t\\\xc3\xa4.etl",
        .guid = {{1, 2, 3, 4}},
        .clock = 2,
        .buffer_kb = 256,
        .min_buffers = 8,
        .max_buffers = 28,
        .buffers = 9,
        .events_lost = 4000000000,
        .log_buffers_lost = 5,
        .real_time_buffers_lost = 6,
        .flush_ms = 1500,
        .mode = ETW_MODE_CIRCULAR,
        .max_file_size = 200,
    };
    sessions[2] = (struct etw_session_state){.name = "a\x1b[31m\tb", .file = "x", .clock = 9};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buf_fini(&out);
    return 0;
}

#define text_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

static void a_table_has_aligned_columns_and_nothing_that_steers_a_terminal(void **state)
{
    struct etw_session_list list = {.items = sessions, .count = 3};
    (void)state;
    session_text_table(&list, &out);
    assert_span(buf_span(&out),
        "Name              Buffers  Free  Written  EventsLost  LogBuffersLost  "
        "RealTimeBuffersLost  Mode                     Clock    Owner\n"
        "NT Kernel Logger       64    60  1234567           0               0  "
        "                  0  real_time,system_logger  qpc\n"
        "etwship-text-a          9     0        0  4000000000               5  "
        "                  6  circular                 system   etwship, orphan\n"
        "a\\u001b[31m\\tb          0     0        0           0               0  "
        "                  0  file                     unknown\n");
}

static void a_table_without_sessions_is_its_titles(void **state)
{
    struct etw_session_list list = {.items = NULL, .count = 0};
    (void)state;
    session_text_table(&list, &out);
    assert_span(buf_span(&out), "Name  Buffers  Free  Written  EventsLost  LogBuffersLost  "
                                "RealTimeBuffersLost  Mode  Clock  Owner\n");
}

static void details_hold_what_applies(void **state)
{
    (void)state;
    session_text_details(&sessions[1], &out);
    assert_span(buf_span(&out), "Name                 etwship-text-a\n"
                                "GUID                 04030201-0000-0000-0000-000000000000\n"
                                "Logger id            23\n"
                                "Owner                etwship, orphan\n"
                                "Mode                 0x00000002 circular\n"
                                "Clock                system\n"
                                "File                 C:\\t\\\xc3\xa4.etl\n"
                                "Maximum file size    200 MB\n"
                                "Buffer size          256 KB\n"
                                "Minimum buffers      8\n"
                                "Maximum buffers      28\n"
                                "Flush timer          1500ms\n"
                                "Buffers              9, 0 of them free\n"
                                "Written              0\n"
                                "EventsLost           4000000000\n"
                                "LogBuffersLost       5\n"
                                "RealTimeBuffersLost  6\n");
}

static void the_end_of_a_session_is_a_line(void **state)
{
    (void)state;
    sessions[2].buffers_written = 7;
    session_text_stopped(&sessions[2], &out);
    assert_span(buf_span(&out),
        "a\\u001b[31m\\tb: stopped, 7 buffers written; lost: 0 events, 0 log "
        "buffers, 0 real-time buffers\n");
}

static void json_is_an_object_on_a_line(void **state)
{
    (void)state;
    session_text_json(&sessions[1], true, &out);
    assert_span(buf_span(&out),
        "{\"name\":\"etwship-text-a\",\"guid\":\"04030201-0000-0000-0000-000000000000\","
        "\"logger_id\":23,\"owner\":\"etwship\",\"orphan\":true,\"stopped\":true,\"mode\":\"0x2\","
        "\"mode_name\":[\"circular\"],\"clock\":\"system\",\"file\":\"C:\\\\t\\\\\xc3\xa4.etl\","
        "\"max_file_bytes\":209715200,\"buffer_kb\":256,\"min_buffers\":8,\"max_buffers\":28,"
        "\"flush_ms\":1500,\"buffers\":9,\"free_buffers\":0,\"buffers_written\":0,"
        "\"events_lost\":4000000000,\"log_buffers_lost\":5,\"real_time_buffers_lost\":6}\n");
    buf_reset(&out);
    session_text_json(&sessions[0], false, &out);
    assert_span(buf_span(&out),
        "{\"name\":\"NT Kernel Logger\",\"guid\":\"00000000-0000-0000-0000-000000000000\","
        "\"logger_id\":1,\"mode\":\"0x2000100\",\"mode_name\":[\"real_time\",\"system_logger\"],"
        "\"clock\":\"qpc\",\"kernel_flags\":\"0x10003\",\"buffer_kb\":0,\"min_buffers\":0,"
        "\"max_buffers\":0,\"flush_ms\":0,\"buffers\":64,\"free_buffers\":60,"
        "\"buffers_written\":1234567,\"events_lost\":0,\"log_buffers_lost\":0,"
        "\"real_time_buffers_lost\":0}\n");
    buf_reset(&out);
    session_text_json(&sessions[2], false, &out);
    assert_int_equal(out.data[out.size - 1], '\n');
    size_t at;
    assert_null(json_check(span_first(buf_span(&out), out.size - 1), &at));
}

static void only_sessions_of_ours_without_a_holder_are_orphans(void **state)
{
    struct error err;
    (void)state;
    assert_int_equal(session_text_owner(&sessions[0]), SESSION_OWNER_UNKNOWN);
    assert_int_equal(session_text_owner(&sessions[1]), SESSION_OWNER_ENDED);
    struct etw_hold *hold = etw_hold_take("etwship-text-a", &err);
    assert_non_null(hold);
    assert_int_equal(session_text_owner(&sessions[1]), SESSION_OWNER_AGENT);
    etw_hold_drop(hold);
    assert_int_equal(session_text_owner(&sessions[1]), SESSION_OWNER_ENDED);
}

#ifdef _WIN32
static void a_session_with_a_possible_holder_is_doubtful(void **state)
{
    (void)state;
    HANDLE squatter = squatter_take("etwship-text-a", false);
    assert_non_null(squatter);
    assert_int_equal(session_text_owner(&sessions[1]), SESSION_OWNER_DOUBTFUL);
    session_text_json(&sessions[1], false, &out);
    buf_add_byte(&out, 0);
    assert_non_null(strstr(
        (const char *)out.data, "\"owner\":\"etwship\",\"orphan\":false,\"doubtful\":true,"));
    buf_reset(&out);
    session_text_details(&sessions[1], &out);
    buf_add_byte(&out, 0);
    assert_non_null(strstr((const char *)out.data, "\nOwner                etwship, doubtful\n"));
    CloseHandle(squatter);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        text_test(a_table_has_aligned_columns_and_nothing_that_steers_a_terminal),
        text_test(a_table_without_sessions_is_its_titles),
        text_test(details_hold_what_applies),
        text_test(the_end_of_a_session_is_a_line),
        text_test(json_is_an_object_on_a_line),
        text_test(only_sessions_of_ours_without_a_holder_are_orphans),
#ifdef _WIN32
        text_test(a_session_with_a_possible_holder_is_doubtful),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
