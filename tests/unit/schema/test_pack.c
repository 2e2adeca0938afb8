#include "schema/pack/pack.h"

#include <stdio.h>
#include <stdlib.h>

#include "schema/source/schema_sources.h"
#include "support/test.h"

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

enum { MAX_SCHEMAS = 4096, MAX_TEXT = 16 << 20 };

struct collected {
    const struct event_schema *list[MAX_SCHEMAS];
    size_t count;
};

static void collect(void *self, const struct event_schema *schema)
{
    struct collected *collected = self;
    assert_true(collected->count < MAX_SCHEMAS);
    collected->list[collected->count++] = schema;
}

/* ---- equality -------------------------------------------------------------------------------- */

#define assert_same_text(a, b)                                 \
    do {                                                       \
        assert_int_equal((a).size, (b).size);                  \
        if ((a).size) {                                        \
            assert_memory_equal((a).data, (b).data, (a).size); \
        }                                                      \
    } while (0)

static void assert_same_map(const struct schema_map *a, const struct schema_map *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (!a) {
        return;
    }
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->entry_count, b->entry_count);
    for (size_t i = 0; i < a->entry_count; i++) {
        assert_true(a->entries[i].value == b->entries[i].value);
        assert_same_text(a->entries[i].text, b->entries[i].text);
    }
}

static void assert_same_field(const struct schema_field *a, const struct schema_field *b)
{
    assert_same_text(a->name, b->name);
    assert_same_text(a->json_key, b->json_key);
    assert_same_text(a->name_key, b->name_key);
    assert_int_equal(a->in_type, b->in_type);
    assert_int_equal(a->out_type, b->out_type);
    assert_int_equal(a->flags, b->flags);
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->length, b->length);
    assert_int_equal(a->struct_start, b->struct_start);
    assert_int_equal(a->struct_members, b->struct_members);
    assert_int_equal(a->form, b->form);
    assert_same_map(a->map, b->map);
}

static void assert_same_schema(const struct event_schema *a, const struct event_schema *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->has_layout, b->has_layout);
    assert_memory_equal(&a->provider, &b->provider, sizeof(a->provider));
    assert_memory_equal(&a->class_guid, &b->class_guid, sizeof(a->class_guid));
    assert_int_equal(a->descriptor.id, b->descriptor.id);
    assert_int_equal(a->descriptor.version, b->descriptor.version);
    assert_int_equal(a->descriptor.channel, b->descriptor.channel);
    assert_int_equal(a->descriptor.level, b->descriptor.level);
    assert_int_equal(a->descriptor.opcode, b->descriptor.opcode);
    assert_int_equal(a->descriptor.task, b->descriptor.task);
    assert_true(a->descriptor.keyword == b->descriptor.keyword);
    assert_int_equal(a->unstated, b->unstated);
    assert_same_text(a->provider_name, b->provider_name);
    assert_same_text(a->event_name, b->event_name);
    assert_same_text(a->task_name, b->task_name);
    assert_same_text(a->opcode_name, b->opcode_name);
    assert_same_text(a->level_name, b->level_name);
    assert_same_text(a->channel_name, b->channel_name);
    assert_same_text(a->message, b->message);
    assert_int_equal(a->keyword_count, b->keyword_count);
    for (size_t i = 0; i < a->keyword_count; i++) {
        assert_true(a->keywords[i].mask == b->keywords[i].mask);
        assert_same_text(a->keywords[i].name, b->keywords[i].name);
    }
    assert_int_equal(a->field_count, b->field_count);
    assert_int_equal(a->top_count, b->top_count);
    for (size_t i = 0; i < a->field_count; i++) {
        assert_same_field(&a->fields[i], &b->fields[i]);
    }
}

/* ---- schemas made by hand -------------------------------------------------------------------- */

static struct arena arena;

static int make_arena(void **state)
{
    (void)state;
    arena_init(&arena, 1 << 24);
    return 0;
}

