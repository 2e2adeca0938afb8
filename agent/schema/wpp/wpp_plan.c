#include "schema/wpp/wpp_plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/put.h"
#include "event/value/value_json.h"
#include "schema/wpp/wpp_names.h"
#include "schema/wpp/wpp_spec.h"

/*
 * Variables with values from the format itself (function, level, source file, …) become part of the
 * literal text; arguments and values of the record header remain as inserts.
 *
 * Source for variable names: "What are the WPP extended format specification strings?", "Trace
 * Message Prefix" and "USEPREFIX" on learn.microsoft.com.
 */
enum {
    MAX_PIECES = 1024,
    MAX_TEXT = 256 * 1024, /* bytes of literal text; inserts beyond it stay as written */
    /* bytes of all arguments, or of all types; longer lists are not shown */
    MAX_LIST = 128 * 1024,
    MAX_BUFFER = 4 * 1024 * 1024, /* more than any of these needs when escaped */
};

struct plan {
    const struct tmf_message *message;
    struct arena *arena;
    struct buf text;     /* literal before the next insert, not yet escaped */
    struct span pending; /* rest of the format */
    struct wpp_piece pieces[MAX_PIECES];
    size_t piece_count;
    size_t text_bytes;  /* of literals before pieces */
    size_t most_digits; /* limit of digits in a number of the text */
    bool failed;
};

/* ---- pieces ---------------------------------------------------------------------------------- */

/* ${text} escaped for JSON, followed by PUT_PADDING readable bytes. */
static struct span escape(struct plan *plan, struct span text)
{
    struct buf escaped;
    buf_init(&escaped, MAX_BUFFER);
    uint8_t *copy = NULL;
    size_t size = 0;
    if (buf_reserve(&escaped, utf8_json_bound(text.size))) {
        size = utf8_to_json(text, escaped.data);
        copy = arena_alloc(plan->arena, size + PUT_PADDING);
        if (copy) {
            memcpy(copy, escaped.data, size);
        }
    }
    buf_fini(&escaped);
    plan->failed |= copy == NULL;
    return span_make(copy, copy ? size : 0);
}

static void add_piece(struct plan *plan, struct wpp_piece piece, struct span written)
{
    plan->text_bytes += plan->text.size;
    piece.text = escape(plan, buf_span(&plan->text));
    piece.written = escape(plan, written);
    plan->pieces[plan->piece_count++] = piece;
    buf_reset(&plan->text);
}

/* Append text from the format itself, padded to the width of its specification. */
static void add_constant(struct plan *plan, struct span text, const struct wpp_spec *spec)
{
    size_t blanks = spec->width > text.size ? spec->width - text.size : 0;
    bool left = spec->flags & WPP_FLAG_LEFT;
    for (size_t i = 0; !left && i < blanks; i++) {
        buf_add_byte(&plan->text, ' ');
    }
    buf_add_span(&plan->text, text);
    for (size_t i = 0; left && i < blanks; i++) {
        buf_add_byte(&plan->text, ' ');
    }
}

/* Handle `%10!x!`, and header values below 10. ${written}: the insert in the format. */
static void add_insert(
    struct plan *plan, unsigned number, const struct wpp_spec *spec, struct span written)
{
    static const uint8_t inserts[TMF_FIRST_ARGUMENT] = {[3] = WPP_INSERT_THREAD,
        [4] = WPP_INSERT_TIME,
        [5] = WPP_INSERT_KERNEL_TICKS,
        [6] = WPP_INSERT_USER_TICKS,
        [7] = WPP_INSERT_SEQUENCE,
        [8] = WPP_INSERT_PROCESS,
        [9] = WPP_INSERT_CPU};
    const struct tmf_message *message = plan->message;
    if (number == 1 || number == 2) {
        add_constant(plan, number == 1 ? message->module : message->name, spec);
        return;
    }
    struct wpp_piece piece = {.spec = *spec};
    if (number < TMF_FIRST_ARGUMENT) {
        piece.insert = inserts[number];
        add_piece(plan, piece, written);
        return;
    }
    for (size_t i = 0; i < message->argument_count; i++) {
        const struct tmf_argument *argument = &message->arguments[i];
        if (argument->number == number) {
            piece.insert = WPP_INSERT_ARGUMENT;
            piece.argument = (uint16_t)i;
            piece.style = argument->item ? argument->item->style : WPP_STYLE_VALUE;
            add_piece(plan, piece, written);
            return;
        }
    }
    buf_add_span(&plan->text, written); /* there is no such argument */
}

/* ---- variables ------------------------------------------------------------------------------- */

static struct span source_file(const struct tmf_message *message)
{
    return message->source.size ? message->source : message->name;
}

