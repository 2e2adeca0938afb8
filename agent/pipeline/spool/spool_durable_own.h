#ifndef ETWSHIP_PIPELINE_SPOOL_DURABLE_OWN_H
#define ETWSHIP_PIPELINE_SPOOL_DURABLE_OWN_H

#include "pipeline/batch/batch_codec.h"
#include "pipeline/spool/batch_list.h"
#include "pipeline/spool/spool_cache.h"
#include "pipeline/spool/spool_durable.h"
#include "platform/plat_thread.h"
#include "store/store.h"

/*
 * The insides of the durable spool; not for users of spool_durable.h. Its rooms: spool_durable.c,
 * what the sealer and the pipeline ask; spool_writer.c, the thread; spool_stage.c, its work on
 * batches; spool_cursor.c, what outputs get; spool_later.c, what they hold for later;
 * spool_position.c, how far they are; spool_cache.c, committed batches in memory.
 *
 * One mutex over all but what is the writer's; held for moments, never while the store is used (but
 * to stage what cursors have come to, which copies memory) or a batch is read.
 */
enum {
    SPOOL_MAX_CURSORS = 256,
    SPOOL_WINDOW = 1024, /* rows that a cursor knows ahead: during a commit, and while files are
                                 deleted, which may take a fifth of a second, none are added … */
    SPOOL_ROWS_AT_ONCE = 128, /* … and else as soon as there is room for so many */
    SPOOL_MAX_FLIGHTS =
        STORE_EARLY_MAX,   /* batches that an output has in hand, or has acked early */
    SPOOL_READ_TRIES = 10, /* before a batch that the disk does not give counts as damaged */
};

/* A batch that a cursor gets later. */
struct spool_entry {
    struct store_row row;
    size_t route;
    uint32_t stream_hash;
    bool earlier;
    uint32_t *left; /* see spool_item; owned */
    size_t left_count;
};

/* One that it was given. */
struct spool_flight {
    struct spool_flight *next;
    struct spool_entry entry;
    struct batch *batch;
    bool settled;
    bool damaged;    /* the writer knows, and settles it after counting the loss */
    bool put_down;   /* for later, … */
    size_t held;     /* … and so many of its records are not settled */
    bool in_reading; /* as it is picked up */
    bool gone;       /* it was dropped while it was put down … */
    bool told;       /* … and the output has heard of it; spool_ops.put_down says the rest */
    bool waits;      /* it could not be read, and is tried again … */
    uint64_t due_ns; /* … then */
    unsigned tries;
    uint32_t *noted; /* its unsettled records, to be staged; NULL: nothing to stage */
    size_t noted_count;
};

struct spool_cursor {
    struct spool_reader reader;
    struct plat_cond ready;

    struct spool_entry *window; /* a ring */
    size_t window_first;
    size_t window_count;
    bool at_tip; /* after the window is nothing */
    bool left;   /* it gets no further batch */
    bool restless;
    uint64_t fetched; /* of the writer: the id that the window ends with */
    uint64_t taken;   /* the id that was handed out last */

    struct spool_flight *flights; /* in order */
    struct spool_flight *last_flight;
    size_t flight_count;
    size_t waiting_count; /* of them */
    size_t gone_count;    /* of them: the output has not heard of these yet */
    uint64_t position;    /* everything up to this id is settled */
    uint64_t *before;     /* ids beyond it that earlier runs have settled, ascending */
    size_t before_count;

    /* What the next commit contains. */
    bool changed;      /* since it was staged */
    uint64_t noted_in; /* rounds that had begun when it was noted */
    uint64_t stored_position;
    uint64_t *stored_early;
    size_t stored_early_count;
    struct buf stored_checkpoint;

    struct spool_backlog backlog; /* as the writer has seen it last */
};

struct spool_durable {
    struct spool base;
    struct spool_durable_settings settings;
    struct batch_codec codec;
    uint64_t *stream_ids;   /* of the store */
    size_t *stream_cursors; /* by stream: how many */
    size_t pending_max;     /* bytes */

