/* Consuming .etl files: the readers of the project's own input layer, several files merged. */
#include <stdlib.h>

#include "input/etl/etl_merge.h"
#include "platform/plat_file.h"
#include "support/etw_sim/sim_consumer.h"

enum { ERROR_FILE_CORRUPT = 1392, MAX_CPUS = 2048 };

static void fill_header(const struct etl_info *info, struct etw_logfile_header *header)
{
    *header = (struct etw_logfile_header){.buffer_size = info->buffer_size,
        .version = (uint32_t)info->os_major | (uint32_t)info->os_minor << 8 |
                   (uint32_t)info->sub_version << 16 | (uint32_t)info->sub_minor << 24,
        .provider_version = info->os_build,
        .number_of_processors = info->processors,
        .end_time = (int64_t)info->end_time,
        .timer_resolution = info->timer_resolution,
        .maximum_file_size = info->max_file_mb,
        .log_file_mode = info->mode,
        .buffers_written = info->buffers_written,
        .start_buffers = info->start_buffers,
        .pointer_size = info->pointer_size,
        .events_lost = info->events_lost,
        .cpu_speed_mhz = info->cpu_mhz,
        .boot_time = (int64_t)info->boot_time,
        .perf_freq = (int64_t)info->perf_freq,
        .start_time = (int64_t)info->start_time,
        .reserved_flags = info->clock_type,
        .buffers_lost = info->buffers_lost};
}

uint32_t sim_trace_file_open(struct sim_trace *t)
{
    struct error err = {0};
    if (plat_path_kind(t->path) != PLAT_PATH_FILE) {
        return ETW_ERROR_FILE_NOT_FOUND;
    }
    arena_init(&t->arena, 1 << 20);
    t->file = etl_file_open(t->path, NULL, &t->handles, &t->arena, &err);
    if (!t->file || !etl_file_index(t->file, NULL, &err)) {
        return ERROR_FILE_CORRUPT;
    }
    const struct etl_info *info = etl_file_info(t->file);
    t->info = info->trace;
    t->log.buffer_size = info->buffer_size;
    fill_header(info, &t->log.header);
    return 0;
}

void sim_trace_file_close(struct sim_trace *t)
{
    if (t->kind == SIM_TRACE_FILE) {
        if (t->file) {
            etl_file_destroy(t->file);
        }
        arena_fini(&t->arena);
        free(t->path);
    }
}

static bool end_buffer(struct sim_trace *t)
{
    t->log.buffers_read++;
    t->log.filled = t->log.buffer_size;
    return !t->log.buffer_callback || t->log.buffer_callback(&t->log) != 0;
}

/* Did the record's processor go on to another buffer? */
static bool is_next_buffer(uint64_t *offsets, const struct event_record *r)
{
    uint64_t *last = &offsets[r->cpu % MAX_CPUS];
    bool next = *last && *last != r->position.buffer_offset + 1;
    *last = r->position.buffer_offset + 1;
    return next;
}

static uint32_t give_all(
    struct sim_trace *const *traces, struct etl_merge *merge, uint64_t *offsets)
{
    for (;;) {
        const struct event_record *record = NULL;
        size_t file = 0;
        struct error err = {0};
        switch (etl_merge_next(merge, &record, &file, &err)) {
        case ETL_MERGE_RECORD:
            break;
        case ETL_MERGE_FILE_END:
            if (!end_buffer(traces[file])) {
                return ETW_ERROR_CANCELLED;
            }
            continue;
        case ETL_MERGE_END:
            return 0;
        default:
            return ERROR_FILE_CORRUPT;
        }
        struct sim_trace *t = traces[file];
        if (atomic_load(&t->closing)) {
            return 0;
        }
        if (is_next_buffer(offsets + file * MAX_CPUS, record) && !end_buffer(t)) {
            return ETW_ERROR_CANCELLED;
        }
        sim_deliver_record(t, record, 0);
    }
}

uint32_t sim_trace_file_run(struct sim_trace *const *traces, size_t count)
{
    struct etl_file *files[SIM_MAX_HANDLES];
    struct error err = {0};
    for (size_t i = 0; i < count; i++) {
        files[i] = traces[i]->file;
    }
    uint64_t *offsets = calloc(SIM_MAX_HANDLES, MAX_CPUS * sizeof(*offsets));
    struct etl_merge *merge = etl_merge_create(files, count, &err);
    uint32_t code = ETW_ERROR_NOT_ENOUGH_MEMORY;
    if (offsets && merge) {
        code = give_all(traces, merge, offsets);
    }
    etl_merge_destroy(merge);
    free(offsets);
    return code;
}
