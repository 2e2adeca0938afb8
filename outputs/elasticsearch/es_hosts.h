#ifndef ETWSHIP_OUTPUTS_ES_HOSTS_H
#define ETWSHIP_OUTPUTS_ES_HOSTS_H

#include "base/error.h"
#include "config/config.h"

/*
 * Which node gets the next request: each in turn, except those that failed. A node that fails is
 * left alone for a time that doubles with each failure (ES_HOSTS_FIRST_MS to ES_HOSTS_LONGEST_MS), or
 * for as long as it asked for (Retry-After) if that is longer. Then one request probes it. Addresses
 * are copied. One thread.
 */
enum {
    ES_HOSTS_FIRST_MS = 1000,
    ES_HOSTS_LONGEST_MS = 60000,
    ES_HOSTS_REASON_BYTES = 240,
    ES_HOSTS_BAD_IN_A_ROW = 3, /* failures after which a node counts as bad, whatever they were */
};

#define ES_HOSTS_NONE SIZE_MAX

/* How a node failed. */
struct es_host_failure {
    uint64_t retry_after_ms; /* 0: it asked for nothing */
    bool lasts;              /* until somebody mends it: credentials, a wrong address */
    const char *reason;      /* with the node's address; copied, cut */
};

struct es_host {
    char *url;
    unsigned failures; /* in a row */
    uint64_t until_ms; /* left alone until then; with failures */
    uint64_t asked_ms; /* until then by its own Retry-After; 0: it asked for nothing */
    bool lasts;        /* of the last failure */
    char reason[ES_HOSTS_REASON_BYTES];
};

struct es_hosts {
    struct es_host *items;
    size_t count;
    size_t next;
};

/* ${start}: whose turn is first, of any size. False with ${err} set; fini is allowed. */
bool es_hosts_init(
    struct es_hosts *hosts, const struct config_strings *urls, uint64_t start, struct error *err);
void es_hosts_fini(struct es_hosts *hosts);

/* The node for the next request, ES_HOSTS_NONE if all are left alone. ${now_ms}: of a clock that only
 * grows. */
size_t es_hosts_pick(struct es_hosts *hosts, uint64_t now_ms);

/* As es_hosts_pick, but if all are left alone the one whose time ends first. */
size_t es_hosts_pick_any(struct es_hosts *hosts, uint64_t now_ms);

void es_hosts_good(struct es_hosts *hosts, size_t index);
void es_hosts_failed(
    struct es_hosts *hosts, size_t index, uint64_t now_ms, const struct es_host_failure *failure);

/* Has every node failed for good, or ES_HOSTS_BAD_IN_A_ROW times in a row? */
bool es_hosts_all_bad(const struct es_hosts *hosts);

/* How long every node wants to be left alone by its own word; 0: one of them did not ask. */
uint64_t es_hosts_asked_ms(const struct es_hosts *hosts, uint64_t now_ms);

/* Why each node that failed did so, in one line. ${err} stays as it is if none did. */
void es_hosts_say(const struct es_hosts *hosts, struct error *err);

#endif
