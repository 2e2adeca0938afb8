#include "input/evtx/evtx_xml.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "etw/etw_text.h"
#include "input/evtx/evtx_event.h"
#include "input/evtx/evtx_format.h"
#include "input/evtx/evtx_typed.h"
#include "support/test.h"

/* XML of one record as Windows renders it. The expected values follow from the rules of XML 1.0,
 * and, for types, from the same values in binary XML. */

enum { MAX_CHARS = 8192 };

static struct evtx_tree tree;
static struct evtx_room room;
static struct evtx_event event;
static uint16_t wide[MAX_CHARS];

static const char *read_xml(const char *text)
{
    size_t units;
    assert_true(etw_text_encode(span_text(text), wide, MAX_CHARS, &units));
    return evtx_xml_read(&tree, &room, (uint8_t *)wide, units * 2);
}

static uint16_t element(uint16_t parent, const char *name)
{
    uint16_t at = evtx_tree_find(&tree, parent, EVTX_NODE_ELEMENT, name);
    assert_int_not_equal(at, EVTX_TREE_NONE);
    return at;
}

static void assert_value(uint16_t node, const char *text)
{
    uint8_t memory[1024];
    assert_span(evtx_value_utf8(&tree, node, memory, sizeof(memory)), text);
}

static void elements_attributes_and_text_become_a_tree(void **state)
{
    (void)state;
    assert_null(read_xml("<?xml version='1.0'?><!-- < --><a x='1' y = \"it's\"><b>text</b><c/>"
                         "<d z=''></d></a>"));
    uint16_t a = element(0, "a");
    assert_value(evtx_tree_find(&tree, a, EVTX_NODE_ATTRIBUTE, "x"), "1");
    assert_value(evtx_tree_find(&tree, a, EVTX_NODE_ATTRIBUTE, "y"), "it's");
    assert_value(element(a, "b"), "text");
    assert_int_equal(tree.nodes[element(a, "c")].first, EVTX_TREE_NONE);
    assert_value(element(a, "d"), "");
}

static void references_are_what_they_stand_for(void **state)
{
    (void)state;
    assert_null(
        read_xml("<a q='&quot;&apos;'>&lt;x&gt; &amp;amp; &#65;&#x42;&#x1F600;\xc3\xa4</a>"));
    assert_value(element(0, "a"), "<x> &amp; AB\xf0\x9f\x98\x80\xc3\xa4");
    assert_value(evtx_tree_find(&tree, element(0, "a"), EVTX_NODE_ATTRIBUTE, "q"), "\"'");
    assert_null(read_xml("<a><![CDATA[<b>&amp;</b>]]></a>"));
    assert_value(element(0, "a"), "<b>&amp;</b>");
}

