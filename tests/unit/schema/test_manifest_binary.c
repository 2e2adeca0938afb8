#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "schema/manifest/manifest_binary.h"
#include "schema/manifest/manifest_xml.h"
#include "schema/pack/pack.h"
#include "support/crim_sample.h"

/* Compiled manifests beside the XML of the same provider, and broken ones. */
static char warnings[4096];

static void on_warning(void *self, const char *text)
{
    (void)self;
    size_t used = strlen(warnings);
    snprintf(warnings + used, sizeof(warnings) - used, "%s\n", text);
}

static const struct manifest_options options = {.source = "binary",
    .file = "sample.dll",
    .kind = SCHEMA_MANIFEST,
    .max_bytes = 1 << 22,
    .warn = on_warning};

/* Bytes of exactly their size, so that a sanitizer sees a read beyond them. */
static struct manifest *parse(struct span bytes, bool with_texts, struct error *err)
{
    struct buf texts;
    struct message_table table = {0};
    buf_init(&texts, 1 << 16);
    crim_sample_put_messages(&texts, false);
    assert_true(message_table_init(&table, buf_span(&texts), err));
    uint8_t *copy = malloc(bytes.size + (bytes.size == 0));
    assert_non_null(copy);
    if (bytes.size) {
        memcpy(copy, bytes.data, bytes.size);
    }
    warnings[0] = 0;
    struct manifest *manifest = manifest_binary_parse(
        span_make(copy, bytes.size), &table, with_texts ? 1 : 0, &options, err);
    free(copy);
    message_table_fini(&table);
    buf_fini(&texts);
    return manifest;
}

static struct manifest *parse_well(const struct buf *bytes)
{
    struct error err = {0};
    struct manifest *manifest = parse(buf_span(bytes), true, &err);
    if (!manifest) {
        fail_msg("%s", err.text);
    }
    return manifest;
}

static const struct event_schema *event(const struct manifest *manifest, uint16_t id, uint8_t v)
{
    size_t first;
    assert_int_equal(manifest_events_find(manifest, &crim_sample_guid, id, v, &first), 1);
    return manifest->events[first];
}

static void write_pack(const struct manifest *manifest, struct buf *out)
{
    buf_init(out, 1 << 20);
    assert_true(pack_write(
        (const struct event_schema *const *)manifest->events, manifest->event_count, NULL, out));
    buf_add_byte(out, 0);
}

static void the_compiled_manifest_says_what_its_xml_says(void **state)
{
    (void)state;
    struct error err = {0};
    struct buf bytes;
    struct buf compiled_pack;
    struct buf xml_pack;
    buf_init(&bytes, 1 << 16);
    crim_sample_put(&bytes);
    struct manifest *compiled = parse_well(&bytes);
    assert_string_equal(warnings, "");
    struct manifest *xml = manifest_xml_parse(span_text(crim_sample_xml), &options, &err);
    assert_non_null(xml);
    assert_int_equal(compiled->event_count, 3);
    /* The compiler writes 0 for values that events of the manifest leave out. */
    assert_int_equal(xml->events[2]->unstated, SCHEMA_ALL_UNSTATED & ~SCHEMA_NO_OPCODE);
    for (size_t i = 0; i < xml->event_count; i++) {
        xml->events[i]->unstated = 0;
    }
    write_pack(compiled, &compiled_pack);
    write_pack(xml, &xml_pack);
    assert_string_equal((const char *)compiled_pack.data, (const char *)xml_pack.data);
    buf_fini(&compiled_pack);
    buf_fini(&xml_pack);
    buf_fini(&bytes);
    manifest_events_destroy(compiled);
    manifest_events_destroy(xml);
}

