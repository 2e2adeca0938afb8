#ifndef ETWSHIP_STORE_CATALOGUE_H
#define ETWSHIP_STORE_CATALOGUE_H

#include "base/error.h"
#include "base/span.h"

/*
 * The state of a spool in one SQLite database: the places of batches, the positions of outputs and
 * sources, dead letters. It does not know threads or the bytes of segments. This header has the
 * database and its transactions; catalogue_batches.h, catalogue_outputs.h, catalogue_sources.h and
 * catalogue_letters.h have the rest.
 *
 * One thread at a time per catalogue object. Several processes may have one database open: the
 * agent, which writes, and commands, which read or change dead letters. So it is not locked
 * exclusively. An open read transaction keeps the write-ahead log from being reused, so every
 * reading function ends its transaction before it returns.
 *
 * Changes are made between catalogue_begin and catalogue_commit. If one fails, or the commit, the
 * transaction is rolled back and over: begin again and repeat everything. (If the disk failed, a
 * crash at that moment may still show the transaction as committed, but never a part of it.)
 *
 * Numbers: ids, counts and positions are below 2^62 (SQLite's integers have a sign, and sums must
 * fit, too); larger ones are refused with ERR_LIMIT. Ids begin at 1. Times, hashes and epochs are
 * any 64 bits.
 * UINT64_MAX stands for "no end" where a function says so.
 *
 * Functions that give all rows of a kind call ${each} until it returns false; what they give is
 * valid during the call, which must not use the catalogue. NULL: they are only read.
 *
 * Errors: ERR_DAMAGED what is read is no catalogue or not what was written: set it aside and build
 * a new one from the segments. (SQLite notices damage to its own structures alone; so rows that
 * nothing else proves, other than a batch's and a letter's, keep a checksum.) ERR_MISSING there is
 * none, or it was removed while it is open.
 * ERR_UNSUPPORTED a newer version wrote it. ERR_FULL, ERR_BUSY, ERR_READ_ONLY, ERR_IO: may be tried
 * again. ERR_LIMIT, ERR_MEMORY as everywhere.
 */
struct catalogue;

enum {
    CATALOGUE_NAME_MAX_BYTES = 512,
    CATALOGUE_EPOCHS_MAX_BYTES = 1024,
    CATALOGUE_TEXT_MAX_BYTES = 64 * 1024,       /* a key, a reason, an `about` */
    CATALOGUE_BLOB_MAX_BYTES = 4 * 1024 * 1024, /* a checkpoint, a state, early acks, leftovers */
    CATALOGUE_DOCUMENT_MAX_BYTES = 8 * 1024 * 1024, /* of a dead letter */
    CATALOGUE_COMMAND_WAIT_S = 60 /* a disk under load may take seconds for one sync */
};

enum catalogue_mode {
    CATALOGUE_WRITE,
    /* for commands: works beside an agent, where nothing may be written,
     * and where a killed one has left its log */
    CATALOGUE_READ,
};

/*
 * Open the catalogue at ${path}. NULL with ${err} set; ERR_MISSING if there is no file, or one that
 * catalogue_create had not filled when it was stopped. An older version is upgraded if it may be
 * written. Costs the same for any number of batches. Waits for other processes: a writer 5 s, a
 * reader CATALOGUE_COMMAND_WAIT_S.
 */
struct catalogue *catalogue_open(const char *path, enum catalogue_mode mode, struct error *err);

/*
 * As catalogue_open, for writers other than the owner of the segments: a log that an owner was
 * killed over stays when it is closed, with all that was committed to it, as it tells the next
 * owner that nothing is lost. Waits up to ${wait_s} seconds for others that write.
 */
struct catalogue *catalogue_open_beside(const char *path, unsigned wait_s, struct error *err);

/* The path of a catalogue that is not on a disk, and ends when it is closed. */
#define CATALOGUE_IN_MEMORY ":memory:"

/*
 * Make a catalogue where catalogue_open says ERR_MISSING; ${epoch} is any number but 0, ${earlier}
 * (at most CATALOGUE_EPOCHS_MAX_BYTES) what the owner keeps of those before it. A transaction is
 * open: until catalogue_commit there is no catalogue, so one that is built from segments is found
 * whole or not at all. NULL with ${err} set; ERR_CONFIG if there is one already.
 */
