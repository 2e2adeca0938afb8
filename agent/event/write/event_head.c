#include <stddef.h>
#include <stdlib.h>

#include "base/put.h"
#include "event/write/ecs_map_plan.h"
#include "event/write/event_writer_state.h"

/*
 * The part of an event between its time and its process: provider and event objects. It depends on
 * the schema and the event descriptor only, and most types have one descriptor or a few, so it is
 * rendered once per descriptor and cached. Keywords may differ in each event, so in a cached head
 * they are rewritten if they differ. Events without a schema are told apart by the record alone.
 */

_Static_assert(offsetof(struct event_descriptor, keyword) == 8, "keywords are not the end");

/* Id, version, channel, level, opcode and task as one number. */
static uint64_t numbers_of(const struct event_descriptor *descriptor)
{
    uint64_t numbers;
    memcpy(&numbers, descriptor, sizeof(numbers));
    return numbers;
}

static void add_text_member(struct buf *out, const char *key, struct span value)
{
    if (value.size) {
        buf_add_text(out, key);
        value_json_string(event_head_name(value), out);
    }
}

static void add_number_member(struct buf *out, const char *key, uint64_t value)
{
    buf_add_text(out, key);
    buf_add_u64(out, value);
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

/* A name of the schema, if the header has its value. */
static struct span name_for(struct span schema_name, bool same_value)
{
    return same_value ? schema_name : span_make(NULL, 0);
}

static void add_keywords(struct event_writer *writer, const struct event *event, struct buf *out)
{
    (void)writer;
    buf_add_text(out, ",\"keywords\":\"");
    buf_add_hex(out, event->record->descriptor.keyword);
    buf_add_byte(out, '"');
    event_add_keyword_names(event, ",\"keywords_name\":[", out);
}

static const struct event_schema no_schema = {.serial = UINT32_MAX};

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
    /* TraceLogging metadata has no level, task or opcode: any value of the header fits. */
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
static void add_event_object(struct event_writer *writer, const struct event *event,
    struct buf *out, struct event_head_cuts *ret_cuts)
{
    const struct event_descriptor *d = &event->record->descriptor;
    struct event_names names = event_head_names(event);
    add_number_member(out, "\"code\":", d->id);
    add_number_member(out, ",\"version\":", d->version);
    add_text_member(
        out, ",\"name\":", event->schema ? event->schema->event_name : no_schema.event_name);
    add_number_member(out, ",\"level\":", d->level);
    add_text_member(out, ",\"level_name\":", names.level);
    add_number_member(out, ",\"task\":", d->task);
    add_text_member(out, ",\"task_name\":", names.task);
    add_number_member(out, ",\"opcode\":", d->opcode);
    add_text_member(out, ",\"opcode_name\":", names.opcode);
    if (!(event->record->present & RECORD_OF_LOG)) {
        add_number_member(out, ",\"channel\":", d->channel);
    }
    add_text_member(out, ",\"channel_name\":", names.channel);
    ret_cuts->keywords = (uint32_t)out->size;
    add_keywords(writer, event, out);
    ret_cuts->keywords_end = (uint32_t)out->size;
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
    buf_add_text(out, separator);
    add_number_member(out, "\"version\":", d->version);
    if (d->level) {
        add_number_member(out, ",\"level\":", d->level);
        add_text_member(out, ",\"level_name\":", names.level);
    }
    add_number_member(out, ",\"opcode\":", d->opcode);
    add_text_member(out, ",\"opcode_name\":", names.opcode);
}

static void render_head(struct event_writer *writer, const struct event *event, struct buf *out,
    struct event_head_cuts *ret_cuts)
{
    const struct event_record *record = event->record;
    struct guid provider = event_provider_guid(event);
    struct span name = event_provider_name(event);
    buf_add_text(out, "\",\"provider\":{");
    add_text_member(out, "\"name\":", name);
    if (!guid_is_zero(&provider)) {
        add_guid_member(out, name.size ? ",\"guid\":" : "\"guid\":", &provider);
    }
    buf_add_text(out, name.size || !guid_is_zero(&provider) ? ",\"kind\":\"" : "\"kind\":\"");
    buf_add_text(out, event_kind_name(event));
    buf_add_text(out, "\"},\"event\":{");
    switch (record->kind) {
    case RECORD_EVENT:
        add_event_object(writer, event, out, ret_cuts);
        break;
    case RECORD_CLASSIC:
    case RECORD_KERNEL:
        add_class_object(event, out);
        break;
    case RECORD_MESSAGE:
        add_number_member(out, "\"code\":", record->descriptor.id);
        add_text_member(
            out, ",\"name\":", event->schema ? event->schema->event_name : no_schema.event_name);
        break;
    default:
        add_number_member(out, "\"header_type\":", record->header_type);
        break;
    }
    buf_add_byte(out, '}');
}

/* ---- heads that are kept --------------------------------------------------------------------- */

static size_t bytes_of(const struct event_head *head)
{
    size_t members = head->plan ? head->plan->first[ECS_MAP_GROUPS] : 0;
    return head->memory_bytes + (head->parts ? sizeof(*head->parts) : 0) +
           (head->plan ? sizeof(*head->plan) + members * sizeof(head->plan->members[0]) : 0);
}

static void drop(struct event_writer *writer, struct event_head *slot)
{
    if (!slot->valid) {
        return;
    }
    writer->head_bytes -= bytes_of(slot);
    writer->heads_kept--;
    struct event_head dropped = *slot;
    *slot = (struct event_head){.valid = false};
    free(dropped.memory);
    free(dropped.parts);
    free(dropped.plan);
}

void event_head_clear(struct event_writer *writer)
{
    for (uint32_t i = 0; i < writer->head_count; i++) {
        drop(writer, &writer->heads[i]);
    }
}

/* Nothing else tells what such an event is called, as do names that come
 * with each event of a log. */
static bool is_known_by_record(const struct event_record *record)
{
    return record->kind != RECORD_OPAQUE && !(record->present & RECORD_OF_LOG);
}

/* A schema without a serial belongs to a single event. */
static bool is_kept(const struct event *event)
{
    return event->schema ? event->schema->serial != UINT32_MAX : is_known_by_record(event->record);
}

static const struct event_schema *schema_of(const struct event *event)
{
    return event->schema ? event->schema : &no_schema;
}

/* Grow the table so that the serial of ${schema} has a slot and it is at most half full.
 * False: out of memory. */
static bool make_table(struct event_writer *writer, const struct event_schema *schema)
{
    uint32_t serial = schema == &no_schema ? 0 : schema->serial;
    uint32_t count = writer->head_count;
    bool is_enough = serial < count && writer->heads_kept < count / 2;
    if (count && (is_enough || count == EVENT_MAX_HEADS)) {
        return true;
    }
    count = count ? count * 2 : 256;
    while (count <= serial && count < EVENT_MAX_HEADS) {
        count *= 2;
    }
    struct event_head *heads = calloc(count, sizeof(*heads));
    if (!heads) {
        return writer->head_count > 0;
    }
    event_head_clear(writer); /* slots moved: the heads are rendered again */
    free(writer->heads);
    writer->heads = heads;
    writer->head_count = count;
    return true;
}

/* The first slot of the head of ${event}; the second is its neighbour. If record and schema agree,
 * it is the serial. */
static uint32_t place_of(const struct event_writer *writer, const struct event *event)
{
    const struct event_schema *schema = schema_of(event);
    const struct event_record *record = event->record;
    uint64_t differs = numbers_of(&record->descriptor) ^ numbers_of(&schema->descriptor);
    uint64_t provider = load_le64(record->provider.bytes) ^ load_le64(schema->provider.bytes);
    uint64_t hash = (differs ^ (provider << 32 | provider >> 32)) * UINT64_C(0x9e3779b97f4a7c15);
    return (schema->serial + (uint32_t)(hash >> 40)) & (writer->head_count - 1);
}

static bool is_of(const struct event_head *head, const struct event *event)
{
    const struct event_record *record = event->record;
    return head->valid && head->serial == schema_of(event)->serial && head->kind == record->kind &&
           head->hook_id == record->hook_id &&
           numbers_of(&head->descriptor) == numbers_of(&record->descriptor) &&
           guid_equal(&head->provider, &record->provider);
}

static struct event_head *find(struct event_writer *writer, const struct event *event)
{
    if (writer->head_count == 0) {
        return NULL;
    }
    uint32_t place = place_of(writer, event);
    for (uint32_t i = 0; i < 2; i++) {
        if (is_of(&writer->heads[place ^ i], event)) {
            return &writer->heads[place ^ i];
        }
    }
    return NULL;
}

/* A slot for a new head: the first one. Its previous head moves to the second one. */
static struct event_head *make_place(struct event_writer *writer, const struct event *event)
{
    if (!make_table(writer, schema_of(event))) {
        return NULL;
    }
    uint32_t place = place_of(writer, event);
    struct event_head *first = &writer->heads[place];
    struct event_head *second = &writer->heads[place ^ 1];
    if (!first->valid) {
        return first;
    }
    drop(writer, second);
    *second = *first;
    *first = (struct event_head){.valid = false};
    return first;
}

/* ---- rendering ------------------------------------------------------------------------------- */

/* False: the buffer is too small, or there is no memory. */
static bool render_head_of(
    struct event_writer *writer, const struct event *event, const struct event_head_shape *shape)
{
    free(writer->fresh.plan);
    writer->fresh.plan = NULL;
    writer->fresh.cuts = (struct event_head_cuts){.keywords_end = 0};
    buf_reset(&writer->scratch);
    shape->render(writer, event, &writer->scratch, &writer->fresh.cuts);
    return !writer->scratch.failed && buf_reserve(&writer->scratch, PUT_PADDING);
}

/* No kind of definition in Windows can have a longer name. */
static bool has_names_to_show(const struct event_schema *schema)
{
    enum { MAX_NAME_BYTES = 64 * 1024 };
    return schema->provider_name.size <= MAX_NAME_BYTES &&
           schema->event_name.size <= MAX_NAME_BYTES && schema->task_name.size <= MAX_NAME_BYTES &&
           schema->opcode_name.size <= MAX_NAME_BYTES &&
           schema->level_name.size <= MAX_NAME_BYTES && schema->channel_name.size <= MAX_NAME_BYTES;
}

/* If the names of a schema do not fit the buffer, the head has none; if its message does not fit,
 * no message. Returns true if nothing was left out. */
static bool render_fresh(
    struct event_writer *writer, const struct event *event, const struct event_head_shape *shape)
{
    struct buf *out = &writer->scratch;
    struct event nameless = *event;
    nameless.schema = NULL;
    bool whole = (!event->schema || has_names_to_show(event->schema)) &&
                 render_head_of(writer, event, shape);
    writer->fresh.failed = !whole && !render_head_of(writer, &nameless, shape);
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

/* Keep a copy of the fresh head in ${slot}, with room for longer keywords. */
static bool keep(struct event_writer *writer, const struct event *event, struct event_head *slot)
{
    enum { KEYWORDS_ROOM = 64 };
    const struct event_record *record = event->record;
    struct span head = writer->fresh.head;
    struct span message = writer->fresh.message;
    size_t size = message.size + head.size + KEYWORDS_ROOM + PUT_PADDING;
    uint8_t *memory = malloc(size);
    if (!memory) {
        return false;
    }
    put_span(put_span(memory, message), head);
    struct message_parts *parts = message.size ? malloc(sizeof(*parts)) : NULL;
    if (parts) {
        event_message_compile(message, parts);
    }
    *slot = (struct event_head){.descriptor = record->descriptor,
        .provider = record->provider,
        .kind = record->kind,
        .hook_id = record->hook_id,
        .valid = true,
        .serial = schema_of(event)->serial,
        .head = span_make(memory + message.size, head.size),
        .cuts = writer->fresh.cuts,
        .message = span_make(memory, message.size),
        .memory = memory,
        .memory_bytes = size,
        .parts = parts,
        .plan = writer->fresh.plan};
    writer->fresh.plan = NULL;
    writer->head_bytes += bytes_of(slot);
    writer->heads_kept++;
    return true;
}

/* If there is no room for another head, all are dropped and rendered again on demand. */
static struct event_head *keep_with_others(struct event_writer *writer, const struct event *event)
{
    if (writer->fresh.head.size + writer->fresh.message.size > EVENT_MAX_HEAD_BYTES / 8) {
        return NULL;
    }
    if (writer->head_bytes > EVENT_MAX_HEAD_BYTES / 8 * 7) {
        event_head_clear(writer);
        return NULL;
    }
    struct event_head *slot = make_place(writer, event);
    return slot && keep(writer, event, slot) ? slot : NULL;
}

/* Give ${head} the keywords of ${event}. False: they do not fit. */
static bool change_keywords(struct event_writer *writer, const struct event *event,
    const struct event_head_shape *shape, struct event_head *head)
{
    struct buf *out = &writer->scratch;
    struct event_head_cuts *cuts = &head->cuts;
    buf_reset(out);
    if (cuts->keywords_end) {
        shape->keywords(writer, event, out);
    }
    size_t size = head->head.size - (cuts->keywords_end - cuts->keywords) + out->size;
    if (out->failed || head->message.size + size + PUT_PADDING > head->memory_bytes) {
        return false;
    }
    uint8_t *text = head->memory + head->message.size;
    memmove(text + cuts->keywords + out->size, text + cuts->keywords_end,
        head->head.size - cuts->keywords_end);
    put_span(text + cuts->keywords, buf_span(out));
    cuts->keywords_end = cuts->keywords_end ? cuts->keywords + (uint32_t)out->size : 0;
    head->head.size = size;
    head->descriptor.keyword = event->record->descriptor.keyword;
    return true;
}

const struct event_head *event_head_get_as(
    struct event_writer *writer, const struct event *event, const struct event_head_shape *shape)
{
    bool keeps = is_kept(event);
    struct event_head *head = keeps ? find(writer, event) : NULL;
    if (head && (head->descriptor.keyword == event->record->descriptor.keyword ||
                    change_keywords(writer, event, shape, head))) {
        return head;
    }
    if (head) {
        drop(writer, head);
    }
    bool whole = render_fresh(writer, event, shape);
    head = keeps && whole ? keep_with_others(writer, event) : NULL;
    return head ? head : &writer->fresh;
}

const struct event_head *event_head_get(struct event_writer *writer, const struct event *event)
{
    static const struct event_head_shape native = {render_head, add_keywords};
    return event_head_get_as(writer, event, &native);
}
