#include "support/test.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "schema/events/event_info.h"
#include "schema/source/schema_sources.h"
#include "support/tei.h"

/* tests/support/tei.c writes, the product reads: two implementations of tdh.h. */
static struct arena arena;

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#define NAME(text) .name = {(const uint8_t *)(text), sizeof(text) - 1}

static const struct schema_map_entry colours[] = {
    {1, {(const uint8_t *)"Red", 3}}, {4, {(const uint8_t *)"Blue", 4}}};
static const struct schema_map colour_map = {
    .kind = MAP_VALUE, .entries = colours, .entry_count = COUNT_OF(colours), NAME("ColourMap")};
static const struct schema_map bit_map = {
    .kind = MAP_BITS, .entries = colours, .entry_count = COUNT_OF(colours)};

static const struct schema_field every_field[] = {
    {NAME("Count"), .in_type = IN_UINT16},
    {NAME("Size"), .in_type = IN_UINT32, .out_type = OUT_HEX_INT32, .map = &bit_map},
    {NAME("Items"), .flags = FIELD_STRUCT | FIELD_PARAM_COUNT, .struct_start = 9,
        .struct_members = 2},
    {NAME("Blob"), .in_type = IN_BINARY, .flags = FIELD_PARAM_LENGTH, .length = 1},
    {NAME("Fixed"), .in_type = IN_UNICODE_STRING, .flags = FIELD_FIXED_LENGTH, .length = 8},
    {NAME("Five"), .in_type = IN_UINT8, .count = 5, .map = &colour_map},
    {NAME("One"), .in_type = IN_INT64, .flags = FIELD_FIXED_COUNT, .count = 1},
    {NAME("Pointer"), .in_type = IN_POINTER},
    {NAME("Ünïcode 🙂"), .in_type = IN_SID},
    {NAME("Key"), .in_type = IN_HEX_INT32},
    {NAME("Inner"), .flags = FIELD_STRUCT, .struct_start = 11, .struct_members = 1},
    {NAME("Text"), .in_type = IN_ANSI_STRING, .out_type = OUT_UTF8},
};

static const struct schema_keyword keywords[] = {
    {0x1, {(const uint8_t *)"One", 3}}, {0x2, {(const uint8_t *)"Two", 3}}};

static struct event_schema sample(
    enum schema_kind kind, const struct schema_field *fields, size_t field_count, size_t top_count)
{
    struct event_schema schema = {.kind = kind,
        .provider = {{1, 2, 3}},
        .class_guid = {{(uint8_t)(kind == SCHEMA_MOF ? 9 : 0)}},
        .descriptor = {.id = 7,
            .version = 2,
            .channel = 16,
            .level = 17,
            .opcode = 33,
            .task = 5,
            .keyword = 0x8000000000000002},
        .provider_name = span_text("Test-Provider"),
        .event_name = span_text("Event"),
        .task_name = span_text("Task"),
        .opcode_name = span_text("Opcode"),
        .level_name = span_text("Level"),
        .channel_name = span_text("Test-Provider/Operational"),
        .keywords = keywords,
        .keyword_count = COUNT_OF(keywords),
        .message = span_text("Message %1")};
    schema.fields = arena_alloc_array(&arena, field_count, sizeof(*fields));
    assert_non_null(schema.fields);
    memcpy(schema.fields, fields, field_count * sizeof(*fields));
    schema.field_count = (uint16_t)field_count;
    schema.top_count = (uint16_t)top_count;
    struct error err = {0};
    assert_true(schema_finish(&schema, &arena, &err));
    return schema;
}

static void encode(struct buf *out, const struct event_schema *schema)
{
    buf_init(out, 1 << 20);
    bool is_manifest = schema->kind == SCHEMA_MANIFEST;
    tei_put_event(out, schema,
        &(struct tei_options){.spaces = is_manifest ? TEI_SPACES_ALL : TEI_SPACES_NONE});
    assert_false(out->failed);
}

/* The maps of a schema, written and read back; their names find them. */
static const struct schema_map *find_map(void *self, const struct guid *provider, struct span name)
{
    const struct event_schema *schema = self;
    assert_true(guid_equal(provider, &schema->provider));
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct schema_field *field = &schema->fields[i];
        if (!field->map || !span_equal(tei_map_name(field), name)) {
            continue;
        }
        struct buf out;
        buf_init(&out, 1 << 20);
        tei_put_map(&out, field->map, name);
        struct span read_name;
        const struct schema_map *map;
        assert_true(event_info_map(buf_span(&out), &arena, &read_name, &map, NULL));
        assert_true(span_equal(read_name, name));
        buf_fini(&out);
        return map;
    }
    return NULL;
}

static const struct event_schema *decode(const struct event_schema *of, struct span info)
{
    const struct event_info_maps maps = {.find = find_map, .self = (void *)(uintptr_t)of};
    bool missing = true;
    struct error err = {0};
    const struct event_schema *read = event_info_schema(info, &maps, &arena, &missing, &err);
    if (!read) {
        fail_msg("%s", err.text);
    }
    assert_false(missing);
    return read;
}

