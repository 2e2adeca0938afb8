#ifndef ETWSHIP_TESTS_UNIT_PIPELINE_SPOOL_RIG_H
#define ETWSHIP_TESTS_UNIT_PIPELINE_SPOOL_RIG_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "pipeline/spool/spool_durable.h"
#include "platform/plat_thread.h"
#include "store/store.h"
#include "support/disk_model.h"
#include "support/temp_folder.h"
#include "support/test.h"

/*
 * A durable spool over a store whose segments lie on a model of a disk: it can be full, fail, and
 * lose power, which ends a run like a crash. Streams 0 and 1; sessions "file", which is read again,
 * and "live". A record is its number in decimal.
 */
enum { RIG_STREAMS = 2, RIG_SESSIONS = 3, RIG_FILE = 0, RIG_LIVE = 1, RIG_MAX_READERS = 4 };

struct spool_rig {
    char folder[TEMP_FOLDER_BYTES];
    char path[TEMP_FOLDER_BYTES + 32];
    struct disk_model *model;
    struct store_settings store_settings;
    struct spool_durable_stream streams[RIG_STREAMS];
    struct spool_durable_settings settings;
    struct spool_reader readers[RIG_MAX_READERS];
    size_t reader_count;

    struct store *store;
    struct spool *spool;
    struct spool_backlog backlogs[RIG_MAX_READERS]; /* at the start */
    atomic_uint_fast64_t lost[RIG_MAX_READERS][OUTPUT_DROP_COUNT];
    atomic_uint_fast64_t lost_by_others[OUTPUT_DROP_COUNT]; /* all outputs are named "b" */
    atomic_uint_fast64_t lost_own;                          /* of `lost`: of the agent itself */
    atomic_uint warnings;
    atomic_uint stages;
};

static const char *const rig_sessions[RIG_SESSIONS] = {"file", "live", ""};
static const bool rig_replayable[RIG_SESSIONS] = {true, false, false};

static inline void rig_lost(void *self, const struct spool_durable_loss *loss)
{
    struct spool_rig *rig = self;
    if (loss->cursor == SIZE_MAX) {
        assert_span(loss->output, "b");
        assert_int_not_equal(loss->to, 0);
        atomic_fetch_add(&rig->lost_by_others[loss->reason], loss->records);
        return;
    }
    assert_int_equal(loss->output.size, 0);
    atomic_fetch_add(&rig->lost_own, loss->own ? loss->records : 0);
    atomic_fetch_add(&rig->lost[loss->cursor][loss->reason], loss->records);
}

static inline void rig_warn(void *self, const char *kind, const char *text)
{
    struct spool_rig *rig = self;
    assert_non_null(kind);
    assert_non_null(text);
    atomic_fetch_add(&rig->warnings, 1);
}

/* One output, "a", of stream 0. A commit happens whenever a thread waits, and every 5 ms. */
static inline void rig_init(struct spool_rig *rig)
{
    memset(rig, 0, sizeof(*rig));
    assert_int_equal(temp_folder_make(rig->folder, "spool"), 0);
    snprintf(rig->path, sizeof(rig->path), "%s/spool", rig->folder);
    rig->model = disk_model_create(7);
    rig->store_settings = (struct store_settings){
        .folder = rig->path, .segment_bytes = 16 * 1024, .disk = disk_model_disk(rig->model)};
    rig->streams[0] = (struct spool_durable_stream){.key = "json", .hash = 11};
    rig->streams[1] = (struct spool_durable_stream){.key = "ecs", .hash = 12};
    rig->settings = (struct spool_durable_settings){.streams = rig->streams,
        .stream_count = RIG_STREAMS,
        .sessions = rig_sessions,
        .replayable = rig_replayable,
        .comes_again = rig_replayable,
        .session_count = RIG_SESSIONS,
        .memory_bytes = 64 * 1024 * 1024,
        .sync_interval_ns = UINT64_C(5000000),
        .sync_bytes = 4 * 1024 * 1024,
        .lost = rig_lost,
        .warn = rig_warn,
        .self = rig};
    rig->readers[0] = (struct spool_reader){.name = "a", .route = SIZE_MAX, .stream_hash = 11};
    rig->reader_count = 1;
}

static inline void rig_open(struct spool_rig *rig)
{
    struct error err = {0};
    rig->store = store_open(&rig->store_settings, &err);
    assert_string_equal(err.text, "");
    rig->settings.store = rig->store;
    rig->spool = spool_durable_create(&rig->settings, &err);
    assert_string_equal(err.text, "");
    for (size_t i = 0; i < rig->reader_count; i++) {
        size_t cursor;
        assert_true(rig->spool->ops->add_cursor(
            rig->spool, &rig->readers[i], &cursor, &rig->backlogs[i], &err));
        assert_int_equal(cursor, i);
    }
    assert_true(rig->spool->ops->start(rig->spool, &err));
}

