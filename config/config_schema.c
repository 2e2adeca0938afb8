/*
 * One walk over the tables. The common keys of a variant list are written once, under $defs, and
 * each variant refers to them: a variant is a closed object, because editors explain those best.
 */
#include "config/config_schema.h"

#include <inttypes.h>
#include <stdio.h>

#include "config/config_field.h"

/* A JSON writer that indents and adds commas and line breaks. */
struct writer {
    struct buf *out;
    int depth;
    bool first; /* the innermost object or list is still empty */
};

static void put_string(struct writer *w, const char *text)
{
    buf_add_byte(w->out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') {
            buf_add_byte(w->out, '\\');
        }
        buf_add_byte(w->out, (uint8_t)*text);
    }
    buf_add_byte(w->out, '"');
}

/* Begin the next member (${key}) or element (NULL). */
static void next(struct writer *w, const char *key)
{
    if (w->depth) {
        buf_printf(w->out, "%s\n%*s", w->first ? "" : ",", 2 * w->depth, "");
    }
    w->first = false;
    if (key) {
        put_string(w, key);
        buf_add_text(w->out, ": ");
    }
}

static void open(struct writer *w, const char *key, char bracket)
{
    next(w, key);
    buf_add_byte(w->out, (uint8_t)bracket);
    w->depth++;
    w->first = true;
}

static void close(struct writer *w, char bracket)
{
    w->depth--;
    if (!w->first) {
        buf_printf(w->out, "\n%*s", 2 * w->depth, "");
    }
    buf_add_byte(w->out, (uint8_t)bracket);
    w->first = false;
}

static void member(struct writer *w, const char *key, const char *text)
{
    next(w, key);
    put_string(w, text);
}

static void literal(struct writer *w, const char *key, const char *json)
{
    next(w, key);
    buf_add_text(w->out, json);
}

static void write_value(struct writer *w, const struct config_field *field);
static void write_object(struct writer *w, const struct config_field *fields);

/* ---- scalars --------------------------------------------------------------------------------- */

/* Write a name that YAML reads as a number as a number, too. */
static void write_names(struct writer *w, const char *const *names)
{
    open(w, "enum", '[');
    for (; *names; names++) {
        next(w, NULL);
        put_string(w, *names);
        if (strspn(*names, "0123456789.") == strlen(*names)) {
            literal(w, NULL, *names);
        }
    }
    close(w, ']');
}

static void write_int(struct writer *w, const struct config_field *field)
{
    char number[32];
    member(w, "type", "integer");
    if (field->min || field->max) {
        snprintf(number, sizeof(number), "%" PRId64, field->min);
        literal(w, "minimum", number);
        snprintf(number, sizeof(number), "%" PRId64, field->max);
        literal(w, "maximum", number);
    }
}

/* One of the forms of a value, as an element of anyOf. */
static void write_pattern(struct writer *w, const char *pattern)
{
    open(w, NULL, '{');
    member(w, "type", "string");
    member(w, "pattern", pattern);
    close(w, '}');
}

static void write_number_or_text(
    struct writer *w, const char *number_key, const char *number, const char *pattern)
{
    open(w, NULL, '{');
    literal(w, number_key, number);
    close(w, '}');
    write_pattern(w, pattern);
}

/* Texts: YAML may read a text as another type, the loader does not. */
static const char any_scalar[] = "[\"string\", \"number\", \"boolean\"]";

/* The forms of a scalar that is no plain text. */
static void write_ways(struct writer *w, const struct config_field *field)
{
    switch (field->type) {
    case CONFIG_BOOL:
        open(w, NULL, '{');
        member(w, "type", "boolean");
        close(w, '}');
        break;
    case CONFIG_INT:
        open(w, NULL, '{');
        write_int(w, field);
        close(w, '}');
        break;
    case CONFIG_SIZE:
        write_number_or_text(w, "type", "\"integer\"", "^[0-9]+([KkMmGgTt][Ii]?)?[Bb]?$");
        break;
    case CONFIG_DURATION:
        write_number_or_text(w, "const", "0",
            field->may_be_never ? "^(never|0|([0-9]+(ms|[smhd]))+)$"
                                : "^(0|([0-9]+(ms|[smhd]))+)$");
        break;
    case CONFIG_PERCENT:
        write_pattern(w, "^[0-9]+([.][0-9]{1,2})?%$");
        break;
    case CONFIG_TIME:
        write_pattern(w, "^[0-9]{4}(-[0-9]{2}(-[0-9]{2}.*)?)?$");
        break;
    default:
        open(w, NULL, '{');
        write_names(w, field->names);
        close(w, '}');
        break;
    }
}

static void write_scalar(struct writer *w, const struct config_field *field)
{
    if (field->type == CONFIG_PATH || field->type == CONFIG_SECRET) {
        member(w, "type", "string");
    } else if (field->type == CONFIG_STRING) {
        literal(w, "type", any_scalar);
    } else {
        open(w, "anyOf", '[');
        write_ways(w, field);
        write_pattern(w, "\\$\\{");
        close(w, ']');
    }
}

static void write_default(struct writer *w, const struct config_field *field)
{
    bool as_json = field->type == CONFIG_BOOL || field->type == CONFIG_INT;
    if (field->default_text && as_json) {
        literal(w, "default", field->default_text);
    } else if (field->default_text) {
        member(w, "default", field->default_text);
    }
}

/* ---- lists and mappings ---------------------------------------------------------------------- */

static void write_limits(
    struct writer *w, const struct config_field *field, const char *low, const char *high)
{
    char number[32];
    if (field->min > 0) {
        snprintf(number, sizeof(number), "%" PRId64, field->min);
        literal(w, low, number);
    }
    if (field->max > 0 && field->max < INT64_MAX) {
        snprintf(number, sizeof(number), "%" PRId64, field->max);
        literal(w, high, number);
    }
}

