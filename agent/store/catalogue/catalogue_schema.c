#include "store/catalogue/catalogue_schema.h"

#include <stdio.h>

/*
 * Triggers keep the totals of batches and letters, so that no statement can omit them. A batch
 * stores its stream's totals at its insertion as `_before`: their differences count what lies
 * between two batches without a scan. A stream's totals never decrease.
 *
 * An index on a column of a table that has an integer for its key ends with that key: batch(stream)
 * is batch(stream, id).
 */

#define NUMBER " INTEGER NOT NULL"
#define SUM " INTEGER NOT NULL DEFAULT 0"
#define NEXT " INTEGER NOT NULL DEFAULT 1"
#define TEXT " TEXT NOT NULL"
#define BLOB " BLOB NOT NULL"
#define PROOF ", proof INTEGER NOT NULL" /* query_proof */

static const char tables_1[] =
    "CREATE TABLE meta(one INTEGER PRIMARY KEY CHECK(one = 1), epoch" NUMBER ", earlier" BLOB PROOF
    ", next_stream" NEXT ", next_segment" NEXT ", next_batch" NEXT ", next_record" NEXT
    ", next_output" NEXT ", next_letter" NEXT ", batches" SUM ", batch_bytes" SUM ", letters" SUM
    ", letter_bytes" SUM ", letters_evicted" SUM ") STRICT;"

    "CREATE TABLE stream(id INTEGER PRIMARY KEY, hash" NUMBER ", key" BLOB
    " UNIQUE, about" BLOB PROOF ", batches" SUM ", records" SUM ", bytes" SUM ") STRICT;"
    "CREATE TABLE segment(id INTEGER PRIMARY KEY, bytes" NUMBER ", state" NUMBER PROOF
    ", batches" SUM ", batch_bytes" SUM ") STRICT;"
    "CREATE TABLE batch(id INTEGER PRIMARY KEY, stream" NUMBER " REFERENCES stream, segment" NUMBER
    " REFERENCES segment, offset" NUMBER ", bytes" NUMBER ", raw_bytes" NUMBER ", epoch" NUMBER
    ", first_record" NUMBER ", records" NUMBER ", first_time" NUMBER ", last_time" NUMBER
    ", entered" NUMBER ", batches_before" NUMBER ", records_before" NUMBER ", bytes_before" NUMBER
    ") STRICT;"
    "CREATE INDEX batch_of_stream ON batch(stream);"
    "CREATE INDEX batch_in_segment ON batch(segment);"

    "CREATE TABLE output(id INTEGER PRIMARY KEY, name" TEXT " UNIQUE, position" NUMBER
    ", early" BLOB ", seen" NUMBER PROOF ") STRICT;"
    "CREATE TABLE checkpoint(output INTEGER PRIMARY KEY REFERENCES output, value" BLOB PROOF
    ") STRICT;"
    "CREATE TABLE range(output" NUMBER " REFERENCES output, ordinal" NUMBER ", stream" NUMBER
    " REFERENCES stream, about" BLOB ", after" NUMBER ", last" NUMBER PROOF
    ", PRIMARY KEY(output, ordinal)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX range_of_stream ON range(stream);"
    "CREATE TABLE leftover(output" NUMBER " REFERENCES output, batch" NUMBER ", left" BLOB PROOF
    ", PRIMARY KEY(output, batch)) STRICT, WITHOUT ROWID;"

    "CREATE TABLE source(session" TEXT ", stream" NUMBER " REFERENCES stream, sequence" NUMBER PROOF
    ", PRIMARY KEY(session, stream)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX source_of_stream ON source(stream);"
    "CREATE TABLE state(session TEXT PRIMARY KEY NOT NULL, value" BLOB PROOF ") STRICT;"
    "CREATE TABLE live(session TEXT PRIMARY KEY NOT NULL, time" NUMBER PROOF ") STRICT;"
    "CREATE TABLE done(session" TEXT ", ordinal" NUMBER ", file_id" BLOB ", sequence" NUMBER PROOF
    ", PRIMARY KEY(session, ordinal), UNIQUE(session, file_id)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE gap(session" TEXT ", output" TEXT ", stage" TEXT ", reason" TEXT ", unit" TEXT
    ", count" NUMBER ", exact" NUMBER ", from_time" NUMBER ", to_time" NUMBER PROOF
    ", PRIMARY KEY(session, output, stage, reason, unit)) STRICT, WITHOUT ROWID;"

    "CREATE TABLE letter(id INTEGER PRIMARY KEY, bytes" NUMBER ", time" NUMBER ", status" NUMBER
    ", output" TEXT ", type" TEXT ", reason" TEXT ", idx" TEXT ", route" TEXT ", document_id" TEXT
    ", document" BLOB ") STRICT;"
    "CREATE INDEX letter_of_document ON letter(output, document_id) WHERE document_id <> '';";

