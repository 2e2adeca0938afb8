#include "base/put.h"
#include "event/edit/event_editor_own.h"
#include "event/write/event_path_ids.h"

/* Edits outside payload and message: of the record, its extended items, the trace (host), and
 * labels and tags. */

/* ---- labels, tags ---------------------------------------------------------------------------- */

/* Host, labels and tags are rendered once for all events with equal edits. */
static void mark(struct event_editor *editor, const struct event_edit *edit)
{
    struct event_edits *edits = &editor->edits;
    if (edits->mark_count < EVENT_EDITS_MAX_MARKS) {
        edits->marks[edits->mark_count] = edit;
    }
    edits->mark_count++;
}

/* The list ${texts} of ${count} as a copy with room for ${more}. NULL: no memory. */
static struct span *own_list(struct event_editor *editor, bool *has, const struct span *texts,
    size_t count, size_t more, size_t *capacity)
{
    enum { SPARE = 8 };
    if (*has && count + more <= *capacity) {
        return (struct span *)texts;
    }
    *capacity = count + more + SPARE;
    struct span *copy = arena_alloc_array(&editor->memory, *capacity, sizeof(*copy));
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = texts[i];
    }
    *has = copy != NULL;
    return copy;
}

/* The labels, which may be changed, with room for one more. */
static struct span *own_labels(struct event_editor *editor)
{
    struct event_agent *agent = &editor->agent;
    struct span *labels = own_list(editor, &editor->has_labels, agent->labels,
        agent->label_count * 2, 2, &editor->label_capacity);
    agent->labels = labels;
    agent->label_count = labels ? agent->label_count : 0;
    editor->failed |= !labels;
    return labels;
}

static void add_tag(struct event_editor *editor, const struct event_edit *edit)
{
    struct event_agent *agent = &editor->agent;
    for (size_t i = 0; i < agent->tag_count; i++) {
        if (span_equal(agent->tags[i], edit->value)) {
            return;
        }
    }
    struct span *tags = own_list(
        editor, &editor->has_tags, agent->tags, agent->tag_count, 1, &editor->tag_capacity);
    agent->tags = tags;
    if (tags) {
        tags[agent->tag_count++] = edit->value;
        mark(editor, edit);
    } else {
        agent->tag_count = 0;
        editor->failed = true;
    }
}

/* Hex of the hash, empty if there is no memory. */
static struct span hash_of(
    struct event_editor *editor, const struct event_edit *edit, struct span text)
{
    uint8_t *hash = arena_alloc(&editor->memory, HASH_TEXT_SIZE);
    if (!hash) {
        editor->failed = true;
        return span_make(NULL, 0);
    }
    event_editor_put_hash(editor, edit, text, hash);
    return span_make(hash, HASH_TEXT_SIZE);
}

static void edit_labels(struct event_editor *editor, const struct event_edit *edit)
{
    struct event_agent *agent = &editor->agent;
    size_t at = 0;
    mark(editor, edit);
    if (edit->path.step_count == 0) {
        agent->label_count = 0;
        return;
    }
    struct span key = edit->path.steps[0].name;
    while (at < agent->label_count && !span_equal(agent->labels[at * 2], key)) {
        at++;
    }
    if (at == agent->label_count && edit->kind != EVENT_EDIT_SET) {
        return;
    }
    struct span *labels = own_labels(editor);
    if (!labels) {
        return;
    }
    if (edit->kind == EVENT_EDIT_REMOVE) {
        agent->label_count--;
        memmove(
            labels + at * 2, labels + at * 2 + 2, (agent->label_count - at) * 2 * sizeof(*labels));
        return;
    }
    labels[at * 2] = key;
    labels[at * 2 + 1] = edit->kind == EVENT_EDIT_SET ? edit->value
                                                      : hash_of(editor, edit, labels[at * 2 + 1]);
    agent->label_count += at == agent->label_count;
}

/* ---- host ------------------------------------------------------------------------------------ */

/* The text of ${field}, or NULL. */
static struct span *host_text(struct trace_info *trace, uint8_t field)
{
    switch (field) {
    case PATH_HOST_NAME:
        return &trace->host_name;
    case PATH_HOST_FQDN:
        return &trace->host_fqdn;
    case PATH_HOST_DOMAIN:
        return &trace->host_domain;
    case PATH_HOST_ID:
        return &trace->host_id;
    case PATH_HOST_ARCHITECTURE:
        return &trace->host_architecture;
    case PATH_HOST_OS_NAME:
        return &trace->os_name;
    case PATH_HOST_OS_VERSION:
        return &trace->os_version;
    case PATH_HOST_OS_KERNEL:
        return &trace->os_kernel;
    default:
        return NULL;
    }
}

