#include "store/catalogue/catalogue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/plat_clock.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "store/catalogue/catalogue_query.h"
#include "store/catalogue/catalogue_schema.h"

/*
 * One connection with all its statements prepared. Write-ahead log, synchronous=FULL: a commit is
 * on the disk when it returns. locking_mode stays NORMAL, because commands read beside the agent;
 * that costs a few calls per transaction.
 *
 * The commit that finds 1000 pages (4 MB) in the log checkpoints it. The log restarts when no
 * reader needs it; a large one (dead letters) is truncated afterwards.
 *
 * A new catalogue is an empty database until its first commit.
 */
enum {
    OWNER_WAIT_S = 5,
    /* A disk that syncs slowly makes the agent hold the lock nearly all the time: only who asks
     * this often finds it free. */
    ASK_AGAIN_MS = 1,
    MAX_VALUE_BYTES = 16 * 1024 * 1024,
};

static const char *const statement_texts[CATALOGUE_STATEMENTS] = {
#define STATEMENT(name, text) [CATALOGUE_##name] = (text),
#include "store/catalogue/catalogue_sql.def"
#undef STATEMENT
};

/* ---- opening --------------------------------------------------------------------------------- */

static bool run_text(struct catalogue *catalogue, const char *text, struct error *err)
{
    int result = sqlite3_exec(catalogue->db, text, NULL, NULL, NULL);
    return result == SQLITE_OK || catalogue_error(catalogue->path, catalogue->db, result, err);
}

/* The first column of the first row of ${text}. */
static bool get_number(
    struct catalogue *catalogue, const char *text, sqlite3_int64 *ret_number, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(catalogue->db, text, -1, &statement, NULL);
    result = result == SQLITE_OK ? sqlite3_step(statement) : result;
    if (result == SQLITE_ROW) {
        *ret_number = sqlite3_column_int64(statement, 0);
    } else {
        result = result == SQLITE_DONE ? SQLITE_CORRUPT : result;
        catalogue_error(catalogue->path, catalogue->db, result, err);
    }
    sqlite3_finalize(statement);
    return result == SQLITE_ROW;
}

/* SQLite's own handler asks ten times a second. */
static int wait_for_turn(void *self, int asked)
{
    struct catalogue *catalogue = self;
    uint64_t now_ms = plat_monotonic_ms();
    if (asked == 0) {
        catalogue->waits_since_ms = now_ms;
    }
    if (now_ms - catalogue->waits_since_ms >= catalogue->wait_ms) {
        return 0;
    }
    plat_sleep_ms(ASK_AGAIN_MS);
    return 1;
}

/* Disable features that a damaged database file could misuse. */
static void restrict_powers(sqlite3 *db)
{
    sqlite3_extended_result_codes(db, 1);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
}

/* ${path} as a URI with ${query}. The caller frees it. */
static char *make_uri(const char *path, const char *query)
{
    struct buf uri;
    buf_init(&uri, 4 * strlen(path) + 64);
    buf_add_text(&uri, "file:");
#ifdef _WIN32
    buf_add_text(&uri, path[0] && path[1] == ':' ? "///" : "");
#endif
    for (; *path; path++) {
        if (*path == '\\') {
            buf_add_byte(&uri, '/');
        } else if (strchr("%?#", *path)) {
            buf_printf(&uri, "%%%02x", (unsigned)(unsigned char)*path);
        } else {
            buf_add_byte(&uri, (uint8_t)*path);
        }
    }
    buf_add_text(&uri, query);
    buf_add_byte(&uri, 0);
    if (uri.failed) {
        buf_fini(&uri);
        return NULL;
    }
    return (char *)uri.data;
}

