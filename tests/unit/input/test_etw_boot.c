#include "input/windows/etw_boot.h"

#include <stdio.h>

#include "etw/etw_types.h"
#include "input/live/live_options.h"
#include "input/live/provider_spec.h"
#include "platform/plat_path.h"
#include "support/test.h"

/* Expected values: configuring-and-starting-an-autologger-session, configuring-and-starting-the-
 * global-logger-session (EnableKernelFlags), Logging Mode Constants, ENABLE_TRACE_PARAMETERS on
 * learn.microsoft.com. GUIDs of names by the recipe of TraceLogging, reckoned elsewhere. */
enum { MB = 1 << 20, MS_NS = 1000000 };

static const struct live_session defaults = {.buffers = {.size_bytes = 256 * 1024, .min = 64},
    .flush_ns = (uint64_t)1000 * MS_NS,
    .independent = true,
    .boot = true};

static bool describe(const char *type, const void *settings, const struct provider_spec *providers,
    size_t count, struct etw_boot *boot, struct error *err)
{
    struct input_env env = {
        .name = "security", .providers = providers, .provider_count = count, .data_dir = "/data"};
    return etw_boot_describe(type, settings, &env, boot, err);
}

static void assert_tree(const struct etw_boot *boot, const char *expected)
{
    struct buf text;
    buf_init(&text, 1 << 20);
    for (size_t i = 0; i < boot->autologger.tree.count; i++) {
        const struct etw_registry_value *value = &boot->autologger.tree.values[i];
        if (strcmp(value->name, "FileName") == 0) { /* in the form of the system's paths */
            assert_span(value->data, boot->file);
            continue;
        }
        buf_printf(&text, "%s%s%s=", value->key, *value->key ? " " : "", value->name);
        etw_registry_show(value, &text);
        buf_add_byte(&text, '\n');
    }
    char whole[4096]; /* Start comes last: until it is there, Windows does not start the session */
    snprintf(whole, sizeof(whole), "%sStart=1\n", expected);
    assert_span(buf_span(&text), whole);
    buf_fini(&text);
}

static void assert_described(const char *type, const void *settings,
    const struct provider_spec *providers, size_t count, const char *expected)
{
    struct etw_boot boot;
    struct error err = {0};
    bool good = describe(type, settings, providers, count, &boot, &err);
    if (!good) {
        print_error("%s\n", err.text);
    }
    assert_true(good);
    assert_string_equal(boot.autologger.name, "etwship-security");
    char path[ETW_BOOT_PATH_BYTES];
    assert_true(plat_path_absolute("/data/boot/security.etl", path, sizeof(path), NULL));
    assert_string_equal(boot.file, path);
    assert_tree(&boot, expected);
    etw_registry_fini(&boot.autologger.tree);
}

static struct provider_spec provider(const char *text)
{
    struct provider_spec spec;
    struct error err = {0};
    provider_spec_init(&spec);
    assert_true(provider_spec_parse(&spec, span_text(text), &err));
    return spec;
}

/* EVENT_TRACE_FILE_MODE_SEQUENTIAL, INDEPENDENT_SESSION, PERSIST_ON_HYBRID_SHUTDOWN. */
#define SESSION(mode)                                                            \
    "Guid={02ce77e1-4df1-5295-e781-ab65f5b69555}\nBufferSize=256\nClockType=1\n" \
    "FileMax=4\nFlushTimer=1\nLogFileMode=" mode                                 \
    "\nMaxFileSize=100\nMaximumBuffers=128\nMinimumBuffers=64\n"

static void a_session_that_is_delivered_writes_a_file_of_its_own(void **state)
{
    (void)state;
    struct live_realtime settings = {.session = defaults};
    struct provider_spec spec = provider("1c95126e-7eea-49a9-a3fe-a378b03ddb4d:4::0x10:0x2");
    assert_described("realtime", &settings, &spec, 1,
        SESSION("0x8800001") "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d} Enabled=1\n"
                             "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d} EnableLevel=4\n"
                             "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d} MatchAnyKeyword=0x10\n"
                             "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d} MatchAllKeyword=0x2\n"
                             "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d} EnableProperty=0\n");
}

static void the_timer_counts_whole_seconds(void **state)
{
    (void)state;
    static const struct {
        uint64_t ms;
        uint32_t seconds;
    } rows[] = {{1, 1}, {500, 1}, {1000, 1}, {1001, 2}, {60000, 60}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct live_realtime settings = {.session = defaults};
        struct etw_boot boot;
        uint32_t seconds = 0;
        settings.session.flush_ns = rows[i].ms * MS_NS;
        assert_true(describe("realtime", &settings, NULL, 0, &boot, NULL));
        assert_true(etw_registry_dword(&boot.autologger.tree, "", "FlushTimer", &seconds));
        assert_int_equal(seconds, rows[i].seconds);
        etw_registry_fini(&boot.autologger.tree);
    }
}

