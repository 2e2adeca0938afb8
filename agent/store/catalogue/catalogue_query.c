#include "store/catalogue/catalogue_query.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"

static const uint64_t end_of_numbers = UINT64_C(1) << 62;

struct query query_start(struct catalogue *catalogue, enum catalogue_statement name)
{
    return (struct query){
        .catalogue = catalogue, .statement = catalogue->statements[name], .result = SQLITE_OK};
}

/* ---- parameters ------------------------------------------------------------------------------ */

static void keep(struct query *query, int result)
{
    if (result != SQLITE_OK && query_is_good(query)) {
        query->result = result;
        query->code = ERR_IO;
    }
}

static void keep_code(struct query *query, enum error_code code)
{
    if (query_is_good(query)) {
        query->code = code;
    }
}

/* Proofs are sums of these, so that the order does not matter. */
static uint32_t proof_of_bits(uint64_t bits)
{
    uint8_t bytes[8];
    store_le64(bytes, bits);
    return crc32c_add(0, span_make(bytes, sizeof(bytes)));
}

static uint32_t proof_of_span(struct span bytes)
{
    return crc32c_add(proof_of_bits(bytes.size), bytes);
}

static void bind_bits(struct query *query, uint64_t bits)
{
    sqlite3_int64 value;
    memcpy(&value, &bits, sizeof(value));
    keep(query, sqlite3_bind_int64(query->statement, ++query->parameter, value));
}

void query_bits(struct query *query, uint64_t bits)
{
    query->put += proof_of_bits(bits);
    bind_bits(query, bits);
}

void query_proof(struct query *query)
{
    bind_bits(query, query->put);
    query->put = 0;
}

void query_number(struct query *query, uint64_t number)
{
    if (number >= end_of_numbers) {
        keep_code(query, ERR_LIMIT);
    }
    query_bits(query, number);
}

void query_last(struct query *query, uint64_t number)
{
    bind_bits(query, number < end_of_numbers ? number : end_of_numbers);
}

void query_text(struct query *query, struct span text, size_t max_bytes)
{
    if (text.size > max_bytes) {
        keep_code(query, ERR_LIMIT);
        return;
    }
    query->put += proof_of_span(text);
    /* NULL would be no text at all. */
    keep(query, sqlite3_bind_text(query->statement, ++query->parameter,
                    text.size ? (const char *)text.data : "", (int)text.size, SQLITE_STATIC));
}

void query_blob(struct query *query, struct span bytes, size_t max_bytes)
{
    if (bytes.size > max_bytes) {
        keep_code(query, ERR_LIMIT);
        return;
    }
    query->put += proof_of_span(bytes);
    keep(query, sqlite3_bind_blob(query->statement, ++query->parameter,
                    bytes.size ? (const void *)bytes.data : "", (int)bytes.size, SQLITE_STATIC));
}

/* ---- rows ------------------------------------------------------------------------------------ */

bool query_next(struct query *query)
{
    if (!query_is_good(query)) {
        return false;
    }
    query->got = 0;
    query->result = sqlite3_step(query->statement);
    if (query->result != SQLITE_ROW && query->result != SQLITE_DONE) {
        query->code = ERR_IO;
    }
    return query->result == SQLITE_ROW;
}

uint64_t query_get_bits(struct query *query, int column)
{
    if (sqlite3_column_type(query->statement, column) != SQLITE_INTEGER) {
        keep_code(query, ERR_DAMAGED);
        return 0;
    }
    sqlite3_int64 value = sqlite3_column_int64(query->statement, column);
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    query->got += proof_of_bits(bits);
    return bits;
}

uint64_t query_get_number(struct query *query, int column)
{
    uint64_t number = query_get_bits(query, column);
    if (number > INT64_MAX) {
        keep_code(query, ERR_DAMAGED);
        return 0;
    }
    return number;
}

struct span query_get_span(struct query *query, int column)
{
    int type = sqlite3_column_type(query->statement, column);
    if (type != SQLITE_BLOB && type != SQLITE_TEXT) {
        keep_code(query, ERR_DAMAGED);
        return span_make(NULL, 0);
    }
    /* In this order: the first may change where the second lies. */
    const void *data = sqlite3_column_blob(query->statement, column);
    int size = sqlite3_column_bytes(query->statement, column);
    if (!data && size) {
        keep(query, SQLITE_NOMEM);
    }
    struct span bytes = span_make(data, data ? (size_t)size : 0);
    query->got += proof_of_span(bytes);
    return bytes;
}

void query_add_to(struct query *query, int column, struct buf *out)
{
    buf_add_span(out, query_get_span(query, column));
    if (out->failed) {
        keep_code(query, ERR_MEMORY);
    }
}

