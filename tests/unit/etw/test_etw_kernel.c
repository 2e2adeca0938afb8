#include "etw/session/etw_kernel.h"
#include "etw_fake.h"

static struct guid guid_of(const char *text)
{
    struct guid guid;
    assert_true(guid_parse(span_text(text), &guid));
    return guid;
}

static struct etw_session_spec system_spec(void)
{
    return (struct etw_session_spec){
        .name = "etwship-k", .mode = ETW_MODE_REAL_TIME | ETW_MODE_SYSTEM_LOGGER};
}

/* ---- masks ----------------------------------------------------------------------------------- */

static void the_top_bits_of_a_mask_choose_its_word(void **state)
{
    static const struct {
        uint32_t mask;
        size_t word;
        uint32_t bits;
    } rows[] = {
        {0x00000001, 0, 0x00000001}, /* PROCESS */
        {0x10000000, 0, 0x10000000}, /* NO_SYSCONFIG */
        {0x20000001, 1, 0x00000001}, /* PERF_MEMORY */
        {0x28000000, 1, 0x08000000}, /* PERF_WS */
        {0x40000040, 2, 0x00000040}, /* PERF_SYSCALL */
        {0x80020000, 4, 0x00020000}, /* PERF_CC */
        {0xdfffffff, 6, 0x1fffffff}, /* PERF_SYSCFG_ALL */
    };
    struct etw_groups groups = {{0}};
    struct error err;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct etw_groups one = {{0}};
        assert_true(etw_kernel_add(&one, rows[i].mask, NULL));
        for (size_t word = 0; word < 8; word++) {
            assert_int_equal(one.words[word], word == rows[i].word ? rows[i].bits : 0);
        }
        assert_true(etw_kernel_add(&groups, rows[i].mask, NULL));
    }
    assert_int_equal(groups.words[0], 0x10000001);
    assert_int_equal(groups.words[1], 0x08000001);
    assert_false(etw_kernel_add(&groups, 0, &err));
    assert_int_equal(err.code, ERR_CONFIG);
    assert_false(etw_kernel_add(&groups, 0x20000000, &err));
    assert_false(etw_kernel_add(&groups, 0xe0000001, &err));
    assert_non_null(strstr(err.text, "changes how the system behaves"));
}

/* ---- start ----------------------------------------------------------------------------------- */

static uint32_t set_result; /* of TraceSetInformation with class 4 */
static uint32_t stack_result;
static uint32_t second_start_result;

static uint32_t answer(const struct fake_call *call, void *block)
{
    if (call->function == FAKE_QUERY) {
        uint32_t words[8] = {0x3, 0x10, 0, 0, 0, 0, 0, 0x5};
        memcpy(block, words, sizeof(words));
        return 0;
    }
    if (call->function == FAKE_SET) {
        return call->code == 4 ? set_result : stack_result;
    }
    bool has_extension = call->function == FAKE_START &&
                         (load_le32(call->block + 72) & 0x80000000) != 0;
    return has_extension ? second_start_result : 0;
}

static int set_up(void **state)
{
    int result = fake_set_up(state);
    set_result = stack_result = second_start_result = 0;
    fake.answer = answer;
    return result;
}

#define kernel_test(function) cmocka_unit_test_setup_teardown(function, set_up, fake_tear_down)

/* The calls so far: S start, q query of the session, x stop, r read groups, w write groups, k
 * stacks, c counters. */
static void assert_calls(const char *expected)
{
    char calls[FAKE_CALLS + 1] = "";
    for (size_t i = 0; i < fake.count; i++) {
        const struct fake_call *call = &fake.calls[i];
        char letter = '?';
        switch (call->function) {
        case FAKE_START:
            letter = 'S';
            break;
        case FAKE_CONTROL:
            letter = call->code == 1 ? 'x' : 'q';
            break;
        case FAKE_QUERY:
            letter = 'r';
            break;
        case FAKE_SET:
            letter = call->code == 4 ? 'w' : call->code == 3 ? 'k' : 'c';
            break;
        default:
            break;
        }
        calls[i] = letter;
    }
    assert_string_equal(calls, expected);
}