static void providers_keep_their_ids_and_what_they_add(void **state)
{
    (void)state;
    struct live_realtime settings = {.session = defaults};
    struct provider_spec specs[3] = {provider("1c95126e-7eea-49a9-a3fe-a378b03ddb4d::1+5-6"),
        provider("Security-Test"), provider("c9232d6d-7eea-49a9-a3fe-a378b03ddb4d")};
    specs[0].extended = 1 << PROVIDER_EXTENDED_SID | 1 << PROVIDER_EXTENDED_START_KEY;
    specs[1].exclude.ranges[0] = (struct provider_id_range){258, 259};
    specs[1].exclude.range_count = 1;
    specs[2].classic = true; /* flags instead of keywords */
    specs[2].any.bits = 0x6;
    specs[2].level = 2;
    assert_described("realtime", &settings, specs, 3,
        SESSION(
            "0x8800001") "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d} Enabled=1\n"
                         "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d} EnableLevel=255\n"
                         "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d} "
                         "MatchAnyKeyword=0xffffffffffffffff\n"
                         "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d} MatchAllKeyword=0x0\n"
                         "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d} EnableProperty=129\n"
                         "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d}\\Filters Enabled=1\n"
                         "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d}\\Filters EventIdFilterIn=1\n"
                         "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d}\\Filters EventIds=010005000600\n"
                         "{48253e39-9dde-548e-e150-408e136eab93} Enabled=1\n"
                         "{48253e39-9dde-548e-e150-408e136eab93} EnableLevel=255\n"
                         "{48253e39-9dde-548e-e150-408e136eab93} "
                         "MatchAnyKeyword=0xffffffffffffffff\n"
                         "{48253e39-9dde-548e-e150-408e136eab93} MatchAllKeyword=0x0\n"
                         "{48253e39-9dde-548e-e150-408e136eab93} EnableProperty=0\n"
                         "{48253e39-9dde-548e-e150-408e136eab93}\\Filters Enabled=1\n"
                         "{48253e39-9dde-548e-e150-408e136eab93}\\Filters EventIdFilterIn=0\n"
                         "{48253e39-9dde-548e-e150-408e136eab93}\\Filters EventIds=02010301\n"
                         "{c9232d6d-7eea-49a9-a3fe-a378b03ddb4d} Enabled=1\n"
                         "{c9232d6d-7eea-49a9-a3fe-a378b03ddb4d} EnableLevel=2\n"
                         "{c9232d6d-7eea-49a9-a3fe-a378b03ddb4d} EnableFlags=6\n"
                         "{c9232d6d-7eea-49a9-a3fe-a378b03ddb4d} EnableProperty=0\n");
}

/* Windows enables the provider itself, at each boot, so GCHeapCollectKeyword and the like (.NET)
 * are left out. */
static void an_autologger_asks_for_no_side_effect(void **state)
{
    (void)state;
    struct live_realtime settings = {.session = defaults};
    struct provider_spec spec = provider("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4:4");
    assert_described("realtime", &settings, &spec, 1,
        SESSION("0x8800001") "{e13c0d23-ccbc-4e12-931b-d9cc2eee27e4} Enabled=1\n"
                             "{e13c0d23-ccbc-4e12-931b-d9cc2eee27e4} EnableLevel=4\n"
                             "{e13c0d23-ccbc-4e12-931b-d9cc2eee27e4} "
                             "MatchAnyKeyword=0xfffffffffd5fffbf\n"
                             "{e13c0d23-ccbc-4e12-931b-d9cc2eee27e4} MatchAllKeyword=0x0\n"
                             "{e13c0d23-ccbc-4e12-931b-d9cc2eee27e4} EnableProperty=0\n");
}

static void two_entries_of_one_provider_are_one_key(void **state)
{
    (void)state;
    struct live_realtime settings = {.session = defaults};
    struct provider_spec specs[2] = {provider("1c95126e-7eea-49a9-a3fe-a378b03ddb4d:2:7:0x1"),
        provider("1c95126e-7eea-49a9-a3fe-a378b03ddb4d:4::0x8")};
    assert_described("realtime", &settings, specs, 2,
        SESSION("0x8800001") "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d} Enabled=1\n"
                             "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d} EnableLevel=4\n"
                             "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d} MatchAnyKeyword=0x9\n"
                             "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d} MatchAllKeyword=0x0\n"
                             "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d} EnableProperty=0\n");
}

