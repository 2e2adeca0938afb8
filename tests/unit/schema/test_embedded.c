#include "support/test.h"

#include <stdlib.h>

#include "schema/source/schema_sources.h"
#include "support/etl_put.h"

/* TRACE_EVENT_INFO and EVENT_MAP_INFO, built field by field from tdh.h. */
static const struct schema_source_ops *const ops = &schema_source_embedded;
static const struct guid provider = {{0x51}};
static const struct guid other_guid = {{0x62}};

enum { HEAD = 0x70, PROPERTY = 24 };

struct property {
    uint32_t flags;
    const char *name; /* NULL: offset 0 */
    uint16_t first;   /* in type, or the first member */
    uint16_t second;
    const char *map;
    uint16_t count;
    uint16_t length;
};

struct info {
    uint32_t source;
    uint32_t flags;
    const char *level;
    const char *task;
    const char *opcode;
    struct event_descriptor descriptor;
    const struct property *properties;
    uint32_t property_count;
    uint32_t top_count;
};

/* Append ${text} and store its offset at ${slot}. */
static void put_text(struct buf *out, size_t slot, const char *text)
{
    if (text) {
        size_t offset = out->size;
        etl_put_utf16z(out, text);
        store_le32(out->data + slot, (uint32_t)offset);
    }
}

static void put_info(struct buf *out, const struct info *info)
{
    etl_put_guid(out, &provider);
    etl_put_guid(out, &other_guid);
    etl_put_u16(out, info->descriptor.id);
    etl_put_u8(out, info->descriptor.version);
    etl_put_u8(out, info->descriptor.channel);
    etl_put_u8(out, info->descriptor.level);
    etl_put_u8(out, info->descriptor.opcode);
    etl_put_u16(out, info->descriptor.task);
    etl_put_u64(out, info->descriptor.keyword);
    etl_put_u32(out, info->source);
    etl_put_zeros(out, 0x64 - 0x34);
    etl_put_u32(out, info->property_count);
    etl_put_u32(out, info->top_count);
    etl_put_u32(out, info->flags);
    assert_int_equal(out->size, HEAD);
    for (uint32_t i = 0; i < info->property_count; i++) {
        const struct property *p = &info->properties[i];
        etl_put_u32(out, p->flags);
        etl_put_u32(out, 0);
        etl_put_u16(out, p->first);
        etl_put_u16(out, p->second);
        etl_put_u32(out, 0);
        etl_put_u16(out, p->count);
        etl_put_u16(out, p->length);
        etl_put_u32(out, 0);
    }
    put_text(out, 0x34, "Test-Provider");
    put_text(out, 0x38, info->level);
    put_text(out, 0x3c, "Test/Operational");
    put_text(out, 0x40, "win:AuditSuccess");
    etl_put_utf16z(out, "Own ");
    etl_put_u16(out, 0);
    put_text(out, 0x44, info->task);
    put_text(out, 0x48, info->opcode);
    put_text(out, 0x4c, "Says %1 ");
    for (uint32_t i = 0; i < info->property_count; i++) {
        size_t at = HEAD + i * PROPERTY;
        put_text(out, at + 4, info->properties[i].name);
        put_text(out, at + 12, info->properties[i].map);
    }
    assert_false(out->failed);
}

static void put_map(struct buf *out, const char *name, uint32_t flags, uint32_t type,
    const uint32_t *values, size_t count)
{
    static const char *const texts[] = {"one ", "two ", "three "};
    etl_put_guid(out, &provider);
    etl_put_u32(out, 0);
    etl_put_u32(out, flags);
    etl_put_u32(out, (uint32_t)count);
    etl_put_u32(out, type);
    for (size_t i = 0; i < count; i++) {
        etl_put_u32(out, 0);
        etl_put_u32(out, values[i]);
    }
    size_t start = 16; /* offsets count from the end of the GUID */
    for (size_t i = 0; i <= count; i++) {
        size_t slot = i ? start + 16 + (i - 1) * 8 : start;
        size_t offset = out->size - start;
        etl_put_utf16z(out, i ? texts[i - 1] : name);
        store_le32(out->data + slot, (uint32_t)offset);
    }
    assert_false(out->failed);
}