    struct plat_mutex mutex;
    struct plat_cond work;  /* of the writer */
    struct plat_cond room;  /* of the sealer */
    struct plat_cond round; /* a commit is over */
    struct plat_thread *thread;
    struct spool_cursor cursors[SPOOL_MAX_CURSORS];
    size_t cursor_count;

    struct batch_list pending; /* appended */
    size_t pending_bytes;      /* of these and of what the writer has of them */
    uint64_t pending_since_ns; /* when the first thing came that is not true; UINT64_MAX: none */
    struct spool_cache *cache;
    size_t max_ahead;          /* 0: the sealer does not wait for outputs */
    bool holds_back;           /* it waits for them */
    bool takes;                /* an output has taken a batch from memory since it waited in vain */
    uint64_t taken_ns;         /* when one did, or the sealer began to wait */
    struct store_row *damaged; /* rows that the writer is to set aside */
    size_t damaged_count;
    size_t damaged_capacity;

    uint64_t rounds_begun;
    uint64_t rounds_done;
    uint64_t cursors_true; /* the last round whose cursors became true … */
    uint64_t all_true;     /* … and all that was appended before it */
    struct error last_error;
    bool commit_asked; /* a caller waits for a commit */

    enum spool_room live_room; /* SPOOL_ROOM, or why there is none */
    bool replay_room;
    bool failing; /* the last commit did */
    bool closed;
    bool cancelled;
    bool written; /* closed, and all of it committed */
    bool running; /* there is a writer */
    bool over;
    bool halted;
    struct spool_usage usage;

    /* Of the writer. */
    struct batch_list waiting; /* to be staged */
    struct batch_list staged;
    struct store_row *rows; /* of the staged ones; id 0: nothing is to be handed out */
    size_t row_count;
    size_t row_capacity;
    uint64_t *sequences;          /* [session * stream_count + stream]: staged */
    struct store_source *sources; /* room for those of a batch */
    uint64_t *source_sequences;   /* by session, of a batch; 0 between */
    uint64_t first_id;            /* of this run; UINT64_MAX: none was appended */
    uint64_t retry_ns;            /* a commit that failed is tried again then */
    uint64_t refill_ns;           /* and rows that were not given are asked for again */
    unsigned failures;            /* in a row */
    enum spool_room told_room;    /* what was logged last */
    uint64_t looked_ns;           /* when ages and usage were looked at */
    bool dropped;                 /* something was, and the files go with a commit */
};

static inline struct spool_durable *spool_durable_of(struct spool *spool)
{
    return (struct spool_durable *)spool;
}

/* Is there room for more rows, and are there any? Holds the mutex. */
static inline bool spool_cursor_wants_rows(const struct spool_cursor *cursor)
{
    return !cursor->at_tip && cursor->window_count <= SPOOL_WINDOW - SPOOL_ROWS_AT_ONCE;
}

/* Something waits to become true from now on. Holds the mutex. */
void spool_durable_touch(struct spool_durable *spool);

/* An output has taken a batch from memory. Holds the mutex. */
void spool_durable_note_take(struct spool_durable *spool);

void spool_durable_warn(struct spool_durable *spool, const char *kind, const char *text);

/* Will this run or the next one get the session's events again, if they are not stored? */
static inline bool spool_durable_comes_again(const struct spool_durable *spool, uint32_t session)
{
    return session + 1 < spool->settings.session_count && spool->settings.comes_again[session];
}

/* Has the disk no room? */
static inline bool spool_durable_is_full(const struct error *err)
{
    return err->code == ERR_FULL || err->code == ERR_LIMIT;
}

/* ---- spool_cursor.c -------------------------------------------------------------------------- */

bool spool_cursor_add(struct spool *base, const struct spool_reader *reader, size_t *ret_cursor,
    struct spool_backlog *ret_backlog, struct error *err);
