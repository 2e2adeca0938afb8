#ifndef ETWSHIP_EVENT_EVENT_EDIT_H
#define ETWSHIP_EVENT_EVENT_EDIT_H

#include "base/arena.h"
#include "base/hmac.h"
#include "event/write/event_path.h"

/*
 * One change of what is written of an event, as rules of filters have it (docs/reference/filter-language.md,
 * "Rules that edit"). Compiled once, immutable, for any number of threads; event_editor.h applies it.
 */
enum event_edit_kind {
    EVENT_EDIT_SET,      /* the field gets a text */
    EVENT_EDIT_TAG,      /* one more of `tags` */
    EVENT_EDIT_REMOVE,   /* the field goes */
    EVENT_EDIT_RENAME,   /* a field of the payload gets another name among its siblings */
    EVENT_EDIT_HASH,     /* the HMAC-SHA-256 of the value, in hex, stands for it */
    EVENT_EDIT_TRUNCATE, /* a text is cut */
};

/* What an edit says beside its field. */
struct event_edit_words {
    enum event_edit_kind kind;
    struct span path;           /* not of TAG */
    struct span value;          /* SET: the text, TAG: the tag, RENAME: the name */
    uint32_t bytes;             /* TRUNCATE: of UTF-8 that stay */
    const struct hmac_key *key; /* HASH; outlives the edit */
};

struct event_edit {
    enum event_edit_kind kind;
    struct event_path path;
    struct span path_text;
    struct span value;
    uint32_t bytes;
    const struct hmac_key *key;
    struct schema_field
        field; /* SET of data: what the value is; RENAME: name and keys, for values of
                                  which nothing else is known */
};

enum { EVENT_EDIT_MAX_VALUE_BYTES = 4096 };

/* Copies the texts into ${arena}. False for a field that this cannot be done to: ${err} says which it
 * can. */
bool event_edit_compile(const struct event_edit_words *words, struct arena *arena,
    struct event_edit *ret_edit, struct error *err);

/* `set`. Static. */
const char *event_edit_word(enum event_edit_kind kind);

#endif
