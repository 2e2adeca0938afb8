#include "config/config_secrets.h"

#include <string.h>

#include "config/config_field.h"

struct walk {
    void (*each)(void *self, const struct config_secret *secret);
    void *self;
};

static void tell(const struct walk *walk, const char *text, const char *user)
{
    if (text && *text) {
        const struct config_secret secret = {.text = text, .user = user};
        walk->each(walk->self, &secret);
    }
}

static const char *text_at(const void *member)
{
    const char *text;
    memcpy(&text, member, sizeof(text));
    return text;
}

/* The user name that belongs to the secrets of this table. */
static const char *user_of(const struct config_field *fields, const uint8_t *settings)
{
    for (const struct config_field *f = fields; f->key; f++) {
        if (f->type == CONFIG_STRING && strcmp(f->key, "user") == 0) {
            return text_at(settings + f->offset);
        }
    }
    return NULL;
}

static void tell_query(const struct walk *walk, const struct config_field *field, const char *text)
{
    const char *query = field->is_address && text ? strpbrk(text, "?#") : NULL;
    tell(walk, query ? query + 1 : NULL, NULL);
}

static void walk_fields(
    const struct walk *walk, const struct config_field *fields, const uint8_t *settings);

static void walk_value(const struct walk *walk, const struct config_field *field,
    const uint8_t *member, const char *user);

static void walk_structs(
    const struct walk *walk, const struct config_field *field, const struct config_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const uint8_t *element = (const uint8_t *)list->items + i * field->size;
        if (field->shorthand) {
            walk_value(walk, field->shorthand, element + field->shorthand->offset, NULL);
        }
        if (field->fields) {
            walk_fields(walk, field->fields, element);
        }
    }
}

static void walk_variants(
    const struct walk *walk, const struct config_variants *variants, const struct config_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct config_field_element element = config_field_element_at(variants, list, i);
        walk_fields(walk, variants->common, element.common);
        if (element.variant && element.settings) {
            walk_fields(walk, element.variant->fields, element.settings);
        }
    }
}

static void walk_value(const struct walk *walk, const struct config_field *field,
    const uint8_t *member, const char *user)
{
    const struct config_strings *strings = (const void *)member;
    const struct config_map *map = (const void *)member;
    switch (field->type) {
    case CONFIG_SECRET:
        tell(walk, text_at(member), user);
        break;
    case CONFIG_STRING:
        tell_query(walk, field, text_at(member));
        break;
    case CONFIG_STRINGS:
        for (size_t i = 0; i < strings->count; i++) {
            tell_query(walk, field, strings->items[i]);
        }
        break;
    case CONFIG_MAP:
        for (size_t i = 0; field->hide_values && i < map->count; i++) {
            tell(walk, map->items[i].value, NULL);
        }
        break;
    case CONFIG_STRUCT:
        walk_fields(walk, field->fields, member);
        break;
    case CONFIG_STRUCTS:
    case CONFIG_KEYED:
        walk_structs(walk, field, (const void *)member);
        break;
    case CONFIG_VARIANTS:
        walk_variants(walk, field->variants, (const void *)member);
        break;
    default:
        break;
    }
}

static void walk_fields(
    const struct walk *walk, const struct config_field *fields, const uint8_t *settings)
{
    const char *user = user_of(fields, settings);
    for (const struct config_field *f = fields; f->key; f++) {
        walk_value(walk, f, settings + f->offset, user);
    }
}

void config_secrets_each(const struct config_field *fields, const void *settings,
    void (*each)(void *self, const struct config_secret *secret), void *self)
{
    const struct walk walk = {.each = each, .self = self};
    walk_fields(&walk, fields, settings);
}
