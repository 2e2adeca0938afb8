#include "event/edit/event_editor.h"

#include <stdlib.h>

#include "base/put.h"
#include "event/edit/event_editor_own.h"
#include "event/write/event_path_ids.h"

enum { MAX_MEMORY_BYTES = 16 * 1024 * 1024 };

struct event_editor *event_editor_create(struct error *err)
{
    struct event_editor *editor = calloc(1, sizeof(*editor));
    if (!editor) {
        error_set(err, ERR_MEMORY, "out of memory for an editor of events");
        return NULL;
    }
    arena_init(&editor->memory, MAX_MEMORY_BYTES);
    return editor;
}

void event_editor_destroy(struct event_editor *editor)
{
    if (editor) {
        arena_fini(&editor->memory);
        plat_hash_destroy(editor->hash);
        free(editor->fields);
        event_editor_fini_processes(editor);
        free(editor);
    }
}

static void reset(struct event_editor *editor)
{
    editor->changed = false;
    editor->has_fields = false;
    editor->has_record = false;
    editor->has_trace = false;
    editor->has_labels = false;
    editor->has_tags = false;
    editor->process_edit_count = 0;
    editor->text_of = NULL;
    arena_reset(&editor->memory);
}

void event_editor_begin(
    struct event_editor *editor, const struct event *event, const struct event_agent *agent)
{
    static const struct event_agent no_agent;
    reset(editor);
    editor->failed = false;
    editor->original = event;
    editor->event = *event;
    editor->agent = agent ? *agent : no_agent;
    editor->edits.agent = &editor->agent;
    editor->edits.agent_before = agent;
    editor->edits.trace = event->record->trace;
    editor->edits.mark_count = 0;
    editor->edits.process_removed = 0;
    editor->edits.process_hashed = 0;
    editor->edits.has_message = false;
    editor->message_edit_count = 0;
    editor->hashes_left = EVENT_EDITOR_MAX_HASHES;
}

void event_editor_begin_from(struct event_editor *editor, const struct event_editor *before)
{
    reset(editor);
    editor->changed = before->changed;
    editor->failed = before->failed;
    editor->original = before->original;
    editor->event = before->event;
    editor->agent = before->agent;
    editor->edits = before->edits;
    editor->edits.agent = &editor->agent;
    editor->edits.has_message = false;
    editor->event.edits = before->changed ? &editor->edits : before->event.edits;
    editor->message_edit_count = before->message_edit_count;
    editor->hashes_left = before->hashes_left;
    memcpy(editor->message_edits, before->message_edits, sizeof(editor->message_edits));
}

struct event_record *event_editor_record(struct event_editor *editor)
{
    if (!editor->has_record) {
        const struct event_record *record = editor->event.record;
        size_t count = record->extended_count;
        count = count < RECORD_MAX_EXTENDED ? count : RECORD_MAX_EXTENDED;
        editor->record = *record;
        for (size_t i = 0; i < count; i++) {
            editor->items[i] = record->extended[i];
        }
        editor->record.extended = editor->items;
        editor->record.extended_count = count;
        editor->event.record = &editor->record;
        editor->has_record = true;
    }
    return &editor->record;
}

void event_editor_put_hash(
    struct event_editor *editor, const struct event_edit *edit, struct span text, uint8_t *ret_text)
{
    uint8_t digest[PLAT_HASH_BYTES] = {0};
    if (!editor->hash) {
        editor->hash = plat_hash_create(NULL);
    }
    editor->failed |= !editor->hash || !plat_hash_keyed(editor->hash, edit->key, text, digest);
    put_hex_bytes(ret_text, span_make(digest, sizeof(digest)));
}

size_t event_editor_fit(struct span text, size_t max)
{
    size_t size = text.size < max ? text.size : max;
    while (size && size < text.size && (text.data[size] & 0xc0) == 0x80) {
        size--;
    }
    return size;
}

/* ---- message --------------------------------------------------------------------------------- */

