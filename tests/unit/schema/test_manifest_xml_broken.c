#include "unit/schema/manifest_xml_rig.h"

/* Files that are broken, endless or no manifest: their cost, and the reported reason. */

static void a_broken_reference_costs_its_event_or_name_and_nothing_else(void **state)
{
    (void)state;
    static const struct {
        const char *inside;
        bool event_stays;
        const char *warning;
    } rows[] = {
        {"<event value=\"1\" template=\"none\"/>", false, "template none is missing"},
        {"<template tid=\"t\"><data name=\"a\" inType=\"win:What\"/></template>"
         "<event value=\"1\" template=\"t\"/>",
            false, "unknown inType \"win:What\""},
        {"<template tid=\"t\"><data name=\"a\"/></template><event value=\"1\" template=\"t\"/>",
            false, "unknown inType"},
        {"<template tid=\"t\"><binary name=\"a\"/><data name=\"b\" "
         "inType=\"win:UInt8\"/></template>"
         "<event value=\"1\" template=\"t\"/>",
            false, "unknown element binary"},
        {"<template tid=\"t\"><data name=\"a\" inType=\"win:Binary\" length=\"b\"/>"
         "<data name=\"b\" inType=\"win:UInt8\"/></template><event value=\"1\" template=\"t\"/>",
            false, "length b is not an earlier property"},
        {"<template tid=\"t\"><data name=\"a\" inType=\"win:Binary\" length=\"a\"/></template>"
         "<event value=\"1\" template=\"t\"/>",
            false, "length a is not an earlier property"},
        {"<template tid=\"t\"><struct name=\"s\"><data name=\"n\" inType=\"win:UInt8\"/></struct>"
         "<data name=\"a\" inType=\"win:UInt8\" count=\"n\"/></template>"
         "<event value=\"1\" template=\"t\"/>",
            false, "count n is not an earlier property"},
        {"<template tid=\"t\"><data name=\"n\" inType=\"win:GUID\"/>"
         "<data name=\"a\" inType=\"win:UInt8\" count=\"n\"/></template>"
         "<event value=\"1\" template=\"t\"/>",
            false, "count"},
        {"<template tid=\"t\"><data name=\"a\" inType=\"win:UInt8\" count=\"65536\"/></template>"
         "<event value=\"1\" template=\"t\"/>",
            false, "above 65535"},
        {"<template tid=\"t\"><data name=\"a\" inType=\"win:UInt8\" outType=\"?\"/></template>"
         "<event value=\"1\" template=\"t\"/>",
            true, "unknown outType"},
        {"<template tid=\"t\"><data name=\"a\" inType=\"win:UInt8\" map=\"m\"/></template>"
         "<event value=\"1\" template=\"t\"/>",
            true, "map m is missing"},
        {"<event value=\"1\" task=\"T\"/>", true, "task T is missing"},
        {"<event value=\"1\" opcode=\"O\"/>", true, "opcode O is missing"},
        {"<event value=\"1\" level=\"win:Louder\"/>", true, "level win:Louder is missing"},
        {"<event value=\"1\" keywords=\"K\"/>", true, "keyword K is missing"},
        {"<event value=\"1\" channel=\"C\"/>", true, "channel C is missing"},
        {"<event value=\"1\" message=\"$(string.none)\"/>", true, "string none is missing"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char xml[2048];
        snprintf(xml, sizeof(xml), "<i>" PROVIDER "%s<event value=\"99\"/></provider></i>",
            rows[i].inside);
        struct manifest *m = parse(xml);
        if (!strstr(warnings, rows[i].warning) || strncmp(warnings, "t.man", 5) != 0) {
            print_error("row %zu: %s\n", i, warnings);
            fail();
        }
        assert_int_equal(warning_count, 1);
        assert_int_equal(m->event_count, rows[i].event_stays ? 2 : 1);
        assert_non_null(event(m, 99));
        manifest_events_destroy(m);
    }
}

static void what_is_no_manifest_is_refused_with_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *xml;
        const char *reason;
    } rows[] = {
        {"", "no element found"},
        {"no xml", ":1:1: XML is not well-formed: "},
        {"<a>\n <b>\n  <c", ":3:3: XML is not well-formed: "},
        {"<a>", "no element found"},
        {"<a><b></a></b>", "mismatched tag"},
        {"<html/>", "no provider"},
        {"<!DOCTYPE i><i>" PROVIDER "</provider></i>", "document type"},
        {"<!DOCTYPE i [<!ENTITY a \"b\">]><i>" PROVIDER "</provider></i>", "document type"},
        {"<?xml version=\"1.0\" encoding=\"klingon\"?><i/>", "unknown encoding"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct error err = {0};
        assert_null(parse_bytes(rows[i].xml, strlen(rows[i].xml), &err));
        assert_non_null(strstr(err.text, rows[i].reason));
    }
}

