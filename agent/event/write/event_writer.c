#include "event/write/event_writer.h"

#include <stdlib.h>

#include "base/put.h"
#include "event/write/event_host.h"
#include "event/write/event_writer_state.h"

enum { MAX_SCRATCH_BYTES = 1024 * 1024 };

static struct span take(struct span *rest, size_t size)
{
    struct span taken = span_first(*rest, size);
    *rest = span_from(*rest, size);
    return taken;
}

struct event_writer *event_writer_create(
    const struct event_writer_settings *settings, struct error *err)
{
    struct event_writer *writer = calloc(1, sizeof(*writer));
    if (!writer) {
        error_set(err, ERR_MEMORY, "out of memory for an event writer");
        return NULL;
    }
    buf_init(&writer->fixed, MAX_SCRATCH_BYTES);
    buf_init(&writer->scratch, MAX_SCRATCH_BYTES);
    buf_init(&writer->names, EVENT_VALUE_MAX_NAME);
    buf_init(&writer->mapped.text, EVENT_VALUE_MAX_TEXT);
    buf_init(&writer->mapped.names, EVENT_VALUE_MAX_NAME);
    event_overflow_init(&writer->overflow);
    for (size_t i = 0; i < EVENT_TRACE_SLOTS; i++) {
        buf_init(&writer->traces[i].text, 2 * MAX_SCRATCH_BYTES);
    }
    for (size_t i = 0; i < EVENT_PROCESS_PARTS; i++) {
        event_process_texts_init(&writer->processes[i]);
    }
    for (size_t i = 0; i < EVENT_EDITED_SLOTS; i++) {
        buf_init(&writer->edited[i].text.text, 2 * MAX_SCRATCH_BYTES);
    }
    buf_add_span(&writer->fixed, settings->tail);
    buf_add_span(&writer->fixed, settings->session);
    event_options_add_texts(&settings->options, &writer->fixed);
    if (writer->fixed.failed) {
        error_set(err, ERR_MEMORY, "out of memory for an event writer");
        event_writer_destroy(writer);
        return NULL;
    }
    struct span rest = buf_span(&writer->fixed);
    writer->tail = take(&rest, settings->tail.size);
    writer->session = take(&rest, settings->session.size);
    writer->options = settings->options;
    event_options_take_texts(&writer->options, rest);
    writer->values.ansi = settings->ansi ? settings->ansi : &codepage_1252;
    writer->mapped.ansi = writer->values.ansi;
    writer->agent = settings->agent;
    writer->colors = settings->colors;
    writer->stamps.second = UINT64_MAX;
    writer->times.second = UINT64_MAX;
    writer->read_clock.second = UINT64_MAX;
    writer->zone = settings->zone;
    writer->values.times = &writer->times;
    writer->values.names = &writer->names;
    return writer;
}

void event_writer_destroy(struct event_writer *writer)
{
    if (!writer) {
        return;
    }
    event_head_clear(writer);
    free(writer->fresh.plan);
    free(writer->heads);
    buf_fini(&writer->fixed);
    buf_fini(&writer->scratch);
    buf_fini(&writer->names);
    buf_fini(&writer->mapped.text);
    buf_fini(&writer->mapped.names);
    event_overflow_fini(&writer->overflow);
    for (size_t i = 0; i < EVENT_EDITED_SLOTS; i++) {
        buf_fini(&writer->edited[i].text.text);
    }
    for (size_t i = 0; i < EVENT_TRACE_SLOTS; i++) {
        buf_fini(&writer->traces[i].text);
    }
    for (size_t i = 0; i < EVENT_PROCESS_PARTS; i++) {
        event_process_texts_fini(&writer->processes[i]);
    }
    free(writer);
}

void event_writer_cut(struct event_writer *writer, const char *payload, const char *time,
    size_t start, struct buf *out)
{
    const struct event_overflow_limits limits = {
        .max_string_bytes = writer->options.max_string_bytes, .payload = payload, .time = time};
    event_overflow_apply(&writer->overflow, &limits, start, out);
}

void event_writer_read_at(struct event_writer *writer, uint64_t now)
{
    writer->read_at = now;
}

size_t event_writer_given_bytes(const struct event_writer *writer)
{
    return writer ? writer->given_bytes : 0;
}

/* ---- time ------------------------------------------------------------------------------------ */

uint8_t *event_put_time(struct event_writer *writer, uint8_t *p, uint64_t filetime)
{
    return put_clock_filetime(&writer->stamps, &p, filetime) ? p : put_hex(p, filetime);
}