static bool learn_bytes(void *source, uint8_t opcode, const void *data, size_t size)
{
    void *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    if (size) {
        memcpy(copy, data, size);
    }
    const struct event_record record = {.kind = RECORD_CLASSIC,
        .provider = record_metadata_class,
        .descriptor = {.opcode = opcode},
        .payload = span_make(copy, size)};
    bool learned = ops->learn(source, &record);
    free(copy);
    return learned;
}

static bool learn_info(void *source, const struct info *info)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    put_info(&out, info);
    bool learned = learn_bytes(source, 32, out.data, out.size);
    buf_fini(&out);
    return learned;
}

static bool learn_map(void *source, const char *name, uint32_t flags, uint32_t type,
    const uint32_t *values, size_t count)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    put_map(&out, name, flags, type, values, count);
    bool learned = learn_bytes(source, 33, out.data, out.size);
    buf_fini(&out);
    return learned;
}

static struct schema_candidates find_all(void *source, enum record_kind kind,
    const struct guid *guid, uint16_t id, uint8_t opcode, uint8_t version)
{
    const struct event_record record = {.kind = kind,
        .provider = *guid,
        .descriptor = {.id = id, .opcode = opcode, .version = version}};
    struct schema_candidates found = {.count = 0};
    ops->find(source, &record, &found);
    return found;
}

static const struct event_schema *find(void *source, uint16_t id)
{
    struct schema_candidates found = find_all(source, RECORD_EVENT, &provider, id, 0, 0);
    return found.count ? found.list[0] : NULL;
}

static void *create(void)
{
    static const struct schema_source_settings settings;
    struct error err = {0};
    void *source = ops->create(&settings, &err);
    assert_non_null(source);
    return source;
}

static void an_info_gives_names_and_layout(void **state)
{
    (void)state;
    static const struct property properties[] = {
        {0, "Size", IN_UINT32, OUT_UNSIGNED_INT, NULL, 1, 4},
        {2, "Data", IN_BINARY, OUT_SOCKET_ADDRESS, NULL, 1, 0},
        {1 | 4, "Items", 5, 2, NULL, 0, 0},
        {0x10, "Empty", IN_UNICODE_STRING, OUT_STRING, NULL, 1, 0},
        {0x20, NULL, IN_GUID, OUT_NULL, NULL, 1, 16},
        {0, "Pointer", IN_POINTER, OUT_HEX_INT64, NULL, 0, 4},
        {0, "Pair", IN_UINT16, OUT_NULL, NULL, 2, 0},
    };
    static const struct info info = {
        .level = "win:Informational",
        .task = "Work ",
        .opcode = "Own",
        .descriptor = {.id = 7, .level = 4, .opcode = 50, .task = 3, .keyword = 9},
        .properties = properties,
        .property_count = 7,
        .top_count = 5,
    };
    void *source = create();
    assert_null(find(source, 7));
    assert_true(learn_info(source, &info));
    assert_false(learn_info(source, &info));
    const struct event_schema *e = find(source, 7);
    assert_non_null(e);
    assert_int_equal(e->kind, SCHEMA_MANIFEST);
    assert_string_equal(e->source, "embedded");
    assert_true(e->has_layout);
    assert_span(e->provider_name, "Test-Provider");
    assert_span(e->level_name, "Information");
    assert_span(e->channel_name, "Test/Operational");
    assert_span(e->task_name, "Work");
    assert_span(e->opcode_name, "Own");
    assert_span(e->message, "Says %1");
    assert_span(e->event_name, "");
    assert_int_equal(e->keyword_count, 2);
    assert_true(e->keywords[0].mask == 0);
    assert_span(e->keywords[0].name, "AuditSuccess");
    assert_span(e->keywords[1].name, "Own");

    assert_int_equal(e->field_count, 7);
    assert_int_equal(e->top_count, 5);
    assert_int_equal(e->fields[0].length, 0);
    assert_int_equal(e->fields[1].flags, FIELD_PARAM_LENGTH);
    assert_int_equal(e->fields[1].length, 0);
    assert_int_equal(e->fields[2].flags, FIELD_STRUCT | FIELD_PARAM_COUNT);
    assert_int_equal(e->fields[2].struct_start, 5);
    assert_int_equal(e->fields[2].struct_members, 2);
    assert_int_equal(e->fields[3].flags, FIELD_FIXED_LENGTH);
    assert_int_equal(e->fields[4].flags, FIELD_FIXED_COUNT);
    assert_int_equal(e->fields[4].count, 1);
    assert_int_equal(e->fields[5].length, 0);
    assert_int_equal(e->fields[5].count, 1);
    assert_int_equal(e->fields[6].count, 2);
    assert_null(find(source, 8));
    ops->destroy(source);
}

