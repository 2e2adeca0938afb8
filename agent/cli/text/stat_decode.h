#ifndef ETWSHIP_CLI_STAT_DECODE_H
#define ETWSHIP_CLI_STAT_DECODE_H

#include "base/buf.h"
#include "cli/text/key_counts.h"
#include "pipeline/record/event_observer.h"

/*
 * Decode statistics of a trace: counts by type, by source of the layout and by outcome, and missing
 * definitions, of all records that are observed.
 */
struct stat_decode {
    uint64_t events;
    uint64_t decoded;
    uint64_t partial;
    uint64_t undecoded;
    uint64_t metadata;
    uint64_t other_width;
    uint64_t learned_width; /* of them */
    struct key_counts by_source;
    struct key_counts types;
    struct key_counts missing;
};

void stat_decode_init(struct stat_decode *stat);
void stat_decode_fini(struct stat_decode *stat);

struct event_observer stat_decode_observer(struct stat_decode *stat);

/* `"decode":{…},"types":[…],"missing":[…]` */
void stat_decode_json(const struct stat_decode *stat, struct buf *out);

/* A table of the types for people. */
void stat_decode_text(const struct stat_decode *stat, struct buf *out);

#endif
