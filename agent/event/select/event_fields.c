#include "event/select/event_fields.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/text/nearest.h"
#include "base/visible.h"
#include "event/write/event_edits.h"
#include "event/write/event_formats.h"
#include "event/write/event_path_ids.h"

/*
 * Works on the finished JSON, as event_overflow.c does, so it is independent of the shape. A path
 * is a sequence of names. Paths that still match are bits of a mask: at depth n each has matched n
 * names.
 */
enum {
    MAX_NAMES = 16,
    MAX_DEPTH = 64,
    MAX_LINE_BYTES = 64 * 1024 * 1024,
    KEPT_BYTES = 1024 * 1024, /* memory to keep for the next line */
    MAX_LIST_BYTES = 64 * 1024,
};

struct wanted {
    struct span names[MAX_NAMES]; /* escaped as in JSON */
    size_t count;
};

struct event_fields {
    struct wanted list[EVENT_FIELDS_MAX];
    size_t count;
    bool is_all; /* no list: all fields */
    struct arena texts;
    struct buf source; /* copy of the line */
    struct buf path;   /* of what is listed */

    /* Native: the top-level payload fields that are needed. */
    bool narrows_data;
    bool narrows_message;
    struct span data[EVENT_FIELDS_MAX];
    size_t data_count;
    struct event narrowed;
    struct event_edits edits;
    struct field *fields; /* malloc'd, kept */
    size_t field_capacity;
};

/* ---- paths ----------------------------------------------------------------------------------- */

static bool add_name(
    struct event_fields *fields, struct wanted *wanted, struct span name, struct error *err)
{
    if (wanted->count == MAX_NAMES) {
        return error_set(err, ERR_CONFIG, "a path has more than %d names", MAX_NAMES);
    }
    uint8_t *escaped = arena_alloc(&fields->texts, utf8_json_bound(name.size));
    if (!escaped) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    wanted->names[wanted->count++] = span_make(escaped, utf8_to_json(name, escaped));
    return true;
}

/* Split at dots; everything after `labels.` is one name. */
static bool add_names(
    struct event_fields *fields, struct wanted *wanted, struct span text, struct error *err)
{
    while (text.size) {
        bool is_label = wanted->count == 1 && span_is(wanted->names[0], "labels");
        const uint8_t *dot = is_label ? NULL : memchr(text.data, '.', text.size);
        size_t size = dot ? (size_t)(dot - text.data) : text.size;
        if (!add_name(fields, wanted, span_first(text, size), err)) {
            return false;
        }
        text = span_from(text, size + (dot != NULL));
    }
    return true;
}

/* Filters also accept `event.id` for `event.code`; JSON has only the latter. */
static struct span written_name(const struct event_path *path, struct span text)
{
    return path->field == PATH_EVENT_CODE ? span_text("event.code") : text;
}

static bool add_native(
    struct event_fields *fields, struct wanted *wanted, struct span text, struct error *err)
{
    struct event_path path;
    if (!event_path_compile(text, &path, err)) {
        return false;
    }
    fields->narrows_message &= path.field != PATH_MESSAGE;
    if (path.field != PATH_DATA && path.field != PATH_LABELS) {
        struct span name = written_name(&path, text);
        name.size -= path.each ? sizeof("[*]") - 1 : 0;
        return add_names(fields, wanted, name, err);
    }
    bool is_data = path.field == PATH_DATA;
    if (!add_name(fields, wanted, span_text(is_data ? "data" : "labels"), err)) {
        return false;
    }
    for (size_t i = 0; i < path.step_count; i++) {
        if (!add_name(fields, wanted, path.steps[i].name, err)) {
            return false;
        }
    }
    if (is_data && path.step_count) {
        fields->data[fields->data_count++] = path.steps[0].name;
    }
    fields->narrows_data &= !is_data || path.step_count;
    return true;
}

/* True if ${text} is the path ${row} of ecs.tsv, which may end in `*`, or an object that contains
 * it. */
static bool is_row(struct span text, struct span row)
{
    const uint8_t *star = memchr(row.data, '*', row.size);
    size_t size = star ? (size_t)(star - row.data) : row.size;
    bool in_object = text.size < row.size && row.data[text.size] == '.' &&
                     span_equal(span_first(row, text.size), text);
    bool fits = star ? text.size > size : text.size == size;
    return in_object || (fits && span_equal(span_first(text, size), span_first(row, size)));
}

