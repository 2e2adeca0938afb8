#include "event/shape/ecs_head.h"

#include "base/put.h"
#include "event/shape/ecs_value.h"
#include "event/shape/ecs_version.h"
#include "event/write/event_host.h"

/* {5db7de6b-6094-54a0-e757-044329f62f6d}: provider of the agent's own events. */
static const struct guid agent_provider = {{0x6b, 0xde, 0xb7, 0x5d, 0x94, 0x60, 0xa0, 0x54, 0xe7,
    0x57, 0x04, 0x43, 0x29, 0xf6, 0x2f, 0x6d}};

static void add_text_member(struct buf *out, const char *key, struct span value)
{
    if (value.size) {
        buf_add_text(out, key);
        value_json_string(value, out);
    }
}

static void add_name_member(struct buf *out, const char *key, struct span name)
{
    add_text_member(out, key, event_head_name(name));
}

static void add_number_member(struct buf *out, const char *key, uint64_t value)
{
    buf_add_text(out, key);
    buf_add_u64(out, value);
}

static struct span or_default(struct span value, const char *other)
{
    return value.size ? value : span_text(other);
}

static struct span dataset(const struct event_writer *writer)
{
    return writer->options.dataset_varies ? span_make(NULL, 0)
                                          : or_default(writer->options.dataset, "etw.events");
}

static void add_hex(struct buf *out, const char *key, uint64_t value)
{
    uint8_t text[PUT_MAX];
    uint8_t *end = ecs_value_put_hex(text, value);
    buf_add_text(out, key);
    buf_add(out, text, (size_t)(end - text));
}

/* ---- event, log ------------------------------------------------------------------------------ */

/* log.level as Filebeat names ETW's levels: 0 is "log always". */
static const char *const log_levels[] = {
    "information", "critical", "error", "warning", "information", "verbose"};

enum { LOG_LEVELS = sizeof(log_levels) / sizeof(log_levels[0]) };

/* Only EVENT_HEADER events always have a level. */
static bool has_level(const struct event_record *record)
{
    return record->kind == RECORD_EVENT || record->descriptor.level;
}

static void add_code(struct buf *out, unsigned code)
{
    add_number_member(out, "\"code\":\"", code);
    buf_add_text(out, "\",");
}

/* The event object after its code. */
static void add_event_object(const struct event_writer *writer, const struct ecs_plan *plan,
    struct span provider, struct span action, bool has_severity, uint8_t level, struct buf *out)
{
    buf_add_text(out, "\"kind\":\"event\"");
    if (has_severity) {
        add_number_member(out, ",\"severity\":", level);
    }
    add_name_member(out, ",\"provider\":", provider);
    add_name_member(out, ",\"action\":", action);
    ecs_map_add_constants(plan, out);
    add_text_member(out, ",\"dataset\":", dataset(writer));
    buf_add_text(out, ",\"sequence\":");
}

static void add_log_level(struct buf *out, bool has_severity, uint8_t level)
{
    if (has_severity && level < LOG_LEVELS) {
        buf_add_text(out, "\"level\":\"");
        buf_add_text(out, log_levels[level]);
        buf_add_byte(out, '"');
    }
}

/* ---- winlog ---------------------------------------------------------------------------------- */

static void add_keywords(struct event_writer *writer, const struct event *event, struct buf *out)
{
    (void)writer;
    event_add_keyword_names(event, ",\"keywords\":[", out);
    add_hex(out, ",\"keywords_raw\":", event->record->descriptor.keyword);
}

static void add_guid_member(struct buf *out, const struct guid *guid)
{
    if (!guid_is_zero(guid) && buf_reserve(out, PUT_MAX)) {
        buf_add_text(out, ",\"provider_guid\":");
        uint8_t text[PUT_MAX];
        uint8_t *end = ecs_value_put_guid(text, guid->bytes);
        buf_add(out, text, (size_t)(end - text));
    }
}

/* TDH returns the name of a TraceLogging event as its task. */
static struct span task_name(const struct event *event, const struct event_names *names)
{
    const struct event_schema *schema = event->schema;
    return schema && schema->kind == SCHEMA_TRACELOGGING && names->task.size == 0
               ? schema->event_name
               : names->task;
}

static void add_winlog(struct event_writer *writer, const struct event *event, struct buf *out,
    struct event_head_cuts *ret_cuts)
{
    const struct event_record *record = event->record;
    const struct event_descriptor *d = &record->descriptor;
    struct guid provider = event_provider_guid(event);
    add_guid_member(out, &provider);
    if (record->kind == RECORD_MESSAGE || record->kind == RECORD_OPAQUE) {
        return;
    }
    struct event_names names = event_head_names(event);
    add_name_member(out, ",\"channel\":", names.channel);
    if (record->kind == RECORD_EVENT) {
        ret_cuts->keywords = (uint32_t)out->size;
        add_keywords(writer, event, out);
        ret_cuts->keywords_end = (uint32_t)out->size;
    }
    if (has_level(record)) {
        add_name_member(out, ",\"level\":", names.level);
        add_number_member(out, ",\"level_raw\":", d->level);
    }
    add_name_member(out, ",\"opcode\":", names.opcode);
    add_number_member(out, ",\"opcode_raw\":", d->opcode);
    add_name_member(out, ",\"task\":", task_name(event, &names));
    if (record->kind == RECORD_EVENT) {
        add_number_member(out, ",\"task_raw\":", d->task);
    }
    add_number_member(out, ",\"version\":", d->version);
}

