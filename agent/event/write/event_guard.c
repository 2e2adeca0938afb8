#include "event/write/event_writer_state.h"

uint8_t event_guard_level(const struct guard_report *report)
{
    enum { ERROR = 2, WARNING = 3 };
    return report->action == GUARD_FAILED || report->action == GUARD_GAVE_UP ? ERROR : WARNING;
}

static void add_text(struct buf *out, const char *key, struct span text)
{
    if (text.size) {
        buf_add_text(out, key);
        value_json_string(text, out);
    }
}

static void add_by(const struct guard_report *report, struct buf *out)
{
    buf_printf(out, ",\"by\":{\"pid\":%u", report->by_pid);
    add_text(out, ",\"image\":", report->by_image);
    add_text(out, ",\"user\":", report->by_user);
    buf_add_byte(out, '}');
}

void event_guard_object(const struct guard_report *report, struct buf *out)
{
    buf_printf(out, "{\"kind\":\"%s\",\"action\":\"%s\"", report->kind,
        event_guard_action_name(report->action));
    add_text(out, ",\"session\":", report->session);
    add_text(out, ",\"provider\":", report->provider);
    if (!guid_is_zero(&report->provider_guid)) {
        char guid[GUID_TEXT_SIZE];
        guid_write(&report->provider_guid, guid);
        add_text(out, ",\"provider_guid\":", span_make(guid, sizeof(guid)));
    }
    buf_printf(out, ",\"repairs\":%u", report->repairs);
    add_text(out, ",\"detail\":", report->detail);
    if (report->shift_ms) {
        buf_printf(out, ",\"shift_ms\":%lld", (long long)report->shift_ms);
    }
    if (report->by_pid) {
        add_by(report, out);
    }
    buf_add_byte(out, '}');
}

static void add_escaped(struct buf *out, struct span text)
{
    if (text.size) {
        buf_add_json(out, text);
    }
}

void event_guard_message(const struct guard_report *report, struct buf *out)
{
    add_escaped(out, report->session);
    buf_add_text(out, ": ");
    add_escaped(out, report->detail);
    if (report->by_pid) {
        buf_printf(out, ", by process %u", report->by_pid);
        buf_add_text(out, report->by_image.size ? " " : "");
        add_escaped(out, report->by_image);
    }
}
