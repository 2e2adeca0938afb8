#include "support/etl_mix_schema.h"

#include <stdio.h>

#include "support/etl_put.h"

static const struct etl_mix_map process_flags = {.name = "ProcessFlags",
    .bits = true,
    .count = 3,
    .entries = {{1, "PackagedProcess"}, {2, "ProtectedProcess"}, {4, "SubsystemProcess"}}};

static const struct etl_mix_map elevation = {.name = "TokenElevation",
    .bits = false,
    .count = 3,
    .entries = {{1, "Default"}, {2, "Full"}, {3, "Limited"}}};

// clang-format off
/* {6e7c1a52-0d4b-4c8e-9a37-5b0f1d2c3e41} */
const struct etl_mix_provider etl_mix_schema_dns = {
    .name = "Etwship-Sample-Dns", .symbol = "ETWSHIP_SAMPLE_DNS",
    .channel = "Etwship-Sample-Dns/Operational",
    .guid = {{0x52, 0x1a, 0x7c, 0x6e, 0x4b, 0x0d, 0x8e, 0x4c,
              0x9a, 0x37, 0x5b, 0x0f, 0x1d, 0x2c, 0x3e, 0x41}},
    .type_count = 2,
    .types = {
        {.descriptor = {.id = 3008, .channel = 16, .level = 4, .keyword = 0x8000000000000000},
         .symbol = "QueryCompleted", .opcode = "win:Info", .level = "win:Informational",
         .message = "DNS query is completed for the name %2, type %3, query options %4 with "
                    "status %5 Results %6",
         .field_count = 6,
         .fields = {{"Sequence", IN_UINT64, 0, NULL, NULL},
                    {"QueryName", IN_UNICODE_STRING, 0, NULL, NULL},
                    {"QueryType", IN_UINT32, 0, NULL, NULL},
                    {"QueryOptions", IN_UINT64, 0, NULL, NULL},
                    {"QueryStatus", IN_UINT32, 0, NULL, NULL},
                    {"QueryResults", IN_UNICODE_STRING, 0, NULL, NULL}}},
        {.descriptor = {.id = 3006, .channel = 16, .level = 5, .keyword = 0x8000000000000000},
         .symbol = "QueryCalled", .opcode = "win:Info", .level = "win:Verbose",
         .message = "DNS query is called for the name %2",
         .field_count = 6,
         .fields = {{"Sequence", IN_UINT64, 0, NULL, NULL},
                    {"QueryName", IN_UNICODE_STRING, 0, NULL, NULL},
                    {"IsNetworkQuery", IN_BOOLEAN, 0, NULL, NULL},
                    {"InterfaceIndex", IN_UINT16, 0, NULL, NULL},
                    {"ServerCount", IN_UINT32, 0, NULL, NULL},
                    {"Servers", IN_UINT32, OUT_IPV4, NULL, "ServerCount"}}},
    },
};

/* {b84f9d63-2f5a-4f07-8c11-7d9e6a4b5c20} */
const struct etl_mix_provider etl_mix_schema_process = {
    .name = "Etwship-Sample-Process", .symbol = "ETWSHIP_SAMPLE_PROCESS",
    .channel = "Etwship-Sample-Process/Analytic", .keyword_mask = 0x10,
    .guid = {{0x63, 0x9d, 0x4f, 0xb8, 0x5a, 0x2f, 0x07, 0x4f,
              0x8c, 0x11, 0x7d, 0x9e, 0x6a, 0x4b, 0x5c, 0x20}},
    .type_count = 2,
    .types = {
        {.descriptor = {.id = 1, .version = 3, .channel = 16, .level = 4, .opcode = 1, .task = 1,
                        .keyword = 0x8000000000000010},
         .task = "ProcessStart", .symbol = "ProcessStarted", .opcode = "win:Start",
         .level = "win:Informational", .keyword = "PROCESS",
         .message = "Process %2 started by parent %4 running in session %5 with name %7",
         .field_count = 11,
         .fields = {{"Sequence", IN_UINT64, 0, NULL, NULL},
                    {"ProcessID", IN_UINT32, OUT_PID, NULL, NULL},
                    {"CreateTime", IN_FILETIME, 0, NULL, NULL},
                    {"ParentProcessID", IN_UINT32, OUT_PID, NULL, NULL},
                    {"SessionID", IN_UINT32, 0, NULL, NULL},
                    {"Flags", IN_UINT32, 0, &process_flags, NULL},
                    {"ImageName", IN_UNICODE_STRING, 0, NULL, NULL},
                    {"CommandLine", IN_UNICODE_STRING, 0, NULL, NULL},
                    {"UserSid", IN_SID, 0, NULL, NULL},
                    {"ImageChecksum", IN_HEX_INT32, 0, NULL, NULL},
                    {"TimeDateStamp", IN_HEX_INT32, 0, NULL, NULL}}},
        {.descriptor = {.id = 2, .version = 1, .channel = 16, .level = 4, .opcode = 2, .task = 2,
                        .keyword = 0x8000000000000010},
         .task = "ProcessStop", .symbol = "ProcessStopped", .opcode = "win:Stop",
         .level = "win:Informational", .keyword = "PROCESS",
         .message = "Process %2 stopped with exit code %5",
         .field_count = 10,
         .fields = {{"Sequence", IN_UINT64, 0, NULL, NULL},
                    {"ProcessID", IN_UINT32, OUT_PID, NULL, NULL},
                    {"CreateTime", IN_FILETIME, 0, NULL, NULL},
                    {"ExitTime", IN_FILETIME, 0, NULL, NULL},
                    {"ExitCode", IN_UINT32, OUT_NTSTATUS, NULL, NULL},
                    {"TokenElevationType", IN_UINT32, 0, &elevation, NULL},
                    {"HandleCount", IN_UINT32, 0, NULL, NULL},
                    {"CommitCharge", IN_UINT64, 0, NULL, NULL},
                    {"CPUCycleCount", IN_UINT64, 0, NULL, NULL},
                    {"ImageName", IN_ANSI_STRING, 0, NULL, NULL}}},
    },
    .maps = {&process_flags, &elevation},
};
// clang-format on

