#include "support/crim_sample.h"

#include "event/model/schema.h"
#include "support/etl_put.h"

#define GUID_BYTES 4, 3, 2, 1, 6, 5, 8, 7, 9, 10, 11, 12, 13, 14, 15, 16

const struct guid crim_sample_guid = {{GUID_BYTES}};

const char crim_sample_xml[] =
    "<instrumentationManifest><instrumentation><events>"
    "<provider name=\"Sample-Compiled\" guid=\"{01020304-0506-0708-090a-0b0c0d0e0f10}\">"
    "<channels><importChannel name=\"System\" chid=\"S\"/>"
    "<channel name=\"Sample-Compiled/Operational\" chid=\"O\" value=\"16\"/></channels>"
    "<levels><level name=\"Loud\" value=\"17\" message=\"$(string.loud)\"/></levels>"
    "<tasks><task name=\"Work\" value=\"1\" message=\"$(string.work)\"><opcodes>"
    "<opcode name=\"Step\" value=\"20\" message=\"$(string.step)\"/></opcodes></task></tasks>"
    "<opcodes><opcode name=\"Step\" value=\"30\"/></opcodes>"
    "<keywords><keyword name=\"Disk\" mask=\"0x2\" message=\"$(string.disk)\"/>"
    "<keyword name=\"Net\" mask=\"0x1\"/></keywords>"
    "<maps><valueMap name=\"Kind\"><map value=\"2\" message=\"$(string.two)\"/>"
    "<map value=\"0xffffffff\" message=\"$(string.many)\"/></valueMap>"
    "<bitMap name=\"Bits\"><map value=\"0x4\" message=\"$(string.four)\"/>"
    "<map value=\"0x1\" message=\"$(string.one)\"/></bitMap></maps>"
    "<templates><template tid=\"t\"><data name=\"Count\" inType=\"win:UInt8\" map=\"Kind\"/>"
    "<data name=\"Bits\" inType=\"win:UInt32\" map=\"Bits\"/>"
    "<data name=\"Text\" inType=\"win:UnicodeString\"/>"
    "<data name=\"Blob\" inType=\"win:Binary\" length=\"Count\"/>"
    "<data name=\"User\" inType=\"win:SID\"/>"
    "<struct name=\"Rows\" count=\"Count\"><data name=\"A\" inType=\"win:UInt16\"/>"
    "<struct name=\"Deep\" count=\"2\"><data name=\"X\" inType=\"win:Pointer\"/>"
    "<data name=\"Y\" inType=\"win:AnsiString\" length=\"4\"/></struct></struct>"
    "<data name=\"Address\" inType=\"win:UInt32\" outType=\"win:IPv4\"/>"
    "<data name=\"Three\" inType=\"win:Int32\" count=\"3\"/>"
    "<data name=\"Handle\" inType=\"win:UInt64\" outType=\"win:HexInt64\"/></template></templates>"
    "<events><event value=\"1\" version=\"2\" level=\"Loud\" task=\"Work\" opcode=\"Step\" "
    "keywords=\"Disk\" channel=\"O\" template=\"t\" message=\"$(string.first)\"/>"
    "<event value=\"2\" level=\"win:Error\" opcode=\"win:Start\" channel=\"S\" "
    "keywords=\"Net win:AuditSuccess\" message=\"$(string.second)\"/>"
    "<event value=\"3\" opcode=\"Step\"/></events></provider></events></instrumentation>"
    "<localization><resources culture=\"en-US\"><stringTable>"
    "<string id=\"loud\" value=\"Loud and clear\"/><string id=\"work\" value=\"The work\"/>"
    "<string id=\"step\" value=\"A step\"/><string id=\"disk\" value=\"On disk\"/>"
    "<string id=\"two\" value=\"Two\"/><string id=\"many\" value=\"Many\"/>"
    "<string id=\"four\" value=\"Four\"/><string id=\"one\" value=\"One\"/>"
    "<string id=\"first\" value=\"%1 rows, %3, done\"/>"
    "<string id=\"second\" value=\"na\xc3\xafve\"/>"
    "</stringTable></resources></localization></instrumentationManifest>";

