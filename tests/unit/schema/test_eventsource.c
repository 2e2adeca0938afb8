#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "schema/source/schema_sources.h"

/* Manifests as EventSource.cs of dotnet/runtime sends them: an envelope of 8 bytes (format 1,
 * major, minor, 0x5b, u16 total, u16 number), then a piece of the XML. */
#define GUID_TEXT "{d54a2098-821f-5808-4cea-1e24e982ca37}"

static const struct guid provider = {{0x98, 0x20, 0x4a, 0xd5, 0x1f, 0x82, 0x08, 0x58, 0x4c, 0xea,
    0x1e, 0x24, 0xe9, 0x82, 0xca, 0x37}};

static const char manifest_1[] =
    "<instrumentationManifest xmlns=\"http://schemas.microsoft.com/win/2004/08/events\">"
    "<instrumentation><events><provider name=\"My-Source\" guid=\"" GUID_TEXT "\" "
    "resourceFileName=\"My-Source\" messageFileName=\"My-Source\" symbol=\"MySource\"><tasks>"
    "<task name=\"Load\" message=\"$(string.task_Load)\" value=\"65533\"/></tasks>"
    "<maps><valueMap name=\"Kind\"><map value=\"0x1\" message=\"$(string.map_KindA)\"/></valueMap>"
    "</maps><events>"
    "<event value=\"1\" version=\"0\" level=\"win:Informational\" symbol=\"LoadStart\" "
    "task=\"Load\" "
    "opcode=\"win:Start\" template=\"LoadStartArgs\"/>"
    "<event value=\"2\" version=\"0\" level=\"win:Verbose\" task=\"Load\"/></events>"
    "<templates><template tid=\"LoadStartArgs\"><data name=\"ok\" inType=\"win:Boolean\"/>"
    "<data name=\"kind\" inType=\"win:UInt32\" map=\"Kind\"/>"
    "<data name=\"bytesSize\" inType=\"win:UInt32\"/>"
    "<data name=\"bytes\" inType=\"win:Binary\" length=\"bytesSize\"/></template></templates>"
    "</provider></events></instrumentation><localization><resources culture=\"en-US\"><stringTable>"
    "<string id=\"task_Load\" value=\"Load\"/><string id=\"map_KindA\" value=\"A\"/>"
    "</stringTable></resources></localization></instrumentationManifest>";

static const char manifest_2[] = "<i><provider name=\"My-Source\" guid=\"" GUID_TEXT
                                 "\"><event value=\"1\" "
                                 "symbol=\"OtherVersion\"/></provider></i>";

static const struct schema_source_ops *const ops = &schema_source_eventsource;

struct chunk_header {
    uint16_t total;
    uint16_t number;
    uint8_t minor;
};

static bool send(void *source, uint32_t process, uint32_t thread, struct chunk_header header,
    const void *data, size_t size)
{
    uint8_t *payload = malloc(8 + size);
    assert_non_null(payload);
    const uint8_t head[8] = {1, 1, header.minor, 0x5b, (uint8_t)header.total,
        (uint8_t)(header.total >> 8), (uint8_t)header.number, (uint8_t)(header.number >> 8)};
    memcpy(payload, head, 8);
    if (size) {
        memcpy(payload + 8, data, size);
    }
    const struct event_record record = {
        .kind = RECORD_EVENT,
        .present = RECORD_HAS_PROCESS | RECORD_HAS_THREAD,
        .provider = provider,
        .process_id = process,
        .thread_id = thread,
        .descriptor = {.id = 0xfffe, .task = 0xfffe, .opcode = 0xfe},
        .payload = span_make(payload, 8 + size),
    };
    bool learned = ops->learn(source, &record);
    free(payload);
    return learned;
}

static bool send_whole(void *source, uint32_t process, const char *xml)
{
    return send(source, process, 1, (struct chunk_header){.total = 1}, xml, strlen(xml));
}

static struct schema_candidates find(void *source, uint32_t process, uint16_t id)
{
    const struct event_record record = {
        .kind = RECORD_EVENT,
        .present = RECORD_HAS_PROCESS,
        .provider = provider,
        .process_id = process,
        .descriptor = {.id = id},
    };
    struct schema_candidates found = {.count = 0};
    ops->find(source, &record, &found);
    return found;
}

static void *create(void)
{
    static const struct schema_source_settings settings;
    struct error err = {0};
    void *source = ops->create(&settings, &err);
    assert_non_null(source);
    return source;
}

