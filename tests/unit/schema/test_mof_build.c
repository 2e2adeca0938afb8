#include "schema/mof/mof_build.h"

#include <stdio.h>

#include "schema/mof/mof_parse.h"
#include "support/decode_json.h"

/*
 * Classes become schemas, which decode events. The bytes of a property and its form are those of
 * "Event Tracing MOF Qualifiers" and "Retrieving Event Data Using MOF" on learn.microsoft.com.
 */
static struct mof_model model;
static struct mof_schemas schemas;
static char warnings[4096];

static void on_warning(void *self, const char *text)
{
    (void)self;
    size_t used = strlen(warnings);
    snprintf(warnings + used, sizeof(warnings) - used, "%s\n", text);
}

static int start(void **state)
{
    (void)state;
    mof_model_init(&model, 1 << 24);
    model.warn = on_warning;
    warnings[0] = 0;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    mof_schemas_fini(&schemas);
    mof_model_fini(&model);
    return 0;
}

#define PROVIDER "11111111-0000-0000-0000-000000000001"
#define EVENT "22222222-0000-0000-0000-000000000002"

#define HEAD                                                                   \
    "[Dynamic, Guid(\"{" PROVIDER "}\")] class My_Provider : EventTrace {};\n" \
    "[Dynamic, Guid(\"{" EVENT "}\"), EventVersion(2)] class Work_V2 : My_Provider {};\n"

static void build(const char *text)
{
    struct error err = {0};
    assert_true(mof_parse(&model, span_text(text), "a.mof", &err));
    mof_model_link(&model);
    assert_true(mof_build(&model, &schemas, &err));
}

static const struct event_schema *find(const char *class_guid, uint8_t type, uint8_t version)
{
    struct guid guid;
    struct event_schema *const *first;
    assert_true(guid_parse(span_text(class_guid), &guid));
    return mof_schemas_find(&schemas, &guid, type, version, &first) ? first[0] : NULL;
}

static void assert_guid_is(const struct guid *guid, const char *expected)
{
    char text[GUID_TEXT_SIZE + 1] = "";
    guid_write(guid, text);
    assert_string_equal(text, expected);
}

static void three_classes_name_an_event(void **state)
{
    (void)state;
    build(HEAD "[EventType{1, 2, 40}, EventTypeName{\"Start\", \"End\"}] class Work_V2_Types : "
               "Work_V2 { [WmiDataId(1)] uint32 a; };");
    const struct event_schema *schema = find(EVENT, 2, 2);
    assert_string_equal(warnings, "");
    assert_int_equal(schemas.count, 3);
    assert_non_null(schema);
    assert_int_equal(schema->kind, SCHEMA_MOF);
    assert_string_equal(schema->source, "mof");
    assert_true(schema->has_layout);
    assert_guid_is(&schema->provider, PROVIDER);
    assert_guid_is(&schema->class_guid, EVENT);
    assert_span(schema->provider_name, "My_Provider");
    assert_span(schema->task_name, "Work");
    assert_span(schema->opcode_name, "End");
    assert_span(schema->event_name, "Work/End");
    assert_int_equal(schema->descriptor.opcode, 2);
    assert_int_equal(schema->descriptor.version, 2);
    assert_span(find(EVENT, 40, 2)->event_name, "Work/0x28");
    assert_int_equal(find(EVENT, 40, 2)->opcode_name.size, 0);
    assert_null(find(EVENT, 3, 2));
    assert_null(find(PROVIDER, 1, 2));
}

/* The exact version, else the highest lower one, never a higher one. */
static void versions_are_looked_up_as_in_the_kernel_table(void **state)
{
    (void)state;
    build(
        HEAD "[Guid(\"{" EVENT
             "}\"), EventVersion(4), DisplayName(\"Job\")] class Work_V4 : My_Provider {};\n"
             "[Guid(\"{" EVENT "}\")] class Work : My_Provider {};\n"
             "[EventType(1)] class A : Work_V2 { [WmiDataId(1)] uint8 two; };\n"
             "[EventType(1)] class B : Work_V4 { [WmiDataId(1)] uint8 four; };\n"
             "[EventType(1)] class C : Work { [WmiDataId(1)] uint8 latest; };\n"
             "[EventType(1), EventVersion(0)] class D : Work_V4 { [WmiDataId(1)] uint8 none; };\n");
    static const char *const expected[] = {
        "none", "none", "two", "two", "four", "latest", "latest"};
    for (uint8_t version = 0; version < 7; version++) {
        const struct event_schema *schema = find(EVENT, 1, version);
        assert_non_null(schema);
        assert_span(schema->fields[0].name, expected[version]);
    }
    assert_span(find(EVENT, 1, 4)->task_name, "Job");
    assert_string_equal(warnings, "");
}

