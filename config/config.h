#ifndef ETWSHIP_CONFIG_CONFIG_H
#define ETWSHIP_CONFIG_CONFIG_H

#include "base/error.h"
#include "base/span.h"

/*
 * Options as tables: one row per key has its type, default, limits, place in a C struct and help
 * text. The loader, the checks, the error messages, the schema and the reference read these rows.
 * This layer knows no session and no output: modules bring their rows.
 */

/* What a key holds, and the type of the struct member that it is bound to. */
enum config_type {
    CONFIG_BOOL,     /* bool: true or false */
    CONFIG_INT,      /* int64_t: decimal or 0x… */
    CONFIG_SIZE,     /* uint64_t, bytes: 64KB, 1MB, 2GiB; powers of 1024 */
    CONFIG_DURATION, /* uint64_t, nanoseconds: 200ms, 1s, 1h30m; 0 needs no unit; may be `never` */
    CONFIG_PERCENT,  /* uint64_t, hundredths of a percent: 20%, 0.5% */
    CONFIG_TIME,     /* uint64_t, FILETIME: RFC 3339 */
    CONFIG_STRING,   /* const char *: never NULL if there is a default or the key is required */
    CONFIG_PATH,     /* const char *: a string, not empty, without control characters: a path, one
                        of `names`, or a text that `is_no_path` takes */
    CONFIG_SECRET,   /* const char *: a string that is never shown, or its place: config_secret.h */
    CONFIG_ENUM,     /* int: index into `names` */
    CONFIG_STRINGS,  /* struct config_strings; each of `names`, if there are any */
    CONFIG_PATHS,    /* struct config_strings, each item as CONFIG_PATH */
    CONFIG_MAP,      /* struct config_map: values are the text of the file */
    CONFIG_STRUCT,   /* the struct itself, by `fields` */
    CONFIG_STRUCTS,  /* struct config_list of structs of `size` bytes, by `fields`; or, if there is
                        a `shorthand`, by one value */
    CONFIG_KEYED,    /* the same from a mapping whose keys are free: each struct begins with a
                        const char * for its key; the values are mappings by `fields`, or what
                        `shorthand` says */
    CONFIG_VARIANTS, /* struct config_list, by `variants` */
};

struct config_strings {
    const char **items;
    size_t count;
};

struct config_pair {
    const char *key;
    const char *value;
};

/* In the order of the file; no key twice. */
struct config_map {
    struct config_pair *items;
    size_t count;
};

/* The element type is the owner's. */
struct config_list {
    void *items;
    size_t count;
};

struct config_variants;

/*
 * One option. A table ends with a row whose key is NULL. `min` and `max` bound numbers (in the
 * member's unit) and, for lists and maps, the number of items; both 0 means no limit.
 */
struct config_field {
    const char *key;
    enum config_type type;
    bool required;
    size_t offset;
    const char *default_text; /* scalars only, as the file has it; NULL: zero */
    int64_t min;
    int64_t max;
    bool hide_values;         /* CONFIG_MAP: do not show them */
    bool is_address;          /* CONFIG_STRING, CONFIG_STRINGS: what follows a ? is not shown */
    bool may_be_never;        /* CONFIG_DURATION: takes `never`, too, as CONFIG_NEVER */
    bool may_be_empty;        /* CONFIG_SECRET: an empty text is valid */
    bool is_read;             /* CONFIG_PATH: the agent reads the file */
    bool is_template;         /* CONFIG_PATH: `%` and braces in it are placeholders */
    const char *const *names; /* CONFIG_ENUM, CONFIG_PATH, CONFIG_STRINGS: ends with NULL */
    bool (*is_no_path)(struct span text); /* CONFIG_PATH; NULL: all but `names` are paths */
    const struct config_field *fields;    /* CONFIG_STRUCT, CONFIG_STRUCTS, CONFIG_KEYED */
    const struct config_field *shorthand; /* a row of the same struct, not of its table */
    size_t size;                          /* the struct, or one element of the list */
    const struct config_variants *variants;
    const char *help; /* one sentence for the user */
};

#define CONFIG_NEVER UINT64_MAX

/* Rows of one table, or of the common and the own table of a variant together. */
enum { CONFIG_MAX_ROWS = 64 };

