#include <stdio.h>

#include "store/catalogue/catalogue_batches.h"
#include "store/catalogue/catalogue_outputs.h"
#include "store/catalogue/catalogue_progress.h"
#include "store/catalogue/catalogue_query.h"
#include "store/catalogue/catalogue_sources.h"

/*
 * Faults as sentences, found by SQL that is compiled only here: it runs seldom, and reads
 * everything. SQLite's own integrity check comes first; rows with a checksum are read by the
 * functions of the agent.
 */
enum {
    MAX_FAULTS = 100,
    TABLES = 10, /* that have checksums */
};

static const char *const checks[] = {
    /* At most 100 rows. Given as an argument, SQLite 3.54 takes the
     * number for the name of a table. */
    "SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
    "SELECT printf('a row of %s refers to a missing row of %s', \"table\", parent) FROM "
    "pragma_foreign_key_check",
    "SELECT printf('segment %d: its row counts %d batches of %d bytes, but there are %d of %d "
    "bytes', s.id, s.batches, s.batch_bytes, count(b.id), ifnull(sum(b.bytes), 0)) FROM segment s "
    "LEFT JOIN batch b ON b.segment = s.id GROUP BY s.id HAVING s.batches <> count(b.id) OR "
    "s.batch_bytes <> ifnull(sum(b.bytes), 0)",
    "SELECT printf('batch %d ends after the end of segment %d', b.id, b.segment)"
    " FROM batch b JOIN segment s ON s.id = b.segment WHERE b.offset + b.bytes > s.bytes",
    "SELECT printf('the totals count %d batches of %d bytes, but there are %d of %d bytes', "
    "m.batches, m.batch_bytes, b.n, b.bytes) FROM meta m, (SELECT count(*) AS n, "
    "ifnull(sum(bytes), 0) AS bytes FROM batch) b WHERE m.batches <> b.n OR m.batch_bytes <> "
    "b.bytes",
    "SELECT printf('the totals count %d dead letters of %d bytes, but there are %d of %d bytes', "
    "m.letters, m.letter_bytes, l.n, l.bytes) FROM meta m, (SELECT count(*) AS n, "
    "ifnull(sum(bytes), 0) AS bytes FROM letter) l WHERE m.letters <> l.n OR m.letter_bytes <> "
    "l.bytes",
    "SELECT 'the running totals of batches do not increase' FROM (SELECT batches_before - "
    "lag(batches_before) OVER w AS batches,   records_before - lag(records_before + records) OVER "
    "w AS records,   bytes_before - lag(bytes_before + bytes) OVER w AS bytes  FROM batch WINDOW w "
    "AS (PARTITION BY stream ORDER BY id)) WHERE batches < 1 OR records < 0 OR bytes < 0 LIMIT 1",
    "SELECT printf('stream %d: its totals do not match its last batch, %d', s.id, b.id) FROM "
    "stream s JOIN batch b ON b.id = (SELECT max(id) FROM batch WHERE stream = s.id) WHERE "
    "b.batches_before >= s.batches OR b.records_before + b.records > s.records  OR b.bytes_before "
    "+ b.bytes > s.bytes",
    "SELECT 'numbers of records would be assigned twice' FROM meta WHERE next_record < (SELECT "
    "max(first_record + records) FROM batch)",
};

struct finder {
    void (*each)(void *self, const char *fault);
    void *self;
    uint64_t faults;
};

static void found(struct finder *finder, const unsigned char *text)
{
    if (finder->each && finder->faults < MAX_FAULTS) {
        finder->each(finder->self, text ? (const char *)text : "out of memory for its text");
    }
    finder->faults++;
}

/* Damage that a check meets is a fault like those it looks for; a disk that fails is none. */
static bool run_check(
    struct catalogue *catalogue, const char *check, struct finder *finder, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    struct error why = {0};
    int result = sqlite3_prepare_v2(catalogue->db, check, -1, &statement, NULL);
    if (result == SQLITE_OK) {
        while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
            found(finder, sqlite3_column_text(statement, 0));
        }
    }
    if (result != SQLITE_DONE) {
        catalogue_error(catalogue->path, catalogue->db, result, &why);
        if (why.code == ERR_DAMAGED) {
            found(finder, (const unsigned char *)why.text);
        }
    }
    sqlite3_finalize(statement);
    return result == SQLITE_DONE || why.code == ERR_DAMAGED ||
           error_set(err, why.code, "%s", why.text);
}

/* ---- rows with checksums --------------------------------------------------------------------- */

static bool read_sessions(struct catalogue *catalogue, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    bool good = true;
    int result = sqlite3_prepare_v2(catalogue->db,
        "SELECT session FROM state UNION SELECT session FROM live", -1, &statement, NULL);
    while (good && result == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        struct buf state;
        uint64_t live;
        const void *name = sqlite3_column_blob(statement, 0);
        const struct span session = span_make(name, (size_t)sqlite3_column_bytes(statement, 0));
        buf_init(&state, CATALOGUE_BLOB_MAX_BYTES);
        good = catalogue_find_state(catalogue, session, &state, err) &&
               catalogue_find_live(catalogue, session, &live, err);
        buf_fini(&state);
    }
    sqlite3_finalize(statement); /* what is wrong with the table itself was found before */
    return good;
}

static bool read_rows(struct catalogue *catalogue, int table, struct error *err)
{
    switch (table) {
    case 0:
        return catalogue_streams(catalogue, NULL, NULL, err);
    case 1:
        return catalogue_segments(catalogue, NULL, NULL, err);
    case 2:
        return catalogue_outputs(catalogue, NULL, NULL, err);
    case 3:
        return catalogue_ranges(catalogue, NULL, NULL, err);
    case 4:
        return catalogue_leftovers(catalogue, NULL, NULL, err);
    case 5:
        return catalogue_sources(catalogue, NULL, NULL, err);
    case 6:
        return catalogue_dones(catalogue, NULL, NULL, err);
    case 7:
        return catalogue_gaps(catalogue, NULL, NULL, err);
    case 8:
        return catalogue_progresses(catalogue, NULL, NULL, err);
    default:
        return read_sessions(catalogue, err);
    }
}

static bool check_rows(
    struct catalogue *catalogue, int table, struct finder *finder, struct error *err)
{
    struct error why = {0};
    if (read_rows(catalogue, table, &why)) {
        return true;
    }
    if (why.code != ERR_DAMAGED) {
        return error_set(err, why.code, "%s", why.text);
    }
    found(finder, (const unsigned char *)why.text);
    return true;
}

bool catalogue_verify(struct catalogue *catalogue, void (*each)(void *self, const char *fault),
    void *self, uint64_t *ret_faults, struct error *err)
{
    struct finder finder = {.each = each, .self = self};
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        if (!run_check(catalogue, checks[i], &finder, err)) {
            return false;
        }
    }
    for (int table = 0; table < TABLES; table++) {
        if (!check_rows(catalogue, table, &finder, err)) {
            return false;
        }
    }
    *ret_faults = finder.faults;
    return true;
}
