#include "event/edit/event_edit.h"

#include "base/put.h"
#include "base/utf.h"
#include "event/write/event_path_ids.h"

/* ---- what may be done to which field --------------------------------------------------------- */

enum {
    SET = 1 << EVENT_EDIT_SET,
    REMOVE = 1 << EVENT_EDIT_REMOVE,
    RENAME = 1 << EVENT_EDIT_RENAME,
    HASH = 1 << EVENT_EDIT_HASH,
    TRUNCATE = 1 << EVENT_EDIT_TRUNCATE,
};

/* Which edits a field allows. Numbers of the header cannot be hashed, since a field never changes
 * its type. Fields without a row identify the event: positions, ids, counters and routes depend on
 * them. */
static const struct {
    uint8_t field; /* enum event_path_field */
    uint8_t kinds;
} rows[] = {
    {PATH_DATA, SET | REMOVE | RENAME | HASH | TRUNCATE},
    {PATH_MESSAGE, SET | REMOVE | HASH | TRUNCATE},
    {PATH_PAYLOAD, REMOVE},
    {PATH_PAYLOAD_REST, REMOVE},
    {PATH_PROCESS_START_KEY, REMOVE},
    {PATH_PROCESS_NAME, REMOVE | HASH | TRUNCATE},
    {PATH_PROCESS_EXECUTABLE, REMOVE | HASH | TRUNCATE},
    {PATH_PROCESS_COMMAND_LINE, REMOVE | HASH | TRUNCATE},
    {PATH_PROCESS_PARENT, REMOVE},
    {PATH_PROCESS_PARENT_NAME, REMOVE | HASH | TRUNCATE},
    {PATH_PROCESS_PARENT_EXECUTABLE, REMOVE | HASH | TRUNCATE},
    {PATH_PROCESS_USER, REMOVE},
    {PATH_PROCESS_USER_ID, REMOVE | HASH},
    {PATH_PROCESS_USER_NAME, REMOVE | HASH},
    {PATH_PROCESS_USER_DOMAIN, REMOVE | HASH},
    {PATH_PROCESS_SESSION_ID, REMOVE},
    {PATH_PROCESS_INTEGRITY, REMOVE},
    {PATH_PROCESS_START, REMOVE},
    {PATH_FILE, REMOVE},
    {PATH_FILE_PATH, REMOVE | HASH | TRUNCATE},
    {PATH_ACTIVITY_ID, REMOVE | HASH},
    {PATH_RELATED_ACTIVITY_ID, REMOVE | HASH},
    {PATH_EXTENDED, REMOVE},
    {PATH_EXTENDED_SID, REMOVE | HASH},
    {PATH_EXTENDED_SESSION_ID, REMOVE},
    {PATH_EXTENDED_INSTANCE, REMOVE},
    {PATH_EXTENDED_STACK, REMOVE},
    {PATH_EXTENDED_STACK_KEY, REMOVE},
    {PATH_EXTENDED_PEBS_INDEX, REMOVE},
    {PATH_EXTENDED_PMC_COUNTERS, REMOVE},
    {PATH_EXTENDED_PSM_KEY, REMOVE},
    {PATH_EXTENDED_EVENT_KEY, REMOVE},
    {PATH_EXTENDED_START_KEY, REMOVE},
    {PATH_EXTENDED_CONTROL_GUID, REMOVE},
    {PATH_EXTENDED_QPC_DELTA, REMOVE},
    {PATH_EXTENDED_CONTAINER_ID, REMOVE},
    {PATH_EXTENDED_TYPE, REMOVE},
    {PATH_HOST, REMOVE},
    {PATH_HOST_NAME, SET | REMOVE | HASH},
    {PATH_HOST_FQDN, SET | REMOVE | HASH},
    {PATH_HOST_DOMAIN, SET | REMOVE | HASH},
    {PATH_HOST_ID, REMOVE | HASH},
    {PATH_HOST_IP, REMOVE},
    {PATH_HOST_ARCHITECTURE, REMOVE},
    {PATH_HOST_OS, REMOVE},
    {PATH_HOST_OS_NAME, REMOVE},
    {PATH_HOST_OS_VERSION, REMOVE},
    {PATH_HOST_OS_KERNEL, REMOVE},
    {PATH_LABELS, SET | REMOVE | HASH},
    {PATH_TAGS, REMOVE},
};

const char *event_edit_word(enum event_edit_kind kind)
{
    static const char *const words[] = {[EVENT_EDIT_SET] = "set",
        [EVENT_EDIT_TAG] = "tag",
        [EVENT_EDIT_REMOVE] = "remove",
        [EVENT_EDIT_RENAME] = "rename",
        [EVENT_EDIT_HASH] = "hash",
        [EVENT_EDIT_TRUNCATE] = "truncate"};
    return words[kind];
}

/* The fields that an edit may change, for error messages. */
static const char *fields_for(enum event_edit_kind kind)
{
    switch (kind) {
    case EVENT_EDIT_SET:
        return "labels.NAME, data.NAME, message and names of host";
    case EVENT_EDIT_REMOVE:
        return "data.NAME, message, payload, payload_rest, activity_id, related_activity_id, "
               "process.… but pid, thread and parent.pid, file, extended, host, labels and tags";
    case EVENT_EDIT_RENAME:
        return "data.NAME";
    case EVENT_EDIT_HASH:
        return "data.NAME, message, texts of process, file.path, activity_id, related_activity_id, "
               "extended.sid, names and id of host, and labels.NAME";
    default:
        return "data.NAME, message, file.path, and names and command lines of process";
    }
}

static unsigned kinds_of(const struct event_path *path)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].field == path->field) {
            return rows[i].kinds;
        }
    }
    return 0;
}

