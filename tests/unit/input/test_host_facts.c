#include "input/record/host_facts.h"

#include <stdlib.h>

#include "input/etl/etl_file.h"
#include "support/test.h"
#include "unit/input/trace_bytes.h"

static struct trace t;
static struct error err;

static void make(void)
{
    memset(&t, 0, sizeof(t));
    trace_header(&t, (struct trace_options){0});
    trace_buffer(&t, 0, 1, 2000, 10, 1, 4);
}

/* A record of ${size} bytes after its SYSTEM header. */
static uint8_t *place_config_cpu(uint8_t version, uint16_t size)
{
    enum { HEADER_BYTES = 0x20 };
    trace_begin(&t, 0, 9);
    uint8_t *r = trace_place(&t, HEADER_BYTES + size);
    r[0] = version;
    r[2] = 2; /* of 64 bits */
    r[3] = 0xc0;
    store_le16(r + 4, HEADER_BYTES + size);
    store_le16(r + 6, 0x0b0a);
    return r + HEADER_BYTES;
}

static void put_utf16(uint8_t *p, const char *text)
{
    for (; *text; text++, p += 2) {
        p[0] = (uint8_t)*text;
        p[1] = 0;
    }
}

static struct trace_info learned(struct arena *arena)
{
    struct etl_file *file = etl_file_open_memory(
        span_make(t.bytes, t.size), "mem.etl", arena, &err);
    assert_true(etl_file_index(file, NULL, &err));
    struct trace_info trace = etl_file_info(file)->trace;
    etl_file_destroy(file);
    return trace;
}

static void the_computer_name_comes_from_the_system_configuration(void **state)
{
    (void)state;
    make();
    memcpy(place_config_cpu(2, 20 + 12) + 20, "P\0C\0-\0\x34\0\0\0x", 12);
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct trace_info trace = learned(&arena);
    assert_span(trace.host_name, "PC-4");
    assert_int_equal(trace.host_domain.size, 0);
    assert_int_equal(trace.host_fqdn.size, 0);
    assert_int_equal(trace.host_architecture.size, 0);
    arena_fini(&arena);
}

/* Records of a growing trace are still with other threads when the next ones are read. */
static void a_walk_can_leave_what_is_known(void **state)
{
    (void)state;
    const struct etl_visitor visitor = {.leaves_trace = true};
    make();
    memcpy(place_config_cpu(2, 20 + 12) + 20, "P\0C\0-\0\x34\0\0\0x", 12);
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct etl_file *file = etl_file_open_memory(
        span_make(t.bytes, t.size), "mem.etl", &arena, &err);
    assert_true(etl_file_walk(file, &visitor, &err));
    assert_int_equal(etl_file_info(file)->trace.host_name.size, 0);
    etl_file_destroy(file);
    arena_fini(&arena);
}

/* SystemConfig_V3_CPU: five u32, 256 and 134 units, two pointers, the processor's architecture. */
static void the_domain_and_the_architecture_come_from_there(void **state)
{
    (void)state;
    static const struct {
        uint16_t number;
        const char *name;
    } known[] = {{0, "x86"}, {5, "arm"}, {6, "ia64"}, {9, "x86_64"}, {12, "arm64"}, {99, ""}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        make();
        uint8_t *p = place_config_cpu(3, 20 + 512 + 268 + 16 + 12);
        put_utf16(p + 20, "PC-4");
        put_utf16(p + 20 + 512, "corp.example");
        store_le16(p + 20 + 512 + 268 + 16, known[i].number);
        struct arena arena;
        arena_init(&arena, 1 << 20);
        struct trace_info trace = learned(&arena);
        assert_span(trace.host_name, "PC-4");
        assert_span(trace.host_domain, "corp.example");
        assert_span(trace.host_fqdn, "PC-4.corp.example");
        assert_span(trace.host_architecture, known[i].name);
        arena_fini(&arena);
    }
}

static void the_system_comes_from_what_a_merge_adds(void **state)
{
    (void)state;
    static const struct {
        const char *build;
        const char *product;
        const char *name;
    } known[] = {
        {"22000.613.amd64fre.co_release.210604-1628", "Windows 10 Enterprise",
            "Windows 11 Enterprise"},
        {"19041.1.amd64fre.vb_release.191206-1406", "Windows 10 Pro", "Windows 10 Pro"},
        {"26100.1.amd64fre.x", "Windows Server 2025", "Windows Server 2025"},
        {"99999999999999999999.1", "Windows 7", "Windows 7"},
        {"x", "", ""},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        struct trace_info trace = {.timer_resolution = 0};
        uint8_t payload[512] = {0};
        size_t build_bytes = strlen(known[i].build) * 2 + 2;
        size_t size = 8 + build_bytes + strlen(known[i].product) * 2 + 2;
        put_utf16(payload + 8, known[i].build);
        put_utf16(payload + 8 + build_bytes, known[i].product);
        struct event_record record = {.kind = RECORD_CLASSIC,
            .descriptor = {.opcode = 32},
            .provider = {{0x91, 0xee, 0x79, 0x9b, 0xfd, 0xb5, 0xc0, 0x41, 0xa2, 0x43, 0x42, 0x48,
                0xe2, 0x66, 0xe9, 0xd0}}};
        struct arena arena;
        arena_init(&arena, 1 << 20);
        for (size_t cut = 0; cut < 8 + build_bytes; cut++) {
            record.payload = span_make(payload, cut);
            host_facts_learn(&trace, &record, &arena);
            assert_int_equal(trace.os_name.size, 0);
        }
        record.payload = span_make(payload, size);
        host_facts_learn(&trace, &record, &arena);
        assert_span(trace.os_name, known[i].name);
        arena_fini(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_computer_name_comes_from_the_system_configuration),
        cmocka_unit_test(a_walk_can_leave_what_is_known),
        cmocka_unit_test(the_domain_and_the_architecture_come_from_there),
        cmocka_unit_test(the_system_comes_from_what_a_merge_adds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
