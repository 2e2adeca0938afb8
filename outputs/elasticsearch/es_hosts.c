#include "outputs/elasticsearch/es_hosts.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/append.h"

bool es_hosts_init(
    struct es_hosts *hosts, const struct config_strings *urls, uint64_t start, struct error *err)
{
    *hosts = (struct es_hosts){.items = calloc(urls->count + 1, sizeof(*hosts->items))};
    for (size_t i = 0; hosts->items && i < urls->count; i++) {
        char *url = span_copy(span_text(urls->items[i]));
        if (!url) {
            break;
        }
        hosts->items[hosts->count++].url = url;
    }
    if (hosts->count != urls->count) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    hosts->next = hosts->count ? (size_t)(start % hosts->count) : 0;
    return true;
}

void es_hosts_fini(struct es_hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++) {
        free(hosts->items[i].url);
    }
    free(hosts->items);
    *hosts = (struct es_hosts){.items = NULL};
}

size_t es_hosts_pick(struct es_hosts *hosts, uint64_t now_ms)
{
    for (size_t i = 0; i < hosts->count; i++) {
        size_t index = (hosts->next + i) % hosts->count;
        const struct es_host *host = &hosts->items[index];
        if (host->failures == 0 || now_ms >= host->until_ms) {
            hosts->next = (index + 1) % hosts->count;
            return index;
        }
    }
    return ES_HOSTS_NONE;
}

size_t es_hosts_pick_any(struct es_hosts *hosts, uint64_t now_ms)
{
    size_t best = es_hosts_pick(hosts, now_ms);
    for (size_t i = 0; best == ES_HOSTS_NONE && i < hosts->count; i++) {
        best = i;
        for (size_t k = i + 1; k < hosts->count; k++) {
            best = hosts->items[k].until_ms < hosts->items[best].until_ms ? k : best;
        }
    }
    return best;
}

void es_hosts_good(struct es_hosts *hosts, size_t index)
{
    hosts->items[index].failures = 0;
    hosts->items[index].asked_ms = 0;
}

void es_hosts_failed(
    struct es_hosts *hosts, size_t index, uint64_t now_ms, const struct es_host_failure *failure)
{
    struct es_host *host = &hosts->items[index];
    uint64_t wait_ms = ES_HOSTS_FIRST_MS;
    for (unsigned i = 0; i < host->failures && wait_ms < ES_HOSTS_LONGEST_MS; i++) {
        wait_ms *= 2;
    }
    wait_ms = wait_ms < ES_HOSTS_LONGEST_MS ? wait_ms : ES_HOSTS_LONGEST_MS;
    uint64_t asked_ms = failure->retry_after_ms;
    host->failures += host->failures < UINT32_MAX;
    host->until_ms = now_ms + (asked_ms > wait_ms ? asked_ms : wait_ms);
    host->asked_ms = asked_ms ? now_ms + asked_ms : 0;
    host->lasts = failure->lasts;
    snprintf(host->reason, sizeof(host->reason), "%s", failure->reason);
}

bool es_hosts_all_bad(const struct es_hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++) {
        const struct es_host *host = &hosts->items[i];
        if (host->failures == 0 || (!host->lasts && host->failures < ES_HOSTS_BAD_IN_A_ROW)) {
            return false;
        }
    }
    return hosts->count > 0;
}

uint64_t es_hosts_asked_ms(const struct es_hosts *hosts, uint64_t now_ms)
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < hosts->count; i++) {
        const struct es_host *host = &hosts->items[i];
        uint64_t left = host->failures && host->asked_ms > now_ms ? host->asked_ms - now_ms : 0;
        least = left < least ? left : least;
    }
    return hosts->count ? least : 0;
}

void es_hosts_say(const struct es_hosts *hosts, struct error *err)
{
    size_t failed = 0;
    for (size_t i = 0; i < hosts->count; i++) {
        failed += hosts->items[i].failures > 0;
    }
    if (failed == 0) {
        return;
    }
    size_t share = sizeof(err->text) / failed;
    error_set(err, ERR_IO, "%s", "");
    for (size_t i = 0; i < hosts->count; i++) {
        const struct es_host *host = &hosts->items[i];
        if (host->failures && share > 4) {
            append_printf(err->text, sizeof(err->text), "%s%.*s", *err->text ? "; " : "",
                (int)(share - 3), host->reason);
        }
    }
}