static bool check_data(const struct event_edit *edit, struct error *err)
{
    const struct event_path *path = &edit->path;
    unsigned count = path->step_count;
    struct span shown = span_first(edit->path_text, 100);
    if (edit->kind == EVENT_EDIT_SET && (count != 1 || path->steps[0].each)) {
        return error_set(err, ERR_CONFIG,
            "%.*s: of the payload, only data.NAME can be set. write data.NAME", SPAN_ARG(shown));
    }
    if (edit->kind == EVENT_EDIT_RENAME && count == 0) {
        return error_set(err, ERR_CONFIG, "data cannot be renamed. write data.NAME");
    }
    if ((edit->kind == EVENT_EDIT_REMOVE || edit->kind == EVENT_EDIT_RENAME) && count &&
        path->steps[count - 1].each) {
        return error_set(err, ERR_CONFIG,
            "%.*s: single elements of a list cannot be changed. name the list, or a member of its "
            "elements",
            SPAN_ARG(shown));
    }
    return true;
}

static bool check_field(const struct event_edit *edit, struct error *err)
{
    const struct event_path *path = &edit->path;
    bool whole_labels = path->field == PATH_LABELS && path->step_count == 0 &&
                        edit->kind != EVENT_EDIT_REMOVE;
    bool elements = path->field != PATH_DATA && path->each;
    if (!(kinds_of(path) >> edit->kind & 1) || whole_labels || elements) {
        return error_set(err, ERR_CONFIG, "a rule cannot %s %.*s. choose from %s",
            event_edit_word(edit->kind), SPAN_ARG(span_first(edit->path_text, 100)),
            fields_for(edit->kind));
    }
    return path->field != PATH_DATA || check_data(edit, err);
}

/* ---- names and texts ------------------------------------------------------------------------- */

/* `,"Name<suffix>":`, with what put_padded reads after it. */
static bool make_key(
    struct arena *arena, struct span name, const char *suffix, struct span *ret_key)
{
    size_t suffix_size = strlen(suffix);
    uint8_t *key = arena_alloc(arena, utf8_json_bound(name.size) + suffix_size + 4 + PUT_PADDING);
    if (!key) {
        return false;
    }
    uint8_t *p = put_literal(key, ",\"");
    p += utf8_to_json(name, p);
    p = put_span(p, span_make(suffix, suffix_size));
    p = put_literal(p, "\":");
    *ret_key = span_make(key, (size_t)(p - key));
    return true;
}

static bool make_field(struct arena *arena, struct span name, struct schema_field *ret_field)
{
    *ret_field = (struct schema_field){.name = name,
        .in_type = IN_ANSI_STRING,
        .out_type = OUT_UTF8,
        .flags = FIELD_EDITED,
        .form = FORM_UTF8};
    return make_key(arena, name, "", &ret_field->json_key) &&
           make_key(arena, name, "_name", &ret_field->name_key) &&
           make_key(arena, name, "_raw", &ret_field->raw_key);
}

static bool check_value(const struct event_edit *edit, struct error *err)
{
    if (edit->value.size > EVENT_EDIT_MAX_VALUE_BYTES) {
        return error_set(
            err, ERR_CONFIG, "a text may have at most %d bytes", EVENT_EDIT_MAX_VALUE_BYTES);
    }
    if (edit->kind == EVENT_EDIT_TAG && edit->value.size == 0) {
        return error_set(err, ERR_CONFIG, "a tag must not be empty");
    }
    return true;
}

/* Names of the payload's fields have no dots (schema_finish), which are for paths. */
static bool check_name(struct span name, struct error *err)
{
    if (name.size == 0 || name.size > SCHEMA_LONG_NAME_BYTES) {
        return error_set(
            err, ERR_CONFIG, "the name of a field must have 1 to %d bytes", SCHEMA_LONG_NAME_BYTES);
    }
    if (memchr(name.data, '.', name.size)) {
        return error_set(err, ERR_CONFIG,
            "%.*s: the new name must have no dots, as the field stays in its object. write the "
            "name alone",
            SPAN_ARG(span_first(name, 100)));
    }
    return true;
}

static bool compile_field(struct event_edit *edit, struct arena *arena, struct error *err)
{
    if (edit->path.field != PATH_DATA ||
        (edit->kind != EVENT_EDIT_SET && edit->kind != EVENT_EDIT_RENAME)) {
        return true;
    }
    struct span name = edit->kind == EVENT_EDIT_SET ? edit->path.steps[0].name : edit->value;
    if (!check_name(name, err)) {
        return false;
    }
    if (!make_field(arena, name, &edit->field)) {
        return error_set(err, ERR_MEMORY, "no memory left for filters");
    }
    if (edit->kind == EVENT_EDIT_SET) {
        edit->field.name_key = span_make(NULL, 0);
        edit->field.raw_key = span_make(NULL, 0);
    }
    return true;
}

bool event_edit_compile(const struct event_edit_words *words, struct arena *arena,
    struct event_edit *ret_edit, struct error *err)
{
    struct event_edit edit = {.kind = words->kind, .bytes = words->bytes, .key = words->key};
    if (!arena_copy(arena, words->path, &edit.path_text) ||
        !arena_copy(arena, words->value, &edit.value)) {
        return error_set(err, ERR_MEMORY, "no memory left for filters");
    }
    if (edit.kind != EVENT_EDIT_TAG &&
        (!event_path_compile(edit.path_text, &edit.path, err) || !check_field(&edit, err))) {
        return false;
    }
    if (!check_value(&edit, err) || !compile_field(&edit, arena, err)) {
        return false;
    }
    *ret_edit = edit;
    return true;
}
