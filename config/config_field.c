#include "config/config_field.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "config/config_path.h"
#include "config/config_secret.h"
#include "config/config_text.h"
#include "config/config_value.h"

bool config_field_is_scalar(const struct config_field *field)
{
    return field->type <= CONFIG_ENUM;
}

const struct config_field *config_field_find(const struct config_field *fields, struct span key)
{
    for (; fields->key; fields++) {
        if (span_is(key, fields->key)) {
            return fields;
        }
    }
    return NULL;
}

size_t config_field_size(const struct config_field *field)
{
    switch (field->type) {
    case CONFIG_BOOL:
        return sizeof(bool);
    case CONFIG_INT:
        return sizeof(int64_t);
    case CONFIG_SIZE:
    case CONFIG_DURATION:
    case CONFIG_PERCENT:
    case CONFIG_TIME:
        return sizeof(uint64_t);
    case CONFIG_STRING:
    case CONFIG_PATH:
    case CONFIG_SECRET:
        return sizeof(const char *);
    case CONFIG_ENUM:
        return sizeof(int);
    case CONFIG_STRINGS:
    case CONFIG_PATHS:
        return sizeof(struct config_strings);
    case CONFIG_MAP:
        return sizeof(struct config_map);
    case CONFIG_STRUCTS:
    case CONFIG_KEYED:
    case CONFIG_VARIANTS:
        return sizeof(struct config_list);
    case CONFIG_STRUCT:
        return field->size;
    }
    return 0;
}

struct config_value_text config_field_write_number(const struct config_field *field, int64_t value)
{
    if (field->type == CONFIG_SIZE) {
        return config_value_write_size((uint64_t)value);
    }
    if (field->type == CONFIG_DURATION) {
        return config_value_write_duration((uint64_t)value);
    }
    if (field->type == CONFIG_PERCENT) {
        return config_value_write_percent((uint64_t)value);
    }
    struct config_value_text text;
    snprintf(text.text, sizeof(text.text), "%" PRId64, value);
    return text;
}

/* Sizes and durations fit into int64_t: their readers refuse larger ones. */
static bool check_range(const struct config_field *field, int64_t value, struct error *err)
{
    bool bounded = field->min != 0 || field->max != 0;
    if (!bounded || (value >= field->min && value <= field->max)) {
        return true;
    }
    struct config_value_text got = config_field_write_number(field, value);
    struct config_value_text low = config_field_write_number(field, field->min);
    struct config_value_text high = config_field_write_number(field, field->max);
    if (field->min == field->max) {
        return error_set(
            err, ERR_CONFIG, "%s is out of range. the only value is %s", got.text, low.text);
    }
    return error_set(err, ERR_CONFIG, "%s is out of range. write a value from %s to %s", got.text,
        low.text, high.text);
}

bool config_field_check_count(const struct config_field *field, size_t count, struct error *err)
{
    bool bounded = field->min != 0 || field->max != 0;
    if (!bounded || ((int64_t)count >= field->min && (int64_t)count <= field->max)) {
        return true;
    }
    const char *wrong = (int64_t)count < field->min ? "few" : "many";
    if (field->max == INT64_MAX) {
        return error_set(err, ERR_CONFIG, "%zu items are too %s. write at least %" PRId64, count,
            wrong, field->min);
    }
    return error_set(err, ERR_CONFIG, "%zu items are too %s. write from %" PRId64 " to %" PRId64,
        count, wrong, field->min, field->max);
}

static bool set_number(
    const struct config_field *field, struct span text, void *member, struct error *err)
{
    uint64_t number = 0;
    int64_t integer = 0;
    bool read;
    if (field->type == CONFIG_SIZE) {
        read = config_value_size(text, &number, err);
    } else if (field->type == CONFIG_DURATION) {
        read = config_value_duration(text, &number, err);
    } else if (field->type == CONFIG_PERCENT) {
        read = config_value_percent(text, &number, err);
    } else {
        read = config_value_int(text, &integer, err);
    }
    bool is_int = field->type == CONFIG_INT;
    if (!read || !check_range(field, is_int ? integer : (int64_t)number, err)) {
        return false;
    }
    if (is_int) {
        *(int64_t *)member = integer;
    } else {
        *(uint64_t *)member = number;
    }
    return true;
}