enum message {
    DISK = 0x10000002,
    AUDIT_SUCCESS = 0x10000036,
    START = 0x30000001,
    STEP = 0x30010014,
    ERROR_LEVEL = 0x50000002,
    LOUD = 0x50000011,
    WORK = 0x70000001,
};

#define FIRST 0xb0020001
#define SECOND 0xc0000002
#define MAP_TEXT 0xd0000001
#define NO_TEXT CRIM_PUT_NO_MESSAGE

static const struct crim_put_name channels[] = {
    {.name = "System", .value = 8, .message = NO_TEXT, .is_imported = true},
    {.name = "Sample-Compiled/Operational", .value = 16, .message = NO_TEXT}, {.name = NULL}};
static const struct crim_put_name levels[] = {
    {.name = "win:Error", .value = 2, .message = ERROR_LEVEL},
    {.name = "Loud", .value = 17, .message = LOUD}, {.name = NULL}};
static const struct crim_put_name tasks[] = {
    {.name = "Work", .value = 1, .message = WORK}, {.name = NULL}};
static const struct crim_put_name opcodes[] = {{.name = "win:Start", .value = 1, .message = START},
    {.name = "Step", .value = 20, .message = STEP, .task = 1},
    {.name = "Step", .value = 30, .message = NO_TEXT}, {.name = NULL}};
static const struct crim_put_name keywords[] = {{.name = "Net", .value = 1, .message = NO_TEXT},
    {.name = "Disk", .value = 2, .message = DISK},
    {.name = "win:AuditSuccess", .value = UINT64_C(0x20000000000000), .message = AUDIT_SUCCESS},
    {.name = NULL}};

static const struct crim_put_entry kinds[] = {{2, MAP_TEXT}, {0xffffffff, MAP_TEXT + 1}};
static const struct crim_put_entry bits[] = {{1, MAP_TEXT + 2}, {4, MAP_TEXT + 3}};
static const struct crim_put_map maps[] = {
    {.name = "Kind", .signature = "VMAP", .entries = kinds, .count = 2},
    {.name = "Bits", .signature = "BMAP", .entries = bits, .count = 2}};

static const struct crim_put_property properties[] = {
    {.name = "Count", .in = IN_UINT8, .out = OUT_UNSIGNED_BYTE, .map = 0},
    {.name = "Bits", .in = IN_UINT32, .out = OUT_UNSIGNED_INT, .map = 1},
    {.name = "Text", .in = IN_UNICODE_STRING, .out = OUT_STRING, .map = -1},
    {.name = "Blob", .flags = CRIM_LENGTH_OF, .in = IN_BINARY, .out = OUT_HEX_BINARY, .map = -1},
    {.name = "User", .in = IN_SID, .out = OUT_STRING, .map = -1},
    {.name = "Rows", .flags = CRIM_STRUCT | CRIM_COUNT_OF, .first = 9, .members = 2},
    {.name = "Address", .in = IN_UINT32, .out = OUT_IPV4, .map = -1},
    {.name = "Three", .flags = CRIM_COUNT, .in = IN_INT32, .out = OUT_INT, .map = -1, .count = 3},
    {.name = "Handle", .in = IN_UINT64, .out = OUT_HEX_INT64, .map = -1},
    {.name = "A", .in = IN_UINT16, .out = OUT_UNSIGNED_SHORT, .map = -1},
    {.name = "Deep", .flags = CRIM_STRUCT | CRIM_COUNT, .count = 2, .first = 11, .members = 2},
    {.name = "X", .in = IN_POINTER, .out = OUT_HEX_INT64, .map = -1},
    {.name = "Y",
        .flags = CRIM_LENGTH,
        .in = IN_ANSI_STRING,
        .out = OUT_STRING,
        .map = -1,
        .length = 4},
    {.name = NULL}};
static const struct crim_put_template templates[] = {{.properties = properties, .top_count = 9}};

