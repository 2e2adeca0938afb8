#include "schema/mof/mof_parse.h"

#include <stdio.h>

#include "support/test.h"

/* MOF text to classes: the grammar of DSP0004, and the reports for other text. */
static struct mof_model model;
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
    mof_model_fini(&model);
    return 0;
}

static void parse(const char *text, const char *name)
{
    struct error err = {0};
    assert_true(mof_parse(&model, span_text(text), name, &err));
}

static const struct mof_class *class_of(const char *name)
{
    const struct mof_class *class = model.first;
    while (class && !span_is(class->name, name)) {
        class = class->next;
    }
    return class;
}

static const struct mof_property *property_of(const char *class_name, const char *name)
{
    const struct mof_class *class = class_of(class_name);
    assert_non_null(class);
    const struct mof_property *p = class->properties;
    while (p && !span_is(p->name, name)) {
        p = p->next;
    }
    assert_non_null(p);
    return p;
}

/* A provider's flags and levels, after the example in "Event Tracing MOF Qualifiers": texts of an
 * array without a comma between them form one text. */
static void classes_are_read(void **state)
{
    (void)state;
    parse("#pragma classflags(\"forceupdate\")\n"
          "#pragma namespace (\"\\\\\\\\.\\\\root\\\\WMI\")\n"
          "/* a comment; class No { */ // class Neither {\n"
          "[Dynamic, Description(\"IIS\" \" Trace\") : amended,\r\n"
          " guid(\"{3a2a4e84-4c21-4981-ae10-3fda0d9b0f83}\"), locale(\"MS\\\\0x409\")]\n"
          "class IIS_Trace as $alias : EventTrace\n"
          "{\n"
          "    [Values{\"Fatal\", \"Error\"}, ValueMap{\"0x1\", \"0x2\"}: amended ToInstance,\n"
          "     DefineValues{\"A\" \"B\", \"C\"}, read]\n"
          "    uint32 Flags = 7;\n"
          "    uint8 Bytes[16] = {1, 2};\n"
          "    object:Other Embedded;\n"
          "    Other ref Reference;\n"
          "    [Implemented] boolean Method([in] string a[], [out] uint32 b);\n"
          "};\n",
        "a.mof");
    assert_string_equal(warnings, "");
    assert_int_equal(model.class_count, 1);
    const struct mof_class *class = class_of("IIS_Trace");
    struct guid guid;
    char text[GUID_TEXT_SIZE + 1] = "";
    assert_true(mof_class_guid(class, &guid));
    guid_write(&guid, text);
    assert_string_equal(text, "3a2a4e84-4c21-4981-ae10-3fda0d9b0f83");
    assert_span(class->parent, "EventTrace");
    assert_span(mof_qualifier_text(class->qualifiers, "description"), "IIS Trace");
    assert_span(mof_qualifier_text(class->qualifiers, "Locale"), "MS\\0x409");
    assert_int_equal(class->property_count, 4);
    const struct mof_property *flags = property_of("IIS_Trace", "Flags");
    const struct mof_qualifier *names = mof_qualifier_find(flags->qualifiers, "definevalues");
    assert_int_equal(names->value_count, 2);
    assert_span(names->values->text, "AB");
    assert_span(names->values->next->text, "C");
    assert_non_null(mof_qualifier_find(flags->qualifiers, "READ"));
    assert_int_equal(property_of("IIS_Trace", "Bytes")->length, 16);
    assert_true(property_of("IIS_Trace", "Reference")->is_bad);
}

static void escapes_are_resolved(void **state)
{
    (void)state;
    parse("[Description(\"a\\tb\\\"\\x41\\x20AC\\q\"), One('x')] class A {};", "a.mof");
    const struct mof_class *class = class_of("A");
    assert_span(mof_qualifier_text(class->qualifiers, "Description"), "a\tb\"A\xe2\x82\xac"
                                                                      "q");
    assert_span(mof_qualifier_text(class->qualifiers, "One"), "x");
}

static void numbers_have_three_forms(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool good;
        uint64_t value;
    } cases[] = {
        {"0", true, 0},
        {"255", true, 255},
        {"0xfF", true, 255},
        {"1010b", true, 10},
        {"256", false, 0},
        {"0x100", false, 0},
        {"100000000b", false, 0},
        {"-1", false, 0},
        {"1.0", false, 0},
        {"", false, 0},
        {"12b", false, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t value = 77;
        assert_int_equal(mof_number(span_text(cases[i].text), 255, &value), cases[i].good);
        assert_int_equal(value, cases[i].good ? cases[i].value : 77);
    }
}

