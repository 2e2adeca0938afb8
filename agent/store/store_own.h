#ifndef ETWSHIP_STORE_STORE_OWN_H
#define ETWSHIP_STORE_STORE_OWN_H

#include "store/age_clock.h"
#include "store/catalogue/catalogue.h"
#include "store/chains.h"
#include "store/disk/disk.h"
#include "store/disk/segments.h"
#include "store/pending.h"
#include "store/state/numbers.h"
#include "store/state/stage.h"
#include "store/state/streams.h"
#include "store/store.h"
#include "store/unneeded.h"

/* Shared by the files store*.c and rebuild.c; not for other modules. */
enum {
    STORE_PATH_BYTES = 4096,
    STORE_STAGE_BYTES = 32 << 20,
    STORE_BALLAST_BYTES = 8 << 20,
    STORE_SOME_ROOM_BYTES = 1 << 20, /* free on a disk that is not full */
};

struct store {
    struct store_settings settings; /* folder: own copy */
    char catalogue_path[STORE_PATH_BYTES];
    char damaged_path[STORE_PATH_BYTES]; /* the folder of what cannot be read */
    char letters_path[STORE_PATH_BYTES]; /* … and of dead letters (letter_files.h) */
    bool is_in_memory;                   /* all of it: there is no folder */
    uint64_t letters_lost;               /* since the store was opened */
    uint64_t letter_bytes;               /* of their files, when the disk was looked at last */
    struct age_clock clock;
    uint64_t started_ms; /* monotonic */

    struct segments *segments;
    struct catalogue *catalogue; /* NULL: lost, and to be rebuilt by the next commit */
    struct streams streams;
    size_t stream_looked_at; /* by a commit, last */
    struct chains chains;
    struct stage stage;
    struct pending pending;

    struct numbers *numbers;
    struct unneeded *unneeded;
    bool is_fresh; /* there was nothing yet */

    bool is_clock_set;      /* what the catalogue says of ages is to be moved */
    uint64_t moved_forward; /* by so much, 100 ns */
    uint64_t set_aside;     /* pieces, in this run */
    uint64_t free_bytes;    /* of the disk, when it was asked last */
    uint64_t free_asked_ms;
    bool is_unclean;         /* a commit failed: something may be written that is not committed */
    bool is_disk_full;       /* for batches, said a commit; and no room was seen since */
    bool caller_removes_old; /* outputs, by store_remove_old */
    bool is_rest_true;       /* of the last commit, all that needs no batches */
};

/* A line for the log. */
void store_tell(const struct store *store, enum store_news news, const char *format, ...)
    ETWSHIP_PRINTF(3, 4);

/* A place for tests to crash at. */
void store_step(const struct store *store, const char *name);

/* The catalogue's file is about to be moved away, or was replaced. */
void store_let_go(const struct store *store);

struct store_row store_row_of(const struct catalogue_batch *batch);

/* False with ${err}: the catalogue was lost, and could not be rebuilt yet. */
bool store_is_whole(const struct store *store, struct error *err);

/* Output ${output} of this run; NULL with ${err}: there is none. */
struct chain *store_chain(const struct store *store, size_t output, struct error *err);

/* ---- store_stage.c ---------------------------------------------------------------------------------- */

/* A name or value that the catalogue would refuse. */
bool store_is_too_long(struct span name, struct span value, struct error *err);

/* ---- store_age.c ------------------------------------------------------------------------------------ */

/* The time as FILETIME. A clock change is reported, and the next commit handles it. */
uint64_t store_now(struct store *store);

/* At the start: nothing entered in the future. */
bool store_age_open(struct store *store, struct error *err);

/* Inside a transaction. */
bool store_shift_ages(struct store *store, struct error *err);

/* Batches that entered before this time are too old; 0: none. */
uint64_t store_oldest_allowed(struct store *store);

/* Outputs that have not been there for max_age, unless the caller sees to them (store_remove_old). */
void store_remove_absent(struct store *store);

/* ---- store_limits.c --------------------------------------------------------------------------------- */

/* Is it staged that the batch goes? */
bool store_is_removed(const struct store *store, uint64_t id);

/* Look after the disk: how much is free, and the ballast. */
void store_look_at_disk(struct store *store);

#endif
