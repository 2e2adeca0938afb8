#ifndef ETWSHIP_PIPELINE_DEAD_LETTERS_H
#define ETWSHIP_PIPELINE_DEAD_LETTERS_H

#include "base/error.h"
#include "pipeline/deliver/dead_letter.h"
#include "pipeline/deliver/evictions.h"
#include "store/catalogue/catalogue_letters.h"

/*
 * Keeps dead letters in bounded space. Either the oldest are removed for new ones, and counted, or
 * new ones must wait and none is removed. All functions: any thread. Several processes may use one
 * store at a time.
 */
struct dead_letters;

struct dead_letters_usage {
    uint64_t bytes;
    uint64_t evicted; /* letters that made room, since the store was opened by this process */
};

struct dead_letters_ops {
    /* Keep ${count} letters, durably, whose ids the store gives. False with ${err} set: as well as
     * none is kept, and all may be put again. ERR_LIMIT: all of them wait, and there is no room. */
    bool (*put)(struct dead_letters *letters, const struct dead_letter *items, size_t count,
        struct error *err);

    /* Call ${each} for every letter, the oldest first, until it returns false. Others may put and
     * remove meanwhile. */
    bool (*each)(struct dead_letters *letters,
        bool (*each)(void *self, const struct dead_letter *letter), void *self, struct error *err);

    /* Remove the letters with ${ids}, in ascending order;
     * those that are not there are no failure. */
    bool (*remove)(struct dead_letters *letters, const uint64_t *ids, size_t count,
        uint64_t *ret_removed, struct error *err);

    bool (*usage)(
        struct dead_letters *letters, struct dead_letters_usage *ret_usage, struct error *err);
    void (*destroy)(struct dead_letters *letters);
};

struct dead_letters {
    const struct dead_letters_ops *ops;
};

struct dead_letters_catalogue_settings {
    const char *path; /* of the spool's catalogue (store/catalogue/catalogue.h) */
    const char
        *files; /* the folder of their second copy (store/letters/letter_files.h); NULL: none */
    uint64_t max_bytes; /* 0: 64 MB */

    /* Letters of an output had to make room. Any thread. May be NULL. */
    void (*evicted)(void *self, const struct eviction *eviction);
    void *self;
};

/* Default limit. */
#define DEAD_LETTERS_CATALOGUE_MAX_BYTES (UINT64_C(64) * 1024 * 1024)

/* As the catalogue keeps it: borrowed from ${letter}; a document that is too long is left out. */
struct catalogue_letter dead_letters_catalogue_row(const struct dead_letter *letter);

/* In the catalogue of a durable spool (dead_letters_catalogue.c), beside its owner. Without a
 * catalogue there is nothing to read, and no place to put anything. NULL: out of memory. */
struct dead_letters *dead_letters_catalogue_create(
    const struct dead_letters_catalogue_settings *settings, struct error *err);

static inline void dead_letters_destroy(struct dead_letters *letters) /* NULL is fine */
{
    if (letters) {
        letters->ops->destroy(letters);
    }
}

#endif