/* All from ${first} to ${last} in the order of paths. */
static void remove_host(struct trace_info *trace, uint8_t first, uint8_t last)
{
    for (uint8_t field = first; field <= last; field++) {
        struct span *text = host_text(trace, field);
        if (text) {
            *text = span_make(NULL, 0);
        }
    }
    if (first <= PATH_HOST_IP && PATH_HOST_IP <= last) {
        trace->host_ip_count = 0;
    }
}

static void edit_host(struct event_editor *editor, const struct event_edit *edit)
{
    const struct trace_info *before = editor->event.record->trace;
    uint8_t field = edit->path.field;
    if (!before) {
        return;
    }
    mark(editor, edit);
    if (!editor->has_trace) {
        editor->trace = *before;
        editor->has_trace = true;
        event_editor_record(editor)->trace = &editor->trace;
    }
    struct span *text = host_text(&editor->trace, field);
    if (edit->kind == EVENT_EDIT_REMOVE) {
        bool holds = field == PATH_HOST || field == PATH_HOST_OS;
        remove_host(&editor->trace, field, holds ? PATH_HOST_OS_KERNEL : field);
    } else if (edit->kind == EVENT_EDIT_SET) {
        *text = edit->value;
    } else if (text->size) {
        *text = hash_of(editor, edit, *text);
    }
}

/* ---- the record ------------------------------------------------------------------------------ */

/* True if an item of ${type} is a part of the field. */
static bool is_of(const struct event_path *path, uint16_t type)
{
    switch (path->field) {
    case PATH_RELATED_ACTIVITY_ID:
        return type == EXTENDED_RELATED_ACTIVITY_ID;
    case PATH_EXTENDED:
        return type != EXTENDED_RELATED_ACTIVITY_ID;
    case PATH_EXTENDED_SID:
        return type == EXTENDED_SID;
    case PATH_EXTENDED_SESSION_ID:
        return type == EXTENDED_TS_ID;
    case PATH_EXTENDED_INSTANCE:
        return type == EXTENDED_INSTANCE_INFO;
    case PATH_EXTENDED_STACK:
        return type == EXTENDED_STACK_TRACE32 || type == EXTENDED_STACK_TRACE64;
    case PATH_EXTENDED_STACK_KEY:
        return type == EXTENDED_STACK_KEY32 || type == EXTENDED_STACK_KEY64;
    case PATH_EXTENDED_PEBS_INDEX:
        return type == EXTENDED_PEBS_INDEX;
    case PATH_EXTENDED_PMC_COUNTERS:
        return type == EXTENDED_PMC_COUNTERS;
    case PATH_EXTENDED_PSM_KEY:
        return type == EXTENDED_PSM_KEY;
    case PATH_EXTENDED_EVENT_KEY:
        return type == EXTENDED_EVENT_KEY;
    case PATH_EXTENDED_START_KEY:
    case PATH_PROCESS_START_KEY:
        return type == EXTENDED_PROCESS_START_KEY;
    case PATH_EXTENDED_CONTROL_GUID:
        return type == EXTENDED_CONTROL_GUID;
    case PATH_EXTENDED_QPC_DELTA:
        return type == EXTENDED_QPC_DELTA;
    case PATH_EXTENDED_CONTAINER_ID:
        return type == EXTENDED_CONTAINER_ID;
    case PATH_EXTENDED_TYPE:
        return type == path->item;
    default:
        return false;
    }
}

static void remove_items(struct event_editor *editor, const struct event_path *path)
{
    struct event_record *record = event_editor_record(editor);
    size_t kept = 0;
    for (size_t i = 0; i < record->extended_count; i++) {
        if (!is_of(path, editor->items[i].type)) {
            editor->items[kept++] = editor->items[i];
        }
    }
    record->extended_count = kept;
    if (path->field == PATH_EXTENDED || path->field == PATH_EXTENDED_STACK) {
        editor->event.stack_count = 0;
    }
    if (path->field == PATH_EXTENDED || path->field == PATH_EXTENDED_INSTANCE) {
        record->present &= (uint16_t)~RECORD_HAS_INSTANCE;
    }
}

/* A GUID stays a GUID: the first 32 digits of its hash. */
static struct guid hash_guid(
    struct event_editor *editor, const struct event_edit *edit, const struct guid *guid)
{
    char text[GUID_TEXT_SIZE];
    uint8_t hash[HASH_TEXT_SIZE];
    static const uint8_t dashes[] = {8, 13, 18, 23};
    guid_write(guid, text);
    event_editor_put_hash(editor, edit, span_make(text, sizeof(text)), hash);
    for (size_t i = 0, from = 0, dash = 0; i < sizeof(text); i++) {
        bool is_dash = dash < sizeof(dashes) && i == dashes[dash];
        text[i] = is_dash ? '-' : (char)hash[from];
        dash += is_dash;
        from += !is_dash;
    }
    struct guid hashed = {{0}};
    guid_parse(span_make(text, sizeof(text)), &hashed);
    return hashed;
}

