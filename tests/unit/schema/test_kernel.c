#include <stdio.h>

#include "schema/source/schema_sources.h"
#include "support/decode_json.h"

static const struct {
    const char *symbol;
    const char *name;
    const char *guid;
} classes[] = {
#define KERNEL_CLASS(symbol, name, guid, group) {#symbol, name, guid},
#define KERNEL_CLASS_OF(symbol, name, guid, provider_name, provider_guid) {#symbol, name, guid},
#define KERNEL_TYPE(symbol, version, types, fields)
#define KERNEL_NAME(symbol, type, name)
#include "schema/events/kernel_classes.def"
#undef KERNEL_CLASS
#undef KERNEL_CLASS_OF
#undef KERNEL_TYPE
#undef KERNEL_NAME
};

static const struct {
    const char *symbol;
    uint8_t version;
    const char *types;
    const char *fields;
} rows[] = {
#define KERNEL_CLASS(symbol, name, guid, group)
#define KERNEL_CLASS_OF(symbol, name, guid, provider_name, provider_guid)
#define KERNEL_TYPE(symbol, version, types, fields) {#symbol, version, types, fields},
#define KERNEL_NAME(symbol, type, name)
#include "schema/events/kernel_classes.def"
#undef KERNEL_CLASS
#undef KERNEL_CLASS_OF
#undef KERNEL_TYPE
#undef KERNEL_NAME
};

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

static void *source;

static int make_source(void **state)
{
    (void)state;
    const struct schema_source_settings settings = {0};
    source = schema_source_kernel.create(&settings, NULL);
    return source ? 0 : -1;
}

static int free_source(void **state)
{
    (void)state;
    schema_source_kernel.destroy(source);
    return 0;
}

static struct guid class_guid(const char *symbol)
{
    struct guid guid = {{0}};
    for (size_t i = 0; i < COUNT_OF(classes); i++) {
        if (strcmp(classes[i].symbol, symbol) == 0) {
            assert_true(guid_parse(span_text(classes[i].guid), &guid));
        }
    }
    assert_false(guid_is_zero(&guid));
    return guid;
}

static struct schema_candidates find(const char *symbol, uint8_t type, uint8_t version)
{
    struct event_record record = {.kind = RECORD_KERNEL, .provider = class_guid(symbol)};
    record.descriptor.opcode = type;
    record.descriptor.version = version;
    struct schema_candidates found = {.count = 0};
    schema_source_kernel.find(source, &record, &found);
    return found;
}

static const struct event_schema *find_one(const char *symbol, uint8_t type, uint8_t version)
{
    struct schema_candidates found = find(symbol, type, version);
    assert_int_equal(found.count, 1);
    return found.list[0];
}

static size_t words_of(const char *text)
{
    size_t count = *text ? 1 : 0;
    for (; *text; text++) {
        count += *text == ' ';
    }
    return count;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void every_row_of_the_table_has_a_layout_with_all_its_fields(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char *end;
        uint8_t type = (uint8_t)strtoul(rows[i].types, &end, 10);
        struct schema_candidates found = find(rows[i].symbol, type, rows[i].version);
        bool seen = false;
        for (size_t k = 0; k < found.count; k++) {
            const struct event_schema *schema = found.list[k];
            assert_true(schema->has_layout);
            assert_int_equal(schema->descriptor.version, rows[i].version);
            seen |= schema->field_count == words_of(rows[i].fields);
        }
        if (!seen) {
            fail_msg("%s version %d \"%s\": %s", rows[i].symbol, rows[i].version, rows[i].types,
                rows[i].fields);
        }
    }
}

static void every_class_has_a_guid_of_its_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(classes); i++) {
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(classes[i].guid, classes[k].guid);
        }
        class_guid(classes[i].symbol);
    }
}

struct listed {
    size_t count;
    size_t bare;
    size_t nameless;
};

static void count_one(void *self, const struct event_schema *schema)
{
    struct listed *listed = self;
    listed->count++;
    listed->bare += !schema->has_layout;
    listed->nameless += schema->event_name.size == 0 || schema->task_name.size == 0;
    assert_int_equal(schema->kind, SCHEMA_MOF);
    assert_string_equal(schema->source, "kernel");
    assert_false(guid_is_zero(&schema->class_guid));
    assert_false(guid_is_zero(&schema->provider));
}

