/*
 * CPU per event of writing the ecs event, without and with what is mapped to the Elastic Common
 * Schema: the same events once under a GUID that the mapping does not know and once under one that
 * it does.
 *
 *   bench_ecs [ROUNDS]   prints the table; exit 1 if an event is not mapped where it should be
 */
#include "bench/bench_rig.h"

#include "decode/decode.h"
#include "event/write/event_formats.h"
#include "platform/plat_self.h"

enum { KINDS = 3, RECORDS = 2048, DEFAULT_ROUNDS = 21, MAX_ROUNDS = 1000, UNKNOWN_SERIAL = 4000 };

static const struct {
    enum etl_mix_kind kind;
    const char *known;
} kinds[KINDS] = {
    {MIX_DNS_COMPLETED, "1c95126e-7eea-49a9-a3fe-a378b03ddb4d"},
    {MIX_PROCESS_START, "22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716"},
    {MIX_KERNEL_PROCESS_START, "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c"},
};

struct bench {
    struct event_record *records[KINDS][RECORDS];
    struct trace_info trace;
    struct schema_cache *cache;
    struct event_writer *writer;
    struct decoder decoder;
    struct buf out;
};

static void draw(struct bench *b)
{
    struct etl_mix *mix = rig_mix(b->cache, &b->trace);
    for (size_t i = 0; i < (size_t)KINDS * RECORDS; i++) {
        b->records[i / RECORDS][i % RECORDS] = rig_record(mix, kinds[i / RECORDS].kind);
    }
    etl_mix_destroy(mix);
}

static void bench_init(struct bench *b)
{
    const struct schema_cache_settings cache = {.sources = {.path_count = 0}};
    const struct event_writer_settings writer = {.session = span_text("sample")};
    b->trace = rig_trace();
    b->cache = schema_cache_create(&cache, NULL);
    b->writer = event_writer_create(&writer, NULL);
    buf_init(&b->out, 1 << 24);
    if (!b->cache || !b->writer || !decoder_init(&b->decoder, NULL) ||
        !buf_reserve(&b->out, 1 << 20)) {
        rig_die("out of memory");
    }
    draw(b);
}

static void bench_fini(struct bench *b)
{
    for (size_t i = 0; i < (size_t)KINDS * RECORDS; i++) {
        free(b->records[i / RECORDS][i % RECORDS]);
    }
    buf_fini(&b->out);
    decoder_fini(&b->decoder);
    event_writer_destroy(b->writer);
    schema_cache_destroy(b->cache);
}

/* All events of a kind with one GUID; returns nanoseconds per event. */
static double round_of(struct bench *b, size_t kind, bool is_known, size_t *ret_bytes)
{
    const struct schema_choice *choice = schema_cache_find(b->cache, b->records[kind][0]);
    struct event_schema schema = *choice->list[0];
    struct guid guid = {{0xff}};
    schema.serial = (uint32_t)(UNKNOWN_SERIAL + 2 * kind + is_known);
    if (is_known) {
        guid_parse(span_text(kinds[kind].known), &guid);
    }
    schema.class_guid = schema.kind == SCHEMA_MOF ? guid : schema.class_guid;
    *ret_bytes = 0;
    uint64_t start = plat_cpu_ns();
    for (size_t i = 0; i < RECORDS; i++) {
        struct event event;
        struct event_record record = *b->records[kind][i];
        record.provider = guid;
        decoder_run(&b->decoder, &record, &schema, record.pointer_size, &event);
        buf_reset(&b->out);
        event_format_ecs.event(b->writer, &event, &b->out);
        *ret_bytes += b->out.size;
    }
    return (double)(plat_cpu_ns() - start) / RECORDS;
}

static bool measure(struct bench *b, size_t rounds)
{
    static double ns[2][MAX_ROUNDS];
    bool ok = true;
    printf("%-22s %8s %9s %8s %9s\n", "kind", "bytes", "ns", "mapped", "ns");
    for (size_t k = 0; k < KINDS; k++) {
        size_t bytes[2];
        for (size_t r = 0; r < rounds; r++) {
            ns[0][r] = round_of(b, k, false, &bytes[0]);
            ns[1][r] = round_of(b, k, true, &bytes[1]);
        }
        printf("%-22s %8zu %9.0f %8zu %9.0f\n", etl_mix_kind_name(kinds[k].kind),
            bytes[0] / RECORDS, rig_median(ns[0], rounds), bytes[1] / RECORDS,
            rig_median(ns[1], rounds));
        ok = ok && bytes[1] > bytes[0];
    }
    return ok;
}

int main(int argc, char **argv)
{
    static struct bench bench;
    size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : DEFAULT_ROUNDS;
    rounds = rounds < 1 ? 1 : rounds > MAX_ROUNDS ? MAX_ROUNDS : rounds;
    bench_init(&bench);
    bool ok = measure(&bench, rounds);
    bench_fini(&bench);
    return ok ? 0 : 1;
}