static const struct property mapped[] = {{0, "Kind", IN_UINT32, OUT_NULL, "Kinds", 1, 0}};

static void a_map_attaches_whether_it_comes_before_or_after_its_event(void **state)
{
    (void)state;
    static const uint32_t values[] = {30, 10, 20};
    static const struct info info = {.properties = mapped, .property_count = 1, .top_count = 1};
    for (int order = 0; order < 2; order++) {
        void *source = create();
        if (order == 0) {
            assert_true(learn_map(source, "Kinds", 1, 0, values, 3));
        }
        assert_true(learn_info(source, &info));
        if (order == 1) {
            const struct event_schema *before = find(source, 0);
            assert_non_null(before);
            assert_null(before->fields[0].map);
            assert_true(learn_map(source, "Others", 1, 0, values, 3));
            assert_null(find(source, 0)->fields[0].map);
            assert_true(learn_map(source, "Kinds", 1, 0, values, 3));
            assert_null(before->fields[0].map);
        }
        assert_false(learn_map(source, "Kinds", 1, 0, values, 3));
        const struct schema_map *map = find(source, 0)->fields[0].map;
        assert_non_null(map);
        assert_int_equal(map->kind, MAP_VALUE);
        assert_span(schema_map_find(map, 10), "two");
        assert_span(schema_map_find(map, 30), "one");
        assert_ptr_equal(find(source, 0), find(source, 0));
        ops->destroy(source);
    }
}

static void kinds_of_maps_mean_masks_positions_places_or_values(void **state)
{
    (void)state;
    static const struct {
        uint32_t flags;
        uint32_t values[3];
        enum map_kind kind;
        uint64_t expected[3];
        size_t count;
    } rows[] = {
        {0x01, {1, 2, 3}, MAP_VALUE, {1, 2, 3}, 3},
        {0x02, {1, 2, 4}, MAP_BITS, {1, 2, 4}, 3},
        {0x08, {1, 2, 3}, MAP_VALUE, {1, 2, 3}, 3},
        {0x10, {0, 31, 32}, MAP_BITS, {1, 0x80000000, 0}, 2},
        {0x10 | 0x20, {1, 2, 4}, MAP_BITS, {1, 2, 4}, 3},
        {0x08 | 0x40, {9, 9, 9}, MAP_VALUE, {0, 1, 2}, 3},
    };
    static const struct info info = {.properties = mapped, .property_count = 1, .top_count = 1};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        void *source = create();
        learn_info(source, &info);
        assert_true(learn_map(source, "Kinds", rows[i].flags, 0, rows[i].values, 3));
        const struct schema_map *map = find(source, 0)->fields[0].map;
        assert_int_equal(map->kind, rows[i].kind);
        assert_int_equal(map->entry_count, rows[i].count);
        for (size_t k = 0; k < map->entry_count; k++) {
            assert_true(map->entries[k].value == rows[i].expected[k]);
        }
        ops->destroy(source);
    }
    void *source = create();
    assert_false(learn_map(source, "Kinds", 4, 0, rows[0].values, 3));
    assert_false(learn_map(source, "Kinds", 8, 1, rows[0].values, 3));
    ops->destroy(source);
}

static void an_info_of_wbem_is_found_by_class_opcode_and_version(void **state)
{
    (void)state;
    static const struct info info = {.source = 1,
        .task = "Disk",
        .opcode = "Read",
        .descriptor = {.id = 5, .version = 2, .opcode = 1}};
    void *source = create();
    assert_true(learn_info(source, &info));
    assert_null(find(source, 5));
    assert_int_equal(find_all(source, RECORD_CLASSIC, &provider, 5, 1, 2).count, 0);
    assert_int_equal(find_all(source, RECORD_CLASSIC, &other_guid, 5, 1, 3).count, 0);
    assert_int_equal(find_all(source, RECORD_CLASSIC, &other_guid, 5, 2, 2).count, 0);
    assert_int_equal(find_all(source, RECORD_KERNEL, &other_guid, 0, 1, 2).count, 1);
    struct schema_candidates found = find_all(source, RECORD_CLASSIC, &other_guid, 0, 1, 2);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.list[0]->kind, SCHEMA_MOF);
    assert_true(guid_equal(&found.list[0]->class_guid, &other_guid));
    assert_span(found.list[0]->event_name, "Disk/Read");
    assert_span(found.list[0]->opcode_name, "Read");
    ops->destroy(source);
}

