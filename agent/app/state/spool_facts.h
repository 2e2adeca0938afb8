#ifndef ETWSHIP_APP_SPOOL_FACTS_H
#define ETWSHIP_APP_SPOOL_FACTS_H

#include "base/buf.h"
#include "base/error.h"
#include "store/catalogue/catalogue_batches.h"
#include "store/chains.h"

/* The content of a spool, read from its catalogue in short transactions, with or without a running
 * agent, and counted as the agent does. */

struct spool_output_facts {
    char *name;
    bool configured;              /* the caller sets it */
    const struct chain *chain;    /* what it reads, and how far it has come */
    struct store_backlog backlog; /* what waits for it */
};

struct spool_facts {
    struct catalogue_info info;
    uint64_t files;
    uint64_t bytes;     /* of files and catalogue */
    uint64_t deletable; /* files that wait to be deleted */
    uint64_t oldest;    /* when the oldest batch entered, FILETIME; 0: there is none */
    struct chains *chains;
    struct spool_output_facts *outputs;
    size_t output_count;
};

/* False with ${err} set; then there is nothing to be freed. */
bool spool_facts_read(
    struct catalogue *catalogue, struct spool_facts *ret_facts, struct error *err);
void spool_facts_fini(struct spool_facts *facts);

/* The output called ${name}, or NULL. */
struct spool_output_facts *spool_facts_output(const struct spool_facts *facts, const char *name);

#endif
