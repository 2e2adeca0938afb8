#include "support/test.h"

#include <stdio.h>

#include "outputs/elasticsearch/es_template.h"
#include "support/json_tree.h"

/* The template as a tree. The documentation of both servers says where each member must be. */

struct fixture {
    struct arena arena;
    struct buf text;
    const struct json_node *root;
};

static void setup(struct fixture *f)
{
    *f = (struct fixture){.root = NULL};
    arena_init(&f->arena, 16 * 1024 * 1024);
    buf_init(&f->text, ES_TEMPLATE_MAX_BYTES);
}

static void teardown(struct fixture *f)
{
    buf_fini(&f->text);
    arena_fini(&f->arena);
}

static struct es_template usual(const char *format)
{
    return (struct es_template){
        .format = format, .pattern = "logs-etw.events-*", .data_stream = true};
}

static void write(struct fixture *f, const struct es_template *wanted)
{
    buf_reset(&f->text);
    es_template_write(wanted, &f->text);
    assert_false(f->text.failed);
    f->root = json_tree_parse(buf_span(&f->text), &f->arena);
    assert_non_null(f->root);
}

/* The member at ${path}, "a/b"; NULL: there is none. */
static const struct json_node *at(const struct fixture *f, const char *path)
{
    const struct json_node *node = f->root;
    while (node && *path) {
        size_t size = strcspn(path, "/");
        node = json_tree_member(node, span_make(path, size));
        path += size + (path[size] == '/');
    }
    return node;
}

static const char *text_at(struct fixture *f, const char *path)
{
    const struct json_node *node = at(f, path);
    assert_non_null(node);
    char *copy = arena_alloc(&f->arena, node->text.size + 1);
    assert_non_null(copy);
    memcpy(copy, node->text.data, node->text.size);
    copy[node->text.size] = '\0';
    return copy;
}

/* The type of the field ${path}, "a/b". */
static const char *type_of(struct fixture *f, const char *path)
{
    char full[512] = "template/mappings";
    while (*path) {
        size_t size = strcspn(path, "/");
        size_t end = strlen(full);
        snprintf(full + end, sizeof(full) - end, "/properties/%.*s", (int)size, path);
        path += size + (path[size] == '/');
    }
    size_t end = strlen(full);
    snprintf(full + end, sizeof(full) - end, "/type");
    return text_at(f, full);
}

static void each_shape_has_its_fields_nested(void **state)
{
    static const struct {
        const char *format;
        const char *path;
        const char *type;
    } rows[] = {
        {"native", "@timestamp", "date"},
        {"native", "provider/guid", "keyword"},
        {"native", "event/code", "long"},
        {"native", "process/thread/id", "long"},
        {"native", "gap/exact", "boolean"},
        {"native", "gap/from", "date"},
        {"native", "message", "match_only_text"},
        {"native", "process/command_line", "wildcard"},
        {"native", "data", "flattened"},
        {"native", "extended", "flattened"},
        {"native", "status", "object"},
        {"native", "overflow", "object"},
        {"native", "payload", "keyword"},
        {"native", "labels", "object"},
        {"ecs", "@timestamp", "date"},
        {"ecs", "winlog/event_data", "flattened"},
        {"ecs", "winlog/level_raw", "long"},
        {"ecs", "data_stream/dataset", "constant_keyword"},
        {"ecs", "host/ip", "ip"},
        {"ecs", "process/command_line", "wildcard"},
        {"ecs", "process/parent/command_line", "wildcard"},
        {"ecs", "process/executable", "keyword"},
        {"ecs", "url/full", "wildcard"},
        {"ecs", "url/path", "wildcard"},
        {"ecs", "file/path", "keyword"},
        {"ecs", "error/message", "match_only_text"},
        {"ecs", "etw/status", "object"},
        {"ecs", "etw/gap/count", "long"},
        {"ecs", "overflow", "object"},
    };
    struct fixture f;
    (void)state;
    setup(&f);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct es_template wanted = usual(rows[i].format);
        write(&f, &wanted);
        assert_string_equal(type_of(&f, rows[i].path), rows[i].type);
    }
    teardown(&f);
}

static void what_a_payload_holds_is_not_mapped(void **state)
{
    struct fixture f;
    (void)state;
    setup(&f);
    struct es_template wanted = usual("ecs");
    write(&f, &wanted);
    assert_null(at(&f, "template/mappings/properties/winlog/properties/event_data/properties"));
    assert_string_equal(text_at(&f, "template/mappings/properties/winlog/properties/event_data/"
                                    "ignore_above"),
        "32000");
    teardown(&f);
}

