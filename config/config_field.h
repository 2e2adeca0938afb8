#ifndef ETWSHIP_CONFIG_CONFIG_FIELD_H
#define ETWSHIP_CONFIG_CONFIG_FIELD_H

#include "base/arena.h"
#include "config/config.h"
#include "config/config_value.h"

/* Values into members, by the rows of a table; no YAML here. */

/* Place of a bound value. */
struct config_place {
    const uint8_t *start;
    size_t size;
    size_t order; /* of binding */
    struct config_position position;
    const char *written; /* the text of the file if it has variables; else NULL */
    bool flawed;
};

/* Source of values: a file, or an override. */
struct config_file {
    const char *name; /* in messages */
    const char *base; /* the folder of relative paths, with its separator; "": none */
    bool is_override;
};

/* A value that is valid, but probably a mistake. */
struct config_remark {
    const char *text; /* "what. what to do" */
    const char *file;
    uint32_t line;
    uint32_t column;
    const struct config_remark *next;
};

struct config {
    struct arena arena;
    config_env_fn env;
    void *env_self;
    const struct config_additions *additions;          /* NULL: one file */
    const char *base;                                  /* of what is being bound */
    const char *secret_files[CONFIG_MAX_SECRET_FILES]; /* that secrets were read from */
    size_t secret_file_count;
    struct config_file files[CONFIG_MAX_FILES + CONFIG_MAX_OVERRIDES];
    size_t file_count;
    struct config_remark *remarks; /* in order */
    struct config_remark *last_remark;
    struct config_place *places; /* once all is bound, by start and size */
    size_t place_count;
    size_t place_capacity;
};

/* Is the row's value one scalar? */
bool config_field_is_scalar(const struct config_field *field);

/* The row ${key} of a table, or NULL. */
const struct config_field *config_field_find(const struct config_field *fields, struct span key);

/* Bytes of the member that a row is bound to. */
size_t config_field_size(const struct config_field *field);

/* Check ${text} by the row and store it in ${member}, strings as copies owned by ${config}.
 * For lists of strings, ${member} is one item. */
bool config_field_set(struct config *config, const struct config_field *field, struct span text,
    void *member, struct error *err);

/* A number of the row's type, a limit or a value, as the file would have it. */
struct config_value_text config_field_write_number(const struct config_field *field, int64_t value);

/* Does the row allow ${count} items? */
bool config_field_check_count(const struct config_field *field, size_t count, struct error *err);

/* Element ${index} of a list of variants. */
struct config_field_element {
    const uint8_t *common;                /* members of the common table */
    const struct config_variant *variant; /* NULL: its type is unknown; the error was reported */
    const uint8_t *settings;              /* members of the variant's table; NULL: there are none */
};
struct config_field_element config_field_element_at(
    const struct config_variants *variants, const struct config_list *list, size_t index);

/* Store the defaults of all rows of a zeroed struct, and of the structs inside it. */
bool config_field_set_defaults(
    struct config *config, const struct config_field *fields, void *settings, struct error *err);

#endif
