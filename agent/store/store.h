#ifndef ETWSHIP_STORE_STORE_H
#define ETWSHIP_STORE_STORE_H

#include "base/buf.h"
#include "base/error.h"
#include "base/span.h"

/*
 * Batches on disk with their state: segment files for the bytes, a catalogue in SQLite for the
 * rest. Of events, sessions and outputs it knows only names.
 *
 * Changes are staged in memory. store_commit commits everything staged since the last one, in one
 * transaction. A failed commit leaves everything staged, and the caller tries again, as after a
 * full disk. Only committed batches may be handed to an output.
 *
 * One thread at a time, except store_read: any thread, at the same time as everything but
 * store_close.
 */
struct catalogue;
struct catalogue_gap; /* catalogue_sources.h */
struct disk;
struct store;

/* ---- opening --------------------------------------------------------------------------------- */

/* The clock. */
struct store_clock {
    uint64_t (*now)(void *self);          /* FILETIME; may jump */
    uint64_t (*monotonic_ns)(void *self); /* never does */
    void *self;
};

/* Something that people should know; none of it stops the store. */
enum store_news {
    STORE_NEWS_REBUILT, /* the catalogue was lost or unreadable, and rebuilt from the segments */
    STORE_NEWS_DAMAGED, /* something cannot be read; set aside where that is possible */
    STORE_NEWS_MISSING, /* a segment that the catalogue knows is not there */
    /* the last run did not end by itself: what it had not committed is cut off */
    STORE_NEWS_UNCLEAN,
    STORE_NEWS_CLOCK,          /* the clock was set, by more than a minute */
    STORE_NEWS_NOT_DELETED,    /* a file that cannot be deleted now, and is tried again */
    STORE_NEWS_OUTPUT_REMOVED, /* an output that was not open for max_age pins nothing any more */
    STORE_NEWS_LETTERS,        /* dead letters came back from their files, and which are lost */
};

struct store_settings {
    const char
        *folder; /* made if missing; NULL: the catalogue is in memory, and there are no batches */
    uint64_t max_bytes; /* of all files together, of the catalogue a quarter at most; 0: no limit */
    uint64_t min_free_bytes; /* of the disk; 0: no limit */
    uint64_t max_age_ms;     /* of a batch; 0: no limit */
    uint64_t segment_bytes;  /* of a file; 0: 64 MB, or an eighth of max_bytes where that is less */
    bool zstd;               /* batches are packed */
    /* this run appends batches only if an earlier one left some: no ballast is made */
    bool no_batches;
    struct disk *disk;               /* borrowed; NULL: the real one */
    const struct store_clock *clock; /* borrowed; NULL: the system's */

    /* ${text} is one line for the log. In store_open, store_commit and store_drop. May be NULL. */
    void (*report)(void *self, enum store_news news, const char *text);

    /* Close what else this process has open of the catalogue: the file is about to be moved away,
     * which Windows refuses while it is open, or was replaced. In store_open and store_commit. May
     * be NULL. */
    void (*close_readers)(void *self);

    /* Around each durable step, with a name from store_steps.def; for tests, which end the process
     * there. May be NULL. */
    void (*step)(void *self, const char *name);
    void *self; /* of all */
};

/*
 * Open what stands in the folder, or begin. The time it takes does not depend on how much waits
 * there, unless the catalogue has to be rebuilt. One store at a time has a folder: the caller locks
 * it.
 *
 * NULL with ${err}: the folder cannot be used, it is of a newer version (ERR_UNSUPPORTED, and
 * nothing was touched), out of memory. Damage is no failure.
 */
struct store *store_open(const struct store_settings *settings, struct error *err);

/* In the folder: the folder of dead letters beside the catalogue (letter_files.h). */
#define STORE_LETTERS_FOLDER "letters"

/* Dead letters that were lost in rebuilds of the catalogue since the store was opened; at least one
 * if only bytes are known to be lost. */
uint64_t store_letters_lost(const struct store *store);

/* Without a commit: what is staged is dropped. NULL is fine. */
void store_close(struct store *store);

/* Batches that were committed so far have no higher ids, all later ones do. */
uint64_t store_last_id(const struct store *store);

/* ---- streams and outputs --------------------------------------------------------------------- */

enum {
    STORE_NAME_MAX = 512,        /* bytes of a session's or output's name, and of a stream's key */
    STORE_ABOUT_MAX = 64 * 1024, /* of what a stream or range is about */
    STORE_BODY_MAX = 64 << 20,   /* of a batch */
    STORE_VALUE_MAX = 4 << 20,   /* of a checkpoint, a source's state, a batch's leftover */
    STORE_EARLY_MAX = 4096,      /* ids beyond an output's position */
};

