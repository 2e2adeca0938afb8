#include "support/evt_sim_xml.h"

#include "base/put.h"

static void add_escaped(struct buf *out, const char *text)
{
    for (; text && *text; text++) {
        switch (*text) {
        case '&':
            buf_add_text(out, "&amp;");
            break;
        case '<':
            buf_add_text(out, "&lt;");
            break;
        case '>':
            buf_add_text(out, "&gt;");
            break;
        case '\'':
            buf_add_text(out, "&apos;");
            break;
        default:
            buf_add_byte(out, (uint8_t)*text);
        }
    }
}

static void add_number(struct buf *out, const struct evt_sim_data *data)
{
    switch (data->type) {
    case 20:
    case 21:
    case 16:
        buf_printf(out, "0x%llx", (unsigned long long)data->number);
        break;
    case 13:
        buf_add_text(out, data->number ? "true" : "false");
        break;
    case 3:
    case 5:
    case 7:
    case 9:
        buf_printf(out, "%lld", (long long)data->number);
        break;
    default:
        buf_printf(out, "%llu", (unsigned long long)data->number);
    }
}

void evt_sim_xml_write(
    const struct evt_sim_event *e, uint64_t id, const char *channel, struct buf *out)
{
    uint8_t time[PUT_MAX];
    size_t time_size = (size_t)(put_filetime_or_hex(time, e->time) - time);
    buf_add_text(out,
        "<Event xmlns='http://schemas.microsoft.com/win/2004/08/events/event'><System><Provider "
        "Name='");
    add_escaped(out, e->provider);
    buf_printf(out,
        "'/><EventID>%u</EventID><Version>0</Version><Level>%u</Level><Task>0</Task><Opcode>0</"
        "Opcode>"
        "<Keywords>0x8000000000000000</Keywords><TimeCreated SystemTime='%.*s'/><EventRecordID>%llu"
        "</EventRecordID><Correlation/><Execution ProcessID='4' ThreadID='8'/><Channel>%s</Channel>"
        "<Computer>%s</Computer><Security UserID='S-1-5-18'/></System><EventData>",
        e->id, e->level, (int)time_size, time,
        (unsigned long long)(e->forwarded_id ? e->forwarded_id : id), channel, e->computer);
    for (size_t i = 0; i < e->data_count; i++) {
        const struct evt_sim_data *data = &e->data[i];
        buf_add_text(out, "<Data");
        if (data->name) {
            buf_printf(out, " Name='%s'", data->name);
        }
        buf_add_byte(out, '>');
        if (data->type == 1) {
            add_escaped(out, data->text);
        } else if (data->type) {
            add_number(out, data);
        }
        buf_add_text(out, "</Data>");
    }
    buf_add_text(out, "</EventData>");
    if (e->message && e->forwarded_id) {
        buf_add_text(out, "<RenderingInfo Culture='en-US'><Message>");
        add_escaped(out, e->message);
        buf_add_text(out, "</Message><Level>Information</Level></RenderingInfo>");
    }
    buf_add_text(out, "</Event>");
}