static void an_info_with_control_guid_is_found_by_both(void **state)
{
    (void)state;
    static const struct info info = {.flags = 4, .descriptor = {.id = 5}};
    void *source = create();
    assert_true(learn_info(source, &info));
    assert_non_null(find(source, 5));
    assert_int_equal(find_all(source, RECORD_EVENT, &other_guid, 5, 0, 0).count, 1);
    ops->destroy(source);
}

static void infos_of_wpp_and_of_tracelogging_without_id_are_not_kept(void **state)
{
    (void)state;
    static const struct info wpp = {.source = 2, .descriptor = {.id = 5}};
    static const struct info tlg = {.source = 3, .task = "Name"};
    static const struct info tlg_id = {.source = 3, .task = "Name", .descriptor = {.id = 9}};
    static const struct info unknown = {.source = 4, .descriptor = {.id = 5}};
    void *source = create();
    assert_false(learn_info(source, &wpp));
    assert_false(learn_info(source, &tlg));
    assert_false(learn_info(source, &unknown));
    assert_true(learn_info(source, &tlg_id));
    assert_span(find(source, 9)->event_name, "Name");
    assert_span(find(source, 9)->task_name, "");
    ops->destroy(source);
}

static void different_infos_of_one_event_are_all_candidates_up_to_four(void **state)
{
    (void)state;
    static const char *const tasks[] = {"a", "b", "c", "d", "e"};
    void *source = create();
    for (size_t i = 0; i < 5; i++) {
        const struct info info = {.task = tasks[i]};
        assert_true(learn_info(source, &info) == (i < 4));
    }
    struct schema_candidates found = find_all(source, RECORD_EVENT, &provider, 0, 0, 0);
    assert_int_equal(found.count, 4);
    assert_span(found.list[0]->task_name, "a");
    assert_span(found.list[3]->task_name, "d");
    ops->destroy(source);
}

static void infos_that_contradict_themselves_give_no_schema(void **state)
{
    (void)state;
    static const struct {
        struct property properties[3];
        uint32_t count;
        uint32_t top;
    } rows[] = {
        {{{1, "s", 0, 1, NULL, 1, 0}}, 1, 1}, /* holds itself */
        {{{1, "s", 5, 1, NULL, 1, 0}}, 1, 1}, /* out of range */
        {{{1, "s", 2, 1, NULL, 1, 0}, {1, "t", 2, 1, NULL, 1, 0}, {0, "m", 8, 0, NULL, 1, 0}}, 3,
            2},                               /* a member of two structs */
        {{{4, "a", 8, 0, NULL, 9, 0}}, 1, 1}, /* count field that does not exist */
        /* its length is a float */
        {{{2, "a", 14, 0, NULL, 1, 1}, {0, "n", 11, 0, NULL, 1, 0}}, 2, 2},
        {{{0, "a", 999, 0, NULL, 1, 0}}, 1, 1}, /* unknown type */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct info info = {.properties = rows[i].properties,
            .property_count = rows[i].count,
            .top_count = rows[i].top};
        void *source = create();
        learn_info(source, &info);
        assert_null(find(source, 0));
        assert_null(find(source, 0));
        ops->destroy(source);
    }
}

static void offsets_beyond_the_end_are_absent_texts(void **state)
{
    (void)state;
    static const struct info info = {.properties = mapped, .property_count = 1, .top_count = 1};
    struct buf out;
    buf_init(&out, 1 << 20);
    put_info(&out, &info);
    for (size_t at = 0x34; at < 0x60; at += 4) {
        store_le32(out.data + at, 0xfffffffe);
    }
    store_le32(out.data + HEAD + 4, (uint32_t)out.size);
    store_le32(out.data + HEAD + 12, (uint32_t)out.size - 1);
    void *source = create();
    assert_true(learn_bytes(source, 32, out.data, out.size));
    const struct event_schema *e = find(source, 0);
    assert_non_null(e);
    assert_span(e->provider_name, "");
    assert_span(e->fields[0].name, "field_0");
    assert_int_equal(e->keyword_count, 0);
    ops->destroy(source);
    buf_fini(&out);
}

