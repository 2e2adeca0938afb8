#include "event/select/event_template.h"

#include <stdlib.h>

#include "base/put.h"
#include "base/utf.h"
#include "event/select/template_shape.h"
#include "event/select/template_value.h"

/*
 * A template is a list of parts. The parser fixes the maximum size of each field: a component's
 * maximum less its literal text is shared among its fields, so rendering never cuts a name as a
 * whole, and its ending stays. A rendered component that holds data is checked again as a whole,
 * since `{a}{b}` may form a name that neither part is.
 */
enum part_kind { PART_TEXT, PART_TIME, PART_FIELD };

enum { LEAST_FIELD_BYTES = 8, MOST_FIELD_BYTES = 100 };

struct part {
    enum part_kind kind;
    char letter;      /* PART_TIME */
    size_t max_bytes; /* PART_FIELD */
    struct span text; /* as in the template, except for PART_TEXT of an escape */
    struct event_path path;
};

struct event_template {
    enum event_template_safety safety;
    char *text;
    struct part *parts;
    size_t count;
};

static const char unknown[] = "unknown";

static bool is_separator(uint8_t c)
{
    return c == '/' || c == '\\';
}

static bool is_letter(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_word(uint8_t c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
}

/* ---- reading --------------------------------------------------------------------------------- */

/* ${at} bytes into the text, as a column. */
static unsigned column_of(struct span text, size_t at)
{
    unsigned column = 1;
    for (size_t i = 0; i < at;) {
        utf8_next(text, &i);
        column++;
    }
    return column;
}

static struct part *add_part(struct event_template *self, enum part_kind kind, struct span text)
{
    struct part *last = self->count ? &self->parts[self->count - 1] : NULL;
    if (kind == PART_TEXT && last && last->kind == PART_TEXT &&
        last->text.data + last->text.size == text.data) {
        last->text.size += text.size;
        return last;
    }
    if (self->count == EVENT_TEMPLATE_MAX_PARTS) {
        return NULL;
    }
    struct part *part = &self->parts[self->count++];
    *part = (struct part){.kind = kind, .text = text};
    return part;
}

static bool too_many(struct error *err)
{
    return error_set(err, ERR_LIMIT, "column 1: more than %d parts. write a shorter template",
        EVENT_TEMPLATE_MAX_PARTS);
}

/* Size of `%NAME%` at ${at}, 0 if there is none. `%H_%M` and `%Hh%Mm` are times. */
static size_t variable_size(struct span text, size_t at)
{
    size_t end = at + 1 + span_run(span_from(text, at + 1), is_word);
    bool is_name = end - at > 3 && is_letter(text.data[at + 1]) && text.data[at + 2] != '_';
    return is_name && end < text.size && text.data[end] == '%' ? end + 1 - at : 0;
}

static bool read_percent(
    struct event_template *self, struct span text, size_t *at, struct error *err)
{
    size_t start = *at;
    size_t variable = variable_size(text, start);
    if (variable) {
        struct span name = span_make(text.data + start + 1, variable - 2);
        return error_set(err, ERR_CONFIG,
            "column %u: %%%.*s%% is not expanded here. write ${%.*s}, or %%%% for a percent sign",
            column_of(text, start), SPAN_ARG(name), SPAN_ARG(name));
    }
    uint8_t letter = start + 1 < text.size ? text.data[start + 1] : 0;
    if (letter == 0 || !strchr("YmdHM%", letter)) {
        return error_set(err, ERR_CONFIG,
            "column %u: not a part of the time. write one of %%Y %%m %%d %%H %%M, or %%%% for a "
            "percent sign",
            column_of(text, start));
    }
    *at += 2;
    bool is_text = letter == '%';
    struct part *part = add_part(self, is_text ? PART_TEXT : PART_TIME,
        span_make(text.data + start + is_text, 2 - (size_t)is_text));
    if (part && !is_text) {
        part->letter = (char)letter;
    }
    return part || too_many(err);
}

static bool read_field(struct event_template *self, struct span text, size_t *at, struct error *err)
{
    size_t start = *at + 1;
    size_t size = event_path_scan(span_from(text, start));
    if (start + size >= text.size || text.data[start + size] != '}' || size == 0) {
        return error_set(err, ERR_CONFIG,
            "column %u: not a field in braces. write {provider.name}, or {{ for a brace",
            column_of(text, *at));
    }
    struct part *part = add_part(self, PART_FIELD, span_make(text.data + start, size));
    if (!part) {
        return too_many(err);
    }
    struct error reason;
    if (!event_path_compile(part->text, &part->path, &reason)) {
        return error_set(err, reason.code, "column %u: %s", column_of(text, start), reason.text);
    }
    *at = start + size + 1;
    return true;
}

static bool read_part(struct event_template *self, struct span text, size_t *at, struct error *err)
{
    uint8_t c = text.data[*at];
    bool doubled = *at + 1 < text.size && text.data[*at + 1] == c;
    if (c == '%') {
        return read_percent(self, text, at, err);
    }
    if (c == '{' && !doubled) {
        return read_field(self, text, at, err);
    }
    if (c == '}' && !doubled) {
        return error_set(err, ERR_CONFIG,
            "column %u: a closing brace without an opening one. write }} for a brace",
            column_of(text, *at));
    }
    if (c < ' ' || c == 0x7f) {
        return error_set(err, ERR_CONFIG, "column %u: a control character", column_of(text, *at));
    }
    bool is_brace = c == '{' || c == '}';
    if (!add_part(self, PART_TEXT, span_make(text.data + *at + is_brace, 1))) {
        return too_many(err);
    }
    *at += 1 + (size_t)is_brace;
    return true;
}

/* ---- room for fields ------------------------------------------------------------------------- */

/* One component of a path, or a whole index name. */
struct room {
    size_t text_bytes;
    size_t first_part;
    size_t fields;
};

/* Parts from room->first_part to before ${end} belong to the component; the last may continue. */
static bool share_room(
    struct event_template *self, const struct room *room, size_t end, struct error *err)
{
    bool is_path = self->safety == EVENT_TEMPLATE_PATH;
    size_t max = is_path ? EVENT_TEMPLATE_MAX_NAME : EVENT_TEMPLATE_MAX_INDEX;
    size_t left = room->text_bytes < max ? max - room->text_bytes : 0;
    size_t each = room->fields ? left / room->fields : MOST_FIELD_BYTES;
    if (room->text_bytes > max || each < LEAST_FIELD_BYTES) {
        return error_set(err, ERR_CONFIG,
            "column 1: a %s may have %zu bytes, and %d for each field in it. write a shorter one",
            is_path ? "name between separators" : "name", max, LEAST_FIELD_BYTES);
    }
    for (size_t i = room->first_part; i < end; i++) {
        if (self->parts[i].kind == PART_FIELD) {
            self->parts[i].max_bytes = each < MOST_FIELD_BYTES ? each : MOST_FIELD_BYTES;
        }
    }
    return true;
}

static bool give_room(struct event_template *self, struct error *err)
{
    struct room room = {0};
    for (size_t i = 0; i < self->count; i++) {
        const struct part *part = &self->parts[i];
        if (part->kind == PART_FIELD) {
            room.fields++;
        } else if (part->kind == PART_TIME) {
            room.text_bytes += part->letter == 'Y' ? 4 : 2;
        }
        for (size_t k = 0; part->kind == PART_TEXT && k < part->text.size; k++) {
            bool ends = self->safety == EVENT_TEMPLATE_PATH && is_separator(part->text.data[k]);
            if (ends && !share_room(self, &room, i, err)) {
                return false;
            }
            if (ends) {
                room = (struct room){.first_part = i};
            } else {
                room.text_bytes++;
            }
        }
    }
    return share_room(self, &room, self->count, err);
}

/* ---- make ------------------------------------------------------------------------------------ */

static bool read_parts(struct event_template *self, struct span text, struct error *err)
{
    for (size_t at = 0; at < text.size;) {
        if (!read_part(self, text, &at, err)) {
            return false;
        }
    }
    if (self->safety == EVENT_TEMPLATE_INDEX && self->count && self->parts[0].kind != PART_TEXT) {
        return error_set(err, ERR_CONFIG,
            "column 1: begins with a value of an event. write a name of your own before it");
    }
    return give_room(self, err);
}

struct event_template *event_template_create(
    struct span text, enum event_template_safety safety, struct error *err)
{
    if (text.size == 0 || text.size > EVENT_TEMPLATE_MAX_BYTES) {
        error_set(
            err, ERR_CONFIG, "column 1: a template has 1 to %d bytes", EVENT_TEMPLATE_MAX_BYTES);
        return NULL;
    }
    struct event_template *self = calloc(1, sizeof(*self));
    char *copy = malloc(text.size);
    struct part *parts = calloc(EVENT_TEMPLATE_MAX_PARTS, sizeof(*parts));
    if (!self || !copy || !parts) {
        free(self);
        free(copy);
        free(parts);
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    memcpy(copy, text.data, text.size);
    *self = (struct event_template){.safety = safety, .text = copy, .parts = parts};
    if (!read_parts(self, span_make(copy, text.size), err)) {
        event_template_destroy(self);
        return NULL;
    }
    return self;
}

void event_template_destroy(struct event_template *template)
{
    if (template) {
        free(template->parts);
        free(template->text);
        free(template);
    }
}

bool event_template_is_constant(const struct event_template *template)
{
    for (size_t i = 0; i < template->count; i++) {
        if (template->parts[i].kind != PART_TEXT) {
            return false;
        }
    }
    return true;
}

void event_template_start(const struct event_template *template, struct buf *out)
{
    for (size_t i = 0; i < template->count && template->parts[i].kind == PART_TEXT; i++) {
        buf_add_span(out, template->parts[i].text);
    }
}

void event_template_shape(const struct event_template *template, struct buf *out)
{
    for (size_t i = 0; i < template->count; i++) {
        const struct part *part = &template->parts[i];
        size_t digits = part->kind != PART_TIME ? 0 : part->letter == 'Y' ? 4 : 2;
        for (size_t k = 0; k < digits; k++) {
            buf_add_byte(out, TEMPLATE_SHAPE_DIGIT);
        }
        if (part->kind == PART_TEXT) {
            buf_add_span(out, part->text);
        } else if (part->kind == PART_FIELD) {
            buf_add_byte(out, TEMPLATE_SHAPE_FIELD);
        }
    }
}

/* ---- rendering ------------------------------------------------------------------------------- */

/* The parts of a FILETIME for templates. */
struct moment {
    unsigned year, month, day, hour, minute;
};

static struct moment moment_of(uint64_t filetime)
{
    struct moment m;
    uint64_t minutes = filetime / 600000000;
    put_civil((uint32_t)(minutes / 1440), &m.year, &m.month, &m.day);
    m.hour = (unsigned)(minutes % 1440 / 60);
    m.minute = (unsigned)(minutes % 60);
    return m;
}

static unsigned part_of(const struct moment *m, char letter)
{
    switch (letter) {
    case 'm':
        return m->month;
    case 'd':
        return m->day;
    case 'H':
        return m->hour;
    default:
        return m->minute;
    }
}

static void add_time(struct buf *out, const struct moment *m, char letter)
{
    /* FILETIME reaches the year 60056; four digits keep names in order until then. */
    bool is_year = letter == 'Y';
    uint32_t number = is_year ? (m->year > 9999 ? 9999 : m->year) : part_of(m, letter);
    uint8_t digits[8];
    size_t count = is_year ? 4 : 2;
    put_eight(digits, number);
    buf_add(out, digits + sizeof(digits) - count, count);
}

static void add_field(const struct event_template *self, const struct part *part,
    const struct event *event, struct event_path_context *context, struct buf *out)
{
    struct event_value value = event_path_get(&part->path, event, context);
    struct span text = event_value_text(&context->values, &value);
    text = text.size ? text : span_text(unknown);
    if (self->safety == EVENT_TEMPLATE_PATH) {
        template_value_add_path(out, text, part->max_bytes);
    } else {
        template_value_add_index(out, text, part->max_bytes);
    }
}

/* The component of a path that is in hand. */
struct component {
    size_t start;  /* in what is rendered */
    bool has_data; /* a field is part of it */
};

static void add_text(const struct event_template *self, struct span text,
    struct component *component, struct buf *out)
{
    size_t from = 0;
    for (size_t k = 0; self->safety == EVENT_TEMPLATE_PATH && k < text.size; k++) {
        if (!is_separator(text.data[k])) {
            continue;
        }
        buf_add(out, text.data + from, k - from);
        if (component->has_data) {
            template_value_finish(out, component->start);
        }
        buf_add_byte(out, text.data[k]);
        *component = (struct component){.start = out->size};
        from = k + 1;
    }
    buf_add_span(out, span_from(text, from));
}

void event_template_render(const struct event_template *template, const struct event *event,
    struct event_path_context *context, struct buf *out)
{
    struct moment moment = {.year = 0}; /* until a part asks for it */
    struct component component = {.start = out->size};
    for (size_t i = 0; i < template->count; i++) {
        const struct part *part = &template->parts[i];
        if (part->kind == PART_TIME) {
            moment = moment.year ? moment : moment_of(event ? event->record->time : 0);
            add_time(out, &moment, part->letter);
        } else if (part->kind == PART_FIELD) {
            add_field(template, part, event, context, out);
            component.has_data = true;
        } else {
            add_text(template, part->text, &component, out);
        }
    }
    if (template->safety == EVENT_TEMPLATE_PATH && component.has_data) {
        template_value_finish(out, component.start);
    }
}

void event_template_render_own(const struct event_template *template, const char *name,
    const struct trace_info *trace, uint64_t time, struct event_path_context *context,
    struct buf *out)
{
    const struct event_record record = {
        .kind = RECORD_EVENT, .time = time, .trace = trace, .descriptor = {.id = 1, .level = 3}};
    const struct event_schema schema = {.kind = SCHEMA_STRING,
        .source = "agent",
        .provider_name = span_text("etwship"),
        .event_name = span_text(name)};
    const struct event event = {.record = &record, .schema = &schema, .status = DECODE_COMPLETE};
    event_template_render(template, &event, context, out);
}

/* ---- back to the times ----------------------------------------------------------------------- */

/* Size of the match of a part at ${at} of ${text}, or SIZE_MAX. A field first matches the empty
 * text and grows by backtracking. */
static size_t match_part(const struct part *part, struct span text, size_t at)
{
    struct span rest = span_from(text, at);
    if (part->kind == PART_FIELD) {
        return 0;
    }
    if (part->kind == PART_TEXT) {
        return span_equal(span_first(rest, part->text.size), part->text) ? part->text.size
                                                                         : SIZE_MAX;
    }
    size_t size = part->letter == 'Y' ? 4 : 2;
    for (size_t i = 0; i < size; i++) {
        if (i >= rest.size || rest.data[i] < '0' || rest.data[i] > '9') {
            return SIZE_MAX;
        }
    }
    return size;
}

/* Matches as a glob with the fields as stars: the text between two fields has a fixed size, so only
 * the last field before a mismatch has to grow, and never over a separator. */
static bool find_places(const struct event_template *template, struct span rendered,
    size_t places[EVENT_TEMPLATE_MAX_PARTS + 1])
{
    size_t part = 0;
    size_t at = 0;
    size_t star = SIZE_MAX; /* the field that may grow */
    size_t star_end = 0;
    while (part < template->count || at < rendered.size) {
        size_t size = part < template->count ? match_part(&template->parts[part], rendered, at)
                                             : SIZE_MAX;
        if (size != SIZE_MAX) {
            if (template->parts[part].kind == PART_FIELD) {
                star = part;
                star_end = at;
            }
            places[part++] = at;
            at += size;
        } else if (star != SIZE_MAX && star_end < rendered.size &&
                   !is_separator(rendered.data[star_end])) {
            at = ++star_end;
            part = star + 1;
        } else {
            return false;
        }
    }
    return true;
}

bool event_template_find_times(
    const struct event_template *template, struct span rendered, uint8_t *ret_mask)
{
    size_t places[EVENT_TEMPLATE_MAX_PARTS + 1];
    if (!find_places(template, rendered, places)) {
        return false;
    }
    memset(ret_mask, 0, rendered.size);
    for (size_t i = 0; i < template->count; i++) {
        if (template->parts[i].kind == PART_TIME) {
            char letter = template->parts[i].letter;
            memset(ret_mask + places[i], letter, letter == 'Y' ? 4 : 2);
        }
    }
    return true;
}

bool event_template_refill(
    const struct event_template *template, struct span rendered, struct span value, struct buf *out)
{
    size_t places[EVENT_TEMPLATE_MAX_PARTS + 1];
    if (!find_places(template, rendered, places)) {
        return false;
    }
    for (size_t i = 0; i < template->count; i++) {
        const struct part *part = &template->parts[i];
        if (part->kind == PART_TIME) {
            buf_add(out, rendered.data + places[i], part->letter == 'Y' ? 4 : 2);
        } else {
            buf_add_span(out, part->kind == PART_TEXT ? part->text : value);
        }
    }
    return true;
}

void event_template_pattern(const struct event_template *template, struct buf *out)
{
    for (size_t i = 0; i < template->count; i++) {
        const struct part *part = &template->parts[i];
        if (part->kind == PART_TEXT) {
            buf_add_span(out, part->text);
        } else if (part->kind == PART_TIME) {
            buf_add_text(out, part->letter == 'Y' ? "????" : "??");
        } else if (!out->size || out->data[out->size - 1] != '*') {
            buf_add_byte(out, '*'); /* two of them would mean folders */
        }
    }
}