/* A class without an event class above it: a class of its own is the only one. */
static void one_class_may_be_all(void **state)
{
    (void)state;
    build("[Guid(\"{" EVENT
          "}\"), EventType(7)] class All : EventTrace { [WmiDataId(1)] uint8 a; };");
    const struct event_schema *schema = find(EVENT, 7, 0);
    assert_non_null(schema);
    assert_guid_is(&schema->provider, EVENT);
    assert_span(schema->event_name, "All/0x7");
    assert_int_equal(schema->descriptor.version, 0);
}

#define TYPE(properties) HEAD "[EventType(1)] class T : Work_V2 {" properties "};"
#define ID(number) "[WmiDataId(" #number ")"

static void assert_event(
    const char *text, const char *payload, uint8_t pointer_size, const char *json)
{
    start(NULL);
    build(text);
    const struct event_schema *schema = find(EVENT, 1, 2);
    assert_string_equal(warnings, "");
    assert_non_null(schema);
    assert_decodes(schema, payload, pointer_size, json);
    stop(NULL);
}

static void numbers_have_their_formats(void **state)
{
    (void)state;
    assert_event(
        TYPE(ID(1) "] sint8 a;" ID(2) "] uint8 b;" ID(3) "] sint16 c;" ID(4) "] uint16 d;" ID(
            5) "] sint32 e;" ID(6) "] uint32 f;" ID(7) "] sint64 g;" ID(8) "] uint64 h;"),
        "ff ff ffff ffff ffffffff ffffffff ffffffffffffffff 0100000000000000", 8,
        "{\"a\":-1,\"b\":255,\"c\":-1,\"d\":65535,\"e\":-1,\"f\":4294967295,\"g\":-1,\"h\":1}");
    assert_event(TYPE("[WmiDataId(1), format(\"x\")] sint16 a;"
                      "[WmiDataId(2), Format(\"X\")] uint32 b;"
                      "[WmiDataId(3), format(\"x\")] uint64 c;"
                      "[WmiDataId(4)] real32 d;"
                      "[WmiDataId(5)] real64 e;"
                      "[WmiDataId(6), format(\"c\")] uint8 f;"
                      "[WmiDataId(7)] char16 g;"),
        "ffff 10000000 1000000000000000 0000803f 000000000000f03f 41 4200", 8,
        "{\"a\":\"0xffff\",\"b\":\"0x10\",\"c\":\"0x10\",\"d\":1.0,\"e\":1.0,\"f\":\"A\",\"g\":"
        "\"B\"}");
}

/* Pointers of any type are as wide as those of the record. */
static void pointers_follow_the_record(void **state)
{
    (void)state;
    static const char text[] = TYPE(ID(1) ", pointer] uint32 a;" ID(
        2) ", PointerType] uint32 b;" ID(3) ", extension(\"SizeT\"), format(\"x\")] object c;");
    assert_event(
        text, "01000000 02000000 03000000", 4, "{\"a\":\"0x1\",\"b\":\"0x2\",\"c\":\"0x3\"}");
    assert_event(text, "0100000000000000 0200000000000000 0300000000000000", 8,
        "{\"a\":\"0x1\",\"b\":\"0x2\",\"c\":\"0x3\"}");
}

