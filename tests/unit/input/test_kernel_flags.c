#include "input/live/kernel_flags.h"

#include "support/test.h"

/* Values: EVENT_TRACE_FLAG_* of evntrace.h, PERF_* of ntwmi.h (System Informer). */

static void a_group_has_several_names(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t mask;
    } cases[] = {
        {"process", 0x1},
        {"EVENT_TRACE_FLAG_PROCESS", 0x1},
        {"event_trace_flag_network_tcpip", 0x10000},
        {"Image_Load", 0x4},
        {"NO_SYSCONFIG", 0x10000000},
        {"registry_hive", 0x41000000},
        {"PERF_REG_HIVE", 0x41000000},
        {"PERF_PROFILE", 0x20000002},
        {"profile", 0x1000000},
        {"perf_syscfg_all", 0xdfffffff},
        {"FileIo", 0x6000200},
        {"Image", 0x4},
        {"TcpIp", 0x10000},
        {"0x20000002", 0x20000002},
        {"16", 0x10},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t mask = 0;
        if (!kernel_flags_find(span_text(cases[i].text), &mask) || mask != cases[i].mask) {
            print_error("%s: 0x%x\n", cases[i].text, mask);
            fail();
        }
    }
}

static void what_is_no_group_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "proces", "EVENT_TRACE_FLAG_", "PERF_", "PERF_PROCESS",
        "EVENT_TRACE_FLAG_REGISTRY_HIVE" /* no EnableFlags */, "EVENT_TRACE_FLAG_FileIo", "0", "0x",
        "0x20000000" /* a word without bits */, "0xe0000001" /* changes the system */, "1x",
        "0x100000000", "-1", "process "};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        uint32_t mask = 77;
        if (kernel_flags_find(span_text(texts[i]), &mask) || mask != 77) {
            print_error("'%s': 0x%x\n", texts[i], mask);
            fail();
        }
    }
}

static void every_listed_name_is_found(void **state)
{
    (void)state;
    size_t count = 0;
    for (; kernel_flags_name(count); count++) {
        uint32_t mask;
        assert_true(kernel_flags_find(span_text(kernel_flags_name(count)), &mask));
    }
    assert_true(count > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_has_several_names),
        cmocka_unit_test(what_is_no_group_is_refused),
        cmocka_unit_test(every_listed_name_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