/* The stream with ${key}, made if there is none; what it is about is then ${about}, else stays. Ids
 * are the same over restarts. */
bool store_stream(struct store *store, struct span key, uint32_t hash, struct span about,
    uint64_t *ret_stream, struct error *err);

struct store_output_state {
    bool is_new;       /* nothing was known of it */
    bool is_changed;   /* it had another stream until now, or the same for another purpose */
    uint64_t position; /* it is done with every batch of its chain up to this id */
};

/*
 * Open output ${name}, which reads ${stream} from now on. An output has a chain of ranges of ids,
 * each of one stream, with the words ${about} that the caller needs to read it (such as its
 * routes). If stream and words equal those of the last range, that range continues. Else it ends at
 * the last committed batch, the output reads what is left in it first, and a new range begins.
 *
 * A new output begins after the last batch, or with ${from_head} at the oldest batch of the stream.
 * From then on it pins what it has not settled. ${ret_output} is its number in this run, from 0 in
 * the order of calls. Takes effect with the next commit. Call it before anything is appended. The
 * store removes outputs that were not open for max_age.
 */
bool store_output(struct store *store, struct span name, uint64_t stream, struct span about,
    bool from_head, size_t *ret_output, struct store_output_state *ret_state, struct error *err);

/* Its checkpoint as last committed: empty if there was none. ${ret_value} grows. */
bool store_checkpoint(struct store *store, size_t output, struct buf *ret_value, struct error *err);

/* Ids beyond the position that it is done with, ascending. Valid until it is moved. */
const uint64_t *store_early(const struct store *store, size_t output, size_t *ret_count);

/* ---- batches --------------------------------------------------------------------------------- */

/* The batch takes session ${session} in its stream up to ${sequence}. */
struct store_source {
    struct span session;
    uint64_t sequence;
};

struct store_batch {
    uint64_t stream;
    struct span body; /* opaque */
    bool is_lent;     /* the body stays as it is until it is committed, and is not copied */
    uint32_t records;
    uint64_t first_time; /* of its events, FILETIME; 0: unknown */
    uint64_t last_time;
    const struct store_source *sources;
    size_t source_count;
};

/*
 * What the catalogue knows of a batch.
 *
 * The epoch is 64 random bits. With a record's number it identifies the record among those of all
 * stores. Each run draws a new epoch, and another one when the clock is set, so that a cloned
 * machine, or one that was set back to a snapshot, never repeats ids. A batch keeps its epoch. Not
 * noticed: a running machine that is set back, until its clock is corrected.
 */
struct store_row {
    uint64_t id; /* ascending over all streams, with holes */
    uint64_t stream;
    uint64_t epoch;
    uint64_t first_record; /* numbers run over all streams, with holes */
    uint32_t records;
    uint64_t body_bytes;
    uint64_t disk_bytes;
    uint64_t first_time;
    uint64_t last_time;
    uint64_t entered; /* FILETIME */
    size_t range;     /* where it came from store_next: which of the output's ranges */
    bool has_left;    /* and whether something was left of it by store_leftover */
    /* Its place, for store_read. */
    uint64_t segment;
    uint64_t offset;
};

/*
 * Stage a batch after all others. Everything is copied, but a body that is lent: a caller that
 * takes that back before a commit has succeeded may only close the store. ${ret_row} is final: a
 * commit that fails changes nothing of it, and no other batch that is ever committed has its
 * numbers; but where the batch lies is known only to store_next, after the commit. Without room for
 * it in memory, or beyond the limits above: false, and nothing was staged.
 */
bool store_append(struct store *store, const struct store_batch *batch, struct store_row *ret_row,
    struct error *err);

/* Bytes of memory that what is staged holds, bodies that are lent among it. */
uint64_t store_staged_bytes(const struct store *store);

/*
 * Up to ${max} committed batches that output ${output} has not settled (neither by position nor
 * early), after batch ${after}, in its order: the chain's ranges one after the other. 0 rows:
 * nothing is after ${after} now.
 */
bool store_next(struct store *store, size_t output, uint64_t after, struct store_row *rows,
    size_t max, size_t *ret_count, struct error *err);

/* The words of range ${range} of an output, as store_output was given them. NULL data: there is no
 * such range (any more). Valid until the next commit. */
