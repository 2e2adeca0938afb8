#ifndef ETWSHIP_TESTS_UNIT_STORE_STORE_RIG_H
#define ETWSHIP_TESTS_UNIT_STORE_STORE_RIG_H

#include <stdio.h>
#include <string.h>

#include "store/catalogue/catalogue_sources.h"
#include "store/disk/disk.h"
#include "store/store.h"
#include "support/disk_model.h"
#include "support/temp_folder.h"
#include "support/test.h"

/*
 * A store in a folder of its own, on the real disk or (its segments) on a model of one, with a
 * clock that the test sets. The body of a batch says which one it is: "7 of json" and some padding.
 */
enum { RIG_SECOND = 10000000, RIG_NEWS = 8 };

struct store_rig {
    char folder[TEMP_FOLDER_BYTES];
    char path[TEMP_FOLDER_BYTES + 32];
    struct disk_model *model; /* NULL: the real disk */
    struct store_clock clock;
    struct store_settings settings;
    struct store *store;
    struct error err;
    uint64_t wall;
    uint64_t monotonic_ns;
    unsigned news[RIG_NEWS]; /* how often each kind was reported */
    char told[1024];         /* the last report */
};

#define assert_ok(call, rig)                 \
    do {                                     \
        if (!(call)) {                       \
            fail_msg("%s", (rig)->err.text); \
        }                                    \
    } while (0)

static inline uint64_t rig_now(void *self)
{
    return ((struct store_rig *)self)->wall;
}

static inline uint64_t rig_monotonic_ns(void *self)
{
    return ((struct store_rig *)self)->monotonic_ns;
}

static inline void rig_report(void *self, enum store_news news, const char *text)
{
    struct store_rig *rig = self;
    rig->news[news]++;
    snprintf(rig->told, sizeof(rig->told), "%s", text);
}

/* Time passes, and the clock shows it. */
static inline void rig_pass_seconds(struct store_rig *rig, uint64_t seconds)
{
    rig->wall += seconds * RIG_SECOND;
    rig->monotonic_ns += seconds * 1000000000;
}

static inline bool rig_try_open(struct store_rig *rig)
{
    rig->store = store_open(&rig->settings, &rig->err);
    return rig->store != NULL;
}

static inline void rig_open(struct store_rig *rig)
{
    assert_ok(rig_try_open(rig), rig);
}

static inline void rig_close(struct store_rig *rig)
{
    store_close(rig->store);
    rig->store = NULL;
}

static inline void rig_reopen(struct store_rig *rig)
{
    rig_close(rig);
    rig_open(rig);
}

/* ${model}: 0 for the real disk, else the seed of a model. */
static inline void rig_init(struct store_rig *rig, uint64_t model)
{
    memset(rig, 0, sizeof(*rig));
    assert_int_equal(temp_folder_make(rig->folder, "store"), 0);
    snprintf(rig->path, sizeof(rig->path), "%s/spool", rig->folder);
    rig->wall = UINT64_C(134000000000000000);
    rig->monotonic_ns = 1000000000;
    rig->clock = (struct store_clock){
        .now = rig_now, .monotonic_ns = rig_monotonic_ns, .self = rig};
    rig->model = model ? disk_model_create(model) : NULL;
    rig->settings = (struct store_settings){.folder = rig->path,
        .segment_bytes = 4096,
        .disk = rig->model ? disk_model_disk(rig->model) : NULL,
        .clock = &rig->clock,
        .report = rig_report,
        .self = rig};
}

static inline void rig_fini(struct store_rig *rig)
{
    rig_close(rig);
    if (rig->model) {
        assert_int_equal(disk_model_open_files(rig->model), 0);
        disk_model_destroy(rig->model);
    }
    assert_int_equal(temp_folder_remove(rig->folder), 0);
}

/* ---- streams and outputs ---- */

static inline uint64_t rig_stream(struct store_rig *rig, const char *key)
{
    uint64_t stream = 0;
    assert_ok(
        store_stream(rig->store, span_text(key), 7, span_text("shape"), &stream, &rig->err), rig);
    return stream;
}

/* An output. The texts about it name the key of its stream. */
static inline size_t rig_output_at(struct store_rig *rig, const char *name, const char *key,
    bool from_head, struct store_output_state *ret_state)
{
    size_t output = SIZE_MAX;
    uint64_t stream = rig_stream(rig, key);
    assert_ok(store_output(rig->store, span_text(name), stream, span_text(key), from_head, &output,
                  ret_state, &rig->err),
        rig);
    return output;
}

static inline size_t rig_output(struct store_rig *rig, const char *name, const char *key)
{
    struct store_output_state state;
    return rig_output_at(rig, name, key, false, &state);
}

