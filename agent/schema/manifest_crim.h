#ifndef ETWSHIP_SCHEMA_MANIFEST_CRIM_H
#define ETWSHIP_SCHEMA_MANIFEST_CRIM_H

#include "base/reader.h"
#include "schema/manifest_model.h"
#include "schema/message_table.h"

/*
 * What the readers of a compiled manifest share (manifest_binary.c, manifest_templates.c). Its first
 * bytes are "CRIM", from which all offsets count. Where the XML refers by name, it refers by offset, so
 * the offset's text is the name under which the model knows a thing.
 */
struct manifest_crim {
    struct model *model;
    struct span bytes;
    const struct message_table *tables;
    size_t table_count;
    struct model_provider *provider;
    struct span channel_prefix; /* "A" of its first own channel "A/B" */
    size_t entries_left;        /* of lists: no more are read */
    bool overlaps;              /* its lists have more than the manifest has room for: said so */
    bool has_name;              /* the provider's own name was looked at */
    bool lacks_texts;           /* and said so */
    struct error *err;
    bool failed; /* `err` says why; nothing more is taken in */
};

/* Memory has ended: nothing more is taken in. */
void manifest_crim_no_memory(struct manifest_crim *p);

/* Zeroed memory of the model, or NULL when it has ended. */
void *manifest_crim_allocate(struct manifest_crim *p, size_t size);

/* What stands at ${offset}; without bytes if that is beyond the end. */
struct reader manifest_crim_reader(const struct manifest_crim *p, uint32_t offset);

/* Is what comes next the four letters ${signature}? Taken either way. */
bool manifest_crim_signature(struct reader *r, const char *signature);

/* ${utf16} as UTF-8 of the manifest. */
struct span manifest_crim_utf16(struct manifest_crim *p, struct span utf16);

/* The text at ${offset}, with its size before it; empty if there is none. */
struct span manifest_crim_text(struct manifest_crim *p, uint32_t offset);

/* The text of ${id} in the first table that has it; empty if none does. */
struct span manifest_crim_message(struct manifest_crim *p, uint32_t id);

/* A short text of the model. */
struct span manifest_crim_format(struct manifest_crim *p, const char *format, ...)
    ETWSHIP_PRINTF(2, 3);

/* The name by which the model knows what stands at ${offset}; that of nothing for 0. */
struct span manifest_crim_key(struct manifest_crim *p, uint32_t offset);

/* Let the provider's ${key} mean ${thing}; the first definition stays. */
void manifest_crim_define(
    struct manifest_crim *p, enum model_kind kind, struct span key, void *thing);

#endif
