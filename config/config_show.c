/*
 * One walk, two ways to write. YAML is in block style except for lists of values; a list of
 * mappings has the first key of each after its dash.
 */
#include "config/config_show.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/put.h"
#include "base/utf.h"
#include "config/config_field.h"
#include "config/config_text.h"
#include "config/config_value.h"

struct show {
    const struct config *config;
    struct buf *out;
    bool json;
    bool first;      /* JSON: the innermost brackets are still empty */
    unsigned indent; /* YAML */
    bool dash;       /* YAML: the next key follows a dash */
};

static void show_fields(struct show *s, const struct config_field *fields, const uint8_t *settings);

/* In double quotes, which both languages read alike. */
static void put_quoted(struct show *s, const char *text)
{
    struct span span = span_text(text);
    buf_add_byte(s->out, '"');
    for (size_t at = 0; at < span.size;) {
        uint8_t bytes[4];
        uint32_t c = utf8_next(span, &at);
        if (c == '"' || c == '\\') {
            buf_printf(s->out, "\\%c", (char)c);
        } else if (config_text_is_control(c)) {
            buf_printf(s->out, "\\u%04x", (unsigned)c);
        } else {
            buf_add(s->out, bytes, utf8_put(c, bytes));
        }
    }
    buf_add_byte(s->out, '"');
}

/* Does YAML read ${text} unchanged without quotes? */
static bool is_plain(const char *text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-";
    static const char *const words[] = {
        "true", "false", "yes", "no", "on", "off", "null", "y", "n"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (span_equal_nocase(span_text(text), span_text(words[i]))) {
            return false;
        }
    }
    return text[0] && strspn(text, letters) == strlen(text) && text[0] != '-' && text[0] != '.';
}

static void put_text(struct show *s, const char *text)
{
    if (!s->json && is_plain(text)) {
        buf_add_text(s->out, text);
    } else {
        put_quoted(s, text);
    }
}

static void put_key(struct show *s, const char *key)
{
    if (s->json) {
        buf_add_text(s->out, s->first ? "" : ",");
        put_quoted(s, key);
        buf_add_byte(s->out, ':');
    } else {
        unsigned indent = s->indent - (s->dash ? 2 : 0);
        buf_printf(s->out, "%*s%s", (int)indent, "", s->dash ? "- " : "");
        put_text(s, key);
        buf_add_text(s->out, ": ");
    }
    s->first = false;
    s->dash = false;
}

static void open(struct show *s, char bracket)
{
    if (s->json) {
        buf_add_byte(s->out, (uint8_t)bracket);
    } else {
        s->out->size--; /* the space after the colon */
        buf_add_byte(s->out, '\n');
    }
    s->first = true;
    s->indent += 2;
}

static void close(struct show *s, char bracket)
{
    if (s->json) {
        buf_add_byte(s->out, (uint8_t)bracket);
    }
    s->first = false;
    s->indent -= 2;
}