/* One kind of element of a variant list, e.g. the output "file". */
struct config_variant {
    const char *type; /* value of the `type` key */
    const struct config_field *fields;
    size_t settings_size;
    const void *module; /* the owner's */
};

/*
 * A list of mappings whose `type` key chooses the table for the other keys. Each element is a
 * struct of `size` bytes bound by `common`, which has a row `type` (CONFIG_STRING, required or with
 * a default). The loader also sets two members of it: the variant, and the settings (zeroed,
 * `settings_size` bytes) that the variant's own table was bound to.
 */
struct config_variants {
    const char *noun; /* "session", for messages */
    const struct config_field *common;
    size_t size;
    size_t variant_offset;  /* of a const struct config_variant * */
    size_t settings_offset; /* of a void * */
    const struct config_variant *list;
    size_t count;
};

/* offsetof that refuses to compile if the member is not of the row's C type. */
#define CONFIG_OFFSET(s, member, type) \
    (offsetof(s, member) + 0 * sizeof(1 ? &((s *)0)->member : (type *)0))

/* First members of a row: {CONFIG_ROW("path", PATH, struct settings, path), .help = "…"} */
#define CONFIG_ROW(name, kind, s, member) \
    .key = (name), .type = CONFIG_##kind, .offset = CONFIG_OFFSET(s, member, CONFIG_C_##kind)

/* As CONFIG_ROW, for a struct inside the struct. */
#define CONFIG_STRUCT_ROW(name, s, member, table)                        \
    .key = (name), .type = CONFIG_STRUCT, .offset = offsetof(s, member), \
    .size = sizeof(((s *)0)->member), .fields = (table)

#define CONFIG_C_BOOL bool
#define CONFIG_C_INT int64_t
#define CONFIG_C_SIZE uint64_t
#define CONFIG_C_DURATION uint64_t
#define CONFIG_C_PERCENT uint64_t
#define CONFIG_C_TIME uint64_t
#define CONFIG_C_STRING const char *
#define CONFIG_C_PATH const char *
#define CONFIG_C_SECRET const char *
#define CONFIG_C_ENUM int
#define CONFIG_C_STRINGS struct config_strings
#define CONFIG_C_PATHS struct config_strings
#define CONFIG_C_MAP struct config_map
#define CONFIG_C_STRUCTS struct config_list
#define CONFIG_C_KEYED struct config_list
#define CONFIG_C_VARIANTS struct config_list

/*
 * A loaded configuration. It owns every struct, string and list that was bound, and knows the place
 * of each in the file. One thread at a time; read-only once loaded.
 */
struct config;
struct config_report;

/* Value of an environment variable, NULL if it is not set. */
typedef const char *(*config_env_fn)(void *self, const char *name);

/* ${env} NULL: the environment of the process. NULL if there is no memory. */
struct config *config_create(config_env_fn env, void *env_self);
void config_destroy(struct config *config); /* NULL is fine */

/* Limits against hostile files. A value's bytes are counted after ${…} was resolved. */
enum {
    CONFIG_MAX_FILES = 256, /* with all that are included */
    CONFIG_MAX_FILE_BYTES = 4 * 1024 * 1024,
    CONFIG_MAX_VALUE_BYTES = 64 * 1024,
    CONFIG_MAX_MEMORY_BYTES = 64 * 1024 * 1024,
    CONFIG_MAX_SECRET_FILES = 1024,
    CONFIG_MAX_NODES = 100000, /* of all files, and again with aliases followed */
    CONFIG_MAX_DEPTH = 32,
    CONFIG_MAX_ANCHORS = 256,
    CONFIG_MAX_PAIRS = 1000, /* of a CONFIG_MAP or CONFIG_KEYED */
    CONFIG_MAX_OVERRIDES = 1000,
};

/* What a configuration consists of besides its first file. Zero: nothing. */
struct config_additions {
    /* The key of the root that lists further files, or patterns of them: relative to the first
     * file, in byte order of their paths. Lists are appended, mappings merged; one value in two
     * files is an error. NULL: there is no such key. */
    const char *include_key;
    bool no_include; /* do not read the files */