/* Of a text with an unreadable class only that class is lost, and its place is reported. */
static void other_classes_stay(void **state)
{
    (void)state;
    parse("class A { uint32 a; };\n"
          "[Guid(\"x\"] class B { uint32 b; };\n"
          "class C { uint32 c; };\n"
          "class D { uint32 ; };\n"
          "class E { uint32 e;\n"
          "[EventType(1)] class F { uint32 f; };\n"
          "nonsense (;) here;\n"
          "instance of A { a = 1; };\n"
          "Qualifier Guid : string = null, Scope(class);\n"
          "class G { string s; [Q(\"not closed\n)] string t; };\n"
          "class H { uint32 h; }\n"
          "class I {};\n"
          "class J { ",
        "a.mof");
    static const char *const kept[] = {"A", "C", "F", "H", "I"};
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        assert_non_null(class_of(kept[i]));
    }
    assert_int_equal(model.class_count, 5);
    assert_non_null(mof_qualifier_find(class_of("F")->qualifiers, "EventType"));
    assert_string_equal(warnings,
        "a.mof:2:10: ')' is missing before ']'\n"
        "a.mof:4:18: the name of a property is missing before ';'\n"
        "a.mof:6:16: '}' is missing: class E, which begins in line 5, has no end\n"
        "a.mof:7:1: 'class' is missing before 'nonsense'\n"
        "a.mof:10:24: a text has no closing quote on its line\n"
        "a.mof:14:11: unexpected end of text; expected the type of a property\n");
}

static void further_warnings_are_counted(void **state)
{
    (void)state;
    char text[512] = "class B {};\n"; /* the model borrows it */
    for (size_t k = 0; k < 25; k++) {
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "bad;\n");
    }
    parse(text, "a.mof");
    parse("class A {};", "b.mof");
    mof_model_end_warnings(&model);
    size_t lines = 0;
    for (const char *p = warnings; *p; p++) {
        lines += *p == '\n';
    }
    assert_int_equal(lines, MOF_MAX_WARNINGS + 1);
    assert_non_null(strstr(warnings, "a.mof: 5 further warnings\n"));
    assert_non_null(class_of("A"));
}

/* The first place shows that it is something else. */
static void what_is_no_mof_text_is_told_once(void **state)
{
    (void)state;
    parse("any text; that;\nhas no class\n; in it;", "a.mof");
    parse("bad;\nworse;\nclass A {};\nbad;", "b.mof");
    mof_model_end_warnings(&model);
    assert_string_equal(warnings, "a.mof:1:1: 'class' is missing before 'any'\n"
                                  "b.mof:1:1: 'class' is missing before 'bad'\n"
                                  "b.mof:4:1: 'class' is missing before 'bad'\n"
                                  "b.mof: 1 further warnings\n");
}

static void what_is_included_is_told(void **state)
{
    (void)state;
    parse("#pragma include (\"other.mof\")\nclass A {};", "a.mof");
    assert_string_equal(
        warnings, "a.mof:1:9: included files are not read; add the file to the setting schema\n");
    assert_non_null(class_of("A"));
}

/* Parents are searched for in the same file first. Amendments add members that the class lacks. */
static void classes_are_linked(void **state)
{
    (void)state;
    parse("class Base { uint32 one; };\nclass Child : base { };\nclass Lone : Nobody {};\n"
          "[Guid(\"g\")] class Said { [WmiDataId(1)] uint32 p; };",
        "a.mof");
    parse("class Base { uint32 two; };\nclass Second : Base { };", "b.mof");
    parse("class Third : Base {};\n"
          "[Amendment, Description(\"d\") : Amended, Guid(\"other\")] class Said {\n"
          " uint32 q; [Values{\"v\"} : Amended] uint32 p; };",
        "c.mfl");
    parse("class X : Y {}; class Y : X {};", "d.mof");
    mof_model_link(&model);
    assert_span(class_of("Child")->base->properties->name, "one");
    assert_span(class_of("Second")->base->properties->name, "two");
    assert_span(class_of("Third")->base->properties->name, "one");
    assert_null(class_of("Lone")->base);
    const struct mof_class *said = class_of("Said");
    assert_span(mof_qualifier_text(said->qualifiers, "Guid"), "g");
    assert_span(mof_qualifier_text(said->qualifiers, "Description"), "d");
    assert_span(mof_qualifier_text(said->properties->qualifiers, "Values"), "v");
    assert_string_equal(warnings, "d.mof:1:1: class X: its parents form a cycle or are more than "
                                  "64; the class is treated as having no parent\n");
}

