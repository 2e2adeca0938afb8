#include "input/record/etl_buffer.h"

#include <stddef.h>

#include "base/bytes.h"

/* End of the records: Offset, or SavedOffset if Offset is 0. In some headers of real files one of
 * them is 0. CurrentOffset is a racing cursor and never used. Both 0: the buffer is empty. */
static uint32_t end_of_records(const uint8_t *header)
{
    uint32_t end = load_le32(header + ETL_BUFFER_OFFSET);
    if (end == 0) {
        end = load_le32(header + ETL_BUFFER_SAVED_OFFSET);
    }
    return end ? end : ETL_BUFFER_HEADER_SIZE;
}

bool etl_buffer_parse(
    const uint8_t *header, uint64_t offset, struct etl_buffer *ret_buffer, const char **ret_problem)
{
    uint32_t size = load_le32(header + ETL_BUFFER_SIZE);
    if (size < ETL_BUFFER_HEADER_SIZE || size > ETL_MAX_BUFFER_BYTES) {
        return false;
    }
    uint16_t flags = load_le16(header + ETL_BUFFER_FLAGS);
    uint16_t cpu = load_le16(header + ETL_BUFFER_CPU);
    uint32_t end = end_of_records(header);
    *ret_buffer = (struct etl_buffer){
        .offset = offset,
        .size = size,
        .end = end,
        .time_raw = (int64_t)load_le64(header + ETL_BUFFER_TIME),
        .sequence = load_le64(header + ETL_BUFFER_SEQUENCE),
        .state = load_le32(header + ETL_BUFFER_STATE),
        /* without PROC_INDEX the high byte is an alignment */
        .cpu = flags & ETL_FLAG_PROC_INDEX ? cpu & ETL_CPU_MASK : cpu & 0xff,
        .logger_id = load_le16(header + ETL_BUFFER_LOGGER),
        .flags = flags,
        .type = load_le16(header + ETL_BUFFER_TYPE),
        .empty = end == ETL_BUFFER_HEADER_SIZE,
    };
    uint32_t limit = flags & ETL_FLAG_COMPRESSED ? ETL_MAX_BUFFER_BYTES : size;
    if (end < ETL_BUFFER_HEADER_SIZE || end > limit) {
        *ret_problem = "buffer skipped: the end of its records lies outside it";
    } else if (ret_buffer->type > ETL_TYPE_LAST) {
        *ret_problem = "buffer skipped: unknown buffer type";
    } else {
        *ret_problem = NULL;
    }
    return true;
}

bool etl_buffer_plausible(const uint8_t *header)
{
    struct etl_buffer buffer;
    const char *problem;
    bool was_written = load_le32(header + ETL_BUFFER_OFFSET) != 0 ||
                       load_le32(header + ETL_BUFFER_SAVED_OFFSET) != 0;
    return etl_buffer_parse(header, 0, &buffer, &problem) && !problem && was_written &&
           load_le32(header + ETL_BUFFER_REFERENCES) == 0 &&
           (buffer.flags & ~ETL_FLAGS_KNOWN) == 0 &&
           load_le32(header + ETL_BUFFER_OFFSET) % ETL_RECORD_ALIGNMENT == 0 &&
           buffer.sequence >> 48 == 0;
}
