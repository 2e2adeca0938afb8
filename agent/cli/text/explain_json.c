#include <inttypes.h>

#include "app/config/app_fields.h"
#include "cli/text/explain.h"
#include "etw/enable/etw_keywords.h"
#include "etw/etw_hold.h"
#include "event/value/value_json.h"
#include "filter/push/filter_push.h"

/* The content of explain_words.c as one JSON object. */

struct json {
    const struct explain *explain;
    size_t session;
    struct buf *out;
    const char *comma;
    const char *note_comma;
};

static void put_text(const char *key, struct span text, struct buf *out)
{
    buf_printf(out, "\"%s\":", key);
    value_json_string(text, out);
}

static void put_events(const struct etw_request *request, struct buf *out)
{
    if (request->events.count == 0) {
        return;
    }
    buf_printf(out, ",\"events\":{\"%s\":[", request->events.exclude ? "exclude" : "include");
    for (size_t i = 0; i < request->events.count; i++) {
        buf_printf(out, "%s%u", i ? "," : "", request->events.ids[i]);
    }
    buf_add_text(out, "]}");
}

static void put_list(const char *key, const struct etw_filter_texts *texts, struct buf *out)
{
    for (size_t i = 0; i < texts->count; i++) {
        buf_printf(out, i ? "," : ",\"%s\":[", key);
        value_json_string(span_text(texts->texts[i]), out);
    }
    buf_add_text(out, texts->count ? "]" : "");
}

static void put_payload(
    const struct explain *explain, const struct etw_request *request, struct buf *out)
{
    for (size_t i = 0; i < request->payload_count; i++) {
        const struct etw_payload_filter *f = &request->payload[i];
        buf_printf(out, "%s{\"event\":%u,\"version\":%u,\"match\":\"%s\",\"tests\":[",
            i ? "," : ",\"payload\":[", f->event.id, f->event.version,
            f->match_any ? "any" : "all");
        for (size_t k = 0; k < f->count; k++) {
            buf_add_text(out, k ? ",{" : "{");
            put_text("field", span_text(f->tests[k].field), out);
            buf_printf(out, ",\"op\":%u,", f->tests[k].op);
            put_text("value", span_text(explain_value(explain, f->tests[k].value)), out);
            buf_add_byte(out, '}');
        }
        buf_add_text(out, "]}");
    }
    buf_add_text(out, request->payload_count ? "]" : "");
}

static void put_request(
    const struct explain *explain, const struct explain_call *call, struct buf *out)
{
    const struct etw_request *r = &call->request;
    buf_printf(out,
        ",\"level\":%u,\"any\":\"0x%" PRIx64 "\",\"all\":\"0x%" PRIx64 "\",\"properties\":\"0x%x\"",
        r->level ? r->level : PROVIDER_LEVEL_ALL, etw_keywords_any(r), etw_keywords_all(r),
        r->properties);
    put_events(r, out);
    for (size_t i = 0; i < r->pid_count; i++) {
        buf_printf(out, "%s%" PRIu32, i ? "," : ",\"pids\":[", r->pids[i]);
    }
    buf_add_text(out, r->pid_count ? "]" : "");
    put_list("event_names", &r->names, out);
    put_list("executables", &r->executables, out);
    put_list("packages", &r->packages, out);
    put_list("apps", &r->apps, out);
    put_payload(explain, r, out);
}

static void put_note(void *self, const char *text)
{
    struct json *json = self;
    buf_add_text(json->out, json->note_comma);
    value_json_string(span_text(text), json->out);
    json->note_comma = ",";
}

static void put_call(void *self, const struct explain_call *call)
{
    struct json *json = self;
    struct buf *out = json->out;
    const struct provider_scope *scope = call->spec->scope;
    char guid[GUID_TEXT_SIZE];
    guid_write(&call->request.provider, guid);
    buf_printf(out, "%s{\"guid\":\"%.36s\",", json->comma, guid);
    put_text("name", call->spec->name, out);
    buf_printf(out, ",\"enabled\":%s", call->nothing ? "false" : "true");
    if (!call->nothing) {
        put_request(json->explain, call, out);
    }
    buf_add_text(out, ",\"agent\":[");
    for (size_t i = 0; scope && i < scope->left_count; i++) {
        buf_add_text(out, i ? ",{" : "{");
        put_text("field", span_text(scope->left[i].path), out);
        buf_add_byte(out, ',');
        put_text("why", span_text(explain_why((int)scope->left[i].why)), out);
        buf_add_byte(out, '}');
    }
    buf_add_text(out, "],\"notes\":[");
    json->note_comma = "";
    explain_notes(json->explain, json->session, call, put_note, json);
    buf_add_text(out, "]}");
    json->comma = ",";
}

bool explain_write_json(const struct explain *explain, size_t session, struct buf *out)
{
    struct json json = {.explain = explain, .out = out};
    const char *comma = "";
    bool good = true;
    buf_add_text(out, "{\"sessions\":[");
    for (size_t i = 0; i < explain->plan.session_count && good; i++) {
        const struct app_session *config = explain->plan.session_configs[i];
        if (session != SIZE_MAX && session != i) {
            continue;
        }
        buf_printf(out, "%s{", comma);
        put_text("name", span_text(config->name), out);
        buf_add_byte(out, ',');
        put_text("type", span_text(config->type), out);
        buf_add_text(out, ",\"providers\":[");
        json.session = i;
        json.comma = "";
        good = explain_each(explain, i, put_call, &json);
        buf_add_text(out, "]}");
        comma = ",";
    }
    buf_add_text(out, "]}\n");
    return good;
}
