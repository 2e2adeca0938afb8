/*
 * CPU per event that one rule of each kind adds to decoding and native JSON, over events with
 * users, names and a message: HTTP requests and DNS queries that were completed.
 *
 *   bench_edits [ROUNDS]   prints the table; exit 1 if a rule does not edit each event
 */
#include <stdio.h>
#include <stdlib.h>

#include "decode/decode.h"
#include "event/write/event_formats.h"
#include "filter/filter_edit.h"
#include "pipeline/record/record_copy.h"
#include "platform/plat_self.h"
#include "schema/cache/schema_cache.h"
#include "support/etl_mix.h"

enum { RECORDS = 4096, DEFAULT_ROUNDS = 21, MAX_ROUNDS = 1000 };

static const char tail[] =
    ",\"agent\":{\"name\":\"bench\",\"type\":\"etwship\",\"version\":\"0.1.0\"}";

/* A rule of each kind; of those with several fields an event has one. */
static const char *const none[] = {NULL};
static const char *const label[] = {"labels.team", "dns"};
static const char *const added[] = {"data.Site", "berlin"};
static const char *const tags[] = {"bench"};
static const char *const texts[] = {"data.Url", "data.QueryName"};
static const char *const renames[] = {"data.Sequence", "Number"};

static const struct kind {
    const char *name;
    enum filter_action action;
    const char *const *fields;
    size_t count;
    bool pairs;
} kinds[] = {
    {"no rule", FILTER_ACTION_KEEP, none, 0, false},
    {"set a label", FILTER_ACTION_SET, label, 1, true},
    {"set a field", FILTER_ACTION_SET, added, 1, true},
    {"tag", FILTER_ACTION_TAG, tags, 1, false},
    {"remove a field", FILTER_ACTION_REMOVE, texts, 2, false},
    {"rename a field", FILTER_ACTION_RENAME, renames, 1, true},
    {"truncate a field", FILTER_ACTION_TRUNCATE, texts, 2, false},
    {"hash a field", FILTER_ACTION_HASH, texts, 2, false},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

struct bench {
    struct event_record *records[RECORDS];
    struct trace_info trace;
    struct schema_cache *cache;
    struct event_writer *writer;
    struct event_editor *editor;
    struct filter_scratch scratch;
    struct decoder decoder;
    struct buf out;
    struct filter *filters[KINDS];
};

static void die(const char *what)
{
    fprintf(stderr, "bench_edits: %s\n", what);
    exit(1);
}

static void draw(struct bench *b)
{
    struct error err;
    struct etl_mix_options options = {
        .seed = 1, .processors = 4, .clock = b->trace.clock, .trace = &b->trace};
    struct etl_mix *mix = etl_mix_create(&options, &err);
    const struct etl_mix_event *event;
    if (!mix) {
        die(err.text);
    }
    while ((event = etl_mix_metadata(mix))) {
        schema_cache_learn(b->cache, event->record);
    }
    for (size_t i = 0; i < RECORDS; i++) {
        event = etl_mix_make(mix, i % 2 ? MIX_DNS_COMPLETED : MIX_HTTP_REQUEST);
        void *memory = event ? malloc(record_copy_size(event->record)) : NULL;
        if (!memory) {
            die("out of memory");
        }
        b->records[i] = record_copy_make(event->record, memory);
    }
    etl_mix_destroy(mix);
}

static void bench_init(struct bench *b)
{
    struct error err;
    b->trace = (struct trace_info){.session_name = span_text("sample"),
        .path = span_text("sample.etl"),
        .file = span_text("sample.etl"),
        .clock = {.type = TRACE_CLOCK_QPC,
            .start_time = UINT64_C(134397270000000000),
            .start_raw = 123456789,
            .frequency = 10000000},
        .pointer_size = 8};
    const struct schema_cache_settings cache = {.sources = {.paths = NULL}};
    const struct event_writer_settings writer = {.tail = span_text(tail)};
    b->cache = schema_cache_create(&cache, &err);
    b->writer = event_writer_create(&writer, &err);
    b->editor = event_editor_create(&err);
    if (!b->cache || !b->writer || !b->editor || !decoder_init(&b->decoder, &err) ||
        !filter_scratch_init(&b->scratch, NULL, &err)) {
        die(err.text);
    }
    for (size_t i = 0; i < KINDS; i++) {
        const struct filter_rule rule = {.action = kinds[i].action,
            .text = span_text("true"),
            .fields = kinds[i].fields,
            .field_count = kinds[i].count,
            .values = kinds[i].pairs ? kinds[i].fields + 1 : NULL,
            .field_step = kinds[i].pairs ? 2 : 1,
            .bytes = 3,
            .key = span_text("0123456789abcdef")};
        struct filter_place place;
        b->filters[i] = filter_create(&rule, 1, &place, &err);
        if (!b->filters[i]) {
            die(err.text);
        }
    }
    buf_init(&b->out, 1 << 20);
    draw(b);
}

static void bench_fini(struct bench *b)
{
    for (size_t i = 0; i < RECORDS; i++) {
        free(b->records[i]);
    }
    for (size_t i = 0; i < KINDS; i++) {
        filter_destroy(b->filters[i]);
    }
    buf_fini(&b->out);
    filter_scratch_fini(&b->scratch);
    decoder_fini(&b->decoder);
    event_editor_destroy(b->editor);
    event_writer_destroy(b->writer);
    schema_cache_destroy(b->cache);
}

/* The work of a worker: find the rules that match, apply them, write. */
static void write(struct bench *b, size_t kind, const struct event_record *record)
{
    const struct filter *filter = b->filters[kind];
    const struct schema_choice *choice = schema_cache_find(b->cache, record);
    struct event came;
    const struct event *event = &came;
    decoder_run(
        &b->decoder, record, choice->count ? choice->list[0] : NULL, record->pointer_size, &came);
    if (filter_has_edits(filter)) {
        size_t cursor = 0;
        size_t rule;
        event_editor_begin(b->editor, &came, NULL);
        while (filter_edit_next(filter, &b->scratch, &came, 1, &cursor, &rule)) {
            filter_edit_apply(filter, rule, b->editor, &b->scratch);
        }
        event = event_editor_finish(b->editor, &b->scratch.paths);
    }
    buf_reset(&b->out);
    event_format_native.event(b->writer, event, &b->out);
}

/* Checks that each rule changes each event. */
static bool edits_all(struct bench *b)
{
    struct buf plain;
    bool ok = true;
    buf_init(&plain, 1 << 20);
    for (size_t i = 0; i < RECORDS && ok; i++) {
        write(b, 0, b->records[i]);
        buf_reset(&plain);
        buf_add_span(&plain, buf_span(&b->out));
        for (size_t kind = 1; kind < KINDS && ok; kind++) {
            write(b, kind, b->records[i]);
            ok = !span_equal(buf_span(&plain), buf_span(&b->out));
            if (!ok) {
                fprintf(stderr, "%s leaves an event as it is: %.*s\n", kinds[kind].name,
                    SPAN_ARG(buf_span(&plain)));
            }
        }
    }
    buf_fini(&plain);
    return ok;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(struct bench *b, size_t rounds)
{
    static double ns[KINDS][MAX_ROUNDS];
    for (size_t round = 0; round < rounds; round++) {
        for (size_t kind = 0; kind < KINDS; kind++) {
            uint64_t start = plat_cpu_ns();
            for (size_t i = 0; i < RECORDS; i++) {
                write(b, kind, b->records[i]);
            }
            ns[kind][round] = (double)(plat_cpu_ns() - start) / RECORDS;
        }
    }
    printf("%-18s %10s %10s\n", "rule", "ns/event", "added");
    for (size_t kind = 0; kind < KINDS; kind++) {
        qsort(ns[kind], rounds, sizeof(ns[kind][0]), compare_doubles);
        double median = ns[kind][rounds / 2];
        printf("%-18s %10.0f %10.0f\n", kinds[kind].name, median, median - ns[0][rounds / 2]);
    }
}

int main(int argc, char **argv)
{
    static struct bench bench;
    size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : DEFAULT_ROUNDS;
    rounds = rounds < 1 ? 1 : rounds > MAX_ROUNDS ? MAX_ROUNDS : rounds;
    bench_init(&bench);
    bool ok = edits_all(&bench);
    if (ok) {
        measure(&bench, rounds);
    }
    bench_fini(&bench);
    return ok ? 0 : 1;
}
