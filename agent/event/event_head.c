#include <stdlib.h>

#include "base/put.h"
#include "event/ecs_map_plan.h"
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
        value_json_string(event_head_name(value), out);
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

const char *event_kind_name(const struct event *event)
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

/* A name of the schema, where the header has the value that it names. */
static struct span name_for(struct span schema_name, bool same_value)
{
    return same_value ? schema_name : span_make(NULL, 0);
}

static void add_keywords(const struct event *event, struct buf *out)
{
    uint8_t text[PUT_MAX];
    uint8_t *end = put_hex(text, event->record->descriptor.keyword);
    buf_add_text(out, ",\"keywords\":\"");
    buf_add(out, text, (size_t)(end - text));
    buf_add_byte(out, '"');
    event_add_keyword_names(event, ",\"keywords_name\":[", out);
}

static const struct event_schema no_schema;

struct event_names event_head_names(const struct event *event)
{
    const struct event_schema *schema = event->schema ? event->schema : &no_schema;
    const struct event_descriptor *d = &event->record->descriptor;
    const struct event_descriptor *s = &schema->descriptor;
    const char *level = schema_level_name(d->level);
    const char *opcode = schema_opcode_name(d->opcode);
    if (event->record->kind != RECORD_EVENT) {
        /* Classes name their own types, also those with predefined numbers. */
        return (struct event_names){.level = span_text(level),
            .task = schema->task_name,
            .opcode = schema->opcode_name.size ? schema->opcode_name : span_text(opcode)};
    }
    /* TraceLogging metadata knows no level, task or opcode: whatever the header has, goes. */
    bool free_form = schema->kind == SCHEMA_TRACELOGGING;
    return (struct event_names){
        .level = level ? span_text(level)
                       : name_for(schema->level_name, free_form || d->level == s->level),
        .task = name_for(schema->task_name, free_form || d->task == s->task),
        .opcode = opcode ? span_text(opcode)
                         : name_for(schema->opcode_name, free_form || d->opcode == s->opcode),
        .channel = name_for(schema->channel_name, free_form || d->channel == s->channel)};
}

/* `event` of EVENT_HEADER events. */
static void add_event_object(const struct event *event, struct buf *out)
{
    const struct event_descriptor *d = &event->record->descriptor;
    struct event_names names = event_head_names(event);
    buf_printf(out, "\"code\":%u,\"version\":%u", d->id, d->version);
    add_text_member(
        out, ",\"name\":", event->schema ? event->schema->event_name : no_schema.event_name);
    buf_printf(out, ",\"level\":%u", d->level);
    add_text_member(out, ",\"level_name\":", names.level);
    buf_printf(out, ",\"task\":%u", d->task);
    add_text_member(out, ",\"task_name\":", names.task);
    buf_printf(out, ",\"opcode\":%u", d->opcode);
    add_text_member(out, ",\"opcode_name\":", names.opcode);
    buf_printf(out, ",\"channel\":%u", d->channel);
    add_text_member(out, ",\"channel_name\":", names.channel);
    add_keywords(event, out);
}

/* `event` of classic and kernel events: a class GUID, no code. */
static void add_class_object(const struct event *event, struct buf *out)
{
    const struct event_record *record = event->record;
    const struct event_descriptor *d = &record->descriptor;
    const struct event_schema *schema = event->schema ? event->schema : &no_schema;
    struct event_names names = event_head_names(event);
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
        add_text_member(out, ",\"level_name\":", names.level);
    }
    buf_printf(out, ",\"opcode\":%u", d->opcode);
    add_text_member(out, ",\"opcode_name\":", names.opcode);
}

