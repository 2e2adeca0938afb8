/*
 * What budgets of providers cost where events are copied into slabs: without any, with one that no
 * provider exceeds, and with one that leaves out nearly everything.
 *
 *   bench_budget [ROUNDS]      ns per event, and the ratio to no budget (default 15 rounds)
 *
 * The three take turns within one run; what counts is the ratio of the fastest rounds.
 */
#include <stdio.h>
#include <stdlib.h>

#include "pipeline/source/source.h"
#include "platform/plat_self.h"

enum { PROVIDERS = 8, EVENTS = 400000, DRAIN_EVERY = 4096 };

enum kind { KIND_NONE, KIND_WITHIN, KIND_BEYOND, KIND_COUNT };

struct feed {
    struct slab_queue *queue;
    struct input_sink sink;
    uint64_t delivered;
    uint64_t told;
};

static void drain(struct feed *feed)
{
    while (slab_queue_bytes(feed->queue)) {
        struct slab *slab = slab_queue_pop(feed->queue, 0);
        feed->delivered += slab->kind == SLAB_RECORDS ? slab->count : 0;
        feed->told += slab->kind == SLAB_GAP ? slab->gap.count : 0;
        slab_destroy(slab);
    }
}

static void push(struct feed *feed)
{
    static const uint8_t payload[120];
    static const struct trace_info trace;
    struct event_record record = {.kind = RECORD_EVENT,
        .pointer_size = 8,
        .descriptor = {.id = 7, .level = 4},
        .payload = span_make(payload, sizeof(payload)),
        .trace = &trace};
    for (unsigned i = 0; i < EVENTS; i++) {
        /* Three events in a row of each provider, as buffers of one processor often have them. */
        record.provider.bytes[0] = (uint8_t)(1 + i / 3 % PROVIDERS);
        record.time = 1000 + i;
        feed->sink.record(feed->sink.self, &record);
        if (i % DRAIN_EVERY == 0) {
            drain(feed);
        }
    }
}

static double measure(enum kind kind, struct error *err)
{
    static const struct provider_limit limits[KIND_COUNT] = {
        [KIND_WITHIN] = {.events = 1000000000, .bytes = UINT64_C(1) << 40, .burst_ns = 4000000000},
        [KIND_BEYOND] = {.events = 1000, .burst_ns = 4000000000}};
    struct feed feed = {.queue = slab_queue_create(SIZE_MAX / 2, 1, err)};
    struct ledger *ledger = ledger_create(1, 0, err);
    const struct source_settings settings = {.queue = feed.queue,
        .ledger = ledger,
        .slab_bytes = SLAB_BYTES,
        .decoding = {.stack_walk = STACK_WALK_EVENTS},
        .slab_age_ns = UINT64_MAX,
        .gap_age_ns = UINT64_C(1000000000),
        .budget = {.others = limits[kind]}};
    struct source *source = feed.queue && ledger ? source_create(&settings, err) : NULL;
    if (!source) {
        return 0;
    }
    source_sink(source, &feed.sink);
    uint64_t start = plat_cpu_ns();
    push(&feed);
    double took = (double)(plat_cpu_ns() - start) / EVENTS;
    source_finish(source, false);
    slab_queue_close(feed.queue);
    struct slab *slab;
    while ((slab = slab_queue_pop(feed.queue, 0))) {
        feed.delivered += slab->kind == SLAB_RECORDS ? slab->count : 0;
        feed.told += slab->kind == SLAB_GAP ? slab->gap.count : 0;
        slab_destroy(slab);
    }
    source_destroy(source);
    slab_queue_destroy(feed.queue);
    ledger_destroy(ledger);
    bool all = feed.delivered + feed.told == EVENTS && (kind == KIND_BEYOND) == (feed.told > 0);
    if (!all) {
        error_set(err, ERR_FORMAT, "%llu delivered and %llu left out are not %d",
            (unsigned long long)feed.delivered, (unsigned long long)feed.told, EVENTS);
    }
    return took;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"no budget", "within it", "beyond it"};
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 15;
    double best[KIND_COUNT] = {0};
    for (long round = 0; round < rounds; round++) {
        for (int kind = 0; kind < KIND_COUNT; kind++) {
            struct error err = {0};
            double took = measure((enum kind)kind, &err);
            if (err.code) {
                fprintf(stderr, "bench_budget: %s\n", err.text);
                return 1;
            }
            best[kind] = round == 0 || took < best[kind] ? took : best[kind];
        }
    }
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        printf("%-10s %7.1f ns/event  %.2f times none\n", names[kind], best[kind],
            best[kind] / best[KIND_NONE]);
    }
    return 0;
}
