#ifndef ETWSHIP_OUTPUTS_ES_HOSTS_H
#define ETWSHIP_OUTPUTS_ES_HOSTS_H

#include "base/error.h"
#include "config/config.h"

/*
 * Which node gets the next request: each in turn, but for those that failed. A node that fails is
 * left alone for a time that doubles with each failure (ES_HOSTS_FIRST_MS to ES_HOSTS_LONGEST_MS);
 * then one request tries whether it is back. Addresses are copied. One thread.
 */
enum { ES_HOSTS_FIRST_MS = 1000, ES_HOSTS_LONGEST_MS = 60000 };

#define ES_HOSTS_NONE SIZE_MAX

struct es_host {
    char *url;
    unsigned failures; /* in a row */
    uint64_t until_ms; /* left alone until then; with failures */
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

/* The same, but if all are left alone the one that is so for the shortest time yet. */
size_t es_hosts_pick_any(struct es_hosts *hosts, uint64_t now_ms);

void es_hosts_good(struct es_hosts *hosts, size_t index);
void es_hosts_failed(struct es_hosts *hosts, size_t index, uint64_t now_ms);

#endif