static void a_manifest_in_one_chunk_describes_the_events_of_its_process(void **state)
{
    (void)state;
    void *source = create();
    assert_int_equal(find(source, 10, 1).count, 0);
    assert_true(send_whole(source, 10, manifest_1));
    struct schema_candidates found = find(source, 10, 1);
    assert_int_equal(found.count, 1);
    const struct event_schema *e = found.list[0];
    assert_int_equal(e->kind, SCHEMA_EVENTSOURCE);
    assert_string_equal(e->source, "eventsource");
    assert_span(e->provider_name, "My-Source");
    assert_span(e->event_name, "LoadStart");
    assert_span(e->task_name, "Load");
    assert_span(e->opcode_name, "Start");
    assert_int_equal(e->field_count, 4);
    assert_int_equal(e->fields[0].in_type, IN_BOOLEAN);
    assert_span(e->fields[1].map->entries[0].text, "A");
    assert_int_equal(e->fields[3].flags, FIELD_PARAM_LENGTH);
    assert_int_equal(e->fields[3].length, 2);
    assert_span(find(source, 10, 2).list[0]->event_name, "Load");
    assert_int_equal(find(source, 10, 3).count, 0);
    ops->destroy(source);
}

/* Send chunk ${number} of ${xml} cut into pieces of ${piece} bytes. */
static bool send_piece(
    void *source, uint32_t thread, const char *xml, size_t piece, uint16_t number)
{
    size_t size = strlen(xml);
    struct chunk_header header = {
        .total = (uint16_t)((size + piece - 1) / piece), .number = number};
    size_t start = number * piece;
    return send(
        source, 10, thread, header, xml + start, size - start < piece ? size - start : piece);
}

static void chunks_are_put_together_in_whatever_order_they_come(void **state)
{
    (void)state;
    static const uint16_t orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {0, 2, 1}};
    size_t piece = (sizeof(manifest_1) + 1) / 3;
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        void *source = create();
        assert_false(send_piece(source, 1, manifest_1, piece, orders[i][0]));
        assert_false(send_piece(source, 1, manifest_1, piece, orders[i][1]));
        assert_true(send_piece(source, 1, manifest_1, piece, orders[i][2]));
        assert_int_equal(find(source, 10, 1).count, 1);
        ops->destroy(source);
    }
}

static void chunks_of_two_threads_do_not_mix(void **state)
{
    (void)state;
    void *source = create();
    size_t piece = sizeof(manifest_1) / 2;
    assert_false(send_piece(source, 1, manifest_1, piece, 0));
    assert_false(send_piece(source, 2, manifest_1, piece, 0));
    assert_true(send_piece(source, 2, manifest_1, piece, 1));
    assert_false(send_piece(source, 1, manifest_1, piece, 1));
    ops->destroy(source);
}

static void a_chunk_that_comes_twice_starts_over(void **state)
{
    (void)state;
    void *source = create();
    size_t piece = sizeof(manifest_1) / 2;
    assert_false(send_piece(source, 1, manifest_1, piece, 0));
    assert_false(send_piece(source, 1, manifest_1, piece, 0));
    assert_true(send_piece(source, 1, manifest_1, piece, 1));
    ops->destroy(source);
}

static void a_manifest_of_which_a_chunk_is_missing_gives_way_to_the_next(void **state)
{
    (void)state;
    void *source = create();
    assert_false(send_piece(source, 1, manifest_1, 100, 0));
    assert_false(send_piece(source, 1, manifest_1, 100, 2));
    assert_true(send(source, 10, 1, (struct chunk_header){.total = 1, .minor = 2}, manifest_2,
        sizeof(manifest_2) - 1));
    assert_span(find(source, 10, 1).list[0]->event_name, "OtherVersion");
    ops->destroy(source);
}

static void the_same_manifest_again_is_no_news(void **state)
{
    (void)state;
    void *source = create();
    assert_true(send_whole(source, 10, manifest_1));
    assert_false(send_whole(source, 10, manifest_1));
    /* A definition that is new to another process: earlier events of it may have got another
     * one. */
    assert_true(send_whole(source, 11, manifest_1));
    assert_int_equal(find(source, 11, 1).count, 1);
    ops->destroy(source);
}

static void each_process_has_its_own_version_and_others_the_latest(void **state)
{
    (void)state;
    void *source = create();
    assert_true(send_whole(source, 10, manifest_1));
    assert_true(send_whole(source, 20, manifest_2));
    struct schema_candidates found = find(source, 10, 1);
    assert_int_equal(found.count, 2);
    assert_span(found.list[0]->event_name, "LoadStart");
    assert_span(found.list[1]->event_name, "OtherVersion");
    assert_span(find(source, 20, 1).list[0]->event_name, "OtherVersion");
    assert_span(find(source, 30, 1).list[0]->event_name, "OtherVersion");
    assert_false(send_whole(source, 10, manifest_1));
    assert_span(find(source, 30, 1).list[0]->event_name, "LoadStart");
    /* A process may replace its manifest. */
    assert_true(send_whole(source, 10, manifest_2));
    assert_span(find(source, 10, 1).list[0]->event_name, "OtherVersion");
    ops->destroy(source);
}