static void extensions_say_the_type(void **state)
{
    (void)state;
    assert_event(
        TYPE(ID(1) ", extension(\"Port\")] object p;" ID(2) ", extension(\"ipaddr\")] uint32 a;" ID(
            3) ", extension(\"IPAddrV4\")] object b;" ID(4) ", extension(\"IPAddrV6\")] object c;"),
        "01bb c0000207 7f000001 20010db8000000000000000000000001", 8,
        "{\"p\":443,\"a\":\"192.0.2.7\",\"b\":\"127.0.0.1\",\"c\":\"2001:db8::1\"}");
    assert_event(
        TYPE(
            ID(1) ", extension(\"Guid\")] object g;" ID(2) ", extension(\"GUID\")] uint8 h[16];" ID(
                3) ", extension(\"Variant\")] object v;" ID(4) ", extension(\"RWString\")] object "
                                                               "w;" ID(5) ", "
                                                                          "extension(\"RString\")] "
                                                                          "string r;"),
        "aad2c37ce25e7748bb8e19e2f15f2fd2 aad2c37ce25e7748bb8e19e2f15f2fd2 02000000beef 41000000 "
        "4200",
        8,
        "{\"g\":\"7cc3d2aa-5ee2-4877-bb8e-19e2f15f2fd2\",\"h\":\"7cc3d2aa-5ee2-4877-bb8e-"
        "19e2f15f2fd2\","
        "\"v\":\"beef\",\"w\":\"A\",\"r\":\"B\"}");
    assert_event(TYPE(ID(1) ", extension(\"Port\")] object p[2];" ID(2) "] uint8 end;"),
        "01bb 0050 07", 8, "{\"p\":[443,80],\"end\":7}");
    /* TOKEN_USER, two pointers wide, then the SID; without one, four zero bytes. */
    static const char sid[] = TYPE(ID(1) ", extension(\"Sid\")] object s;" ID(2) "] uint8 end;");
    assert_event(sid, "0100000000000000 0000000000000000 010100000000000512000000 07", 8,
        "{\"s\":\"S-1-5-18\",\"end\":7}");
    assert_event(
        sid, "01000000 00000000 010100000000000512000000 07", 4, "{\"s\":\"S-1-5-18\",\"end\":7}");
}

static void texts_end_as_they_say(void **state)
{
    (void)state;
    assert_event(
        TYPE(ID(1) "] string a;" ID(
            2) ", StringTermination(\"NullTerminated\"), format(\"w\")] "
               "string b;" ID(3) ", StringTermination(\"Counted\")] string "
                                 "c;" ID(4) ", "
                                            "StringTermination(\"Counted\"),"
                                            " format(\"w\")] string d;" ID(
                                                5) ", StringTermination(\"ReverseCounted\")] "
                                                   "string e;" ID(6) ", "
                                                                     "StringTermination("
                                                                     "\"reversecounted\"), "
                                                                     "format(\"w\")] string "
                                                                     "f;" ID(7) ", "
                                                                                "StringTermina"
                                                                                "tion("
                                                                                "\"NotCounted"
                                                                                "\"), "
                                                                                "format(\"w\")"
                                                                                "] string g;"),
        "4100 42000000 020043 44 0200 4500 0001 46 0002 4700 480049004a00", 8,
        "{\"a\":\"A\",\"b\":\"B\",\"c\":\"CD\",\"d\":\"E\",\"e\":\"F\",\"f\":\"G\",\"g\":\"HIJ\"}");
    assert_event(TYPE(ID(1) ", StringTermination(\"NotCounted\")] string a;"), "414243", 8,
        "{\"a\":\"ABC\"}");
}

static void arrays_have_a_length(void **state)
{
    (void)state;
    assert_event(
        TYPE(ID(1) "] uint16 a[2];" ID(2) ", Max(2)] uint8 b[];" ID(
            3) ", MAX(3), format(\"s\")] char16 c[];" ID(4) ", MAX(4), format(\"c\")] uint8 "
                                                            "d[];" ID(5) ", MAX(2)] char16 e;"),
        "0100 0200 03 04 41 00 00 00 58 00 42 43 00 59 44 00 45 00", 8,
        "{\"a\":[1,2],\"b\":[3,4],\"c\":\"A\",\"d\":\"BC\",\"e\":\"DE\"}");
    assert_event(TYPE(ID(1) "] uint32 n;" ID(2) ", WmiSizeIs(\"n\"), pointer] uint32 p[];" ID(
                     3) ", WmiSizeIs(\"n\"), format(\"w\")] string s[];" ID(4) "] uint8 rest[];"),
        "02000000 01000000 02000000 41000000 42000000 07 08 09", 4,
        "{\"n\":2,\"p\":[\"0x1\",\"0x2\"],\"s\":[\"A\",\"B\"],\"rest\":[7,8,9]}");
    /* Names are compared without case. */
    assert_event(TYPE(ID(1) "] uint8 Count;" ID(2) ", WmiSizeIs(\"count\")] uint16 a[];" ID(
                     3) ", WmiSizeIs(\"COUNT\"), format(\"s\")] char16 c[];"),
        "02 0100 0200 4100 4200", 8, "{\"Count\":2,\"a\":[1,2],\"c\":\"AB\"}");
}