static bool connect(struct catalogue *catalogue, const char *name, int flags, struct error *err)
{
    sqlite3_close(catalogue->db);
    catalogue->db = NULL;
    int result = name ? sqlite3_open_v2(name, &catalogue->db,
                            flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, NULL)
                      : SQLITE_NOMEM;
    if (result != SQLITE_OK) {
        return catalogue_error(catalogue->path, catalogue->db, result, err);
    }
    restrict_powers(catalogue->db);
    sqlite3_busy_handler(catalogue->db, wait_for_turn, catalogue);
    return run_text(catalogue,
        "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA cache_size = -4096;"
        "PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL;"
        "PRAGMA wal_autocheckpoint = 1000; PRAGMA journal_size_limit = 16777216",
        err);
}

/* Without the right to write, not even the index of the log, a database without a log can still be
 * read, because no process writes to it. */
static bool connect_to_read(struct catalogue *catalogue, struct error *err)
{
    sqlite3_int64 ignored;
    struct error why;
    if (connect(catalogue, catalogue->path, SQLITE_OPEN_READONLY, &why) &&
        get_number(catalogue, "PRAGMA user_version", &ignored, &why)) {
        return true;
    }
    int result = sqlite3_errcode(catalogue->db) & 0xff;
    if ((result != SQLITE_CANTOPEN && result != SQLITE_READONLY) ||
        plat_path_stamp(catalogue->log_path).size) {
        return error_set(err, why.code, "%s", why.text);
    }
    char *uri = make_uri(catalogue->path, "?immutable=1");
    bool good = connect(catalogue, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err);
    free(uri);
    return good;
}

static bool use_log(struct catalogue *catalogue, struct error *err)
{
    sqlite3_int64 is_log = 0;
    if (strcmp(catalogue->path, CATALOGUE_IN_MEMORY) == 0) {
        return true;
    }
    if (!run_text(catalogue, "PRAGMA journal_mode = WAL", err) ||
        !get_number(
            catalogue, "SELECT journal_mode = 'wal' FROM pragma_journal_mode", &is_log, err)) {
        return false;
    }
    return is_log || error_set(err, ERR_UNSUPPORTED,
                         "%s: SQLite cannot keep a write-ahead log there: agent.data_dir must be "
                         "on a local disk",
                         catalogue->path);
}

/* SQLite only reads a database whose head says that it is of a format to come. */
static bool is_head_wrong(struct catalogue *catalogue)
{
    uint8_t head[20];
    size_t size = 0;
    struct plat_file *file = sqlite3_db_readonly(catalogue->db, "main") == 1
                                 ? plat_file_open(catalogue->path, PLAT_FILE_READ, NULL)
                                 : NULL;
    bool is_read = file && plat_file_read_at(file, 0, head, sizeof(head), &size, NULL);
    plat_file_close(file);
    return is_read && size == sizeof(head) && head[18] != 1 && head[18] != 2;
}

/* Which version's tables are there; 0: none, the database is empty. Another process may be making
 * them: so all reads are of one moment, and the size of the file is read before them. */
static bool get_version(struct catalogue *catalogue, unsigned *ret_version, struct error *err)
{
    sqlite3_int64 application;
    sqlite3_int64 version;
    sqlite3_int64 tables;
    sqlite3_int64 pages;
    uint64_t bytes = plat_path_stamp(catalogue->path).size;
    bool is_alone = sqlite3_get_autocommit(catalogue->db);
    if (is_alone && !run_text(catalogue, "BEGIN", err)) {
        return false;
    }
    bool is_read = get_number(catalogue, "SELECT count(*) FROM sqlite_schema", &tables, err) &&
                   get_number(catalogue, "PRAGMA application_id", &application, err) &&
                   get_number(catalogue, "PRAGMA user_version", &version, err) &&
                   get_number(catalogue, "PRAGMA page_count", &pages, err);
    if (is_alone) {
        sqlite3_exec(catalogue->db, "COMMIT", NULL, NULL, NULL);
    }
    if (!is_read) {
        return false;
    }
    /* SQLite takes a file that is too short to be a database for none. */
    bool is_cut = pages == 0 && bytes;
    if (application == 0 && version == 0 && tables == 0 && !is_cut) {
        *ret_version = 0;
        return true;
    }
    if (application != CATALOGUE_APPLICATION || version < 1) {
        return error_set(
            err, ERR_DAMAGED, "%s is damaged: this is not a catalogue of etwship", catalogue->path);
    }
    if (version > CATALOGUE_VERSION) {
        return error_set(err, ERR_UNSUPPORTED,
            "%s has format %d, of a newer etwship, and this one supports up to %d: use that "
            "version, or another data_dir",
            catalogue->path, (int)version, CATALOGUE_VERSION);
    }
    *ret_version = (unsigned)version;
    return true;
}

