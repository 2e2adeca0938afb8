/*
 * CPU per event of schema lookup, decoding and native JSON, to nowhere, against a program that
 * knows every event type in advance (limit.h). Both see the same records in memory, in turns
 * within one run, so that the ratio holds whatever else the machine does.
 *
 *   bench_events [ROUNDS [KIND]]   prints the table, or the row of one kind; exit 1 if any byte of
 *                                  the two outputs differs
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/limit.h"
#include "decode/decode.h"
#include "event/write/event_formats.h"
#include "pipeline/record/record_copy.h"
#include "platform/plat_self.h"
#include "schema/cache/schema_cache.h"
#include "support/etl_mix.h"
#include "support/etl_mix_schema.h"

/* The yardstick knows the first kinds; WPP messages are measured without one. */
enum { KINDS = 7, LIMIT_KINDS = 6, RECORDS = 2048, DEFAULT_ROUNDS = 21, MAX_ROUNDS = 1000 };

static const enum etl_mix_kind kinds[KINDS] = {MIX_DNS_COMPLETED, MIX_PROCESS_START,
    MIX_HTTP_REQUEST, MIX_KERNEL_PROCESS_START, MIX_KERNEL_DISK_READ, MIX_KERNEL_SAMPLE, MIX_WPP};

/* The text of the formats, while it is read. */
static const char tmf_path[] = "bench_events.tmf";

static const char tail[] =
    ",\"agent\":{\"name\":\"bench\",\"type\":\"etwship\",\"version\":\"0.1.0\"}";

struct bench {
    struct event_record *records[KINDS][RECORDS];
    struct trace_info trace;
    struct schema_cache *cache;
    struct event_writer *writer;
    struct decoder decoder;
    struct limit limit;
    struct buf out;
    uint8_t *limit_out;
};