/* ---- what all events of a trace share -------------------------------------------------------- */

void event_trace_native(struct event_writer *writer, const struct trace_info *trace,
    struct buf *out, size_t *ret_file, size_t *ret_end)
{
    struct span session = writer->session;
    if (session.size == 0 && trace) {
        session = trace->session_name;
    }
    buf_add_text(out, ",\"etw\":{");
    if (session.size) {
        buf_add_text(out, "\"session\":");
        value_json_string(session, out);
        buf_add_byte(out, ',');
    }
    buf_add_text(out, "\"sequence\":");
    *ret_file = out->size;
    if (trace && trace->file.size) {
        buf_add_text(out, ",\"file\":");
        value_json_string(trace->file, out);
    }
    buf_add_byte(out, '}');
    *ret_end = out->size;
    if (trace) {
        event_host_native(trace, out);
    }
    event_writer_add_tail(writer, out);
    buf_add(out, "}\n", 2);
}

static bool render_trace(struct event_writer *writer, const struct trace_info *trace,
    event_trace_fn *render, struct buf *out, size_t *ret_file, size_t *ret_end)
{
    buf_reset(out);
    render(writer, trace, out, ret_file, ret_end);
    return buf_reserve(out, PUT_PADDING) && !out->failed;
}

/* If rules made labels and tags too long, the events have none. */
void event_trace_fill(struct event_writer *writer, const struct trace_info *trace,
    event_trace_fn *render, struct event_trace_text *slot)
{
    struct buf *out = &slot->text;
    size_t file = 0;
    size_t end = 0;
    slot->valid = render_trace(writer, trace, render, out, &file, &end);
    if (!slot->valid && writer->edited_agent) {
        struct event_agent bare = *writer->edited_agent;
        bare.label_count = 0;
        bare.tag_count = 0;
        writer->edited_agent = &bare;
        slot->valid = render_trace(writer, trace, render, out, &file, &end);
        writer->edited_agent = NULL;
    }
    size_t size = out->size;
    static const uint8_t nothing[PUT_PADDING];
    struct span all = slot->valid ? span_make(out->data, size) : span_make(nothing, 0);
    slot->trace = trace;
    slot->start = span_first(all, file);
    slot->file = span_first(span_from(all, file), end - file);
    slot->end = span_from(all, end);
}

const struct event_trace_text *event_trace_get(
    struct event_writer *writer, const struct trace_info *trace)
{
    return event_trace_get_as(writer, trace, event_trace_native);
}

/* True if ${slot} holds the trace with these edits. */
static bool fits(const struct event_edited_text *slot, const struct event_edits *edits)
{
    return slot->text.valid && slot->text.trace == edits->trace &&
           slot->agent == edits->agent_before && slot->mark_count == edits->mark_count &&
           edits->mark_count <= EVENT_EDITS_MAX_MARKS &&
           memcmp(slot->marks, edits->marks, edits->mark_count * sizeof(edits->marks[0])) == 0;
}

const struct event_trace_text *event_trace_get_edited(
    struct event_writer *writer, const struct event *event, event_trace_fn *render)
{
    const struct event_edits *edits = event->edits;
    uint64_t hash = (uintptr_t)edits->trace >> 6;
    for (size_t i = 0; i < edits->mark_count && i < EVENT_EDITS_MAX_MARKS; i++) {
        hash = (hash ^ (uintptr_t)edits->marks[i] >> 4) * UINT64_C(0x9e3779b97f4a7c15);
    }
    struct event_edited_text *slot = &writer->edited[(hash >> 32) % EVENT_EDITED_SLOTS];
    if (!fits(slot, edits)) {
        writer->edited_agent = edits->agent;
        event_trace_fill(writer, event->record->trace, render, &slot->text);
        writer->edited_agent = NULL;
        slot->agent = edits->agent_before;
        slot->text.trace = edits->trace;
        slot->mark_count = edits->mark_count;
        memcpy(slot->marks, edits->marks, sizeof(slot->marks));
    }
    return &slot->text;
}

void event_writer_add_tail(struct event_writer *writer, struct buf *out)
{
    if (writer->edited_agent) {
        event_tail_render(writer->edited_agent, out);
    } else {
        buf_add_span(out, writer->tail);
    }
}

/* ---- what a schema and a header say together ------------------------------------------------- */

