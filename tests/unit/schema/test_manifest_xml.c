#include "unit/schema/manifest_xml_rig.h"

/* Which parts of a manifest are read, and which are left out. */

static void an_event_has_the_names_and_numbers_of_what_it_refers_to(void **state)
{
    (void)state;
    struct manifest *m = parse(DOCUMENT(
        "<channels><importChannel name=\"System\" chid=\"S\"/>"
        "<channel name=\"Test-Provider/Operational\" chid=\"OP\" type=\"Operational\">"
        "<logging><maxSize>1</maxSize></logging></channel></channels>"
        "<levels><level name=\"Loud\" value=\"17\" message=\"$(string.loud)\"/></levels>"
        "<tasks><task name=\"Disk\" value=\"0x10\" message=\"$(string.disk)\"><opcodes>"
        "<opcode name=\"Spin\" value=\"30\" message=\"$(string.spin)\"/></opcodes></task>"
        "<task name=\"Net\" value=\"7\"/></tasks>"
        "<opcodes><opcode name=\"Spin\" value=\"40\"/></opcodes>"
        "<keywords><keyword name=\"K1\" mask=\"0x1\" message=\"$(string.k1)\"/>"
        "<keyword name=\"ut:K2\" mask=\"0x20\"/></keywords>"
        "<events><event value=\"1\" version=\"0\" level=\"Loud\" task=\"Disk\" opcode=\"Spin\" "
        "keywords=\"K1 ut:K2\" channel=\"OP\" message=\"$(string.m)\" symbol=\"Sym\"/>"
        "<event value=\"2\" level=\"win:Informational\" task=\"Net\" opcode=\"Spin\"/>"
        "<event value=\"3\" level=\"win:LogAlways\" task=\"win:None\" opcode=\"win:Receive\" "
        "keywords=\"win:AuditSuccess\" channel=\"S\"/>"
        "<event value=\"4\" level=\"win:Always\"/></events>",
        "<string id=\"loud\" value=\"Very loud \"/><string id=\"disk\" value=\"The disk\"/>"
        "<string id=\"spin\" value=\"Spinning\"/><string id=\"k1\" value=\"First\"/>"
        "<string id=\"m\" value=\"Spun %1%n  \"/>"));
    assert_int_equal(warning_count, 0);
    assert_int_equal(m->event_count, 4);
    assert_int_equal(event(m, 4)->descriptor.level, 0);
    const struct event_schema *e = event(m, 1);
    assert_int_equal(e->kind, SCHEMA_MANIFEST);
    assert_string_equal(e->source, "manifest");
    assert_true(e->has_layout);
    assert_span(e->provider_name, "Test-Provider");
    assert_span(e->event_name, "");
    assert_span(e->level_name, "Very loud");
    assert_int_equal(e->descriptor.level, 17);
    assert_span(e->task_name, "The disk");
    assert_int_equal(e->descriptor.task, 16);
    assert_span(e->opcode_name, "Spinning");
    assert_int_equal(e->descriptor.opcode, 30);
    assert_span(e->channel_name, "Test-Provider/Operational");
    assert_int_equal(e->descriptor.channel, 17);
    assert_true(e->descriptor.keyword == UINT64_C(0x4000000000000021));
    assert_span(e->message, "Spun %1%n ");

    e = event(m, 2);
    assert_span(e->level_name, "Information");
    assert_span(e->opcode_name, "Spin");
    assert_int_equal(e->descriptor.opcode, 40);

    e = event(m, 3);
    assert_span(e->level_name, "LogAlways");
    assert_span(e->task_name, "");
    assert_span(e->opcode_name, "Receive");
    assert_int_equal(e->descriptor.opcode, 240);
    assert_span(e->channel_name, "System");
    assert_int_equal(e->descriptor.channel, 8);
    assert_true(e->descriptor.keyword == UINT64_C(0x8020000000000000));
    manifest_events_destroy(m);
}

