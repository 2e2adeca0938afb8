/* The bytes of filters, and their limits. */
#include "etw_enable_rig.h"

/* ---- bytes of filters ------------------------------------------------------------------------ */

static void ids_are_a_flag_a_count_and_the_ids(void **state)
{
    static const uint8_t in[] = {1, 0, 3, 0, 1, 0, 2, 0, 0xff, 0xff};
    static const uint8_t out[] = {0, 0, 1, 0, 0x34, 0x12};
    (void)state;
    request.events = (struct etw_filter_ids){.count = 3, .ids = {1, 2, 0xffff}};
    assert_true(enable(NULL));
    assert_memory_equal(only_filter(0x80000200, sizeof(in)), in, sizeof(in));
    request.events = (struct etw_filter_ids){.exclude = true, .count = 1, .ids = {0x1234}};
    assert_true(enable(NULL));
    assert_memory_equal(only_filter(0x80000200, sizeof(out)), out, sizeof(out));
}

static void names_follow_masks_level_and_count(void **state)
{
    static const uint8_t expected[] = {0x20, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 255, 0,
        2, 0, 'B', 'e', 'a', 't', 0, 'S', 't', 'o', 'p', 0};
    (void)state;
    request.any = 0x20;
    request.all = 0x10;
    request.names = (struct etw_filter_texts){
        .exclude = true, .count = 2, .texts = {"Beat", "Stop"}};
    assert_true(enable(NULL));
    assert_memory_equal(only_filter(0x80000400, sizeof(expected)), expected, sizeof(expected));
}

/* 0 may stand for no event in a filter. */
static void filters_without_keywords_have_every_keyword(void **state)
{
    static const uint32_t types[] = {0x80000400, 0x80002000, 0x80004000};
    const uint8_t *data = NULL;
    (void)state;
    request.all = 0x10; /* does not count where any is missing */
    request.names = request.stack_names = (struct etw_filter_texts){.count = 1, .texts = {"X"}};
    request.stack_by_level = true;
    request.stack_all = 0x20;
    assert_true(enable(NULL));
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        assert_non_null(fake_filter(&fake.calls[0], types[i], &data));
        assert_int_equal(load_le64(data), UINT64_MAX);
        assert_int_equal(load_le64(data + 8), 0);
    }
}

static void processes_are_pids_or_names_with_semicolons(void **state)
{
    static const uint8_t pids[] = {4, 0, 0, 0, 0x78, 0x56, 0x34, 0x12};
    static const uint8_t names[] = {'a', 0, '.', 0, 'e', 0, ';', 0, 0xe9, 0, 0, 0};
    static const struct {
        size_t offset;
        uint32_t type;
    } rows[] = {
        {offsetof(struct etw_request, executables), 0x80000008},
        {offsetof(struct etw_request, packages), 0x80000010},
        {offsetof(struct etw_request, apps), 0x80000020},
    };
    (void)state;
    request.pid_count = 2;
    request.pids[0] = 4;
    request.pids[1] = 0x12345678;
    assert_true(enable(NULL));
    assert_memory_equal(only_filter(0x80000004, sizeof(pids)), pids, sizeof(pids));
    for (size_t i = 0; i < 3; i++) {
        memset(&request, 0, sizeof(request));
        struct etw_filter_texts *texts = (void *)((uint8_t *)&request + rows[i].offset);
        *texts = (struct etw_filter_texts){.count = 2, .texts = {"a.e", "\xc3\xa9"}};
        assert_true(enable(NULL));
        assert_memory_equal(only_filter(rows[i].type, sizeof(names)), names, sizeof(names));
    }
}

static void stacks_are_chosen_by_id_name_level_and_keyword(void **state)
{
    const uint8_t *data;
    (void)state;
    request.stack_events = (struct etw_filter_ids){.count = 1, .ids = {7}};
    request.stack_names = (struct etw_filter_texts){.count = 1, .texts = {"X"}};
    request.stack_by_level = true;
    request.stack_level = 2;
    request.stack_any = 0x40;
    request.stack_all = 0x41;
    assert_true(enable(NULL));
    const struct fake_call *call = &fake.calls[0];
    assert_int_equal(call->parameters.enable_property, 0x4);
    assert_int_equal(call->parameters.filter_count, 3);
    assert_int_equal(fake_filter(call, 0x80001000, &data)->size, 6);
    assert_int_equal(load_le16(data + 4), 7);
    assert_int_equal(fake_filter(call, 0x80002000, &data)->size, 22);
    assert_int_equal(data[16], 255);
    assert_string_equal((const char *)data + 20, "X");
    assert_int_equal(fake_filter(call, 0x80004000, &data)->size, 24);
    assert_int_equal(load_le64(data), 0x40);
    assert_int_equal(load_le64(data + 8), 0x41);
    assert_int_equal(data[16], 2);
    assert_int_equal(data[17], 1);
}

