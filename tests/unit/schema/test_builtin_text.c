#include "support/test.h"

#include <stdio.h>

#include "schema/pack/builtin_text.h"

#define HEAD "provider 1c95126e-7eea-49a9-a3fe-a378b03ddb4d Some-Provider\n"

static char warnings[1024];

static void on_warning(void *self, const char *text)
{
    (void)self;
    size_t used = strlen(warnings);
    snprintf(warnings + used, sizeof(warnings) - used, "%s\n", text);
}

static struct manifest *read(const char *text, struct error *err)
{
    const struct manifest_options options = {
        .source = "builtin", .kind = SCHEMA_MANIFEST, .max_bytes = 1 << 24, .warn = on_warning};
    warnings[0] = 0;
    *err = (struct error){0};
    return builtin_text_read(span_text(text), &options, err);
}

static struct manifest *read_well(const char *text)
{
    struct error err;
    struct manifest *manifest = read(text, &err);
    assert_string_equal(err.text, "");
    assert_non_null(manifest);
    assert_string_equal(warnings, "");
    return manifest;
}

static const struct event_schema *only(const struct manifest *manifest)
{
    assert_int_equal(manifest->event_count, 1);
    return manifest->events[0];
}

static void an_event_gets_all_names(void **state)
{
    (void)state;
    struct manifest *manifest = read_well(
        "# what this is about\n" HEAD "channel 16 Some-Provider/Operational\n"
        "keyword 0x10 \"Of names\"\n"
        "level 6 Chatty\n"
        "\n"
        "task 3 Query 10=Asked\n"
        "  11=\"Not answered\"\n"
        "template a Id:UInt32\n"
        "event 7 2 6 3 11 0x8000000000000010 16 a \"Query %1.\"\n");
    const struct event_schema *e = only(manifest);
    assert_int_equal(e->kind, SCHEMA_MANIFEST);
    assert_string_equal(e->source, "builtin");
    assert_true(span_is(e->provider_name, "Some-Provider"));
    assert_int_equal(e->descriptor.id, 7);
    assert_int_equal(e->descriptor.version, 2);
    assert_int_equal(e->descriptor.level, 6);
    assert_int_equal(e->descriptor.task, 3);
    assert_int_equal(e->descriptor.opcode, 11);
    assert_int_equal(e->descriptor.channel, 16);
    assert_true(e->descriptor.keyword == UINT64_C(0x8000000000000010));
    assert_true(span_is(e->level_name, "Chatty"));
    assert_true(span_is(e->task_name, "Query"));
    assert_true(span_is(e->opcode_name, "Not answered"));
    assert_true(span_is(e->channel_name, "Some-Provider/Operational"));
    assert_true(span_is(e->message, "Query %1."));
    assert_true(span_is(e->keywords[0].name, "Of names"));
    assert_true(e->keywords[0].mask == 0x10);
    assert_true(span_is(e->keywords[1].name, "Some-Provider/Operational"));
    manifest_events_destroy(manifest);
}

/* Opcodes that winmeta.xml names need no line; `-` is no name. */
static void numbers_without_names_stay_numbers(void **state)
{
    (void)state;
    struct manifest *manifest = read_well(HEAD "task 5 - 20=Twenty\n"
                                               "event 1 0 4 5 1 0x0 0 -\n"
                                               "event 2 0 4 9 77 0x0 0 -\n");
    const struct event_schema *e = manifest->events[0];
    assert_int_equal(e->task_name.size, 0);
    assert_true(span_is(e->level_name, "Information"));
    assert_true(span_is(e->opcode_name, "Start"));
    assert_true(e->has_layout);
    assert_int_equal(e->field_count, 0);
    e = manifest->events[1];
    assert_int_equal(e->descriptor.task, 9);
    assert_int_equal(e->task_name.size, 0);
    assert_int_equal(e->opcode_name.size, 0);
    manifest_events_destroy(manifest);
}

static void fields_have_types_counts_lengths_and_maps(void **state)
{
    (void)state;
    struct manifest *manifest = read_well(
        HEAD "values Kind 0=None 1=\"Some kind\"\n"
             "bits Flags 0x1=A 0x80=B\n"
             "template t Count:UInt16 Size:UInt32 Kind:UInt32@HexInt32=Kind Flags:UInt8=Flags\n"
             "  Fixed:UInt16@Port[3] Many:Pointer[Count] Raw:Binary@IPv6(16) Var:Binary(Size)\n"
             "  \"Two words\":UnicodeString\n"
             "event 1 0 4 0 0 0x0 0 t\n");
    const struct event_schema *e = only(manifest);
    const struct schema_field *f = e->fields;
    assert_int_equal(e->field_count, 9);
    assert_int_equal(f[2].in_type, IN_UINT32);
    assert_int_equal(f[2].out_type, OUT_HEX_INT32);
    assert_true(span_is(schema_map_find(f[2].map, 1), "Some kind"));
    assert_int_equal(f[3].map->kind, MAP_BITS);
    assert_int_equal(f[4].form, FORM_PORT);
    assert_int_equal(f[4].count, 3);
    assert_true(f[4].flags & FIELD_FIXED_COUNT);
    assert_true(f[5].flags & FIELD_PARAM_COUNT);
    assert_int_equal(f[5].count, 0);
    assert_int_equal(f[6].form, FORM_IPV6);
    assert_int_equal(f[6].length, 16);
    assert_true(f[7].flags & FIELD_PARAM_LENGTH);
    assert_int_equal(f[7].length, 1);
    assert_true(span_is(f[8].name, "Two words"));
    manifest_events_destroy(manifest);
}

