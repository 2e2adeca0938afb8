#include "event/write/event_process.h"

#include <stdlib.h>

#include "event/write/event_path_own.h"
#include "event/write/event_writer_state.h"

/*
 * Members of struct event_process for formats and paths. There are few processes and many events: a
 * writer keeps the text of one process per slot, so an event costs one copy.
 */

/* ---- texts ----------------------------------------------------------------------------------- */

enum { MAX_TEXT_BYTES = 1024 * 1024, MAX_TEXTS_BYTES = 4 * 1024 * 1024 };

void event_process_texts_init(struct event_process_texts *texts)
{
    buf_init(&texts->made, MAX_TEXT_BYTES);
}

static void clear(struct event_process_texts *texts)
{
    for (size_t i = 0; texts->slots && i < texts->count; i++) {
        free(texts->slots[i].text);
    }
    free(texts->slots);
    texts->slots = NULL;
    texts->count = 0;
    texts->bytes = 0;
}

void event_process_texts_fini(struct event_process_texts *texts)
{
    clear(texts);
    buf_fini(&texts->made);
}

/* Begin with ${count} empty slots. Without memory for them there are none, and nothing is kept. */
static void begin(struct event_process_texts *texts, uint32_t count)
{
    clear(texts);
    texts->slots = calloc(count, sizeof(*texts->slots));
    texts->count = texts->slots ? count : 0;
}

static void keep(struct event_process_texts *texts, const struct event_process *process)
{
    struct event_process_slot *slot = &texts->slots[process->place & (texts->count - 1)];
    struct span text = buf_span(&texts->made);
    if (!slot->text || slot->room < text.size) {
        uint8_t *room = realloc(slot->text, text.size);
        if (!room) {
            return;
        }
        texts->bytes += text.size - slot->room;
        slot->text = room;
        slot->room = (uint32_t)text.size;
    }
    memcpy(slot->text, text.data, text.size);
    slot->size = (uint32_t)text.size;
    slot->serial = process->serial;
}

static struct span make_text(struct event_writer *writer, const struct event_process *process,
    struct event_process_texts *texts, event_process_fn *render)
{
    buf_reset(&texts->made);
    render(writer, process, &texts->made);
    if (texts->made.failed) {
        return span_make(NULL, 0);
    }
    if (!texts->slots || texts->bytes > MAX_TEXTS_BYTES) {
        begin(texts, texts->count ? texts->count : EVENT_PROCESS_SLOTS);
    }
    if (texts->slots && texts->made.size) {
        keep(texts, process);
    }
    return buf_span(&texts->made);
}

struct span event_process_text(struct event_writer *writer, const struct event_process *process,
    enum event_process_part part, event_process_fn *render)
{
    if (!process) {
        return span_make(NULL, 0);
    }
    struct event_process_texts *texts = &writer->processes[part];
    if (!texts->slots) {
        return make_text(writer, process, texts, render);
    }
    const struct event_process_slot *slot = &texts->slots[process->place & (texts->count - 1)];
    bool is_other = slot->serial && slot->serial != process->serial;
    if (slots_note(&texts->load, texts->count, is_other) &&
        texts->count < EVENT_PROCESS_MAX_SLOTS) {
        begin(texts, 2 * texts->count);
        return make_text(writer, process, texts, render);
    }
    return slot->serial == process->serial ? span_make(slot->text, slot->size)
                                           : make_text(writer, process, texts, render);
}

static const struct event_process_slot *expected(const struct event_writer *writer, uint32_t place)
{
    const struct event_process_texts *texts = &writer->processes[EVENT_PROCESS_MEMBERS];
    return texts->slots ? &texts->slots[place & (texts->count - 1)] : NULL;
}

void event_process_expect(const struct event_writer *writer, uint32_t place)
{
    slots_expect(expected(writer, place));
}

void event_process_expect_next(const struct event_writer *writer, uint32_t place)
{
    enum { LINE_BYTES = 64, MAX_BYTES = 512 };
    const struct event_process_slot *slot = expected(writer, place);
    uint32_t size = slot ? slot->size : 0;
    for (uint32_t i = 0; i < size && i < MAX_BYTES; i += LINE_BYTES) {
        slots_expect(slot->text + i);
    }
}

static void add_text_member(struct buf *out, const char *key, struct span value)
{
    if (value.size) {
        buf_add_text(out, key);
        value_json_string(value, out);
    }
}

static void add_number_member(struct buf *out, const char *key, uint64_t value)
{
    if (buf_reserve(out, PUT_MAX + strlen(key))) {
        uint8_t *p = put_span(out->data + out->size, span_text(key));
        out->size = (size_t)(put_u64(p, value) - out->data);
    }
}

