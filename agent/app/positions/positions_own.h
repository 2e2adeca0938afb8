#ifndef ETWSHIP_APP_POSITIONS_OWN_H
#define ETWSHIP_APP_POSITIONS_OWN_H

#include <stdatomic.h>

#include "app/plan/stream_key.h"
#include "app/positions/handover.h"
#include "app/positions/positions.h"
#include "app/state/data_folder.h"
#include "platform/plat_thread.h"
#include "store/catalogue/catalogue.h"
#include "store/store.h"

/*
 * Shared by the files of positions; not for users of positions.h. positions.c: outputs, if batches
 * wait in memory, and files. positions_live.c: live sessions. positions_store.c: opening and
 * closing, and what a commit contains. positions_sources.c: where sources resume if batches wait on
 * the disk.
 */

/* A file that was given whole, and that not all outputs may have taken yet. */
struct positions_file {
    size_t session;
    uint8_t id[16];
    uint64_t last_sequence;
};

/* An output in a store that keeps no batches. */
struct positions_output {
    struct buf others;     /* its sessions that this run does not have: catalogue_progress_add */
    struct buf checkpoint; /* of the run before */
};

struct positions {
    /* Of the thread that makes the agent, and read-only once the pipeline has started. */
    const struct app_config *config;
    struct agent_plan *plan;
    struct log *log;
    struct store **memory; /* positions_settings */
    const char *data_dir;  /* NULL: nothing is remembered beyond the process */
    bool is_durable;       /* spool.mode */
    bool keeps;            /* batches wait on the disk; else in memory */
    char folder[DATA_FOLDER_PATH_BYTES];
    char catalogue[DATA_FOLDER_PATH_BYTES];
    char (*keys)[STREAM_KEY_BYTES]; /* by stream */
    uint64_t *last_times;           /* by session */
    uint64_t *resume;               /* [session * output_count + output] */
    bool restarted;                 /* an earlier run has left positions */
    bool is_back;                   /* a stream continues before where it was */
    struct handover handover;
    void **inputs;             /* by session */
    struct pipeline *pipeline; /* NULL: not made yet */

    /* Of the store's owner: until the pipeline starts, the thread that makes the agent; from then
     * on the spool's thread if batches wait on the disk, which calls `stage`, else the thread that
     * holds the mutex. */
    struct store *store;
    struct buf *states;          /* by session: as its input said last */
    bool is_remade;              /* the catalogue was, and knows no states that fit */
    struct positions_live *live; /* by session */

    /* Guarded by the mutex, which is held while the disk is written if batches wait in memory. */
    struct plat_mutex mutex;
    struct positions_output *outputs; /* NULL if the store keeps batches */
    uint64_t *stored;                 /* [output * (session_count + 1) + session] */
    uint64_t *stored_changes;         /* by output */
    struct positions_file *files;
    size_t file_count;
    size_t file_capacity;

    /* For threads that do not own a store of batches, and for all before a thread owns it. The
     * store closes the connection when it rebuilds the catalogue. */
    struct plat_mutex reader_mutex;
    struct catalogue *reader; /* NULL: not open now */

    atomic_bool is_over; /* positions_end */
    atomic_bool fails;   /* the last positions_save_or_warn did */
};

/* ---- positions.c ---- */

/* Stage which files are settled as a whole, and report that to their inputs. By the store's owner,
 * with the mutex. */
bool positions_finish_files(struct positions *p, struct error *err);

/* ---- positions_live.c; by the store's owner ---- */

bool positions_live_open(struct positions *p, struct error *err);

/* After the outputs' states were taken; with a spool that keeps, while staging. */
bool positions_live_save(struct positions *p, struct error *err);

/* Up to where all outputs of a session have acked, or it is in a spool that keeps. False: no output
 * takes it; then ${ret_sequence} is left alone unless a spool keeps. */
bool positions_live_acked(const struct positions *p, size_t session, uint64_t *ret_sequence);

/* ---- positions_store.c ---- */

/* Open the store. If it keeps batches on disk, name the plan's streams and fill `resume`. False
 * with ${err} set; closing is allowed. */
bool positions_store_open(struct positions *p, struct error *err);
void positions_store_close(struct positions *p);

/* The settings that the pipeline needs; none unless the store keeps batches. */
struct pipeline_store positions_store_settings(struct positions *p);

/* The connection to the catalogue. Takes its mutex, in any case. NULL with ${err}: it cannot be
 * opened. */
struct catalogue *positions_store_take_reader(struct positions *p, struct error *err);

/* Stage what the inputs need to continue as before, as far as that has changed. */
bool positions_store_stage_states(struct positions *p, struct error *err);

/* ---- positions_sources.c ---- */

/* The store was opened, and what another mode had left is in it: name its streams, fill `resume`
 * and make true what is new of both. */
bool positions_sources_find(struct positions *p, struct error *err);

#endif