static void assert_same_text(struct span found, struct span expected)
{
    if (!span_equal(found, expected)) {
        fail_msg("\"%.*s\", not \"%.*s\"", SPAN_ARG(found), SPAN_ARG(expected));
    }
}

static void assert_same_map(const struct schema_map *a, const struct schema_map *b)
{
    assert_int_equal(a != NULL, b != NULL);
    if (!a || !b) {
        return;
    }
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->entry_count, b->entry_count);
    for (size_t i = 0; i < a->entry_count; i++) {
        assert_int_equal(a->entries[i].value, b->entries[i].value);
        assert_same_text(a->entries[i].text, b->entries[i].text);
    }
}

/* Types may have other names. The bytes that they take and the way they are shown are equal. */
static void assert_same_field(const struct schema_field *a, const struct schema_field *b)
{
    assert_same_text(a->name, b->name);
    assert_int_equal(a->flags & FIELD_STRUCT, b->flags & FIELD_STRUCT);
    assert_int_equal(a->flags & FIELD_PARAM_LENGTH, b->flags & FIELD_PARAM_LENGTH);
    assert_int_equal(a->flags & FIELD_PARAM_COUNT, b->flags & FIELD_PARAM_COUNT);
    assert_int_equal(a->struct_start, b->struct_start);
    assert_int_equal(a->struct_members, b->struct_members);
    assert_int_equal(a->form, b->form);
    assert_int_equal(a->fixed_size, b->fixed_size);
    assert_int_equal(a->pointer_sized, b->pointer_sized);
    assert_int_equal(a->is_array, b->is_array);
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->length, b->length);
    assert_same_map(a->map, b->map);
}

static void assert_same_fields(const struct event_schema *a, const struct event_schema *b)
{
    assert_int_equal(a->field_count, b->field_count);
    assert_int_equal(a->top_count, b->top_count);
    for (size_t i = 0; i < a->field_count; i++) {
        assert_same_field(&a->fields[i], &b->fields[i]);
    }
}

/* Texts come back without the space that TDH appends to all of them. */
static void a_manifest_event_survives_the_way_through_tdh(void **state)
{
    (void)state;
    struct event_schema schema = sample(SCHEMA_MANIFEST, every_field, COUNT_OF(every_field), 9);
    struct buf out;
    encode(&out, &schema);
    const struct event_schema *read = decode(&schema, buf_span(&out));
    assert_int_equal(read->kind, SCHEMA_MANIFEST);
    assert_true(guid_equal(&read->provider, &schema.provider));
    assert_memory_equal(&read->descriptor, &schema.descriptor, sizeof(schema.descriptor));
    assert_same_text(read->provider_name, schema.provider_name);
    assert_same_text(read->task_name, schema.task_name);
    assert_same_text(read->opcode_name, schema.opcode_name);
    assert_same_text(read->level_name, schema.level_name);
    assert_same_text(read->channel_name, schema.channel_name);
    assert_same_text(read->message, schema.message);
    assert_int_equal(read->keyword_count, 1);
    assert_span(read->keywords[0].name, "Two");
    assert_same_fields(read, &schema);
    buf_fini(&out);
}

/* `win:` and one trailing space are Windows'; another space belongs to the text. */
static void names_lose_what_the_message_compiler_put_around_them(void **state)
{
    (void)state;
    struct event_schema schema = sample(SCHEMA_MANIFEST, every_field, COUNT_OF(every_field), 9);
    struct schema_keyword named = {0x2, span_text("win:Response Time")};
    schema.keywords = &named;
    schema.keyword_count = 1;
    schema.task_name = span_text("win:None");
    schema.channel_name = span_text("win:System");
    schema.opcode_name = span_text("Two spaces ");
    struct buf out;
    encode(&out, &schema);
    const struct event_schema *read = decode(&schema, buf_span(&out));
    assert_span(read->task_name, "");
    assert_span(read->channel_name, "System");
    assert_span(read->opcode_name, "Two spaces ");
    assert_int_equal(read->keyword_count, 1);
    assert_span(read->keywords[0].name, "Response Time");
    buf_fini(&out);
}

static void an_array_that_counts_itself_is_two_properties(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("List"), .in_type = IN_UINT32, .flags = FIELD_COUNTED},
        {NAME("Struct"), .flags = FIELD_STRUCT | FIELD_COUNTED, .struct_start = 3,
            .struct_members = 2},
        {NAME("Last"), .in_type = IN_UINT8},
        {NAME("Members"), .in_type = IN_UINT16, .flags = FIELD_COUNTED},
        {NAME("Plain"), .in_type = IN_UINT8},
    };
    struct event_schema schema = sample(SCHEMA_TRACELOGGING, fields, COUNT_OF(fields), 3);
    struct buf out;
    encode(&out, &schema);
    const struct event_schema *read = decode(&schema, buf_span(&out));
    static const char *const names[] = {"List_Count", "List", "Struct_Count", "Struct", "Last",
        "Members_Count", "Members", "Plain"};
    assert_int_equal(read->kind, SCHEMA_TRACELOGGING);
    assert_span(read->event_name, "Event");
    assert_int_equal(read->field_count, COUNT_OF(names));
    assert_int_equal(read->top_count, 5);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_span(read->fields[i].name, names[i]);
    }
    assert_int_equal(read->fields[1].flags & FIELD_PARAM_COUNT, FIELD_PARAM_COUNT);
    assert_int_equal(read->fields[1].count, 0);
    assert_int_equal(read->fields[3].count, 2);
    assert_int_equal(read->fields[3].struct_start, 5);
    assert_int_equal(read->fields[3].struct_members, 3);
    assert_int_equal(read->fields[6].count, 5);
    buf_fini(&out);
}

