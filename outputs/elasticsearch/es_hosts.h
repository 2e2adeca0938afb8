#ifndef ETWSHIP_OUTPUTS_ES_HOSTS_H
#define ETWSHIP_OUTPUTS_ES_HOSTS_H

#include "base/error.h"
#include "config/config.h"

/*
 * Selects the node for the next request: each in turn, except those that failed. A failed node is
 * skipped for a time that doubles with each failure (ES_HOSTS_FIRST_MS to ES_HOSTS_LONGEST_MS), or
 * for its Retry-After if that is longer. Then one request probes it. Addresses are copied. One
 * thread.
 */
enum {
    ES_HOSTS_FIRST_MS = 1000,
    ES_HOSTS_LONGEST_MS = 60000,
    ES_HOSTS_REASON_BYTES = 240,
    ES_HOSTS_BAD_IN_A_ROW = 3, /* failures of any kind after which a node counts as bad */
};

#define ES_HOSTS_NONE SIZE_MAX

/* How a node failed. */
struct es_host_failure {
    uint64_t retry_after_ms; /* Retry-After; 0: none */
    bool lasts;              /* lasts until a person corrects it: credentials, a wrong address */
    const char *reason;      /* with the node's address; copied, cut */
};

struct es_host {
    char *url;
    unsigned failures; /* in a row */
    uint64_t until_ms; /* skipped before this time, if it has failures */
    uint64_t asked_ms; /* end of its Retry-After; 0: none */
    bool lasts;        /* of the last failure */
    char reason[ES_HOSTS_REASON_BYTES];
};

struct es_hosts {
    struct es_host *items;
    size_t count;
    size_t next;
};

/* ${start}: index of the first node, modulo the count. False with ${err} set; fini is allowed. */
bool es_hosts_init(
    struct es_hosts *hosts, const struct config_strings *urls, uint64_t start, struct error *err);
void es_hosts_fini(struct es_hosts *hosts);

/* The node for the next request, ES_HOSTS_NONE if all are skipped. ${now_ms}: of a monotonic
 * clock. */
size_t es_hosts_pick(struct es_hosts *hosts, uint64_t now_ms);

/* As es_hosts_pick, but if all are skipped, the one that is due first. */
size_t es_hosts_pick_any(struct es_hosts *hosts, uint64_t now_ms);

void es_hosts_good(struct es_hosts *hosts, size_t index);
void es_hosts_failed(
    struct es_hosts *hosts, size_t index, uint64_t now_ms, const struct es_host_failure *failure);

/* True if every node has a lasting failure, or failed ES_HOSTS_BAD_IN_A_ROW times in a row. */
bool es_hosts_all_bad(const struct es_hosts *hosts);

/* The shortest remaining Retry-After of all nodes; 0: one has none. */
uint64_t es_hosts_asked_ms(const struct es_hosts *hosts, uint64_t now_ms);

/* The reasons of all failed nodes, in one line. ${err} is unchanged if none failed. */
void es_hosts_say(const struct es_hosts *hosts, struct error *err);

#endif
