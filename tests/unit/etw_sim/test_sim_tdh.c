#define _GNU_SOURCE
#include "schema/events/event_info.h"
#include "sim_tdh_rig.h"
#include "support/etw_sim/etw_sim_payload.h"
#include "support/etw_sim/sim_tdh.h"

/* TDH's answers about events and providers, and the filters that it makes. */

static const struct schema_map *no_map(void *self, const struct guid *provider, struct span name)
{
    (void)self;
    (void)provider;
    (void)name;
    return NULL;
}

static void an_info_says_what_the_manifest_says(void **state)
{
    (void)state;
    struct etw_event_record record = process_start(span_make(NULL, 0));
    uint32_t size;
    uint8_t *info = info_of(&record, &size);
    struct arena arena;
    arena_init(&arena, 1 << 20);
    bool missing = false;
    const struct event_info_maps maps = {.find = no_map};
    const struct event_schema *read = event_info_schema(
        span_make(info, size), &maps, &arena, &missing, NULL);
    assert_non_null(read);
    assert_true(missing);
    const struct etl_mix_type *type = &etl_mix_schema_process.types[0];
    assert_int_equal(read->kind, SCHEMA_MANIFEST);
    assert_memory_equal(&read->descriptor, &type->descriptor, sizeof(type->descriptor));
    assert_span(read->provider_name, "Etwship-Sample-Process");
    assert_span(read->task_name, "ProcessStart");
    assert_span(read->opcode_name, "Start");
    assert_span(read->level_name, "Information");
    assert_span(read->channel_name, "Etwship-Sample-Process/Analytic");
    assert_span(read->message, type->message);
    assert_int_equal(read->field_count, type->field_count);
    for (size_t i = 0; i < type->field_count; i++) {
        assert_span(read->fields[i].name, type->fields[i].name);
        assert_int_equal(read->fields[i].in_type, type->fields[i].in_type);
    }
    assert_int_equal(load_le32(info + 0x30), 0);
    assert_wide(info + load_le32(info + 0x38), "Information "); /* a message, in tracerpt's form */
    assert_wide(info + load_le32(info + 0x3c), "Etwship-Sample-Process/Analytic");
    assert_wide(info + load_le32(info + 0x44), "ProcessStart");
    assert_wide(info + load_le32(info + 0x48), "Start ");
    assert_wide(info + load_le32(info + 0x70 + 5 * 24 + 12), "ProcessFlags");
    arena_fini(&arena);
    free(info);
}

static void the_same_event_gets_the_same_bytes_and_too_little_room_none(void **state)
{
    (void)state;
    struct etw_event_record record = process_start(span_make(NULL, 0));
    uint32_t size;
    uint8_t *one = info_of(&record, &size);
    for (uint32_t room = 0; room < size; room++) {
        uint8_t *cut = malloc(room + 1);
        uint32_t bytes = room;
        assert_int_equal(
            etw_sim_TdhGetEventInformation(&record, 0, NULL, cut, &bytes), INSUFFICIENT);
        assert_int_equal(bytes, size);
        free(cut);
    }
    uint32_t again_size;
    uint8_t *again = info_of(&record, &again_size);
    assert_int_equal(again_size, size);
    assert_memory_equal(one, again, size);
    free(again);
    free(one);
}

static void every_offset_is_zero_or_inside(void **state)
{
    (void)state;
    struct etw_event_record record = process_start(span_make(NULL, 0));
    uint32_t size;
    uint8_t *info = info_of(&record, &size);
    for (size_t slot = 0x34; slot <= 0x60; slot += 4) {
        assert_true(load_le32(info + slot) < size);
    }
    for (uint32_t i = 0; i < load_le32(info + 0x64); i++) {
        uint32_t name = load_le32(info + 0x70 + i * 24 + 4);
        assert_in_range(name, 0x70, size - 2);
        assert_true(load_le32(info + 0x70 + i * 24 + 12) < size);
    }
    free(info);
}

