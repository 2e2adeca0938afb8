#include <stdio.h>
#include <string.h>

#include "platform/plat_path.h"
#include "store/catalogue/catalogue_query.h"

enum {
    PAGE_BYTES = 4096, /* SQLite's default */
    RESERVE_BYTES = 512 << 10,
    RESERVE_PAGES = RESERVE_BYTES / PAGE_BYTES,
};

bool catalogue_info(struct catalogue *catalogue, struct catalogue_info *ret_info, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_GET_INFO);
    struct catalogue_info info = {0};
    bool found = query_next(&q);
    if (found) {
        uint64_t *const numbers[] = {&info.next.stream, &info.next.segment, &info.next.batch,
            &info.next.record, &info.next.output, &info.next.letter, &info.batches,
            &info.batch_bytes, &info.letters, &info.letter_bytes, &info.letters_evicted};
        struct span earlier = query_get_span(&q, 1);
        info.epoch = query_get_bits(&q, 0);
        query_get_proof(&q, 2);
        for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
            *numbers[i] = query_get_number(&q, 3 + (int)i);
        }
        info.earlier = span_make(catalogue->earlier, earlier.size);
        found = earlier.size <= sizeof(catalogue->earlier) && info.epoch != 0;
        if (found && earlier.size) {
            memcpy(catalogue->earlier, earlier.data, earlier.size);
        }
    }
    if (!found && query_is_good(&q)) {
        q.code = ERR_DAMAGED;
    }
    if (!query_end(&q, err)) {
        return false;
    }
    *ret_info = info;
    return true;
}

bool catalogue_set_epochs(
    struct catalogue *catalogue, uint64_t epoch, struct span earlier, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_SET_EPOCHS);
    query_bits(&q, epoch);
    query_blob(&q, earlier, CATALOGUE_EPOCHS_MAX_BYTES);
    query_proof(&q);
    return query_run(&q, err);
}

bool catalogue_raise(
    struct catalogue *catalogue, const struct catalogue_counters *next, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_RAISE);
    query_number(&q, next->stream);
    query_number(&q, next->segment);
    query_number(&q, next->batch);
    query_number(&q, next->record);
    query_number(&q, next->output);
    query_number(&q, next->letter);
    return query_run(&q, err);
}

uint64_t catalogue_disk_bytes(const struct catalogue *catalogue)
{
    return plat_path_stamp(catalogue->path).size + plat_path_stamp(catalogue->log_path).size;
}

static bool execute(struct catalogue *catalogue, const char *text, struct error *err)
{
    int result = sqlite3_exec(catalogue->db, text, NULL, NULL, NULL);
    if (result != SQLITE_OK) {
        catalogue_error(catalogue->path, catalogue->db, result, err);
        catalogue_rollback(catalogue);
    }
    return result == SQLITE_OK;
}

/* Of pages that hold nothing. */
static bool find_free_pages(struct catalogue *catalogue, uint64_t *ret_pages, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_FREE_PAGES);
    *ret_pages = query_next(&q) ? query_get_number(&q, 0) : 0;
    return query_end(&q, err);
}

bool catalogue_shrink(struct catalogue *catalogue, uint32_t max_pages, struct error *err)
{
    uint64_t pages;
    if (!find_free_pages(catalogue, &pages, err)) {
        return false;
    }
    uint64_t spare = pages > RESERVE_PAGES ? pages - RESERVE_PAGES : 0;
    char text[64];
    snprintf(text, sizeof(text), "PRAGMA incremental_vacuum(%u)",
        (unsigned)(spare < max_pages ? spare : max_pages));
    return spare == 0 || execute(catalogue, text, err);
}

bool catalogue_reserve(struct catalogue *catalogue, struct error *err)
{
    uint64_t pages;
    uint64_t log_bytes = plat_path_stamp(catalogue->log_path).size;
    if (!find_free_pages(catalogue, &pages, err)) {
        return false;
    }
    if (pages >= RESERVE_PAGES / 2 && log_bytes >= RESERVE_BYTES) {
        return true;
    }
    /* Pages that a transaction fills and frees again are not written, so these are two. */
    char text[160];
    snprintf(text, sizeof(text),
        "BEGIN IMMEDIATE; DELETE FROM reserve; INSERT INTO reserve VALUES(zeroblob(%d)); COMMIT",
        RESERVE_BYTES);
    if (!execute(catalogue, text, err)) {
        return false;
    }
    catalogue_rewind_log(catalogue); /* a reader only delays it */
    return execute(catalogue, "BEGIN IMMEDIATE; DELETE FROM reserve; COMMIT", err);
}
