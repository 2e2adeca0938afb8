#include "support/etl_mix_schema.h"

#include "support/etl_put.h"
#include "support/tei.h"

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

static uint16_t field_index(const struct etl_mix_type *type, const char *name)
{
    uint16_t i = 0;
    while (i < type->field_count && strcmp(type->fields[i].name, name) != 0) {
        i++;
    }
    return i;
}

static struct schema_map map_of(
    const struct etl_mix_map *from, struct schema_map_entry entries[ETL_MIX_MAX_ENTRIES])
{
    for (size_t i = 0; i < from->count; i++) {
        entries[i] = (struct schema_map_entry){
            .value = from->entries[i].value, .text = span_text(from->entries[i].text)};
    }
    return (struct schema_map){.kind = from->bits ? MAP_BITS : MAP_VALUE,
        .entries = entries,
        .entry_count = from->count,
        .name = span_text(from->name)};
}

void etl_mix_schema_event_info(
    struct buf *out, const struct etl_mix_provider *provider, const struct etl_mix_type *type)
{
    struct schema_field fields[ETL_MIX_MAX_FIELDS] = {{.name = {NULL, 0}}};
    struct schema_map maps[ETL_MIX_MAX_FIELDS];
    struct schema_map_entry entries[ETL_MIX_MAX_ENTRIES];
    for (size_t i = 0; i < type->field_count; i++) {
        const struct etl_mix_field *from = &type->fields[i];
        fields[i] = (struct schema_field){
            .name = span_text(from->name), .in_type = from->in_type, .out_type = from->out_type};
        if (from->count) {
            fields[i].flags = FIELD_PARAM_COUNT;
            fields[i].count = field_index(type, from->count);
        }
        if (from->map) {
            maps[i] = map_of(from->map, entries);
            fields[i].map = &maps[i];
        }
    }
    const struct schema_keyword keywords[] = {
        {.name = span_text(type->keyword)}, {.name = span_text(provider->channel)}};
    const struct event_schema schema = {.kind = SCHEMA_MANIFEST,
        .provider = provider->guid,
        .descriptor = type->descriptor,
        .provider_name = span_text(provider->name),
        .task_name = span_text(type->task),
        .opcode_name = span_text(type->opcode),
        .level_name = span_text(type->level),
        .channel_name = span_text(provider->channel),
        .keywords = keywords,
        .keyword_count = sizeof(keywords) / sizeof(keywords[0]),
        .message = span_text(type->message),
        .fields = fields,
        .field_count = (uint16_t)type->field_count,
        .top_count = (uint16_t)type->field_count};
    tei_put_event(out, &schema, &(struct tei_options){.spaces = TEI_SPACES_WINDOWS});
}

void etl_mix_schema_map_info(
    struct buf *out, const struct etl_mix_provider *provider, const struct etl_mix_map *map)
{
    struct schema_map_entry entries[ETL_MIX_MAX_ENTRIES];
    const struct schema_map made = map_of(map, entries);
    etl_put_guid(out, &provider->guid);
    tei_put_map(out, &made, made.name);
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
