#ifndef ETWSHIP_TESTS_UNIT_STORE_CATALOGUE_RIG_H
#define ETWSHIP_TESTS_UNIT_STORE_CATALOGUE_RIG_H

#include <stdio.h>
#include <string.h>

#include "store/catalogue/catalogue_batches.h"
#include "support/temp_folder.h"
#include "support/test.h"

/* A catalogue in a folder of its own, and rows with values that all differ. */
enum { RIG_EPOCH = 0x1234 };

static char rig_folder[TEMP_FOLDER_BYTES];
static char rig_path[2 * TEMP_FOLDER_BYTES];

static inline int rig_make_folder(void **state)
{
    (void)state;
    if (temp_folder_make(rig_folder, "catalogue") != 0) {
        return -1;
    }
    snprintf(rig_path, sizeof(rig_path), "%s/catalogue.db", rig_folder);
    return 0;
}

static inline int rig_remove_folder(void **state)
{
    (void)state;
    return temp_folder_remove(rig_folder);
}

/* Print the error of a call that should have succeeded. */
#define assert_good(call)                 \
    do {                                  \
        struct error rig_err = {0};       \
        if (!(call)) {                    \
            fail_msg("%s", rig_err.text); \
        }                                 \
    } while (0)

/* An empty catalogue, whose creation is committed. */
static inline struct catalogue *rig_create(void)
{
    struct error err = {0};
    struct catalogue *catalogue = catalogue_create(rig_path, RIG_EPOCH, span_text("earlier"), &err);
    if (!catalogue || !catalogue_commit(catalogue, &err)) {
        fail_msg("%s", err.text);
    }
    return catalogue;
}

static inline struct catalogue *rig_open(enum catalogue_mode mode)
{
    struct error err = {0};
    struct catalogue *catalogue = catalogue_open(rig_path, mode, &err);
    if (!catalogue) {
        fail_msg("%s", err.text);
    }
    return catalogue;
}

static inline struct catalogue *rig_reopen(struct catalogue *catalogue)
{
    catalogue_close(catalogue);
    return rig_open(CATALOGUE_WRITE);
}

static inline void rig_begin(struct catalogue *catalogue)
{
    assert_good(catalogue_begin(catalogue, &rig_err));
}

static inline void rig_commit(struct catalogue *catalogue)
{
    assert_good(catalogue_commit(catalogue, &rig_err));
}

static inline void rig_put_stream(struct catalogue *catalogue, uint64_t id)
{
    char key[40];
    snprintf(key, sizeof(key), "key %llu", (unsigned long long)id);
    struct catalogue_stream stream = {
        .id = id, .hash = ~id, .key = span_text(key), .about = span_text("about")};
    assert_good(catalogue_put_stream(catalogue, &stream, &rig_err));
}

static inline void rig_put_segment(struct catalogue *catalogue, uint64_t id)
{
    struct catalogue_segment segment = {.id = id, .bytes = UINT64_C(1) << 40};
    assert_good(catalogue_put_segment(catalogue, &segment, &rig_err));
}

static inline struct catalogue_batch rig_batch(uint64_t id, uint64_t stream, uint64_t segment)
{
    return (struct catalogue_batch){
        .id = id,
        .stream = stream,
        .segment = segment,
        .offset = 1000 * id,
        .bytes = 100 + id,
        .raw_bytes = 300 + id,
        .epoch = UINT64_MAX - id,
        .first_record = 1 + 10 * id,
        .records = 10,
        .first_time = UINT64_MAX - 7 * id,
        .last_time = UINT64_C(1) << 63,
        .entered = 50 + id,
    };
}

static inline void rig_put_batch(
    struct catalogue *catalogue, uint64_t id, uint64_t stream, uint64_t segment)
{
    struct catalogue_batch batch = rig_batch(id, stream, segment);
    assert_good(catalogue_put_batch(catalogue, &batch, &rig_err));
}

/* Streams 1 and 2, segments 1 and 2, and ${count} batches from 1 on, which belong to the streams in
 * turn. Each segment has half of them. */
static inline void rig_fill(struct catalogue *catalogue, uint64_t count)
{
    rig_begin(catalogue);
    for (uint64_t i = 1; i <= 2; i++) {
        rig_put_stream(catalogue, i);
        rig_put_segment(catalogue, i);
    }
    for (uint64_t id = 1; id <= count; id++) {
        rig_put_batch(catalogue, id, 2 - id % 2, id <= count / 2 ? 1 : 2);
    }
    rig_commit(catalogue);
}

static inline struct catalogue_info rig_info(struct catalogue *catalogue)
{
    struct catalogue_info info = {0};
    assert_good(catalogue_info(catalogue, &info, &rig_err));
    return info;
}

static inline void rig_print_fault(void *self, const char *fault)
{
    (void)self;
    print_error("%s\n", fault);
}

static inline void rig_verify(struct catalogue *catalogue)
{
    uint64_t faults = 1;
    assert_good(catalogue_verify(catalogue, rig_print_fault, NULL, &faults, &rig_err));
    assert_int_equal(faults, 0);
}

/* The ids of the batches that catalogue_next_batches gives, as "1 3 5". */
static inline const char *rig_ids(
    struct catalogue *catalogue, uint64_t stream, uint64_t after, uint64_t last, size_t max)
{
    static char text[1000];
    struct catalogue_batch batches[100];
    size_t count = 0;
    assert_true(max <= 100);
    assert_good(
        catalogue_next_batches(catalogue, stream, after, last, batches, max, &count, &rig_err));
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%s%llu", i ? " " : "",
            (unsigned long long)batches[i].id);
    }
    return text;
}

#endif
