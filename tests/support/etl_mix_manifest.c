/* The sample providers as XML: an instrumentation manifest of the tables in etl_mix_schema.c, and
 * what a .NET EventSource sends about itself. Element names: eventman.xsd of the Windows SDK. */
#include "support/etl_mix_schema.h"

static const char *in_type_name(uint8_t type)
{
    static const char *const names[] = {[IN_UNICODE_STRING] = "UnicodeString",
        [IN_ANSI_STRING] = "AnsiString",
        [IN_UINT16] = "UInt16",
        [IN_UINT32] = "UInt32",
        [IN_UINT64] = "UInt64",
        [IN_BOOLEAN] = "Boolean",
        [IN_FILETIME] = "FILETIME",
        [IN_SID] = "SID",
        [IN_HEX_INT32] = "HexInt32"};
    return names[type];
}

static const char *out_type_name(uint8_t type)
{
    switch (type) {
    case OUT_PID:
        return " outType=\"win:PID\"";
    case OUT_IPV4:
        return " outType=\"win:IPv4\"";
    case OUT_NTSTATUS:
        return " outType=\"win:NTSTATUS\"";
    default:
        return "";
    }
}

static void add_guid(struct buf *out, const struct guid *guid)
{
    char text[GUID_TEXT_SIZE];
    guid_write(guid, text);
    buf_printf(out, "guid=\"{%.*s}\"", GUID_TEXT_SIZE, text);
}

static void add_event(struct buf *out, const struct etl_mix_type *t)
{
    buf_printf(out, "     <event value=\"%u\" version=\"%u\" symbol=\"%s\" level=\"%s\"",
        t->descriptor.id, t->descriptor.version, t->symbol, t->level);
    buf_printf(out, " channel=\"CHANNEL\" template=\"%sArgs\"", t->symbol);
    if (t->task) {
        buf_printf(out, " task=\"%s\" opcode=\"%s\"", t->task, t->opcode);
    }
    if (t->keyword) {
        buf_printf(out, " keywords=\"%s\"", t->keyword);
    }
    buf_printf(out, " message=\"$(string.%s)\"/>\n", t->symbol);
}

static void add_template(struct buf *out, const struct etl_mix_type *t)
{
    buf_printf(out, "     <template tid=\"%sArgs\">\n", t->symbol);
    for (size_t i = 0; i < t->field_count; i++) {
        const struct etl_mix_field *f = &t->fields[i];
        buf_printf(out, "      <data name=\"%s\" inType=\"win:%s\"%s", f->name,
            in_type_name(f->in_type), out_type_name(f->out_type));
        if (f->map) {
            buf_printf(out, " map=\"%s\"", f->map->name);
        }
        if (f->count) {
            buf_printf(out, " count=\"%s\"", f->count);
        }
        buf_add_text(out, "/>\n");
    }
    buf_add_text(out, "     </template>\n");
}

static void add_map(struct buf *out, const struct etl_mix_map *map)
{
    const char *element = map->bits ? "bitMap" : "valueMap";
    buf_printf(out, "     <%s name=\"%s\">\n", element, map->name);
    for (size_t i = 0; i < map->count; i++) {
        buf_printf(out, "      <map value=\"0x%x\" message=\"$(string.%s.%s)\"/>\n",
            map->entries[i].value, map->name, map->entries[i].text);
    }
    buf_printf(out, "     </%s>\n", element);
}

static void add_tasks_and_keywords(struct buf *out, const struct etl_mix_provider *p)
{
    const char *keyword = p->types[0].keyword;
    if (!keyword) {
        return;
    }
    buf_add_text(out, "    <tasks>\n");
    for (size_t i = 0; i < p->type_count; i++) {
        buf_printf(out, "     <task name=\"%s\" value=\"%u\"/>\n", p->types[i].task,
            p->types[i].descriptor.task);
    }
    buf_printf(out,
        "    </tasks>\n    <keywords>\n     <keyword name=\"%s\" mask=\"0x%llx\"/>\n"
        "    </keywords>\n",
        keyword, (unsigned long long)p->keyword_mask);
}

static void add_provider(struct buf *out, const struct etl_mix_provider *p)
{
    buf_printf(out, "   <provider name=\"%s\" symbol=\"%s\" ", p->name, p->symbol);
    add_guid(out, &p->guid);
    buf_add_text(out, " resourceFileName=\"sample.dll\" messageFileName=\"sample.dll\">\n");
    buf_printf(out,
        "    <channels>\n     <channel chid=\"CHANNEL\" name=\"%s\" value=\"16\" "
        "type=\"Operational\"/>\n    </channels>\n",
        p->channel);
    add_tasks_and_keywords(out, p);
    if (p->maps[0]) {
        buf_add_text(out, "    <maps>\n");
        add_map(out, p->maps[0]);
        add_map(out, p->maps[1]);
        buf_add_text(out, "    </maps>\n");
    }
    buf_add_text(out, "    <templates>\n");
    for (size_t i = 0; i < p->type_count; i++) {
        add_template(out, &p->types[i]);
    }
    buf_add_text(out, "    </templates>\n    <events>\n");
    for (size_t i = 0; i < p->type_count; i++) {
        add_event(out, &p->types[i]);
    }
    buf_add_text(out, "    </events>\n   </provider>\n");
}