static void unknown_fields_are_kept_but_not_mapped(void **state)
{
    struct fixture f;
    (void)state;
    setup(&f);
    struct es_template wanted = usual("native");
    write(&f, &wanted);
    assert_string_equal(text_at(&f, "template/mappings/dynamic"), "false");
    assert_string_equal(text_at(&f, "template/mappings/properties/labels/dynamic"), "true");
    assert_string_equal(text_at(&f, "template/mappings/properties/overflow/enabled"), "false");
    teardown(&f);
}

static void opensearch_has_types_of_its_own(void **state)
{
    struct fixture f;
    (void)state;
    setup(&f);
    struct es_template wanted = usual("ecs");
    wanted.opensearch = true;
    write(&f, &wanted);
    assert_string_equal(type_of(&f, "winlog/event_data"), "flat_object");
    /* The type has no parameters there. */
    assert_null(at(&f, "template/mappings/properties/winlog/properties/event_data/ignore_above"));
    /* It needs a value in the template, which serves several streams. */
    assert_string_equal(type_of(&f, "data_stream/namespace"), "keyword");
    teardown(&f);
}

static void servers_that_lack_types_get_others(void **state)
{
    struct fixture f;
    (void)state;
    setup(&f);
    struct es_template wanted = usual("ecs");
    wanted.types = ES_TYPES_COMMON;
    write(&f, &wanted);
    assert_string_equal(type_of(&f, "message"), "text");
    assert_string_equal(type_of(&f, "data_stream/type"), "keyword");
    assert_string_equal(type_of(&f, "winlog/event_data"), "flattened");
    wanted.types = ES_TYPES_FEW;
    write(&f, &wanted);
    assert_string_equal(type_of(&f, "winlog/event_data"), "object");
    assert_string_equal(
        text_at(&f, "template/mappings/properties/winlog/properties/event_data/dynamic"), "false");
    teardown(&f);
}

static void a_lifecycle_stands_there_only_where_it_is_asked_for(void **state)
{
    struct fixture f;
    (void)state;
    setup(&f);
    struct es_template wanted = usual("native");
    write(&f, &wanted);
    assert_null(at(&f, "template/settings")->child);
    wanted.policy = "keep \"30\" days";
    write(&f, &wanted);
    assert_string_equal(text_at(&f, "template/settings/index.lifecycle.name"), "keep \"30\" days");
    wanted.opensearch = true;
    write(&f, &wanted);
    assert_string_equal(
        text_at(&f, "template/settings/index.plugins.index_state_management.policy_id"),
        "keep \"30\" days");
    teardown(&f);
}

/* A command line of Windows has up to 32,767 characters. ECS 8.17: process.command_line is a
 * wildcard with a field `text` of match_only_text. */
static void long_values_are_found_whole_and_by_their_words(void **state)
{
    static const char field[] = "template/mappings/properties/process/properties/command_line";
    struct fixture f;
    char path[160];
    (void)state;
    setup(&f);
    for (int types = ES_TYPES_ALL; types < ES_TYPES_COUNT; types++) {
        bool all = types == ES_TYPES_ALL;
        struct es_template wanted = usual("ecs");
        wanted.types = types;
        write(&f, &wanted);
        assert_string_equal(type_of(&f, "process/command_line"), all ? "wildcard" : "keyword");
        snprintf(path, sizeof(path), "%s/fields/text/type", field);
        assert_string_equal(text_at(&f, path), all ? "match_only_text" : "text");
        if (!all) {
            snprintf(path, sizeof(path), "%s/ignore_above", field);
            assert_string_equal(text_at(&f, path), "32766");
        }
    }
    teardown(&f);
}

static void plain_indices_get_no_data_stream_and_no_constants(void **state)
{
    struct fixture f;
    (void)state;
    setup(&f);
    struct es_template wanted = usual("ecs");
    wanted.data_stream = false;
    write(&f, &wanted);
    assert_null(at(&f, "data_stream"));
    assert_string_equal(type_of(&f, "data_stream/dataset"), "keyword");
    teardown(&f);
}

/* ---- settings of times and payloads ---------------------------------------------------------- */