static void fields_have_their_types_lengths_counts_and_maps(void **state)
{
    (void)state;
    struct buf bytes;
    buf_init(&bytes, 1 << 16);
    crim_sample_put(&bytes);
    struct manifest *m = parse_well(&bytes);
    const struct event_schema *e = event(m, 1, 2);
    assert_string_equal(e->source, "binary");
    assert_int_equal(e->kind, SCHEMA_MANIFEST);
    assert_span(e->provider_name, "Sample-Compiled");
    assert_span(e->message, "%1 rows, %3, done");
    assert_span(e->task_name, "The work");
    assert_span(e->opcode_name, "A step");
    assert_span(e->level_name, "Loud and clear");
    assert_span(e->channel_name, "Sample-Compiled/Operational");
    assert_true(e->descriptor.keyword == UINT64_C(0x4000000000000002));
    assert_int_equal(e->unstated, 0); /* a compiled one has all of the descriptor */
    assert_int_equal(event(m, 3, 0)->unstated, 0);
    assert_int_equal(e->top_count, 9);
    assert_int_equal(e->field_count, 13);
    assert_span(schema_map_find(e->fields[0].map, 2), "Two");
    assert_int_equal(e->fields[1].map->kind, MAP_BITS);
    assert_int_equal(e->fields[3].flags & FIELD_PARAM_LENGTH, FIELD_PARAM_LENGTH);
    assert_int_equal(e->fields[3].length, 0);
    assert_int_equal(e->fields[5].flags, FIELD_STRUCT | FIELD_PARAM_COUNT);
    assert_int_equal(e->fields[5].struct_start, 9);
    assert_int_equal(e->fields[6].form, FORM_IPV4);
    assert_int_equal(e->fields[7].count, 3);
    assert_int_equal(e->fields[8].form, FORM_HEX64);
    assert_span(event(m, 2, 0)->message, "na\xc3\xafve");
    assert_span(event(m, 3, 0)->opcode_name, "Step");
    manifest_events_destroy(m);
    buf_fini(&bytes);
}

static void without_texts_things_go_by_their_names(void **state)
{
    (void)state;
    struct error err = {0};
    struct buf bytes;
    buf_init(&bytes, 1 << 16);
    crim_sample_put(&bytes);
    struct manifest *m = parse(buf_span(&bytes), false, &err);
    assert_non_null(m);
    assert_non_null(strstr(warnings, "sample.dll: no messages"));
    const struct event_schema *e = event(m, 1, 2);
    assert_span(e->message, "");
    assert_span(e->task_name, "Work");
    assert_span(e->opcode_name, "Step");
    assert_span(e->level_name, "Loud");
    assert_span(event(m, 2, 0)->level_name, "Error");
    manifest_events_destroy(m);
    buf_fini(&bytes);
}