static bool no_catalogue(const struct catalogue *catalogue, struct error *err)
{
    return error_set(err, ERR_MISSING,
        "%s: there is no catalogue: an agent with this folder creates it", catalogue->path);
}

/* Inside a transaction. */
static bool upgrade(struct catalogue *catalogue, unsigned version, struct error *err)
{
    int result = catalogue_schema_upgrade(catalogue->db, version);
    return result == SQLITE_OK || catalogue_error(catalogue->path, catalogue->db, result, err);
}

/* Another process may have done it since the version was read. */
static bool upgrade_older(struct catalogue *catalogue, struct error *err)
{
    unsigned version;
    if (!run_text(catalogue, "BEGIN IMMEDIATE", err) || !get_version(catalogue, &version, err)) {
        return false;
    }
    return version == 0 ? no_catalogue(catalogue, err)
                        : upgrade(catalogue, version, err) && run_text(catalogue, "COMMIT", err);
}

static bool prepare(struct catalogue *catalogue, struct error *err)
{
    for (size_t i = 0; i < CATALOGUE_STATEMENTS; i++) {
        int result = sqlite3_prepare_v3(catalogue->db, statement_texts[i], -1,
            SQLITE_PREPARE_PERSISTENT, &catalogue->statements[i], NULL);
        if (result != SQLITE_OK) {
            return catalogue_error(catalogue->path, catalogue->db, result, err);
        }
    }
    return true;
}

/* A counter that was damaged would give numbers a second time. */
static bool check_counters(struct catalogue *catalogue, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_WRONG_NEXT);
    query_expect(&q, query_next(&q) && query_get_number(&q, 0) == 0);
    return query_end(&q, err);
}

/* Which files they are, to notice when they are no longer there. */
static void note_files(struct catalogue *catalogue)
{
    catalogue->file_id = plat_path_stamp(catalogue->path).id;
    catalogue->log_id = plat_path_stamp(catalogue->log_path).id;
}

static struct catalogue *allocate(
    const char *path, enum catalogue_mode mode, unsigned wait_s, struct error *err)
{
    struct catalogue *catalogue = calloc(1, sizeof(*catalogue));
    size_t size = strlen(path) + sizeof("-wal");
    if (catalogue) {
        catalogue->mode = mode;
        catalogue->wait_ms = wait_s * UINT64_C(1000);
        catalogue->path = malloc(size);
        catalogue->log_path = malloc(size);
    }
    if (!catalogue || !catalogue->path || !catalogue->log_path) {
        catalogue_close(catalogue);
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    snprintf(catalogue->path, size, "%s", path);
    snprintf(catalogue->log_path, size, "%s-wal", path);
    return catalogue;
}

static bool open_to_write(struct catalogue *catalogue, struct error *err)
{
    unsigned version;
    if (!connect(catalogue, catalogue->path, SQLITE_OPEN_READWRITE, err) ||
        !get_version(catalogue, &version, err)) {
        return false;
    }
    if (version == 0) {
        return no_catalogue(catalogue, err);
    }
    if (is_head_wrong(catalogue)) {
        return catalogue_error(catalogue->path, NULL, SQLITE_NOTADB, err);
    }
    if (!use_log(catalogue, err)) {
        return false;
    }
    return (version == CATALOGUE_VERSION || upgrade_older(catalogue, err)) &&
           prepare(catalogue, err);
}

static bool open_to_read(struct catalogue *catalogue, struct error *err)
{
    unsigned version;
    if (!connect_to_read(catalogue, err) || !get_version(catalogue, &version, err)) {
        return false;
    }
    if (version == 0) {
        return no_catalogue(catalogue, err);
    }
    if (version < CATALOGUE_VERSION) {
        return error_set(err, ERR_UNSUPPORTED,
            "%s has format %u, of an older etwship: it is upgraded when an agent of this version "
            "starts",
            catalogue->path, version);
    }
    return prepare(catalogue, err);
}

/* SQLite's files need not be the system's: tests put them elsewhere. */
static bool is_anything_there(const char *path)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    int is_there = 0;
    return plat_path_kind(path) != PLAT_PATH_NONE ||
           (vfs && vfs->xAccess(vfs, path, SQLITE_ACCESS_EXISTS, &is_there) == SQLITE_OK &&
               is_there);
}