static void die(const char *what)
{
    fprintf(stderr, "bench_events: %s\n", what);
    exit(1);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static void draw(struct bench *b)
{
    struct error err;
    struct etl_mix_options options = {
        .seed = 1, .processors = 4, .clock = b->trace.clock, .trace = &b->trace};
    struct etl_mix *mix = etl_mix_create(&options, &err);
    if (!mix) {
        die(err.text);
    }
    const struct etl_mix_event *event;
    while ((event = etl_mix_metadata(mix))) {
        schema_cache_learn(b->cache, event->record);
    }
    for (size_t k = 0; k < KINDS; k++) {
        for (size_t i = 0; i < RECORDS; i++) {
            event = etl_mix_make(mix, kinds[k]);
            void *memory = event ? malloc(record_copy_size(event->record)) : NULL;
            if (!memory) {
                die("out of memory");
            }
            b->records[k][i] = record_copy_make(event->record, memory);
        }
    }
    etl_mix_destroy(mix);
}

static void write_tmf(void)
{
    struct buf text;
    buf_init(&text, 1 << 16);
    etl_mix_schema_tmf(&text);
    FILE *file = fopen(tmf_path, "wb");
    if (!file || fwrite(text.data, 1, text.size, file) != text.size || fclose(file) != 0) {
        die("bench_events.tmf cannot be written");
    }
    buf_fini(&text);
}

static void bench_init(struct bench *b)
{
    struct error err;
    b->trace = (struct trace_info){.session_name = span_text("sample"),
        .path = span_text("sample.etl"),
        .file = span_text("sample.etl"),
        .host_name = span_text("PC-0042"),
        .clock = {.type = TRACE_CLOCK_QPC,
            .start_time = UINT64_C(134397270000000000),
            .start_raw = 123456789,
            .frequency = 10000000},
        .timer_resolution = 156250,
        .pointer_size = 8};
    const char *const paths[] = {tmf_path};
    struct schema_cache_settings cache = {.sources = {.paths = paths, .path_count = 1}};
    struct event_writer_settings writer = {.tail = span_text(tail)};
    write_tmf();
    b->cache = schema_cache_create(&cache, &err);
    remove(tmf_path);
    b->writer = event_writer_create(&writer, &err);
    if (!b->cache || !b->writer || !decoder_init(&b->decoder, &err)) {
        die(err.text);
    }
    if (!limit_init(&b->limit, &b->trace, span_text(tail))) {
        die("limit_init");
    }
    buf_init(&b->out, 16 * 1024 * 1024);
    b->limit_out = malloc(4 * 1024 * 1024);
    if (!b->limit_out || !buf_reserve(&b->out, 1024 * 1024)) {
        die("out of memory");
    }
    draw(b);
}

static void bench_fini(struct bench *b)
{
    for (size_t k = 0; k < KINDS; k++) {
        for (size_t i = 0; i < RECORDS; i++) {
            free(b->records[k][i]);
        }
    }
    free(b->limit_out);
    buf_fini(&b->out);
    decoder_fini(&b->decoder);
    event_writer_destroy(b->writer);
    schema_cache_destroy(b->cache);
}

/* ---- the two programs ------------------------------------------------------------------------ */

static size_t agent_write(struct bench *b, const struct event_record *record)
{
    const struct schema_choice *choice = schema_cache_find(b->cache, record);
    struct event event;
    decoder_run(
        &b->decoder, record, choice->count ? choice->list[0] : NULL, record->pointer_size, &event);
    buf_reset(&b->out);
    event_format_native.event(b->writer, &event, &b->out);
    return b->out.size;
}

static bool same(struct bench *b)
{
    bool ok = true;
    for (size_t k = 0; k < LIMIT_KINDS; k++) {
        for (size_t i = 0; i < RECORDS && ok; i++) {
            size_t ours = agent_write(b, b->records[k][i]);
            size_t limit = limit_write(&b->limit, b->records[k][i], b->limit_out);
            if (ours != limit || memcmp(b->out.data, b->limit_out, ours) != 0) {
                fprintf(stderr, "%s differs:\nagent %.*slimit %.*s", etl_mix_kind_name(kinds[k]),
                    (int)ours, (const char *)b->out.data, (int)limit, (const char *)b->limit_out);
                ok = false;
            }
        }
    }
    return ok;
}

struct sums {
    uint64_t in_bytes;
    uint64_t out_bytes;
};

static double agent_round(struct bench *b, size_t kind, struct sums *sums)
{
    uint64_t start = plat_cpu_ns();
    uint64_t bytes = 0;
    for (size_t i = 0; i < RECORDS; i++) {
        bytes += agent_write(b, b->records[kind][i]);
    }
    uint64_t ns = plat_cpu_ns() - start;
    sums->out_bytes = bytes;
    return (double)ns / RECORDS;
}

static double limit_round(struct bench *b, size_t kind)
{
    uint64_t start = plat_cpu_ns();
    for (size_t i = 0; i < RECORDS; i++) {
        limit_write(&b->limit, b->records[kind][i], b->limit_out);
    }
    return (double)(plat_cpu_ns() - start) / RECORDS;
}

/* ---- the table ------------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare_doubles);
    return values[count / 2];
}

/* A kind that the yardstick does not know. */
static void measure_alone(struct bench *b, size_t kind, size_t rounds)
{
    static double agent[MAX_ROUNDS];
    struct sums sums = {0, 0};
    for (size_t r = 0; r < rounds; r++) {
        agent[r] = agent_round(b, kind, &sums);
    }
    double agent_ns = median(agent, rounds);
    printf("%-22s %8.0f %9.0f %9s %7s %11.0f\n", etl_mix_kind_name(kinds[kind]),
        (double)sums.out_bytes / RECORDS, agent_ns, "", "", 1e9 / agent_ns);
}

static void measure(struct bench *b, size_t rounds, const char *only)
{
    static double agent[MAX_ROUNDS];
    static double limit[MAX_ROUNDS];
    static double ratio[MAX_ROUNDS];
    double agent_sum = 0;
    double limit_sum = 0;
    printf("%-22s %8s %9s %9s %7s %11s\n", "kind", "bytes", "agent ns", "limit ns", "ratio",
        "events/s");
    for (size_t k = 0; k < LIMIT_KINDS; k++) {
        struct sums sums = {0, 0};
        if (only && strcmp(only, etl_mix_kind_name(kinds[k])) != 0) {
            continue;
        }
        agent_round(b, k, &sums);
        limit_round(b, k);
        for (size_t r = 0; r < rounds; r++) {
            agent[r] = agent_round(b, k, &sums);
            limit[r] = limit_round(b, k);
            ratio[r] = agent[r] / limit[r];
        }
        double agent_ns = median(agent, rounds);
        double limit_ns = median(limit, rounds);
        agent_sum += agent_ns;
        limit_sum += limit_ns;
        printf("%-22s %8.0f %9.0f %9.0f %7.2f %11.0f\n", etl_mix_kind_name(kinds[k]),
            (double)sums.out_bytes / RECORDS, agent_ns, limit_ns, median(ratio, rounds),
            1e9 / agent_ns);
    }
    if (!only) {
        printf("%-22s %8s %9.0f %9.0f %7.2f %11.0f\n", "all, equal shares", "",
            agent_sum / LIMIT_KINDS, limit_sum / LIMIT_KINDS, agent_sum / limit_sum,
            1e9 * LIMIT_KINDS / agent_sum);
    }
    for (size_t k = LIMIT_KINDS; k < KINDS; k++) {
        if (!only || strcmp(only, etl_mix_kind_name(kinds[k])) == 0) {
            measure_alone(b, k, rounds);
        }
    }
}

int main(int argc, char **argv)
{
    static struct bench bench;
    size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : DEFAULT_ROUNDS;
    rounds = rounds < 1 ? 1 : rounds > MAX_ROUNDS ? MAX_ROUNDS : rounds;
    bench_init(&bench);
    bool ok = same(&bench);
    if (ok) {
        measure(&bench, rounds, argc > 2 ? argv[2] : NULL);
    }
    bench_fini(&bench);
    return ok ? 0 : 1;
}
