/*
 * What filters cost: a whole trace, which should be in the page cache, through reading, joining,
 * the filter, decoding what is kept and native JSON, to nowhere. All on one thread.
 *
 *   bench_filter FILE [ROUNDS]      a line for each list of rules: events per second of CPU, and
 *                                   how long it takes beside the list that it is to be compared
 *                                   with
 *
 * The rules are about what tests/support/etlgen writes. Of the rounds (default 5) the fastest
 * counts; lists take turns, so that the machine's moods meet all of them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "app/trace/trace_run.h"
#include "config/config.h"
#include "event/write/event_formats.h"
#include "input/registry/registry.h"
#include "platform/plat_self.h"

enum { MAX_RULES = 1000, TEXT_BYTES = 128 };

/* The last two rules of each list keep some and drop the rest. */
struct list {
    const char *name;
    const char *keep;
    const char *pattern; /* of the first rules, which drop nothing; %u twice: their number */
    unsigned count;
    size_t against; /* the list to compare with, which does not grow with the number of rules */
    enum filter_action action;
};

#define HEADER "event.code == 3006 and event.version == 0 and provider.kind != 'wpp'"
#define PAYLOAD "data.QueryName endswith '.corp.example' and data.QueryType == 33"

static const struct list lists[] = {
    {"no filter", NULL, NULL, 0, 0, FILTER_ACTION_KEEP},
    {"header, one rule", "process.pid in (1668, 4712)", NULL, 0, 0, FILTER_ACTION_KEEP},
    {"event id, one rule", HEADER, NULL, 0, 0, FILTER_ACTION_KEEP},
    {"payload, one rule", PAYLOAD, NULL, 0, 0, FILTER_ACTION_KEEP},
    {"1000 rules, id and provider", HEADER, "event.code == %u and provider.name == 'Vendor-%u'",
        MAX_RULES, 2, FILTER_ACTION_KEEP},
    {"1000 rules, payload ==", PAYLOAD, "data.QueryName == 'host-%u.site-%u.example'", MAX_RULES, 3,
        FILTER_ACTION_KEEP},
    {"1000 rules, payload endswith", PAYLOAD, "data.QueryName endswith '.bad-%u.site-%u.example'",
        MAX_RULES, 3, FILTER_ACTION_KEEP},
    {"1000 rules, payload contains", PAYLOAD, "data.QueryName contains 'bad-%u.site-%u.ex'",
        MAX_RULES, 3, FILTER_ACTION_KEEP},
    {"sample, 1 in 100", "true", NULL, 0, 0, FILTER_ACTION_SAMPLE},
    {"limit, which keeps all here", "true", NULL, 0, 0, FILTER_ACTION_LIMIT},
};

enum { LISTS = sizeof(lists) / sizeof(lists[0]) };

struct bench {
    const char *path;
    struct filter *filters[LISTS]; /* NULL: none */
    double seconds[LISTS];         /* of the fastest round */
    uint64_t events[LISTS];        /* kept */
    uint64_t received;
};

struct nowhere {
    struct event_writer *writer;
    struct buf out;
};

static bool on_event(void *self, const struct event *event)
{
    struct nowhere *nowhere = self;
    buf_reset(&nowhere->out);
    event_format_native.event(nowhere->writer, event, &nowhere->out);
    return true;
}

static struct filter *compile(const struct list *list, struct error *err)
{
    static char texts[MAX_RULES][TEXT_BYTES];
    static struct filter_rule rules[MAX_RULES + 2];
    struct filter_place place;
    for (unsigned i = 0; i < list->count; i++) {
        snprintf(texts[i], TEXT_BYTES, list->pattern, i, i);
        rules[i] = (struct filter_rule){.action = FILTER_ACTION_DROP, .text = span_text(texts[i])};
    }
    rules[list->count] = (struct filter_rule){.action = list->action,
        .text = span_text(list->keep),
        .every = 100,
        .limit = {.events = 1, .period = 1, .burst = 1}};
    rules[list->count + 1] = (struct filter_rule){
        .action = FILTER_ACTION_DROP, .text = span_text("true")};
    return filter_create(rules, list->count + 2, &place, err);
}

static bool measure(struct bench *bench, size_t index, struct error *err)
{
    struct nowhere nowhere = {.writer = NULL};
    struct event_writer_settings writer = {.colors = false};
    struct schema_cache_settings cache = {.only_source = NULL};
    struct config *config = config_create(NULL, NULL);
    const struct input_ops *input = input_registry_find("file");
    void *settings = config_new(config, input->fields, input->settings_size, err);
    nowhere.writer = event_writer_create(&writer, err);
    buf_init(&nowhere.out, 64 * 1024 * 1024);
    const struct event_observer observer = {.self = &nowhere, .event = on_event};
    const struct trace_run_settings run = {.input = input,
        .settings = settings,
        .cache = schema_cache_create(&cache, err),
        .filter = bench->filters[index],
        .observer = observer};
    struct trace_result result;
    uint64_t start = plat_cpu_ns();
    bool ok = settings && nowhere.writer && run.cache &&
              config_set(config, input->fields, settings, "paths", &bench->path, 1, err) &&
              trace_run(&run, &result, err);
    double seconds = (double)(plat_cpu_ns() - start) / 1e9;
    if (ok) {
        bool is_best = bench->seconds[index] == 0 || seconds < bench->seconds[index];
        bench->seconds[index] = is_best ? seconds : bench->seconds[index];
        bench->events[index] = result.counts.accepted;
        bench->received = result.counts.received;
    }
    schema_cache_destroy(run.cache);
    event_writer_destroy(nowhere.writer);
    buf_fini(&nowhere.out);
    config_destroy(config);
    return ok;
}

static void report(const struct bench *bench)
{
    for (size_t i = 0; i < LISTS; i++) {
        double received = (double)bench->received;
        printf("%-30s %6.2f million records/s  %5.0f ns  keeps %5.2f %%", lists[i].name,
            received / bench->seconds[i] / 1e6, 1e9 * bench->seconds[i] / received,
            100.0 * (double)bench->events[i] / received);
        if (lists[i].against) {
            printf("  %.2f times one", bench->seconds[i] / bench->seconds[lists[i].against]);
        }
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    struct error err = {0};
    struct bench bench = {.path = argc > 1 ? argv[1] : ""};
    unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 5;
    bool ok = argc > 1;
    for (size_t i = 1; ok && i < LISTS; i++) {
        bench.filters[i] = compile(&lists[i], &err);
        ok = bench.filters[i] != NULL;
    }
    for (unsigned long round = 0; round < rounds; round++) {
        for (size_t i = 0; ok && i < LISTS; i++) {
            ok = measure(&bench, i, &err);
        }
    }
    for (size_t i = 0; i < LISTS; i++) {
        filter_destroy(bench.filters[i]);
    }
    if (!ok) {
        fprintf(stderr, "bench_filter: %s\n", argc > 1 ? err.text : "no trace. give a FILE");
        return 1;
    }
    report(&bench);
    return 0;
}
