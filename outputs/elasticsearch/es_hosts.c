#include "outputs/elasticsearch/es_hosts.h"

#include <stdlib.h>

bool es_hosts_init(
    struct es_hosts *hosts, const struct config_strings *urls, uint64_t start, struct error *err)
{
    *hosts = (struct es_hosts){.items = calloc(urls->count + 1, sizeof(*hosts->items))};
    for (size_t i = 0; hosts->items && i < urls->count; i++) {
        size_t size = strlen(urls->items[i]);
        char *url = malloc(size + 1);
        if (!url) {
            break;
        }
        memcpy(url, urls->items[i], size + 1);
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
}

void es_hosts_failed(struct es_hosts *hosts, size_t index, uint64_t now_ms)
{
    struct es_host *host = &hosts->items[index];
    uint64_t wait_ms = ES_HOSTS_FIRST_MS;
    for (unsigned i = 0; i < host->failures && wait_ms < ES_HOSTS_LONGEST_MS; i++) {
        wait_ms *= 2;
    }
    host->failures += host->failures < UINT32_MAX;
    host->until_ms = now_ms + (wait_ms < ES_HOSTS_LONGEST_MS ? wait_ms : ES_HOSTS_LONGEST_MS);
}
