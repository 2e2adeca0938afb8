#include <stdlib.h>

#include "base/put.h"
#include "event/event_writer_internal.h"

/*
 * The part of an event between its time and its process: provider and event objects. It depends on
 * the schema and the event descriptor alone, and events of one type nearly always share their
 * descriptor: so it is rendered once per schema and kept with the descriptor it was rendered for.
 */

/* No padding: two descriptors are the same if their bytes are. */
_Static_assert(sizeof(struct event_descriptor) == 16, "event_descriptor has padding");

static bool same_descriptor(const struct event_descriptor *a, const struct event_descriptor *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static void add_text_member(struct buf *out, const char *key, struct span value)
{
    if (value.size) {
        buf_add_text(out, key);
        value_json_string(value, out);
    }
}

static void add_guid_member(struct buf *out, const char *key, const struct guid *guid)
{
    char text[GUID_TEXT_SIZE];
    guid_write(guid, text);
    buf_add_text(out, key);
    buf_add_byte(out, '"');
    buf_add(out, text, sizeof(text));
    buf_add_byte(out, '"');
}

static const char *kind_name(const struct event *event)
{
    if (event->schema) {
        return schema_kind_name(event->schema->kind);
    }
    switch (event->record->kind) {
    case RECORD_CLASSIC:
    case RECORD_KERNEL:
        return schema_kind_name(SCHEMA_MOF);
    case RECORD_MESSAGE:
        return schema_kind_name(SCHEMA_WPP);
    default:
        return schema_kind_name(SCHEMA_UNKNOWN);
    }
}

/* A name from the schema where the header has the value that it names, else a predefined one. */
static struct span name_for(struct span schema_name, bool same_value, const char *predefined)
{
    return schema_name.size && same_value ? schema_name : span_text(predefined);
}

struct keyword_list {
    struct buf *out;
    const char *separator;
};

static void add_keyword(void *self, struct span name)
{
    struct keyword_list *list = self;
    buf_add_text(list->out, list->separator);
    value_json_string(name, list->out);
    list->separator = ",";
}

static void add_keywords(const struct event *event, struct buf *out)
{
    uint8_t text[PUT_MAX];
    uint8_t *end = put_hex(text, event->record->descriptor.keyword);
    buf_add_text(out, ",\"keywords\":\"");
    buf_add(out, text, (size_t)(end - text));
    buf_add_byte(out, '"');
    if (event->schema) {
        struct keyword_list list = {.out = out, .separator = ",\"keywords_name\":["};
        event_each_keyword(event, add_keyword, &list);
        buf_add_text(out, *list.separator == ',' && list.separator[1] == '\0' ? "]" : "");
    }
}

static const struct event_schema no_schema;

/* `event` of EVENT_HEADER events. */
static void add_event_object(const struct event *event, struct buf *out)
{
    const struct event_schema *schema = event->schema ? event->schema : &no_schema;
    const struct event_descriptor *d = &event->record->descriptor;
    const struct event_descriptor *s = &schema->descriptor;
    /* TraceLogging metadata knows no level, task or opcode: whatever the header has, goes. */
    bool free_form = schema->kind == SCHEMA_TRACELOGGING;
    buf_printf(out, "\"code\":%u,\"version\":%u", d->id, d->version);
    add_text_member(out, ",\"name\":", schema->event_name);
    buf_printf(out, ",\"level\":%u", d->level);
    add_text_member(out, ",\"level_name\":",
        name_for(d->level >= 1 && d->level <= 5 ? span_make(NULL, 0) : schema->level_name,
            free_form || d->level == s->level, schema_level_name(d->level)));
    buf_printf(out, ",\"task\":%u", d->task);
    add_text_member(
        out, ",\"task_name\":", name_for(schema->task_name, free_form || d->task == s->task, NULL));
    buf_printf(out, ",\"opcode\":%u", d->opcode);
    const char *opcode = schema_opcode_name(d->opcode);
    add_text_member(out, ",\"opcode_name\":",
        name_for(opcode ? span_make(NULL, 0) : schema->opcode_name,
            free_form || d->opcode == s->opcode, opcode));
    buf_printf(out, ",\"channel\":%u", d->channel);
    add_text_member(out, ",\"channel_name\":",
        name_for(schema->channel_name, free_form || d->channel == s->channel, NULL));
    add_keywords(event, out);
}

/* `event` of classic and kernel events: a class GUID, no code. */
static void add_class_object(const struct event *event, struct buf *out)
{
    const struct event_record *record = event->record;
    const struct event_descriptor *d = &record->descriptor;
    const struct event_schema *schema = event->schema ? event->schema : &no_schema;
    const char *separator = "";
    if (!guid_is_zero(&record->provider)) {
        add_guid_member(out, "\"class_guid\":", &record->provider);
        separator = ",";
    }
    if (schema->event_name.size) {
        buf_add_text(out, separator);
        add_text_member(out, "\"name\":", schema->event_name);
        separator = ",";
    }
    if (schema->task_name.size) {
        buf_add_text(out, separator);
        add_text_member(out, "\"task_name\":", schema->task_name);
        separator = ",";
    }
    buf_printf(out, "%s\"version\":%u", separator, d->version);
    if (d->level) {
        buf_printf(out, ",\"level\":%u", d->level);
        add_text_member(out, ",\"level_name\":", span_text(schema_level_name(d->level)));
    }
    buf_printf(out, ",\"opcode\":%u", d->opcode);
    const char *predefined = schema->opcode_name.size ? NULL : schema_opcode_name(d->opcode);
    add_text_member(out, ",\"opcode_name\":", name_for(schema->opcode_name, true, predefined));
}

static void render_head(const struct event *event, struct buf *out)
{
    const struct event_record *record = event->record;
    struct guid provider = event_provider_guid(event);
    struct span name = event_provider_name(event);
    buf_add_text(out, "\",\"provider\":{");
    add_text_member(out, "\"name\":", name);
    if (!guid_is_zero(&provider)) {
        add_guid_member(out, name.size ? ",\"guid\":" : "\"guid\":", &provider);
    }
    buf_printf(out, "%s\"kind\":\"%s\"},\"event\":{",
        name.size || !guid_is_zero(&provider) ? "," : "", kind_name(event));
    switch (record->kind) {
    case RECORD_EVENT:
        add_event_object(event, out);
        break;
    case RECORD_CLASSIC:
    case RECORD_KERNEL:
        add_class_object(event, out);
        break;
    case RECORD_MESSAGE:
        buf_printf(out, "\"code\":%u", record->descriptor.id);
        add_text_member(
            out, ",\"name\":", event->schema ? event->schema->event_name : no_schema.event_name);
        break;
    default:
        buf_printf(out, "\"header_type\":%u", record->header_type);
        break;
    }
    buf_add_byte(out, '}');
}

/* Where the head of ${serial} is kept; NULL: it is not. */
static struct event_head *slot_of(struct event_writer *writer, uint32_t serial)
{
    /* A head is some 300 bytes: 20 MB at the very most. */
    enum { MAX_HEADS = 65536 };
    if (serial >= MAX_HEADS) {
        return NULL;
    }
    if (serial >= writer->head_count) {
        uint32_t count = writer->head_count ? writer->head_count : 256;
        while (count <= serial) {
            count *= 2;
        }
        struct event_head *heads = realloc(writer->heads, count * sizeof(*heads));
        if (!heads) {
            return NULL;
        }
        memset(heads + writer->head_count, 0, (count - writer->head_count) * sizeof(*heads));
        writer->heads = heads;
        writer->head_count = count;
    }
    return &writer->heads[serial];
}

static void render_fresh(struct event_writer *writer, const struct event *event)
{
    struct buf *out = &writer->scratch;
    buf_reset(out);
    render_head(event, out);
    size_t head_size = out->size;
    if (event->schema && event->schema->message.size) {
        struct span message = event->schema->message;
        if (buf_reserve(out, utf8_json_bound(message.size))) {
            out->size += utf8_to_json(message, out->data + out->size);
        }
    }
    struct span all = buf_span(out);
    if (!buf_reserve(out, PUT_PADDING)) {
        all.size = 0;
    }
    all.data = out->data;
    writer->fresh.head = span_first(all, head_size);
    writer->fresh.message = span_from(all, head_size);
}

/* Keep a copy of the fresh head in ${slot}. */
static bool keep(
    struct event_writer *writer, const struct event_record *record, struct event_head *slot)
{
    struct span head = writer->fresh.head;
    struct span message = writer->fresh.message;
    uint8_t *memory = realloc(slot->memory, head.size + message.size + PUT_PADDING);
    if (!memory) {
        return false;
    }
    memcpy(memory, writer->scratch.data, head.size + message.size);
    free(slot->parts);
    struct message_parts *parts = message.size ? malloc(sizeof(*parts)) : NULL;
    if (parts) {
        event_message_compile(message, parts);
    }
    *slot = (struct event_head){.descriptor = record->descriptor,
        .provider = record->provider,
        .hook_id = record->hook_id,
        .valid = true,
        .head = span_make(memory, head.size),
        .message = span_make(memory + head.size, message.size),
        .memory = memory,
        .parts = parts};
    return true;
}

const struct event_head *event_head_get(struct event_writer *writer, const struct event *event)
{
    const struct event_record *record = event->record;
    struct event_head *slot = event->schema ? slot_of(writer, event->schema->serial) : NULL;
    if (slot && slot->valid && slot->hook_id == record->hook_id &&
        same_descriptor(&slot->descriptor, &record->descriptor) &&
        guid_equal(&slot->provider, &record->provider)) {
        return slot;
    }
    render_fresh(writer, event);
    return slot && !writer->scratch.failed && keep(writer, record, slot) ? slot : &writer->fresh;
}