static void add_image(const struct event_process *process, struct buf *out)
{
    add_text_member(out, ",\"name\":", process->name);
    add_text_member(out, ",\"executable\":", process->executable);
    add_text_member(out, ",\"command_line\":", process->command_line);
    if (process->has_parent) {
        add_number_member(out, ",\"parent\":{\"pid\":", process->parent_pid);
        add_text_member(out, ",\"name\":", process->parent_name);
        add_text_member(out, ",\"executable\":", process->parent_executable);
        buf_add_byte(out, '}');
    }
}

/* `,"user":{…}`; nothing if no user is known. */
static void add_user(
    struct event_writer *writer, const struct event_process *process, struct buf *out)
{
    static const char key[] = ",\"user\":";
    (void)writer;
    size_t start = out->size;
    buf_add(out, key, sizeof(key) - 1);
    size_t members = out->size;
    add_text_member(out, ",\"id\":", process->user_id);
    add_text_member(out, ",\"name\":", process->user_name);
    add_text_member(out, ",\"domain\":", process->user_domain);
    value_json_close(out, start, members);
}

static void add_start(
    struct event_writer *writer, const struct event_process *process, struct buf *out)
{
    if (process->start && buf_reserve(out, PUT_MAX)) {
        uint8_t *p = put_literal(out->data + out->size, ",\"start\":\"");
        p = event_put_time(writer, p, process->start);
        *p++ = '"';
        out->size = (size_t)(p - out->data);
    }
}

void event_process_native(
    struct event_writer *writer, const struct event_process *process, struct buf *out)
{
    add_image(process, out);
    add_user(writer, process, out);
    if (process->has_session) {
        add_number_member(out, ",\"session_id\":", process->session_id);
    }
    add_text_member(out, ",\"integrity\":", span_text(process->integrity));
    add_start(writer, process, out);
}

void event_process_ecs(
    struct event_writer *writer, const struct event_process *process, struct buf *out)
{
    add_image(process, out);
    add_start(writer, process, out);
}

void event_process_ecs_user(
    struct event_writer *writer, const struct event_process *process, struct buf *out)
{
    add_user(writer, process, out);
}

uint64_t event_process_start_key(
    const struct event_record *record, const struct event_process *process)
{
    if (!(record->present & RECORD_HAS_PROCESS)) {
        return 0;
    }
    const struct extended_item *item = record->extended_count
                                           ? record_extended(record, EXTENDED_PROCESS_START_KEY)
                                           : NULL;
    return item && item->data.size == 8 ? load_le64(item->data.data)
           : process                    ? process->start_key
                                        : 0;
}

/* ---- paths ----------------------------------------------------------------------------------- */

static bool has_user(const struct event_process *process)
{
    return process->user_id.size || process->user_name.size || process->user_domain.size;
}

struct event_value event_process_value(const struct event_path *path, const struct event *event)
{
    if (path->field == PATH_PROCESS_START_KEY) {
        uint64_t key = event_process_start_key(event->record, event->process);
        return event_path_uint_if(key != 0, key);
    }
    return event_process_fact(path, event->process);
}

struct event_value event_process_fact(
    const struct event_path *path, const struct event_process *process)
{
    if (!process) {
        return event_path_none();
    }
    switch (path->field) {
    case PATH_PROCESS_START_KEY:
        return event_path_uint_if(process->start_key != 0, process->start_key);
    case PATH_PROCESS_NAME:
        return event_value_utf8(process->name);
    case PATH_PROCESS_EXECUTABLE:
        return event_value_utf8(process->executable);
    case PATH_PROCESS_COMMAND_LINE:
        return event_value_utf8(process->command_line);
    case PATH_PROCESS_PARENT:
        return event_path_object_if(process->has_parent);
    case PATH_PROCESS_PARENT_PID:
        return event_path_uint_if(process->has_parent, process->parent_pid);
    case PATH_PROCESS_PARENT_NAME:
        return event_value_utf8(process->parent_name);
    case PATH_PROCESS_PARENT_EXECUTABLE:
        return event_value_utf8(process->parent_executable);
    case PATH_PROCESS_USER:
        return event_path_object_if(has_user(process));
    case PATH_PROCESS_USER_ID:
        return event_value_utf8(process->user_id);
    case PATH_PROCESS_USER_NAME:
        return event_value_utf8(process->user_name);
    case PATH_PROCESS_USER_DOMAIN:
        return event_value_utf8(process->user_domain);
    case PATH_PROCESS_SESSION_ID:
        return event_path_uint_if(process->has_session, process->session_id);
    case PATH_PROCESS_INTEGRITY:
        return event_value_utf8(span_text(process->integrity));
    default:
        return process->start ? event_value_filetime(process->start) : event_path_none();
    }
}
