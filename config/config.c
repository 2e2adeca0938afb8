#include "config/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/config_bind.h"
#include "config/config_field.h"
#include "config/config_text.h"
#include "config/config_yaml.h"
#include "platform/plat_file.h"

static const char *process_env(void *self, const char *name)
{
    (void)self;
    return getenv(name);
}

struct config *config_create(config_env_fn env, void *env_self)
{
    struct config *config = calloc(1, sizeof(*config));
    if (!config) {
        return NULL;
    }
    arena_init(&config->arena, CONFIG_MAX_MEMORY_BYTES);
    config->env = env ? env : process_env;
    config->env_self = env_self;
    config->file = "";
    return config;
}

void config_destroy(struct config *config)
{
    if (config) {
        arena_fini(&config->arena);
        free(config->places);
        free(config);
    }
}

void *config_alloc(struct config *config, size_t size)
{
    return arena_alloc(&config->arena, size);
}

void *config_parse(struct config *config, struct span text, const char *name,
    const struct config_field *fields, size_t size, struct config_report *report)
{
    struct span file;
    void *settings = config_alloc(config, size);
    if (!settings || !arena_copy(&config->arena, span_text(name), &file)) {
        config_report_add(report, name, 0, 0, "out of memory. free some and retry");
        return NULL;
    }
    config->file = (const char *)file.data;
    yaml_document_t document;
    if (!config_yaml_load(text, name, &document, report)) {
        return NULL;
    }
    config_bind(config, &document, fields, settings, size, report);
    yaml_document_delete(&document);
    return settings;
}

void *config_load(struct config *config, const char *path, const struct config_field *fields,
    size_t size, struct config_report *report)
{
    struct error err;
    char *text = NULL;
    size_t text_size = 0;
    if (!plat_file_load(path, CONFIG_MAX_FILE_BYTES, &text, &text_size, &err)) {
        /* The platform's texts start with the path, and so do ours. */
        size_t skip = strlen(path);
        bool repeats = strncmp(err.text, path, skip) == 0 && strncmp(err.text + skip, ": ", 2) == 0;
        config_report_add(report, path, 0, 0, "%s", err.text + (repeats ? skip + 2 : 0));
        return NULL;
    }
    void *settings = config_parse(config, span_make(text, text_size), path, fields, size, report);
    free(text);
    return settings;
}

/* The smallest bound value that contains ${size} bytes at ${member}; the latest of equals. */
static const struct config_place *find_place(
    const struct config *config, const void *member, size_t size)
{
    const struct config_place *found = NULL;
    uintptr_t at = (uintptr_t)member;
    for (size_t i = 0; i < config->place_count; i++) {
        const struct config_place *place = &config->places[i];
        uintptr_t start = (uintptr_t)place->start;
        bool contains = at >= start && size <= place->size && at - start <= place->size - size;
        if (contains && (!found || place->size <= found->size)) {
            found = place;
        }
    }
    return found;
}

struct config_position config_position_of(
    const struct config *config, const void *member, size_t size)
{
    const struct config_place *place = find_place(config, member, size);
    return (struct config_position){
        .file = config->file,
        .line = place ? place->line : 0,
        .column = place ? place->column : 0,
    };
}

void config_error_at(const struct config *config, const void *member, size_t size,
    struct config_report *report, const char *format, ...)
{
    if (!config_report_has_room(report)) {
        report->error_count++;
        return;
    }
    char text[CONFIG_REPORT_MAX_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    struct config_position position = config_position_of(config, member, size);
    config_report_add(report, position.file, position.line, position.column, "%s", text);
}

void *config_new(
    struct config *config, const struct config_field *fields, size_t size, struct error *err)
{
    void *settings = config_alloc(config, size);
    if (!settings) {
        error_set(err, ERR_MEMORY, "out of memory. free some and retry");
        return NULL;
    }
    return config_field_set_defaults(config, fields, settings, err) ? settings : NULL;
}

static bool set_list(struct config *config, const struct config_field *field,
    struct config_strings *member, const char *const *values, size_t count, struct error *err)
{
    if (!config_field_check_count(field, count, err)) {
        return false;
    }
    struct config_strings strings = {
        arena_alloc_array(&config->arena, count, sizeof(const char *)), count};
    if (!strings.items) {
        return error_set(err, ERR_MEMORY, "out of memory. free some and retry");
    }
    for (size_t i = 0; i < count; i++) {
        if (!config_field_set(config, field, span_text(values[i]), &strings.items[i], err)) {
            return false;
        }
    }
    *member = strings;
    return true;
}

bool config_set(struct config *config, const struct config_field *fields, void *settings,
    const char *key, const char *const *values, size_t count, struct error *err)
{
    const struct config_field *field = config_field_find(fields, span_text(key));
    if (!field) {
        return error_set(err, ERR_CONFIG, "there is no option %s. see the reference",
            config_text_quote(span_text(key)).text);
    }
    void *member = (uint8_t *)settings + field->offset;
    if (field->type == CONFIG_STRINGS || field->type == CONFIG_PATHS) {
        return set_list(config, field, member, values, count, err);
    }
    if (count != 1) {
        return error_set(err, ERR_CONFIG, "'%s' takes one value. give it once", key);
    }
    return config_field_set(config, field, span_text(values[0]), member, err);
}