/* The examples of the page: values from ValueMap, else positions from 0; bits by their
 * positions. */
static void values_have_names(void **state)
{
    (void)state;
    assert_event(
        TYPE(ID(1) ", ValueMap{\"5\", \"0x02\"}, Values{\"five\", \"two\"}] uint32 a;" ID(
            2) ", Values{\"zero\", \"one\"}] uint8 b;" ID(3) ", ValueType(\"flag\"), "
                                                             "ValueMap{\"0x01\", \"0x04\"}, "
                                                             "Values{\"F1\", \"F4\"}] uint32 "
                                                             "c;" ID(
                                                                 4) ", BitMap{\"0\", "
                                                                    "\"3\"}, "
                                                                    "BitValues{\"b0\", "
                                                                    "\"b3\"}, "
                                                                    "format(\"x\")] uint32 "
                                                                    "d;" ID(
                                                                        5) ", "
                                                                           "BitValues{"
                                                                           "\"first\", "
                                                                           "\"second\"}"
                                                                           "] uint16 "
                                                                           "e;" ID(
                                                                               6) ", "
                                                                                  "ValueType("
                                                                                  "\"index\"), "
                                                                                  "ValueMap{\"1\"},"
                                                                                  " Values{\"one\","
                                                                                  " \"none\"}] "
                                                                                  "sint32 f;"),
        "02000000 01 05000000 08000000 0200 01000000", 8,
        "{\"a\":2,\"a_name\":\"two\",\"b\":1,\"b_name\":\"one\",\"c\":5,\"c_name\":[\"F1\",\"F4\"],"
        "\"d\":\"0x8\",\"d_name\":[\"b3\"],\"e\":2,\"e_name\":[\"second\"],\"f\":1,\"f_name\":"
        "\"one\"}");
}

/* Four bytes by the documentation, one as the kernel writes them: both are offered, in this
 * order. */
static void booleans_have_two_widths(void **state)
{
    (void)state;
    build(TYPE(ID(1) "] boolean yes;" ID(2) "] uint8 end;"));
    struct event_schema *const *first;
    struct guid guid;
    assert_true(guid_parse(span_text(EVENT), &guid));
    assert_int_equal(mof_schemas_find(&schemas, &guid, 1, 2, &first), 2);
    assert_decodes(first[0], "01000000 07", 8, "{\"yes\":true,\"end\":7}");
    assert_decodes(first[1], "01 07", 8, "{\"yes\":true,\"end\":7}");
}

/* The order follows WmiDataId, not the positions; the class inherits from its parents. */
static void properties_have_an_order(void **state)
{
    (void)state;
    assert_event(TYPE(ID(3) "] uint8 c;" ID(1) "] uint8 a;" ID(2) "] uint8 b;"), "01 02 03", 8,
        "{\"a\":1,\"b\":2,\"c\":3}");
    assert_event(HEAD
        "class Common : Work_V2 {" ID(1) "] uint8 a;" ID(
            2) "] uint8 b; };"
               "[EventType(1)] class T : Common {" ID(3) "] uint8 c;" ID(2) "] uint16 own; };",
        "01 0200 03", 8, "{\"a\":1,\"own\":2,\"c\":3}");
    /* The kernel's PowerEvents begin with 2. */
    assert_event(TYPE(ID(2) "] uint8 a;" ID(4) "] uint8 b;"), "01 02", 8, "{\"a\":1,\"b\":2}");
    assert_event(TYPE(""), "", 8, "{}");
}