static void elements_nested_without_end_are_refused_and_skipped_ones_are_not(void **state)
{
    (void)state;
    char deep[32 * 1024] = "";
    for (size_t i = 0; i < 1000; i++) {
        memcpy(deep + i * 3, "<a>", 3);
    }
    struct error err = {0};
    assert_null(parse_bytes(deep, 3000, &err));
    assert_int_equal(err.code, ERR_LIMIT);

    char *at = deep + sprintf(deep, "<i>" PROVIDER "<x>");
    for (size_t i = 0; i < 1000; i++) {
        at += sprintf(at, "<a>");
    }
    for (size_t i = 0; i < 1000; i++) {
        at += sprintf(at, "</a>");
    }
    sprintf(at, "</x><event value=\"1\"/></provider></i>");
    struct manifest *m = parse(deep);
    assert_int_equal(m->event_count, 1);
    manifest_events_destroy(m);
}

static void structs_nested_too_deep_cost_their_event(void **state)
{
    (void)state;
    char xml[4096];
    char *at = xml + sprintf(xml, "<i>" PROVIDER "<template tid=\"t\">");
    for (size_t i = 0; i < SCHEMA_MAX_DEPTH + 3; i++) {
        at += sprintf(at, "<struct name=\"s\">");
    }
    at += sprintf(at, "<data name=\"a\" inType=\"win:UInt8\"/>");
    for (size_t i = 0; i < SCHEMA_MAX_DEPTH + 3; i++) {
        at += sprintf(at, "</struct>");
    }
    sprintf(
        at, "</template><event value=\"1\" template=\"t\"/><event value=\"2\"/></provider></i>");
    struct manifest *m = parse(xml);
    assert_int_equal(m->event_count, 1);
    assert_non_null(strstr(warnings, "deep"));
    manifest_events_destroy(m);
}

static void a_manifest_beyond_its_memory_is_refused(void **state)
{
    (void)state;
    static const struct manifest_options little = {.source = "manifest", .max_bytes = 4096};
    static const char xml[] = "<i>" PROVIDER "<event value=\"1\"/></provider></i>";
    struct error err = {0};
    assert_null(manifest_xml_parse(
        span_make(xml, sizeof(xml) - 1), &(struct manifest_options){.source = "m"}, &err));
    assert_true(err.code == ERR_LIMIT || err.code == ERR_MEMORY);
    struct manifest *m = manifest_xml_parse(span_make(xml, sizeof(xml) - 1), &little, &err);
    assert_non_null(m);
    manifest_events_destroy(m);
}

static void warnings_stop_after_twenty(void **state)
{
    (void)state;
    char xml[8192];
    char *at = xml + sprintf(xml, "<i>" PROVIDER);
    for (size_t i = 0; i < 60; i++) {
        at += sprintf(at, "<event value=\"%zu\" task=\"missing\"/>", i);
    }
    sprintf(at, "</provider></i>");
    struct manifest *m = parse(xml);
    assert_int_equal(m->event_count, 60);
    assert_int_equal(warning_count, 21);
    manifest_events_destroy(m);
}

static void a_manifest_cut_off_anywhere_is_refused(void **state)
{
    (void)state;
    static const char xml[] = DOCUMENT(
        "<maps><valueMap name=\"v\"><map value=\"1\" message=\"$(string.s)\"/></valueMap></maps>"
        "<templates><template tid=\"t\"><struct name=\"s\" count=\"2\"><data name=\"a\" "
        "inType=\"win:UInt32\" map=\"v\"/></struct></template></templates>"
        "<events><event value=\"1\" template=\"t\"/></events>",
        "<string id=\"s\" value=\"x\"/>");
    for (size_t size = 0; size < sizeof(xml) - 1; size++) {
        struct error err = {0};
        assert_null(parse_bytes(xml, size, &err));
        assert_int_equal(err.code, ERR_FORMAT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broken_reference_costs_its_event_or_name_and_nothing_else),
        cmocka_unit_test(what_is_no_manifest_is_refused_with_a_reason),
        cmocka_unit_test(elements_nested_without_end_are_refused_and_skipped_ones_are_not),
        cmocka_unit_test(structs_nested_too_deep_cost_their_event),
        cmocka_unit_test(a_manifest_beyond_its_memory_is_refused),
        cmocka_unit_test(warnings_stop_after_twenty),
        cmocka_unit_test(a_manifest_cut_off_anywhere_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
