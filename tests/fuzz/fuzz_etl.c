#include "fuzz/fuzz.h"

#include <stdlib.h>

#include "input/etl/etl_merge.h"
#include "unit/input/trace_bytes.h"

/* Any bytes as a trace: walked, indexed, merged. Both passes must agree on the records. A pass that
 * leaves out plain events must find the same damage. If some buffers are left out, the records of
 * the others keep their places. */

static volatile uint8_t sink;

/* Touch all bytes that a record points to, so that a bad view is noticed. */
static void touch(struct span s)
{
    for (size_t i = 0; i < s.size; i++) {
        sink ^= s.data[i];
    }
}

struct walked {
    size_t records;
    uint64_t damage; /* a sum over offsets */
};

static bool count_record(void *self, const struct event_record *record)
{
    struct walked *walked = self;
    walked->records++;
    touch(record->payload);
    for (size_t i = 0; i < record->extended_count; i++) {
        touch(record->extended[i].data);
    }
    return true;
}

static void add_damage(
    void *self, const struct trace_info *trace, uint64_t offset, const char *what)
{
    struct walked *walked = self;
    (void)trace;
    (void)what;
    walked->damage = walked->damage * 31 + offset + 1;
}

static void check_skipping(struct etl_file *file, const struct walked *all)
{
    struct walked some = {0};
    const struct etl_visitor visitor = {
        .self = &some, .record = count_record, .skips_plain_events = true, .damage = add_damage};
    if (etl_file_walk(file, &visitor, NULL) &&
        (some.records > all->records || some.damage != all->damage)) {
        abort();
    }
}

/* ---- buffers that are left out --------------------------------------------------------------- */

enum { MAX_PLACES = 1 << 14 };

struct place {
    uint64_t time;
    uint64_t buffer;
    uint32_t record;
};

static struct place places[MAX_PLACES]; /* of all records, in the order of the merge */
static size_t place_count;

static struct place place_of(const struct event_record *record)
{
    return (struct place){.time = record->time,
        .buffer = record->position.buffer_offset,
        .record = record->position.record_offset};
}

static uint8_t reason_of(const struct place *place)
{
    return place->record / 8 % ETL_LEFT_OUT_REASONS;
}

/* Whole buffers, and some records of others. */
static bool is_left_out(const struct place *place)
{
    return place->buffer / 64 % 3 || place->record / 8 % 5 == 0;
}

static bool leave_out(void *self, const struct event_record *record, uint8_t *ret_reason)
{
    struct place place = place_of(record);
    (void)self;
    *ret_reason = reason_of(&place);
    return is_left_out(&place);
}

static void check_counts(const struct etl_merge_left_out *left_out, size_t at)
{
    uint64_t counts[ETL_LEFT_OUT_REASONS] = {0};
    uint64_t newest = 0;
    if (left_out->total == 0 || left_out->total > place_count - at) {
        abort();
    }
    for (size_t i = at; i < at + left_out->total; i++) {
        if (!is_left_out(&places[i])) {
            abort();
        }
        counts[reason_of(&places[i])]++;
        newest = places[i].time > newest ? places[i].time : newest;
    }
    if (memcmp(counts, left_out->counts, sizeof(counts)) != 0 || newest != left_out->newest) {
        abort();
    }
}

/* Merge again, this time without reading the buffers that are left out. */
static void check_left_out(struct etl_file *file)
{
    struct walked walked = {0};
    size_t budget = 1 << 16;
    const struct etl_visitor visitor = {
        .self = &walked, .record = count_record, .leaves_out = leave_out};
    etl_left_out_init(&file->left_out, &budget);
    struct etl_merge *merge = etl_file_index(file, &visitor, NULL)
                                  ? etl_merge_create(&file, 1, NULL)
                                  : NULL;
    enum etl_merge_step step = ETL_MERGE_END;
    const struct event_record *record;
    size_t index;
    size_t at = 0;
    while (merge && (step = etl_merge_next(merge, &record, &index, NULL)) != ETL_MERGE_END &&
           step != ETL_MERGE_FAILED) {
        if (step == ETL_MERGE_LEFT_OUT) {
            check_counts(etl_merge_left_out(merge), at);
            at += etl_merge_left_out(merge)->total;
        } else if (step == ETL_MERGE_RECORD) {
            struct place place = place_of(record);
            if (at == place_count || place.time != places[at].time ||
                place.buffer != places[at].buffer || place.record != places[at].record) {
                abort();
            }
            at++;
        }
    }
    if (merge && step == ETL_MERGE_END && at != place_count) {
        abort();
    }
    etl_merge_destroy(merge);
    etl_left_out_fini(&file->left_out);
    if (budget != 1 << 16) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    arena_init(&arena, 1 << 24);
    struct etl_file *file = etl_file_open_memory(span_make(data, size), "fuzz", &arena, NULL);
    if (file) {
        struct walked walked = {0};
        struct walked merged = {0};
        const struct etl_visitor visitor = {
            .self = &walked, .record = count_record, .damage = add_damage};
        bool indexed = etl_file_index(file, &visitor, NULL);
        if (indexed) {
            check_skipping(file, &walked);
        }
        struct etl_merge *merge = indexed ? etl_merge_create(&file, 1, NULL) : NULL;
        const struct event_record *record;
        size_t index;
        enum etl_merge_step step = ETL_MERGE_RECORD;
        while (merge && (step = etl_merge_next(merge, &record, &index, NULL)) != ETL_MERGE_END &&
               step != ETL_MERGE_FAILED) {
            if (step == ETL_MERGE_RECORD) {
                places[merged.records % MAX_PLACES] = place_of(record);
                count_record(&merged, record);
            }
        }
        if (merge && step == ETL_MERGE_END && merged.records != walked.records) {
            abort();
        }
        etl_merge_destroy(merge);
        if (merge && step == ETL_MERGE_END && merged.records < MAX_PLACES) {
            place_count = merged.records;
            check_left_out(file);
        }
    }
    etl_file_destroy(file);
    arena_fini(&arena);
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static struct trace t;
    if (index > 1) {
        return 0;
    }
    memset(&t, 0, sizeof(t));
    trace_header(&t, (struct trace_options){.open = index == 1});
    trace_buffer(&t, 0, 1, 2000, 10, 1, 3);
    trace_buffer(&t, 1, 2, 2005, 10, 11, 3);
    if (index == 1) {
        trace_header(&t, (struct trace_options){.mode = 2});
        trace_buffer(&t, 0, 1, 2000, 10, 1, 3);
    }
    size_t size = t.size < max ? t.size : max;
    memcpy(out, t.bytes, size);
    return size;
}