static int free_arena(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

static const struct schema_map_entry colours[] = {
    {0, {(const uint8_t *)"none", 4}},
    {1, {(const uint8_t *)"re\"d\\", 5}},
    {UINT64_MAX, {(const uint8_t *)"", 0}},
};
static const struct schema_map colour_map = {
    .kind = MAP_VALUE, .entries = colours, .entry_count = COUNT_OF(colours)};
static const struct schema_map same_colour_map = {
    .kind = MAP_VALUE, .entries = colours, .entry_count = COUNT_OF(colours)};
static const struct schema_map bit_map = {
    .kind = MAP_BITS, .entries = colours, .entry_count = COUNT_OF(colours)};
static const struct schema_map empty_map = {.kind = MAP_VALUE, .entries = NULL, .entry_count = 0};

static const struct schema_keyword keywords[] = {
    {0x8000000000000000, {(const uint8_t *)"Product/Operational", 19}},
    {0, {(const uint8_t *)"\xc3\xa9t\xc3\xa9", 5}},
};

/* Every member set, with odd characters. */
static struct event_schema *make_rich(void)
{
    static const char message[] = "line %1\r\n\ttab \"quoted\" \\ # \x01\x7f broken \xff\xc3 "
                                  "\xe2\x80\xa8 \xef\xbf\xbd \xf0\x9f\x98\x80";
    struct event_schema *schema = arena_alloc(&arena, sizeof(*schema));
    assert_non_null(schema);
    *schema = (struct event_schema){.kind = SCHEMA_MANIFEST,
        .source = "test",
        .has_layout = true,
        .provider = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
        .descriptor = {.id = 65535,
            .version = 255,
            .channel = 16,
            .level = 4,
            .opcode = 240,
            .task = 65535,
            .keyword = 0x8000000000000001},
        .provider_name = span_text("Product # \"1\""),
        .event_name = span_text("Name"),
        .task_name = span_text("Task"),
        .opcode_name = span_text("Opcode"),
        .level_name = span_text("Level"),
        .channel_name = span_text("Product/Operational"),
        .keywords = keywords,
        .keyword_count = COUNT_OF(keywords),
        .message = span_make(message, sizeof(message) - 1)};
    return schema;
}

static void give_fields(
    struct event_schema *schema, const struct schema_field *fields, size_t count, size_t top)
{
    schema->fields = arena_alloc_array(&arena, count, sizeof(*fields));
    assert_non_null(schema->fields);
    memcpy(schema->fields, fields, count * sizeof(*fields));
    schema->field_count = (uint16_t)count;
    schema->top_count = (uint16_t)top;
    struct error err = {0};
    if (!schema_finish(schema, &arena, &err)) {
        fail_msg("%s", err.text);
    }
}

#define NAME(text) .name = {(const uint8_t *)(text), sizeof(text) - 1}

static const struct schema_field every_kind_of_field[] = {
    {NAME("Count"), .in_type = IN_UINT16},
    {NAME("Size"), .in_type = IN_UINT32, .out_type = OUT_HEX_INT32, .map = &bit_map},
    {NAME("Items"), .flags = FIELD_STRUCT | FIELD_PARAM_COUNT, .struct_start = 11,
        .struct_members = 3},
    {NAME("Blob"), .in_type = IN_BINARY, .flags = FIELD_PARAM_LENGTH, .length = 1},
    {NAME("Fixed"), .in_type = IN_UNICODE_STRING, .flags = FIELD_FIXED_LENGTH, .length = 0},
    {NAME("Plain"), .in_type = IN_UINT8, .count = 5, .map = &colour_map},
    {NAME("One"), .in_type = IN_UINT8, .flags = FIELD_FIXED_COUNT, .count = 1,
        .map = &same_colour_map},
    {NAME("Vector"), .in_type = IN_INT64, .flags = FIELD_COUNTED, .map = &empty_map},
    {NAME("Odd \"name\"\n"), .in_type = IN_ANSI_STRING, .out_type = 999, .length = 7},
    {NAME("Count"), .in_type = IN_UINT16},
    {NAME("Rest"), .in_type = IN_POINTER, .flags = FIELD_REST_COUNT | FIELD_OPTIONAL},
    {NAME("Key"), .in_type = IN_UINT32},
    {NAME("Count"), .in_type = IN_UINT16},
    {NAME("Inner"), .flags = FIELD_STRUCT, .struct_start = 14, .struct_members = 1},
    {NAME("Values"), .in_type = IN_UINT8, .flags = FIELD_PARAM_COUNT, .count = 12},
};

static struct pack *write_and_read(
    const struct event_schema *const *schemas, size_t count, struct buf *text)
{
    buf_init(text, MAX_TEXT);
    assert_true(pack_write(schemas, count, NULL, text));
    struct error err = {0};
    struct pack *pack = pack_read(buf_span(text), "test.pack", NULL, &err);
    if (!pack) {
        fail_msg("%s\n%.*s", err.text, SPAN_ARG(buf_span(text)));
    }
    return pack;
}

static void a_schema_with_everything_comes_back_as_it_was(void **state)
{
    (void)state;
    struct event_schema *schema = make_rich();
    give_fields(schema, every_kind_of_field, COUNT_OF(every_kind_of_field), 11);
    const struct event_schema *list[] = {schema};
    struct buf text;
    struct pack *pack = write_and_read(list, 1, &text);
    assert_int_equal(pack->event_count, 1);
    assert_same_schema(schema, pack->events[0]);
    assert_string_equal(pack->events[0]->source, "pack");
    pack_destroy(pack);
    buf_fini(&text);
}

static void every_in_type_and_out_type_comes_back(void **state)
{
    (void)state;
    struct schema_field fields[400];
    size_t count = 0;
    for (uint16_t type = 0; type < 0x300; type++) {
        struct event_schema probe = {.field_count = 1, .top_count = 1};
        struct schema_field field = {.in_type = type};
        probe.fields = &field;
        if (schema_finish(&probe, &arena, NULL)) {
            fields[count] = (struct schema_field){.in_type = type};
            fields[count].out_type = (uint16_t)count;
            count++;
        }
    }
    assert_int_equal(count, 37);
    for (uint16_t type = 0; type < 310; type++) {
        fields[count++] = (struct schema_field){.in_type = IN_UINT32, .out_type = type};
    }
    struct event_schema *schema = make_rich();
    give_fields(schema, fields, count, count);
    const struct event_schema *list[] = {schema};
    struct buf text;
    struct pack *pack = write_and_read(list, 1, &text);
    assert_same_schema(schema, pack->events[0]);
    pack_destroy(pack);
    buf_fini(&text);
}

static void every_kernel_schema_comes_back_as_it_was(void **state)
{
    (void)state;
    static struct collected kernel;
    const struct schema_source_settings settings = {0};
    void *source = schema_source_kernel.create(&settings, NULL);
    kernel.count = 0;
    schema_source_kernel.list(source, collect, &kernel);
    struct buf text;
    struct pack *pack = write_and_read(kernel.list, kernel.count, &text);
    assert_int_equal(pack->event_count, kernel.count);
    /* The pack is sorted, and alternatives have equal keys: pair them in their order. */
    static bool used[MAX_SCHEMAS];
    memset(used, 0, sizeof(used));
    for (size_t i = 0; i < pack->event_count; i++) {
        const struct event_schema *got = pack->events[i];
        size_t k = 0;
        while (k < kernel.count &&
               (used[k] || !guid_equal(&kernel.list[k]->class_guid, &got->class_guid) ||
                   kernel.list[k]->descriptor.opcode != got->descriptor.opcode ||
                   kernel.list[k]->descriptor.version != got->descriptor.version)) {
            k++;
        }
        assert_true(k < kernel.count);
        used[k] = true;
        assert_same_schema(kernel.list[k], got);
    }
    pack_destroy(pack);
    buf_fini(&text);
    schema_source_kernel.destroy(source);
}

/* ---- the text -------------------------------------------------------------------------------- */

static void the_text_is_what_the_readme_describes(void **state)
{
    (void)state;
    static const struct schema_map_entry entries[] = {
        {1, {(const uint8_t *)"A", 1}}, {28, {(const uint8_t *)"AAAA", 4}}};
    static const struct schema_map types = {
        .kind = MAP_VALUE, .entries = entries, .entry_count = 2};
    static const struct schema_field fields[] = {
        {NAME("QueryType"), .in_type = IN_UINT32, .map = &types},
        {NAME("Answers"), .in_type = IN_UINT16},
        {NAME("Answer"), .flags = FIELD_STRUCT | FIELD_PARAM_COUNT, .count = 1, .struct_start = 3,
            .struct_members = 2},
        {NAME("Address"), .in_type = IN_UINT32, .out_type = OUT_IPV4},
        {NAME("Name"), .in_type = IN_UNICODE_STRING},
    };
    struct event_schema *schema = arena_alloc(&arena, sizeof(*schema));
    assert_non_null(schema);
    guid_parse(span_text("1c95126e-7eea-49a9-a3fe-a378b03ddb4d"), &schema->provider);
    schema->kind = SCHEMA_MANIFEST;
    schema->has_layout = true;
    schema->provider_name = span_text("Example-Resolver");
    schema->descriptor = (struct event_descriptor){.id = 3008, .level = 4, .keyword = 0x10};
    schema->unstated = SCHEMA_NO_TASK | SCHEMA_NO_OPCODE | SCHEMA_NO_CHANNEL;
    schema->level_name = span_text("Information");
    schema->message = span_text("Query of type %1");
    give_fields(schema, fields, COUNT_OF(fields), 3);
    const struct event_schema *list[] = {schema};
    struct buf text;
    pack_destroy(write_and_read(list, 1, &text));
    assert_span(buf_span(&text),
        "etwship-pack 2\n"
        "\n"
        "provider 1c95126e-7eea-49a9-a3fe-a378b03ddb4d \"Example-Resolver\"\n"
        "\n"
        "map \"QueryType\" values\n"
        "  entry 1 \"A\"\n"
        "  entry 28 \"AAAA\"\n"
        "\n"
        "event manifest 3008 0\n"
        "  level 4 \"Information\"\n"
        "  keywords 0x10\n"
        "  message \"Query of type %1\"\n"
        "  field \"QueryType\" UInt32 map \"QueryType\"\n"
        "  field \"Answers\" UInt16\n"
        "  field \"Answer\" struct \"Address\" 2 count \"Answers\"\n"
        "  member \"Address\" UInt32 as IPv4\n"
        "  member \"Name\" UnicodeString\n");
    buf_fini(&text);
}

/* A value that a definition leaves out of its descriptor stays left out, and a 0 stays a 0. */
static void what_is_not_stated_comes_back(void **state)
{
    (void)state;
    const struct event_schema *list[2 * (SCHEMA_ALL_UNSTATED + 1)];
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        struct event_schema *schema = arena_alloc(&arena, sizeof(*schema));
        assert_non_null(schema);
        *schema = (struct event_schema){.kind = i % 2 ? SCHEMA_EVENTSOURCE : SCHEMA_MANIFEST,
            .has_layout = true,
            .provider_name = span_text("P"),
            .descriptor = {.id = (uint16_t)i},
            .unstated = (uint8_t)(i / 2)};
        assert_true(schema_finish(schema, &arena, NULL));
        list[i] = schema;
    }
    struct buf text;
    struct pack *pack = write_and_read(list, COUNT_OF(list), &text);
    assert_int_equal(pack->event_count, COUNT_OF(list));
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        assert_same_schema(list[i], pack->events[i]);
    }
    pack_destroy(pack);
    buf_fini(&text);
}