static void what_is_no_xml_is_said(void **state)
{
    (void)state;
    static const char *const wrong[] = {"<a>", "<a", "<a x>", "<a x=1>", "<a x='1>", "</a>",
        "<a></b>", "<a><b></a></b>", "<a>&nbsp;</a>", "<a>&#;</a>", "<a>&#x110000;</a>", "<>",
        "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "<a><![CDATA[x</a>", "<a>&#65</a>"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_non_null(read_xml(wrong[i]));
    }
}

static void deep_and_wide_xml_ends_at_the_limits(void **state)
{
    (void)state;
    static char deep[MAX_CHARS];
    for (size_t i = 0; i < 100; i++) {
        memcpy(deep + 3 * i, "<a>", 4);
    }
    assert_non_null(read_xml(deep));
    static uint8_t many[EVTX_TREE_NODES * 8 + 6];
    store_le16(many, '<');
    store_le16(many + 2, 'a');
    store_le16(many + 4, '>');
    for (size_t i = 0; i < EVTX_TREE_NODES; i++) {
        static const uint8_t empty[] = {'<', 0, 'b', 0, '/', 0, '>', 0};
        memcpy(many + 6 + 8 * i, empty, sizeof(empty));
    }
    assert_string_equal(evtx_xml_read(&tree, &room, many, sizeof(many)),
        "damaged record: it has too many elements");
}

/* ---- types ----------------------------------------------------------------------------------- */

#define DATA(xml) "<Event><System/><EventData>" xml "</EventData></Event>"

static const struct evtx_node *value_at(unsigned place)
{
    uint16_t at = tree.nodes[element(element(0, "Event"), "EventData")].first;
    for (; place; place--) {
        at = tree.nodes[at].next;
    }
    for (at = tree.nodes[at].first; at != EVTX_TREE_NONE; at = tree.nodes[at].next) {
        if (tree.nodes[at].kind == EVTX_NODE_VALUE) {
            return &tree.nodes[at];
        }
    }
    return NULL;
}

static void values_take_their_types(void **state)
{
    (void)state;
    static const uint8_t number[8] = {0x18, 0x17};
    static const uint8_t minus[4] = {0xfe, 0xff, 0xff, 0xff};
    static const uint8_t yes[4] = {1};
    static const uint8_t system[12] = {1, 1, 0, 0, 0, 0, 0, 5, 18};
    static const uint8_t time[8] = {0x00, 0x80, 0x3e, 0xd5, 0xde, 0xb1, 0x9d, 0x01}; /* 1970 */
    static const uint8_t bytes[3] = {0x0a, 0xff, 0x00};
    static const struct guid guid = {{0x25, 0x96, 0x84, 0x54, 0x78, 0x54, 0x94, 0x49, 0xa5, 0xba,
        0x3e, 0x3b, 0x03, 0x28, 0xc3, 0x0d}};
    const struct evtx_given given[] = {{span_make(number, 4), EVTX_UINT32},
        {span_make(number, 8), EVTX_HEX64}, {span_make(minus, 4), EVTX_INT32},
        {span_make(yes, 4), EVTX_BOOL}, {span_make(system, sizeof(system)), EVTX_SID},
        {span_make(time, 8), EVTX_FILETIME}, {span_make(bytes, 3), EVTX_BINARY},
        {span_make(guid.bytes, 16), EVTX_GUID}};
    assert_null(read_xml(DATA("<Data Name='a'>5912</Data><Data>0x1718</Data><Data>-2</Data>"
                              "<Data>true</Data><Data>S-1-5-18</Data>"
                              "<Data>1970-01-01T00:00:00.0000000Z</Data><Data>0AFF00</Data>"
                              "<Data>{54849625-5478-4994-a5ba-3e3b0328c30d}</Data>")));
    assert_int_equal(evtx_typed_apply(&tree, given, 8), 0);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(value_at(i)->type, given[i].type);
        assert_true(span_equal(value_at(i)->bytes, given[i].bytes));
    }
}

static void values_that_contradict_the_xml_do_not_count(void **state)
{
    (void)state;
    static const uint8_t zero[8];
    const struct evtx_given given[] = {{span_make(zero, 4), EVTX_UINT32},
        {span_make(zero, 4), EVTX_BOOL}, {span_make(zero, 8), EVTX_FILETIME},
        {span_make(zero, 2), EVTX_BINARY}};
    assert_null(read_xml(DATA(
        "<Data Name='ProcessId'>5916</Data><Data>true</Data><Data>now</Data><Data>0001</Data>")));
    assert_int_equal(evtx_typed_apply(&tree, given, 4), 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(value_at(i)->type, EVTX_TEXT16);
    }
}

static void more_or_fewer_values_than_the_xml_has_do_not_count(void **state)
{
    (void)state;
    static const uint8_t one[8] = {1};
    const struct evtx_given given[] = {
        {span_make(one, 4), EVTX_UINT32}, {span_make(one, 4), EVTX_UINT32}};
    assert_null(read_xml(DATA("<Data>1</Data>")));
    assert_int_equal(evtx_typed_apply(&tree, given, 2), 2);
    assert_int_equal(value_at(0)->type, EVTX_TEXT16);
}

static void nothing_and_an_empty_text_are_told_apart(void **state)
{
    (void)state;
    const struct evtx_given given[] = {
        {span_make(NULL, 0), EVTX_NULL}, {span_make(NULL, 0), EVTX_TEXT16}};
    assert_null(read_xml(DATA("<Data Name='a'></Data><Data Name='b'/>")));
    assert_int_equal(evtx_typed_apply(&tree, given, 2), 0);
    assert_null(value_at(0));
    assert_non_null(value_at(1));
    assert_int_equal(value_at(1)->bytes.size, 0);
}

static void values_of_user_data_go_by_the_order_of_the_document(void **state)
{
    (void)state;
    static const uint8_t seven[4] = {7};
    const struct evtx_given given[] = {{span_make(seven, 4), EVTX_UINT32},
        {span_make(NULL, 0), EVTX_TEXT16}, {span_make(seven, 4), EVTX_UINT32}};
    assert_null(read_xml("<Event><System/><UserData><Job xmlns='urn:x' id='7'><Name>n</Name>"
                         "<Sub><Step>7</Step></Sub></Job></UserData></Event>"));
    assert_int_equal(evtx_typed_apply(&tree, given, 3), 0);
    uint16_t job = element(element(element(0, "Event"), "UserData"), "Job");
    uint16_t step = element(element(job, "Sub"), "Step");
    assert_int_equal(tree.nodes[tree.nodes[step].first].type, EVTX_UINT32);
    uint16_t id = evtx_tree_find(&tree, job, EVTX_NODE_ATTRIBUTE, "id");
    assert_int_equal(tree.nodes[tree.nodes[id].first].type, EVTX_UINT32);
}

/* ---- the record ------------------------------------------------------------------------------ */

static void system_becomes_the_header(void **state)
{
    (void)state;
    const char *problem = NULL;
    static const uint8_t user[] = {
        1, 5, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0xf4, 1, 0, 0};
    assert_null(read_xml(
        "<Event xmlns='http://schemas.microsoft.com/win/2004/08/events/event'><System>"
        "<Provider Name='Microsoft-Windows-Security-Auditing' "
        "Guid='{54849625-5478-4994-a5ba-3e3b0328c30d}'/><EventID Qualifiers='16384'>4624</EventID>"
        "<Version>2</Version><Level>0</Level><Task>12544</Task><Opcode>0</Opcode>"
        "<Keywords>0x8020000000000000</Keywords>"
        "<TimeCreated SystemTime='2025-11-24T18:10:00.123456700Z'/>"
        "<EventRecordID>4711</EventRecordID>"
        "<Correlation ActivityID='{00000100-0000-0003-193d-42fb30bbcb01}'/>"
        "<Execution ProcessID='748' ThreadID='5036'/><Channel>Security</Channel>"
        "<Computer>PC-1.corp.example</Computer><Security UserID='S-1-5-21-1-2-3-500'/></System>"
        "<EventData><Data Name='TargetUserName'>anna</Data></EventData></Event>"));
    evtx_typed_none(&tree);
    event.record = (struct event_record){.trace = NULL};
    assert_true(evtx_event_fill(&event, &tree, &problem));
    assert_null(problem);
    const struct event_record *r = &event.record;
    assert_int_equal(r->descriptor.id, 4624);
    assert_int_equal(r->descriptor.version, 2);
    assert_int_equal(r->descriptor.task, 12544);
    assert_true(r->descriptor.keyword == UINT64_C(0x8020000000000000));
    assert_int_equal(r->log_qualifiers, 16384);
    assert_int_equal(r->log_record_id, 4711);
    assert_true(r->time == UINT64_C(134084814001234567));
    assert_int_equal(r->process_id, 748);
    assert_int_equal(r->thread_id, 5036);
    assert_span(event.computer, "PC-1.corp.example");
    const struct extended_item *sid = record_extended(r, EXTENDED_SID);
    assert_non_null(sid);
    assert_false(r->present & RECORD_SID_IS_TEXT);
    assert_true(span_equal(sid->data, span_make(user, sizeof(user))));
}

/* The metadata has the name of the field and those of its members, each with its NUL. */
static void data_with_elements_has_its_name_once(void **state)
{
    (void)state;
    const char *problem = NULL;
    assert_null(read_xml(DATA("<Data Name='Rule' Kind='x'><Id>7</Id></Data>")));
    event.record = (struct event_record){.trace = NULL};
    assert_true(evtx_event_fill(&event, &tree, &problem));
    const struct extended_item *blob = record_extended(&event.record, EXTENDED_SCHEMA_TL);
    static const char expected[] = "Rule\0\x98\x02Kind\0\x16Id\0\x16";
    assert_non_null(blob);
    assert_true(span_equal(span_from(blob->data, 4), span_make(expected, sizeof(expected) - 1)));
}

static void xml_without_system_is_no_event(void **state)
{
    (void)state;
    const char *problem = NULL;
    assert_null(read_xml("<Event><EventData/></Event>"));
    assert_false(evtx_event_fill(&event, &tree, &problem));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_attributes_and_text_become_a_tree),
        cmocka_unit_test(references_are_what_they_stand_for),
        cmocka_unit_test(what_is_no_xml_is_said),
        cmocka_unit_test(deep_and_wide_xml_ends_at_the_limits),
        cmocka_unit_test(values_take_their_types),
        cmocka_unit_test(values_that_contradict_the_xml_do_not_count),
        cmocka_unit_test(more_or_fewer_values_than_the_xml_has_do_not_count),
        cmocka_unit_test(nothing_and_an_empty_text_are_told_apart),
        cmocka_unit_test(values_of_user_data_go_by_the_order_of_the_document),
        cmocka_unit_test(system_becomes_the_header),
        cmocka_unit_test(data_with_elements_has_its_name_once),
        cmocka_unit_test(xml_without_system_is_no_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