static void keyword_names_are_those_of_the_provider_its_channels_and_winmeta(void **state)
{
    (void)state;
    struct manifest *m = parse(
        DOCUMENT("<keywords><keyword name=\"win:Own\" mask=\"0x4\"/></keywords>"
                 "<channels><channel name=\"P/Debug\" chid=\"d\"/></channels><event value=\"1\"/>",
            ""));
    const struct event_schema *e = event(m, 1);
    static const struct {
        uint64_t mask;
        const char *name;
    } expected[] = {{4, "Own"}, {UINT64_C(0x8000000000000000), "P/Debug"},
        {UINT64_C(0x0010000000000000), "AuditFailure"}};
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        bool found = false;
        for (size_t k = 0; k < e->keyword_count; k++) {
            if (e->keywords[k].mask == expected[i].mask) {
                assert_span(e->keywords[k].name, expected[i].name);
                found = true;
            }
        }
        assert_true(found);
    }
    manifest_events_destroy(m);
}

/* There are as many names as bits, whatever a file says: the rest says nothing new. */
static void a_bit_of_the_keywords_is_named_once(void **state)
{
    (void)state;
    enum { NAMES = 300 };
    static const char begin[] = "<instrumentationManifest><instrumentation><events>" PROVIDER
                                "<keywords>";
    static const char end[] = "</keywords><event value=\"1\"/></provider></events>"
                              "</instrumentation></instrumentationManifest>";
    struct buf xml;
    buf_init(&xml, 1 << 16);
    buf_add_text(&xml, begin);
    for (int i = 0; i < NAMES; i++) {
        buf_printf(&xml, "<keyword name=\"K%d\" mask=\"0x1\"/>", i);
    }
    buf_add_text(&xml, end);
    buf_add_byte(&xml, 0);
    assert_false(xml.failed);
    struct manifest *m = parse((const char *)xml.data);
    const struct event_schema *e = event(m, 1);
    assert_true(e->keyword_count > 0 && e->keyword_count <= 64);
    size_t found = 0;
    for (size_t k = 0; k < e->keyword_count; k++) {
        if (e->keywords[k].mask == 1) {
            assert_span(e->keywords[k].name, "K0");
            found++;
        }
    }
    assert_int_equal(found, 1);
    manifest_events_destroy(m);
    buf_fini(&xml);
}

struct data_row {
    const char *attributes;
    uint16_t in_type;
    uint16_t out_type;
    uint16_t flags;
    uint16_t count;
    uint16_t length;
};

/* A 0 differs from a missing value: a list of layouts states nothing else about its events. */
static void what_an_event_leaves_out_is_not_stated(void **state)
{
    (void)state;
    static const struct {
        const char *attributes;
        unsigned unstated;
    } cases[] = {
        {"", SCHEMA_ALL_UNSTATED},
        {"level=\"\" keywords=\"\"", SCHEMA_ALL_UNSTATED},
        {"level=\"0\" task=\"0\" opcode=\"0\" channel=\"0\" keywords=\"0x0\"", 0},
        {"level=\"win:LogAlways\" task=\"win:None\" opcode=\"win:Info\" channel=\"C\" "
         "keywords=\"K\"",
            0},
        {"level=\"win:Error\"", SCHEMA_ALL_UNSTATED & ~SCHEMA_NO_LEVEL},
        {"task=\"0\" opcode=\"0\" channel=\"0\" keywords=\"0\"", SCHEMA_NO_LEVEL},
        {"level=\"4\" opcode=\"0\" channel=\"0\" keywords=\"0\"", SCHEMA_NO_TASK},
        {"level=\"4\" task=\"0\" channel=\"0\" keywords=\"0\"", SCHEMA_NO_OPCODE},
        {"level=\"4\" task=\"0\" opcode=\"0\" keywords=\"K win:SQM\"", SCHEMA_NO_CHANNEL},
        {"level=\"4\" task=\"0\" opcode=\"0\" channel=\"0\"", SCHEMA_NO_KEYWORDS},
        /* Names without a definition. A channel has a bit of the keywords. */
        {"level=\"no\" task=\"no\" opcode=\"no\" channel=\"0\" keywords=\"K no\"",
            SCHEMA_ALL_UNSTATED & ~SCHEMA_NO_CHANNEL},
        {"level=\"4\" task=\"0\" opcode=\"0\" channel=\"no\" keywords=\"K\"",
            SCHEMA_NO_CHANNEL | SCHEMA_NO_KEYWORDS},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char xml[2000];
        snprintf(xml, sizeof(xml),
            DOCUMENT("<channels><channel name=\"C\" chid=\"C\" type=\"Analytic\"/></channels>"
                     "<keywords><keyword name=\"K\" mask=\"0x1\"/></keywords>"
                     "<events><event value=\"1\" %s/></events>",
                ""),
            cases[i].attributes);
        struct manifest *manifest = parse(xml);
        assert_int_equal(manifest->event_count, 1);
        print_message("%s\n", cases[i].attributes);
        assert_int_equal(manifest->events[0]->unstated, cases[i].unstated);
        manifest_events_destroy(manifest);
    }
}