static void render_head(struct event_writer *writer, const struct event *event, struct buf *out,
    uint32_t ret_cuts[EVENT_HEAD_CUTS])
{
    (void)writer;
    ret_cuts[0] = 0;
    ret_cuts[1] = 0;
    const struct event_record *record = event->record;
    struct guid provider = event_provider_guid(event);
    struct span name = event_provider_name(event);
    buf_add_text(out, "\",\"provider\":{");
    add_text_member(out, "\"name\":", name);
    if (!guid_is_zero(&provider)) {
        add_guid_member(out, name.size ? ",\"guid\":" : "\"guid\":", &provider);
    }
    buf_printf(out, "%s\"kind\":\"%s\"},\"event\":{",
        name.size || !guid_is_zero(&provider) ? "," : "", event_kind_name(event));
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

/* ---- heads that are kept ------------------------------------------------------------------------ */

static size_t bytes_of(const struct event_head *head)
{
    size_t members = head->plan ? head->plan->first[ECS_MAP_GROUPS] : 0;
    return head->head.size + head->message.size + PUT_PADDING +
           (head->parts ? sizeof(*head->parts) : 0) +
           (head->plan ? sizeof(*head->plan) + members * sizeof(head->plan->members[0]) : 0);
}

static void drop(struct event_writer *writer, struct event_head *slot)
{
    if (slot->valid) {
        writer->head_bytes -= bytes_of(slot);
    }
    struct event_head dropped = *slot;
    *slot = (struct event_head){.valid = false};
    free(dropped.memory);
    free(dropped.parts);
    free(dropped.plan);
}

void event_head_forget(struct event_writer *writer)
{
    for (uint32_t i = 0; i < writer->head_count; i++) {
        drop(writer, &writer->heads[i]);
    }
}

/* Where the head of ${serial} is kept; NULL: it is not. */
static struct event_head *slot_of(struct event_writer *writer, uint32_t serial)
{
    if (serial == UINT32_MAX) {
        return NULL; /* of a schema that is of one event alone */
    }
    if (serial >= writer->head_count && writer->head_count < EVENT_MAX_HEADS) {
        uint32_t count = writer->head_count ? writer->head_count : 256;
        while (count <= serial && count < EVENT_MAX_HEADS) {
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
    return &writer->heads[serial & (writer->head_count - 1)];
}

/* ---- rendering ---------------------------------------------------------------------------------- */

/* False: the buffer is too small, or there is no memory. */
static bool render_head_of(
    struct event_writer *writer, const struct event *event, event_head_fn *render)
{
    free(writer->fresh.plan);
    writer->fresh.plan = NULL;
    buf_reset(&writer->scratch);
    render(writer, event, &writer->scratch, writer->fresh.cuts);
    return !writer->scratch.failed && buf_reserve(&writer->scratch, PUT_PADDING);
}

/* No kind of definition that Windows has can say a longer name. */
static bool has_names_to_show(const struct event_schema *schema)
{
    enum { MAX_NAME_BYTES = 64 * 1024 };
    return schema->provider_name.size <= MAX_NAME_BYTES &&
           schema->event_name.size <= MAX_NAME_BYTES && schema->task_name.size <= MAX_NAME_BYTES &&
           schema->opcode_name.size <= MAX_NAME_BYTES &&
           schema->level_name.size <= MAX_NAME_BYTES && schema->channel_name.size <= MAX_NAME_BYTES;
}

/* A schema whose names are too long for the buffer gives the event none, one whose message is gives it
 * no message. Returns whether nothing was left out. */
static bool render_fresh(
    struct event_writer *writer, const struct event *event, event_head_fn *render)
{
    struct buf *out = &writer->scratch;
    struct event nameless = *event;
    nameless.schema = NULL;
    bool whole = (!event->schema || has_names_to_show(event->schema)) &&
                 render_head_of(writer, event, render);
    writer->fresh.failed = !whole && !render_head_of(writer, &nameless, render);
    size_t head_size = writer->fresh.failed ? 0 : out->size;
    struct span message = event->schema && whole ? event->schema->message : span_make(NULL, 0);
    size_t room = utf8_json_bound(message.size) + PUT_PADDING;
    if (message.size && buf_reserve(out, room)) {
        out->size += utf8_to_json(message, out->data + out->size);
    }
    struct span all = span_make(out->data, writer->fresh.failed ? 0 : out->size);
    writer->fresh.head = span_first(all, head_size);
    writer->fresh.message = span_from(all, head_size);
    return whole && !out->failed;
}

/* Keep a copy of the fresh head in ${slot}. */
static bool keep(
    struct event_writer *writer, const struct event_record *record, struct event_head *slot)
{
    struct span head = writer->fresh.head;
    struct span message = writer->fresh.message;
    uint8_t *memory = malloc(head.size + message.size + PUT_PADDING);
    if (!memory) {
        return false;
    }
    memcpy(memory, writer->scratch.data, head.size + message.size);
    drop(writer, slot);
    struct message_parts *parts = message.size ? malloc(sizeof(*parts)) : NULL;
    if (parts) {
        event_message_compile(message, parts);
    }
    *slot = (struct event_head){.descriptor = record->descriptor,
        .provider = record->provider,
        .hook_id = record->hook_id,
        .valid = true,
        .head = span_make(memory, head.size),
        .cuts = {writer->fresh.cuts[0], writer->fresh.cuts[1]},
        .message = span_make(memory + head.size, message.size),
        .memory = memory,
        .parts = parts,
        .plan = writer->fresh.plan};
    writer->fresh.plan = NULL;
    writer->head_bytes += bytes_of(slot);
    return true;
}

/* All heads give way where there is no room for one more: those that still come are rendered again. */
static bool keep_with_others(
    struct event_writer *writer, const struct event *event, struct event_head *slot)
{
    if (writer->fresh.head.size + writer->fresh.message.size > EVENT_MAX_HEAD_BYTES / 8) {
        return false;
    }
    if (writer->head_bytes > EVENT_MAX_HEAD_BYTES / 8 * 7) {
        event_head_forget(writer);
    }
    if (!keep(writer, event->record, slot)) {
        return false;
    }
    slot->serial = event->schema->serial;
    return true;
}

const struct event_head *event_head_get_as(
    struct event_writer *writer, const struct event *event, event_head_fn *render)
{
    const struct event_record *record = event->record;
    struct event_head *slot = event->schema ? slot_of(writer, event->schema->serial) : NULL;
    if (slot && slot->valid && slot->serial == event->schema->serial &&
        slot->hook_id == record->hook_id &&
        same_descriptor(&slot->descriptor, &record->descriptor) &&
        guid_equal(&slot->provider, &record->provider)) {
        return slot;
    }
    bool whole = render_fresh(writer, event, render);
    return slot && whole && keep_with_others(writer, event, slot) ? slot : &writer->fresh;
}

const struct event_head *event_head_get(struct event_writer *writer, const struct event *event)
{
    return event_head_get_as(writer, event, render_head);
}