static void an_unknown_event_is_not_found(void **state)
{
    (void)state;
    static const struct guid unknown = {{9}};
    struct etw_event_record other_id = event_of(
        &etl_mix_schema_process.guid, 77, 0, span_make(NULL, 0));
    struct etw_event_record other = event_of(&unknown, 1, 3, span_make(NULL, 0));
    struct etw_event_record known = process_start(span_make(NULL, 0));
    uint32_t size = 0;
    assert_int_equal(etw_sim_TdhGetEventInformation(&other_id, 0, NULL, NULL, &size), NOT_FOUND);
    assert_int_equal(etw_sim_TdhGetEventInformation(&other, 0, NULL, NULL, &size), NOT_FOUND);
    assert_int_equal(
        etw_sim_TdhGetEventMapInformation(&known, wide("NoSuchMap"), NULL, &size), NOT_FOUND);
    assert_int_equal(etw_sim_TdhEnumerateManifestProviderEvents(&unknown, NULL, &size), NOT_FOUND);
    assert_int_equal(
        etw_sim_TdhEnumerateProviderFieldInformation(&unknown, 0, NULL, &size), NOT_FOUND);
    assert_int_equal(etw_sim_TdhGetEventInformation(NULL, 0, NULL, NULL, &size), 87);
    sim_tdh_use(NULL);
    assert_int_equal(etw_sim_TdhGetEventInformation(&known, 0, NULL, NULL, &size), NOT_FOUND);
    sim_tdh_use(tdh);
}

static void a_map_is_found_by_the_name_in_the_info(void **state)
{
    (void)state;
    struct etw_event_record record = process_start(span_make(NULL, 0));
    uint8_t map[512];
    uint32_t size = 0;
    assert_int_equal(etw_sim_TdhGetEventMapInformation(&record, wide("ProcessFlags"), NULL, &size),
        INSUFFICIENT);
    assert_in_range(size, 16, sizeof(map));
    assert_int_equal(
        etw_sim_TdhGetEventMapInformation(&record, wide("ProcessFlags"), map, &size), 0);
    assert_wide(map + load_le32(map), "ProcessFlags");
    assert_int_equal(load_le32(map + 4), 2); /* MANIFEST_BITMAP */
    assert_int_equal(load_le32(map + 8), 3);
    assert_int_equal(load_le32(map + 16 + 2 * 8 + 4), 4);
    assert_wide(map + load_le32(map + 16 + 2 * 8), "SubsystemProcess ");
    /* A map of another event of the same provider. */
    size = 0;
    assert_int_equal(etw_sim_TdhGetEventMapInformation(&record, wide("TokenElevation"), map, &size),
        INSUFFICIENT);
    size = sizeof(map);
    assert_int_equal(
        etw_sim_TdhGetEventMapInformation(&record, wide("TokenElevation"), map, &size), 0);
    assert_int_equal(load_le32(map + 4), 1); /* MANIFEST_VALUEMAP */
}

/* StackWalk_Event has properties Stack1 to Stack192. An event has as many of them as fit its
 * length. */
static void a_stack_is_not_cut(void **state)
{
    (void)state;
    enum { HEAD = 16, FRAMES = 150 };
    static const struct guid stack_walk = {{0x46, 0xfe, 0xf2, 0xde, 0xd6, 0x7b, 0x80, 0x4b, 0xbd,
        0x94, 0xf5, 0x7f, 0xe2, 0x0d, 0x0c, 0xe3}};
    uint8_t payload[HEAD + FRAMES * 8] = {0};
    for (size_t i = 0; i < FRAMES; i++) {
        store_le64(payload + HEAD + i * 8, 0x7ff800000000 + i + 1);
    }
    struct etw_event_record record = event_of(
        &stack_walk, 0, 2, span_make(payload, sizeof(payload)));
    record.header.flags |= EVENT_FLAG_CLASSIC;
    record.header.descriptor.opcode = 32;
    uint32_t size;
    uint8_t *info = info_of(&record, &size);
    assert_int_equal(load_le32(info + 0x64), 3 + 192);
    free(info);
    uint8_t frame[8];
    struct etw_property_path path = {.name = (uintptr_t)wide("Stack150")};
    assert_int_equal(etw_sim_TdhGetProperty(&record, 0, NULL, 1, &path, sizeof(frame), frame), 0);
    assert_true(load_le64(frame) == 0x7ff800000000 + FRAMES);
}

