#include "input/windows/etw_raw.h"

#include "input/etl_buffer.h"
#include "input/etl_record.h"

const char *etw_raw_read(
    struct span buffer, struct etw_trace *trace, const struct etw_raw_visitor *visitor)
{
    struct extended_item items[RECORD_MAX_EXTENDED];
    struct etl_buffer head;
    const char *problem = NULL;
    if (buffer.size < ETL_BUFFER_HEADER_SIZE ||
        !etl_buffer_parse(buffer.data, 0, &head, &problem)) {
        return "a buffer has no header";
    }
    if (problem) {
        return problem;
    }
    if (head.flags & ETL_FLAG_COMPRESSED) {
        return "a buffer is compressed";
    }
    if (head.end > buffer.size) {
        return "a buffer is shorter than it says";
    }
    etw_trace_start(trace, head.time_raw);
    struct etl_scope scope = {.trace = &trace->info, .cpu = head.cpu};
    uint32_t at = ETL_BUFFER_HEADER_SIZE;
    while (at + ETL_RECORD_START_SIZE <= head.end) {
        struct event_record record;
        uint32_t size;
        enum etl_frame frame = etl_record_frame(buffer.data + at, &size);
        if (frame == ETL_FRAME_END) {
            return NULL;
        }
        if (frame == ETL_FRAME_BAD || size > head.end - at) {
            return "what follows in a buffer is no record";
        }
        scope.position.record_offset = at;
        problem = etl_record_read(span_make(buffer.data + at, size), &scope, items, &record);
        if (!visitor->record(visitor->self, &record)) {
            return NULL;
        }
        uint32_t padded = (size + ETL_RECORD_ALIGNMENT - 1) / ETL_RECORD_ALIGNMENT *
                          ETL_RECORD_ALIGNMENT;
        at = padded < head.end - at ? at + padded : head.end;
    }
    return problem;
}