static void the_list_holds_layouts_and_types_that_have_only_a_name(void **state)
{
    (void)state;
    struct listed listed = {0};
    schema_source_kernel.list(source, count_one, &listed);
    assert_true(listed.count > COUNT_OF(rows));
    assert_true(listed.bare > 0 && listed.bare < listed.count);
    assert_int_equal(listed.nameless, 0);
}

/* ---- which layout applies -------------------------------------------------------------------- */

static void the_exact_version_applies_else_the_highest_lower_one(void **state)
{
    (void)state;
    static const struct {
        uint8_t version;
        int found; /* version of the layout, -1: none */
    } cases[] = {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 4}, {255, 4}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct event_schema *schema = find_one("Process", 1, cases[i].version);
        assert_true(schema->has_layout);
        assert_int_equal(schema->descriptor.version, cases[i].found);
    }
}

static void a_higher_version_never_applies(void **state)
{
    (void)state;
    /* Type 39 is known from version 2 on. */
    const struct event_schema *schema = find_one("Process", 39, 1);
    assert_false(schema->has_layout);
    assert_int_equal(schema->field_count, 0);
    assert_span(schema->event_name, "Process/Defunct");
}

static void alternatives_are_candidates_in_the_order_of_the_table(void **state)
{
    (void)state;
    struct schema_candidates found = find("Power", 60, 2);
    assert_int_equal(found.count, 2);
    assert_span(found.list[0]->fields[0].name, "Flags");
    assert_span(found.list[1]->fields[0].name, "PlatformState");
    found = find("PerfInfo", 122, 2); /* Windows 11 26H1, then 24H2 */
    assert_int_equal(found.list[0]->field_count, 17);
    assert_int_equal(found.list[1]->field_count, 16);
    found = find("ThreadPool", 35, 2); /* versions 3 and 2 of the MOF class */
    assert_int_equal(found.list[0]->field_count, 5);
    assert_int_equal(found.list[1]->field_count, 1);
}

static void an_empty_field_string_is_a_layout_without_fields(void **state)
{
    (void)state;
    const struct event_schema *schema = find_one("EventTrace", 8, 2);
    assert_true(schema->has_layout);
    assert_int_equal(schema->field_count, 0);
    assert_decodes(schema, "", 8, "{}");
}

static void unknown_classes_and_other_records_have_no_candidates(void **state)
{
    (void)state;
    static const enum record_kind kinds[] = {RECORD_EVENT, RECORD_MESSAGE, RECORD_OPAQUE};
    struct event_record record = {.kind = RECORD_KERNEL};
    struct schema_candidates found = {.count = 0};
    schema_source_kernel.find(source, &record, &found);
    record.provider.bytes[3] = 7;
    schema_source_kernel.find(source, &record, &found);
    record.provider = class_guid("Process");
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        record.kind = kinds[i];
        schema_source_kernel.find(source, &record, &found);
    }
    assert_int_equal(found.count, 0);
}

static void candidates_of_other_sources_stay_in_front(void **state)
{
    (void)state;
    static const struct event_schema other;
    struct event_record record = {.kind = RECORD_CLASSIC, .provider = class_guid("Dpc")};
    struct schema_candidates found = {.list = {&other}, .count = 1};
    schema_source_kernel.find(source, &record, &found);
    assert_int_equal(found.count, 2);
    assert_ptr_equal(found.list[0], &other);
    assert_span(found.list[1]->event_name, "Dpc/0x0");
}

static void the_same_type_gives_the_same_schema_again(void **state)
{
    (void)state;
    assert_ptr_equal(find_one("TcpIp", 10, 2), find_one("TcpIp", 10, 9));
    assert_ptr_equal(find_one("Dpc", 5, 0), find_one("Dpc", 5, 3));
}

/* ---- names ----------------------------------------------------------------------------------- */

static void names_are_those_of_the_mof_classes(void **state)
{
    (void)state;
    const struct event_schema *schema = find_one("Process", 2, 4);
    assert_span(schema->provider_name, "MSNT_SystemTrace");
    assert_span(schema->task_name, "Process");
    assert_span(schema->opcode_name, "End");
    assert_span(schema->event_name, "Process/End");
    assert_int_equal(schema->descriptor.opcode, 2);
    struct guid system_trace;
    guid_parse(span_text("9e814aad-3204-11d2-9a82-006008a86939"), &system_trace);
    assert_true(guid_equal(&schema->provider, &system_trace));
}