static void add_strings(struct buf *out, const struct etl_mix_provider *p)
{
    for (size_t i = 0; i < p->type_count; i++) {
        buf_printf(
            out, "    <string id=\"%s\" value=\"%s\"/>\n", p->types[i].symbol, p->types[i].message);
    }
    for (size_t m = 0; m < 2 && p->maps[m]; m++) {
        for (size_t i = 0; i < p->maps[m]->count; i++) {
            const char *text = p->maps[m]->entries[i].text;
            buf_printf(
                out, "    <string id=\"%s.%s\" value=\"%s\"/>\n", p->maps[m]->name, text, text);
        }
    }
}

void etl_mix_manifest_xml(struct buf *out)
{
    buf_add_text(out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<instrumentationManifest xmlns=\"http://schemas.microsoft.com/win/2004/08/events\"\n"
        "  xmlns:win=\"http://manifests.microsoft.com/win/2004/08/windows/events\"\n"
        "  xmlns:xs=\"http://www.w3.org/2001/XMLSchema\">\n"
        " <instrumentation>\n  <events>\n");
    add_provider(out, &etl_mix_schema_dns);
    add_provider(out, &etl_mix_schema_process);
    buf_add_text(out, "  </events>\n </instrumentation>\n <localization>\n"
                      "  <resources culture=\"en-US\">\n   <stringTable>\n");
    add_strings(out, &etl_mix_schema_dns);
    add_strings(out, &etl_mix_schema_process);
    buf_add_text(out, "   </stringTable>\n  </resources>\n </localization>\n"
                      "</instrumentationManifest>\n");
}

void etl_mix_manifest_event_source(struct buf *out)
{
    struct guid guid = guid_from_name(span_text(ETL_MIX_EVENT_SOURCE_NAME));
    buf_add_text(out,
        "<instrumentationManifest xmlns=\"http://schemas.microsoft.com/win/2004/08/events\">\n"
        " <instrumentation xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" "
        "xmlns:win=\"http://manifests.microsoft.com/win/2004/08/windows/events\">\n"
        "  <events xmlns=\"http://schemas.microsoft.com/win/2004/08/events\">\n"
        "<provider name=\"" ETL_MIX_EVENT_SOURCE_NAME "\" ");
    add_guid(out, &guid);
    buf_add_text(out,
        " resourceFileName=\"sample.dll\" messageFileName=\"sample.dll\" "
        "symbol=\"EtwshipSampleEventSource\">\n"
        " <tasks>\n"
        "  <task name=\"Work\" message=\"$(string.task_Work)\" value=\"1\"/>\n"
        "  <task name=\"Note\" message=\"$(string.task_Note)\" value=\"65532\"/>\n"
        " </tasks>\n <opcodes>\n </opcodes>\n <events>\n"
        "  <event value=\"1\" version=\"1\" level=\"win:Informational\" symbol=\"WorkStart\" "
        "message=\"$(string.event_WorkStart)\" task=\"Work\" opcode=\"win:Start\" "
        "template=\"WorkStartArgs\"/>\n"
        "  <event value=\"2\" version=\"0\" level=\"win:Warning\" symbol=\"Note\" "
        "task=\"Note\" template=\"NoteArgs\"/>\n"
        " </events>\n <templates>\n"
        "  <template tid=\"WorkStartArgs\">\n"
        "   <data name=\"Sequence\" inType=\"win:UInt64\"/>\n"
        "   <data name=\"Name\" inType=\"win:UnicodeString\"/>\n"
        "   <data name=\"Priority\" inType=\"win:Int32\"/>\n"
        "   <data name=\"Ratio\" inType=\"win:Double\"/>\n"
        "   <data name=\"Job\" inType=\"win:GUID\"/>\n  </template>\n"
        "  <template tid=\"NoteArgs\">\n"
        "   <data name=\"Sequence\" inType=\"win:UInt64\"/>\n"
        "   <data name=\"Text\" inType=\"win:UnicodeString\"/>\n  </template>\n"
        " </templates>\n</provider>\n</events>\n</instrumentation>\n<localization>\n"
        " <resources culture=\"en-US\">\n  <stringTable>\n"
        "   <string id=\"event_WorkStart\" value=\"%2 begins with priority %3\"/>\n"
        "   <string id=\"task_Note\" value=\"Note\"/>\n"
        "   <string id=\"task_Work\" value=\"Work\"/>\n"
        "  </stringTable>\n </resources>\n</localization>\n</instrumentationManifest>\n");
}