/* {3c6f0a91-52d8-4e0b-b7a4-18e2c95d7f06} */
const struct guid etl_mix_schema_wpp_message = {{0x91, 0x0a, 0x6f, 0x3c, 0xd8, 0x52, 0x0b, 0x4e,
    0xb7, 0xa4, 0x18, 0xe2, 0xc9, 0x5d, 0x7f, 0x06}};

enum { INFO_HEADER = 0x70, INFO_PROPERTY = 24, MAP_HEADER = 16, MAP_ENTRY = 8 };

/* A string behind the structure that begins at ${start}: its offset goes to ${slot} there. */
static void put_string(struct buf *out, size_t start, size_t slot, const char *text)
{
    if (!text || out->failed) {
        return;
    }
    store_le32(out->data + start + slot, (uint32_t)(out->size - start));
    etl_put_utf16z(out, text);
}

static uint16_t field_index(const struct etl_mix_type *type, const char *name)
{
    uint16_t i = 0;
    while (i < type->field_count && strcmp(type->fields[i].name, name) != 0) {
        i++;
    }
    return i;
}

static void put_property(
    struct buf *out, const struct etl_mix_type *type, const struct etl_mix_field *f)
{
    enum { PROPERTY_PARAM_COUNT = 4 };
    etl_put_u32(out, f->count ? PROPERTY_PARAM_COUNT : 0);
    etl_put_u32(out, 0);
    etl_put_u16(out, f->in_type);
    etl_put_u16(out, f->out_type);
    etl_put_u32(out, 0);
    etl_put_u16(out, f->count ? field_index(type, f->count) : 1);
    etl_put_u16(out, 0);
    etl_put_u32(out, 0);
}

static void put_descriptor(struct buf *out, const struct event_descriptor *d)
{
    etl_put_u16(out, d->id);
    etl_put_u8(out, d->version);
    etl_put_u8(out, d->channel);
    etl_put_u8(out, d->level);
    etl_put_u8(out, d->opcode);
    etl_put_u16(out, d->task);
    etl_put_u64(out, d->keyword);
}

void etl_mix_schema_event_info(
    struct buf *out, const struct etl_mix_provider *provider, const struct etl_mix_type *type)
{
    enum { PROVIDER = 0x34, LEVEL = 0x38, CHANNEL = 0x3c, KEYWORDS = 0x40, TASK = 0x44 };
    enum { OPCODE = 0x48, MESSAGE = 0x4c, COUNTS = 0x64 };
    size_t start = out->size;
    etl_put_guid(out, &provider->guid);
    etl_put_zeros(out, 16);
    put_descriptor(out, &type->descriptor);
    etl_put_zeros(out, COUNTS - 0x30); /* decoding source 0: manifest */
    etl_put_u32(out, (uint32_t)type->field_count);
    etl_put_u32(out, (uint32_t)type->field_count);
    etl_put_u32(out, 1); /* TEMPLATE_EVENT_DATA */
    for (size_t i = 0; i < type->field_count; i++) {
        put_property(out, type, &type->fields[i]);
    }
    put_string(out, start, PROVIDER, provider->name);
    put_string(out, start, LEVEL, type->level);
    put_string(out, start, CHANNEL, provider->channel);
    put_string(out, start, KEYWORDS, type->keyword ? type->keyword : provider->channel);
    if (type->keyword) {
        etl_put_utf16z(out, provider->channel);
    }
    etl_put_u16(out, 0);
    put_string(out, start, TASK, type->task);
    put_string(out, start, OPCODE, type->opcode);
    put_string(out, start, MESSAGE, type->message);
    for (size_t i = 0; i < type->field_count; i++) {
        size_t slot = INFO_HEADER + i * INFO_PROPERTY;
        put_string(out, start, slot + 4, type->fields[i].name);
        if (type->fields[i].map) {
            put_string(out, start, slot + 12, type->fields[i].map->name);
        }
    }
}