static void types_without_a_name_are_called_by_their_number(void **state)
{
    (void)state;
    const struct event_schema *schema = find_one("Hypervisor", 0x24, 0);
    assert_span(schema->event_name, "Hypervisor/0x24");
    assert_int_equal(schema->opcode_name.size, 0);
    assert_false(schema->has_layout);
}

static void kerneltracecontrol_is_a_provider_of_its_own(void **state)
{
    (void)state;
    const struct event_schema *schema = find_one("ImageID", 36, 2);
    assert_span(schema->provider_name, "KernelTraceControl");
    assert_span(schema->event_name, "ImageID/DbgID_RSDS");
    assert_decodes(schema,
        "0000400000000000 2a000000 0102030405060708090a0b0c0d0e0f10 01000000 'a.pdb' 00", 8,
        "{\"ImageBase\":\"0x400000\",\"ProcessId\":42,"
        "\"GuidSig\":\"04030201-0605-0807-090a-0b0c0d0e0f10\",\"Age\":1,"
        "\"PdbFileName\":\"a.pdb\"}");
}

/* ---- layouts against bytes ------------------------------------------------------------------- */

static const char process_start[] =
    "8050341280e0ffff 92100000 70030000 01000000 03010000 00b01a0000000000 00000000 "
    "f0f0341280e0ffff 0000000000000000 0101000000000005 12000000 "
    "'cmd.exe' 00 L'cmd /c dir' 0000 0000 0000";

static void a_process_start_of_version_4_is_read_in_full(void **state)
{
    (void)state;
    assert_decodes(find_one("Process", 1, 4), process_start, 8,
        "{\"UniqueProcessKey\":\"0xffffe08012345080\",\"ProcessId\":4242,\"ParentId\":880,"
        "\"SessionId\":1,\"ExitStatus\":259,\"DirectoryTableBase\":\"0x1ab000\","
        "\"Flags\":\"0x0\",\"UserSID\":\"S-1-5-18\",\"ImageFileName\":\"cmd.exe\","
        "\"CommandLine\":\"cmd /c dir\",\"PackageFullName\":\"\",\"ApplicationId\":\"\"}");
}

static void a_process_without_sid_has_32_zero_bits_instead(void **state)
{
    (void)state;
    assert_decodes(find_one("Process", 3, 4),
        "0000000000000000 00000000 00000000 ffffffff 00000000 00b01a0000000000 00000000 "
        "00000000 'Idle' 00 0000 0000 0000",
        8,
        "{\"UniqueProcessKey\":\"0x0\",\"ProcessId\":0,\"ParentId\":0,\"SessionId\":4294967295,"
        "\"ExitStatus\":0,\"DirectoryTableBase\":\"0x1ab000\",\"Flags\":\"0x0\","
        "\"ImageFileName\":\"Idle\",\"CommandLine\":\"\",\"PackageFullName\":\"\","
        "\"ApplicationId\":\"\"}");
}

static void a_sid_counts_also_behind_a_token_user_of_zeros(void **state)
{
    (void)state;
    assert_decodes(find_one("Process", 1, 2),
        "10000000 01000000 02000000 00000000 00000000 00000000 00000000 "
        "0101000000000005 13000000 'a' 00 0000",
        4,
        "{\"UniqueProcessKey\":\"0x10\",\"ProcessId\":1,\"ParentId\":2,\"SessionId\":0,"
        "\"ExitStatus\":0,\"UserSID\":\"S-1-5-19\",\"ImageFileName\":\"a\",\"CommandLine\":\"\"}");
}

static void a_tcp_send_has_ports_in_network_order(void **state)
{
    (void)state;
    assert_decodes(find_one("TcpIp", 10, 2),
        "d2040000 34000000 c0000207 0a000001 01bb c001 01000000 02000000 00000000 "
        "8877665544332211",
        8,
        "{\"PID\":1234,\"size\":52,\"daddr\":\"192.0.2.7\",\"saddr\":\"10.0.0.1\",\"dport\":443,"
        "\"sport\":49153,\"startime\":1,\"endtime\":2,\"seqnum\":0,"
        "\"connid\":\"0x1122334455667788\"}");
}