/* EVENT_TRACE_SYSTEM_LOGGER_MODE; process and image_load of word 0, PERF_REG_HIVE of word 2. */
static void a_system_session_carries_its_flags(void **state)
{
    (void)state;
    const char *flags[] = {"process", "image_load", "PERF_REG_HIVE"};
    struct live_kernel settings = {
        .session = defaults, .groups = {.flags = {.items = flags, .count = 3}}};
    struct etw_boot boot;
    assert_true(describe("system", &settings, NULL, 0, &boot, NULL));
    assert_true(boot.is_read);
    assert_true(boot.has_flags);
    assert_tree(&boot,
        SESSION("0xa800001") "EnableKernelFlags="
                             "0500000000000000000000010000000000000000000000000000000000000000\n");
    etw_registry_fini(&boot.autologger.tree);
}

static void a_session_that_records_has_its_own_file(void **state)
{
    (void)state;
    static const struct {
        int mode;
        uint64_t max_size;
        bool live;
        uint32_t log_file_mode;
        uint32_t max_file_size; /* MB; 0 is no limit, a missing value would be 100 */
    } rows[] = {
        {LIVE_LOG_SEQUENTIAL, 0, false, 0x8800001, 0},
        {LIVE_LOG_SEQUENTIAL, (uint64_t)200 * MB, true, 0x8800101, 200},
        {LIVE_LOG_CIRCULAR, (uint64_t)5 * MB + 1024, false, 0x8800002, 6},
        {LIVE_LOG_BUFFERING, (uint64_t)64 * MB, false, 0x8800400, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct live_record settings = {.session = defaults,
            .log_file = {.path = "/d/t.etl",
                .mode = rows[i].mode,
                .max_size_bytes = rows[i].max_size},
            .live = rows[i].live};
        struct etw_boot boot;
        uint32_t number = 77;
        assert_true(describe("record", &settings, NULL, 0, &boot, NULL));
        const struct etw_registry_tree *tree = &boot.autologger.tree;
        assert_false(boot.is_read);
        char path[ETW_BOOT_PATH_BYTES];
        assert_true(plat_path_absolute("/d/t.etl", path, sizeof(path), NULL));
        assert_string_equal(boot.file, path);
        assert_span(etw_registry_find(tree, "", "FileName")->data, path);
        assert_null(etw_registry_find(tree, "", "FileMax"));
        assert_true(etw_registry_dword(tree, "", "LogFileMode", &number));
        assert_int_equal(number, rows[i].log_file_mode);
        assert_true(etw_registry_dword(tree, "", "MaxFileSize", &number));
        assert_int_equal(number, rows[i].max_file_size);
        etw_registry_fini(&boot.autologger.tree);
    }
}

static void what_cannot_be_is_told(void **state)
{
    (void)state;
    struct live_realtime settings = {.session = defaults};
    struct input_env env = {.name = "s"};
    struct etw_boot boot;
    struct error err = {0};
    assert_false(etw_boot_describe("kernel", &settings, &env, &boot, &err));
    assert_string_equal(err.text, "Windows cannot start a session of type kernel at boot");
    assert_false(etw_boot_describe("realtime", &settings, &env, &boot, &err));
    assert_non_null(strstr(err.text, "needs agent.data_dir"));
}

/* People remove files and put them back: the agent still knows how much of them it has read. */
static void what_was_read_is_kept_while_no_file_is_there(void **state)
{
    (void)state;
    const struct input_boot_settings settings = {
        .etw_session = "etwship-s", .file = "/no/such/folder/s.etl"};
    const struct input_env env = {.name = "s/boot"};
    struct error err = {0};
    struct buf out;
    void *input = input_boot.create(&settings, &env, &err);
    assert_non_null(input);
    buf_init(&out, 1 << 10);
    assert_true(input_boot.state(input, &out, &err));
    assert_int_equal(out.size, 0);
    input_boot.restore(input, span_text("what was noted"));
    for (int i = 0; i < 2; i++) {
        buf_reset(&out);
        assert_true(input_boot.state(input, &out, &err));
        assert_span(buf_span(&out), "what was noted");
    }
    buf_fini(&out);
    input_boot.destroy(input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_that_is_delivered_writes_a_file_of_its_own),
        cmocka_unit_test(the_timer_counts_whole_seconds),
        cmocka_unit_test(providers_keep_their_ids_and_what_they_add),
        cmocka_unit_test(an_autologger_asks_for_no_side_effect),
        cmocka_unit_test(two_entries_of_one_provider_are_one_key),
        cmocka_unit_test(a_system_session_carries_its_flags),
        cmocka_unit_test(a_session_that_records_has_its_own_file),
        cmocka_unit_test(what_cannot_be_is_told),
        cmocka_unit_test(what_was_read_is_kept_while_no_file_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
