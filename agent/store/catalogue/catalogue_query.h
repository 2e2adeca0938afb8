#ifndef ETWSHIP_STORE_CATALOGUE_QUERY_H
#define ETWSHIP_STORE_CATALOGUE_QUERY_H

#include <sqlite3.h>

#include "base/buf.h"
#include "store/catalogue/catalogue.h"

/*
 * Within the catalogue alone: its statements (catalogue_sql.def) with typed parameters and columns.
 *
 *     struct query q = query_start(catalogue, CATALOGUE_FIND_DONE);
 *     query_text(&q, session, CATALOGUE_NAME_MAX_BYTES);
 *     while (query_next(&q)) { … query_get_number(&q, 0) … }
 *     return query_end(&q, err);
 *
 * After an error the other functions do nothing; query_end returns the error and, inside a
 * transaction, rolls back.
 */
enum catalogue_statement {
#define STATEMENT(name, text) CATALOGUE_##name,
#include "store/catalogue/catalogue_sql.def"
#undef STATEMENT
    CATALOGUE_STATEMENTS,
};

struct catalogue {
    sqlite3 *db;
    sqlite3_stmt *statements[CATALOGUE_STATEMENTS];
    char *path;
    char *log_path;
    enum catalogue_mode mode;
    uint64_t wait_ms; /* how long for another process */
    uint64_t waits_since_ms;
    uint64_t file_id; /* of the database and of its log, as they were opened; 0: unknown */
    uint64_t log_id;
    uint8_t earlier[CATALOGUE_EPOCHS_MAX_BYTES];
};

struct query {
    struct catalogue *catalogue;
    sqlite3_stmt *statement;
    int parameter; /* the last one that was bound */
    int result;    /* of the last step */
    uint32_t put;  /* proof of the parameters, and of the columns, since the last one */
    uint32_t got;
    enum error_code code; /* ERR_NONE: good so far; ERR_IO: as `result` says */
};

struct query query_start(struct catalogue *catalogue, enum catalogue_statement name);

/* The next parameter. Spans must live until query_end. */
void query_number(struct query *query, uint64_t number); /* below 2^62 */
void query_last(struct query *query, uint64_t number);   /* any; the large ones are all alike */
void query_bits(struct query *query, uint64_t bits);
void query_text(struct query *query, struct span text, size_t max_bytes);
void query_blob(struct query *query, struct span bytes, size_t max_bytes);

/* The next parameter: the proof of those since the last one. Rows of which nothing else can tell
 * whether they are what was stored keep it, as SQLite has no checksums for the pages of a
 * database. */
void query_proof(struct query *query);

/* Is there a row (more)? */
bool query_next(struct query *query);

/* Read a column, from 0. A value of another type or out of range is damage: the result is 0 or
 * empty, and query_is_good returns false. Spans are valid until the next query_next or
 * query_end. */
uint64_t query_get_number(struct query *query, int column);
uint64_t query_get_bits(struct query *query, int column);
struct span query_get_span(struct query *query, int column);

bool query_is_null(const struct query *query, int column);

/* The proof of the columns since the last one; they were got in any order, each once. */
void query_get_proof(struct query *query, int column);

/* Append a column of bytes to ${out}. */
void query_add_to(struct query *query, int column, struct buf *out);

/* Report damage unless ${so}. */
void query_expect(struct query *query, bool so);

static inline bool query_is_good(const struct query *query)
{
    return query->code == ERR_NONE;
}

bool query_end(struct query *query, struct error *err);

/* Run a statement that changes something, which must stand in a transaction, to its end. */
bool query_run(struct query *query, struct error *err);

/* SQLite's ${result} for ${path} as an error; its own words are those of ${db} (may be NULL). */
bool catalogue_error(const char *path, sqlite3 *db, int result, struct error *err);

#endif