static inline void rig_close(struct spool_rig *rig)
{
    spool_destroy(rig->spool);
    store_close(rig->store);
    rig->spool = NULL;
    rig->store = NULL;
}

static inline void rig_fini(struct spool_rig *rig)
{
    if (rig->spool) {
        rig_close(rig);
    }
    assert_int_equal(disk_model_open_files(rig->model), 0);
    disk_model_destroy(rig->model);
    assert_int_equal(temp_folder_remove(rig->folder), 0);
}

/* ---- batches ---- */

/* Records ${first} to ${last} of a session, whose sequences they are, each filled up to
 * ${width}. */
static inline struct batch *rig_batch(uint32_t session, uint64_t first, uint64_t last, size_t width)
{
    struct batch *batch = batch_create(0, NULL, 0);
    assert_non_null(batch);
    for (uint64_t i = first; i <= last; i++) {
        size_t start = batch->piece.bytes.size;
        buf_printf(&batch->piece.bytes, "%llu", (unsigned long long)i);
        while (batch->piece.bytes.size - start < width) {
            buf_add_byte(&batch->piece.bytes, ' ');
        }
        buf_add_byte(&batch->piece.bytes, '\n');
        assert_true(piece_end_record(&batch->piece, i));
    }
    assert_true(batch_mark(batch, &(struct batch_segment){.session = session,
                                      .last_sequence = last,
                                      .times = {.from = 100 + first, .to = 100 + last}}));
    return batch;
}

static inline void rig_append(struct spool_rig *rig, size_t stream, uint64_t first, uint64_t last)
{
    rig->spool->ops->append(rig->spool, stream, rig_batch(RIG_FILE, first, last, 0));
}

static inline void rig_flush(struct spool_rig *rig)
{
    struct error err = {0};
    if (!rig->spool->ops->flush(rig->spool, &err)) {
        fail_msg("%s", err.text);
    }
}

/* Lose what was not committed, and begin another run. The last append ensures that no commit can
 * succeed meanwhile. */
static inline void rig_crash(struct spool_rig *rig)
{
    disk_model_power_off_at(rig->model, disk_model_changes(rig->model));
    rig->spool->ops->append(rig->spool, 0, rig_batch(RIG_LIVE, 999999, 999999, 0));
    rig_close(rig);
    disk_model_restart(rig->model, DISK_MODEL_LOSE_ALL);
    disk_model_power_off_at(rig->model, UINT64_MAX);
    rig_open(rig);
}

static inline void rig_reopen(struct spool_rig *rig)
{
    rig_close(rig);
    rig_open(rig);
}

/* ---- reading ---- */

enum { RIG_SOON_NS = 0 };

/* The next batch, waiting for it. */
static inline struct spool_item rig_next(struct spool_rig *rig, size_t cursor)
{
    struct spool_item item;
    enum spool_next next = rig->spool->ops->next(rig->spool, cursor, UINT64_MAX / 2, &item);
    assert_int_equal(next, SPOOL_BATCH);
    return item;
}

static inline uint64_t rig_record(const struct spool_item *item, size_t index)
{
    const struct piece *piece = &item->batch->piece;
    return strtoull((const char *)piece->bytes.data + piece_start(piece, index), NULL, 10);
}

/* The next batch has the records ${first} to ${last}. */
static inline struct spool_item rig_expect(
    struct spool_rig *rig, size_t cursor, uint64_t first, uint64_t last)
{
    struct spool_item item = rig_next(rig, cursor);
    assert_int_equal(rig_record(&item, 0), first);
    assert_int_equal(item.batch->piece.count, last - first + 1);
    assert_int_equal(rig_record(&item, item.batch->piece.count - 1), last);
    return item;
}

static inline void rig_ack(struct spool_rig *rig, size_t cursor, const struct spool_item *item)
{
    rig->spool->ops->ack(rig->spool, cursor, item, true);
}

static inline void rig_take(struct spool_rig *rig, size_t cursor, uint64_t first, uint64_t last)
{
    struct spool_item item = rig_expect(rig, cursor, first, last);
    rig_ack(rig, cursor, &item);
}

/* The spool is empty: everything that was appended is committed, and was handed out. */
static inline void rig_expect_nothing(struct spool_rig *rig, size_t cursor)
{
    struct spool_item item;
    rig_flush(rig);
    assert_int_equal(rig->spool->ops->next(rig->spool, cursor, 0, &item), SPOOL_NOTHING);
}

static inline void rig_checkpoint(struct spool_rig *rig, size_t cursor, const char *text, bool now)
{
    struct error err = {0};
    if (!rig->spool->ops->checkpoint(rig->spool, cursor, span_text(text), now, &err)) {
        fail_msg("%s", err.text);
    }
}

#endif
