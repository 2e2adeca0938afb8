#include "input/etl/evtx_follow.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "input/etl/evtx_file.h"
#include "input/etl/evtx_tail.h"
#include "input/evtx/evtx_format.h"
#include "platform/plat_file.h"

/* Collectors replace their copy of a log by a newer one. So the path decides: as long as it names a
 * log with the same identity, that log is read on. */
struct evtx_follow {
    struct etl_file *file;
    struct evtx_tail *tail;
    uint8_t id[16]; /* the log's own identity */
    bool closed;
};

struct evtx_follow *evtx_follow_create(struct etl_file *file, struct error *err)
{
    struct evtx_follow *f = calloc(1, sizeof(*f));
    struct evtx_tail *tail = f ? evtx_tail_create(file, err) : NULL;
    if (!tail) {
        free(f);
        error_set(err, ERR_MEMORY, "%s: out of memory", file->bytes.path);
        return NULL;
    }
    f->file = file;
    f->tail = tail;
    memcpy(f->id, file->id, sizeof(f->id));
    return f;
}

void evtx_follow_destroy(struct evtx_follow *f)
{
    if (f) {
        evtx_tail_destroy(f->tail);
        free(f);
    }
}

/* If ${path} now names another file that is a copy of the same log, read that from now on and
 * return true. */
static bool take_copy(struct evtx_follow *f, const char *path)
{
    enum { HEADER_BYTES = 64 * 1024 };
    struct arena arena;
    struct etl_handles handles = {.open = 0};
    if (strcmp(path, f->file->bytes.path) != 0) {
        return false;
    }
    arena_init(&arena, HEADER_BYTES);
    struct etl_file *file = etl_file_open(path, &f->file->naming, &handles, &arena, NULL);
    bool is_same = file && evtx_file_is_one(file) && memcmp(file->id, f->id, sizeof(f->id)) == 0;
    if (is_same) {
        etl_bytes_close(&f->file->bytes); /* the next read opens the path */
        f->file->bytes.size = file->bytes.size;
    }
    etl_file_destroy(file);
    arena_fini(&arena);
    return is_same;
}

bool evtx_follow_look(
    struct evtx_follow *f, const char *path, struct etl_follow_look *ret_look, struct error *err)
{
    struct etl_bytes *bytes = &f->file->bytes;
    struct etl_follow_look look = {.moved = !plat_file_is_at(bytes->file, path)};
    uint8_t head[EVTX_CHUNK_HEAD_BYTES] = {0};
    size_t got;
    look.moved = look.moved && !take_copy(f, path);
    if ((bytes->file && !plat_file_size(bytes->file, &bytes->size, err)) ||
        !etl_bytes_read(bytes, 0, head, sizeof(head), &got, err)) {
        return false;
    }
    f->closed = !(load_le32(head + EVTX_FILE_FLAGS_AT) & EVTX_FLAG_DIRTY);
    look.closed = f->closed;
    look.replaced = evtx_tail_is_replaced(f->tail) || !evtx_chunk_is_log(span_make(head, got));
    *ret_look = look;
    return true;
}

/* Deliver the new records of a chunk. */
static enum etl_follow_end give_chunk(const struct evtx_follow *f,
    const struct etl_follow_events *events, struct evtx_chunk *chunk, struct error *err)
{
    for (;;) {
        enum evtx_step step = evtx_chunk_next(chunk);
        if (step == EVTX_STEP_FAILED) {
            *err = *evtx_chunk_error(chunk); /* err is never NULL: see etl_follow_read */
            return ETL_FOLLOW_FAILED;
        }
        if (evtx_chunk_problem(chunk) && events->damage) {
            events->damage(events->self, &etl_file_info(f->file)->trace, evtx_chunk_offset(chunk),
                evtx_chunk_problem(chunk));
        }
        if (step == EVTX_STEP_END) {
            return ETL_FOLLOW_DONE;
        }
        if (step == EVTX_STEP_RECORD && !events->record(events->self, evtx_chunk_record(chunk))) {
            return ETL_FOLLOW_STOPPED;
        }
    }
}

enum etl_follow_end evtx_follow_read(
    struct evtx_follow *f, const struct etl_follow_events *events, uint64_t to, struct error *err)
{
    bool is_replay = to != UINT64_MAX;
    enum etl_follow_end end = ETL_FOLLOW_DONE;
    while (end == ETL_FOLLOW_DONE) {
        struct evtx_tail_found found;
        switch (evtx_tail_next(f->tail, to, f->closed || is_replay, &found, err)) {
        case EVTX_TAIL_FAILED:
            return ETL_FOLLOW_FAILED;
        case EVTX_TAIL_NONE:
            if (is_replay) {
                evtx_tail_leave(f->tail, to);
            }
            return ETL_FOLLOW_DONE;
        case EVTX_TAIL_CHUNK:
            break;
        }
        if (!events->reads(events->self, found.mark)) {
            return ETL_FOLLOW_STOPPED;
        }
        if (found.lost && !is_replay && events->overwritten) {
            events->overwritten(events->self, &etl_file_info(f->file)->trace, found.lost, "events");
        }
        end = give_chunk(f, events, found.chunk, err);
    }
    return end;
}
