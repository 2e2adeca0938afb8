#ifndef ETWSHIP_STORE_CATALOGUE_LETTERS_H
#define ETWSHIP_STORE_CATALOGUE_LETTERS_H

#include "store/catalogue/catalogue.h"

/*
 * Dead letters: records that a destination will never take. Kept in bounded space, the oldest make
 * room. The agent and commands beside it may put and remove, inside a transaction (catalogue.h);
 * that of a command is short.
 */
struct catalogue_letter {
    uint64_t id;   /* 1, 2, 3, …: given by the catalogue */
    uint64_t time; /* FILETIME */
    int64_t status;
    uint64_t epoch; /* of the record's name in its spool; 0: unknown */
    uint64_t record;
    struct span output; /* at most CATALOGUE_NAME_MAX_BYTES */
    struct span type; /* this and those below: at most CATALOGUE_TEXT_MAX_BYTES, the rest is cut */
    struct span reason;
    struct span index;
    struct span route;
    struct span document_id;
    struct span document; /* empty: it was too long to be kept (CATALOGUE_DOCUMENT_MAX_BYTES) */
};

/* The space that letters may take, and what is done when there is no more. */
struct catalogue_letters_room {
    uint64_t max_bytes;
    /* nothing is put (ERR_LIMIT); else the oldest are removed, though never the last one */
    bool waits;

    /* Letter ${id} was removed. Inside the transaction. May be NULL. */
    void (*evicted)(void *self, uint64_t id, struct span output, uint64_t time);
    void *self;
};

/*
 * Keep ${count} letters; their `id` is not looked at. ${ret_ids} (may be NULL) says the number of
 * each. One that the output has already, under its document_id or of the same record, is not kept
 * again, as it comes where a kill left unsaid that it was settled: 0, and its number stays free.
 * An empty document_id, and epoch 0, say nothing. ${room} NULL: there is no limit.
 */
bool catalogue_put_letters(struct catalogue *catalogue, const struct catalogue_letter *letters,
    size_t count, const struct catalogue_letters_room *room, uint64_t *ret_ids, struct error *err);

/* All, the oldest first, until ${each} returns false. Read in parts of about a megabyte, outside of
 * which others may put and remove, and ${each} may use the catalogue. */
bool catalogue_letters(struct catalogue *catalogue,
    bool (*each)(void *self, const struct catalogue_letter *letter), void *self, struct error *err);

/* In a transaction: keep a letter that was read elsewhere under its own id, in place of one that
 * has it. One that the output has already under another id is left out, as by
 * catalogue_put_letters. */
bool catalogue_restore_letter(
    struct catalogue *catalogue, const struct catalogue_letter *letter, struct error *err);

/* In a transaction: remove all letters up to ${id}. */
bool catalogue_remove_letters_to(struct catalogue *catalogue, uint64_t id, struct error *err);

bool catalogue_has_letter(
    struct catalogue *catalogue, uint64_t id, bool *ret_has, struct error *err);

/* The lowest id; UINT64_MAX: there is no letter. */
bool catalogue_first_letter(struct catalogue *catalogue, uint64_t *ret_first, struct error *err);

/* Can the letters be read, and are they as many as they should be? ERR_DAMAGED if not. */
bool catalogue_check_letters(struct catalogue *catalogue, struct error *err);

/* Remove letters by id; those that are not there are no failure. */
bool catalogue_remove_letters(struct catalogue *catalogue, const uint64_t *ids, size_t count,
    uint64_t *ret_removed, struct error *err);

#endif
