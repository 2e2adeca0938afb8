#ifndef ETWSHIP_EVENT_EVENT_EDIT_H
#define ETWSHIP_EVENT_EVENT_EDIT_H

#include "base/arena.h"
#include "event/write/event_path.h"
#include "platform/plat_hash.h"

/*
 * One edit of an event by a filter rule (docs/reference/filter-language.md, "Rules that edit").
 * Compiled once, immutable, for any number of threads; event_editor.h applies it.
 */
enum event_edit_kind {
    EVENT_EDIT_SET,      /* replace the value by a text */
    EVENT_EDIT_TAG,      /* add to `tags` */
    EVENT_EDIT_REMOVE,   /* remove the field */
    EVENT_EDIT_RENAME,   /* rename a payload field within its object */
    EVENT_EDIT_HASH,     /* replace the value by its HMAC-SHA-256 in hex */
    EVENT_EDIT_TRUNCATE, /* cut a text */
};

/* The arguments of an edit. */
struct event_edit_words {
    enum event_edit_kind kind;
    struct span path;                /* unused by TAG */
    struct span value;               /* SET: the text, TAG: the tag, RENAME: the name */
    uint32_t bytes;                  /* TRUNCATE: UTF-8 bytes to keep */
    const struct plat_hash_key *key; /* HASH; outlives the edit */
};

struct event_edit {
    enum event_edit_kind kind;
    struct event_path path;
    struct span path_text;
    struct span value;
    uint32_t bytes;
    const struct plat_hash_key *key;
    struct schema_field
        field; /* SET of data: schema of the value; RENAME: name and keys, for values without a
                  schema of their own */
};

enum { EVENT_EDIT_MAX_VALUE_BYTES = 4096 };

/* Copies the texts into ${arena}. False if the field does not allow this edit; ${err} names the
 * fields that do. */
bool event_edit_compile(const struct event_edit_words *words, struct arena *arena,
    struct event_edit *ret_edit, struct error *err);

/* `set`. Static. */
const char *event_edit_word(enum event_edit_kind kind);

#endif