void etl_mix_schema_map_info(
    struct buf *out, const struct etl_mix_provider *provider, const struct etl_mix_map *map)
{
    etl_put_guid(out, &provider->guid);
    size_t start = out->size;
    etl_put_u32(out, 0);
    etl_put_u32(out, map->bits ? 2 : 1); /* MANIFEST_BITMAP, MANIFEST_VALUEMAP */
    etl_put_u32(out, (uint32_t)map->count);
    etl_put_u32(out, 0); /* values are ULONG */
    for (size_t i = 0; i < map->count; i++) {
        etl_put_u32(out, 0);
        etl_put_u32(out, map->entries[i].value);
    }
    put_string(out, start, 0, map->name);
    for (size_t i = 0; i < map->count; i++) {
        /* Texts of message tables end with one space. */
        char text[64];
        snprintf(text, sizeof(text), "%s ", map->entries[i].text);
        put_string(out, start, MAP_HEADER + i * MAP_ENTRY, text);
    }
}

static void add_tlg_field(struct buf *out, const char *name, uint8_t in, uint8_t out_type)
{
    etl_put_textz(out, name);
    etl_put_u8(out, (uint8_t)(in | (out_type ? 0x80 : 0)));
    if (out_type) {
        etl_put_u8(out, out_type);
    }
}

/* Size and tags in front, name of the event: TraceLoggingProvider.h. */
static size_t begin_blob(struct buf *out, const char *event_name)
{
    size_t start = out->size;
    etl_put_u16(out, 0);
    etl_put_u8(out, 0);
    etl_put_textz(out, event_name);
    return start;
}

static void end_blob(struct buf *out, size_t start)
{
    if (!out->failed) {
        store_le16(out->data + start, (uint16_t)(out->size - start));
    }
}

void etl_mix_schema_request_blob(struct buf *out)
{
    enum { TLG_VCOUNT = 0x40, TLG_BOOLEAN = 3, TLG_PORT = 7, TLG_IPV4 = 8, TLG_UTF8 = 35 };
    size_t start = begin_blob(out, "HttpRequest");
    add_tlg_field(out, "Sequence", IN_UINT64, 0);
    add_tlg_field(out, "Url", IN_MANIFEST_COUNTED_STRING, 0);
    add_tlg_field(out, "Client", IN_RESERVED24, 4);
    add_tlg_field(out, "User", IN_UNICODE_STRING, 0);
    add_tlg_field(out, "Address", IN_UINT32, TLG_IPV4);
    add_tlg_field(out, "Port", IN_UINT16, TLG_PORT);
    add_tlg_field(out, "Build", IN_RESERVED24, 2);
    add_tlg_field(out, "Major", IN_UINT16, 0);
    add_tlg_field(out, "Minor", IN_UINT16, 0);
    add_tlg_field(out, "Status", IN_INT32, 0);
    add_tlg_field(out, "ElapsedMs", IN_DOUBLE, 0);
    add_tlg_field(out, "Secure", IN_UINT8, TLG_BOOLEAN);
    add_tlg_field(out, "ChunkSizes", IN_UINT32 | TLG_VCOUNT, 0);
    add_tlg_field(out, "UserAgent", IN_ANSI_STRING, TLG_UTF8);
    end_blob(out, start);
}

void etl_mix_schema_heartbeat_blob(struct buf *out)
{
    size_t start = begin_blob(out, "Heartbeat");
    add_tlg_field(out, "Sequence", IN_UINT64, 0);
    add_tlg_field(out, "UptimeSeconds", IN_UINT32, 0);
    add_tlg_field(out, "Service", IN_MANIFEST_COUNTED_ANSI_STRING, 0);
    end_blob(out, start);
}

void etl_mix_schema_telemetry_traits(struct buf *out)
{
    size_t start = out->size;
    etl_put_u16(out, 0);
    etl_put_textz(out, ETL_MIX_TELEMETRY_NAME);
    end_blob(out, start);
}

void etl_mix_schema_tmf(struct buf *out)
{
    char guid[GUID_TEXT_SIZE + 1] = {0};
    guid_write(&etl_mix_schema_wpp_message, guid);
    buf_printf(out,
        "// PDB:  etwship_sample.pdb\n"
        "%s etwship_sample // SRC=sample.c MJ= MN=\n"
        "#typev sample_c31 10 \"%%0query %%10!u! for %%11!s! took %%12!I64d! us, status "
        "%%13!x!\" //   LEVEL=TRACE_LEVEL_INFORMATION FLAGS=TRACE_QUERY FUNC=sample_query\n"
        "{\n"
        "sequence, ItemLong -- 10\n"
        "name, ItemString -- 11\n"
        "elapsed, ItemLongLong -- 12\n"
        "status, ItemLong -- 13\n"
        "}\n",
        guid);
}