static struct event_schema *make_named(
    const char *provider, enum schema_kind kind, uint16_t id, uint8_t version)
{
    struct event_schema *schema = arena_alloc(&arena, sizeof(*schema));
    assert_non_null(schema);
    schema->kind = kind;
    schema->has_layout = true;
    schema->provider_name = span_text(provider);
    schema->descriptor.id = id;
    schema->descriptor.version = version;
    schema->unstated = SCHEMA_ALL_UNSTATED;
    give_fields(schema, every_kind_of_field, 0, 0);
    return schema;
}

static void events_are_sorted_by_provider_id_and_version_whatever_their_order(void **state)
{
    (void)state;
    const struct event_schema *list[] = {
        make_named("B", SCHEMA_MANIFEST, 1, 0),
        make_named("A", SCHEMA_EVENTSOURCE, 10, 0),
        make_named("A", SCHEMA_MANIFEST, 9, 1),
        make_named("A", SCHEMA_MANIFEST, 9, 0),
    };
    const struct event_schema *reversed[] = {list[3], list[2], list[1], list[0]};
    struct buf text;
    struct buf other;
    pack_destroy(write_and_read(list, 4, &text));
    pack_destroy(write_and_read(reversed, 4, &other));
    assert_span(buf_span(&text),
        "etwship-pack 2\n"
        "\nprovider 00000000-0000-0000-0000-000000000000 \"A\"\n"
        "\nevent manifest 9 0\n\nevent manifest 9 1\n\nevent eventsource 10 0\n"
        "\nprovider 00000000-0000-0000-0000-000000000000 \"B\"\n\nevent manifest 1 0\n");
    assert_true(span_equal(buf_span(&text), buf_span(&other)));
    buf_fini(&text);
    buf_fini(&other);
}

