#ifndef ETWSHIP_SCHEMA_MANIFEST_CRIM_H
#define ETWSHIP_SCHEMA_MANIFEST_CRIM_H

#include "base/reader.h"
#include "schema/binary/message_table.h"
#include "schema/manifest/manifest_model.h"

/*
 * What the readers of a compiled manifest share (manifest_binary.c, manifest_templates.c). The
 * manifest begins with "CRIM"; all offsets count from there. Where XML refers by name, the compiled
 * form refers by offset, so the model uses the offset as text for the name of an item.
 */
struct manifest_crim {
    struct model *model;
    struct span bytes;
    const struct message_table *tables;
    size_t table_count;
    struct model_provider *provider;
    struct span channel_prefix; /* "A" of the provider's first channel "A/B" */
    size_t entries_left;        /* limit of list entries; at 0 no more are read */
    bool overlaps;              /* the limit was reached and reported */
    bool has_name;              /* the provider name was checked */
    bool lacks_texts;           /* missing messages were reported */
    struct error *err;
    bool failed; /* `err` has the reason; further input is ignored */
};

/* Record that memory is short; further input is ignored. */
void manifest_crim_no_memory(struct manifest_crim *p);

/* Zeroed memory in the model, or NULL if memory is short. */
void *manifest_crim_allocate(struct manifest_crim *p, size_t size);

/* A reader at ${offset}; empty if that is beyond the end. */
struct reader manifest_crim_reader(const struct manifest_crim *p, uint32_t offset);

/* Read four bytes and compare them with ${signature}. */
bool manifest_crim_signature(struct reader *r, const char *signature);

/* Convert ${utf16} to UTF-8 in the manifest's memory. */
struct span manifest_crim_utf16(struct manifest_crim *p, struct span utf16);

/* The size-prefixed text at ${offset}; empty if there is none. */
struct span manifest_crim_text(struct manifest_crim *p, uint32_t offset);

/* The text of ${id} in the first table that has it; empty if none does. */
struct span manifest_crim_message(struct manifest_crim *p, uint32_t id);

/* A short formatted text in the model's memory. */
struct span manifest_crim_format(struct manifest_crim *p, const char *format, ...)
    ETWSHIP_PRINTF(2, 3);

/* The name under which the model knows the item at ${offset}. Offset 0 gives the name of
 * nothing. */
struct span manifest_crim_key(struct manifest_crim *p, uint32_t offset);

/* Define ${thing} as ${key} of the provider; the first definition of a key wins. */
void manifest_crim_define(
    struct manifest_crim *p, enum model_kind kind, struct span key, void *thing);

#endif