/* The builder reports a class instead of guessing. */
static void what_is_unclear_is_told(void **state)
{
    (void)state;
    build(
        HEAD "[EventType(1)] class Cut : Work_V2 {" ID(1) "] uint8 a;\n" ID(2) "] object what;" ID(
            3) "] uint8 c; };\n"
               "[EventType(2)] class NoId : Work_V2 { uint8 a; };\n"
               "[EventType(3)] class Twice : Work_V2 {" ID(1) "] uint8 a;" ID(
                   1) "] uint8 b; };\n"
                      "[EventType(4)] class Lone : Nobody {" ID(
                          1) "] uint8 a; };\n"
                             "[EventType{5, 256}] class Far : Work_V2 {" ID(
                                 1) "] uint8 a; };\n"
                                    "[EventType(6)] class Late : Work_V2 {" ID(
                                        1) ", WmiSizeIs(\"n\")] uint8 a[];" ID(2) "] uint8 n; };\n"
                                                                                  "[EventType(7)] "
                                                                                  "class Ends : "
                                                                                  "Work_V2 {" ID(
                                                                                      1) ", "
                                                                                         "StringTer"
                                                                                         "mination("
                                                                                         "\"Somehow"
                                                                                         "\")] "
                                                                                         "string "
                                                                                         "s;};\n");
    assert_int_equal(schemas.count, 3);
    assert_decodes(find(EVENT, 1, 2), "01 02", 8, "{\"a\":1} +1");
    assert_non_null(find(EVENT, 5, 2));
    assert_int_equal(find(EVENT, 7, 2)->field_count, 0);
    assert_string_equal(warnings,
        "a.mof:4:23: class Cut: the layout ends before property what: it is an object without a "
        "known extension\n"
        "a.mof:5:16: class NoId: left out: a property has no WmiDataId from 1 to 1024\n"
        "a.mof:6:16: class Twice: left out: two properties have the same WmiDataId\n"
        "a.mof:7:16: class Lone: neither it nor a parent class in these files has a Guid, so its "
        "events cannot be identified\n"
        "a.mof:8:21: class Far: an EventType is not a number from 0 to 255 and is ignored\n"
        "a.mof:9:16: class Late: property a: its count n is not an earlier property\n"
        "a.mof:10:90: class Ends: the layout ends before property s: its StringTermination is "
        "unknown\n");
}

/* A chain of parents with many properties each would cost every class below it their product. */
static void inherited_properties_are_limited(void **state)
{
    (void)state;
    static char text[65536];
    size_t size = (size_t)snprintf(text, sizeof(text), "%s", HEAD);
    for (unsigned i = 0; i < 3; i++) {
        size += (size_t)snprintf(text + size, sizeof(text) - size, "class P%u : %s%u {", i,
            i ? "P" : "Work_V", i ? i - 1 : 2);
        for (unsigned k = 0; k < 511; k++) {
            size += (size_t)snprintf(text + size, sizeof(text) - size, "uint8 a%u;", k);
        }
        size += (size_t)snprintf(text + size, sizeof(text) - size, "};\n");
    }
    snprintf(text + size, sizeof(text) - size,
        "[EventType(1)] class Few : P1 { [WmiDataId(1)] uint8 b; };\n"
        "[EventType(2)] class Many : P2 { [WmiDataId(1)] uint8 b; };\n");
    build(text);
    assert_int_equal(find(EVENT, 1, 2)->field_count, 1);
    assert_null(find(EVENT, 2, 2));
    assert_string_equal(warnings,
        "a.mof:7:16: class Many: left out: it and its parents have more than 1024 properties\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(three_classes_name_an_event, start, stop),
        cmocka_unit_test_setup_teardown(versions_are_looked_up_as_in_the_kernel_table, start, stop),
        cmocka_unit_test_setup_teardown(one_class_may_be_all, start, stop),
        cmocka_unit_test(numbers_have_their_formats),
        cmocka_unit_test(pointers_follow_the_record),
        cmocka_unit_test(extensions_say_the_type),
        cmocka_unit_test(texts_end_as_they_say),
        cmocka_unit_test(arrays_have_a_length),
        cmocka_unit_test(values_have_names),
        cmocka_unit_test_setup_teardown(booleans_have_two_widths, start, stop),
        cmocka_unit_test(properties_have_an_order),
        cmocka_unit_test_setup_teardown(what_is_unclear_is_told, start, stop),
        cmocka_unit_test_setup_teardown(inherited_properties_are_limited, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
