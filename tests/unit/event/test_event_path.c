#include "event/write/event_path.h"

#include "support/path_oracle.h"
#include "unit/event/writer_fixture.h"

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

/* Expected values come from the native line of the same event, see path_oracle.h. */
static void assert_agrees_at(struct writer_fixture *f, const struct event_agent *agent,
    struct span session, const char *file, int line)
{
    struct event_path_context context;
    struct buf what;
    buf_init(&what, 1 << 20);
    assert_true(event_path_context_init(&context, NULL, NULL));
    context.agent = agent;
    context.session = session;
    buf_reset(&f->out);
    event_format_native.event(f->writer, &f->event, &f->out);
    if (!path_oracle_check(&f->event, &context, buf_span(&f->out), &what)) {
        print_error("%.*s in\n%.*s", SPAN_ARG(buf_span(&what)), SPAN_ARG(buf_span(&f->out)));
        _fail(file, line);
    }
    event_path_context_fini(&context);
    buf_fini(&what);
}

#define assert_agrees(f) assert_agrees_at((f), NULL, span_make(NULL, 0), __FILE__, __LINE__)

static const struct schema_map_entry value_entries[] = {
    {1, {(const uint8_t *)"one", 3}}, {2, {(const uint8_t *)"", 0}}};
static const struct schema_map value_map = {
    .kind = MAP_VALUE, .entries = value_entries, .entry_count = 2};
static const struct schema_map_entry bit_entries[] = {{0, {(const uint8_t *)"none", 4}},
    {1, {(const uint8_t *)"READ", 4}}, {6, {(const uint8_t *)"WRITE", 5}}};
static const struct schema_map bit_map = {
    .kind = MAP_BITS, .entries = bit_entries, .entry_count = 3};

static const struct piece pieces[] = {
    {"i8", IN_INT8, 0, "ff", NULL},
    {"u8", IN_UINT8, 0, "ff", NULL},
    {"i16", IN_INT16, 0, "feff", NULL},
    {"u16", IN_UINT16, 0, "feff", NULL},
    {"i32", IN_INT32, 0, "fdffffff", NULL},
    {"u32", IN_UINT32, 0, "fdffffff", NULL},
    {"i64", IN_INT64, 0, "ffffffffffffffff", NULL},
    {"u64", IN_UINT64, 0, "ffffffffffffffff", NULL},
    {"hex8", IN_UINT8, OUT_HEX_INT8, "0f", NULL},
    {"hex", IN_HEX_INT64, 0, "0000000000000080", NULL},
    {"pointer", IN_POINTER, 0, "0010000000f8ffff", NULL},
    {"size", IN_POINTER, OUT_UNSIGNED_LONG, "0010000000f8ffff", NULL},
    {"ssize", IN_POINTER, OUT_LONG, "feffffffffffffff", NULL},
    {"float", IN_FLOAT, 0, "cdcccc3d", NULL},
    {"nan", IN_FLOAT, 0, "0000c07f", NULL},
    {"double", IN_DOUBLE, 0, "9a9999999999b93f", NULL},
    {"infinity", IN_DOUBLE, 0, "000000000000f0ff", NULL},
    {"yes", IN_BOOLEAN, 0, "01000000", NULL},
    {"no", IN_UINT8, OUT_BOOLEAN, "00", NULL},
    {"port", IN_UINT16, OUT_PORT, "01bb", NULL},
    {"text", IN_UNICODE_STRING, 0, "4100 0a00 2200 5c00 e900 00d8", NULL},
    {"empty", IN_UNICODE_STRING, 0, "", NULL},
    {"ansi", IN_ANSI_STRING, 0, "41 80 e9 01", NULL},
    {"utf8", IN_ANSI_STRING, OUT_UTF8, "41 c3a9 ff", NULL},
    {"counted", IN_COUNTED_STRING, 0, "4100 0000 4200", NULL},
    {"char8", IN_UINT8, OUT_STRING, "41", NULL},
    {"char16", IN_UINT16, OUT_STRING, "e900", NULL},
    {"bytes", IN_BINARY, 0, "00ff10", NULL},
    {"guid", IN_GUID, 0, "6e12951c ea7e a949 a3fea378b03ddb4d", NULL},
    {"time", IN_FILETIME, 0, "803e d5de b19d 01 00", NULL},
    {"first", IN_FILETIME, 0, "0000000000000000", NULL},
    {"far", IN_FILETIME, 0, "ffffffffffffffff", NULL},
    {"raw", IN_WMI_TIME, 0, "803e d5de b19d 01 00", NULL},
    {"system", IN_SYSTEMTIME, 0, "ea07 0b00 0600 1500 0900 1e00 0000 7b00", NULL},
    {"utc", IN_SYSTEMTIME, OUT_DATETIME_UTC, "ea07 0b00 0600 1500 0900 1e00 0000 7b00", NULL},
    {"odd", IN_SYSTEMTIME, 0, "ea07 0d00 0600 1500 0900 1e00 0000 7b00", NULL},
    {"sid", IN_SID, 0, "0101000000000005 12000000", NULL},
    {"nosid", IN_SID, 0, "", NULL},
    {"badsid", IN_SID, 0, "01ff", NULL},
    {"v4", IN_UINT32, OUT_IPV4, "c0000207", NULL},
    {"v6", IN_BINARY, OUT_IPV6, "20010db8000000000000000000000001", NULL},
    {"badv6", IN_BINARY, OUT_IPV6, "2001", NULL},
    {"sock4", IN_BINARY, OUT_SOCKET_ADDRESS, "0200 01bb c0000207 0000000000000000", NULL},
    {"sock6", IN_BINARY, OUT_SOCKET_ADDRESS,
        "1700 01bb 00000000 20010db8000000000000000000000001 05000000", NULL},
    {"sockx", IN_BINARY, OUT_SOCKET_ADDRESS, "0100 2f00", NULL},
    {"sock0", IN_BINARY, OUT_SOCKET_ADDRESS, "", NULL},
    {"status", IN_UINT32, OUT_NTSTATUS, "220000c0", NULL},
    {"result", IN_INT32, OUT_HRESULT, "05000780", NULL},
    {"error", IN_UINT32, OUT_WIN32_ERROR, "05000000", NULL},
    {"mapped", IN_UINT32, 0, "01000000", &value_map},
    {"empty name", IN_UINT32, 0, "02000000", &value_map},
    {"unmapped", IN_UINT32, 0, "03000000", &value_map},
    {"bits", IN_UINT32, 0, "0f000000", &bit_map},
    {"nobits", IN_UINT16, 0, "0000", &bit_map},
    {"clash", IN_UINT32, 0, "01000000", &value_map},
    {"clash_name", IN_UINT32, 0, "07000000", NULL},
    {"a.b", IN_UINT32, 0, "07000000", NULL},
    {"a.b", IN_UINT32, 0, "08000000", NULL},
    {"", IN_UINT32, 0, "09000000", NULL},
    {"it's", IN_UINT32, 0, "0a000000", NULL},
    {"\xc3\xa9t\xc3\xa9", IN_UINT32, 0, "0b000000", NULL},
};