static void kinds_that_describe_themselves_are_left_out(void **state)
{
    (void)state;
    const struct event_schema *list[] = {
        make_named("A", SCHEMA_TRACELOGGING, 1, 0),
        make_named("A", SCHEMA_STRING, 1, 0),
        make_named("A", SCHEMA_WPP, 1, 0),
        make_named("A", SCHEMA_UNKNOWN, 1, 0),
    };
    struct buf text;
    struct pack *pack = write_and_read(list, COUNT_OF(list), &text);
    assert_span(buf_span(&text), "etwship-pack 2\n");
    assert_int_equal(pack->event_count, 0);
    pack_destroy(pack);
    buf_fini(&text);
}

static void equal_definitions_are_written_once_and_different_ones_in_their_order(void **state)
{
    (void)state;
    struct event_schema *second = make_named("A", SCHEMA_MANIFEST, 1, 0);
    second->message = span_text("second");
    const struct event_schema *list[] = {
        make_named("A", SCHEMA_MANIFEST, 1, 0),
        make_named("A", SCHEMA_MANIFEST, 1, 0),
        second,
    };
    struct buf text;
    struct pack *pack = write_and_read(list, COUNT_OF(list), &text);
    assert_int_equal(pack->event_count, 2);
    assert_int_equal(pack->events[0]->message.size, 0);
    assert_span(pack->events[1]->message, "second");
    pack_destroy(pack);
    buf_fini(&text);
}

