/*
 * CPU per event of writing log records of OpenTelemetry: protobuf and OTLP/JSON beside the native
 * event, and of putting records of protobuf together to requests.
 *
 *   bench_otel [ROUNDS]   prints the table;
 *                         exit 1 if anything is allocated while events are written
 */
#include "bench/bench_rig.h"

#include "decode/decode.h"
#include "event/write/event_formats.h"
#include "outputs/otlp/otlp_frame.h"
#include "platform/plat_self.h"

enum { KINDS = 4, RECORDS = 2048, FORMATS = 3, DEFAULT_ROUNDS = 21, MAX_ROUNDS = 1000 };

static const enum etl_mix_kind kinds[KINDS] = {
    MIX_DNS_COMPLETED, MIX_PROCESS_START, MIX_KERNEL_PROCESS_START, MIX_HTTP_REQUEST};

struct bench {
    struct event_record *records[KINDS][RECORDS];
    struct trace_info trace;
    struct event_agent agent;
    struct schema_cache *cache;
    struct event_writer *writers[FORMATS];
    struct decoder decoder;
    struct buf out;
    struct buf batch;
    uint32_t ends[RECORDS];
};

/* ---- counting allocations -------------------------------------------------------------------- */

static size_t allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

void *__wrap_malloc(size_t size)
{
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocations++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    allocations++;
    return __real_realloc(memory, size);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void draw(struct bench *b)
{
    struct etl_mix *mix = rig_mix(b->cache, &b->trace);
    for (size_t i = 0; i < (size_t)KINDS * RECORDS; i++) {
        b->records[i / RECORDS][i % RECORDS] = rig_record(mix, kinds[i / RECORDS]);
    }
    etl_mix_destroy(mix);
}

static void bench_init(struct bench *b)
{
    const struct schema_cache_settings cache = {.sources = {.path_count = 0}};
    b->agent = (struct event_agent){.id = span_text("00112233-4455-6677-8899-aabbccddeeff"),
        .name = span_text("PC-0042"),
        .version = span_text("0.1.0")};
    const struct event_writer_settings writer = {
        .session = span_text("sample"), .agent = &b->agent};
    b->trace = rig_trace();
    b->cache = schema_cache_create(&cache, NULL);
    buf_init(&b->out, 1 << 24);
    buf_init(&b->batch, 1 << 26);
    bool good = b->cache && decoder_init(&b->decoder, NULL) && buf_reserve(&b->out, 1 << 20) &&
                buf_reserve(&b->batch, 1 << 24);
    for (size_t i = 0; good && i < FORMATS; i++) {
        b->writers[i] = event_writer_create(&writer, NULL);
        good = b->writers[i] != NULL;
    }
    if (!good) {
        rig_die("out of memory");
    }
    draw(b);
}

static void bench_fini(struct bench *b)
{
    for (size_t i = 0; i < (size_t)KINDS * RECORDS; i++) {
        free(b->records[i / RECORDS][i % RECORDS]);
    }
    for (size_t i = 0; i < FORMATS; i++) {
        event_writer_destroy(b->writers[i]);
    }
    buf_fini(&b->out);
    buf_fini(&b->batch);
    decoder_fini(&b->decoder);
    schema_cache_destroy(b->cache);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Decode all events of a kind, and write them in ${format}, or not: NULL. Nanoseconds per event. */
static double round_of(struct bench *b, size_t kind, const struct event_format *format,
    struct event_writer *writer, size_t *ret_bytes)
{
    const struct schema_choice *choice = schema_cache_find(b->cache, b->records[kind][0]);
    *ret_bytes = 0;
    uint64_t start = plat_cpu_ns();
    for (size_t i = 0; i < RECORDS; i++) {
        struct event event;
        const struct event_record *record = b->records[kind][i];
        decoder_run(&b->decoder, record, choice->list[0], record->pointer_size, &event);
        buf_reset(&b->out);
        if (format) {
            format->event(writer, &event, &b->out);
        }
        *ret_bytes += b->out.size;
    }
    return (double)(plat_cpu_ns() - start) / RECORDS;
}

/* The cost of encoding alone: a round with it minus a round without. */
static bool measure(struct bench *b, size_t rounds)
{
    static const struct event_format *const formats[FORMATS] = {
        &event_format_otlp, &event_format_otel, &event_format_native};
    static double ns[FORMATS + 1][MAX_ROUNDS];
    size_t bytes[FORMATS + 1];
    bool ok = true;
    double all = 0;
    printf("%-24s %6s %6s %9s %6s %6s %6s %6s\n", "kind", "otlp", "ns", "M/s", "otel", "ns",
        "native", "ns");
    for (size_t k = 0; k < KINDS; k++) {
        size_t before = 0;
        for (size_t r = 0; r < rounds; r++) {
            before = r == 1 ? allocations : before; /* the first one fills caches */
            for (size_t f = 0; f <= FORMATS; f++) {
                ns[f][r] = round_of(b, k, f < FORMATS ? formats[f] : NULL,
                    f < FORMATS ? b->writers[f] : NULL, &bytes[f]);
            }
        }
        size_t allocated = rounds > 1 ? allocations - before : 0;
        double none = rig_median(ns[FORMATS], rounds);
        double otlp = rig_median(ns[0], rounds) - none;
        all += otlp;
        printf("%-24s %6zu %6.0f %9.2f %6zu %6.0f %6zu %6.0f\n", etl_mix_kind_name(kinds[k]),
            bytes[0] / RECORDS, otlp, 1e3 / otlp, bytes[1] / RECORDS,
            rig_median(ns[1], rounds) - none, bytes[2] / RECORDS, rig_median(ns[2], rounds) - none);
        if (allocated) {
            printf("%zu allocations\n", allocated);
        }
        ok = ok && !allocated && bytes[0];
    }
    printf("%-24s %6s %6.0f %9.2f\n", "as many of each", "", all / KINDS, 1e3 * KINDS / all);
    return ok;
}

/* Records of all kinds in turn, as one request. */
static bool measure_frame(struct bench *b, size_t rounds)
{
    static double ns[MAX_ROUNDS];
    static enum record_status statuses[RECORDS];
    struct otlp_frame frame = {.count = 0};
    size_t refused;
    bool ok = true;
    buf_reset(&b->batch);
    for (size_t i = 0; i < RECORDS; i++) {
        struct event event;
        const struct event_record *record = b->records[i % KINDS][i];
        const struct schema_choice *choice = schema_cache_find(b->cache, record);
        decoder_run(&b->decoder, record, choice->list[0], record->pointer_size, &event);
        event_format_otlp.event(b->writers[0], &event, &b->batch);
        b->ends[i] = (uint32_t)b->batch.size;
        statuses[i] = RECORD_RETRY;
    }
    const struct delivery delivery = {
        .bytes = buf_span(&b->batch), .record_ends = b->ends, .record_count = RECORDS};
    const struct http_piece piece = {
        .delivery = &delivery, .statuses = statuses, .first = 0, .count = RECORDS};
    otlp_frame_init(&frame, OTLP_PROTOBUF);
    for (size_t r = 0; r < rounds; r++) {
        uint64_t start = plat_cpu_ns();
        ok = otlp_frame_write(&frame, &piece, &refused) == OTLP_FRAMED && ok;
        ns[r] = (double)(plat_cpu_ns() - start) / RECORDS;
    }
    printf(
        "one request of them      %6zu %6.0f\n", frame.body.size / RECORDS, rig_median(ns, rounds));
    otlp_frame_fini(&frame);
    return ok;
}

int main(int argc, char **argv)
{
    static struct bench bench;
    size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : DEFAULT_ROUNDS;
    rounds = rounds < 1 ? 1 : rounds > MAX_ROUNDS ? MAX_ROUNDS : rounds;
    bench_init(&bench);
    bool ok = measure(&bench, rounds);
    ok = measure_frame(&bench, rounds) && ok;
    bench_fini(&bench);
    return ok ? 0 : 1;
}