static void every_form_of_value_is_found_as_it_is_written(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&f, pieces, COUNT_OF(pieces));
    assert_agrees(&f);
    f.schema.serial = 2;
    f.schema.message = span_text("a %1 \"%21\" %%x %99 %n%t\\ %40 %44 %53 %50");
    assert_agrees(&f);
    fixture_fini(&f);
}

static void arrays_of_numbers_are_lists_with_a_list_of_names(void **state)
{
    (void)state;
    static const struct piece list[] = {
        {"A", IN_UINT32, 0, "01000000 02000000 03000000", &value_map},
        {"B", IN_UINT32, 0, "01000000 02000000 03000000", &bit_map},
        {"C", IN_UINT16, OUT_STRING, "4100 4200 0000", NULL},
        {"D", IN_FLOAT, 0, "0000c07f cdcccc3d", NULL},
        {"E", IN_UINT32, 0, "", &value_map},
        {"F", IN_UINT32, OUT_NTSTATUS, "ffffff00", NULL},
    };
    static const uint8_t width[] = {4, 4, 2, 4, 4, 4};
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&f, list, COUNT_OF(list));
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        f.fields[i].shape = FIELD_PACKED;
        f.fields[i].value_bytes = width[i];
        f.fields[i].count = f.fields[i].size / width[i];
    }
    assert_agrees(&f);
    fixture_fini(&f);
}