static void write_strings(struct writer *w, const struct config_field *field)
{
    member(w, "type", "array");
    write_limits(w, field, "minItems", "maxItems");
    open(w, "items", '{');
    if (field->names) {
        write_names(w, field->names);
    } else {
        literal(w, "type", field->type == CONFIG_PATHS ? "\"string\"" : any_scalar);
    }
    close(w, '}');
}

static void write_map(struct writer *w, const struct config_field *field)
{
    member(w, "type", "object");
    write_limits(w, field, "minProperties", "maxProperties");
    open(w, "additionalProperties", '{');
    if (field->type == CONFIG_MAP) {
        literal(w, "type", any_scalar);
    } else if (field->shorthand) {
        write_value(w, field->shorthand);
    } else {
        write_object(w, field->fields);
    }
    close(w, '}');
}

static void write_structs(struct writer *w, const struct config_field *field)
{
    member(w, "type", "array");
    write_limits(w, field, "minItems", "maxItems");
    open(w, "items", '{');
    if (field->shorthand) {
        open(w, "anyOf", '[');
        open(w, NULL, '{');
        write_value(w, field->shorthand);
        close(w, '}');
        open(w, NULL, '{');
        write_object(w, field->fields);
        close(w, '}');
        close(w, ']');
    } else {
        write_object(w, field->fields);
    }
    close(w, '}');
}

/* The required rows of both tables. */
/* ${always}: a row that is required here in any case; may be NULL. */
static void write_required(struct writer *w, const struct config_field *a,
    const struct config_field *b, const char *always)
{
    const struct config_field *tables[] = {a, b};
    bool opened = false;
    for (size_t i = 0; i < 2; i++) {
        for (const struct config_field *f = tables[i]; f && f->key; f++) {
            bool required = f->required || (always && strcmp(f->key, always) == 0);
            if (required && !opened) {
                open(w, "required", '[');
                opened = true;
            }
            if (required) {
                next(w, NULL);
                put_string(w, f->key);
            }
        }
    }
    if (opened) {
        close(w, ']');
    }
}

static void write_property(struct writer *w, const struct config_field *field)
{
    open(w, field->key, '{');
    write_value(w, field);
    close(w, '}');
}

static void write_variant(
    struct writer *w, const struct config_variants *variants, const struct config_variant *variant)
{
    open(w, NULL, '{');
    member(w, "title", variant->type);
    member(w, "type", "object");
    /* A mapping without a type has the default one. */
    const struct config_field *type = config_field_find(variants->common, span_text("type"));
    bool by_default = type->default_text && strcmp(type->default_text, variant->type) == 0;
    write_required(w, variants->common, variant->fields, by_default ? NULL : "type");
    open(w, "properties", '{');
    for (const struct config_field *f = variants->common; f->key; f++) {
        char reference[128];
        snprintf(reference, sizeof(reference), "#/$defs/%s/properties/%s", variants->noun, f->key);
        open(w, f->key, '{');
        if (strcmp(f->key, "type") == 0) {
            member(w, "const", variant->type);
            member(w, "description", f->help);
        } else {
            member(w, "$ref", reference);
        }
        close(w, '}');
    }
    for (const struct config_field *f = variant->fields; f->key; f++) {
        write_property(w, f);
    }
    close(w, '}');
    literal(w, "additionalProperties", "false");
    close(w, '}');
}

static void write_variants(struct writer *w, const struct config_field *field)
{
    member(w, "type", "array");
    write_limits(w, field, "minItems", "maxItems");
    open(w, "items", '{');
    open(w, "oneOf", '[');
    for (size_t i = 0; i < field->variants->count; i++) {
        write_variant(w, field->variants, &field->variants->list[i]);
    }
    close(w, ']');
    close(w, '}');
}

static void write_object(struct writer *w, const struct config_field *fields)
{
    member(w, "type", "object");
    write_required(w, fields, NULL, NULL);
    open(w, "properties", '{');
    for (const struct config_field *f = fields; f->key; f++) {
        write_property(w, f);
    }
    close(w, '}');
    literal(w, "additionalProperties", "false");
}

/* The members of the object that describes ${field}. */
static void write_value(struct writer *w, const struct config_field *field)
{
    if (field->help) {
        member(w, "description", field->help);
    }
    write_default(w, field);
    switch (field->type) {
    case CONFIG_STRINGS:
    case CONFIG_PATHS:
        write_strings(w, field);
        break;
    case CONFIG_MAP:
    case CONFIG_KEYED:
        write_map(w, field);
        break;
    case CONFIG_STRUCT:
        write_object(w, field->fields);
        break;
    case CONFIG_STRUCTS:
        write_structs(w, field);
        break;
    case CONFIG_VARIANTS:
        write_variants(w, field);
        break;
    default:
        write_scalar(w, field);
        break;
    }
}

void config_schema_write(
    const struct config_field *fields, const char *id, const char *title, struct buf *out)
{
    struct writer w = {.out = out};
    open(&w, NULL, '{');
    member(&w, "$schema", "https://json-schema.org/draft/2020-12/schema");
    member(&w, "$id", id);
    member(&w, "title", title);
    write_object(&w, fields);
    open(&w, "$defs", '{');
    for (const struct config_field *f = fields; f->key; f++) {
        if (f->type == CONFIG_VARIANTS) {
            open(&w, f->variants->noun, '{');
            open(&w, "properties", '{');
            for (const struct config_field *common = f->variants->common; common->key; common++) {
                write_property(&w, common);
            }
            close(&w, '}');
            close(&w, '}');
        }
    }
    close(&w, '}');
    close(&w, '}');
    buf_add_byte(out, '\n');
}