static void a_tcp_receive_over_ipv6_has_addresses_of_16_bytes(void **state)
{
    (void)state;
    assert_decodes(find_one("TcpIp", 27, 2),
        "04000000 05000000 20010db8000000000000000000000001 fe800000000000000000000000000002 "
        "0050 0051 00000000 78563412",
        4,
        "{\"PID\":4,\"size\":5,\"daddr\":\"2001:db8::1\",\"saddr\":\"fe80::2\",\"dport\":80,"
        "\"sport\":81,\"seqnum\":0,\"connid\":\"0x12345678\"}");
}

static void an_image_load_is_read_in_both_pointer_sizes(void **state)
{
    (void)state;
    const struct event_schema *schema = find_one("Image", 10, 3);
    const char *tail = "\"ProcessId\":7,\"ImageChecksum\":1,\"TimeDateStamp\":2,"
                       "\"SignatureLevel\":12,\"SignatureType\":1,\"Reserved0\":0,"
                       "\"DefaultBase\":\"0x400000\",\"Reserved1\":0,\"Reserved2\":0,"
                       "\"Reserved3\":0,\"Reserved4\":0,\"FileName\":\"\\\\a.dll\"}";
    char json[512];
    snprintf(json, sizeof(json), "{\"ImageBase\":\"0x10000\",\"ImageSize\":\"0x2000\",%s", tail);
    assert_decodes(schema,
        "0000010000000000 0020000000000000 07000000 01000000 02000000 0c 01 0000 "
        "0000400000000000 00000000 00000000 00000000 00000000 L'\\a.dll' 0000",
        8, json);
    assert_decodes(schema,
        "00000100 00200000 07000000 01000000 02000000 0c 01 0000 00004000 00000000 00000000 "
        "00000000 00000000 L'\\a.dll' 0000",
        4, json);
}

static void a_thread_of_version_3_may_have_a_name(void **state)
{
    (void)state;
    const struct event_schema *schema = find_one("Thread", 1, 3);
    static const char start[] = "01000000 02000000 10000000 20000000 30000000 40000000 ff000000 "
                                "50000000 60000000 00000000 08 05 02 00";
    static const char json[] =
        "{\"ProcessId\":1,\"TThreadId\":2,\"StackBase\":\"0x10\",\"StackLimit\":\"0x20\","
        "\"UserStackBase\":\"0x30\",\"UserStackLimit\":\"0x40\",\"Affinity\":\"0xff\","
        "\"Win32StartAddr\":\"0x50\",\"TebBase\":\"0x60\",\"SubProcessTag\":\"0x0\","
        "\"BasePriority\":8,\"PagePriority\":5,\"IoPriority\":2,\"ThreadFlags\":0";
    char payload[256];
    char expected[512];
    snprintf(expected, sizeof(expected), "%s}", json);
    assert_decodes(schema, start, 4, expected);
    snprintf(payload, sizeof(payload), "%s L'io' 0000", start);
    snprintf(expected, sizeof(expected), "%s,\"ThreadName\":\"io\"}", json);
    assert_decodes(schema, payload, 4, expected);
}

static void a_stack_walk_takes_frames_up_to_the_end(void **state)
{
    (void)state;
    const struct event_schema *schema = find_one("StackWalk", 32, 2);
    assert_decodes(schema, "0100000000000000 02000000 03000000 1000000000000000 2000000000000000",
        8,
        "{\"EventTimeStamp\":1,\"StackProcess\":2,\"StackThread\":3,\"Stack\":[\"0x10\","
        "\"0x20\"]}");
    assert_decodes(schema, "0100000000000000 02000000 03000000", 8,
        "{\"EventTimeStamp\":1,\"StackProcess\":2,\"StackThread\":3,\"Stack\":[]}");
    assert_decodes(schema, "0100000000000000 02000000 03000000 10000000 2000", 4,
        "{\"EventTimeStamp\":1,\"StackProcess\":2,\"StackThread\":3,\"Stack\":[\"0x10\"]} +2");
}