static void times_are_nanoseconds_where_that_is_asked_for(void **state)
{
    static const char *const paths[] = {"@timestamp", "process/start", "gap/from", "rollup/last"};
    struct fixture f;
    (void)state;
    setup(&f);
    struct es_template wanted = usual("native");
    wanted.nanos = true;
    write(&f, &wanted);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        assert_string_equal(type_of(&f, paths[i]), "date_nanos");
    }
    /* A server accepts no other settings for the time of a data stream. */
    assert_null(at(&f, "template/mappings/properties/@timestamp/ignore_malformed"));
    assert_non_null(
        at(&f, "template/mappings/properties/process/properties/start/ignore_malformed"));
    teardown(&f);
}

/* A payload of each kind of value, and a struct. */
static struct index_fields *some_fields(struct arena *arena, bool is_ecs)
{
    static const struct {
        const char *name;
        uint16_t in;
    } rows[] = {{"Long", IN_INT64}, {"Unsigned", IN_UINT64}, {"Double", IN_DOUBLE},
        {"Bool", IN_BOOLEAN}, {"Time", IN_FILETIME}, {"Text", IN_UNICODE_STRING},
        {"Hex", IN_HEX_INT64}};
    enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
    struct error err;
    struct event_schema *schema = arena_alloc(arena, sizeof(*schema));
    struct schema_field *fields = arena_alloc_array(arena, ROWS + 2, sizeof(*fields));
    struct index_fields *set = index_fields_create(is_ecs, &err);
    assert_true(schema && fields && set);
    for (size_t i = 0; i < ROWS; i++) {
        fields[i] = (struct schema_field){.name = span_text(rows[i].name), .in_type = rows[i].in};
    }
    fields[ROWS] = (struct schema_field){.name = span_text("Struct"),
        .flags = FIELD_STRUCT,
        .struct_start = ROWS + 1,
        .struct_members = 1};
    fields[ROWS + 1] = (struct schema_field){
        .name = span_text("Ip\"\xc3\xa4"), .in_type = IN_UINT32, .out_type = OUT_IPV4};
    *schema = (struct event_schema){
        .has_layout = true, .fields = fields, .field_count = ROWS + 2, .top_count = ROWS + 1};
    assert_true(schema_finish(schema, arena, &err));
    index_fields_add(set, schema);
    assert_true(index_fields_choose(set, 100, &err));
    return set;
}

static void fields_of_payloads_have_types_where_that_is_asked_for(void **state)
{
    static const struct {
        int types;
        bool opensearch;
        const char *unsigned_type;
        bool minds_booleans;
    } servers[] = {{ES_TYPES_ALL, false, "unsigned_long", true},
        {ES_TYPES_ALL, true, "unsigned_long", false}, {ES_TYPES_COMMON, false, "long", false}};
    struct fixture f;
    (void)state;
    setup(&f);
    struct index_fields *fields = some_fields(&f.arena, false);
    for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
        struct es_template wanted = usual("native");
        wanted.typed = true;
        wanted.fields = fields;
        wanted.types = servers[i].types;
        wanted.opensearch = servers[i].opensearch;
        write(&f, &wanted);
        assert_string_equal(text_at(&f, "template/mappings/properties/data/dynamic"), "false");
        assert_string_equal(type_of(&f, "data/Long"), "long");
        assert_string_equal(type_of(&f, "data/Unsigned"), servers[i].unsigned_type);
        assert_string_equal(type_of(&f, "data/Double"), "double");
        assert_string_equal(type_of(&f, "data/Bool"), "boolean");
        assert_string_equal(type_of(&f, "data/Time"), "date");
        assert_string_equal(type_of(&f, "data/Text"), "keyword");
        assert_string_equal(type_of(&f, "data/Hex"), "keyword");
        assert_string_equal(type_of(&f, "data/Struct/Ip\"\xc3\xa4"), "ip");
        assert_non_null(
            at(&f, "template/mappings/properties/data/properties/Long/ignore_malformed"));
        assert_int_equal(
            at(&f, "template/mappings/properties/data/properties/Bool/ignore_malformed") != NULL,
            servers[i].minds_booleans);
        assert_string_equal(
            text_at(&f, "template/mappings/properties/data_unindexed/enabled"), "false");
        assert_null(at(&f, "template/settings")->child);
        wanted.nanos = true;
        wanted.max_fields = 2000;
        write(&f, &wanted);
        assert_string_equal(type_of(&f, "data/Time"), "date_nanos");
        assert_string_equal(
            text_at(&f, "template/settings/index.mapping.total_fields.limit"), "2000");
    }
    index_fields_destroy(fields);
    teardown(&f);
}