static bool set_string(struct config *config, struct span text, void *member, struct error *err)
{
    if (text.size && memchr(text.data, 0, text.size)) {
        return error_set(err, ERR_CONFIG, "the text holds a NUL character. remove it");
    }
    struct span copy;
    if (!arena_copy(&config->arena, text, &copy)) {
        return error_set(
            err, ERR_MEMORY, "the configuration needs more than 64 MB of memory. shorten it");
    }
    *(const char **)member = (const char *)copy.data;
    return true;
}

static bool set_path(
    struct config *config, struct span text, bool is_template, void *member, struct error *err)
{
    struct buf path;
    buf_init(&path, 2 * CONFIG_MAX_VALUE_BYTES);
    if (is_template && !config_path_is_absolute(text)) {
        config_path_add_literal(config->base, &path);
        buf_add_span(&path, text);
    } else {
        config_path_join(config->base, text, &path);
    }
    bool good = set_string(config, buf_span(&path), member, err);
    buf_fini(&path);
    return good;
}

static bool set_secret(struct config *config, const struct config_field *field, struct span text,
    void *member, struct error *err)
{
    struct buf secret;
    if (field->may_be_empty && text.size == 0) {
        return set_string(config, text, member, err);
    }
    buf_init(&secret, CONFIG_MAX_VALUE_BYTES);
    bool good = config_secret_resolve(config, text, &secret, err) &&
                set_string(config, buf_span(&secret), member, err);
    buf_fini(&secret);
    return good;
}

static bool is_one_of(struct span text, const char *const *names)
{
    for (; *names; names++) {
        if (span_is(text, *names)) {
            return true;
        }
    }
    return false;
}

bool config_field_set(struct config *config, const struct config_field *field, struct span text,
    void *member, struct error *err)
{
    switch (field->type) {
    case CONFIG_BOOL:
        return config_value_bool(text, member, err);
    case CONFIG_INT:
    case CONFIG_SIZE:
    case CONFIG_DURATION:
    case CONFIG_PERCENT:
        if (field->may_be_never && span_is(text, "never")) {
            *(uint64_t *)member = CONFIG_NEVER;
            return true;
        }
        return set_number(field, text, member, err);
    case CONFIG_TIME:
        return config_value_time(text, member, err);
    case CONFIG_ENUM:
        return config_value_enum(text, field->names, member, err);
    case CONFIG_SECRET:
        return set_secret(config, field, text, member, err);
    case CONFIG_PATH:
    case CONFIG_PATHS:
        if ((field->names && is_one_of(text, field->names)) ||
            (field->is_no_path && field->is_no_path(text))) {
            return set_string(config, text, member, err);
        }
        return config_path_check(text, err) &&
               set_path(config, text, field->is_template, member, err);
    case CONFIG_STRING:
        return set_string(config, text, member, err);
    case CONFIG_STRINGS:
        return (!field->names || config_value_enum(text, field->names, &(int){0}, err)) &&
               set_string(config, text, member, err);
    case CONFIG_MAP:
    case CONFIG_STRUCT:
    case CONFIG_STRUCTS:
    case CONFIG_KEYED:
    case CONFIG_VARIANTS:
        break;
    }
    return error_set(err, ERR_UNSUPPORTED, "'%s' is not one value. set it in the file", field->key);
}

struct config_field_element config_field_element_at(
    const struct config_variants *variants, const struct config_list *list, size_t index)
{
    const uint8_t *start = (const uint8_t *)list->items + index * variants->size;
    struct config_field_element element = {.common = start};
    memcpy(&element.variant, start + variants->variant_offset, sizeof(element.variant));
    memcpy(&element.settings, start + variants->settings_offset, sizeof(element.settings));
    return element;
}

bool config_field_set_defaults(
    struct config *config, const struct config_field *fields, void *settings, struct error *err)
{
    for (const struct config_field *field = fields; field->key; field++) {
        uint8_t *member = (uint8_t *)settings + field->offset;
        if (field->type == CONFIG_STRUCT) {
            if (!config_field_set_defaults(config, field->fields, member, err)) {
                return false;
            }
        } else if (field->default_text && config_field_is_scalar(field)) {
            if (!config_field_set(config, field, span_text(field->default_text), member, err)) {
                return false;
            }
        }
    }
    return true;
}
