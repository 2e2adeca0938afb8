#include "outputs/azure_logs/azure_frame.h"

#include <stdio.h>

#include "outputs/azure_logs/azure_settings.h"
#include "outputs/delivery_id.h"
#include "outputs/http/http_frame.h"
#include "outputs/json_member.h"

/* ---- bodies ---------------------------------------------------------------------------------- */

/* Add an event, with members of the service before its own. A text that is not an object is sent
 * unchanged. */
static void add_event(const struct delivery *delivery, size_t index, struct buf *out)
{
    struct span record = http_frame_record(delivery, index);
    struct span time = json_member_find(record, "@timestamp");
    struct span text;
    if (record.size < 2 || record.data[0] != '{') {
        buf_add_span(out, record);
        return;
    }
    buf_add_byte(out, '{');
    bool more = record.size > 2;
    bool first = true;
    if (json_member_inner(time, &text) && text.size < 40) {
        buf_add_text(out, "\"TimeGenerated\":");
        buf_add_span(out, time);
        first = false;
    }
    if (delivery->ids) {
        char id[DELIVERY_ID_MAX];
        buf_add_text(out, first ? "\"etwship_id\":\"" : ",\"etwship_id\":\"");
        buf_add(out, id, delivery_id_write(delivery, index, id));
        buf_add_byte(out, '"');
        first = false;
    }
    if (!first && more) {
        buf_add_byte(out, ',');
    }
    buf_add_span(out, span_from(record, 1));
}

bool azure_frame_write(const struct http_piece *piece, struct buf *out)
{
    char between = '[';
    buf_reset(out);
    for (size_t i = piece->first; i < piece->first + piece->count; i++) {
        if (http_piece_holds(piece, i)) {
            buf_add_byte(out, (uint8_t)between);
            add_event(piece->delivery, i, out);
            between = ',';
        }
    }
    buf_add_byte(out, ']');
    return !out->failed;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

/* Member of an event, type of its column in the stream, and expression for the table. */
struct column {
    const char *name;
    const char *type;
};

static const struct column native_stream[] = {{"TimeGenerated", "datetime"},
    {"etwship_id", "string"}, {"provider", "dynamic"}, {"event", "dynamic"}, {"process", "dynamic"},
    {"etw", "dynamic"}, {"data", "dynamic"}, {"extended", "dynamic"}, {"message", "string"},
    {"activity_id", "string"}, {"related_activity_id", "string"}, {"payload", "string"},
    {"gap", "dynamic"}, {"host", "dynamic"}, {"agent", "dynamic"}, {"labels", "dynamic"},
    {"tags", "dynamic"}};

static const struct column ecs_stream[] = {{"TimeGenerated", "datetime"}, {"etwship_id", "string"},
    {"event", "dynamic"}, {"process", "dynamic"}, {"winlog", "dynamic"}, {"message", "string"},
    {"host", "dynamic"}, {"user", "dynamic"}, {"file", "dynamic"}, {"registry", "dynamic"},
    {"dns", "dynamic"}, {"source", "dynamic"}, {"destination", "dynamic"}, {"network", "dynamic"},
    {"agent", "dynamic"}, {"labels", "dynamic"}, {"tags", "dynamic"}};

static const struct column table[] = {{"TimeGenerated", "datetime"}, {"EtwshipId", "string"},
    {"Provider", "string"}, {"EventCode", "string"}, {"EventName", "string"}, {"EventLevel", "int"},
    {"ProcessId", "long"}, {"Computer", "string"}, {"Message", "string"}, {"Data", "dynamic"},
    {"Event", "dynamic"}};

static const char native_transform[] =
    "source | project TimeGenerated, EtwshipId = etwship_id, Provider = tostring(provider.name), "
    "EventCode = tostring(event.code), EventName = tostring(event.name), EventLevel = "
    "toint(event.level), ProcessId = tolong(process.pid), Computer = tostring(host.name), Message "
    "= message, Data = data, Event = bag_pack('provider', provider, 'event', event, 'process', "
    "process, 'etw', etw, 'extended', extended, 'activity_id', activity_id, 'related_activity_id', "
    "related_activity_id, 'payload', payload, 'gap', gap, 'agent', agent, 'labels', labels, "
    "'tags', tags)";

static const char ecs_transform[] =
    "source | project TimeGenerated, EtwshipId = etwship_id, Provider = tostring(event.provider), "
    "EventCode = tostring(event.code), EventName = tostring(event.action), EventLevel = "
    "toint(event.severity), ProcessId = tolong(process.pid), Computer = tostring(host.name), "
    "Message = message, Data = winlog.event_data, Event = bag_pack('event', event, 'process', "
    "process, 'winlog', winlog, 'user', user, 'file', file, 'registry', registry, 'dns', dns, "
    "'source', source, 'destination', destination, 'network', network, 'agent', agent, 'labels', "
    "labels, 'tags', tags)";

static void add_columns(struct buf *out, const struct column *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_printf(out, "%s{\"name\":\"%s\",\"type\":\"%s\"}", i ? "," : "", columns[i].name,
            columns[i].type);
    }
}

static const char table_path[] =
    "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.OperationalInsights/"
    "workspaces/{workspace}/tables/Etw_CL?api-version=2022-10-01";
static const char rule_path[] =
    "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Insights/"
    "dataCollectionRules/{rule}%s%s?api-version=2023-03-11";

/* Tables that every workspace has and that accept data of other programs ("Tables that support
 * ingestion", Azure Monitor). The columns are those of the "Azure Monitor Logs reference"; a member
 * without a column goes into the column for additional data. */