/* Any number of files may have a class of that name, such as several versions of a provider. */
static void files_keep_to_their_own_parents(void **state)
{
    (void)state;
    enum { FILES = 200 };
    static char texts[FILES][128]; /* classes borrow them */
    for (unsigned i = 0; i < FILES; i++) {
        char name[16];
        snprintf(texts[i], sizeof(texts[i]),
            "class Base { uint32 p%u; };\nclass Child%u : Base {};\n", i, i);
        snprintf(name, sizeof(name), "%u.mof", i);
        parse(texts[i], name);
    }
    mof_model_link(&model);
    for (unsigned i = 0; i < FILES; i++) {
        char name[16];
        char child[16];
        snprintf(child, sizeof(child), "Child%u", i);
        snprintf(name, sizeof(name), "p%u", i);
        assert_span(class_of(child)->base->properties->name, name);
    }
}

static void amendments_have_any_order(void **state)
{
    (void)state;
    parse("class A { uint32 x; uint32 y; uint32 z; };", "a.mof");
    parse("[Amendment] class Nobody { [Values{\"n\"}] uint32 x; };\n"
          "[Amendment] class A { [Values{\"z\"}] uint32 z; [Values{\"n\"}] uint32 none;\n"
          " [Values{\"x\"}] uint32 X; [Values{\"y\"}] uint32 y; };",
        "a.mfl");
    mof_model_link(&model);
    static const char *const names[] = {"x", "y", "z"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_span(mof_qualifier_text(property_of("A", names[i])->qualifiers, "Values"), names[i]);
    }
    assert_string_equal(warnings, "");
}

/* Versions of a provider lie side by side, each with its own texts. */
static void amendments_are_for_the_nearest_class(void **state)
{
    (void)state;
    static const struct {
        const char *mof;
        const char *mfl;
        char text[96]; /* classes borrow it */
    } files[] = {
        {"s/v1/a.mof", "s/v1/a.mfl", "[Amendment] class A { [Values{\"0\"}] uint32 x; };"},
        {"s/v2/a.mof", "s/V2/A.MFL", "[Amendment] class A { [Values{\"1\"}] uint32 x; };"},
        {"s/v2/b.mof", "s/v2/b.mfl", "[Amendment] class A { [Values{\"2\"}] uint32 x; };"},
        {"s/v3/a.mof", "s/v3/other.mfl", "[Amendment] class A { [Values{\"3\"}] uint32 x; };"},
        {"s\\v4\\a.mof", "s\\v4\\en-US\\a.mfl",
            "[Amendment] class A { [Values{\"4\"}] uint32 x; };"},
        {"a.mof", "a.mfl", "[Amendment] class A { [Values{\"5\"}] uint32 x; };"},
    };
    enum { FILES = sizeof(files) / sizeof(files[0]) };
    for (size_t i = FILES; i-- > 0;) {
        parse(files[i].text, files[i].mfl);
        parse("class A { uint32 x; };", files[i].mof);
    }
    mof_model_link(&model);
    size_t seen = 0;
    for (const struct mof_class *class = model.first; class; class = class->next) {
        for (size_t i = 0; i < FILES && !class->is_local; i++) {
            if (strcmp(class->file->name, files[i].mof) == 0) {
                char number[2] = {(char)('0' + i)};
                assert_span(mof_qualifier_text(class->properties->qualifiers, "Values"), number);
                seen++;
            }
        }
    }
    assert_int_equal(seen, FILES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(classes_are_read, start, stop),
        cmocka_unit_test_setup_teardown(escapes_are_resolved, start, stop),
        cmocka_unit_test(numbers_have_three_forms),
        cmocka_unit_test_setup_teardown(other_classes_stay, start, stop),
        cmocka_unit_test_setup_teardown(further_warnings_are_counted, start, stop),
        cmocka_unit_test_setup_teardown(what_is_no_mof_text_is_told_once, start, stop),
        cmocka_unit_test_setup_teardown(what_is_included_is_told, start, stop),
        cmocka_unit_test_setup_teardown(classes_are_linked, start, stop),
        cmocka_unit_test_setup_teardown(files_keep_to_their_own_parents, start, stop),
        cmocka_unit_test_setup_teardown(amendments_have_any_order, start, stop),
        cmocka_unit_test_setup_teardown(amendments_are_for_the_nearest_class, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
