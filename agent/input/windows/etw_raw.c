#include "input/windows/etw_raw.h"

#include "input/record/etl_buffer.h"

static bool refuse(struct etw_raw *raw, const char *problem)
{
    raw->problem = problem;
    return false;
}

bool etw_raw_open(struct etw_raw *raw, struct span buffer, struct etw_trace *trace)
{
    struct etl_buffer head;
    const char *problem = NULL;
    raw->buffer = span_make(NULL, 0);
    raw->at = 0;
    if (buffer.size < ETL_BUFFER_HEADER_SIZE ||
        !etl_buffer_parse(buffer.data, 0, &head, &problem)) {
        return refuse(raw, "a buffer has no header");
    }
    if (problem) {
        return refuse(raw, problem);
    }
    if (head.flags & ETL_FLAG_COMPRESSED) {
        return refuse(raw, "a buffer is compressed");
    }
    if (head.end > buffer.size) {
        return refuse(raw, "a buffer is truncated");
    }
    etw_trace_start(trace, head.time_raw);
    raw->buffer = span_first(buffer, head.end);
    raw->at = ETL_BUFFER_HEADER_SIZE;
    raw->cpu = head.cpu;
    raw->problem = NULL;
    raw->scope = (struct etl_scope){.trace = &trace->info, .cpu = head.cpu};
    return true;
}

bool etw_raw_next(struct etw_raw *raw, struct event_record *ret_record)
{
    uint32_t end = (uint32_t)raw->buffer.size;
    uint32_t at = raw->at;
    uint32_t size = 0;
    raw->at = end; /* an error here ends the buffer */
    if (at + ETL_RECORD_START_SIZE > end) {
        return false;
    }
    enum etl_frame frame = etl_record_frame(raw->buffer.data + at, &size);
    if (frame == ETL_FRAME_END) {
        return false;
    }
    if (frame == ETL_FRAME_BAD || size > end - at) {
        return refuse(raw, "a buffer contains an invalid record");
    }
    raw->scope.position.record_offset = at;
    const char *problem = etl_record_read(
        span_make(raw->buffer.data + at, size), &raw->scope, raw->items, ret_record);
    raw->problem = problem ? problem : raw->problem;
    uint32_t padded = (size + ETL_RECORD_ALIGNMENT - 1) / ETL_RECORD_ALIGNMENT *
                      ETL_RECORD_ALIGNMENT;
    raw->at = padded < end - at ? at + padded : end;
    return true;
}