static void render_head(struct event_writer *writer, const struct event *event, struct buf *out,
    struct event_head_cuts *ret_cuts)
{
    const struct event_record *record = event->record;
    buf_add_text(out, "\",\"event\":{");
    if (record->kind == RECORD_EVENT || record->kind == RECORD_MESSAGE) {
        add_code(out, record->descriptor.id);
    }
    struct ecs_plan *plan = ecs_map_compile(event);
    writer->fresh.plan = plan;
    struct span action = ecs_map_action(plan);
    if (action.size == 0 && event->schema) {
        action = event->schema->event_name;
    }
    add_event_object(writer, plan, event_provider_name(event), action, has_level(record),
        record->descriptor.level, out);
    ret_cuts->at[0] = (uint32_t)out->size;
    add_log_level(out, has_level(record), record->descriptor.level);
    ret_cuts->at[1] = (uint32_t)out->size;
    add_winlog(writer, event, out, ret_cuts);
}

const struct event_head_shape ecs_head_shape = {render_head, add_keywords};

void ecs_head_agent(struct event_writer *writer, const char *action, unsigned code, uint8_t level,
    struct buf *out, struct event_head_cuts *ret_cuts)
{
    buf_add_text(out, "\",\"event\":{");
    add_code(out, code);
    add_event_object(writer, NULL, span_text("etwship"), span_text(action), true, level, out);
    ret_cuts->at[0] = (uint32_t)out->size;
    add_log_level(out, true, level);
    ret_cuts->at[1] = (uint32_t)out->size;
    add_guid_member(out, &agent_provider);
    add_text_member(out, ",\"level\":", span_text(schema_level_name(level)));
    add_number_member(out, ",\"level_raw\":", level);
}

/* ---- flags ----------------------------------------------------------------------------------- */

static const struct {
    uint16_t flag;
    const char *name;
} flag_names[] = {
    /* in the order of the names */
    {EVENT_FLAG_32_BIT, "32_BIT_HEADER"},
    {EVENT_FLAG_64_BIT, "64_BIT_HEADER"},
    {EVENT_FLAG_CLASSIC, "CLASSIC_HEADER"},
    {EVENT_FLAG_DECODE_GUID, "DECODE_GUID"},
    {EVENT_FLAG_EXTENDED_INFO, "EXTENDED_INFO"},
    {EVENT_FLAG_NO_CPUTIME, "NO_CPUTIME"},
    {EVENT_FLAG_PRIVATE_SESSION, "PRIVATE_SESSION"},
    {EVENT_FLAG_PROCESSOR_INDEX, "PROCESSOR_INDEX"},
    {EVENT_FLAG_STRING_ONLY, "STRING_ONLY"},
    {EVENT_FLAG_TRACE_MESSAGE, "TRACE_MESSAGE"},
};

static uint8_t *put_text(uint8_t *p, const char *text)
{
    return put_span(p, span_text(text));
}

/* At most 220 bytes. */
static void render_flags(struct event_flags_text *text)
{
    unsigned left = text->flags;
    uint8_t *p = text->bytes;
    const char *separator = ",\"flags\":[\"";
    for (size_t i = 0; i < sizeof(flag_names) / sizeof(flag_names[0]); i++) {
        if (left & flag_names[i].flag) {
            p = put_text(put_text(p, separator), flag_names[i].name);
            separator = "\",\"";
            left &= ~(unsigned)flag_names[i].flag;
        }
    }
    if (left) {
        p = put_literal(put_text(p, separator), "UNKNOWN(0x");
        for (int shift = 12; shift >= 0; shift -= 4) {
            *p++ = (uint8_t) "0123456789ABCDEF"[left >> shift & 0xf];
        }
        *p++ = ')';
    }
    p = text->flags ? put_literal(p, "\"]") : p;
    p = put_literal(p, ",\"flags_raw\":");
    p = ecs_value_put_hex(p, text->flags);
    text->size = (size_t)(p - text->bytes);
}

struct span ecs_head_flags(struct event_writer *writer, uint16_t flags)
{
    /* Flags of one trace differ in a bit or two: spread them. */
    uint16_t hash = (uint16_t)(flags * 0x9e37u);
    struct event_flags_text *text = &writer->flags[hash / (0x10000 / EVENT_FLAGS_SLOTS)];
    if (text->size == 0 || text->flags != flags) {
        text->flags = flags;
        render_flags(text);
    }
    return span_make(text->bytes, text->size);
}

/* ---- traces ---------------------------------------------------------------------------------- */

void ecs_head_trace(struct event_writer *writer, const struct trace_info *trace, struct buf *out,
    size_t *ret_file, size_t *ret_end)
{
    struct span session = writer->session;
    if (session.size == 0 && trace) {
        session = trace->session_name;
    }
    add_text_member(out, ",\"session\":", session);
    *ret_file = out->size;
    if (trace && trace->path.size) {
        buf_add_text(out, "\"file\":{\"path\":");
        value_json_string(trace->path, out);
        buf_add_byte(out, '}');
    }
    *ret_end = out->size;
    if (trace) {
        event_host_ecs(trace, out);
    }
    buf_add_text(out, ",\"data_stream\":{\"type\":\"logs\"");
    add_text_member(out, ",\"dataset\":", dataset(writer));
    add_text_member(out, ",\"namespace\":", or_default(writer->options.data_namespace, "default"));
    buf_add_text(out, "},\"ecs\":{\"version\":\"" ECS_VERSION "\"}");
    event_writer_add_tail(writer, out);
    buf_add(out, "}\n", 2);
}