static void each_form_of_a_data_element_is_understood(void **state)
{
    (void)state;
    static const struct data_row rows[] = {
        {"inType=\"win:UInt32\"", IN_UINT32, OUT_NULL, 0, 1, 0},
        {"inType=\"UInt32\" outType=\"unsignedInt\"", IN_UINT32, OUT_NULL, 0, 1, 0},
        {"inType=\"w:uint8\" outType=\"x:STRING\"", IN_UINT8, OUT_STRING, 0, 1, 0},
        {"inType=\"win:UInt64\" outType=\"xs:HexInt64\"", IN_UINT64, OUT_HEX_INT64, 0, 1, 0},
        {"inType=\"win:Pointer\" length=\"4\"", IN_POINTER, OUT_NULL, 0, 1, 0},
        {"inType=\"win:UInt16\" length=\"nothing\"", IN_UINT16, OUT_NULL, 0, 1, 0},
        {"inType=\"win:UnicodeString\" length=\"15\"", IN_UNICODE_STRING, OUT_NULL,
            FIELD_FIXED_LENGTH, 1, 15},
        {"inType=\"win:UnicodeString\" length=\"0\"", IN_UNICODE_STRING, OUT_NULL, 0, 1, 0},
        {"inType=\"win:Binary\" length=\"0x10\" outType=\"win:IPv6\"", IN_BINARY, OUT_IPV6,
            FIELD_FIXED_LENGTH, 1, 16},
        {"inType=\"win:Binary\" length=\"n\"", IN_BINARY, OUT_NULL, FIELD_PARAM_LENGTH, 1, 0},
        {"inType=\"win:GUID\" count=\"3\"", IN_GUID, OUT_NULL, FIELD_FIXED_COUNT, 3, 0},
        {"inType=\"win:GUID\" count=\"1\"", IN_GUID, OUT_NULL, FIELD_FIXED_COUNT, 1, 0},
        {"inType=\"win:GUID\" count=\"0\"", IN_GUID, OUT_NULL, 0, 1, 0},
        {"inType=\"win:SID\" count=\"n\"", IN_SID, OUT_NULL, FIELD_PARAM_COUNT, 0, 0},
        {"inType=\"win:AnsiString\" outType=\"win:Utf8\"", IN_ANSI_STRING, OUT_UTF8, 0, 1, 0},
        {"inType=\"win:CountedBinary\"", IN_MANIFEST_COUNTED_BINARY, OUT_NULL, 0, 1, 0},
        {"inType=\"win:FILETIME\" outType=\"win:DateTimeUtc\"", IN_FILETIME, OUT_DATETIME_UTC, 0, 1,
            0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char xml[2048];
        snprintf(xml, sizeof(xml),
            DOCUMENT("<templates><template tid=\"t\"><data name=\"n\" inType=\"win:UInt32\"/>"
                     "<data name=\"x\" %s/></template></templates>"
                     "<events><event value=\"1\" template=\"t\"/></events>",
                ""),
            rows[i].attributes);
        struct manifest *m = parse(xml);
        const struct event_schema *e = event(m, 1);
        assert_int_equal(e->field_count, 2);
        const struct schema_field *x = &e->fields[1];
        assert_span(x->name, "x");
        assert_int_equal(x->in_type, rows[i].in_type);
        assert_int_equal(x->out_type, rows[i].out_type);
        assert_int_equal(x->flags, rows[i].flags);
        assert_int_equal(x->length, rows[i].length);
        assert_int_equal(x->count, rows[i].count);
        manifest_events_destroy(m);
    }
}

static void members_of_structs_stand_behind_the_top_level_properties(void **state)
{
    (void)state;
    struct manifest *m = parse(
        DOCUMENT("<templates><template tid=\"t\"><data name=\"n\" inType=\"win:UInt16\"/>"
                 "<struct name=\"s\" count=\"n\"><data name=\"size\" inType=\"win:UInt8\"/>"
                 "<struct name=\"inner\"><data name=\"b\" inType=\"win:Binary\" length=\"size\"/>"
                 "</struct><data name=\"c\" inType=\"win:Binary\" length=\"n\"/></struct>"
                 "<data name=\"last\" inType=\"win:UInt32\"/>"
                 "<UserData><E xmlns=\"x\"><data name=\"no\"/><n>%1</n></E></UserData>"
                 "</template></templates><events><event value=\"1\" template=\"t\"/></events>",
            ""));
    const struct event_schema *e = event(m, 1);
    static const char *const names[] = {"n", "s", "last", "size", "inner", "c", "b"};
    assert_int_equal(e->field_count, 7);
    assert_int_equal(e->top_count, 3);
    for (size_t i = 0; i < 7; i++) {
        assert_span(e->fields[i].name, names[i]);
    }
    assert_int_equal(e->fields[1].flags, FIELD_STRUCT | FIELD_PARAM_COUNT);
    assert_int_equal(e->fields[1].struct_start, 3);
    assert_int_equal(e->fields[1].struct_members, 3);
    assert_int_equal(e->fields[4].struct_start, 6);
    assert_int_equal(e->fields[4].struct_members, 1);
    assert_int_equal(e->fields[5].length, 0);
    assert_int_equal(e->fields[6].length, 3);
    manifest_events_destroy(m);
}

static void maps_have_their_texts_and_value_maps_are_sorted(void **state)
{
    (void)state;
    struct manifest *m = parse(DOCUMENT(
        "<maps><valueMap name=\"v\"><map value=\"0x0A\" message=\"$(string.ten)\"/>"
        "<map value=\"2\" symbol=\"TWO\"/><map value=\"-1\" message=\"minus \"/>"
        "<map message=\"no value\"/></valueMap></maps>"
        "<bitMap name=\"b\"><map value=\"0x80000000\" message=\"top\"/></bitMap>"
        "<templates><template tid=\"t\"><data name=\"a\" inType=\"win:UInt32\" map=\"v\"/>"
        "<data name=\"b\" inType=\"win:UInt32\" map=\"b\"/></template></templates>"
        "<events><event value=\"1\" template=\"t\"/><event value=\"2\" template=\"t\"/></events>",
        "<string id=\"ten\" value=\"Ten \"/>"));
    assert_int_equal(warning_count, 1);
    const struct schema_map *v = event(m, 1)->fields[0].map;
    assert_non_null(v);
    assert_int_equal(v->kind, MAP_VALUE);
    assert_int_equal(v->entry_count, 3);
    assert_span(schema_map_find(v, 10), "Ten");
    assert_span(schema_map_find(v, 2), "TWO");
    assert_span(schema_map_find(v, 0xffffffff), "minus");
    const struct schema_map *b = event(m, 1)->fields[1].map;
    assert_int_equal(b->kind, MAP_BITS);
    assert_true(b->entries[0].value == 0x80000000);
    assert_ptr_equal(event(m, 2)->fields[0].map, v);
    manifest_events_destroy(m);
}

static void strings_are_of_one_culture_and_english_goes_before_others(void **state)
{
    (void)state;
    struct manifest *m = parse(
        "<instrumentationManifest><events>" PROVIDER "<event value=\"1\" message=\"$(string.a)\"/>"
        "<event value=\"2\" message=\"$(string.b)\"/></provider></events><localization>"
        "<resources culture=\"de-DE\"><stringTable><string id=\"a\" value=\"eins\"/>"
        "<string id=\"b\" value=\"zwei\"/></stringTable></resources>"
        "<resources culture=\"en-us\"><stringTable><string id=\"a\" value=\"one\"/>"
        "</stringTable></resources></localization></instrumentationManifest>");
    assert_span(event(m, 1)->message, "one");
    assert_span(event(m, 2)->message, "");
    manifest_events_destroy(m);
}

static void numbers_are_decimal_unless_they_start_with_0x(void **state)
{
    (void)state;
    struct manifest *m = parse(
        DOCUMENT("<events><event value=\"02050\"/><event value=\"0x10\" version=\"1\"/>"
                 "<event value=\"65536\"/><event value=\"1\" version=\"256\"/><event value=\"x\"/>"
                 "<event/></events>",
            ""));
    assert_int_equal(m->event_count, 2);
    assert_int_equal(warning_count, 4);
    size_t first;
    assert_int_equal(manifest_events_find(m, &provider_guid, 2050, 0, &first), 1);
    assert_int_equal(manifest_events_find(m, &provider_guid, 16, 1, &first), 1);
    assert_int_equal(manifest_events_find(m, &provider_guid, 16, 0, &first), 0);
    manifest_events_destroy(m);
}

static void a_dump_with_prefixes_templates_inside_events_and_number_references_is_read(void **state)
{
    (void)state;
    struct manifest *m = parse(
        "<?xml version='1.0'?><m:assembly xmlns:m='urn:x'><m:events><m:provider m:name=\"P\" "
        "guid='01020304-0506-0708-090A-0B0C0D0E0F10'><m:events><m:event value='1' level='4' "
        "task='9' opcode='2' channel='16' keywords='0x3'><m:template>"
        "<m:data name='a' inType='Int8'/></m:template></m:event>"
        "</m:events></m:provider></m:events></m:assembly>");
    assert_int_equal(warning_count, 0);
    const struct event_schema *e = event(m, 1);
    assert_span(e->provider_name, "P");
    assert_span(e->level_name, "Information");
    assert_int_equal(e->descriptor.task, 9);
    assert_span(e->opcode_name, "Stop");
    assert_int_equal(e->descriptor.channel, 16);
    assert_true(e->descriptor.keyword == 3);
    assert_int_equal(e->field_count, 1);
    manifest_events_destroy(m);
}

static void an_eventsource_names_its_events_and_a_dump_of_a_manifest_does_not(void **state)
{
    (void)state;
    static const char form[] =
        "<i><provider name=\"P\" guid=\"" GUID_TEXT "\" resourceFileName=\"P\" "
        "messageFileName=\"P\" symbol=\"P\" %s><tasks><task name=\"T\" value=\"1\"/></tasks>"
        "<event value=\"1\" symbol=\"DoneStart\" task=\"T\"/><event value=\"2\" task=\"T\"/>"
        "</provider></i>";
    char xml[1024];
    snprintf(xml, sizeof(xml), form, "");
    struct manifest *m = parse(xml);
    assert_int_equal(event(m, 1)->kind, SCHEMA_EVENTSOURCE);
    assert_span(event(m, 1)->event_name, "DoneStart");
    assert_span(event(m, 2)->event_name, "T");
    manifest_events_destroy(m);
    snprintf(xml, sizeof(xml), form, "source=\"Xml\"");
    m = parse(xml);
    assert_int_equal(event(m, 1)->kind, SCHEMA_MANIFEST);
    assert_span(event(m, 1)->event_name, "");
    manifest_events_destroy(m);
}

static void providers_of_counters_and_without_guid_are_left_out(void **state)
{
    (void)state;
    struct manifest *m = parse(
        "<i><counters><provider providerGuid=\"" GUID_TEXT "\"><struct/></provider></counters>"
        "<provider name=\"No-Guid\"><event value=\"1\"/></provider>" PROVIDER
        "<event value=\"7\"/></provider></i>");
    assert_int_equal(m->event_count, 1);
    assert_int_equal(warning_count, 1);
    assert_non_null(strstr(warnings, "No-Guid has no GUID"));
    manifest_events_destroy(m);
}

static void utf_16_and_windows_1252_are_read(void **state)
{
    (void)state;
    static const char ascii[] = "<i>" PROVIDER "<event value=\"1\" message=\"a\"/></provider></i>";
    uint8_t wide[2 + 2 * sizeof(ascii)] = {0xff, 0xfe};
    size_t size = 2;
    for (const char *c = ascii; *c; c++) {
        wide[size] = (uint8_t)*c;
        size += 2;
    }
    struct error err = {0};
    struct manifest *m = parse_bytes(wide, size, &err);
    assert_non_null(m);
    assert_span(event(m, 1)->message, "a");
    manifest_events_destroy(m);

    m = parse("<?xml version=\"1.0\" encoding=\"Windows-1252\"?><i>" PROVIDER
              "<event value=\"1\" message=\"\x80\xe4\"/></provider></i>");
    assert_span(event(m, 1)->message, "\xe2\x82\xac\xc3\xa4");
    manifest_events_destroy(m);
}

static void events_of_one_key_keep_the_order_of_the_file(void **state)
{
    (void)state;
    struct manifest *m = parse(DOCUMENT("<event value=\"5\" message=\"first\"/><event value=\"1\"/>"
                                        "<event value=\"5\" message=\"second\"/>",
        ""));
    size_t first = 0;
    assert_int_equal(manifest_events_find(m, &provider_guid, 5, 0, &first), 2);
    assert_span(m->events[first]->message, "first");
    assert_span(m->events[first + 1]->message, "second");
    static const struct guid other = {{1}};
    assert_int_equal(manifest_events_find(m, &other, 5, 0, &first), 0);
    manifest_events_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_has_the_names_and_numbers_of_what_it_refers_to),
        cmocka_unit_test(keyword_names_are_those_of_the_provider_its_channels_and_winmeta),
        cmocka_unit_test(a_bit_of_the_keywords_is_named_once),
        cmocka_unit_test(what_an_event_leaves_out_is_not_stated),
        cmocka_unit_test(each_form_of_a_data_element_is_understood),
        cmocka_unit_test(members_of_structs_stand_behind_the_top_level_properties),
        cmocka_unit_test(maps_have_their_texts_and_value_maps_are_sorted),
        cmocka_unit_test(strings_are_of_one_culture_and_english_goes_before_others),
        cmocka_unit_test(numbers_are_decimal_unless_they_start_with_0x),
        cmocka_unit_test(
            a_dump_with_prefixes_templates_inside_events_and_number_references_is_read),
        cmocka_unit_test(an_eventsource_names_its_events_and_a_dump_of_a_manifest_does_not),
        cmocka_unit_test(providers_of_counters_and_without_guid_are_left_out),
        cmocka_unit_test(utf_16_and_windows_1252_are_read),
        cmocka_unit_test(events_of_one_key_keep_the_order_of_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
