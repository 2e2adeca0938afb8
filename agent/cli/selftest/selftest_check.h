#ifndef ETWSHIP_CLI_SELFTEST_CHECK_H
#define ETWSHIP_CLI_SELFTEST_CHECK_H

#include "cli/selftest/selftest_writer.h"
#include "outputs/output.h"

/*
 * The output of the self-test: it compares every line with the written event, and counts losses by
 * gaps. It closes when everything has arrived.
 */
enum { SELFTEST_MAX_LOSSES = 16 };

struct selftest_loss {
    char stage[32];
    char reason[48];
    char unit[16];
    uint64_t count;
};

struct selftest_seen {
    uint64_t received[SELFTEST_KINDS];
    uint64_t wrong[SELFTEST_KINDS];        /* decoded differently than written */
    uint64_t out_of_order[SELFTEST_KINDS]; /* within a processor */
    uint64_t lost;                         /* events, by gaps */
    uint64_t lost_otherwise;               /* buffers and the like */
    struct selftest_loss losses[SELFTEST_MAX_LOSSES];
    size_t loss_count;
    char first_wrong[512]; /* the line; empty: none */
    uint64_t p50_ns;       /* from writing an event to its line at the output */
    uint64_t p99_ns;
    uint64_t max_ns;
};

/* The output; one test at a time. */
extern const struct output_ops selftest_check_ops;

/* Begin, with room for ${latencies} values. False: out of memory. */
bool selftest_check_begin(size_t latencies);

/* Set how many events were written; the output waits for no more. Any thread. */
void selftest_check_sent(const uint64_t sent[SELFTEST_KINDS]);

/* Call after the output has ended. */
void selftest_check_end(struct selftest_seen *ret_seen);

#endif