/* Struct S {A, T}, array of structs L {A, T} of two, array of strings M: made by hand. */
static void structs_and_arrays_are_walked(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    static const struct piece list[] = {{"S", IN_UINT32, 0, "", NULL},
        {"A", IN_UINT32, 0, "01000000", &value_map}, {"T", IN_UNICODE_STRING, 0, "4100", NULL},
        {"L", IN_UINT32, 0, "", NULL}, {"U", IN_BINARY, OUT_SOCKET_ADDRESS, "", NULL},
        {"M", IN_UNICODE_STRING, 0, "4200", NULL},
        {"N", IN_BINARY, OUT_SOCKET_ADDRESS, "0200 01bb c0000207 0000000000000000", NULL}};
    fixture_set_fields(&f, list, COUNT_OF(list));
    const struct schema_field *s = f.schema_fields;
    const struct field a = f.fields[1];
    const struct field t = f.fields[2];
    const struct field m = f.fields[5];
    const struct field n = f.fields[6];
    struct field tree[] = {{.schema = &s[0], .count = 2, .shape = FIELD_GROUP, .end = 3}, a, t,
        {.schema = &s[3], .count = 2, .shape = FIELD_ARRAY, .end = 10},
        {.schema = &s[3], .count = 2, .shape = FIELD_GROUP, .end = 7}, a, t,
        {.schema = &s[3], .count = 2, .shape = FIELD_GROUP, .end = 10}, t, a,
        {.schema = &s[5], .count = 2, .shape = FIELD_ARRAY, .end = 13}, m, m,
        {.schema = &s[6], .count = 2, .shape = FIELD_ARRAY, .end = 16}, n, n,
        {.schema = &s[4], .count = 0, .shape = FIELD_ARRAY, .end = 17}};
    for (size_t i = 0; i < COUNT_OF(tree); i++) {
        if (tree[i].shape == FIELD_VALUE) {
            tree[i].end = (uint32_t)i + 1;
        }
    }
    f.event.fields = tree;
    f.event.field_count = COUNT_OF(tree);
    assert_agrees(&f);
    fixture_fini(&f);
}

static void headers_of_all_kinds_are_found_as_they_are_written(void **state)
{
    (void)state;
    static const enum record_kind kinds[] = {
        RECORD_EVENT, RECORD_CLASSIC, RECORD_KERNEL, RECORD_MESSAGE, RECORD_OPAQUE};
    static const enum schema_kind schema_kinds[] = {
        SCHEMA_MANIFEST, SCHEMA_TRACELOGGING, SCHEMA_MOF, SCHEMA_WPP, SCHEMA_STRING};
    static const struct schema_keyword keywords[] = {{1, {(const uint8_t *)"first", 5}},
        {0, {(const uint8_t *)"exact", 5}}, {8, {(const uint8_t *)"not", 3}}};
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    struct trace_info other = f.trace;
    const struct span ips[] = {span_text("192.0.2.7"), span_text("2001:db8::1")};
    other.host_name = span_text("PC");
    other.host_fqdn = span_text("pc.example");
    other.host_domain = span_text("example");
    other.host_id = span_text("6f1c");
    other.host_ips = ips;
    other.host_ip_count = 2;
    other.host_architecture = span_text("arm64");
    other.os_name = span_text("Windows 11 Pro");
    other.os_version = span_text("10.0.22631");
    other.os_kernel = span_text("10.0.22631.4317");
    for (unsigned i = 0; i < 2000; i++) {
        f.record.kind = kinds[i % 5];
        f.schema.kind = schema_kinds[i / 5 % 5];
        f.schema.provider = i / 7 % 2 ? fixture_guid : (struct guid){{0}};
        f.record.provider = i / 11 % 3 ? fixture_guid : (struct guid){{0}};
        f.record.present = (uint16_t)((i * 37) % 256);
        f.record.descriptor = (struct event_descriptor){.id = (uint16_t)i,
            .level = (uint8_t)(i % 7),
            .opcode = (uint8_t)(i % 12),
            .task = (uint16_t)(i % 3),
            .channel = (uint8_t)(i % 2),
            .keyword = i % 4};
        f.schema.descriptor = f.record.descriptor;
        f.schema.descriptor.level = (uint8_t)(i / 3 % 7);
        f.schema.descriptor.task = (uint16_t)(i / 2 % 3);
        f.schema.descriptor.keyword = i / 2 % 4;
        struct span name = span_text(i / 13 % 2 ? "name" : "");
        f.schema.provider_name = f.schema.event_name = f.schema.task_name = name;
        f.schema.level_name = f.schema.opcode_name = f.schema.channel_name = name;
        f.schema.keywords = keywords;
        f.schema.keyword_count = i % 4;
        f.schema.serial = i;
        f.event.schema = i % 17 ? &f.schema : NULL;
        f.event.status = f.event.schema ? (enum decode_status)(i / 2 % 4) : DECODE_RAW;
        f.event.error = "it broke";
        f.event.rest = span_make("\1\2", f.event.status > DECODE_COMPLETE ? 2 : 0);
        f.event.pointer_size = i % 5 ? 8 : 4;
        f.record.payload = span_make("\1\2\3", i % 3);
        f.record.trace = i % 19 == 0 ? NULL : i % 23 ? &f.trace : &other;
        assert_agrees(&f);
    }
    fixture_fini(&f);
}