static bool add_ecs(
    struct event_fields *fields, struct wanted *wanted, struct span text, struct error *err)
{
    static const char *const rows[] = {
#define FIELD(path) path,
#include "ecs_fields.def"
#undef FIELD
    };
    struct nearest nearest = {.text = text};
    bool known = false;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && !known; i++) {
        known = is_row(text, span_text(rows[i]));
        nearest_consider(&nearest, span_text(rows[i]));
    }
    if (!known) {
        struct span meant = nearest_meant(&nearest);
        return error_set(err, ERR_CONFIG, "events have no field %.*s in ecs.%s%.*s%s",
            SPAN_ARG(span_first(text, 100)), meant.size ? " did you mean " : "", SPAN_ARG(meant),
            meant.size ? "?" : " docs/reference/ecs-fields.md lists them");
    }
    return add_names(fields, wanted, text, err);
}

/* The next path of the list; commas in quotes belong to it. */
static struct span next_path(struct span *list)
{
    uint8_t quote = 0;
    size_t size = 0;
    for (; size < list->size && (quote || list->data[size] != ','); size++) {
        uint8_t c = list->data[size];
        quote = quote ? (c == quote ? 0 : quote) : (c == '\'' || c == '"' ? c : 0);
    }
    struct span path = span_trim(span_first(*list, size));
    *list = span_from(*list, size + 1);
    return path;
}

static bool add_all(struct event_fields *fields, struct span list, bool ecs, struct error *err)
{
    if (list.size == 0) {
        return error_set(err, ERR_CONFIG, "no field is named. write data.NAME,process.pid");
    }
    while (list.size) {
        struct span path = next_path(&list);
        struct wanted *wanted = &fields->list[fields->count];
        if (fields->count == EVENT_FIELDS_MAX) {
            return error_set(err, ERR_CONFIG, "more than %d fields", EVENT_FIELDS_MAX);
        }
        if (!(ecs ? add_ecs(fields, wanted, path, err) : add_native(fields, wanted, path, err))) {
            return false;
        }
        fields->count++;
    }
    return true;
}

struct event_fields *event_fields_create(
    struct span list, const struct event_format *format, struct error *err)
{
    struct event_fields *fields = calloc(1, sizeof(*fields));
    if (!fields) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    bool ecs = format == &event_format_ecs;
    struct span copy;
    arena_init(&fields->texts, 16 * MAX_LIST_BYTES);
    buf_init(&fields->source, MAX_LINE_BYTES);
    buf_init(&fields->path, MAX_LINE_BYTES);
    fields->is_all = list.data == NULL;
    fields->narrows_data = !ecs && !fields->is_all;
    fields->narrows_message = !ecs && !fields->is_all;
    bool good = list.size <= MAX_LIST_BYTES && arena_copy(&fields->texts, list, &copy);
    if (!good) {
        error_set(err, ERR_LIMIT, "the list of fields is too long");
    }
    if (!good || !(fields->is_all || add_all(fields, copy, ecs, err))) {
        event_fields_destroy(fields);
        return NULL;
    }
    return fields;
}

void event_fields_destroy(struct event_fields *fields)
{
    if (fields) {
        arena_fini(&fields->texts);
        buf_fini(&fields->source);
        buf_fini(&fields->path);
        free(fields->fields);
        free(fields);
    }
}

/* ---- what need not be written ---------------------------------------------------------------- */

/* True if a top-level field, or its generated name, is wanted. */
static bool is_wanted(const struct event_fields *fields, struct span name)
{
    for (size_t i = 0; i < fields->data_count; i++) {
        struct span wanted = fields->data[i];
        if (span_equal(span_first(wanted, name.size), name) &&
            (wanted.size == name.size || span_is(span_from(wanted, name.size), "_name"))) {
            return true;
        }
    }
    return false;
}

static void narrow_data(struct event_fields *fields, const struct event *event)
{
    struct event *narrowed = &fields->narrowed;
    if (!grow_to(&fields->fields, event->field_count, &fields->field_capacity,
            sizeof(*fields->fields))) {
        return; /* needs all fields */
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < event->field_count; i = event->fields[i].end) {
        if (!is_wanted(fields, event->fields[i].schema->name)) {
            continue;
        }
        uint32_t moved = i - count;
        for (uint32_t k = i; k < event->fields[i].end; k++) {
            fields->fields[count] = event->fields[k];
            fields->fields[count++].end -= moved;
        }
    }
    narrowed->fields = fields->fields;
    narrowed->field_count = count;
}