/* Handle `%!NAME!` for text that the format contains; false if the name is unknown. */
static bool add_variable(struct plan *plan, struct span name)
{
    const struct tmf_message *message = plan->message;
    char line[16];
    snprintf(line, sizeof(line), "%lu", (unsigned long)message->line);
    const struct {
        const char *name;
        struct span text;
    } texts[] = {{"FUNC", message->function}, {"LEVEL", message->level}, {"FLAGS", message->flags},
        {"FILE", source_file(message)}, {"LINE", span_text(message->line ? line : NULL)},
        {"MOD", message->module}, {"TYP", message->name}, {"SPACE", span_text(" ")}};
    const struct wpp_spec plain = {.precision = -1};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (span_is(name, texts[i].name) && texts[i].text.size) {
            add_constant(plan, texts[i].text, &plain);
            return true;
        }
    }
    return span_is(name, "STDPREFIX"); /* prefix added by viewers; empty here */
}

/* Handle `%!NAME!` for a header value: returns its number and specification; 0 if there is none. */
static unsigned header_number(struct span name, const char **ret_spec)
{
    static const struct {
        const char *name;
        const char *spec;
        unsigned number;
    } values[] = {
        {"TID", "x", 3}, {"NOW", "s", 4}, {"SEQ", "x", 7}, {"PID", "x", 8}, {"CPU", "x", 9}};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        if (span_is(name, values[i].name)) {
            *ret_spec = values[i].spec;
            return values[i].number;
        }
    }
    return 0;
}

/* Remove and return the content of `!…!` at the start of ${text}; NULL data if there is none. */
static struct span take_marked(struct span *text)
{
    if (text->size < 2 || text->data[0] != '!') {
        return span_make(NULL, 0);
    }
    const uint8_t *end = memchr(text->data + 1, '!', text->size - 1);
    if (!end) {
        return span_make(NULL, 0);
    }
    struct span marked = span_make(text->data + 1, (size_t)(end - text->data) - 1);
    *text = span_from(*text, marked.size + 2);
    return marked;
}