static void old_compilers_leave_the_name_to_channels_and_messages(void **state)
{
    (void)state;
    static const struct crim_put_name bare[] = {
        {.name = "Debug", .value = 16, .message = -1}, {.name = NULL}};
    static const struct {
        const struct crim_put_name *channels; /* NULL: the sample's */
        int64_t message;
        const char *name;
    } rows[] = {
        {NULL, -1, "Sample-Compiled"},
        {bare, 0x50000002, "Error"}, /* one word may be a name */
        {bare, 0x50000011, ""},      /* "Loud and clear" is not a name */
        {bare, -1, ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct crim_put_provider provider = crim_sample_provider;
        struct buf bytes;
        provider.name = NULL;
        provider.message = rows[i].message;
        provider.event_count = 3;
        if (rows[i].channels) {
            provider.channels = rows[i].channels;
            provider.events = &crim_sample_provider.events[2]; /* in no channel */
            provider.event_count = 1;
        }
        buf_init(&bytes, 1 << 16);
        crim_put(&bytes, &provider, 1);
        struct manifest *m = parse_well(&bytes);
        assert_span(event(m, 3, 0)->provider_name, rows[i].name);
        manifest_events_destroy(m);
        buf_fini(&bytes);
    }
}

/* One event with ${properties}, as the parser gives it, or NULL; the manifest stays with the
 * caller. */
static const struct event_schema *event_of(
    const struct crim_put_property *properties, size_t top_count, struct manifest **ret_manifest)
{
    const struct crim_put_template template = {.properties = properties, .top_count = top_count};
    struct crim_put_event only = crim_sample_provider.events[2];
    struct crim_put_provider provider = crim_sample_provider;
    struct buf bytes;
    only.template_at = 0;
    provider.templates = &template;
    provider.template_count = 1;
    provider.events = &only;
    provider.event_count = 1;
    buf_init(&bytes, 1 << 18);
    crim_put(&bytes, &provider, 1);
    assert_false(bytes.failed);
    *ret_manifest = parse_well(&bytes);
    buf_fini(&bytes);
    return (*ret_manifest)->event_count ? (*ret_manifest)->events[0] : NULL;
}

static void broken_tables_cost_their_events(void **state)
{
    (void)state;
    static const struct crim_put_property own_member[] = {
        {.name = "S", .flags = CRIM_STRUCT, .first = 0, .members = 1}, {.name = NULL}};
    static const struct crim_put_property loop[] = {
        {.name = "S", .flags = CRIM_STRUCT, .first = 1, .members = 1},
        {.name = "T", .flags = CRIM_STRUCT, .first = 1, .members = 1}, {.name = NULL}};
    static const struct crim_put_property shared[] = {
        {.name = "S", .flags = CRIM_STRUCT, .first = 2, .members = 1},
        {.name = "T", .flags = CRIM_STRUCT, .first = 2, .members = 1},
        {.name = "m", .in = IN_UINT8, .map = -1}, {.name = NULL}};
    static const struct crim_put_property beyond[] = {
        {.name = "S", .flags = CRIM_STRUCT, .first = 1, .members = 9},
        {.name = "m", .in = IN_UINT8, .map = -1}, {.name = NULL}};
    static const struct crim_put_property length_of_text[] = {
        {.name = "t", .in = IN_ANSI_STRING, .map = -1},
        {.name = "b", .flags = CRIM_LENGTH_OF, .in = IN_BINARY, .map = -1}, {.name = NULL}};
    static const struct crim_put_property count_of_none[] = {
        {.name = "b", .flags = CRIM_COUNT_OF, .in = IN_UINT8, .map = -1, .count = 1},
        {.name = NULL}};
    static const struct crim_put_property no_type[] = {
        {.name = "x", .in = 99, .map = -1}, {.name = NULL}};
    static const struct {
        const struct crim_put_property *properties;
        size_t top_count;
    } rows[] = {{own_member, 1}, {loop, 1}, {shared, 2}, {beyond, 1}, {length_of_text, 2},
        {count_of_none, 1}, {no_type, 1}, {no_type, 2}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct manifest *manifest;
        if (event_of(rows[i].properties, rows[i].top_count, &manifest)) {
            fail_msg("row %zu is taken", i);
        }
        assert_non_null(strstr(warnings, "sample.dll: event 3 left out: template @0x"));
        manifest_events_destroy(manifest);
    }
}

static void a_template_has_so_many_properties_and_no_more(void **state)
{
    (void)state;
    enum { MAX_PROPERTIES = 4096, NAME_BYTES = 8 };
    static char names[MAX_PROPERTIES + 1][NAME_BYTES];
    static struct crim_put_property properties[MAX_PROPERTIES + 2]; /* the last has no name */
    struct manifest *manifest;
    for (size_t i = 0; i <= MAX_PROPERTIES; i++) {
        snprintf(names[i], sizeof(names[i]), "p%zu", i);
        properties[i] = (struct crim_put_property){
            .name = names[i], .in = IN_UINT8, .map = CRIM_PUT_NONE};
    }
    assert_null(event_of(properties, MAX_PROPERTIES + 1, &manifest));
    assert_non_null(strstr(warnings, "it has too many properties or is truncated"));
    manifest_events_destroy(manifest);
    properties[MAX_PROPERTIES].name = NULL;
    const struct event_schema *most = event_of(properties, MAX_PROPERTIES, &manifest);
    assert_non_null(most);
    assert_string_equal(warnings, "");
    assert_int_equal(most->field_count, MAX_PROPERTIES);
    assert_int_equal(most->top_count, MAX_PROPERTIES);
    assert_span(most->fields[MAX_PROPERTIES - 1].name, "p4095");
    manifest_events_destroy(manifest);
}

static void a_pattern_map_names_no_values(void **state)
{
    (void)state;
    static const struct crim_put_map patterns[] = {
        {.name = "P", .signature = "QUER"}, {.name = "Q", .signature = "ABCD"}};
    static const struct crim_put_property properties[] = {{.name = "a", .in = IN_UINT32, .map = 0},
        {.name = "b", .in = IN_UINT32, .map = 1}, {.name = NULL}};
    static const struct crim_put_template template = {.properties = properties, .top_count = 2};
    struct crim_put_event only = crim_sample_provider.events[2];
    struct crim_put_provider provider = crim_sample_provider;
    struct buf bytes;
    only.template_at = 0;
    provider.maps = patterns;
    provider.templates = &template;
    provider.events = &only;
    provider.event_count = 1;
    buf_init(&bytes, 1 << 16);
    crim_put(&bytes, &provider, 1);
    struct manifest *m = parse_well(&bytes);
    assert_int_equal(m->event_count, 1);
    assert_null(m->events[0]->fields[0].map);
    assert_null(m->events[0]->fields[1].map);
    assert_non_null(strstr(warnings, "map @0x"));
    assert_null(strchr(strchr(warnings, '\n') + 1, '\n')); /* only of the second one */
    manifest_events_destroy(m);
    buf_fini(&bytes);
}

/* Cut anywhere, and with any value in 32 bits of it: refused, or read as far as possible. */
static void damage_costs_what_it_hits(void **state)
{
    (void)state;
    static const uint32_t values[] = {0, 1, 20, 0x7fffffff, 0xfffffff0, 0xffffffff};
    struct error err = {0};
    struct buf bytes;
    buf_init(&bytes, 1 << 16);
    crim_sample_put(&bytes);
    for (size_t size = 0; size < bytes.size; size++) {
        assert_null(parse(span_make(bytes.data, size), true, &err));
        assert_true(err.text[0] != 0);
    }
    for (size_t at = 0; at + 4 <= bytes.size; at += 4) {
        uint8_t kept[4];
        memcpy(kept, bytes.data + at, 4);
        for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
            for (size_t k = 0; k < 4; k++) {
                bytes.data[at + k] = (uint8_t)(values[i] >> (8 * k));
            }
            struct manifest *m = parse(buf_span(&bytes), true, &err);
            if (m) {
                assert_true(m->event_count <= 3);
            }
            manifest_events_destroy(m);
        }
        memcpy(bytes.data + at, kept, 4);
    }
    buf_fini(&bytes);
}

