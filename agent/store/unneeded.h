#ifndef ETWSHIP_STORE_UNNEEDED_H
#define ETWSHIP_STORE_UNNEEDED_H

#include "store/catalogue/catalogue_batches.h"
#include "store/pending.h"

/*
 * Segment files that nothing needs any more. A commit gives up files without batches, in its
 * transaction; store_tidy deletes them; and a later transaction removes the rows of those that have
 * gone. So a file goes only when the catalogue has done with it; one that was given up stays in it
 * as such until it has gone, over any number of runs. One thread at a time.
 */
struct unneeded;

struct unneeded *unneeded_create(void); /* NULL: out of memory */
void unneeded_destroy(struct unneeded *unneeded);

/* Batches may have been settled or dropped: the next commit looks for what is not needed. */
void unneeded_look(struct unneeded *unneeded);
bool unneeded_is_due(const struct unneeded *unneeded);

/* The file that is written to. It stays, as long as no room is needed. */
void unneeded_written_to(struct unneeded *unneeded, uint64_t segment);

/* As store_need_room. */
void unneeded_need_room(struct unneeded *unneeded, bool is_needed);

/* Room is needed, but nothing new is there to be looked for. */
void unneeded_disk_is_full(struct unneeded *unneeded);

/* An earlier run has given up the file. */
bool unneeded_add(struct unneeded *unneeded, uint64_t segment, struct error *err);

/* Inside a transaction: give up files without batches; remove the rows of those that have gone for
 * good. */
bool unneeded_write(struct unneeded *unneeded, struct catalogue *catalogue,
    struct segments *segments, const struct pending *pending, struct error *err);

/* That was committed. ${is_more}: the next commit looks again. */
void unneeded_written(struct unneeded *unneeded, bool is_more);

/* Delete what commits have given up. True: some files have gone. ${ret_why} is set if one cannot be
 * deleted now and none was before; it is tried again. */
bool unneeded_delete(struct unneeded *unneeded, struct segments *segments, struct error *ret_why);

/* The catalogue was made again from the files that are there: they are given up again. */
void unneeded_forget(struct unneeded *unneeded);

#endif