static void a_system_configuration_has_texts_of_fixed_length(void **state)
{
    (void)state;
    const struct event_schema *schema = find_one("SystemConfig", 15, 0);
    uint8_t payload[34 * 2 + 256 * 2 + 34 * 2 + 4] = {0};
    payload[0] = 'W';
    payload[2] = 'S';
    payload[34 * 2] = 'd';
    payload[34 * 2 + 4] = 'x'; /* after the NUL */
    payload[(34 + 256) * 2] = 'p';
    payload[sizeof(payload) - 4] = 9;
    struct buf out;
    buf_init(&out, 1 << 20);
    decode_json(schema, span_make(payload, sizeof(payload)), 8, &out);
    assert_span(buf_span(&out), "{\"ServiceName\":\"WS\",\"DisplayName\":\"d\","
                                "\"ProcessName\":\"p\",\"ProcessId\":9}");
    buf_fini(&out);
}

static void counts_of_arrays_stand_in_earlier_fields(void **state)
{
    (void)state;
    assert_decodes(find_one("SystemConfig", 22, 5),
        "00000000000000000000000000000000 02000000 00000000 01000000 02000000 L'I' 0000 0000 0000 "
        "0000 0000 L'up' 0000 L'er' 0000",
        8,
        "{\"ClassGuid\":\"00000000-0000-0000-0000-000000000000\",\"UpperFiltersCount\":2,"
        "\"LowerFiltersCount\":0,\"DevStatus\":1,\"DevProblem\":2,\"DeviceID\":\"I\","
        "\"DeviceDescription\":\"\",\"FriendlyName\":\"\",\"PdoName\":\"\",\"ServiceName\":\"\","
        "\"UpperFilters\":[\"up\",\"er\"],\"LowerFilters\":[]}");
}

static void widths_and_forms_of_the_small_types_are_right(void **state)
{
    (void)state;
    /* x8, i8, x16, bool, wtime, szt, ptrid */
    assert_decodes(find_one("Image", 165, 3), "1000000000000000 ab ff 0000", 8,
        "{\"BaseAddress\":\"0x10\",\"ErrorOpcode\":\"0xab\",\"Code\":-1,\"String\":\"\"}");
    assert_decodes(find_one("PageFault", 105, 2), "10000000 01000000 ab00 cdab", 4,
        "{\"FileObject\":\"0x10\",\"DeviceChar\":\"0x1\",\"FileChar\":\"0xab\","
        "\"LoadFlags\":\"0xabcd\"}");
    assert_decodes(find_one("Thread", 61, 2), "01000000 0200 0300 04 01 0500", 4,
        "{\"ThreadId\":1,\"SourceProcessorIndex\":2,\"TargetProcessorIndex\":3,\"Priority\":4,"
        "\"IdealProcessorAdjust\":true,\"OldIdealProcessorIndex\":5}");
    assert_decodes(find_one("PerfInfo", 68, 2), "8096980000000000 10000000", 4,
        "{\"InitialTime\":\"2019-04-17T18:40:01.0000000Z\",\"Routine\":\"0x10\"}");
    assert_decodes(find_one("FileIo", 65, 2),
        "0100000000000000 0200000000000000 0300000000000000 0400000000000000", 8,
        "{\"IrpPtr\":\"0x1\",\"TTID\":2,\"FileObject\":\"0x3\",\"FileKey\":\"0x4\"}");
}

/* PERFINFO_WORKINGSET_INFORMATION of ntwmi.h is packed; TraceEvent's MemoryProcessMemInfoTraceData
 * has four sizes for an element before version 2 and eight since. */
static void working_sets_of_processes_are_structs_as_many_as_the_count_says(void **state)
{
    (void)state;
    assert_decodes(find_one("PageFault", 125, 2),
        "02000000 "
        "04000000 0100000000000000 0200000000000000 0300000000000000 0400000000000000 "
        "0500000000000000 0600000000000000 0700000000000000 0800000000000000 "
        "70030000 1100000000000000 1200000000000000 1300000000000000 1400000000000000 "
        "1500000000000000 1600000000000000 1700000000000000 1800000000000000",
        8,
        "{\"Count\":2,\"Values\":[{\"ProcessID\":4,\"WorkingSetPageCount\":\"0x1\","
        "\"CommitPageCount\":\"0x2\",\"VirtualSizeInPages\":\"0x3\","
        "\"PrivateWorkingSetPageCount\":\"0x4\",\"StoreSizePageCount\":\"0x5\","
        "\"StoredPageCount\":\"0x6\",\"CommitDebtInPages\":\"0x7\","
        "\"SharedCommitInPages\":\"0x8\"},{\"ProcessID\":880,\"WorkingSetPageCount\":\"0x11\","
        "\"CommitPageCount\":\"0x12\",\"VirtualSizeInPages\":\"0x13\","
        "\"PrivateWorkingSetPageCount\":\"0x14\",\"StoreSizePageCount\":\"0x15\","
        "\"StoredPageCount\":\"0x16\",\"CommitDebtInPages\":\"0x17\","
        "\"SharedCommitInPages\":\"0x18\"}]}");
    assert_decodes(find_one("PageFault", 125, 1),
        "01000000 04000000 01000000 02000000 03000000 04000000", 4,
        "{\"Count\":1,\"Values\":[{\"ProcessID\":4,\"WorkingSetPageCount\":\"0x1\","
        "\"CommitPageCount\":\"0x2\",\"VirtualSizeInPages\":\"0x3\","
        "\"PrivateWorkingSetPageCount\":\"0x4\"}]}");
    assert_decodes(find_one("PageFault", 125, 2), "00000000", 8, "{\"Count\":0,\"Values\":[]}");
}

