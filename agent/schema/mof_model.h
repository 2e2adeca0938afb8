#ifndef ETWSHIP_SCHEMA_MOF_MODEL_H
#define ETWSHIP_SCHEMA_MOF_MODEL_H

#include "base/arena.h"
#include "base/error.h"
#include "base/guid.h"
#include "base/map.h"

/*
 * Classes of MOF text as they stand there (mof_parse.h), of any number of files. What they mean for
 * events says mof_build.h, for control GUIDs mof_control.h. All of it lives in the model's arena, or in
 * the texts that were parsed. Names are compared without case, as WMI does.
 */
enum {
    MOF_MAX_CLASSES = 65536,
    MOF_MAX_PROPERTIES = 1024, /* of a class; of an event with those of parents */
    MOF_MAX_QUALIFIERS = 256,  /* of a class or property */
    MOF_MAX_DEPTH = 64,        /* of inheritance */
    MOF_MAX_WARNINGS = 20,     /* of a file; then only how many more there were */
    MOF_SCOPES = 5,
};

struct mof_value {
    struct mof_value *next;
    struct span text; /* as written; of texts, what they say */
};

struct mof_qualifier {
    struct mof_qualifier *next;
    struct span name;
    struct mof_value *values; /* one, or those of an array; NULL: none given, which means true */
    size_t value_count;
};

struct mof_property {
    struct mof_property *next;
    struct span name;
    struct span type;
    struct mof_qualifier *qualifiers;
    bool is_array;   /* brackets stand behind the name */
    uint16_t length; /* what stands in them; 0: nothing */
    bool is_bad;     /* more than that, or a reference: not of events */
    uint32_t line;
    uint32_t column;
};

struct mof_class {
    struct mof_class *next; /* in the order of files and of their text */
    struct mof_class *base; /* set by mof_model_link; NULL: in none of the files */
    struct mof_file *file;
    struct span name;
    struct span parent; /* empty: none */
    struct mof_qualifier *qualifiers;
    struct mof_property *properties;
    size_t property_count;
    size_t depth; /* classes above it that are known; set by mof_model_link */
    bool
        is_local; /* a text of another language for the class of the same name: qualifier Amendment */
    uint32_t line;
    uint32_t column;
};

struct mof_file {
    struct mof_file *next;
    const char *name; /* its path */
    bool is_mof;      /* a class or a directive begins in it: else one warning says all */
    size_t told;      /* warnings */
    size_t untold;    /* the same, beyond MOF_MAX_WARNINGS, or of what is no MOF text */
    /* Where its classes are looked for, the nearest first; set by mof_model_add_file: itself, files of its name
     * with any ending, its folder, the one above, as texts of a language may lie below; NULL: all files. */
    const void *scopes[MOF_SCOPES];
};

struct mof_model {
    struct arena arena;
    struct map names;  /* the first class of a name, in each scope (mof_model.c); no amendments */
    struct map scopes; /* paths of stems and folders */
    struct mof_class *first;
    struct mof_class *last;
    size_t class_count;
    struct mof_file *files;
    void (*warn)(void *self, const char *text); /* may be NULL */
    void *warn_self;
};

void mof_model_init(struct mof_model *model, size_t max_bytes);
void mof_model_fini(struct mof_model *model);

/* Add one whose name is set. False if memory ran out. */
bool mof_model_add_file(struct mof_model *model, struct mof_file *file);

/* Add one behind the others. False if memory ran out. */
bool mof_model_add(struct mof_model *model, struct mof_class *class);

/*
 * All files are there: find parents, those of the nearest file (mof_file.scopes) first; put qualifiers of amendments where
 * they belong. A class whose inheritance runs in a circle, or too deep, is told and loses its parent.
 */
void mof_model_link(struct mof_model *model);

/* NULL: there is none. */
const struct mof_qualifier *mof_qualifier_find(
    const struct mof_qualifier *qualifiers, const char *name);

/* The first value of it; empty if there is none. */
struct span mof_qualifier_text(const struct mof_qualifier *qualifiers, const char *name);

/* The same as a number of at most ${max}: decimal, 0x…, binary with a `b` behind it. */
bool mof_qualifier_number(
    const struct mof_qualifier *qualifiers, const char *name, uint64_t max, uint64_t *ret_number);
bool mof_number(struct span text, uint64_t max, uint64_t *ret_number);

/* The qualifier Guid of the class itself. */
bool mof_class_guid(const struct mof_class *class, struct guid *ret_guid);

/* What is wrong at a place of ${file}: "FILE:LINE:COLUMN: what". Line 0: in the file as a whole. */
void mof_model_warn(struct mof_model *model, struct mof_file *file, uint32_t line, uint32_t column,
    const char *format, ...) ETWSHIP_PRINTF(5, 6);

/* Say of each file how many more there were. */
void mof_model_end_warnings(struct mof_model *model);

#endif
