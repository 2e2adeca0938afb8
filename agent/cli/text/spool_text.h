#ifndef ETWSHIP_CLI_SPOOL_TEXT_H
#define ETWSHIP_CLI_SPOOL_TEXT_H

#include "app/state/spool_facts.h"

/* Facts of the spool beside its catalogue. */
struct spool_text_place {
    const char *folder;
    uint64_t max_bytes;
    uint64_t free_bytes; /* of the disk; UINT64_MAX: unknown */
    uint64_t min_free_bytes;
};

/* A table for people. */
void spool_text_table(
    const struct spool_facts *facts, const struct spool_text_place *place, struct buf *out);

/* One JSON object, with a line break. */
void spool_text_json(
    const struct spool_facts *facts, const struct spool_text_place *place, struct buf *out);

#endif
