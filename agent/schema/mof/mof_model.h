#ifndef ETWSHIP_SCHEMA_MOF_MODEL_H
#define ETWSHIP_SCHEMA_MOF_MODEL_H

#include "base/arena.h"
#include "base/error.h"
#include "base/guid.h"
#include "base/map.h"

/*
 * Classes of MOF text as written (mof_parse.h), from any number of files. mof_build.h derives
 * events from them, mof_control.h control GUIDs. Everything lives in the model's arena or in the
 * parsed texts. Names are compared without case, as in WMI.
 */
enum {
    MOF_MAX_CLASSES = 65536,
    MOF_MAX_PROPERTIES = 1024, /* of a class; of an event including its parents */
    MOF_MAX_QUALIFIERS = 256,  /* of a class or property */
    MOF_MAX_DEPTH = 64,        /* of inheritance */
    MOF_MAX_WARNINGS = 20,     /* per file; further ones are only counted */
    MOF_SCOPES = 5,
};

struct mof_value {
    struct mof_value *next;
    struct span text; /* as written; for texts, their content */
};

struct mof_qualifier {
    struct mof_qualifier *next;
    struct span name;
    /* one value, or those of an array; NULL: no value, which means true */
    struct mof_value *values;
    size_t value_count;
};

struct mof_property {
    struct mof_property *next;
    struct span name;
    struct span type;
    struct mof_qualifier *qualifiers;
    bool is_array;   /* brackets follow the name */
    uint16_t length; /* number in the brackets; 0: none */
    bool is_bad;     /* a reference or an expression in brackets: impossible in events */
    uint32_t line;
    uint32_t column;
};

struct mof_class {
    struct mof_class *next; /* in file and text order */
    struct mof_class *base; /* set by mof_model_link; NULL: not in these files */
    struct mof_file *file;
    struct span name;
    struct span parent; /* empty: none */
    struct mof_qualifier *qualifiers;
    struct mof_property *properties;
    size_t property_count;
    size_t depth;  /* number of known ancestors; set by mof_model_link */
    bool is_local; /* a translation of the class with this name: qualifier Amendment */
    uint32_t line;
    uint32_t column;
};

struct mof_file {
    struct mof_file *next;
    const char *name; /* its path */
    /* contains a class or directive; otherwise one warning covers the whole file */
    bool is_mof;
    size_t told;       /* number of warnings given */
    size_t suppressed; /* number of warnings suppressed */
    /* Where parents of its classes are searched, the nearest first; set by mof_model_add_file: the
     * file, files with its name and any ending, its folder, the parent folder (translations may be
     * in a folder below), NULL: all files. */
    const void *scopes[MOF_SCOPES];
};

struct mof_model {
    struct arena arena;
    /* first class of each name in each scope (mof_model.c), without amendments */
    struct map names;
    struct map scopes; /* paths of file stems and folders */
    struct mof_class *first;
    struct mof_class *last;
    size_t class_count;
    struct mof_file *files;
    void (*warn)(void *self, const char *text); /* may be NULL */
    void *warn_self;
};

void mof_model_init(struct mof_model *model, size_t max_bytes);
void mof_model_fini(struct mof_model *model);

/* Add a file, with its name set. False if memory ran out. */
bool mof_model_add_file(struct mof_model *model, struct mof_file *file);

/* Append a class. False if memory ran out. */
bool mof_model_add(struct mof_model *model, struct mof_class *class);

/*
 * Call once all files are added. Finds parents, in the nearest file first (mof_file.scopes), and
 * moves qualifiers of amendments to their classes. A class with a cyclic or too deep inheritance
 * loses its parent, with a warning.
 */
void mof_model_link(struct mof_model *model);

/* The qualifier ${name}, or NULL. */
const struct mof_qualifier *mof_qualifier_find(
    const struct mof_qualifier *qualifiers, const char *name);

/* The first value of the qualifier; empty if there is none. */
struct span mof_qualifier_text(const struct mof_qualifier *qualifiers, const char *name);

/* The first value as a number of at most ${max}: decimal, 0x…, or binary with the suffix `b`. */
bool mof_qualifier_number(
    const struct mof_qualifier *qualifiers, const char *name, uint64_t max, uint64_t *ret_number);
bool mof_number(struct span text, uint64_t max, uint64_t *ret_number);

/* The qualifier Guid of the class itself, not of its parents. */
bool mof_class_guid(const struct mof_class *class, struct guid *ret_guid);

/* Warn about a place in ${file}: "FILE:LINE:COLUMN: text". Line 0: the file as a whole. */
void mof_model_warn(struct mof_model *model, struct mof_file *file, uint32_t line, uint32_t column,
    const char *format, ...) ETWSHIP_PRINTF(5, 6);

/* Warn for each file how many warnings were suppressed. */
void mof_model_end_warnings(struct mof_model *model);

#endif
