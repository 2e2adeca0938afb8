#ifndef ETWSHIP_STORE_CHAINS_H
#define ETWSHIP_STORE_CHAINS_H

#include "store/catalogue/catalogue_batches.h"
#include "store/catalogue/catalogue_outputs.h"
#include "store/chain.h"

/*
 * All outputs of the catalogue, in memory: the chain of each (chain.h) and its position. Outputs of
 * this run are open; the others only pin what they have not settled. Changes are made here first
 * and written with the next commit. One thread at a time.
 */
enum { CHAINS_MAX = 4096 };

struct chains;

struct chains *chains_create(void); /* NULL: out of memory */
void chains_destroy(struct chains *chains);
void chains_clear(struct chains *chains);

/* Read all; ${chains} is empty. False: it may be half read. */
bool chains_load(struct chains *chains, struct catalogue *catalogue, struct error *err);

/* NULL: there is none of that name. */
struct chain *chains_find(const struct chains *chains, struct span name);

size_t chains_count(const struct chains *chains);

/* NULL: there are not as many. Those that are open have their numbers in this run. */
struct chain *chains_at(const struct chains *chains, size_t index);
struct chain *chains_open_at(const struct chains *chains, size_t number);

/* Of the output with ${id} in the catalogue; UINT64_MAX: there is none. */
uint64_t chains_position(const struct chains *chains, uint64_t id);

/* The id of the next new one. */
uint64_t chains_next_id(const struct chains *chains);

/* A chain without ranges. NULL with ${err} set: out of memory, ERR_LIMIT. */
struct chain *chains_add(struct chains *chains, struct span name, struct error *err);

/* It is open from now on. False: out of memory. */
bool chains_open(struct chains *chains, struct chain *chain, size_t *ret_number, struct error *err);

/* It goes, with the next commit; ${chain} is freed. False: out of memory, nothing changed. */
bool chains_remove(struct chains *chains, struct chain *chain, struct error *err);

/* ---- all of them ----------------------------------------------------------------------------- */

/* Let go of closed ranges in which nothing is left up to ${last_id}. */
bool chains_trim(
    struct chains *chains, struct catalogue *catalogue, uint64_t last_id, struct error *err);

/* Batches of ${stream} up to this id are settled by all; at most ${last_id}. */
uint64_t chains_floor(const struct chains *chains, uint64_t stream, uint64_t last_id);

/* The clock was set: when outputs were seen is moved by ${by}, and is not after ${now}. */
void chains_shift_seen(struct chains *chains, uint64_t by, uint64_t now);

bool chains_are_changed(const struct chains *chains);

/* Inside a transaction: all that changed. chains_written: it was committed. */
bool chains_write(const struct chains *chains, struct catalogue *catalogue, struct error *err);
void chains_written(struct chains *chains);

/* The catalogue was lost: the next chains_write writes everything. */
void chains_unwritten(struct chains *chains);

#endif