static struct catalogue *open_existing(
    const char *path, enum catalogue_mode mode, unsigned wait_s, struct error *err)
{
    struct catalogue *catalogue = allocate(path, mode, wait_s, err);
    struct catalogue_info info;
    if (!catalogue) {
        return NULL;
    }
    uint64_t file_id = plat_path_stamp(path).id;
    bool good = !is_anything_there(path) ? no_catalogue(catalogue, err)
                : mode == CATALOGUE_READ ? open_to_read(catalogue, err)
                                         : open_to_write(catalogue, err);
    if (!good || !catalogue_info(catalogue, &info, err) || !check_counters(catalogue, err)) {
        catalogue_close(catalogue);
        return NULL;
    }
    note_files(catalogue);
    if (mode == CATALOGUE_WRITE && catalogue->file_id != file_id) {
        error_set(err, ERR_MISSING, "%s was replaced while it was opened", path);
        catalogue_close(catalogue);
        return NULL;
    }
    return catalogue;
}

struct catalogue *catalogue_open(const char *path, enum catalogue_mode mode, struct error *err)
{
    return open_existing(
        path, mode, mode == CATALOGUE_WRITE ? OWNER_WAIT_S : CATALOGUE_COMMAND_WAIT_S, err);
}

static bool make(
    struct catalogue *catalogue, uint64_t epoch, struct span earlier, struct error *err)
{
    unsigned version;
    if (!connect(catalogue, catalogue->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err) ||
        !run_text(catalogue, "PRAGMA auto_vacuum = INCREMENTAL", err) || !use_log(catalogue, err) ||
        !run_text(catalogue, "BEGIN IMMEDIATE", err) || !get_version(catalogue, &version, err)) {
        return false;
    }
    if (version) {
        return error_set(err, ERR_CONFIG, "%s: there is a catalogue already", catalogue->path);
    }
    note_files(catalogue);
    return upgrade(catalogue, 0, err) &&
           run_text(catalogue, "INSERT INTO meta(one, epoch, earlier, proof) VALUES(1, 0, x'', 0)",
               err) &&
           prepare(catalogue, err) && catalogue_set_epochs(catalogue, epoch, earlier, err);
}

struct catalogue *catalogue_create(
    const char *path, uint64_t epoch, struct span earlier, struct error *err)
{
    struct catalogue *catalogue = allocate(path, CATALOGUE_WRITE, OWNER_WAIT_S, err);
    if (catalogue && !make(catalogue, epoch, earlier, err)) {
        catalogue_close(catalogue);
        catalogue = NULL;
    }
    return catalogue;
}

struct catalogue *catalogue_open_beside(const char *path, unsigned wait_s, struct error *err)
{
    struct catalogue *catalogue = allocate(path, CATALOGUE_WRITE, wait_s, err);
    bool is_log = catalogue && plat_path_kind(catalogue->log_path) != PLAT_PATH_NONE;
    catalogue_close(catalogue);
    catalogue = catalogue ? open_existing(path, CATALOGUE_WRITE, wait_s, err) : NULL;
    if (catalogue && is_log) {
        catalogue_keep_log(catalogue);
    }
    return catalogue;
}

