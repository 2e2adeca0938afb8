#include "outputs/azure_logs/azure_frame.h"

#include "outputs/azure_logs/azure_settings.h"
#include "outputs/delivery_id.h"
#include "outputs/http/http_frame.h"
#include "outputs/json_member.h"

/* ---- bodies -------------------------------------------------------------------------------------- */

/* The members in front of those of the event; what is no object goes as it is. */
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

/* ---- set-up -------------------------------------------------------------------------------------- */

/* Members of an event, the type of their column in the stream, and what the table gets of them. */
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
    "toint(event.level), "
    "ProcessId = tolong(process.pid), Computer = tostring(host.name), Message = message, Data = "
    "data, "
    "Event = bag_pack('provider', provider, 'event', event, 'process', process, 'etw', etw, "
    "'extended', "
    "extended, 'activity_id', activity_id, 'related_activity_id', related_activity_id, 'payload', "
    "payload, "
    "'gap', gap, 'agent', agent, 'labels', labels, 'tags', tags)";

static const char ecs_transform[] =
    "source | project TimeGenerated, EtwshipId = etwship_id, Provider = tostring(event.provider), "
    "EventCode = tostring(event.code), EventName = tostring(event.action), EventLevel = "
    "toint(event.severity), ProcessId = tolong(process.pid), Computer = tostring(host.name), "
    "Message = "
    "message, Data = winlog.event_data, Event = bag_pack('event', event, 'process', process, "
    "'winlog', "
    "winlog, 'user', user, 'file', file, 'registry', registry, 'dns', dns, 'source', source, "
    "'destination', destination, 'network', network, 'agent', agent, 'labels', labels, 'tags', "
    "tags)";

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
    "dataCollectionRules/{rule}?api-version=2023-03-11";

bool azure_frame_setup(const void *settings, const struct output_talk *talk)
{
    const struct azure_settings *s = settings;
    bool ecs = talk->format && strcmp(talk->format, "ecs") == 0;
    const char *stream = azure_settings_route(s) ? "Custom-Etw" : s->stream;
    struct buf out;
    buf_init(&out, 64 * 1024);
    buf_add_text(&out, "{\"properties\":{\"schema\":{\"name\":\"Etw_CL\",\"columns\":[");
    add_columns(&out, table, sizeof(table) / sizeof(table[0]));
    buf_add_text(&out, "]}}}");
    talk->show(talk->host, "PUT", table_path, buf_span(&out));
    buf_reset(&out);
    buf_printf(&out,
        "{\"location\":\"{region}\",\"kind\":\"Direct\",\"properties\":{\"streamDeclarations\":{\"%"
        "s\":{"
        "\"columns\":[",
        stream);
    add_columns(&out, ecs ? ecs_stream : native_stream,
        ecs ? sizeof(ecs_stream) / sizeof(ecs_stream[0])
            : sizeof(native_stream) / sizeof(native_stream[0]));
    buf_printf(&out,
        "]}},\"destinations\":{\"logAnalytics\":[{\"workspaceResourceId\":\"/subscriptions/"
        "{subscription}/"
        "resourceGroups/{group}/providers/Microsoft.OperationalInsights/workspaces/"
        "{workspace}\",\"name\":"
        "\"workspace\"}]},\"dataFlows\":[{\"streams\":[\"%s\"],\"destinations\":[\"workspace\"],"
        "\"transformKql\":\"%s\",\"outputStream\":\"Custom-Etw_CL\"}]}}",
        stream, ecs ? ecs_transform : native_transform);
    bool good = !out.failed;
    talk->show(talk->host, "PUT", rule_path, buf_span(&out));
    buf_fini(&out);
    talk->say(talk->host, OUTPUT_FOUND_NOTE,
        "nothing was made in Azure: send the two requests to https://management.azure.com (az "
        "rest), with "
        "your values in place of the braces. then give the identity the role Monitoring Metrics "
        "Publisher "
        "on the rule, and write its immutable id and its endpoint into the output");
    return good;
}