/* TraceEvent's LastBranchRecordTraceData: entries of three pointers up to the end, behind 20 bytes
 * where pointers have 4, and 24 where they have 8. */
static void branches_lie_at_a_multiple_of_the_pointers_width(void **state)
{
    (void)state;
    struct schema_candidates found = find("LastBranchRecord", 32, 2);
    assert_int_equal(found.count, 2);
    assert_decodes(found.list[0],
        "0000000000000000 04000000 08000000 01000000 00100000 00200000 00000000", 4,
        "{\"EventTimeStamp\":\"2019-04-17T18:40:00.0000000Z\",\"ProcessId\":4,\"ThreadId\":8,"
        "\"Filters\":\"0x1\",\"Branches\":[\"0x1000\",\"0x2000\",\"0x0\"]}");
    assert_decodes(found.list[1],
        "0000000000000000 04000000 08000000 01000000 00000000 "
        "0010000000000000 0020000000000000 0000000000000000",
        8,
        "{\"EventTimeStamp\":\"2019-04-17T18:40:00.0000000Z\",\"ProcessId\":4,\"ThreadId\":8,"
        "\"Filters\":\"0x1\",\"Padding\":0,\"Branches\":[\"0x1000\",\"0x2000\",\"0x0\"]}");
}

/* Payloads that goetw's kernel_mof.go quotes from Windows 11. */
static void types_that_no_mof_class_describes_are_read_as_windows_11_writes_them(void **state)
{
    (void)state;
    assert_decodes(find_one("FileIo", 83, 3),
        "f810d5710ad2ffff 5037b76f0ad2ffff 00c7b1bf8cbeffff 0000000000000000 dc700000 00000000", 8,
        "{\"IrpPtr\":\"0xffffd20a71d510f8\",\"FileObject\":\"0xffffd20a6fb73750\","
        "\"FileKey\":\"0xffffbe8cbfb1c700\",\"ExtraInfo\":\"0x0\",\"TTID\":28892,"
        "\"InfoClass\":0}");
    assert_decodes(find_one("Registry", 33, 2),
        "0000000000000000 00000000 00000000 605c8bda8cbeffff L'Type' 0000", 8,
        "{\"InitialTime\":0,\"Status\":0,\"Index\":0,\"KeyHandle\":\"0xffffbe8cda8b5c60\","
        "\"KeyName\":\"Type\"}");
    assert_decodes(find_one("SystemConfigEx", 37, 0), "3620586600000a00 03000000 04000000", 8,
        "{\"UAPInfo\":2814751484158006,\"DeviceFamily\":3,\"DeviceForm\":4}");
}

/* MIB_IF_ROW2 of netioapi.h: offsets by the alignment of its members. */
static void a_network_interface_is_read_to_its_last_byte(void **state)
{
    (void)state;
    uint8_t row[1352] = {[28] = 'E', [1124] = 0xdc, [1125] = 5, [1192] = 9, [1344] = 3};
    struct buf out;
    buf_init(&out, 1 << 20);
    decode_json(find_one("SystemConfigEx", 36, 0), span_make(row, sizeof(row)), 8, &out);
    buf_printf(&out, "%c", 0);
    assert_non_null(strstr((const char *)out.data, "\"Alias\":\"E\""));
    assert_non_null(strstr((const char *)out.data, "\"Mtu\":1500,\"Type\":0,"));
    assert_non_null(strstr((const char *)out.data, "\"TransmitLinkSpeed\":9,"));
    assert_string_equal(strrchr((const char *)out.data, ','), ",\"OutQLen\":3}");
    buf_fini(&out);
}