struct span store_range_about(const struct store *store, size_t output, size_t range);

/* Append the output's leftover of batch ${id} to ${ret_left}; nothing if none was noted. */
bool store_left(
    struct store *store, size_t output, uint64_t id, struct buf *ret_left, struct error *err);

enum store_read {
    STORE_READ_OK,
    STORE_READ_DAMAGED, /* it is not what was written, or not there: see store_set_aside */
    STORE_READ_FAILED,  /* the disk, or memory; may be tried again */
};

/* Upper limit of ${room} of store_read: the frame and the unpacked body. */
enum { STORE_READ_ROOM_BYTES = 2 * STORE_BODY_MAX + (4 << 20) };

/* Read a committed batch: ${ret_body} points into ${room}, emptied before. Its checksum, id, epoch
 * and stream are proved. ${err} is set for all but OK. Any thread. */
enum store_read store_read(struct store *store, const struct store_row *row, struct buf *room,
    struct span *ret_body, struct error *err);

/* ---- what else becomes true with a commit ---------------------------------------------------- */
/* All are staged; a later one for the same key takes the earlier one's place. False: out of memory,
 * or beyond the limits; nothing was staged then. Values are copied. */

/*
 * The position of an output, in one of two forms:
 * - Batches wait in segments: its place in its chain. It has settled every batch up to `position`,
 *   which never decreases, and those of `early` (ascending, beyond the position).
 * - Batches wait in memory: the output has a name here, and `sessions` has its position in sessions
 *   that are read again (catalogue_progress_add). The store removes a row without sessions and
 *   checkpoint.
 */
struct store_progress {
    size_t output; /* of store_output */
    uint64_t position;
    const uint64_t *early;
    size_t early_count;

    struct span name; /* empty: it is a place in a chain */
    struct span sessions;

    /* of the same moment; NULL: of a chain the last one stands, else there is none */
    const struct span *checkpoint;
};

/* The only way in which what an output has acked becomes durable: with the next store_commit, and
 * together with the checkpoint. */
bool store_progress(struct store *store, const struct store_progress *progress, struct error *err);

/* Of batch ${id} only what ${left} says (opaque; empty: nothing) is still to be delivered. */
bool store_leftover(
    struct store *store, size_t output, uint64_t id, struct span left, struct error *err);

/* Set the position of session ${session} in ${stream} to ${sequence}. Appending a batch sets it
 * too; this is for events that gave no batch. Never decreases. */
bool store_source(struct store *store, struct span session, uint64_t stream, uint64_t sequence,
    struct error *err);

/* As store_source, but it may go back: outputs then get the events that they lack. Before anything
 * is appended. */
bool store_source_from(struct store *store, struct span session, uint64_t stream, uint64_t sequence,
    struct error *err);

/* An input's own state. */
bool store_source_state(
    struct store *store, struct span session, struct span state, struct error *err);

/* The whole file is in the store: its last event was ${sequence}. */
bool store_done(struct store *store, struct span session, const uint8_t file_id[16],
    uint64_t sequence, struct error *err);

/* A live session is in the store up to ${time} (FILETIME). */
bool store_live(struct store *store, struct span session, uint64_t time, struct error *err);

/* From now on a row of sessions says how far the output is: remove the checkpoint of its chain. An
 * unknown output is fine. */
bool store_drop_checkpoint(struct store *store, struct span output, struct error *err);

/* Stage an open gap: a counted loss that no batch reports yet. `count` 0 closes it together with
 * the batches appended so far. Its key: session, output, stage, reason, unit. */
bool store_gap(struct store *store, const struct catalogue_gap *gap, struct error *err);

/* ---- reading it back ------------------------------------------------------------------------- */

/* The catalogue: committed state, without what is staged. For reading on the store's thread until
 * the next change. NULL with ${err}: it was lost, and the next commit rebuilds it. */
struct catalogue *store_catalogue(const struct store *store, struct error *err);

/* ---- commit ---------------------------------------------------------------------------------- */

struct store_committed {
    uint64_t last_id; /* batches up to this id may be handed out */
    uint64_t batches; /* that this commit brought */
    uint64_t bytes;   /* that they take on disk */
};