enum spool_next spool_cursor_next(
    struct spool *base, size_t index, uint64_t deadline_ns, struct spool_item *ret_item);
void spool_cursor_end(struct spool *base, size_t index);
void spool_cursor_ack(
    struct spool *base, size_t index, const struct spool_item *item, bool settled);
/* Read and decode a batch. ${ret_batch} is NULL where that may work later. Any thread, no mutex. */
enum store_read spool_cursor_load(struct spool_durable *spool, const struct spool_entry *entry,
    struct batch **ret_batch, struct error *err);
/* The writer is to set it aside. False: there is no memory to tell. Holds the mutex. */
bool spool_cursor_report_damage(struct spool_durable *spool, const struct store_row *row);
/* Forget the flights that everything before is settled, too. Holds the mutex. */
void spool_cursor_land(struct spool_cursor *cursor);
void spool_cursor_fini(struct spool_cursor *cursor);

/* ---- spool_later.c --------------------------------------------------------------------------- */

void spool_later_put_down(
    struct spool *base, size_t index, const struct spool_item *item, size_t count);
enum spool_pick spool_later_pick_up(struct spool *base, size_t index, struct spool_item *item);
uint64_t spool_later_next_gone(struct spool *base, size_t index);
void spool_later_set_restless(struct spool *base, size_t index, bool restless);

/* The writer's: know more rows, where few are left. False: the catalogue does not give them.
 * Without the mutex. */
bool spool_cursor_refill(struct spool_durable *spool, size_t index);

/* The writer's, with the mutex held. */
/* A row is lost: is it to the output? Not what it has in hand, or has acked since the last commit.
 * Of what it has put down the row's records become those that it had not settled. */
bool spool_cursor_lose(struct spool_durable *spool, size_t index, struct store_row *row);
/* The batch of ${row} could not be read, and was set aside. True if that is the output's loss: then
 * the row's records become what it had not settled of them. */
bool spool_cursor_lose_damaged(struct spool_durable *spool, size_t index, struct store_row *row);
/* Is the batch in the output's hands, and not put down? */
bool spool_cursor_has(const struct spool_cursor *cursor, uint64_t id);

/* ---- spool_position.c ------------------------------------------------------------------------ */

void spool_position_note_left(struct spool *base, size_t index, const struct spool_item *item,
    const uint32_t *records, size_t count);
bool spool_position_checkpoint(
    struct spool *base, size_t index, struct span bytes, bool now, struct error *err);
bool spool_position_first_checkpoint(
    struct spool *base, size_t index, struct buf *ret_bytes, struct error *err);

/* The writer's, with the mutex held: what the cursor has come to. */
bool spool_position_stage(struct spool_durable *spool, size_t index, struct error *err);

/* ---- spool_stage.c; the writer's, without the mutex ------------------------------------------ */

/* Batches that could not be read. */
void spool_stage_damaged(struct spool_durable *spool);

/* Accept what there is room for. ${ret_room}: room is left; ${ret_again}: older batches were
 * dropped, so there may be room after the next commit. */
void spool_stage_batches(struct spool_durable *spool, enum spool_room *ret_room, bool *ret_again);

void spool_stage_too_old(struct spool_durable *spool);

/* Remove outputs that were absent for max_age: what waits for them is lost, and this commit stores
 * the gap. */
void spool_stage_remove_old(struct spool_durable *spool);

enum spool_room spool_stage_room(struct spool_durable *spool, uint64_t bytes);

/* ---- spool_writer.c -------------------------------------------------------------------------- */

bool spool_writer_start(struct spool_durable *spool, struct error *err);
void spool_writer_stop(struct spool_durable *spool);

/* Wait for a commit that begins now or later, and was not begun: of cursors alone, or of ${all}.
 * False with ${err} set if it failed. Without the mutex; not the writer. */
bool spool_writer_wait(struct spool_durable *spool, bool all, struct error *err);

#endif