static const struct standard {
    const char *table;
    const char *transform; /* of native events */
} standards[] = {
    {"ASimDnsActivityLogs",
        "source | where tostring(provider.name) == 'Microsoft-Windows-DNS-Client' and "
        "toint(event.code) == 3008 | extend status = toint(data.QueryStatus) | project "
        "TimeGenerated, EventStartTime = TimeGenerated, EventEndTime = TimeGenerated, EventCount = "
        "int(1), EventType = 'Query', EventVendor = 'Microsoft', EventProduct = 'DNS Client', "
        "EventOriginalType = '3008', EventResult = iif(status == 0, 'Success', 'Failure'), "
        "DnsQuery = tostring(data.QueryName), DnsQueryType = toint(data.QueryType), "
        /* The status is 9000 (winerror.h) plus an RCODE of RFC 1035, 4.1.1, or its successors. */
        "DnsResponseCode = case(status == 0, int(0), status > 9000 and status < 9017, status - "
        "9000, int(null)), DnsResponseName = tostring(data.QueryResults), SrcProcessId = "
        "tostring(process.pid), Dvc = iif(isnotempty(host.name), tostring(host.name), "
        "tostring(agent.name)), AdditionalFields "
        "= bag_pack('etwship_id', etwship_id, 'status', status)"},
    {"WindowsEvent",
        "source | where isnotempty(event.code) | project TimeGenerated, Provider = "
        "tostring(provider.name), EventID = toint(event.code), Version = toint(event.version), "
        "EventLevel = toint(event.level), EventLevelName = tostring(event.level_name), Task = "
        "toint(event.task), Opcode = tostring(event.opcode), Keywords = tostring(event.keywords), "
        "Channel = tostring(event.channel_name), Computer = iif(isnotempty(host.name), "
        "tostring(host.name), tostring(agent.name)), Correlation = activity_id, SystemProcessId = "
        "toint(process.pid), "
        "SystemThreadId = toint(process.thread.id), SystemUserId = tostring(extended.sid), "
        "EventData = data, EventRecordId = etwship_id"},
};

/* Show the rule ${name}: its stream gets the output's events, and ${transform} makes rows of the
 * table ${output} of them. */
static bool show_rule(const struct azure_settings *s, const struct output_talk *talk, bool ecs,
    const char *name, const char *output, const char *transform)
{
    const char *stream = azure_settings_route(s) ? "Custom-Etw" : s->stream;
    char path[sizeof(rule_path) + 64];
    struct buf out;
    buf_init(&out, 64 * 1024);
    snprintf(path, sizeof(path), rule_path, name[0] ? "-" : "", name);
    buf_printf(&out,
        "{\"location\":\"{region}\",\"kind\":\"Direct\",\"properties\":{\"streamDeclarations\":{\"%"
        "s\":{\"columns\":[",
        stream);
    add_columns(&out, ecs ? ecs_stream : native_stream,
        ecs ? sizeof(ecs_stream) / sizeof(ecs_stream[0])
            : sizeof(native_stream) / sizeof(native_stream[0]));
    buf_printf(&out,
        "]}},\"destinations\":{\"logAnalytics\":[{\"workspaceResourceId\":\"/subscriptions/"
        "{subscription}/resourceGroups/{group}/providers/Microsoft.OperationalInsights/workspaces/"
        "{workspace}\",\"name\":\"workspace\"}]},\"dataFlows\":[{\"streams\":[\"%s\"],"
        "\"destinations\":[\"workspace\"],\"transformKql\":\"",
        stream);
    buf_add_text(&out, transform);
    buf_printf(&out, "\",\"outputStream\":\"%s\"}]}}", output);
    talk->show(talk->host, "PUT", path, buf_span(&out));
    bool good = !out.failed;
    buf_fini(&out);
    return good;
}

static bool show_table(const struct output_talk *talk)
{
    struct buf out;
    buf_init(&out, 64 * 1024);
    buf_add_text(&out, "{\"properties\":{\"schema\":{\"name\":\"Etw_CL\",\"columns\":[");
    add_columns(&out, table, sizeof(table) / sizeof(table[0]));
    buf_add_text(&out, "]}}}");
    talk->show(talk->host, "PUT", table_path, buf_span(&out));
    bool good = !out.failed;
    buf_fini(&out);
    return good;
}

bool azure_frame_setup(const void *settings, const struct output_talk *talk)
{
    const struct azure_settings *s = settings;
    bool ecs = talk->format && strcmp(talk->format, "ecs") == 0;
    bool good = show_table(talk) && show_rule(s, talk, ecs, "", "Custom-Etw_CL",
                                        ecs ? ecs_transform : native_transform);
    talk->say(talk->host, OUTPUT_FOUND_NOTE,
        "setup changes nothing in Azure: send the two requests to https://management.azure.com, or "
        "to that of a sovereign cloud (az rest), with your values in place of the braces. then "
        "give the identity the role Monitoring Metrics Publisher on the rule, and write its "
        "immutable id and its endpoint into the output");
    for (size_t i = 0; good && !ecs && i < sizeof(standards) / sizeof(standards[0]); i++) {
        char stream[64];
        snprintf(stream, sizeof(stream), "Microsoft-%s", standards[i].table);
        good = show_rule(s, talk, ecs, standards[i].table, stream, standards[i].transform);
    }
    if (good && !ecs) {
        talk->say(talk->host, OUTPUT_FOUND_NOTE,
            "the last two rules write to tables that the workspace already has: queries of the DNS "
            "client, and any event of a provider with event ids. each needs an output of its own, "
            "with its immutable id as dcr, and no new table");
    }
    return good;
}