static void note_message(struct event_editor *editor, const struct event_edit *edit)
{
    bool replaces = edit->kind == EVENT_EDIT_SET || edit->kind == EVENT_EDIT_REMOVE;
    if (replaces) {
        editor->message_edit_count = 0;
    }
    if (editor->message_edit_count < EDITOR_MAX_MESSAGE_EDITS) {
        editor->message_edits[editor->message_edit_count++] = edit;
    } else {
        editor->failed = true;
    }
}

static struct span edit_message(
    struct event_editor *editor, const struct event_edit *edit, struct span message)
{
    switch (edit->kind) {
    case EVENT_EDIT_SET:
        return edit->value;
    case EVENT_EDIT_HASH: {
        uint8_t *hash = message.size ? arena_alloc(&editor->memory, HASH_TEXT_SIZE) : NULL;
        if (!hash) {
            return span_make(NULL, 0);
        }
        event_editor_put_hash(editor, edit, message, hash);
        return span_make(hash, HASH_TEXT_SIZE);
    }
    case EVENT_EDIT_TRUNCATE:
        return span_first(message, event_editor_fit(message, edit->bytes));
    default:
        return span_make(NULL, 0);
    }
}

static void make_message(struct event_editor *editor, struct event_path_context *paths)
{
    static const struct event_path path = {
        .field = PATH_MESSAGE, .need = EVENT_PATH_EVENT, .type = EVENT_VALUE_TEXT};
    const struct event_edit *const *edits = editor->message_edits;
    struct span message = span_make(NULL, 0);
    if (edits[0]->kind == EVENT_EDIT_HASH || edits[0]->kind == EVENT_EDIT_TRUNCATE) {
        editor->event.edits = NULL;
        message = event_path_get(&path, &editor->event, paths).bytes;
    }
    for (size_t i = 0; i < editor->message_edit_count; i++) {
        message = edit_message(editor, edits[i], message);
    }
    struct span copy = span_make(NULL, 0);
    editor->failed |= message.size && !arena_copy(&editor->memory, message, &copy);
    editor->edits.message = copy;
    editor->edits.has_message = true;
}

/* ---- all of it ------------------------------------------------------------------------------- */

void event_editor_apply(
    struct event_editor *editor, const struct event_edit *edit, struct event_path_context *paths)
{
    editor->changed = true;
    if (edit->kind != EVENT_EDIT_TAG && edit->path.field == PATH_DATA) {
        event_editor_apply_data(editor, edit, paths);
    } else if (edit->kind != EVENT_EDIT_TAG && edit->path.field == PATH_MESSAGE) {
        note_message(editor, edit);
    } else {
        event_editor_apply_header(editor, edit);
    }
}

/* A value that could not be edited is not shipped. */
static void drop_values(struct event_editor *editor)
{
    struct event_record *record = event_editor_record(editor);
    struct event *event = &editor->event;
    record->payload = span_make(NULL, 0);
    record->extended_count = 0;
    event->fields = NULL;
    event->field_count = 0;
    event->status = event->status == DECODE_RAW ? DECODE_RAW : DECODE_PARTIAL;
    event->rest = span_make(NULL, 0);
    event->error = "its values are left out: there is no memory to edit them, or too many rules "
                   "change one field";
    event->stack_count = 0;
    event->process = NULL;
    event->file = NULL;
    editor->edits.has_message = true;
    editor->edits.message = span_make(NULL, 0);
}

const struct event *event_editor_finish(
    struct event_editor *editor, struct event_path_context *paths)
{
    if (!editor->changed) {
        return editor->original;
    }
    if (!editor->failed && editor->process_edit_count) {
        event_editor_make_process(editor);
    }
    if (!editor->failed && editor->message_edit_count) {
        make_message(editor, paths);
    }
    if (editor->failed) {
        drop_values(editor);
    }
    editor->event.edits = &editor->edits;
    return &editor->event;
}