static void hash_items(struct event_editor *editor, const struct event_edit *edit)
{
    enum { SID_ROOM = 256 };
    struct event_record *record = event_editor_record(editor);
    bool is_text = record->present & RECORD_SID_IS_TEXT;
    for (size_t i = 0; i < record->extended_count; i++) {
        struct extended_item *item = &editor->items[i];
        if (!is_of(&edit->path, item->type)) {
            continue;
        }
        if (item->type == EXTENDED_RELATED_ACTIVITY_ID) {
            struct guid *guid = arena_alloc(&editor->memory, sizeof(*guid));
            if (guid && item->data.size >= sizeof(guid->bytes)) {
                memcpy(guid->bytes, item->data.data, sizeof(guid->bytes));
                *guid = hash_guid(editor, edit, guid);
            }
            item->data = span_make(guid ? guid->bytes : NULL, guid ? sizeof(guid->bytes) : 0);
            continue;
        }
        uint8_t text[SID_ROOM];
        uint8_t *end = text;
        struct span shown = item->data;
        if (!is_text && put_sid(&end, item->data)) {
            shown = span_make(text, (size_t)(end - text));
        } else if (!is_text) {
            uint8_t *hex = arena_alloc(&editor->memory, item->data.size * 2);
            editor->failed |= !hex;
            shown = span_make(hex, hex ? (size_t)(put_hex_bytes(hex, item->data) - hex) : 0);
        }
        item->data = hash_of(editor, edit, shown);
        record->present |= RECORD_SID_IS_TEXT;
    }
}

/* Payload values that ECS maps to this path are removed as well. */
static void edit_file(struct event_editor *editor, const struct event_edit *edit)
{
    const uint32_t bit = event_edits_process_bit(PATH_FILE_PATH);
    const struct event_file *file = editor->event.file;
    editor->edits.process_removed |= edit->kind == EVENT_EDIT_REMOVE ? bit : 0;
    editor->edits.process_hashed |= edit->kind == EVENT_EDIT_HASH ? bit : 0;
    if (!file || edit->kind == EVENT_EDIT_REMOVE) {
        editor->event.file = NULL;
        return;
    }
    struct span path = edit->kind == EVENT_EDIT_HASH
                           ? hash_of(editor, edit, file->path)
                           : span_first(file->path, event_editor_fit(file->path, edit->bytes));
    editor->file = (struct event_file){
        .path = path, .is_edited = file->is_edited || !span_equal(path, file->path)};
    editor->event.file = &editor->file;
}

static void edit_record(struct event_editor *editor, const struct event_edit *edit)
{
    static const struct guid none;
    bool hash = edit->kind == EVENT_EDIT_HASH;
    struct event_record *record = event_editor_record(editor);
    switch (edit->path.field) {
    case PATH_PAYLOAD:
        if (editor->event.status == DECODE_RAW) {
            record->payload = span_make(NULL, 0);
            editor->event.rest = record->payload;
        }
        break;
    case PATH_PAYLOAD_REST:
        if (editor->event.status != DECODE_RAW) {
            editor->event.rest = span_make(NULL, 0);
        }
        break;
    case PATH_ACTIVITY_ID:
        record->activity_id = hash && !guid_is_zero(&record->activity_id)
                                  ? hash_guid(editor, edit, &record->activity_id)
                                  : none;
        break;
    default:
        if (hash) {
            hash_items(editor, edit);
        } else {
            remove_items(editor, &edit->path);
        }
        break;
    }
}

void event_editor_apply_header(struct event_editor *editor, const struct event_edit *edit)
{
    if (edit->kind == EVENT_EDIT_TAG) {
        add_tag(editor, edit);
        return;
    }
    switch (edit->path.field) {
    case PATH_LABELS:
        edit_labels(editor, edit);
        break;
    case PATH_TAGS:
        editor->agent.tag_count = 0;
        mark(editor, edit);
        break;
    case PATH_FILE:
    case PATH_FILE_PATH:
        edit_file(editor, edit);
        break;
    case PATH_PROCESS_START_KEY: /* of the record, else of the process */
        edit_record(editor, edit);
        event_editor_note_process(editor, edit);
        break;
    default:
        if (edit->path.field >= PATH_HOST && edit->path.field <= PATH_HOST_OS_KERNEL) {
            edit_host(editor, edit);
        } else if (edit->path.field > PATH_PROCESS_START_KEY &&
                   edit->path.field <= PATH_PROCESS_START) {
            event_editor_note_process(editor, edit);
        } else {
            edit_record(editor, edit);
        }
        break;
    }
}