/* Fixed texts become arrays of characters. Types that TDH does not know become numbers. */
static bool tdh_says_it_otherwise(const struct event_schema *schema)
{
    bool otherwise = false;
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct schema_field *field = &schema->fields[i];
        otherwise |= field->in_type == IN_WMI_TIME ||
                     (field->flags & (FIELD_REST_COUNT | FIELD_OPTIONAL)) ||
                     (field->in_type == IN_UNICODE_STRING && (field->flags & FIELD_FIXED_LENGTH));
    }
    return otherwise;
}

static void check_kernel_event(void *self, const struct event_schema *schema)
{
    size_t *checked = self;
    struct buf out;
    encode(&out, schema);
    const struct event_schema *read = decode(schema, buf_span(&out));
    assert_int_equal(read->kind, SCHEMA_MOF);
    assert_true(guid_equal(&read->class_guid, &schema->class_guid));
    assert_int_equal(read->descriptor.opcode, schema->descriptor.opcode);
    assert_int_equal(read->descriptor.version, schema->descriptor.version);
    if (schema->opcode_name.size) {
        assert_same_text(read->event_name, schema->event_name);
    }
    if (schema->has_layout && !tdh_says_it_otherwise(schema)) {
        assert_same_fields(read, schema);
        ++*checked;
    }
    buf_fini(&out);
}

static void every_kernel_event_survives_the_way_through_tdh(void **state)
{
    (void)state;
    const struct schema_source_settings settings = {.path_count = 0};
    struct error err = {0};
    void *kernel = schema_source_kernel.create(&settings, &err);
    assert_non_null(kernel);
    size_t checked = 0;
    schema_source_kernel.list(kernel, check_kernel_event, &checked);
    assert_true(checked > 500);
    schema_source_kernel.destroy(kernel);
}

static void the_same_schema_gives_the_same_bytes(void **state)
{
    (void)state;
    struct event_schema schema = sample(SCHEMA_MANIFEST, every_field, COUNT_OF(every_field), 9);
    struct buf one;
    struct buf two;
    encode(&one, &schema);
    encode(&two, &schema);
    assert_true(span_equal(buf_span(&one), buf_span(&two)));
    buf_fini(&one);
    buf_fini(&two);
}

static void an_info_that_is_cut_is_refused_or_read_as_far_as_it_goes(void **state)
{
    (void)state;
    struct event_schema schema = sample(SCHEMA_MANIFEST, every_field, COUNT_OF(every_field), 9);
    struct buf out;
    encode(&out, &schema);
    const size_t properties_end = 0x70 + 24 * COUNT_OF(every_field);
    const struct event_info_maps maps = {.find = find_map, .self = &schema};
    for (size_t size = 0; size < out.size; size++) {
        uint8_t *cut = malloc(size + 1);
        assert_non_null(cut);
        memcpy(cut, out.data, size);
        bool missing;
        const struct event_schema *read = event_info_schema(
            span_make(cut, size), &maps, &arena, &missing, NULL);
        assert_int_equal(read != NULL, size >= properties_end);
        free(cut);
    }
    buf_fini(&out);
}

static void an_event_has_at_most_so_many_properties(void **state)
{
    (void)state;
    enum { PROPERTY_COUNT = 0x64, BYTES = 0x70 + 24 * (SCHEMA_MAX_FIELDS + 1) };
    uint8_t *info = calloc(1, BYTES);
    struct event_info_key key;
    assert_non_null(info);
    store_le32(info + PROPERTY_COUNT, SCHEMA_MAX_FIELDS);
    assert_true(event_info_read_key(span_make(info, BYTES), &key));
    store_le32(info + PROPERTY_COUNT, SCHEMA_MAX_FIELDS + 1);
    assert_false(event_info_read_key(span_make(info, BYTES), &key));
    free(info);
}

static int make_arena(void **state)
{
    (void)state;
    arena_init(&arena, 64 * 1024 * 1024);
    return 0;
}

static int drop_arena(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manifest_event_survives_the_way_through_tdh),
        cmocka_unit_test(names_lose_what_the_message_compiler_put_around_them),
        cmocka_unit_test(an_array_that_counts_itself_is_two_properties),
        cmocka_unit_test(every_kernel_event_survives_the_way_through_tdh),
        cmocka_unit_test(the_same_schema_gives_the_same_bytes),
        cmocka_unit_test(an_info_that_is_cut_is_refused_or_read_as_far_as_it_goes),
        cmocka_unit_test(an_event_has_at_most_so_many_properties),
    };
    return cmocka_run_group_tests(tests, make_arena, drop_arena);
}