static const struct crim_put_event events[] = {{.id = 1,
                                                   .version = 2,
                                                   .channel = 16,
                                                   .level = 17,
                                                   .opcode = 20,
                                                   .task = 1,
                                                   .keyword = UINT64_C(0x4000000000000002),
                                                   .message = FIRST,
                                                   .template_at = 0,
                                                   .opcode_at = 1,
                                                   .level_at = 1,
                                                   .task_at = 0,
                                                   .channel_at = 1},
    {.id = 2,
        .channel = 8,
        .level = 2,
        .opcode = 1,
        .keyword = UINT64_C(0x8020000000000001),
        .message = SECOND,
        .template_at = -1,
        .opcode_at = 0,
        .level_at = 0,
        .task_at = -1,
        .channel_at = 0},
    {.id = 3,
        .opcode = 30,
        .message = NO_TEXT,
        .template_at = -1,
        .opcode_at = 2,
        .level_at = -1,
        .task_at = -1,
        .channel_at = -1}};

const struct crim_put_provider crim_sample_provider = {.guid = {{GUID_BYTES}},
    .name = "Sample-Compiled",
    .message = NO_TEXT,
    .channels = channels,
    .levels = levels,
    .tasks = tasks,
    .opcodes = opcodes,
    .keywords = keywords,
    .maps = maps,
    .map_count = 2,
    .templates = templates,
    .template_count = 1,
    .events = events,
    .event_count = 3};

void crim_sample_put(struct buf *out)
{
    crim_put(out, &crim_sample_provider, 1);
}

void crim_sample_put_overlaps(struct buf *out, uint32_t count)
{
    enum { HEAD = 16, PROVIDER = 20, WEVT_HEAD = 16, DESCRIPTOR = 8, LIST_HEAD = 12, ENTRY = 8 };
    enum { ATTRIBUTES = 13, NO_NAME = 7 };
    const uint32_t wevt = HEAD + count * PROVIDER;
    const uint32_t list = wevt + WEVT_HEAD + count * DESCRIPTOR;
    buf_add(out, "CRIM", 4);
    etl_put_u32(out, list + LIST_HEAD + count * ENTRY);
    etl_put_u16(out, 5);
    etl_put_u16(out, 1);
    etl_put_u32(out, count);
    for (uint32_t i = 0; i < count; i++) {
        etl_put_guid(out, &crim_sample_guid);
        etl_put_u32(out, wevt);
    }
    buf_add(out, "WEVT", 4);
    etl_put_u32(out, list - wevt);
    etl_put_u32(out, UINT32_MAX);
    etl_put_u32(out, count);
    for (uint32_t i = 0; i < count; i++) {
        etl_put_u32(out, ATTRIBUTES);
        etl_put_u32(out, list);
    }
    buf_add(out, "PRVA", 4);
    etl_put_u32(out, LIST_HEAD + count * ENTRY);
    etl_put_u32(out, count);
    for (uint32_t i = 0; i < count; i++) {
        etl_put_u32(out, NO_NAME);
        etl_put_u32(out, 0);
    }
}

void crim_sample_put_messages(struct buf *out, bool german)
{
    static const struct pe_put_message english[] = {{DISK, "On disk", false},
        {AUDIT_SUCCESS, "Audit Success", false}, {START, "Start", false}, {STEP, "A step", false},
        {ERROR_LEVEL, "Error", false}, {LOUD, "Loud and clear", false}, {WORK, "The work", false},
        {FIRST, "%1 rows, %3, done", false}, {SECOND, "na\xefve", true}, {MAP_TEXT, "Two", false},
        {MAP_TEXT + 1, "Many", false}, {MAP_TEXT + 2, "One", false}, {MAP_TEXT + 3, "Four", false}};
    static const struct pe_put_message local[] = {{FIRST, "%1 Zeilen", false}};
    if (german) {
        pe_put_messages(out, local, sizeof(local) / sizeof(local[0]));
    } else {
        pe_put_messages(out, english, sizeof(english) / sizeof(english[0]));
    }
}