/* {9e814aad-3204-11d2-9a82-006008a86939}, the control GUID of the NT Kernel Logger. */
const struct guid event_system_trace = {{0xad, 0x4a, 0x81, 0x9e, 0x04, 0x32, 0xd2, 0x11, 0x9a, 0x82,
    0x00, 0x60, 0x08, 0xa8, 0x69, 0x39}};

struct span event_provider_name(const struct event *event)
{
    if (event->schema && event->schema->provider_name.size) {
        return event->schema->provider_name;
    }
    if (event->record->kind == RECORD_KERNEL) {
        return span_text("MSNT_SystemTrace");
    }
    return span_make(NULL, 0);
}

struct guid event_provider_guid(const struct event *event)
{
    if (event->schema && event->schema->kind == SCHEMA_MOF) {
        return event->schema->provider;
    }
    return event->record->kind == RECORD_KERNEL ? event_system_trace : event->record->provider;
}

void event_each_keyword(
    const struct event *event, void (*each)(void *self, struct span name), void *self)
{
    const struct event_schema *schema = event->schema;
    uint64_t keyword = event->record->descriptor.keyword;
    for (size_t i = 0; i < schema->keyword_count; i++) {
        const struct schema_keyword *k = &schema->keywords[i];
        bool applies = k->mask ? (keyword & k->mask) == k->mask
                               : keyword == schema->descriptor.keyword;
        if (applies && k->name.size) {
            each(self, k->name);
        }
    }
}

struct span event_head_name(struct span name)
{
    if (name.size <= EVENT_HEAD_MAX_NAME_BYTES) {
        return name;
    }
    name.size = EVENT_HEAD_MAX_NAME_BYTES;
    while (name.size && (name.data[name.size] & 0xc0) == 0x80) {
        name.size--;
    }
    return name;
}

struct short_names {
    void (*each)(void *self, struct span name);
    void *self;
    size_t left; /* bytes of names that have room */
};

static void pass_short(void *self, struct span name)
{
    struct short_names *names = self;
    name = event_head_name(name);
    if (name.size > names->left) {
        names->left = 0;
        return;
    }
    names->left -= name.size;
    names->each(names->self, name);
}

void event_head_each_keyword(
    const struct event *event, void (*each)(void *self, struct span name), void *self)
{
    struct short_names names = {.each = each, .self = self, .left = EVENT_HEAD_MAX_KEYWORD_BYTES};
    if (event->schema) {
        event_each_keyword(event, pass_short, &names);
    }
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

void event_add_keyword_names(const struct event *event, const char *start, struct buf *out)
{
    struct keyword_list list = {.out = out, .separator = start};
    event_head_each_keyword(event, add_keyword, &list);
    buf_add_text(out, list.separator == start ? "" : "]");
}

void event_add_time(
    struct event_writer *writer, const char *key, uint64_t filetime, struct buf *out)
{
    buf_add_text(out, key);
    if (buf_reserve(out, PUT_MAX)) {
        uint8_t *p = event_put_time(writer, out->data + out->size, filetime);
        *p++ = '"';
        out->size = (size_t)(p - out->data);
    }
}

/* ---- tail ------------------------------------------------------------------------------------ */

static void add_member(struct buf *out, const char *name, struct span value, char *separator)
{
    if (value.size) {
        buf_add_byte(out, (uint8_t)*separator);
        buf_printf(out, "\"%s\":", name);
        value_json_string(value, out);
        *separator = ',';
    }
}

void event_tail_render(const struct event_agent *agent, struct buf *out)
{
    char separator = '{';
    buf_add_text(out, ",\"agent\":");
    add_member(out, "id", agent->id, &separator);
    add_member(out, "ephemeral_id", agent->ephemeral_id, &separator);
    add_member(out, "name", agent->name, &separator);
    add_member(out, "type", span_text("etwship"), &separator);
    add_member(out, "version", agent->version, &separator);
    buf_add_byte(out, '}');
    for (size_t i = 0; i < agent->label_count; i++) {
        buf_add_text(out, i ? "," : ",\"labels\":{");
        value_json_string(agent->labels[i * 2], out);
        buf_add_byte(out, ':');
        value_json_string(agent->labels[i * 2 + 1], out);
    }
    buf_add_text(out, agent->label_count ? "}" : "");
    for (size_t i = 0; i < agent->tag_count; i++) {
        buf_add_text(out, i ? "," : ",\"tags\":[");
        value_json_string(agent->tags[i], out);
    }
    buf_add_text(out, agent->tag_count ? "]" : "");
}