static void structs_nest_and_templates_begin_with_others(void **state)
{
    (void)state;
    struct manifest *manifest = read_well(
        HEAD "template a Count:UInt32\n"
             "template b +a Rows[Count] { Id:UInt16 Pair { X:UInt8 Y:UInt8 } } End:UInt8\n"
             "event 1 0 4 0 0 0x0 0 b\n");
    const struct event_schema *e = only(manifest);
    assert_int_equal(e->top_count, 3);
    assert_int_equal(e->field_count, 7);
    assert_true(span_is(e->fields[0].name, "Count"));
    assert_true(e->fields[1].flags & FIELD_STRUCT);
    assert_true(e->fields[1].flags & FIELD_PARAM_COUNT);
    assert_int_equal(e->fields[1].struct_members, 2);
    assert_true(span_is(e->fields[2].name, "End"));
    assert_true(span_is(e->fields[4].name, "Pair"));
    assert_int_equal(e->fields[4].struct_members, 2);
    manifest_events_destroy(manifest);
}

/* In the words of the .NET runtime: "Count=%1;%nDepth=%2". */
static void a_star_makes_the_message_of_the_fields(void **state)
{
    (void)state;
    struct manifest *manifest = read_well(
        HEAD "template a Count:UInt32 Rows[Count] { Id:UInt16 } End:UInt8\n"
             "event 1 0 4 0 0 0x0 0 a *\n");
    assert_true(span_is(only(manifest)->message, "Count=%1;%nRows=%2;%nEnd=%3"));
    manifest_events_destroy(manifest);
}

static const struct {
    const char *text;
    const char *error;
} wrong[] = {
    {"", "the text names no provider"},
    {"event 1 0 4 0 0 0x0 0 -\n", "line 1: exactly one provider must come first; found \"event\""},
    {HEAD HEAD, "line 2: exactly one provider must come first; found \"provider\""},
    {"provider nobody N\n", "line 1: not a GUID: \"nobody\""},
    {HEAD "colour 1 Red\n", "line 2: unknown statement: \"colour\""},
    {HEAD "event 65536 0 4 0 0 0x0 0 -\n", "line 2: not a number, or out of range: \"65536\""},
    {HEAD "event 1 0 4 0 0 0x0 0 t\n", "line 2: no template is called \"t\""},
    {HEAD "event 1 0 4 0 0 0x0 0 - *\n",
        "line 2: an event without fields cannot have the message \"*\""},
    {HEAD "event 1 0 4 0 0 0x0 0 - \"x\" y\n",
        "line 2: unexpected text after the statement: \"y\""},
    {HEAD "task 1 A x=B\n", "line 2: an opcode must be NUMBER=NAME, not \"x=B\""},
    {HEAD "task 1 A\ntask 1 B\n", "line 3: name is empty or defined twice: \"1\""},
    {HEAD "values M 1\n", "line 2: a map entry must be NUMBER=TEXT, not \"1\""},
    {HEAD "template t A:Colour\n", "line 2: unknown type: \"Colour\""},
    {HEAD "template t A:UInt8@Colour\n", "line 2: unknown type: \"UInt8@Colour\""},
    {HEAD "template t A:UInt8[0]\n", "line 2: not a count or length: \"0\""},
    {HEAD "template t :UInt8\n", "line 2: not a field: \":UInt8\""},
    {HEAD "template t A B:UInt8\n",
        "line 2: '{' must follow the name of a struct, not \"B:UInt8\""},
    {HEAD "template t A:UInt8 { B:UInt8 }\n",
        "line 2: the members of a struct must follow its name, not \"{\""},
    {HEAD "template t A { B:UInt8\n", "line 2: a struct is not closed: \"\""},
    {HEAD "template t A:UInt8 }\n", "line 2: no struct is open for \"}\""},
    {HEAD "template t +u A:UInt8\n", "line 2: no earlier template is called \"+u\""},
    {HEAD "template t A:UInt8\n\n# more\n  \nlevel x Y\n",
        "line 6: not a number, or out of range: \"x\""},
};

static void what_is_wrong_is_told_with_its_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct error err;
        assert_null(read(wrong[i].text, &err));
        assert_string_equal(err.text, wrong[i].error);
    }
}

/* A text whose parts fit together, but not the payload, costs only that event, as with any
 * manifest. */
static void a_count_of_no_field_costs_the_event(void **state)
{
    (void)state;
    struct error err;
    struct manifest *manifest = read(HEAD "template t A:UInt8[Missing]\n"
                                          "event 1 0 4 0 0 0x0 0 t\nevent 2 0 4 0 0 0x0 0 -\n",
        &err);
    assert_non_null(manifest);
    assert_int_equal(only(manifest)->descriptor.id, 2);
    assert_non_null(strstr(warnings, "Missing"));
    manifest_events_destroy(manifest);
}

/* Each template begins with the previous one twice: the number of fields has a limit. */
static void templates_that_double_end_at_the_limit(void **state)
{
    (void)state;
    char text[2048] = HEAD "template t0 A:UInt8\n";
    for (int i = 1; i < 30; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "template t%d +t%d +t%d\n", i, i - 1, i - 1);
    }
    struct error err;
    assert_null(read(text, &err));
    assert_non_null(strstr(err.text, "more than 4096 properties"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_gets_all_names),
        cmocka_unit_test(numbers_without_names_stay_numbers),
        cmocka_unit_test(fields_have_types_counts_lengths_and_maps),
        cmocka_unit_test(structs_nest_and_templates_begin_with_others),
        cmocka_unit_test(a_star_makes_the_message_of_the_fields),
        cmocka_unit_test(what_is_wrong_is_told_with_its_line),
        cmocka_unit_test(a_count_of_no_field_costs_the_event),
        cmocka_unit_test(templates_that_double_end_at_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