/* If each reference were read, there would be 700 * 700 * 700 entries. */
static void lists_that_overlap_are_left_out(void **state)
{
    (void)state;
    struct buf bytes;
    buf_init(&bytes, 1 << 20);
    crim_sample_put_overlaps(&bytes, 700);
    struct manifest *m = parse_well(&bytes);
    assert_int_equal(m->event_count, 0);
    assert_string_equal(warnings, "sample.dll: its lists overlap; further lists are ignored\n");
    manifest_events_destroy(m);
    buf_fini(&bytes);
}

static void what_is_none_is_refused(void **state)
{
    (void)state;
    struct error err = {0};
    assert_null(parse(span_text("MZ, but no manifest"), true, &err));
    assert_non_null(strstr(err.text, "not a compiled manifest"));
    assert_null(parse(span_make("CRIM\xff\0\0\0\5\0\1\0\0\0\0\0", 16), true, &err));
    assert_non_null(strstr(err.text, "truncated"));
    assert_null(parse(span_make("CRIM\x10\0\0\0\5\0\1\0\1\0\0\0", 16), true, &err));
    assert_non_null(strstr(err.text, "is truncated"));
    struct manifest *empty = parse(span_make("CRIM\x10\0\0\0\5\0\1\0\0\0\0\0", 16), true, &err);
    assert_non_null(empty); /* the compiler's result for a manifest without providers */
    assert_int_equal(empty->event_count, 0);
    manifest_events_destroy(empty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_compiled_manifest_says_what_its_xml_says),
        cmocka_unit_test(fields_have_their_types_lengths_counts_and_maps),
        cmocka_unit_test(without_texts_things_go_by_their_names),
        cmocka_unit_test(old_compilers_leave_the_name_to_channels_and_messages),
        cmocka_unit_test(broken_tables_cost_their_events),
        cmocka_unit_test(a_template_has_so_many_properties_and_no_more),
        cmocka_unit_test(a_pattern_map_names_no_values),
        cmocka_unit_test(lists_that_overlap_are_left_out),
        cmocka_unit_test(damage_costs_what_it_hits),
        cmocka_unit_test(what_is_none_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