/*
 * Write what is staged, sync, and make it true in one transaction. Batches that all outputs have
 * settled go with it. With nothing staged: only that.
 *
 * False with ${err}: nothing of it is true, all is staged as before, to be committed again
 * (ERR_FULL, ERR_READ_ONLY, ERR_IO, ERR_BUSY, ERR_MEMORY). A batch whose sync failed is written
 * again, into another file. With ERR_FULL, where the disk has no room for batches, and there are
 * some, what needs none becomes true nevertheless if it can, out of the ballast where need be
 * (store_committed_rest): cursors, leftovers, what was dropped, and gaps that are not closed.
 * Batches, and how far sources are, wait for one another.
 */
bool store_commit(struct store *store, struct store_committed *ret_committed, struct error *err);

/* Has the last commit made all true but batches and what depends on them? */
bool store_committed_rest(const struct store *store);

/* Will store_read soon read batches that are committed from now on, as outputs are late?
 * Then the system is to keep them in memory if it can. At first they are not. */
void store_expect_reads(struct store *store, bool expected);

/* Call it after each commit, successful or not, when no thread waits for the commit: delete
 * unneeded files (one may take 0.1 s) and measure the free space. Files that cannot be deleted are
 * tried again next time. True if there is more room now. */
bool store_tidy(struct store *store);

/* ---- limits ---------------------------------------------------------------------------------- */

struct store_usage {
    uint64_t bytes; /* on disk: segments, those to be deleted among them, and the catalogue */
    uint64_t catalogue_bytes; /* of these: the catalogue */
    uint64_t batches;         /* committed and not settled by all */
    uint64_t oldest;          /* when the oldest of them entered, FILETIME; 0: there is none */
    uint64_t oldest_ms;       /* its age */
    uint64_t free_bytes;      /* of the disk; UINT64_MAX: unknown */
};

bool store_usage(struct store *store, struct store_usage *ret_usage, struct error *err);

/* Size and age of what waits for one output. */
struct store_backlog {
    uint64_t batches;
    uint64_t records;
    uint64_t bytes;
    uint64_t oldest; /* FILETIME; 0: nothing waits */
};

bool store_backlog(
    struct store *store, size_t output, struct store_backlog *ret_backlog, struct error *err);

enum store_room {
    STORE_ROOM_OK,
    STORE_ROOM_FULL, /* max_bytes */
    STORE_ROOM_DISK, /* min_free_bytes, or the last commit found the disk full */
};

/* Is there room for ${bytes} more, with what is staged? The free space is asked for once a second
 * at most. */
enum store_room store_room(struct store *store, uint64_t bytes);

/* A caller waits for room, or does not any more. While it is needed commits give up the file that
 * is written to as well, when nothing is in it that an output wants; the next one looks for such
 * files. */
void store_need_room(struct store *store, bool is_needed);

/* Bytes that batches may take on the disk, those that are there included: what max_bytes allows, or
 * what the disk has beside min_free_bytes where that is less. UINT64_MAX: neither is known. */
uint64_t store_capacity(const struct store *store);

enum store_drop {
    STORE_DROP_FULL,    /* the oldest that would make room */
    STORE_DROP_TOO_OLD, /* what is older than max_age */
};

/* Called with what was lost. */
struct store_loss {
    /* Is batch ${id} in the hands of an output, so that it had better stay? May be NULL. */
    bool (*is_busy)(void *self, uint64_t id);
    /* Batch ${row} is lost for ${output}, which had not settled it (of outputs that are not open in
     * this run: SIZE_MAX, with their name), and is never given to it again: its cursor may move
     * over it. Once for each output; before anything is true. */
    void (*lost)(void *self, size_t output, struct span name, const struct store_row *row);
    void *self;
};

/*
 * Give up what waits: staged, so that the losses become true together with the gaps that the caller
 * stages for them. FULL takes the oldest segment that an output still needs, and of it the batches
 * of the slowest output's stream; again, if that made no room (files go with the commit).
 * ${ret_count}: batches dropped; 0: there is nothing to be dropped.
 */
bool store_drop(struct store *store, enum store_drop why, const struct store_loss *loss,
    uint64_t *ret_count, struct error *err);

/* Remove outputs that were not open for max_age, and tell ${loss} of each batch that waits for one,
 * as store_drop does: staged. To be called before each commit; where it never is, commits remove
 * them by themselves, and only `report` hears of it. */
void store_remove_old(struct store *store, const struct store_loss *loss);

/* Give up a batch that store_read found damaged: its readable bytes are kept in `damaged/`, and it
 * is lost for all outputs (${loss}->lost) and reported. Staged. A batch that no longer exists is
 * not an error. */
bool store_set_aside(struct store *store, const struct store_row *row,
    const struct store_loss *loss, struct error *err);

#endif