static void counts_beyond_the_end_are_refused(void **state)
{
    (void)state;
    static const uint32_t counts[] = {2000, 4097, 0x10000000, 0xffffffff};
    static const struct info info = {.properties = mapped, .property_count = 1, .top_count = 1};
    static const uint32_t values[] = {1};
    struct buf out;
    struct buf map;
    buf_init(&out, 1 << 20);
    buf_init(&map, 1 << 20);
    put_info(&out, &info);
    put_map(&map, "Kinds", 1, 0, values, 1);
    void *source = create();
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        store_le32(out.data + 0x64, counts[i]);
        assert_false(learn_bytes(source, 32, out.data, out.size));
        store_le32(map.data + 16 + 8, counts[i]);
        assert_false(learn_bytes(source, 33, map.data, map.size));
    }
    store_le32(out.data + 0x64, 1);
    store_le32(out.data + 0x68, 2);
    assert_false(learn_bytes(source, 32, out.data, out.size));
    ops->destroy(source);
    buf_fini(&map);
    buf_fini(&out);
}

static void infos_and_maps_cut_off_anywhere_do_no_harm(void **state)
{
    (void)state;
    static const struct info info = {
        .task = "T", .properties = mapped, .property_count = 1, .top_count = 1};
    static const uint32_t values[] = {1, 2};
    struct buf out;
    struct buf map;
    buf_init(&out, 1 << 20);
    buf_init(&map, 1 << 20);
    put_info(&out, &info);
    put_map(&map, "Kinds", 1, 0, values, 2);
    for (size_t size = 0; size < out.size; size++) {
        void *source = create();
        bool learned = learn_bytes(source, 32, out.data, size);
        assert_true(learned == (size >= HEAD + PROPERTY));
        assert_true((find(source, 0) != NULL) == learned);
        ops->destroy(source);
    }
    void *source = create();
    for (size_t size = 0; size < map.size; size++) {
        bool learned = learn_bytes(source, 33, map.data, size);
        assert_true(!learned || size >= 16 + 16 + 16);
    }
    ops->destroy(source);
    buf_fini(&map);
    buf_fini(&out);
}

static void count_schema(void *self, const struct event_schema *schema)
{
    assert_span(schema->provider_name, "Test-Provider");
    ++*(size_t *)self;
}

static void every_info_is_listed_and_other_records_are_ignored(void **state)
{
    (void)state;
    static const struct info infos[] = {{.descriptor = {.id = 1}}, {.descriptor = {.id = 2}},
        {.task = "T", .descriptor = {.id = 2}}};
    void *source = create();
    for (size_t i = 0; i < 3; i++) {
        assert_true(learn_info(source, &infos[i]));
    }
    size_t count = 0;
    ops->list(source, count_schema, &count);
    assert_int_equal(count, 3);
    assert_false(learn_bytes(source, 34, "x", 1));
    const struct event_record record = {.kind = RECORD_EVENT, .provider = record_metadata_class};
    assert_false(ops->learn(source, &record));
    ops->destroy(source);
    ops->destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_info_gives_names_and_layout),
        cmocka_unit_test(a_map_attaches_whether_it_comes_before_or_after_its_event),
        cmocka_unit_test(kinds_of_maps_mean_masks_positions_places_or_values),
        cmocka_unit_test(an_info_of_wbem_is_found_by_class_opcode_and_version),
        cmocka_unit_test(an_info_with_control_guid_is_found_by_both),
        cmocka_unit_test(infos_of_wpp_and_of_tracelogging_without_id_are_not_kept),
        cmocka_unit_test(different_infos_of_one_event_are_all_candidates_up_to_four),
        cmocka_unit_test(infos_that_contradict_themselves_give_no_schema),
        cmocka_unit_test(offsets_beyond_the_end_are_absent_texts),
        cmocka_unit_test(counts_beyond_the_end_are_refused),
        cmocka_unit_test(infos_and_maps_cut_off_anywhere_do_no_harm),
        cmocka_unit_test(every_info_is_listed_and_other_records_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