void query_expect(struct query *query, bool so)
{
    if (!so) {
        keep_code(query, ERR_DAMAGED);
    }
}

bool query_is_null(const struct query *query, int column)
{
    return sqlite3_column_type(query->statement, column) == SQLITE_NULL;
}

void query_get_proof(struct query *query, int column)
{
    uint32_t got = query->got;
    query_expect(query, query_get_bits(query, column) == got);
    query->got = 0;
}

/* ---- ends ------------------------------------------------------------------------------------ */

static bool is_full(int os_code)
{
#ifdef EDQUOT
    if (os_code == EDQUOT) {
        return true;
    }
#endif
#ifdef _WIN32
    return os_code == 112 || os_code == 39 || os_code == 1295; /* ERROR_DISK_FULL and its kin */
#else
    return os_code == ENOSPC;
#endif
}

/* A file system that was mounted read-only, or a right that is missing. */
static bool is_refused(int os_code)
{
#ifdef _WIN32
    return os_code == 5 || os_code == 19; /* ERROR_ACCESS_DENIED, ERROR_WRITE_PROTECT */
#else
    return os_code == EROFS || os_code == EACCES || os_code == EPERM;
#endif
}

static enum error_code code_of(int result, int os_code)
{
    switch (result & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_CONSTRAINT: /* numbers are given once: one that is there already was not stored */
    case SQLITE_ERROR:      /* a table is not what it was made as */
    case SQLITE_SCHEMA:
    case SQLITE_TOOBIG:
    case SQLITE_MISMATCH:
        return ERR_DAMAGED;
    case SQLITE_FULL:
        return ERR_FULL;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        return ERR_BUSY;
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return ERR_READ_ONLY;
    case SQLITE_NOMEM:
        return ERR_MEMORY;
    case SQLITE_IOERR:
        if (result == SQLITE_IOERR_NOMEM) {
            return ERR_MEMORY;
        }
        if (result == SQLITE_IOERR_SHORT_READ || result == SQLITE_IOERR_CORRUPTFS) {
            return ERR_DAMAGED;
        }
        return is_full(os_code) ? ERR_FULL : is_refused(os_code) ? ERR_READ_ONLY : ERR_IO;
    case SQLITE_CANTOPEN:
        return is_refused(os_code) ? ERR_READ_ONLY : ERR_IO;
    default:
        return ERR_IO;
    }
}

static bool say(
    const char *path, enum error_code code, const char *words, int result, struct error *err)
{
    switch (code) {
    case ERR_DAMAGED:
        return error_set(err, code,
            "%s is damaged (%s): an agent that starts sets it aside and makes a new one from the "
            "segments",
            path, words);
    case ERR_FULL:
        return error_set(
            err, code, "%s: the disk is full; writing continues as soon as there is room", path);
    case ERR_BUSY:
        return error_set(err, code,
            "%s: another process has held it for too long: try again, or end that process", path);
    case ERR_READ_ONLY:
        return error_set(err, code,
            "%s cannot be used (%s): check that the disk is not mounted read-only, and that the "
            "agent's user may write there",
            path, words);
    case ERR_MEMORY:
        return error_set(err, code, "%s: out of memory", path);
    case ERR_LIMIT:
        return error_set(err, code, "%s: a number or text is too large to be stored", path);
    default:
        return error_set(err, code, "%s: %s (SQLite's error %d)", path, words, result);
    }
}

bool catalogue_error(const char *path, sqlite3 *db, int result, struct error *err)
{
    int os_code = db ? sqlite3_system_errno(db) : 0;
    enum error_code code = code_of(result, os_code);
    say(path, code, sqlite3_errstr(result), result, err);
    if (err && os_code && (code == ERR_IO || code == ERR_FULL || code == ERR_READ_ONLY)) {
        err->os_code = os_code;
    }
    return false;
}

bool query_end(struct query *query, struct error *err)
{
    struct catalogue *catalogue = query->catalogue;
    bool good = query_is_good(query);
    if (query->code == ERR_IO) {
        catalogue_error(catalogue->path, catalogue->db, query->result, err);
    } else if (!good) {
        say(catalogue->path, query->code, "it contains a value of the wrong type", 0, err);
    }
    sqlite3_reset(query->statement);
    sqlite3_clear_bindings(query->statement);
    if (!good) {
        catalogue_rollback(catalogue);
    }
    return good;
}

bool query_run(struct query *query, struct error *err)
{
    struct catalogue *catalogue = query->catalogue;
    if (!catalogue_is_open(catalogue)) {
        sqlite3_clear_bindings(query->statement);
        return error_set(err, ERR_STOPPED,
            "%s: this change belongs to a transaction that has failed", catalogue->path);
    }
    while (query_next(query)) {}
    return query_end(query, err);
}
