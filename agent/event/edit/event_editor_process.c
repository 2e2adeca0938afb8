#include <stdatomic.h>
#include <stdlib.h>

#include "event/edit/event_editor_own.h"
#include "event/write/event_path_ids.h"

/*
 * Edits of an event's process. There are few processes and many events, so the edited copy of a
 * process is cached. Writers cache their texts by its serial.
 */

/* Serials of edited processes; a process_table gives none of these. */
static uint64_t next_serial(void)
{
    static atomic_uint_fast64_t last = UINT64_C(1) << 63;
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed);
}

/* The text of ${field}, or NULL. */
static struct span *text_of(struct event_process *process, uint8_t field)
{
    switch (field) {
    case PATH_PROCESS_NAME:
        return &process->name;
    case PATH_PROCESS_EXECUTABLE:
        return &process->executable;
    case PATH_PROCESS_COMMAND_LINE:
        return &process->command_line;
    case PATH_PROCESS_PARENT_NAME:
        return &process->parent_name;
    case PATH_PROCESS_PARENT_EXECUTABLE:
        return &process->parent_executable;
    case PATH_PROCESS_USER_ID:
        return &process->user_id;
    case PATH_PROCESS_USER_NAME:
        return &process->user_name;
    case PATH_PROCESS_USER_DOMAIN:
        return &process->user_domain;
    default:
        return NULL;
    }
}

static void remove_other(struct event_process *process, uint8_t field)
{
    static const struct span nothing;
    switch (field) {
    case PATH_PROCESS_START_KEY:
        process->start_key = 0;
        break;
    case PATH_PROCESS_PARENT:
        process->has_parent = false;
        process->parent_name = nothing;
        process->parent_executable = nothing;
        break;
    case PATH_PROCESS_USER:
        process->user_id = nothing;
        process->user_name = nothing;
        process->user_domain = nothing;
        break;
    case PATH_PROCESS_SESSION_ID:
        process->has_session = false;
        break;
    case PATH_PROCESS_INTEGRITY:
        process->integrity = NULL;
        break;
    default:
        process->start = 0;
        break;
    }
}

/* ${hash} has room for one. */
static void apply(struct event_editor *editor, struct event_process *process,
    const struct event_edit *edit, uint8_t *hash)
{
    struct span *text = text_of(process, edit->path.field);
    if (!text) {
        remove_other(process, edit->path.field);
    } else if (edit->kind == EVENT_EDIT_TRUNCATE) {
        text->size = event_editor_fit(*text, edit->bytes);
    } else if (edit->kind == EVENT_EDIT_HASH && text->size) {
        event_editor_put_hash(editor, edit, *text, hash);
        *text = span_make(hash, HASH_TEXT_SIZE);
    } else {
        *text = span_make(NULL, 0);
    }
}

/* A copy of the process that owns its texts, so that it outlives the original, with room for the
 * hashes. */
static bool copy(struct editor_process *slot, const struct event_process *before, size_t hashes)
{
    size_t size = hashes * HASH_TEXT_SIZE;
    slot->process = *before;
    for (unsigned field = PATH_PROCESS_NAME; field <= PATH_PROCESS_USER_DOMAIN; field++) {
        const struct span *text = text_of(&slot->process, (uint8_t)field);
        size += text ? text->size : 0;
    }
    uint8_t *texts = realloc(slot->texts, size);
    if (!texts) {
        return false;
    }
    slot->texts = texts;
    texts += hashes * HASH_TEXT_SIZE;
    for (unsigned field = PATH_PROCESS_NAME; field <= PATH_PROCESS_USER_DOMAIN; field++) {
        struct span *text = text_of(&slot->process, (uint8_t)field);
        if (text && text->size) {
            memcpy(texts, text->data, text->size);
            text->data = texts;
            texts += text->size;
        }
    }
    return true;
}

static bool is_of(const struct editor_process *slot, const struct event_editor *editor)
{
    return slot->original_serial == editor->event.process->serial &&
           slot->edit_count == editor->process_edit_count &&
           memcmp(slot->edits, editor->process_edits, slot->edit_count * sizeof(slot->edits[0])) ==
               0;
}

void event_editor_make_process(struct event_editor *editor)
{
    const struct event_process *before = editor->event.process;
    if (!editor->processes) {
        editor->processes = calloc(EDITOR_PROCESS_SLOTS, sizeof(*editor->processes));
    }
    if (!editor->processes || editor->process_edit_count > EDITOR_MAX_PROCESS_EDITS) {
        editor->failed = true;
        return;
    }
    struct editor_process *slot = &editor->processes[before->serial % EDITOR_PROCESS_SLOTS];
    if (!is_of(slot, editor)) {
        slot->original_serial = 0;
        if (!copy(slot, before, editor->process_edit_count)) {
            editor->failed = true;
            return;
        }
        for (size_t i = 0; i < editor->process_edit_count; i++) {
            apply(
                editor, &slot->process, editor->process_edits[i], slot->texts + i * HASH_TEXT_SIZE);
        }
        if (editor->failed) {
            return;
        }
        slot->process.serial = next_serial();
        slot->process.place = before->place ^ (uint32_t)slot->process.serial << 1;
        slot->original_serial = before->serial;
        slot->edit_count = editor->process_edit_count;
        memcpy(slot->edits, editor->process_edits, slot->edit_count * sizeof(slot->edits[0]));
    }
    editor->event.process = &slot->process;
}

void event_editor_note_process(struct event_editor *editor, const struct event_edit *edit)
{
    uint32_t bit = event_edits_process_bit(edit->path.field);
    if (editor->edits.process_removed & bit) {
        return;
    }
    editor->edits.process_removed |= edit->kind == EVENT_EDIT_REMOVE ? bit : 0;
    editor->edits.process_hashed |= edit->kind == EVENT_EDIT_HASH ? bit : 0;
    if (editor->event.process) {
        if (editor->process_edit_count < EDITOR_MAX_PROCESS_EDITS) {
            editor->process_edits[editor->process_edit_count] = edit;
        }
        editor->process_edit_count++;
    }
}

void event_editor_fini_processes(struct event_editor *editor)
{
    for (size_t i = 0; editor->processes && i < EDITOR_PROCESS_SLOTS; i++) {
        free(editor->processes[i].texts);
    }
    free(editor->processes);
}