/* ---- batches ---- */

/* Batches that wait for an output. */
static inline uint64_t rig_backlog(struct store_rig *rig, size_t output)
{
    struct store_backlog backlog;
    assert_ok(store_backlog(rig->store, output, &backlog, &rig->err), rig);
    return backlog.batches;
}

static inline void rig_body(char body[256], uint64_t number, const char *key)
{
    size_t size = (size_t)snprintf(body, 256, "%llu of %s ", (unsigned long long)number, key);
    memset(body + size, 'x', 255 - size);
    body[60 + number * 37 % 190] = '\0';
}

static inline bool rig_try_append(
    struct store_rig *rig, const char *key, uint64_t number, struct store_row *ret_row)
{
    char body[256];
    uint64_t stream = rig_stream(rig, key);
    rig_body(body, number, key);
    const struct store_source source = {.session = span_text("kernel"), .sequence = number};
    const struct store_batch batch = {.stream = stream,
        .body = span_text(body),
        .records = (uint32_t)(1 + number % 5),
        .first_time = number,
        .last_time = number + 1,
        .sources = &source,
        .source_count = 1};
    return store_append(rig->store, &batch, ret_row, &rig->err);
}

static inline struct store_row rig_append(struct store_rig *rig, const char *key, uint64_t number)
{
    struct store_row row;
    assert_ok(rig_try_append(rig, key, number, &row), rig);
    return row;
}

static inline struct store_committed rig_commit(struct store_rig *rig)
{
    struct store_committed committed;
    assert_ok(store_commit(rig->store, &committed, &rig->err), rig);
    store_tidy(rig->store);
    return committed;
}

static inline bool rig_try_commit(struct store_rig *rig)
{
    struct store_committed committed;
    bool ok = store_commit(rig->store, &committed, &rig->err);
    store_tidy(rig->store);
    return ok;
}

/* Append batches ${first} to ${last} and commit each. */
static inline void rig_fill(struct store_rig *rig, const char *key, uint64_t first, uint64_t last)
{
    for (uint64_t i = first; i <= last; i++) {
        rig_append(rig, key, i);
        rig_commit(rig);
    }
}

/* The number in a batch's body; 0 if it cannot be read, or is of another stream. */
static inline uint64_t rig_number(
    struct store_rig *rig, const struct store_row *row, const char *key)
{
    struct buf room;
    struct span body;
    uint64_t number = 0;
    char expected[256];
    buf_init(&room, STORE_READ_ROOM_BYTES);
    if (store_read(rig->store, row, &room, &body, &rig->err) == STORE_READ_OK) {
        for (size_t i = 0; i < body.size && body.data[i] >= '0' && body.data[i] <= '9'; i++) {
            number = number * 10 + (uint64_t)(body.data[i] - '0');
        }
        rig_body(expected, number, key);
        number = span_is(body, expected) ? number : 0;
    }
    buf_fini(&room);
    return number;
}

/* The batches that wait for an output of stream ${key}, as "1 2 5"; at most 100. A batch that
 * cannot be read is "?". */
static inline const char *rig_waiting(struct store_rig *rig, size_t output, const char *key)
{
    static char text[1000];
    struct store_row rows[100];
    size_t count = 0;
    assert_ok(store_next(rig->store, output, 0, rows, 100, &count, &rig->err), rig);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(text);
        uint64_t number = rig_number(rig, &rows[i], key);
        snprintf(text + used, sizeof(text) - used, i ? " " : "");
        used = strlen(text);
        if (number) {
            snprintf(text + used, sizeof(text) - used, "%llu", (unsigned long long)number);
        } else {
            snprintf(text + used, sizeof(text) - used, "?");
        }
    }
    return text;
}

/* The row of the ${place}th waiting batch (from 0). */
static inline struct store_row rig_row(struct store_rig *rig, size_t output, size_t place)
{
    struct store_row rows[100];
    size_t count = 0;
    assert_ok(store_next(rig->store, output, 0, rows, 100, &count, &rig->err), rig);
    assert_true(place < count);
    return rows[place];
}

static inline void rig_settle(struct store_rig *rig, size_t output, uint64_t id)
{
    assert_ok(store_progress(rig->store, &(struct store_progress){.output = output, .position = id},
                  &rig->err),
        rig);
}

static inline uint64_t rig_source(struct store_rig *rig, const char *key)
{
    uint64_t sequence = 0;
    bool found;
    assert_ok(catalogue_find_source(store_catalogue(rig->store, &rig->err), span_text("kernel"),
                  rig_stream(rig, key), &sequence, &found, &rig->err),
        rig);
    return sequence;
}

#endif
