#include "store/state/numbers.h"

#include <stdlib.h>

#include "store/catalogue/epochs.h"

enum {
    ID_BLOCK = 1 << 16,     /* numbers that a run takes at a time */
    RECORD_BLOCK = 1 << 24, /* the same */
};

/* According to the catalogue, numbers below `reserved` may be in use. */
struct numbers {
    uint64_t epoch;
    struct epochs earlier; /* of this run */
    uint64_t next_id;
    uint64_t next_record;
    uint64_t reserved_id;
    uint64_t reserved_record;
    uint64_t last_id;
    bool is_written;   /* the catalogue knows this epoch */
    bool is_epoch_due; /* a new one */
};

bool numbers_check(uint64_t number, struct error *err)
{
    return number < NUMBERS_END || error_set(err, ERR_LIMIT, "a number beyond 2^61");
}

struct numbers *numbers_create(void)
{
    return calloc(1, sizeof(struct numbers));
}

void numbers_destroy(struct numbers *numbers)
{
    free(numbers);
}

/* Draw an epoch; what is written from now on bears it. */
static bool begin_epoch(struct numbers *numbers, struct segments *segments, struct error *err)
{
    uint64_t epoch;
    if (!epochs_draw(&epoch, err)) {
        return false;
    }
    if (numbers->epoch) {
        epochs_add(&numbers->earlier, numbers->epoch);
    }
    numbers->epoch = epoch;
    numbers->is_written = false;
    segments_begin(segments, epoch, 0);
    return true;
}

bool numbers_begin(struct numbers *numbers, struct catalogue *catalogue, struct segments *segments,
    struct error *err)
{
    struct catalogue_info info;
    if (!catalogue_info(catalogue, &info, err)) {
        return false;
    }
    numbers->next_id = info.next.batch;
    numbers->next_record = info.next.record;
    numbers->last_id = info.next.batch - 1;
    segments_begin(segments, 0, info.next.segment);
    return begin_epoch(numbers, segments, err);
}

uint64_t numbers_epoch(const struct numbers *numbers)
{
    return numbers->epoch;
}

uint64_t numbers_last_id(const struct numbers *numbers)
{
    return numbers->last_id;
}

bool numbers_next(
    const struct numbers *numbers, uint64_t *ret_id, uint64_t *ret_first_record, struct error *err)
{
    *ret_id = numbers->next_id;
    *ret_first_record = numbers->next_record;
    return (numbers->next_id < NUMBERS_END && numbers->next_record < NUMBERS_END) ||
           error_set(err, ERR_LIMIT, "the spool has no numbers left: use another agent.data_dir");
}

void numbers_take(struct numbers *numbers, uint32_t records)
{
    numbers->next_id++;
    numbers->next_record += records;
}

bool numbers_are_reserved(const struct numbers *numbers)
{
    return numbers->is_written && numbers->next_id <= numbers->reserved_id &&
           numbers->next_record <= numbers->reserved_record;
}

bool numbers_reserve(struct numbers *numbers, struct catalogue *catalogue, struct error *err)
{
    const struct catalogue_counters next = {
        .batch = numbers->next_id + ID_BLOCK, .record = numbers->next_record + RECORD_BLOCK};
    const struct span earlier = span_make(numbers->earlier.bytes, numbers->earlier.size);
    if (!catalogue_begin(catalogue, err) ||
        !catalogue_set_epochs(catalogue, numbers->epoch, earlier, err) ||
        !catalogue_raise(catalogue, &next, err) || !catalogue_commit(catalogue, err)) {
        catalogue_rollback(catalogue);
        return false;
    }
    numbers->reserved_id = next.batch;
    numbers->reserved_record = next.record;
    numbers->is_written = true;
    return true;
}

void numbers_committed(struct numbers *numbers, uint64_t last_id)
{
    numbers->last_id = last_id;
}

void numbers_unwritten(struct numbers *numbers)
{
    numbers->is_written = false;
}

void numbers_want_epoch(struct numbers *numbers)
{
    numbers->is_epoch_due = true;
}

void numbers_turn(struct numbers *numbers, struct segments *segments)
{
    if (numbers->is_epoch_due && begin_epoch(numbers, segments, NULL)) {
        numbers->is_epoch_due = false;
    }
}