    /* "KEY=VALUE", applied in order on top of all files. A key is a path such as
     * outputs.local.path; elements of lists go by `name`, else by `type`, or by their number. A
     * value that starts with [ or { is YAML, any other one text. */
    const char *const *overrides;
    size_t override_count;

    /* Overrides that are applied last: the settings of the machine's policy. */
    const char *const *policies;
    size_t policy_count;
};

/* Add a line for each pattern of the include key that matches no file, and for each secret that was
 * given on the command line. The configuration is valid all the same. */
void config_report_remarks(const struct config *config, struct config_report *report);

/* Before config_parse or config_load: read these, too. They outlive the loading. */
void config_use(struct config *config, const struct config_additions *additions);

/*
 * Bind the YAML ${text}, called ${name} in messages, to a new struct of ${size} bytes described by
 * ${fields}. All errors are added to ${report}. Returns the struct, owned by ${config}. It is
 * complete only if the report has no errors: the caller can add errors of its own before it looks.
 * NULL if there is nothing to bind (no YAML, a limit, no memory).
 *
 * A relative path is taken relative to the folder of the file that has it; paths of overrides stay
 * as they are.
 */
void *config_parse(struct config *config, struct span text, const char *name,
    const struct config_field *fields, size_t size, struct config_report *report);

/* As config_parse, for a file. */
void *config_load(struct config *config, const char *path, const struct config_field *fields,
    size_t size, struct config_report *report);

/*
 * Report that the ${size} bytes bound at ${member} (a member, an element, a list item or the
 * settings of a variant) are wrong, at their place in the file. If the value was not given, the
 * place is the start of the mapping around it. The text reads "what. what to do".
 */
void config_error_at(const struct config *config, const void *member, size_t size,
    struct config_report *report, const char *format, ...) ETWSHIP_PRINTF(5, 6);

/* Was there an error inside the element of a list, or the settings of a variant, that starts at
 * ${element}? Then it may be incomplete. */
bool config_is_flawed(const struct config *config, const void *element);

/* Did the file give a value, right or wrong, for the ${size} bytes at ${member}? */
bool config_is_given(const struct config *config, const void *member, size_t size);

/* Was there an error in the ${size} bytes at ${member}, or, if they were not given, in the mapping
 * around them? */
bool config_is_flawed_at(const struct config *config, const void *member, size_t size);

/* Place of a value. Line 0: it is not in a file; `file` then names its source. */
struct config_position {
    const char *file;
    uint32_t line;
    uint32_t column;

    /* Text that its line has unchanged starts so many characters after `column`:
     * 1 in quotes, else 0. CONFIG_NOT_AS_WRITTEN if the line does not have it unchanged: several
     * lines, escapes, variables. */
    uint32_t text_offset;

    /* Number of characters that the bound text has and the file has not: the folder before a
     * relative path. */
    uint32_t in_front;
};

#define CONFIG_NOT_AS_WRITTEN UINT32_MAX

/* Place of that value; of the mapping around it if the value was not given. */
struct config_position config_position_of(
    const struct config *config, const void *member, size_t size);

/* Text of the file for the value at ${member}, if there are variables in it; else NULL. */
const char *config_written(const struct config *config, const void *member, size_t size);

/* Name of file ${index} of those that were read: the first one and what it includes; NULL: there
 * are no more. A text that was parsed counts as a file with its name. */
const char *config_file_name(const struct config *config, size_t index);

/* Likewise of the files that secrets were read from. */
const char *config_secret_file(const struct config *config, size_t index);

/* Without YAML, for command lines: */

/* A zeroed struct with the defaults of ${fields}, owned by ${config}. NULL with ${err} set. */
void *config_new(
    struct config *config, const struct config_field *fields, size_t size, struct error *err);

/*
 * Set the option ${key} of ${settings} from text, with the checks of a file: one value for scalars,
 * any number for lists of strings. ${…} is not resolved. Structs, maps and lists of structs are not
 * supported (ERR_UNSUPPORTED).
 */
bool config_set(struct config *config, const struct config_field *fields, void *settings,
    const char *key, const char *const *values, size_t count, struct error *err);

/* Memory that lives as long as ${config}: zeroed, NULL at the limit. */
void *config_alloc(struct config *config, size_t size);

#endif