static void the_first_word_goes_in_with_the_start(void **state)
{
    struct etw_session_spec spec = system_spec();
    struct etw_groups groups = {{0x10003}};
    struct etw_session_state session;
    (void)state;
    assert_true(etw_kernel_start(&spec, &groups, NULL, 0, &session, NULL));
    assert_calls("Sq");
    assert_int_equal(load_le32(fake.calls[0].block + 72), 0x10003);
    assert_int_equal(load_le32(fake.calls[0].block + 64), 0x02000100);
}

static void other_words_are_added_to_what_the_session_has(void **state)
{
    struct etw_session_spec spec = system_spec();
    struct etw_groups groups = {{0x1, 0x1, 0x40, 0, 0x80, 0, 0x1}};
    static const uint32_t expected[8] = {0x3, 0x11, 0x40, 0, 0x80, 0, 0x1, 0x5};
    struct etw_session_state session;
    (void)state;
    assert_true(etw_kernel_start(&spec, &groups, NULL, 0, &session, NULL));
    assert_calls("Sqrw");
    assert_int_equal(fake.calls[3].session, 0x10023);
    assert_int_equal(fake.calls[2].block_bytes, 32);
    assert_int_equal(fake.calls[3].block_bytes, 32);
    assert_memory_equal(fake.calls[3].block, expected, 32);
}

static void stacks_are_a_list_of_class_and_type(void **state)
{
    struct etw_session_spec spec = system_spec();
    struct etw_groups groups = {{1}};
    struct etw_stack_event stacks[2] = {
        {guid_of("3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c"), 1}, {etw_kernel_guid, 0x33}};
    static const uint8_t first[24] = {0xd0, 0xa8, 0x6f, 0x3d, 0x05, 0xfe, 0xd0, 0x11, 0x9d, 0xda, 0,
        0xc0, 0x4f, 0xd7, 0xba, 0x7c, 1};
    struct etw_session_state session;
    (void)state;
    assert_true(etw_kernel_start(&spec, &groups, stacks, 2, &session, NULL));
    assert_calls("Sqk");
    assert_int_equal(fake.calls[2].block_bytes, 48);
    assert_memory_equal(fake.calls[2].block, first, 24);
    assert_int_equal(fake.calls[2].block[24 + 16], 0x33);
    fake.count = 0;
    assert_true(etw_kernel_set_stacks(5, "k", NULL, 0, NULL));
    assert_int_equal(fake.calls[0].block_bytes, 0);
}

static void groups_that_cannot_be_set_later_go_into_a_second_start(void **state)
{
    static const uint32_t refusals[] = {87, 50, 120};
    static const uint8_t extension[] = {10, 0, 1, 0, 9, 0, 1, 0, 1, 0, 0, 0, 0x40, 0, 0, 0};
    struct etw_session_spec spec = system_spec();
    struct etw_groups groups = {{0x1, 0x40}};
    struct etw_session_state session;
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        set_up(state);
        set_result = i < 3 ? refusals[i] : 0;
        if (i == 3) {
            fake.api.TraceQueryInformation = NULL;
        }
        assert_true(etw_kernel_start(&spec, &groups, NULL, 0, &session, NULL));
        assert_calls(i < 3 ? "SqrwxSq" : "SqxSq");
        const uint8_t *b = fake.calls[fake.count - 2].block;
        assert_int_equal(load_le32(b), 144 + 4096 + 1280);
        assert_int_equal(load_le32(b + 72), 0x80ff0000 | (144 + 4096));
        assert_memory_equal(b + 144 + 4096, extension, sizeof(extension));
        for (size_t at = sizeof(extension); at < 40; at += 4) {
            assert_int_equal(load_le32(b + 144 + 4096 + at), 0);
        }
        fake_tear_down(state);
    }
    set_up(state);
}