const struct event *event_fields_narrow(struct event_fields *fields, const struct event *event)
{
    if (!fields->narrows_message) { /* made of all fields */
        return event;
    }
    fields->narrowed = *event;
    if (!event->edits) {
        fields->edits = (struct event_edits){.has_message = true};
        fields->narrowed.edits = &fields->edits;
    }
    if (fields->narrows_data && event->status != DECODE_RAW) {
        narrow_data(fields, event);
    }
    return &fields->narrowed;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct pick {
    struct event_fields *fields;
    const uint8_t *at;
    const uint8_t *end;
    struct buf *out;
    size_t depth;
    size_t lists;  /* open lists: a path may match in each element */
    uint64_t left; /* paths without a match so far; none: the rest of the line is not read */
};

/* Move past the string that begins at `at`. */
static void skip_string(struct pick *pick)
{
    const uint8_t *start = ++pick->at;
    while (pick->at < pick->end) {
        const uint8_t *quote = memchr(pick->at, '"', (size_t)(pick->end - pick->at));
        const uint8_t *before = quote ? quote : pick->end;
        while (before > start && before[-1] == '\\') {
            before--;
        }
        pick->at = quote ? quote + 1 : pick->end;
        if (!quote || (quote - before) % 2 == 0) {
            return;
        }
    }
}

/* Move past the value that begins at `at`. */
static void skip_value(struct pick *pick)
{
    enum { QUOTE = 1, OPEN, CLOSE, COMMA };
    static const uint8_t marks[256] = {
        ['"'] = QUOTE, ['{'] = OPEN, ['['] = OPEN, ['}'] = CLOSE, [']'] = CLOSE, [','] = COMMA};
    size_t open = 0;
    while (pick->at < pick->end) {
        uint8_t mark = marks[*pick->at];
        if (open == 0 && mark >= CLOSE) {
            return;
        }
        if (mark == QUOTE) {
            skip_string(pick);
            continue;
        }
        open += mark == OPEN;
        open -= mark == CLOSE;
        pick->at++;
    }
}

/* The next member of the open object: its name; `at` moves past the colon. False: the object ends,
 * and `at` moves past it. */
static bool next_member(struct pick *pick, struct span *ret_name)
{
    if (pick->at < pick->end && *pick->at == ',') {
        pick->at++;
    }
    if (pick->at >= pick->end || *pick->at != '"') {
        pick->at += pick->at < pick->end;
        return false;
    }
    const uint8_t *start = pick->at + 1;
    skip_string(pick);
    *ret_name = span_make(start, (size_t)(pick->at - 1 - start));
    pick->at += pick->at < pick->end;
    return true;
}

/* The paths in ${mask} that continue with ${name}. ${ret_whole}: one of them ends there. */
static uint64_t follow(
    struct pick *pick, uint64_t mask, size_t depth, struct span name, bool *ret_whole)
{
    uint64_t on = 0;
    *ret_whole = false;
    for (size_t i = 0; i < pick->fields->count; i++) {
        const struct wanted *wanted = &pick->fields->list[i];
        if ((mask >> i & 1) && depth < wanted->count && span_equal(wanted->names[depth], name)) {
            *ret_whole |= depth + 1 == wanted->count;
            on |= UINT64_C(1) << i;
        }
    }
    pick->left &= *ret_whole && pick->lists == 0 ? ~on : UINT64_MAX;
    return on;
}

static bool pick_value(struct pick *pick, uint64_t mask, size_t depth);

static bool pick_object(struct pick *pick, uint64_t mask, size_t depth)
{
    struct span name;
    const char *separator = "{";
    pick->at++;
    while (pick->left && next_member(pick, &name)) {
        bool whole;
        uint64_t on = follow(pick, mask, depth, name, &whole);
        if (!on) {
            skip_value(pick);
            continue;
        }
        size_t start = pick->out->size;
        buf_add_text(pick->out, separator);
        buf_add_byte(pick->out, '"');
        buf_add_span(pick->out, name);
        buf_add_text(pick->out, "\":");
        bool any = true;
        if (whole) {
            const uint8_t *value = pick->at;
            skip_value(pick);
            buf_add(pick->out, value, (size_t)(pick->at - value));
        } else {
            any = pick_value(pick, on, depth + 1);
        }
        if (any) {
            separator = ",";
        } else if (!pick->out->failed) {
            pick->out->size = start;
        }
    }
    bool any = *separator == ',';
    buf_add_text(pick->out, any ? "}" : "");
    return any;
}

static bool pick_list(struct pick *pick, uint64_t mask, size_t depth)
{
    const char *separator = "[";
    pick->at++;
    pick->lists++;
    while (pick->at < pick->end && *pick->at != ']') {
        size_t start = pick->out->size;
        buf_add_text(pick->out, separator);
        if (pick_value(pick, mask, depth)) {
            separator = ",";
        } else if (!pick->out->failed) {
            pick->out->size = start;
        }
        if (pick->at >= pick->end || *pick->at != ',') {
            break;
        }
        pick->at++;
    }
    pick->at += pick->at < pick->end;
    pick->lists--;
    bool any = *separator == ',';
    buf_add_text(pick->out, any ? "]" : "");
    return any;
}

/* Copy the wanted parts of a value. False: there are none. */
static bool pick_value(struct pick *pick, uint64_t mask, size_t depth)
{
    bool any = false;
    uint8_t c = pick->at < pick->end ? *pick->at : 0;
    if ((c == '{' || c == '[') && pick->depth < MAX_DEPTH) {
        pick->depth++;
        any = c == '{' ? pick_object(pick, mask, depth) : pick_list(pick, mask, depth);
        pick->depth--;
    } else {
        skip_value(pick);
    }
    return any;
}

/* Copy the line, since the result overwrites it. */
static bool take_line(struct event_fields *fields, size_t start, struct buf *out)
{
    if (out->failed || out->size == start) {
        return false;
    }
    if (fields->source.capacity > KEPT_BYTES) {
        buf_fini(&fields->source);
        buf_init(&fields->source, MAX_LINE_BYTES);
    }
    buf_reset(&fields->source);
    buf_add(&fields->source, out->data + start, out->size - start);
    out->failed = fields->source.failed;
    out->size = start;
    return !out->failed;
}

void event_fields_keep(struct event_fields *fields, size_t start, struct buf *out)
{
    if (!take_line(fields, start, out)) {
        return;
    }
    struct span line = buf_span(&fields->source);
    struct pick pick = {.fields = fields,
        .at = line.data,
        .end = line.data + line.size,
        .out = out,
        .left = UINT64_MAX >> (EVENT_FIELDS_MAX - fields->count)};
    if (!pick_value(&pick, UINT64_MAX, 0)) {
        buf_add_text(out, "{}");
    }
    buf_add_byte(out, '\n');
}

/* ---- lines for people ------------------------------------------------------------------------ */

/* ` data.QueryName example.org`: a text without its quotes, anything else unchanged. */
static void list_value(struct pick *pick)
{
    const uint8_t *value = pick->at;
    skip_value(pick);
    size_t size = (size_t)(pick->at - value);
    size_t quote = size >= 2 && *value == '"';
    struct span text = span_make(value + quote, size - 2 * quote);
    buf_add_text(pick->out, "    ");
    buf_add_span(pick->out, buf_span(&pick->fields->path));
    buf_add_text(pick->out, "  ");
    for (size_t i = 0; i < text.size; i++) {
        /* Unescape backslashes of Windows paths; other escapes stay. */
        i += text.data[i] == '\\' && i + 1 < text.size &&
             (text.data[i + 1] == '\\' || text.data[i + 1] == '"');
        buf_add_byte(pick->out, text.data[i]);
    }
    buf_add_byte(pick->out, '\n');
}

static void list_object(struct pick *pick)
{
    struct buf *path = &pick->fields->path;
    size_t size = path->size;
    struct span name;
    pick->at++;
    while (next_member(pick, &name)) {
        buf_add_text(path, size ? "." : "");
        buf_add_span(path, name);
        if (pick->at < pick->end && *pick->at == '{' && pick->depth < MAX_DEPTH) {
            pick->depth++;
            list_object(pick);
            pick->depth--;
        } else {
            list_value(pick);
        }
        path->size = size;
    }
}

void event_fields_list(struct event_fields *fields, size_t start, struct buf *out)
{
    if (!fields->is_all) {
        event_fields_keep(fields, start, out);
    }
    if (!take_line(fields, start, out)) {
        return;
    }
    struct span line = buf_span(&fields->source);
    struct pick pick = {
        .fields = fields, .at = line.data, .end = line.data + line.size, .out = out};
    buf_reset(&fields->path);
    list_object(&pick);
    out->failed |= fields->path.failed;
    visible_make(out, start);
}
