#include "config/config_reference.h"

#include <stdio.h>

#include "config/config_field.h"

/* Tables that were written. A later occurrence refers to the first one. */
enum { MAX_TABLES = 64, PATH_BYTES = 256 };

struct reference {
    struct buf *out;
    const struct config_field *tables[MAX_TABLES];
    size_t table_count;
};

/* Text inside a table cell. */
static void put_cell(struct reference *r, const char *text)
{
    for (; *text; text++) {
        if (*text == '|' || *text == '<' || *text == '*') {
            buf_add_byte(r->out, '\\');
        }
        buf_add_byte(r->out, (uint8_t)*text);
    }
}

static void put_names(struct reference *r, const char *const *names)
{
    for (size_t i = 0; names[i]; i++) {
        buf_printf(r->out, "%s`%s`", i ? ", " : "", names[i]);
    }
}

static void put_range(struct reference *r, const struct config_field *field)
{
    if (!field->min && !field->max) {
        return;
    }
    struct config_value_text low = config_field_write_number(field, field->min);
    struct config_value_text high = config_field_write_number(field, field->max);
    if (field->min == field->max) {
        buf_printf(r->out, " `%s`", low.text);
    } else if (field->max == INT64_MAX) {
        buf_printf(r->out, " from `%s`", low.text);
    } else {
        buf_printf(r->out, " `%s` to `%s`", low.text, high.text);
    }
}

static void put_type(struct reference *r, const struct config_field *field)
{
    static const char *const words[] = {
        [CONFIG_BOOL] = "`true`, `false`",
        [CONFIG_INT] = "number",
        [CONFIG_SIZE] = "size",
        [CONFIG_DURATION] = "duration",
        [CONFIG_PERCENT] = "percentage",
        [CONFIG_TIME] = "time",
        [CONFIG_STRING] = "text",
        [CONFIG_PATH] = "path",
        [CONFIG_SECRET] = "secret",
        [CONFIG_ENUM] = "",
        [CONFIG_STRINGS] = "list of texts",
        [CONFIG_PATHS] = "list of paths",
        [CONFIG_MAP] = "names and texts",
        [CONFIG_STRUCT] = "",
        [CONFIG_STRUCTS] = "list",
        [CONFIG_KEYED] = "mapping",
        [CONFIG_VARIANTS] = "list",
    };
    bool is_number = field->type == CONFIG_INT || field->type == CONFIG_SIZE ||
                     field->type == CONFIG_DURATION || field->type == CONFIG_PERCENT;
    if (field->type == CONFIG_STRINGS && field->names) {
        buf_add_text(r->out, "list of ");
    } else {
        buf_add_text(r->out, words[field->type]);
    }
    if (is_number) {
        put_range(r, field);
    }
    if (field->may_be_never) {
        buf_add_text(r->out, ", or `never`");
    }
    if (field->names) {
        buf_add_text(r->out, field->type == CONFIG_PATH ? ", " : "");
        put_names(r, field->names);
    }
    if (field->required) {
        buf_add_text(r->out, "; required");
    }
}

static void put_row(
    struct reference *r, const char *path, const struct config_field *field, const char *instead)
{
    buf_printf(r->out, "| `%s` | ", path);
    if (instead) {
        buf_add_text(r->out, instead);
    } else {
        put_type(r, field);
    }
    buf_add_text(r->out, " | ");
    if (field->default_text) {
        buf_printf(r->out, "`%s`", field->default_text);
    }
    buf_add_text(r->out, " | ");
    put_cell(r, field->help ? field->help : "");
    buf_add_text(r->out, " |\n");
}

/* Note that ${fields} is being written; false if it was written before. */
static bool is_new(struct reference *r, const struct config_field *fields)
{
    for (size_t i = 0; i < r->table_count; i++) {
        if (r->tables[i] == fields) {
            return false;
        }
    }
    if (r->table_count < MAX_TABLES) {
        r->tables[r->table_count++] = fields;
    }
    return true;
}

static void put_rows(struct reference *r, const char *prefix, const struct config_field *fields);

static void put_list(struct reference *r, const char *path, const struct config_field *field)
{
    char inner[PATH_BYTES];
    bool keyed = field->type == CONFIG_KEYED;
    if (keyed && field->shorthand) {
        snprintf(inner, sizeof(inner), "%s.*", path);
        put_row(r, path, field, NULL);
        struct config_field values = *field->shorthand;
        put_list(r, inner, &values);
        return;
    }
    snprintf(inner, sizeof(inner), keyed ? "%s.*." : "%s[].", path);
    if (!is_new(r, field->fields)) {
        put_row(r, path, field, "list, with the keys of the same name above");
        return;
    }
    put_row(r, path, field, field->shorthand ? "list, of one value or these keys each" : NULL);
    if (field->shorthand) {
        snprintf(inner, sizeof(inner), "%s[]", path);
        put_row(r, inner, field->shorthand, NULL);
        snprintf(inner, sizeof(inner), "%s[].", path);
    }
    put_rows(r, inner, field->fields);
}

static void put_rows(struct reference *r, const char *prefix, const struct config_field *fields)
{
    for (const struct config_field *f = fields; f->key; f++) {
        char path[PATH_BYTES];
        char inner[PATH_BYTES + 1];
        snprintf(path, sizeof(path), "%s%s", prefix, f->key);
        snprintf(inner, sizeof(inner), "%s.", path);
        if (f->type == CONFIG_STRUCT) {
            put_rows(r, inner, f->fields);
        } else if (f->type == CONFIG_STRUCTS || f->type == CONFIG_KEYED) {
            put_list(r, path, f);
        } else {
            put_row(r, path, f, NULL);
        }
    }
}

static void put_head(struct reference *r, const char *title)
{
    buf_printf(r->out, "\n%s\n\n| Key | Holds | Default | |\n|---|---|---|---|\n", title);
}

/* The variant before ${index} that has the same table, NULL if there is none. */
static const char *find_same(const struct config_variants *variants, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (variants->list[i].fields == variants->list[index].fields) {
            return variants->list[i].type;
        }
    }
    return NULL;
}

static void put_variants(struct reference *r, const struct config_field *field)
{
    char title[128];
    const struct config_variants *variants = field->variants;
    snprintf(title, sizeof(title), "## Every %s", variants->noun);
    put_head(r, title);
    put_rows(r, "", variants->common);
    for (size_t i = 0; i < variants->count; i++) {
        snprintf(title, sizeof(title), "### %c%s `%s`", variants->noun[0] - ('a' - 'A'),
            variants->noun + 1, variants->list[i].type);
        const char *same = find_same(variants, i);
        if (same) {
            buf_printf(r->out, "\n%s\n\nThe keys of `%s`.\n", title, same);
            continue;
        }
        put_head(r, title);
        put_rows(r, "", variants->list[i].fields);
    }
}

void config_reference_write(const struct config_field *fields, struct buf *out)
{
    struct reference r = {.out = out};
    put_head(&r, "## The file");
    put_rows(&r, "", fields);
    for (const struct config_field *f = fields; f->key; f++) {
        if (f->type == CONFIG_VARIANTS) {
            put_variants(&r, f);
        }
    }
}
