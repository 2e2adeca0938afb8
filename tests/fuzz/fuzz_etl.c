#include "fuzz/fuzz.h"

#include <stdlib.h>

#include "input/etl/etl_merge.h"
#include "unit/input/trace_bytes.h"

/* Any bytes as a trace: walked, indexed, merged. Both passes must agree on the records, and one that
 * leaves out mere events on what is damaged. */

static volatile uint8_t sink;

/* Touch all that a record points to, so that a bad view is noticed. */
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
        .self = &some, .record = count_record, .skips_mere_events = true, .damage = add_damage};
    if (etl_file_walk(file, &visitor, NULL) &&
        (some.records > all->records || some.damage != all->damage)) {
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
                count_record(&merged, record);
            }
        }
        if (merge && step == ETL_MERGE_END && merged.records != walked.records) {
            abort();
        }
        etl_merge_destroy(merge);
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