static void a_start_that_fails_halfway_leaves_no_session(void **state)
{
    static const struct {
        uint32_t set, stack, second;
        int64_t os_code;
        const char *calls;
    } rows[] = {
        {5, 0, 0, 5, "Sqrwx"},
        {87, 0, 87, 87, "SqrwxSS"},
        {0, 1314, 0, 1314, "Sqrwkx"},
    };
    struct etw_session_spec spec = system_spec();
    struct etw_groups groups = {{0x1, 0x40}};
    struct etw_stack_event stack = {etw_kernel_guid, 1};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct etw_session_state session = {.handle = 77};
        struct error err;
        fake.count = 0;
        set_result = rows[i].set;
        stack_result = rows[i].stack;
        second_start_result = rows[i].second;
        assert_false(etw_kernel_start(&spec, &groups, &stack, 1, &session, &err));
        assert_int_equal(err.os_code, rows[i].os_code);
        assert_calls(rows[i].calls);
        assert_int_equal(session.handle, 77);
    }
}

static void only_sessions_of_the_kernel_have_kernel_events(void **state)
{
    struct etw_groups groups = {{1}};
    struct etw_session_spec specs[] = {
        {.name = "etwship-k", .mode = ETW_MODE_REAL_TIME},
        {.name = "nt kernel logger", .mode = ETW_MODE_SYSTEM_LOGGER},
        {.name = "etwship-k", .guid = etw_kernel_guid},
    };
    struct etw_session_state session;
    struct error err;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_false(etw_kernel_start(&specs[i], &groups, NULL, 0, &session, &err));
        assert_int_equal(err.code, ERR_CONFIG);
    }
    specs[1].guid = etw_kernel_guid;
    assert_true(etw_kernel_start(&specs[1], &groups, NULL, 0, &session, &err));
    static struct etw_stack_event stacks[257];
    struct etw_session_spec spec = system_spec();
    fake.count = 0;
    assert_false(etw_kernel_start(&spec, &groups, stacks, 257, &session, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_int_equal(fake.count, 0);
    assert_false(etw_kernel_set_stacks(1, "k", stacks, 257, &err));
    assert_int_equal(err.code, ERR_LIMIT);
}

static void a_rundown_asks_the_kernel_for_one_session(void **state)
{
    (void)state;
    assert_true(etw_kernel_rundown(0x23, "k", NULL));
    const struct fake_call *call = &fake.calls[0];
    struct guid kernel = guid_of("9e814aad-3204-11d2-9a82-006008a86939");
    assert_int_equal(call->code, 2);
    assert_true(guid_equal(&call->provider, &kernel));
    assert_int_equal(call->parameters.filter_count, 1);
    assert_int_equal(call->filters[0].type, 0x80000002);
    assert_int_equal(call->filters[0].size, 8);
    assert_int_equal(load_le64(call->filter_data[0]), 0x23);
}

/* ---- profile timer and counters -------------------------------------------------------------- */

static uint32_t old_interval;

static uint32_t answer_interval(const struct fake_call *call, void *block)
{
    assert_int_equal(call->session, 0);
    assert_int_equal(call->code, 5);
    assert_int_equal(call->block_bytes, 8);
    if (call->function == FAKE_QUERY) {
        store_le32((uint8_t *)block + 4, old_interval);
        return old_interval ? 0 : 1314;
    }
    return 0;
}

static void the_profile_timer_tells_what_it_was(void **state)
{
    uint32_t old = 0;
    (void)state;
    fake.answer = answer_interval;
    old_interval = 1221;
    assert_true(etw_kernel_set_profile(2000, &old, NULL));
    assert_int_equal(old, 1221);
    assert_int_equal(load_le32(fake.calls[1].block), 0);
    assert_int_equal(load_le32(fake.calls[1].block + 4), 2000);
    old_interval = 0;
    assert_true(etw_kernel_set_profile(2000, &old, NULL));
    assert_int_equal(old, 10000);
}

static uint8_t source_list[16384];
static uint32_t source_bytes;

static uint32_t answer_sources(
    uint64_t session, uint32_t info_class, void *data, uint32_t bytes, uint32_t *ret_bytes)
{
    assert_int_equal(session, 0);
    assert_int_equal(info_class, 7);
    *ret_bytes = source_bytes;
    if (bytes < source_bytes) {
        return ETW_ERROR_BAD_LENGTH;
    }
    memcpy(data, source_list, source_bytes);
    return 0;
}

/* Two sources, so far apart that the first try has too little room. */
static void make_sources(uint32_t first_bytes)
{
    static const uint8_t cycles[] = {2, 0, 0, 0, 0, 16, 0, 0, 0xff, 0xff, 0xff, 0x7f};
    memset(source_list, 0, sizeof(source_list));
    store_le32(source_list, first_bytes);
    memcpy(source_list + 4, cycles, sizeof(cycles));
    memcpy(source_list + 24, "T\0i\0m\0e\0r\0\0", 12);
    store_le32(source_list + first_bytes + 4, 19);
    memcpy(source_list + first_bytes + 24, "X\0\0", 4);
    source_bytes = first_bytes + 28;
}

static void the_counters_of_the_machine_are_listed(void **state)
{
    struct etw_profile_source sources[4];
    size_t count = 0;
    (void)state;
    fake.api.TraceQueryInformation = answer_sources;
    make_sources(10000);
    assert_true(etw_kernel_profile_sources(sources, 4, &count, NULL));
    assert_int_equal(count, 2);
    assert_string_equal(sources[0].name, "Timer");
    assert_int_equal(sources[0].source, 2);
    assert_int_equal(sources[0].min_interval, 4096);
    assert_int_equal(sources[0].max_interval, 0x7fffffff);
    assert_string_equal(sources[1].name, "X");
    assert_int_equal(sources[1].source, 19);
    assert_true(etw_kernel_profile_sources(sources, 1, &count, NULL));
    assert_int_equal(count, 1);
}

static void a_list_of_counters_that_is_cut_anywhere_is_read_as_far_as_it_goes(void **state)
{
    struct etw_profile_source sources[4];
    size_t count;
    (void)state;
    fake.api.TraceQueryInformation = answer_sources;
    for (uint32_t cut = 0; cut <= 68; cut++) {
        make_sources(40);
        source_bytes = cut;
        assert_true(etw_kernel_profile_sources(sources, 4, &count, NULL));
        assert_int_equal(count, (cut >= 24) + (cut >= 64));
    }
    /* A chain that leads backwards or out of the list. */
    make_sources(40);
    store_le32(source_list, 3);
    assert_true(etw_kernel_profile_sources(sources, 4, &count, NULL));
    assert_int_equal(count, 1);
    store_le32(source_list, 0xffffffff);
    assert_true(etw_kernel_profile_sources(sources, 4, &count, NULL));
    assert_int_equal(count, 1);
}

static void counters_are_sources_and_the_events_that_get_them(void **state)
{
    static const uint32_t sources[2] = {19, 2};
    struct etw_stack_event event = {etw_kernel_guid, 36};
    struct error err;
    (void)state;
    assert_true(etw_kernel_set_counters(5, "k", sources, 2, &event, 1, NULL));
    assert_int_equal(fake.calls[0].code, 9);
    assert_int_equal(fake.calls[0].block_bytes, 8);
    assert_int_equal(load_le32(fake.calls[0].block), 19);
    assert_int_equal(fake.calls[1].code, 8);
    assert_int_equal(fake.calls[1].block_bytes, 24);
    assert_false(etw_kernel_set_counters(5, "k", sources, 0, &event, 1, &err));
    assert_int_equal(err.code, ERR_LIMIT);
}

/* ---- system providers ------------------------------------------------------------------------ */

static void system_providers_are_known_by_name(void **state)
{
    static const struct {
        const char *name;
        const char *guid;
    } rows[] = {
        {"SystemProcessProvider", "151f55dc-467d-471f-83b5-5f889d46ff66"},
        {"systemprocessprovider", "151f55dc-467d-471f-83b5-5f889d46ff66"},
        {"Process", "151f55dc-467d-471f-83b5-5f889d46ff66"},
        {"SystemIo", "3d5c43e3-0f1c-4202-b817-174c0070dc79"},
        {"IoFilter", "fbd09363-9e22-4661-b8bf-e7a34b535b8c"},
        {"ALPCPROVIDER", "fcb9baaf-e529-4980-92e9-ced1a6aadfdf"},
        {"SystemLastBranchRecordProvider", "99134383-5248-43fc-834b-529454e75df3"},
        {"System", NULL},
        {"Provider", NULL},
        {"SystemProvider", NULL},
        {"", NULL},
        {"Microsoft-Windows-Kernel-Process", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct etw_system_provider *found = etw_kernel_find_provider(span_text(rows[i].name));
        assert_int_equal(found != NULL, rows[i].guid != NULL);
        if (found) {
            struct guid guid = guid_of(rows[i].guid);
            assert_true(guid_equal(&found->guid, &guid));
        }
    }
    size_t count = 0;
    for (; etw_kernel_system_provider(count); count++) {
        assert_true(count == 0 || strcmp(etw_kernel_system_provider(count - 1)->name,
                                      etw_kernel_system_provider(count)->name) < 0);
    }
    assert_int_equal(count, 18);
}

static void keywords_of_system_providers_are_bits(void **state)
{
    static const struct {
        const char *provider;
        const char *keyword;
        uint64_t bit;
    } rows[] = {
        {"Process", "GENERAL", 1},
        {"Process", "THREAD", 0x800},
        {"Process", "SYSTEM_PROCESS_KW_LOADER", 0x1000},
        {"Process", "system_process_kw_loader", 0x1000},
        {"Process", "SYSTEM_IO_KW_LOADER", 0},
        {"Process", "SYSTEM_PROCESS_KW_", 0},
        {"Process", "", 0},
        {"Process", "THREA", 0},
        {"Process", "GENERAL INSWAP", 0},
        {"Io", "TIMER", 0x800},
        {"Io", "SYSTEM_IO_KW_NETWORK", 0x200},
        {"Memory", "NONTRADEABLE", 0x8000},
        {"Scheduler", "AUTOBOOST", 0x10000},
        {"Config", "SYSTEM", 1},
        {"Config", "SYSTEM_CONFIG_KW_OPTICAL", 0x40},
        {"LastBranchRecord", "GENERAL", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct etw_system_provider *provider = etw_kernel_find_provider(
            span_text(rows[i].provider));
        assert_non_null(provider);
        assert_int_equal(etw_kernel_keyword(provider, span_text(rows[i].keyword)), rows[i].bit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_top_bits_of_a_mask_choose_its_word),
        kernel_test(the_first_word_goes_in_with_the_start),
        kernel_test(other_words_are_added_to_what_the_session_has),
        kernel_test(stacks_are_a_list_of_class_and_type),
        cmocka_unit_test_teardown(
            groups_that_cannot_be_set_later_go_into_a_second_start, fake_tear_down),
        kernel_test(a_start_that_fails_halfway_leaves_no_session),
        kernel_test(only_sessions_of_the_kernel_have_kernel_events),
        kernel_test(a_rundown_asks_the_kernel_for_one_session),
        kernel_test(the_profile_timer_tells_what_it_was),
        kernel_test(the_counters_of_the_machine_are_listed),
        kernel_test(a_list_of_counters_that_is_cut_anywhere_is_read_as_far_as_it_goes),
        kernel_test(counters_are_sources_and_the_events_that_get_them),
        cmocka_unit_test(system_providers_are_known_by_name),
        cmocka_unit_test(keywords_of_system_providers_are_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