struct catalogue *catalogue_create(
    const char *path, uint64_t epoch, struct span earlier, struct error *err);

/* Let the log stay when the catalogue is closed, as if the process had been ended: the next process
 * that opens it knows that work was left. */
void catalogue_keep_log(struct catalogue *catalogue);

/* Uncommitted changes are rolled back. NULL is fine. */
void catalogue_close(struct catalogue *catalogue);

/* ---- transactions ---------------------------------------------------------------------------- */

/* Waits for others that write, then ERR_BUSY. */
bool catalogue_begin(struct catalogue *catalogue, struct error *err);

/* True: all of it is on the disk, and stays after a loss of power. */
bool catalogue_commit(struct catalogue *catalogue, struct error *err);

/* True if the open file and its log are still at their path. Else (ERR_MISSING) later processes do
 * not find what is committed to it, unless its owner writes a copy (catalogue_copy). True after a
 * commit means that every later copy contains it. On Windows an open file cannot be moved. */
bool catalogue_check_place(const struct catalogue *catalogue, struct error *err);

/* Undo what was done since begin. Nothing to undo is fine. */
void catalogue_rollback(struct catalogue *catalogue);

/* Was begun, and neither ended nor failed. */
bool catalogue_is_open(const struct catalogue *catalogue);

/* Move the log's content into the database and empty it. Not inside a transaction. Commits do so by
 * themselves in small parts; this is for an end. ERR_BUSY: a reader. */
bool catalogue_checkpoint(struct catalogue *catalogue, struct error *err);

/* Write all that was committed to a new catalogue at ${path}, durably. A file that was removed
 * while it is open can still be read (on Linux), so this is how it comes back. */
bool catalogue_copy(struct catalogue *catalogue, const char *path, struct error *err);

/* ---- the whole ------------------------------------------------------------------------------- */

/* The next number of each kind. Adding rows raises them. */
struct catalogue_counters {
    uint64_t stream;
    uint64_t segment;
    uint64_t batch;
    uint64_t record;
    uint64_t output;
    uint64_t letter;
};

struct catalogue_info {
    uint64_t epoch;
    struct span earlier; /* valid until the next call */
    struct catalogue_counters next;
    uint64_t batches;
    uint64_t batch_bytes; /* of the batches' places in segments */
    uint64_t letters;
    uint64_t letter_bytes;
    uint64_t letters_evicted; /* since the catalogue was made */
};

bool catalogue_info(
    struct catalogue *catalogue, struct catalogue_info *ret_info, struct error *err);

/* In a transaction: another epoch, and what is kept of earlier ones. */
bool catalogue_set_epochs(
    struct catalogue *catalogue, uint64_t epoch, struct span earlier, struct error *err);

/* In a transaction: raise counters that are lower than ${next}; the others stay. */
bool catalogue_raise(
    struct catalogue *catalogue, const struct catalogue_counters *next, struct error *err);

/* Bytes of the database and its log on the disk. */
uint64_t catalogue_disk_bytes(const struct catalogue *catalogue);

/* In a transaction: give at most ${max_pages} free pages at the end of the file back to the disk.
 * So many as catalogue_reserve keeps stay. */
bool catalogue_shrink(struct catalogue *catalogue, uint32_t max_pages, struct error *err);

/*
 * Have some 512 KB of free pages in the database, and a log of that size, both written and so the
 * catalogue's alone. On a disk that others have filled to the last byte, a commit that tells of
 * what outputs have then finds room: their files are what frees the disk. Not inside a transaction;
 * cheap where nothing is missing.
 */
bool catalogue_reserve(struct catalogue *catalogue, struct error *err);

/* Checkpoint the write-ahead log: move its content into the database and reuse its space. Not
 * inside a transaction. False: the database has no room, or another process reads it. */
bool catalogue_rewind_log(struct catalogue *catalogue);

/*
 * Read everything and check it against itself: SQLite's own structures, the sums that are kept,
 * that what is named is there. ${each} (may be NULL) gets one sentence per fault, at most 100.
 * False only if it cannot be read; takes as long as there are rows.
 */
bool catalogue_verify(struct catalogue *catalogue, void (*each)(void *self, const char *fault),
    void *self, uint64_t *ret_faults, struct error *err);

#endif
