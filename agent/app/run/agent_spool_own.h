#ifndef ETWSHIP_APP_AGENT_SPOOL_OWN_H
#define ETWSHIP_APP_AGENT_SPOOL_OWN_H

#include "app/plan/stream_key.h"
#include "app/run/agent_handover.h"
#include "app/run/agent_own.h"
#include "app/run/agent_spool.h"
#include "app/state/data_folder.h"
#include "store/catalogue/catalogue.h"
#include "store/store.h"

/*
 * Shared by the files of the agent's store; not for users of agent_spool.h. agent_spool.c: opening,
 * closing, and what a commit contains. agent_sources.c: where sources resume if batches wait on
 * disk. agent_store.c: positions of outputs if they do not.
 */
struct agent_spool {
    struct store *store;
    char folder[DATA_FOLDER_PATH_BYTES];
    char catalogue[DATA_FOLDER_PATH_BYTES];
    char (*keys)[STREAM_KEY_BYTES]; /* by stream */
    struct buf *states;             /* by session: as its input said last */
    uint64_t *last_times;           /* by session */
    bool is_remade;                 /* the catalogue was, and knows no states that fit */
    bool is_back;                   /* a stream continues before where it was */
    struct agent_handover handover;

    /* For threads that do not own the store, and for all before a thread owns it. */
    struct plat_mutex mutex;
    struct catalogue *reader; /* NULL: not open now */
};

/* The connection to the catalogue. Takes the mutex, in any case. NULL with ${err}: it cannot be opened. */
struct catalogue *agent_spool_take_reader(struct agent_spool *spool, struct error *err);

/* Stage what ${session}'s input needs to continue as before, if that has changed. */
bool agent_spool_stage_state(
    struct agent *agent, struct store *store, size_t session, struct error *err);

/* The store was opened, and what another mode had left is in it: name its streams, fill `resume` and make
 * true what is new of both. */
bool agent_sources_find(struct agent *agent, struct error *err);

#endif