static void a_manifest_speaks_for_its_own_provider_only(void **state)
{
    (void)state;
    void *source = create();
    send_whole(source, 10,
        "<i><provider name=\"Other\" guid=\"{00000000-0000-0000-0000-000000000001}\">"
        "<event value=\"1\"/></provider></i>");
    assert_int_equal(find(source, 10, 1).count, 0);
    ops->destroy(source);
}

static void envelopes_that_are_none_are_ignored(void **state)
{
    (void)state;
    static const uint8_t payloads[][9] = {
        {2, 1, 0, 0x5b, 1, 0, 0, 0, 'x'}, /* format */
        {1, 1, 0, 0x5a, 1, 0, 0, 0, 'x'}, /* magic */
        {1, 1, 0, 0x5b, 0, 0, 0, 0, 'x'}, /* no chunks */
        {1, 1, 0, 0x5b, 1, 0, 1, 0, 'x'}, /* number beyond the total */
        {1, 1, 0, 0x5b, 1, 4, 0, 0, 'x'}, /* 1025 chunks */
        {1, 1, 0, 0x5b, 1, 0, 0, 0, '<'}, /* no XML */
    };
    void *source = create();
    struct event_record record = {.kind = RECORD_EVENT,
        .provider = provider,
        .descriptor = {.id = 0xfffe, .task = 0xfffe, .opcode = 0xfe}};
    for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
        for (size_t size = 0; size <= sizeof(payloads[i]); size++) {
            record.payload = span_make(payloads[i], size);
            assert_false(ops->learn(source, &record));
        }
    }
    record.descriptor.id = 1;
    assert_false(ops->learn(source, &record));
    ops->destroy(source);
}

static void many_unfinished_manifests_do_not_grow_without_end(void **state)
{
    (void)state;
    void *source = create();
    uint8_t *block = calloc(1, 60000);
    assert_non_null(block);
    for (uint16_t i = 0; i < 3000; i++) {
        struct chunk_header header = {.total = 1024, .number = i & 1023};
        assert_false(send(source, 10, i / 900, header, block, 60000));
    }
    free(block);
    assert_true(send_whole(source, 10, manifest_1));
    ops->destroy(source);
}

/* A trace can hold thousands of versions of one provider and ask for thousands of event types. */
static void only_the_latest_of_very_many_versions_are_asked(void **state)
{
    (void)state;
    enum { VERSIONS = 3000 };
    void *source = create();
    char xml[200];
    for (unsigned i = 1; i <= VERSIONS; i++) {
        snprintf(xml, sizeof(xml),
            "<i><provider name=\"My-Source\" guid=\"" GUID_TEXT
            "\"><event value=\"%u\"/></provider></i>",
            i);
        assert_true(send_whole(source, i, xml));
    }
    assert_int_equal(find(source, 9999, VERSIONS).count, 1);
    assert_int_equal(find(source, 9999, VERSIONS - 10).count, 1);
    assert_int_equal(find(source, 9999, 1).count, 0);
    assert_int_equal(find(source, 1, 1).count, 1);
    snprintf(xml, sizeof(xml),
        "<i><provider name=\"My-Source\" guid=\"" GUID_TEXT
        "\"><event value=\"%u\"/></provider></i>",
        1u);
    assert_false(send_whole(source, 1, xml));
    assert_int_equal(find(source, 9999, 1).count, 1);
    assert_int_equal(find(source, 9999, VERSIONS).count, 1);
    ops->destroy(source);
}

static void count_schema(void *self, const struct event_schema *schema)
{
    assert_span(schema->provider_name, "My-Source");
    ++*(size_t *)self;
}

static void all_events_of_all_manifests_are_listed(void **state)
{
    (void)state;
    void *source = create();
    size_t count = 0;
    send_whole(source, 10, manifest_1);
    send_whole(source, 20, manifest_2);
    ops->list(source, count_schema, &count);
    assert_int_equal(count, 3);
    ops->destroy(source);
    ops->destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manifest_in_one_chunk_describes_the_events_of_its_process),
        cmocka_unit_test(chunks_are_put_together_in_whatever_order_they_come),
        cmocka_unit_test(chunks_of_two_threads_do_not_mix),
        cmocka_unit_test(a_chunk_that_comes_twice_starts_over),
        cmocka_unit_test(a_manifest_of_which_a_chunk_is_missing_gives_way_to_the_next),
        cmocka_unit_test(the_same_manifest_again_is_no_news),
        cmocka_unit_test(each_process_has_its_own_version_and_others_the_latest),
        cmocka_unit_test(a_manifest_speaks_for_its_own_provider_only),
        cmocka_unit_test(envelopes_that_are_none_are_ignored),
        cmocka_unit_test(many_unfinished_manifests_do_not_grow_without_end),
        cmocka_unit_test(only_the_latest_of_very_many_versions_are_asked),
        cmocka_unit_test(all_events_of_all_manifests_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