static void a_container_is_given_as_it_is_written(void **state)
{
    static const uint8_t id[] = {'{', 0, '1', 0, '}', 0, 0, 0};
    (void)state;
    request.container = (struct etw_filter_texts){.count = 1, .texts = {"{1}"}};
    assert_true(enable(NULL));
    assert_memory_equal(only_filter(0x80008000, sizeof(id)), id, sizeof(id));
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void names_of_processes_fill_1024_bytes_of_utf16(void **state)
{
    (void)state;
    request.executables = (struct etw_filter_texts){.count = 2, .texts = {"a.exe", letters(505)}};
    assert_true(enable(NULL)); /* 5 + 1 + 505 + 1 units */
    assert_int_equal(fake.calls[0].filters[0].size, 1024);
    fake.count = 0;
    request.executables.texts[1] = letters(506);
    expect_limit("executables: ETW takes 1024 bytes of names");
    request.executables.texts[1] = letters(4900);
    expect_limit("executables: ETW takes 1024 bytes of names");
}

static void names_of_events_fill_4096_bytes(void **state)
{
    (void)state;
    request.names = (struct etw_filter_texts){.count = 2, .texts = {"a", letters(4073)}};
    assert_true(enable(NULL)); /* 20 + 2 + 4074 */
    assert_int_equal(fake.calls[0].filters[0].size, 4096);
    fake.count = 0;
    request.names.texts[1] = letters(4074);
    expect_limit("event names: ETW takes 4096 bytes of names");
    request.names = (struct etw_filter_texts){.count = 257};
    expect_limit("event names: at most 256 names");
}

static void ids_and_processes_are_counted(void **state)
{
    (void)state;
    request.events.count = 64;
    assert_true(enable(NULL));
    assert_int_equal(fake.calls[0].filters[0].size, 4 + 128);
    fake.count = 0;
    request.events.count = 65;
    expect_limit("event ids: ETW takes 64 at most, not 65");
    request.events.count = 0;
    request.stack_events.count = 65;
    expect_limit("stacks by event id: ETW takes 64 at most");
    request.stack_events.count = 0;
    request.pid_count = 9;
    expect_limit("processes: ETW takes 8 at most, not 9");
    request.pid_count = 0;
    request.container.count = 2;
    expect_limit("container: ETW takes 1 at most, not 2");
    request.container = (struct etw_filter_texts){.count = 1, .texts = {letters(512)}};
    expect_limit("container: ETW takes 1024 bytes of names");
}

static void more_than_eight_kinds_are_too_many(void **state)
{
    (void)state;
    request.pid_count = 1;
    request.executables = (struct etw_filter_texts){.count = 1, .texts = {"a"}};
    request.packages = request.executables;
    request.apps = request.executables;
    request.events.count = 1;
    request.names = request.executables;
    request.stack_events.count = 1;
    request.stack_names = request.executables;
    assert_true(enable(NULL));
    assert_int_equal(fake.calls[0].parameters.filter_count, 8);
    fake.count = 0;
    request.stack_by_level = true;
    expect_limit("9 kinds of filters, ETW takes 8");
    etw_enable_drop(&request, ETW_FILTER_KIND(ETW_FILTER_PID));
    assert_true(enable(NULL));
}

static void names_that_cannot_be_are_refused(void **state)
{
    static const struct {
        const char *text;
        bool of_events;
        bool is_fine;
    } rows[] = {{"", false, false}, {"", true, false}, {"a;b", false, false}, {"a;b", true, true}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct error err = {.code = ERR_NONE};
        struct etw_filter_texts texts = {.count = 1, .texts = {rows[i].text}};
        request.names = rows[i].of_events ? texts : (struct etw_filter_texts){0};
        request.packages = rows[i].of_events ? (struct etw_filter_texts){0} : texts;
        assert_int_equal(enable(&err), rows[i].is_fine);
        assert_int_equal(err.code, rows[i].is_fine ? ERR_NONE : ERR_CONFIG);
    }
}

static void groups_are_not_filtered_by_their_events(void **state)
{
    struct error err;
    (void)state;
    request.properties = ETW_ENABLE_PROVIDER_GROUP;
    request.events.count = 1;
    assert_false(enable(&err));
    assert_int_equal(err.code, ERR_CONFIG);
    assert_non_null(strstr(err.text, "event ids: ETW does not filter a group"));
    request.events.count = 0;
    request.pid_count = 1;
    assert_true(enable(NULL));
}

static void each_kind_can_be_asked_for_and_dropped(void **state)
{
    static const uint32_t kinds[] = {
        0x4, 0x8, 0x10, 0x20, 0x100, 0x200, 0x400, 0x1000, 0x2000, 0x4000, 0x8000};
    struct etw_payload_test test = {"F", ETW_PAYLOAD_IS, "1"};
    struct etw_payload_filter payload = {.count = 1, .tests = &test};
    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        request.pid_count = 1;
        request.executables = (struct etw_filter_texts){.count = 1, .texts = {"a"}};
        request.packages = request.apps = request.names = request.stack_names = request.executables;
        request.container = request.executables;
        request.events.count = request.stack_events.count = 1;
        request.stack_by_level = true;
        request.payload = &payload;
        request.payload_count = 1;
        assert_int_equal(etw_enable_kinds(&request), 0xf73c);
        assert_true(etw_enable_fits(&request, kinds[i], NULL));
        etw_enable_drop(&request, kinds[i]);
        assert_int_equal(etw_enable_kinds(&request), 0xf73c & ~kinds[i]);
        etw_enable_drop(&request, 0xffffffff);
        assert_int_equal(etw_enable_kinds(&request), 0);
    }
    assert_string_equal(etw_enable_kind_name(0x400), "event names");
    assert_string_equal(etw_enable_kind_name(0x800), "other");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        enable_test(ids_are_a_flag_a_count_and_the_ids),
        enable_test(names_follow_masks_level_and_count),
        enable_test(filters_without_keywords_have_every_keyword),
        enable_test(processes_are_pids_or_names_with_semicolons),
        enable_test(stacks_are_chosen_by_id_name_level_and_keyword),
        enable_test(a_container_is_given_as_it_is_written),
        enable_test(names_of_processes_fill_1024_bytes_of_utf16),
        enable_test(names_of_events_fill_4096_bytes),
        enable_test(ids_and_processes_are_counted),
        enable_test(more_than_eight_kinds_are_too_many),
        enable_test(names_that_cannot_be_are_refused),
        enable_test(groups_are_not_filtered_by_their_events),
        enable_test(each_kind_can_be_asked_for_and_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