/* ETW_SET_TIMER_EVENT of ntwmi.h. */
static void a_timer_that_is_set_is_read_in_both_pointer_sizes(void **state)
{
    (void)state;
    static const char json[] =
        "{\"ExpectedDueTime\":1,\"TimerAddress\":\"0x2\",\"TargetProcessorGroup\":3,"
        "\"TargetProcessorIndex\":4,\"Flags\":\"0x5\",\"Period\":6,\"EncodedDelay\":7,"
        "\"Reserved0\":8,\"Reserved1\":9}";
    assert_decodes(find_one("PerfInfo", 82, 2),
        "0100000000000000 0200000000000000 0300 04 05 06000000 07 08 0900", 8, json);
    assert_decodes(find_one("PerfInfo", 82, 2),
        "0100000000000000 02000000 0300 04 05 06000000 07 08 0900", 4, json);
}

static void payloads_cut_anywhere_keep_what_is_whole(void **state)
{
    (void)state;
    const struct event_schema *schema = find_one("Process", 1, 4);
    struct span payload = payload_make(process_start);
    struct buf out;
    buf_init(&out, 1 << 20);
    for (size_t size = 0; size < payload.size; size++) {
        uint8_t *cut = malloc(size ? size : 1);
        assert_non_null(cut);
        memcpy(cut, payload.data, size);
        decode_json(schema, span_make(cut, size), 8, &out);
        assert_int_equal(out.data[0], '{');
        free(cut);
    }
    buf_fini(&out);
    payload_free(payload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_the_table_has_a_layout_with_all_its_fields),
        cmocka_unit_test(every_class_has_a_guid_of_its_own),
        cmocka_unit_test(the_list_holds_layouts_and_types_that_have_only_a_name),
        cmocka_unit_test(the_exact_version_applies_else_the_highest_lower_one),
        cmocka_unit_test(a_higher_version_never_applies),
        cmocka_unit_test(alternatives_are_candidates_in_the_order_of_the_table),
        cmocka_unit_test(an_empty_field_string_is_a_layout_without_fields),
        cmocka_unit_test(unknown_classes_and_other_records_have_no_candidates),
        cmocka_unit_test(candidates_of_other_sources_stay_in_front),
        cmocka_unit_test(the_same_type_gives_the_same_schema_again),
        cmocka_unit_test(names_are_those_of_the_mof_classes),
        cmocka_unit_test(types_without_a_name_are_called_by_their_number),
        cmocka_unit_test(kerneltracecontrol_is_a_provider_of_its_own),
        cmocka_unit_test(a_process_start_of_version_4_is_read_in_full),
        cmocka_unit_test(a_process_without_sid_has_32_zero_bits_instead),
        cmocka_unit_test(a_sid_counts_also_behind_a_token_user_of_zeros),
        cmocka_unit_test(a_tcp_send_has_ports_in_network_order),
        cmocka_unit_test(a_tcp_receive_over_ipv6_has_addresses_of_16_bytes),
        cmocka_unit_test(an_image_load_is_read_in_both_pointer_sizes),
        cmocka_unit_test(a_thread_of_version_3_may_have_a_name),
        cmocka_unit_test(a_stack_walk_takes_frames_up_to_the_end),
        cmocka_unit_test(a_system_configuration_has_texts_of_fixed_length),
        cmocka_unit_test(counts_of_arrays_stand_in_earlier_fields),
        cmocka_unit_test(widths_and_forms_of_the_small_types_are_right),
        cmocka_unit_test(working_sets_of_processes_are_structs_as_many_as_the_count_says),
        cmocka_unit_test(branches_lie_at_a_multiple_of_the_pointers_width),
        cmocka_unit_test(types_that_no_mof_class_describes_are_read_as_windows_11_writes_them),
        cmocka_unit_test(a_network_interface_is_read_to_its_last_byte),
        cmocka_unit_test(a_timer_that_is_set_is_read_in_both_pointer_sizes),
        cmocka_unit_test(payloads_cut_anywhere_keep_what_is_whole),
    };
    return cmocka_run_group_tests(tests, make_source, free_source);
}
