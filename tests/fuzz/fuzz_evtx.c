#include "fuzz/fuzz.h"

#include <stdlib.h>

#include "decode/decode.h"
#include "input/etl/etl_merge.h"
#include "input/etl/evtx_tail.h"
#include "schema/source/schema_sources.h"
#include "support/evtx_sample.h"

/* Any bytes as an event log: walked, indexed, merged, followed. Both passes must agree on the
 * records, and the description of a record's payload must fit it to the last byte. */

static void check_payload(void *source, struct decoder *decoder, const struct event_record *record)
{
    struct schema_candidates found = {.count = 0};
    struct event event;
    schema_source_tracelogging.find(source, record, &found);
    if (found.count == 0 || !found.list[0]->has_layout) {
        return; /* the record had no room */
    }
    decoder_run(decoder, record, found.list[0], record->pointer_size, &event);
    bool is_whole = event.status == DECODE_COMPLETE ||
                    (record->log_problem && event.error == record->log_problem);
    if (found.list[0]->kind != SCHEMA_EVENTLOG || !is_whole || event.rest.size) {
        abort();
    }
}

static bool count_record(void *self, const struct event_record *record)
{
    size_t *count = self;
    ++*count;
    return record->trace != NULL;
}

static size_t merge_all(struct etl_file *file, void *source, struct decoder *decoder)
{
    struct etl_merge *merge = etl_merge_create(&file, 1, NULL);
    const struct event_record *record;
    size_t index;
    size_t count = 0;
    enum etl_merge_step step = ETL_MERGE_RECORD;
    while (merge && (step = etl_merge_next(merge, &record, &index, NULL)) != ETL_MERGE_END &&
           step != ETL_MERGE_FAILED) {
        if (step == ETL_MERGE_RECORD) {
            check_payload(source, decoder, record);
            count++;
        }
    }
    etl_merge_destroy(merge);
    return count;
}

/* As an open log, and as one that is closed while it is followed. */
static void follow_all(struct etl_file *file)
{
    struct evtx_tail *tail = evtx_tail_create(file, NULL);
    struct evtx_tail_found found;
    uint64_t mark = 0;
    for (int is_final = 0; tail && is_final < 2; is_final++) {
        while (evtx_tail_next(tail, UINT64_MAX, is_final, &found, NULL) == EVTX_TAIL_CHUNK) {
            enum evtx_step step;
            if (found.mark <= mark) {
                abort();
            }
            mark = found.mark;
            while ((step = evtx_chunk_next(found.chunk)) != EVTX_STEP_END) {
                if (step == EVTX_STEP_FAILED) {
                    abort();
                }
            }
        }
    }
    evtx_tail_destroy(tail);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct schema_source_settings settings;
    void *source = schema_source_tracelogging.create(&settings, NULL);
    struct decoder decoder;
    struct arena arena;
    arena_init(&arena, 1 << 24);
    if (!source || !decoder_init(&decoder, NULL)) {
        abort();
    }
    struct etl_file *file = etl_file_open_memory(span_make(data, size), "fuzz", &arena, NULL);
    if (file && file->log) {
        size_t walked = 0;
        file->naming.carves = size % 2;
        const struct etl_visitor visitor = {.self = &walked, .record = count_record};
        if (etl_file_index(file, &visitor, NULL) && merge_all(file, source, &decoder) != walked) {
            abort();
        }
        follow_all(file);
    }
    etl_file_destroy(file);
    decoder_fini(&decoder);
    arena_fini(&arena);
    schema_source_tracelogging.destroy(source);
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static struct evtx_put put;
    if (index > 0) {
        return 0;
    }
    evtx_put_begin(&put);
    evtx_sample_logon(&put, 1, EVTX_SAMPLE_TIME, "PC-1", "anna");
    evtx_sample_user(&put, 2, EVTX_SAMPLE_TIME);
    evtx_sample_plain(&put, 3, EVTX_SAMPLE_TIME);
    evtx_sample_nested(&put, 4, EVTX_SAMPLE_TIME);
    evtx_sample_forwarded(&put, 5, EVTX_SAMPLE_TIME);
    evtx_put_finish(&put);
    size_t end = put.at; /* the rest is zeros */
    size_t size = end < max ? end : max;
    memcpy(out, put.bytes, size);
    return size;
}