static void extended_items_are_found_as_they_are_written(void **state)
{
    (void)state;
    static const uint64_t frames[] = {1, 0xfffff80000001234};
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    f.record.instance_id = 3;
    f.record.parent_instance_id = 4;
    for (uint16_t type = 0; type < 0x16; type++) {
        for (uint16_t second = 0; second < 0x16; second++) {
            for (size_t size = 0; size < 34; size += 1 + size / 9) {
                uint8_t bytes[64] = {1, 1, 0, 0, 0, 0, 0, 5, 18};
                struct extended_item items[] = {
                    {type, span_make(bytes, size)}, {second, span_make(bytes + 1, 33 - size)}};
                f.record.extended = items;
                f.record.extended_count = 2;
                f.event.stack = frames;
                f.event.stack_count = (uint32_t)size % 3;
                f.record.present = size % 2 ? RECORD_HAS_INSTANCE : 0;
                f.record.parent_guid = size % 4 ? fixture_guid : (struct guid){{0}};
                assert_agrees(&f);
            }
        }
    }
    fixture_fini(&f);
}

static void the_agent_and_the_session_come_from_the_context(void **state)
{
    (void)state;
    const struct span labels[] = {span_text("site"), span_text("berlin"), span_text("a.b"),
        span_text(""), span_text("odd key"), span_text("x")};
    const struct span tags[] = {span_text("one"), span_text("")};
    struct event_agent agent = {.name = span_text("PC"),
        .version = span_text("1"),
        .labels = labels,
        .label_count = 3,
        .tags = tags,
        .tag_count = 2};
    struct buf tail;
    buf_init(&tail, 1 << 16);
    event_tail_render(&agent, &tail);
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    f.trace.session_name = span_text("inner");
    f.trace.file = span_text("a/b.etl");
    struct event_writer_settings settings = {
        .tail = buf_span(&tail), .session = span_text("outer")};
    fixture_use_writer(&f, &settings);
    assert_agrees_at(&f, &agent, settings.session, __FILE__, __LINE__);
    fixture_fini(&f);
    buf_fini(&tail);
}

static const struct {
    const char *text;
    const char *error; /* NULL: compiles */
} compile_cases[] = {
    {"provider.name", NULL},
    {"event.id", NULL},
    {"data", NULL},
    {"data.A.B[*].C", NULL},
    {"data['odd name'][*]['x\"y']", NULL},
    {"labels.a.b-c", NULL},
    {"tags[*]", NULL},
    {"extended.type_0x7f", NULL},
    {"event.keywords_name[*]", NULL},
    {"provder.name", "events have no field provder.name. did you mean provider.name?"},
    {"Provider.Name", "events have no field Provider.Name. did you mean provider.name?"},
    {"foo", "events have no field foo. values of the payload are data.NAME"},
    {"process.pid[*]", "events have no field process.pid[*]. did you mean process.pid?"},
    {"extended.type_0x07f",
        "events have no field extended.type_0x07f. values of the payload are data.NAME"},
    {"extended.type_0x2",
        "events have no field extended.type_0x2. values of the payload are data.NAME"},
    {"", "the name of a field is missing"},
    {"data.", "data. is no name of a field"},
    {"data..A", "data..A is no name of a field"},
    {"data.A B", "data.A B is no name of a field"},
    {"data['']", "data[''] is no name of a field"},
    {"data[''].a", "data[''].a is no name of a field"},
    {"data['a", "data['a is no name of a field"},
    {"data[*]", "data[*]: names are separated by dots, and odd ones written as data['NAME']"},
    {"data.a.b.c.d.e.f.g.h.i.j.k", "data.a.b.c.d.e.f.g.h.i.j.k: more than 10 names in a row"},
};

static void names_that_no_event_has_are_refused_with_the_nearest(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(compile_cases); i++) {
        struct error err = {0};
        struct event_path path;
        bool ok = event_path_compile(span_text(compile_cases[i].text), &path, &err);
        if (ok != !compile_cases[i].error) {
            fail_msg("%s: %s", compile_cases[i].text, err.text);
        }
        if (!ok) {
            assert_string_equal(err.text, compile_cases[i].error);
        }
    }
}

static void a_scan_ends_where_no_path_goes_on(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
    } cases[] = {{"a.b == 1", 3}, {"a.b==1", 3}, {"a[*].b)", 6}, {"a['x y'].b in", 10}, {"a. b", 1},
        {".a", 0}, {"'a'", 0}, {"a[0]", 1}, {"a['x", 1}, {"", 0}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(event_path_scan(span_text(cases[i].text)), cases[i].size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_value_is_found_as_it_is_written),
        cmocka_unit_test(arrays_of_numbers_are_lists_with_a_list_of_names),
        cmocka_unit_test(structs_and_arrays_are_walked),
        cmocka_unit_test(headers_of_all_kinds_are_found_as_they_are_written),
        cmocka_unit_test(extended_items_are_found_as_they_are_written),
        cmocka_unit_test(the_agent_and_the_session_come_from_the_context),
        cmocka_unit_test(names_that_no_event_has_are_refused_with_the_nearest),
        cmocka_unit_test(a_scan_ends_where_no_path_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