static void take_variable(struct plan *plan, struct span start)
{
    struct span rest = span_from(start, 1);
    struct span name = take_marked(&rest);
    const char *spec_text;
    unsigned number = header_number(name, &spec_text);
    struct span written = span_first(start, start.size - rest.size);
    if (name.data && number) {
        struct wpp_spec spec = wpp_spec_parse(span_text(spec_text));
        add_insert(plan, number, &spec, written);
    } else if (!name.data) {
        buf_add_byte(&plan->text, '%');
        rest = span_from(start, 1);
    } else if (!add_variable(plan, name)) {
        buf_add_span(&plan->text, written);
    }
    plan->pending = rest;
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* Maximum number of digits of an insert; further digits are text. FormatMessage supports numbers up
 * to 99; messages of many arguments exceed that. */
static size_t most_digits(const struct tmf_message *message)
{
    unsigned largest = message->is_cut ? TMF_FIRST_ARGUMENT + TMF_MAX_ARGUMENTS - 1 : 99;
    for (size_t i = 0; i < message->argument_count; i++) {
        unsigned number = message->arguments[i].number;
        largest = number > largest ? number : largest;
    }
    size_t digits = 1;
    for (; largest >= 10; largest /= 10) {
        digits++;
    }
    return digits;
}

static void take_numbered(struct plan *plan, struct span start)
{
    if (start.data[1] == '0') { /* the viewer's prefix, directly followed by the driver's text */
        plan->pending = span_from(start, 2);
        return;
    }
    struct span rest = span_from(start, 1);
    unsigned number = 0;
    for (size_t i = 0; i < plan->most_digits && rest.size && is_digit(rest.data[0]); i++) {
        number = number * 10 + (rest.data[0] - (unsigned)'0');
        rest = span_from(rest, 1);
    }
    struct wpp_spec spec = wpp_spec_parse(take_marked(&rest));
    add_insert(plan, number, &spec, span_first(start, start.size - rest.size));
    plan->pending = rest;
}

/* ---- the text -------------------------------------------------------------------------------- */

static uint8_t escaped_byte(uint8_t c)
{
    switch (c) {
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return c;
    }
}

/* Handle the start of plan->pending. */
static void take_next(struct plan *plan)
{
    struct span text = plan->pending;
    uint8_t c = text.data[0];
    uint8_t next = text.size > 1 ? text.data[1] : 0;
    if (c == '\\' && next && strchr("nrt\"\\", next)) {
        buf_add_byte(&plan->text, escaped_byte(next));
        plan->pending = span_from(text, 2);
    } else if (c == '%' && next == '%') {
        buf_add_byte(&plan->text, '%');
        plan->pending = span_from(text, 2);
    } else if (c == '%' && next == '!') {
        take_variable(plan, text);
    } else if (c == '%' && is_digit(next)) {
        take_numbered(plan, text);
    } else {
        buf_add_byte(&plan->text, c);
        plan->pending = span_from(text, 1);
    }
}

/* Viewers print the line end of a message; it is not part of the message. */
static void trim_end(struct buf *text)
{
    while (
        text->size && (text->data[text->size - 1] == '\n' || text->data[text->size - 1] == '\r' ||
                          text->data[text->size - 1] == ' ')) {
        text->size--;
    }
}

/* True if there is no room for another insert and the literal after the last one. */
static bool is_full(const struct plan *plan)
{
    return plan->piece_count >= MAX_PIECES - 1 || plan->text_bytes + plan->text.size > MAX_TEXT;
}

static void take_apart(struct plan *plan)
{
    plan->pending = plan->message->format;
    bool is_first = true;
    while (plan->pending.size && !is_full(plan) && !plan->failed && !plan->text.failed) {
        take_next(plan);
        /* drop the blank between the viewer's prefix and the message */
        if (is_first && plan->piece_count == 0 && span_is(buf_span(&plan->text), " ")) {
            buf_reset(&plan->text);
        }
        is_first = plan->piece_count == 0 && plan->text.size == 0;
    }
    buf_add_span(&plan->text, plan->pending);
    plan->failed |= plan->text.failed;
    trim_end(&plan->text);
    if (plan->text.size) {
        add_piece(plan, (struct wpp_piece){.insert = WPP_INSERT_NONE}, span_make(NULL, 0));
    }
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* Items have no sign; the conversion in the text decides. */
static uint16_t in_type_of(const struct plan *plan, size_t argument, uint16_t in_type)
{
    static const uint16_t without_sign[][2] = {
        {IN_INT8, IN_UINT8}, {IN_INT16, IN_UINT16}, {IN_INT32, IN_UINT32}, {IN_INT64, IN_UINT64}};
    for (size_t i = 0; i < plan->piece_count; i++) {
        const struct wpp_piece *piece = &plan->pieces[i];
        if (piece->insert != WPP_INSERT_ARGUMENT || piece->argument != argument) {
            continue;
        }
        if (!memchr("uxXo", piece->spec.conversion, 4)) {
            break;
        }
        for (size_t k = 0; k < sizeof(without_sign) / sizeof(without_sign[0]); k++) {
            if (in_type == without_sign[k][0]) {
                return without_sign[k][1];
            }
        }
    }
    return in_type;
}

static uint16_t out_type_of(const struct plan *plan, size_t argument, const struct tmf_item *item)
{
    for (size_t i = 0; i < plan->piece_count && item->in_type == IN_POINTER; i++) {
        const struct wpp_piece *piece = &plan->pieces[i];
        if (piece->insert == WPP_INSERT_ARGUMENT && piece->argument == argument) {
            uint8_t conversion = piece->spec.conversion;
            return conversion == 'd' || conversion == 'i' ? OUT_LONG
                   : conversion == 'u'                    ? OUT_UNSIGNED_LONG
                                                          : item->out_type;
        }
    }
    return item->out_type;
}

static void set_field(struct plan *plan, size_t index, struct schema_field *field)
{
    enum { NAME_SIZE = 16 };
    const struct tmf_argument *argument = &plan->message->arguments[index];
    const struct tmf_item *item = argument->item;
    char *name = arena_alloc(plan->arena, NAME_SIZE);
    if (!name) {
        plan->failed = true;
        return;
    }
    snprintf(name, NAME_SIZE, "arg%u", argument->number);
    *field = (struct schema_field){.name = span_text(name),
        .in_type = in_type_of(plan, index, item->in_type),
        .out_type = out_type_of(plan, index, item),
        .flags = item->length ? FIELD_FIXED_LENGTH : 0,
        .length = item->length};
    plan->failed |= !wpp_names_make(argument, plan->arena, &field->map);
}

/* Reason why the layout ends after ${known} arguments; NULL if it is complete. */
static const char *make_open_end(struct plan *plan, size_t known)
{
    const struct tmf_message *message = plan->message;
    char text[160];
    if (known < message->argument_count) {
        const struct tmf_argument *argument = &message->arguments[known];
        snprintf(text, sizeof(text), "arg%u: item type %.*s has an unknown layout",
            argument->number, SPAN_ARG(span_first(argument->type, 64)));
    } else if (message->is_cut) {
        snprintf(
            text, sizeof(text), "the trace message format is unreadable after argument %zu", known);
    } else {
        return NULL;
    }
    struct span copy;
    plan->failed |= !arena_copy(plan->arena, span_text(text), &copy);
    return plan->failed ? NULL : (const char *)copy.data;
}

static void add_fields(struct plan *plan, struct event_schema *schema)
{
    const struct tmf_message *message = plan->message;
    size_t known = 0;
    while (known < message->argument_count && message->arguments[known].item) {
        known++;
    }
    schema->fields = arena_alloc_array(plan->arena, known, sizeof(*schema->fields));
    plan->failed |= schema->fields == NULL;
    for (size_t i = 0; i < known && !plan->failed; i++) {
        set_field(plan, i, &schema->fields[i]);
    }
    schema->field_count = (uint16_t)known;
    schema->top_count = (uint16_t)known;
    schema->open_end = make_open_end(plan, known);
}

/* ---- the object `wpp` ------------------------------------------------------------------------ */

static void add_member(struct buf *out, const char *name, struct span value)
{
    if (value.size) {
        buf_printf(out, "\"%s\":", name);
        value_json_string(value, out);
        buf_add_byte(out, ',');
    }
}

static void add_list(struct buf *out, const char *name, const struct span *texts, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        size += texts[i].size;
    }
    if (size > MAX_LIST) {
        return;
    }
    buf_printf(out, ",\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        if (i) {
            buf_add_byte(out, ',');
        }
        value_json_string(texts[i], out);
    }
    buf_add_byte(out, ']');
}