static void a_kernel_event_is_described_by_its_class(void **state)
{
    (void)state;
    static const struct guid perf_info = {{0xb4, 0xbf, 0x1d, 0xce, 0x7e, 0x13, 0xa6, 0x4d, 0x87,
        0xb0, 0x3f, 0x59, 0xaa, 0x10, 0x2c, 0xbc}};
    uint8_t payload[16] = {0};
    struct etw_event_record record = event_of(&perf_info, 0, 2, span_make(payload, 16));
    record.header.flags |= EVENT_FLAG_CLASSIC;
    record.header.descriptor.opcode = 66; /* threaded DPC: InitialTime, Routine */
    uint32_t size;
    uint8_t *info = info_of(&record, &size);
    assert_memory_equal(info + 16, perf_info.bytes, 16);
    assert_int_equal(info[0x20 + 5], 66);
    assert_int_equal(load_le32(info + 0x30), 1); /* Wbem */
    assert_wide(info + load_le32(info + 0x34), "MSNT_SystemTrace");
    assert_wide(info + load_le32(info + 0x70 + 4), "InitialTime");
    assert_int_equal(load_le32(info + 0x3c), 0);
    free(info);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static bool is_listed(const char *name)
{
    uint32_t size = 0;
    bool found = false;
    assert_int_equal(etw_sim_TdhEnumerateProviders(NULL, &size), INSUFFICIENT);
    uint8_t *list = malloc(size);
    assert_non_null(list);
    uint32_t less = size - 1;
    assert_int_equal(etw_sim_TdhEnumerateProviders((void *)list, &less), INSUFFICIENT);
    assert_int_equal(etw_sim_TdhEnumerateProviders((void *)list, &size), 0);
    for (uint32_t i = 0; i < load_le32(list); i++) {
        uint32_t offset = load_le32(list + 8 + i * 24 + 20);
        assert_true(offset < size);
        uint8_t *text = list + offset;
        size_t at = 0;
        while (name[at] && text[2 * at] == (uint8_t)name[at]) {
            at++;
        }
        found |= !name[at] && text[2 * at] == 0;
    }
    free(list);
    return found;
}

static void the_list_of_providers_grows(void **state)
{
    (void)state;
    static const struct guid more = {{7}};
    assert_true(is_listed("Etwship-Sample-Dns"));
    assert_false(is_listed("Microsoft-Windows-RPC"));
    assert_true(sim_tdh_add_provider(tdh, &more, span_text("Microsoft-Windows-RPC")));
    assert_true(is_listed("Microsoft-Windows-RPC"));
    assert_true(is_listed("Etwship-Sample-Process"));
}

static void a_manifest_can_be_loaded_and_unloaded(void **state)
{
    (void)state;
    sim_tdh_destroy(tdh);
    tdh = sim_tdh_create(NULL, NULL);
    sim_tdh_use(tdh);
    struct etw_event_record record = process_start(span_make(NULL, 0));
    uint32_t size = 0;
    assert_int_equal(etw_sim_TdhGetEventInformation(&record, 0, NULL, NULL, &size), NOT_FOUND);
    assert_int_equal(etw_sim_TdhLoadManifest(wide("/nowhere.man")), 2);
    assert_int_equal(etw_sim_TdhLoadManifest(wide(manifest)), 0);
    assert_true(is_listed("Etwship-Sample-Dns"));
    assert_int_equal(etw_sim_TdhGetEventInformation(&record, 0, NULL, NULL, &size), INSUFFICIENT);
    assert_int_equal(etw_sim_TdhUnloadManifest(wide(manifest)), 0);
    assert_false(is_listed("Etwship-Sample-Dns"));
    assert_int_equal(etw_sim_TdhGetEventInformation(&record, 0, NULL, NULL, &size), NOT_FOUND);
}

static void assert_field(uint32_t type, uint64_t value, const char *name)
{
    uint8_t list[512];
    uint32_t size = sizeof(list);
    assert_int_equal(etw_sim_TdhQueryProviderFieldInformation(
                         &etl_mix_schema_process.guid, value, type, (void *)list, &size),
        0);
    assert_int_equal(load_le32(list), 1);
    assert_int_equal(load_le32(list + 4), type);
    assert_int_equal(load_le64(list + 16), value);
    assert_wide(list + load_le32(list + 8), name);
}

static void the_names_of_a_provider_can_be_asked_for(void **state)
{
    (void)state;
    assert_field(ETW_FIELD_KEYWORD, 0x10, "PROCESS");
    assert_field(ETW_FIELD_LEVEL, 4, "Information");
    assert_field(ETW_FIELD_CHANNEL, 16, "Etwship-Sample-Process/Analytic");
    assert_field(ETW_FIELD_TASK, 2, "ProcessStop");
    assert_field(ETW_FIELD_OPCODE, 1 << 16 | 1, "Start");
    uint8_t list[512];
    uint32_t size = sizeof(list);
    assert_int_equal(etw_sim_TdhEnumerateProviderFieldInformation(
                         &etl_mix_schema_process.guid, ETW_FIELD_TASK, (void *)list, &size),
        0);
    assert_int_equal(load_le32(list), 2);
    assert_int_equal(etw_sim_TdhEnumerateProviderFieldInformation(
                         &etl_mix_schema_process.guid, 5, (void *)list, &size),
        50);
}

static void the_events_of_a_manifest_can_be_exported(void **state)
{
    (void)state;
    uint8_t list[256];
    uint32_t size = 0;
    const struct guid *provider = &etl_mix_schema_process.guid;
    assert_int_equal(
        etw_sim_TdhEnumerateManifestProviderEvents(provider, NULL, &size), INSUFFICIENT);
    assert_int_equal(size, 8 + 2 * 16);
    assert_int_equal(etw_sim_TdhEnumerateManifestProviderEvents(provider, (void *)list, &size), 0);
    assert_int_equal(load_le32(list), 2);
    struct event_descriptor descriptor;
    memcpy(&descriptor, list + 8 + 16, sizeof(descriptor));
    assert_int_equal(descriptor.id, 2);
    size = 0;
    assert_int_equal(
        etw_sim_TdhGetManifestEventInformation(provider, &descriptor, NULL, &size), INSUFFICIENT);
    descriptor.version = 9;
    assert_int_equal(
        etw_sim_TdhGetManifestEventInformation(provider, &descriptor, NULL, &size), NOT_FOUND);
}

/* ---- payload filters ------------------------------------------------------------------------- */

static uint32_t filter_on(
    uint16_t id, const char *field, uint16_t op, const char *value, void **ret_filter)
{
    const struct event_descriptor descriptor = {.id = id};
    struct etw_predicate predicate = {
        .field_name = wide(field), .compare_op = op, .value = wide(value)};
    return etw_sim_TdhCreatePayloadFilter(
        &etl_mix_schema_dns.guid, &descriptor, 0, 1, &predicate, ret_filter);
}

static void a_payload_filter_knows_the_fields_before_its_own(void **state)
{
    (void)state;
    void *filter = NULL;
    assert_int_equal(filter_on(3006, "InterfaceIndex", ETW_PAYLOAD_BETWEEN, "2,0x10", &filter), 0);
    struct etw_filter descriptor;
    uint8_t match_all = 1;
    assert_int_equal(etw_sim_TdhAggregatePayloadFilters(1, &filter, &match_all, &descriptor), 0);
    assert_int_equal(descriptor.type, ETW_FILTER_PAYLOAD);
    const uint8_t *blob = (const uint8_t *)(uintptr_t)descriptor.data;
    struct etw_sim_payload_filter head;
    struct etw_sim_payload_predicate predicate;
    assert_int_equal(load_le32(blob), ETW_SIM_PAYLOAD_MAGIC);
    memcpy(&head, blob + sizeof(struct etw_sim_payload_blob), sizeof(head));
    memcpy(
        &predicate, blob + sizeof(struct etw_sim_payload_blob) + sizeof(head), sizeof(predicate));
    assert_int_equal(head.event_id, 3006);
    assert_int_equal(head.match_all, 1);
    assert_int_equal(predicate.before_count, 3);
    static const uint8_t before[] = {8, ETW_SIM_FIELD_TEXT16, 4};
    assert_memory_equal(predicate.before, before, sizeof(before));
    assert_int_equal(predicate.field, 2);
    assert_int_equal(predicate.value[0], 2);
    assert_int_equal(predicate.value[1], 16);
    assert_int_equal(etw_sim_TdhCleanupPayloadEventFilterDescriptor(&descriptor), 0);
    assert_int_equal(etw_sim_TdhDeletePayloadFilter(&filter), 0);
    assert_null(filter);
}

static void a_payload_filter_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    void *filter = NULL;
    assert_int_equal(filter_on(1, "Sequence", ETW_PAYLOAD_EQ, "1", &filter), NOT_FOUND);
    assert_int_equal(filter_on(3006, "NoSuch", ETW_PAYLOAD_EQ, "1", &filter), NOT_FOUND);
    assert_int_equal(filter_on(3006, "Sequence", ETW_PAYLOAD_EQ, "one", &filter), 87);
    assert_int_equal(filter_on(3006, "Sequence", ETW_PAYLOAD_EQ, "1,2", &filter), 87);
    assert_int_equal(filter_on(3006, "Sequence", ETW_PAYLOAD_BETWEEN, "1", &filter), 87);
    assert_int_equal(filter_on(3006, "Sequence", ETW_PAYLOAD_CONTAINS, "1", &filter), 87);
    assert_int_equal(filter_on(3006, "QueryName", ETW_PAYLOAD_LT, "x", &filter), 87);
    assert_int_equal(filter_on(3006, "Servers", ETW_PAYLOAD_EQ, "1", &filter), 50);
    assert_null(filter);
    assert_int_equal(filter_on(3006, "QueryName", ETW_PAYLOAD_CONTAINS, "x", &filter), 0);
    assert_int_equal(etw_sim_TdhDeletePayloadFilter(&filter), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_MANIFEST(an_info_says_what_the_manifest_says),
        WITH_MANIFEST(the_same_event_gets_the_same_bytes_and_too_little_room_none),
        WITH_MANIFEST(every_offset_is_zero_or_inside),
        WITH_MANIFEST(an_unknown_event_is_not_found),
        WITH_MANIFEST(a_map_is_found_by_the_name_in_the_info),
        WITH_MANIFEST(a_stack_is_not_cut),
        WITH_MANIFEST(a_kernel_event_is_described_by_its_class),
        WITH_MANIFEST(the_list_of_providers_grows),
        WITH_MANIFEST(a_manifest_can_be_loaded_and_unloaded),
        WITH_MANIFEST(the_names_of_a_provider_can_be_asked_for),
        WITH_MANIFEST(the_events_of_a_manifest_can_be_exported),
        WITH_MANIFEST(a_payload_filter_knows_the_fields_before_its_own),
        WITH_MANIFEST(a_payload_filter_that_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, make_world, drop_world);
}