static void end_line(struct show *s)
{
    if (!s->json) {
        buf_add_byte(s->out, '\n');
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The query of an address often contains a key. */
static void put_one_text(struct show *s, const struct config_field *field, const char *text)
{
    struct buf shown;
    size_t size = strcspn(text, "?#");
    if (!field->is_address || !text[size]) {
        put_text(s, text);
        return;
    }
    buf_init(&shown, size + 16);
    buf_add(&shown, text, size);
    buf_add_text(&shown, "?(set)");
    buf_add_byte(&shown, 0);
    put_text(s, shown.failed ? "(set)" : (const char *)shown.data);
    buf_fini(&shown);
}

static void put_scalar(struct show *s, const struct config_field *field, const void *member)
{
    uint64_t number;
    uint8_t time[PUT_MAX + 1];
    uint8_t *end = time;
    switch (field->type) {
    case CONFIG_BOOL:
        buf_add_text(s->out, *(const bool *)member ? "true" : "false");
        break;
    case CONFIG_INT:
        buf_printf(s->out, "%" PRId64, *(const int64_t *)member);
        break;
    case CONFIG_SIZE:
        put_text(s, config_value_write_size(*(const uint64_t *)member).text);
        break;
    case CONFIG_DURATION:
        number = *(const uint64_t *)member;
        put_text(s, number == CONFIG_NEVER ? "never" : config_value_write_duration(number).text);
        break;
    case CONFIG_PERCENT:
        put_text(s, config_value_write_percent(*(const uint64_t *)member).text);
        break;
    case CONFIG_TIME:
        put_filetime(&end, *(const uint64_t *)member);
        *end = 0;
        put_text(s, (const char *)time);
        break;
    case CONFIG_ENUM:
        put_text(s, field->names[*(const int *)member]);
        break;
    case CONFIG_SECRET:
        put_text(s, "(set)");
        break;
    default:
        put_one_text(s, field, *(const char *const *)member);
        break;
    }
}

/* Is there something to show? A key without a value and a default is left out. */
static bool is_given(const struct config_field *field, const void *member)
{
    switch (field->type) {
    case CONFIG_STRING:
    case CONFIG_PATH:
    case CONFIG_SECRET:
        return *(const char *const *)member != NULL;
    case CONFIG_TIME:
        return *(const uint64_t *)member != 0;
    case CONFIG_STRINGS:
    case CONFIG_PATHS:
        return ((const struct config_strings *)member)->count > 0;
    case CONFIG_MAP:
        return ((const struct config_map *)member)->count > 0;
    case CONFIG_STRUCTS:
    case CONFIG_KEYED:
    case CONFIG_VARIANTS:
        return ((const struct config_list *)member)->count > 0;
    default:
        return true;
    }
}

static void show_strings(
    struct show *s, const struct config_field *field, const struct config_strings *strings)
{
    buf_add_byte(s->out, '[');
    for (size_t i = 0; i < strings->count; i++) {
        const char *written = config_written(
            s->config, &strings->items[i], sizeof(strings->items[i]));
        buf_add_text(s->out, i == 0 ? "" : s->json ? "," : ", ");
        put_one_text(s, field, written ? written : strings->items[i]);
    }
    buf_add_byte(s->out, ']');
    end_line(s);
}

static void show_map(struct show *s, const struct config_field *field, const struct config_map *map)
{
    open(s, '{');
    for (size_t i = 0; i < map->count; i++) {
        const char *const *value = &map->items[i].value;
        const char *written = config_written(s->config, value, sizeof(*value));
        put_key(s, map->items[i].key);
        put_text(s, field->hide_values ? "(set)" : written ? written : *value);
        end_line(s);
    }
    close(s, '}');
}

/* Elements of lists, one mapping each. */
static void open_element(struct show *s)
{
    if (s->json) {
        buf_add_text(s->out, s->first ? "{" : ",{");
    }
    s->first = true;
    s->dash = true;
    s->indent += 2;
}

static void close_element(struct show *s)
{
    s->indent -= 2;
    if (s->json) {
        buf_add_byte(s->out, '}');
    } else if (s->dash) {
        buf_printf(s->out, "%*s- {}\n", (int)s->indent, "");
    }
    s->dash = false;
    s->first = false;
}

static void show_structs(
    struct show *s, const struct config_field *field, const struct config_list *list)
{
    open(s, '[');
    for (size_t i = 0; i < list->count; i++) {
        const uint8_t *element = (const uint8_t *)list->items + i * field->size;
        const struct config_field *shorthand = field->shorthand;
        const void *value = shorthand ? element + shorthand->offset : NULL;
        if (shorthand && is_given(shorthand, value)) {
            if (s->json) {
                buf_add_text(s->out, s->first ? "" : ",");
                s->first = false;
            } else {
                buf_printf(s->out, "%*s- ", (int)s->indent, "");
            }
            put_scalar(s, shorthand, value);
            end_line(s);
        } else {
            open_element(s);
            show_fields(s, field->fields, element);
            close_element(s);
        }
    }
    close(s, ']');
}

static void show_variants(
    struct show *s, const struct config_field *field, const struct config_list *list)
{
    const struct config_variants *variants = field->variants;
    open(s, '[');
    for (size_t i = 0; i < list->count; i++) {
        struct config_field_element element = config_field_element_at(variants, list, i);
        open_element(s);
        show_fields(s, variants->common, element.common);
        if (element.variant) {
            show_fields(s, element.variant->fields, element.settings);
        }
        close_element(s);
    }
    close(s, ']');
}

static void show_value(struct show *s, const struct config_field *field, const uint8_t *member);

static void show_keyed(
    struct show *s, const struct config_field *field, const struct config_list *list)
{
    open(s, '{');
    for (size_t i = 0; i < list->count; i++) {
        const uint8_t *element = (const uint8_t *)list->items + i * field->size;
        const char *key;
        memcpy(&key, element, sizeof(key));
        put_key(s, key);
        if (field->shorthand) {
            show_value(s, field->shorthand, element + field->shorthand->offset);
        } else {
            open(s, '{');
            show_fields(s, field->fields, element);
            close(s, '}');
        }
    }
    close(s, '}');
}

static void show_value(struct show *s, const struct config_field *field, const uint8_t *member)
{
    switch (field->type) {
    case CONFIG_STRINGS:
    case CONFIG_PATHS:
        show_strings(s, field, (const void *)member);
        break;
    case CONFIG_MAP:
        show_map(s, field, (const void *)member);
        break;
    case CONFIG_STRUCT:
        open(s, '{');
        show_fields(s, field->fields, member);
        close(s, '}');
        break;
    case CONFIG_STRUCTS:
        show_structs(s, field, (const void *)member);
        break;
    case CONFIG_KEYED:
        show_keyed(s, field, (const void *)member);
        break;
    case CONFIG_VARIANTS:
        show_variants(s, field, (const void *)member);
        break;
    default: {
        const char *written = field->type == CONFIG_SECRET
                                  ? NULL
                                  : config_written(s->config, member, config_field_size(field));
        if (written) {
            put_one_text(s, field, written);
        } else {
            put_scalar(s, field, member);
        }
        end_line(s);
        break;
    }
    }
}

/* Does a struct have something to show? Otherwise its key is left out, also if a required key of it
 * is missing: then it was not given. */
static bool has_any(const struct config_field *fields, const uint8_t *settings)
{
    bool any = false;
    for (const struct config_field *f = fields; f->key; f++) {
        const uint8_t *member = settings + f->offset;
        bool given = f->type == CONFIG_STRUCT ? has_any(f->fields, member) : is_given(f, member);
        if (f->required && !given) {
            return false;
        }
        any = any || given;
    }
    return any;
}

static void show_fields(struct show *s, const struct config_field *fields, const uint8_t *settings)
{
    for (const struct config_field *f = fields; f->key; f++) {
        const uint8_t *member = settings + f->offset;
        bool given = f->type == CONFIG_STRUCT ? has_any(f->fields, member) : is_given(f, member);
        if (given) {
            put_key(s, f->key);
            show_value(s, f, member);
        }
    }
}

void config_show_yaml(const struct config *config, const struct config_field *fields,
    const void *settings, unsigned indent, struct buf *out)
{
    struct show s = {.config = config, .out = out, .indent = indent};
    show_fields(&s, fields, settings);
}

void config_show_json(const struct config *config, const struct config_field *fields,
    const void *settings, struct buf *out)
{
    struct show s = {.config = config, .out = out, .json = true, .first = true};
    buf_add_byte(out, '{');
    show_fields(&s, fields, settings);
    buf_add_byte(out, '}');
}