static void add_json(struct plan *plan, struct wpp_format *format)
{
    struct buf *out = &plan->text;
    buf_reset(out);
    add_member(out, "module", format->module);
    add_member(out, "source", format->source);
    if (format->line) {
        buf_printf(out, "\"line\":%lu,", (unsigned long)format->line);
    }
    add_member(out, "function", format->function);
    add_member(out, "level", format->level);
    add_member(out, "flags", format->flags);
    size_t head_size = out->size;
    add_list(out, "args", format->args, format->arg_count);
    add_list(out, "types", format->types, format->arg_count);
    struct span all;
    plan->failed |= out->failed || !arena_copy(plan->arena, buf_span(out), &all);
    if (!plan->failed) {
        format->json_head = span_first(all, head_size);
        format->json_tail = span_from(all, head_size);
    }
}

static void add_format(struct plan *plan, struct event_schema *schema)
{
    const struct tmf_message *message = plan->message;
    size_t count = message->argument_count;
    struct wpp_format *format = arena_alloc(plan->arena, sizeof(*format));
    struct span *args = arena_alloc_array(plan->arena, count, sizeof(*args));
    struct span *types = arena_alloc_array(plan->arena, count, sizeof(*types));
    struct wpp_piece *pieces = arena_alloc_array(plan->arena, plan->piece_count, sizeof(*pieces));
    if (!format || !args || !types || !pieces) {
        plan->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        args[i] = message->arguments[i].expression;
        types[i] = message->arguments[i].type;
    }
    if (plan->piece_count) {
        memcpy(pieces, plan->pieces, plan->piece_count * sizeof(*pieces));
    }
    *format = (struct wpp_format){.module = message->module,
        .source = message->source,
        .line = message->line,
        .function = message->function,
        .level = message->level,
        .flags = message->flags,
        .text = message->format,
        .args = args,
        .types = types,
        .arg_count = count,
        .pieces = pieces,
        .piece_count = plan->piece_count};
    add_json(plan, format);
    schema->wpp = format;
}

struct event_schema *wpp_plan_make(
    const struct tmf_message *message, struct arena *arena, struct error *err)
{
    struct event_schema *schema = arena_alloc(arena, sizeof(*schema));
    struct plan *plan = malloc(sizeof(*plan));
    bool ok = schema && plan;
    if (ok) {
        *plan = (struct plan){
            .message = message, .arena = arena, .most_digits = most_digits(message)};
        buf_init(&plan->text, MAX_BUFFER);
        *schema = (struct event_schema){.kind = SCHEMA_WPP,
            .source = "wpp",
            .has_layout = true,
            .provider = message->guid,
            .descriptor.id = message->number,
            .provider_name = message->module,
            .event_name = message->function};
        take_apart(plan);
        add_fields(plan, schema);
        if (!plan->failed) {
            add_format(plan, schema);
        }
        ok = !plan->failed;
        buf_fini(&plan->text);
    }
    free(plan);
    if (!ok) {
        error_set(err, ERR_MEMORY, "no memory left for WPP messages");
        return NULL;
    }
    return schema_finish(schema, arena, err) ? schema : NULL;
}