void catalogue_keep_log(struct catalogue *catalogue)
{
    sqlite3_db_config(catalogue->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

void catalogue_close(struct catalogue *catalogue)
{
    if (!catalogue) {
        return;
    }
    for (size_t i = 0; i < CATALOGUE_STATEMENTS; i++) {
        sqlite3_finalize(catalogue->statements[i]);
    }
    sqlite3_close(catalogue->db);
    free(catalogue->path);
    free(catalogue->log_path);
    free(catalogue);
}

/* ---- transactions ---------------------------------------------------------------------------- */

bool catalogue_is_open(const struct catalogue *catalogue)
{
    return catalogue->db && !sqlite3_get_autocommit(catalogue->db);
}

void catalogue_rollback(struct catalogue *catalogue)
{
    if (catalogue_is_open(catalogue)) {
        sqlite3_exec(catalogue->db, "ROLLBACK", NULL, NULL, NULL);
    }
}

/* On Windows a file that is open in this way cannot be removed, and names are slow to look up. */
static bool is_there(const struct catalogue *catalogue)
{
#ifdef _WIN32
    (void)catalogue;
    return true;
#else
    return plat_path_stamp(catalogue->path).id == catalogue->file_id &&
           plat_path_stamp(catalogue->log_path).id == catalogue->log_id;
#endif
}

bool catalogue_check_place(const struct catalogue *catalogue, struct error *err)
{
    return is_there(catalogue) ||
           error_set(err, ERR_MISSING,
               "%s: this file, or the one with -wal after its name, was removed or replaced while "
               "the agent used it",
               catalogue->path);
}

bool catalogue_begin(struct catalogue *catalogue, struct error *err)
{
    if (catalogue->mode == CATALOGUE_READ) {
        return error_set(err, ERR_READ_ONLY, "%s: opened for reading", catalogue->path);
    }
    if (catalogue_is_open(catalogue)) {
        catalogue_rollback(catalogue);
        return error_set(err, ERR_STOPPED, "%s: two transactions at once: both are rolled back",
            catalogue->path);
    }
    if (!catalogue_check_place(catalogue, err)) {
        return false;
    }
    struct query q = query_start(catalogue, CATALOGUE_BEGIN);
    while (query_next(&q)) {}
    return query_end(&q, err);
}

bool catalogue_commit(struct catalogue *catalogue, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_COMMIT);
    return query_run(&q, err);
}

bool catalogue_checkpoint(struct catalogue *catalogue, struct error *err)
{
    int result = sqlite3_wal_checkpoint_v2(
        catalogue->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    return result == SQLITE_OK || catalogue_error(catalogue->path, catalogue->db, result, err);
}

bool catalogue_rewind_log(struct catalogue *catalogue)
{
    int logged;
    int moved;
    int result = sqlite3_wal_checkpoint_v2(
        catalogue->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &logged, &moved);
    return result == SQLITE_OK && logged == moved;
}

bool catalogue_copy(struct catalogue *catalogue, const char *path, struct error *err)
{
    enum { FLAGS = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_PRIVATECACHE };
    sqlite3 *copy = NULL;
    int result = sqlite3_open_v2(path, &copy, FLAGS, NULL);
    sqlite3_backup *backup = result == SQLITE_OK
                                 ? sqlite3_backup_init(copy, "main", catalogue->db, "main")
                                 : NULL;
    if (backup) {
        sqlite3_backup_step(backup, -1);
        result = sqlite3_backup_finish(backup);
    } else {
        result = copy ? sqlite3_errcode(copy) : SQLITE_NOMEM;
    }
    bool ok = result == SQLITE_OK || catalogue_error(path, copy, result, err);
    sqlite3_close(copy);
    return ok;
}
