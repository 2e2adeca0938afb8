#ifndef ETWSHIP_EVENT_EVENT_EDITOR_OWN_H
#define ETWSHIP_EVENT_EVENT_EDITOR_OWN_H

#include "event/edit/event_editor.h"
#include "event/write/event_edits.h"
#include "event/write/event_file.h"
#include "event/write/event_process.h"

/* Shared by the files of the editor; not for users of event_editor.h. */

enum {
    HASH_TEXT_SIZE = 2 * PLAT_HASH_BYTES,
    EDITOR_MAX_MESSAGE_EDITS = 64,
    EDITOR_MAX_PROCESS_EDITS = 64,
    EDITOR_PROCESS_SLOTS = 256,
};

/* An edited process. */
struct editor_process {
    uint64_t original_serial; /* 0: empty */
    const struct event_edit *edits[EDITOR_MAX_PROCESS_EDITS];
    size_t edit_count;
    struct event_process process;
    uint8_t *texts; /* owned, malloc'd: a hash per edit, then the previous ones */
};

struct event_editor {
    const struct event *original;
    struct event event;
    bool changed; /* `event` differs from the original */
    bool failed;  /* no memory or no hash: all values are removed */

    /* Copies of the original's parts, made when the first value in them changes. */
    bool has_fields;
    bool has_record;
    bool has_trace;
    bool has_labels;
    bool has_tags;
    struct field *fields; /* malloc'd, kept */
    size_t field_capacity;
    struct event_record record;
    struct extended_item items[RECORD_MAX_EXTENDED];
    struct trace_info trace;
    struct event_file file;
    struct event_agent agent;
    size_t label_capacity;
    size_t tag_capacity;
    struct event_edits edits;

    /* A message is rendered last, from the edited fields. */
    const struct event_edit *message_edits[EDITOR_MAX_MESSAGE_EDITS];
    size_t message_edit_count;

    /* Edits of the process; their result is kept. */
    const struct event_edit *process_edits[EDITOR_MAX_PROCESS_EDITS];
    size_t process_edit_count;
    struct editor_process *processes; /* malloc'd on first use */

    uint32_t hashes_left;
    struct plat_hash *hash;             /* made on first use */
    const struct schema_field *text_of; /* the schema that `text_schema` was made of */
    struct schema_field *text_schema;
    struct arena memory; /* for one event */
};

/* The hash of ${text} in hex, HASH_TEXT_SIZE bytes.
 * If there is none, they are zeros and the editor has failed. */
void event_editor_put_hash(struct event_editor *editor, const struct event_edit *edit,
    struct span text, uint8_t *ret_text);

/* A writable copy of the record. */
struct event_record *event_editor_record(struct event_editor *editor);

/* Apply an edit of the payload's fields. */
void event_editor_apply_data(
    struct event_editor *editor, const struct event_edit *edit, struct event_path_context *paths);

/* Apply an edit of any other field but the message. */
void event_editor_apply_header(struct event_editor *editor, const struct event_edit *edit);

/* Note an edit of the process; put the process with all edits into the event. */
void event_editor_note_process(struct event_editor *editor, const struct event_edit *edit);
void event_editor_make_process(struct event_editor *editor);
void event_editor_fini_processes(struct event_editor *editor);

/* The longest start of ${text} (UTF-8) with at most ${max} bytes that ends at a character. */
size_t event_editor_fit(struct span text, size_t max);

#endif