static void items_of_the_header_stay_one_field_in_ecs(void **state)
{
    struct fixture f;
    (void)state;
    setup(&f);
    struct index_fields *fields = some_fields(&f.arena, true);
    struct es_template wanted = usual("ecs");
    wanted.typed = true;
    wanted.fields = fields;
    write(&f, &wanted);
    assert_string_equal(type_of(&f, "winlog/event_data/extended_data"), "flattened");
    assert_string_equal(type_of(&f, "winlog/event_data/Long"), "long");
    assert_string_equal(text_at(&f, "template/mappings/properties/winlog/properties/"
                                    "event_data_unindexed/enabled"),
        "false");
    index_fields_destroy(fields);
    teardown(&f);
}

/* Fields, the objects around them, and further fields of one value. */
static size_t count_fields(const struct json_node *properties)
{
    size_t count = 0;
    for (const struct json_node *n = properties ? properties->child : NULL; n; n = n->next) {
        count += 1 + count_fields(json_tree_member(n, span_text("properties"))) +
                 count_fields(json_tree_member(n, span_text("fields")));
    }
    return count;
}

/* 64 are left for labels. */
static void the_room_is_what_the_other_fields_leave(void **state)
{
    static const char *const formats[] = {"native", "ecs"};
    struct fixture f;
    (void)state;
    setup(&f);
    for (size_t i = 0; i < 2; i++) {
        struct es_template wanted = usual(formats[i]);
        wanted.typed = true;
        write(&f, &wanted);
        size_t others = count_fields(at(&f, "template/mappings/properties")) + 64;
        assert_in_range(1000 - es_template_room(formats[i], 1000), others, others + 1);
        assert_in_range(3000 - es_template_room(formats[i], 3000), others, others + 1);
        assert_int_equal(es_template_room(formats[i], 100), 0);
    }
    teardown(&f);
}

/* The part that `run` compares does not depend on definitions; `setup` compares them, too. */
static void a_mark_of_its_own_says_which_fields_there_are(void **state)
{
    char mark[ES_TEMPLATE_MARK_BYTES];
    char fields_mark[ES_TEMPLATE_MARK_BYTES];
    struct fixture f;
    (void)state;
    setup(&f);
    struct index_fields *fields = some_fields(&f.arena, false);
    struct es_template wanted = usual("native");
    wanted.typed = true;
    es_template_mark(&wanted, mark);
    wanted.fields = fields;
    write(&f, &wanted);
    es_template_fields_mark(fields, fields_mark);
    assert_string_equal(text_at(&f, "_meta/mark"), mark);
    assert_string_equal(text_at(&f, "_meta/fields"), fields_mark);
    wanted.typed = false;
    write(&f, &wanted);
    assert_string_not_equal(text_at(&f, "_meta/mark"), mark);
    index_fields_destroy(fields);
    teardown(&f);
}

static void a_mark_changes_with_the_template_and_stands_in_it(void **state)
{
    struct fixture f;
    char marks[5][ES_TEMPLATE_MARK_BYTES];
    (void)state;
    setup(&f);
    struct es_template wanted[5] = {
        usual("ecs"), usual("native"), usual("ecs"), usual("ecs"), usual("ecs")};
    wanted[2].opensearch = true;
    wanted[3].types = ES_TYPES_FEW;
    wanted[4].pattern = "logs-etw.other-*";
    for (size_t i = 0; i < 5; i++) {
        es_template_mark(&wanted[i], marks[i]);
        write(&f, &wanted[i]);
        assert_string_equal(text_at(&f, "_meta/mark"), marks[i]);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(marks[i], marks[k]);
        }
    }
    teardown(&f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_shape_has_its_fields_nested),
        cmocka_unit_test(what_a_payload_holds_is_not_mapped),
        cmocka_unit_test(unknown_fields_are_kept_but_not_mapped),
        cmocka_unit_test(opensearch_has_types_of_its_own),
        cmocka_unit_test(servers_that_lack_types_get_others),
        cmocka_unit_test(a_lifecycle_stands_there_only_where_it_is_asked_for),
        cmocka_unit_test(long_values_are_found_whole_and_by_their_words),
        cmocka_unit_test(plain_indices_get_no_data_stream_and_no_constants),
        cmocka_unit_test(times_are_nanoseconds_where_that_is_asked_for),
        cmocka_unit_test(fields_of_payloads_have_types_where_that_is_asked_for),
        cmocka_unit_test(items_of_the_header_stay_one_field_in_ecs),
        cmocka_unit_test(the_room_is_what_the_other_fields_leave),
        cmocka_unit_test(a_mark_of_its_own_says_which_fields_there_are),
        cmocka_unit_test(a_mark_changes_with_the_template_and_stands_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
