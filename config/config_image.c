#include "config/config_image.h"

#include "config/config_field.h"

/* Every value says its size, and every list its count,
 * so no two bindings run into the same bytes. */
struct image {
    struct buf *out;
    void (*read)(void *self, const char *path);
    void *self;
    bool is_shown; /* secrets are left out */
};

static void put_value(
    const struct image *image, const struct config_field *field, const uint8_t *member);

static void put_size(const struct image *image, size_t size)
{
    buf_add(image->out, &size, sizeof(size));
}

/* NULL and the empty text differ. */
static void put_text(const struct image *image, const char *text)
{
    size_t size = text ? strlen(text) : SIZE_MAX;
    put_size(image, size);
    if (text) {
        buf_add(image->out, text, size);
    }
}

static void put_fields(
    const struct image *image, const struct config_field *fields, const uint8_t *settings)
{
    for (const struct config_field *f = fields; f->key; f++) {
        put_value(image, f, settings + f->offset);
    }
}

static void put_strings(const struct image *image, const struct config_strings *list)
{
    put_size(image, list->count);
    for (size_t i = 0; i < list->count; i++) {
        put_text(image, list->items[i]);
    }
}

static void put_map(const struct image *image, const struct config_map *map)
{
    put_size(image, map->count);
    for (size_t i = 0; i < map->count; i++) {
        put_text(image, map->items[i].key);
        put_text(image, image->is_shown ? NULL : map->items[i].value);
    }
}

static void put_structs(
    const struct image *image, const struct config_field *field, const struct config_list *list)
{
    put_size(image, list->count);
    for (size_t i = 0; i < list->count; i++) {
        const uint8_t *element = (const uint8_t *)list->items + i * field->size;
        if (field->type == CONFIG_KEYED) {
            const char *key;
            memcpy(&key, element, sizeof(key));
            put_text(image, key);
        }
        if (field->shorthand) {
            put_value(image, field->shorthand, element + field->shorthand->offset);
        }
        if (field->fields) {
            put_fields(image, field->fields, element);
        }
    }
}

static void put_variants(const struct image *image, const struct config_variants *variants,
    const struct config_list *list)
{
    put_size(image, list->count);
    for (size_t i = 0; i < list->count; i++) {
        struct config_field_element element = config_field_element_at(variants, list, i);
        put_fields(image, variants->common, element.common);
        put_text(image, element.variant ? element.variant->type : NULL);
        if (element.variant) {
            put_fields(image, element.variant->fields, element.settings);
        }
    }
}

static void put_scalar(
    const struct image *image, const struct config_field *field, const uint8_t *member)
{
    static const size_t sizes[] = {[CONFIG_BOOL] = sizeof(bool),
        [CONFIG_INT] = sizeof(int64_t),
        [CONFIG_SIZE] = sizeof(uint64_t),
        [CONFIG_DURATION] = sizeof(uint64_t),
        [CONFIG_PERCENT] = sizeof(uint64_t),
        [CONFIG_TIME] = sizeof(uint64_t),
        [CONFIG_ENUM] = sizeof(int)};
    buf_add(image->out, member, sizes[field->type]);
}

static void put_path(const struct image *image, const struct config_field *field, const char *path)
{
    bool is_path = path && !(field->is_no_path && field->is_no_path(span_text(path)));
    put_text(image, path);
    if (field->is_read && is_path && image->read) {
        image->read(image->self, path);
    }
}

static void put_value(
    const struct image *image, const struct config_field *field, const uint8_t *member)
{
    const char *text;
    switch (field->type) {
    case CONFIG_STRING:
    case CONFIG_SECRET:
    case CONFIG_PATH:
        memcpy(&text, member, sizeof(text));
        put_path(image, field, image->is_shown && field->type == CONFIG_SECRET ? NULL : text);
        break;
    case CONFIG_STRINGS:
    case CONFIG_PATHS:
        put_strings(image, (const void *)member);
        break;
    case CONFIG_MAP:
        put_map(image, (const void *)member);
        break;
    case CONFIG_STRUCT:
        put_fields(image, field->fields, member);
        break;
    case CONFIG_STRUCTS:
    case CONFIG_KEYED:
        put_structs(image, field, (const void *)member);
        break;
    case CONFIG_VARIANTS:
        put_variants(image, field->variants, (const void *)member);
        break;
    default:
        put_scalar(image, field, member);
        break;
    }
}

void config_image_write(const struct config_field *fields, const void *settings, struct buf *out,
    void (*read)(void *self, const char *path), void *self)
{
    const struct image image = {.out = out, .read = read, .self = self};
    put_fields(&image, fields, settings);
}

bool config_image_equal(const struct config_field *fields, const void *a, const void *b)
{
    struct buf x;
    struct buf y;
    buf_init(&x, CONFIG_IMAGE_MAX_BYTES);
    buf_init(&y, CONFIG_IMAGE_MAX_BYTES);
    config_image_write(fields, a, &x, NULL, NULL);
    config_image_write(fields, b, &y, NULL, NULL);
    bool same = !x.failed && !y.failed && span_equal(buf_span(&x), buf_span(&y));
    buf_fini(&x);
    buf_fini(&y);
    return same;
}

void config_image_write_shown(
    const struct config_field *fields, const void *settings, struct buf *out)
{
    const struct image image = {.out = out, .is_shown = true};
    put_fields(&image, fields, settings);
}