/* The first definition that fits is used, so the order of the sources must be kept. */
static void definitions_of_different_kinds_stay_in_their_order(void **state)
{
    (void)state;
    static const enum schema_kind kinds[][2] = {
        {SCHEMA_MANIFEST, SCHEMA_EVENTSOURCE}, {SCHEMA_EVENTSOURCE, SCHEMA_MANIFEST}};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const struct event_schema a = {.kind = kinds[i][0], .event_name = span_text("A")};
        const struct event_schema b = {.kind = kinds[i][1], .event_name = span_text("B")};
        const struct event_schema *const list[] = {&a, &b};
        struct buf text;
        buf_init(&text, 1 << 20);
        assert_true(pack_write(list, COUNT_OF(list), NULL, &text));
        struct error err = {0};
        struct pack *pack = pack_read(buf_span(&text), "t.pack", NULL, &err);
        assert_non_null(pack);
        assert_int_equal(pack->event_count, 2);
        assert_int_equal(pack->events[0]->kind, kinds[i][0]);
        assert_int_equal(pack->events[1]->kind, kinds[i][1]);
        pack_destroy(pack);
        buf_fini(&text);
    }
}

static void writing_into_a_full_buffer_fails(void **state)
{
    (void)state;
    const struct event_schema *list[] = {make_named("A", SCHEMA_MANIFEST, 1, 0)};
    for (size_t max = 0; max < 80; max++) {
        struct buf text;
        buf_init(&text, max);
        assert_false(pack_write(list, 1, NULL, &text));
        buf_fini(&text);
    }
}

static void a_pack_cut_anywhere_is_read_or_refused(void **state)
{
    (void)state;
    struct event_schema *schema = make_rich();
    give_fields(schema, every_kind_of_field, COUNT_OF(every_kind_of_field), 11);
    const struct event_schema *list[] = {schema};
    struct buf text;
    pack_destroy(write_and_read(list, 1, &text));
    for (size_t size = 0; size < text.size; size++) {
        uint8_t *cut = malloc(size ? size : 1);
        assert_non_null(cut);
        memcpy(cut, text.data, size);
        pack_destroy(pack_read(span_make(cut, size), "x.pack", NULL, NULL));
        free(cut);
    }
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_schema_with_everything_comes_back_as_it_was),
        cmocka_unit_test(every_in_type_and_out_type_comes_back),
        cmocka_unit_test(every_kernel_schema_comes_back_as_it_was),
        cmocka_unit_test(the_text_is_what_the_readme_describes),
        cmocka_unit_test(what_is_not_stated_comes_back),
        cmocka_unit_test(events_are_sorted_by_provider_id_and_version_whatever_their_order),
        cmocka_unit_test(kinds_that_describe_themselves_are_left_out),
        cmocka_unit_test(equal_definitions_are_written_once_and_different_ones_in_their_order),
        cmocka_unit_test(definitions_of_different_kinds_stay_in_their_order),
        cmocka_unit_test(writing_into_a_full_buffer_fails),
        cmocka_unit_test(a_pack_cut_anywhere_is_read_or_refused),
    };
    return cmocka_run_group_tests(tests, make_arena, free_arena);
}