static const char triggers_1[] =
    "CREATE TRIGGER stream_put AFTER INSERT ON stream BEGIN"
    " UPDATE meta SET next_stream = max(next_stream, new.id + 1); END;"
    "CREATE TRIGGER segment_put AFTER INSERT ON segment BEGIN"
    " UPDATE meta SET next_segment = max(next_segment, new.id + 1); END;"
    "CREATE TRIGGER output_put AFTER INSERT ON output BEGIN"
    " UPDATE meta SET next_output = max(next_output, new.id + 1); END;"
    "CREATE TRIGGER batch_put AFTER INSERT ON batch BEGIN"
    " UPDATE stream SET batches = batches + 1, records = records + new.records,"
    " bytes = bytes + new.bytes WHERE id = new.stream;"
    " UPDATE segment SET batches = batches + 1, batch_bytes = batch_bytes + new.bytes"
    " WHERE id = new.segment;"
    " UPDATE meta SET batches = batches + 1, batch_bytes = batch_bytes + new.bytes,"
    " next_batch = max(next_batch, new.id + 1),"
    " next_record = max(next_record, new.first_record + new.records); END;"
    "CREATE TRIGGER batch_removed AFTER DELETE ON batch BEGIN"
    " UPDATE segment SET batches = batches - 1, batch_bytes = batch_bytes - old.bytes"
    " WHERE id = old.segment;"
    " UPDATE meta SET batches = batches - 1, batch_bytes = batch_bytes - old.bytes; END;"
    "CREATE TRIGGER letter_put AFTER INSERT ON letter BEGIN"
    " UPDATE meta SET letters = letters + 1, letter_bytes = letter_bytes + new.bytes,"
    " next_letter = max(next_letter, new.id + 1); END;"
    "CREATE TRIGGER letter_removed AFTER DELETE ON letter BEGIN"
    " UPDATE meta SET letters = letters - 1, letter_bytes = letter_bytes - old.bytes; END;";

/* Letters know which record they are. */
static const char letters_2[] =
    "ALTER TABLE letter ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE letter ADD COLUMN record INTEGER NOT NULL DEFAULT 0;"
    "CREATE INDEX letter_of_record ON letter(epoch, record) WHERE epoch <> 0;";

/* Empty except during catalogue_reserve. */
static const char reserve_3[] = "CREATE TABLE reserve(bytes" BLOB ") STRICT;";

/* How far outputs are with sessions that can be read again (catalogue_progress.h). */
static const char progress_4[] =
    "CREATE TABLE progress(output TEXT PRIMARY KEY NOT NULL, sessions" BLOB
    ", checkpoint" BLOB PROOF ") STRICT;";

/* In order; what was released is never changed again. */
static const struct {
    unsigned version;
    const char *text;
} steps[] = {
    {1, tables_1},
    {1, triggers_1},
    {2, letters_2},
    {3, reserve_3},
    {4, progress_4},
};

int catalogue_schema_upgrade(sqlite3 *db, unsigned version)
{
    char text[100];
    int result = SQLITE_OK;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && result == SQLITE_OK; i++) {
        if (steps[i].version > version) {
            result = sqlite3_exec(db, steps[i].text, NULL, NULL, NULL);
        }
    }
    snprintf(text, sizeof(text), "PRAGMA application_id = %d; PRAGMA user_version = %d",
        CATALOGUE_APPLICATION, CATALOGUE_VERSION);
    return result == SQLITE_OK ? sqlite3_exec(db, text, NULL, NULL, NULL) : result;
}
