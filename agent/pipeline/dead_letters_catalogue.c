#include <stdlib.h>

#include "pipeline/dead_letters.h"
#include "platform/plat_thread.h"
#include "store/catalogue_letters.h"

/*
 * Dead letters in the catalogue of a spool. What changes something is a transaction of its own, on a
 * connection that is opened when it is needed first; the owner of the spool and other processes have
 * theirs, and SQLite lets one write at a time. What looks opens another connection for as long as it
 * looks, so that a looker may change things meanwhile.
 *
 * The mutex guards the writing connection.
 */
enum { PUT_AT_ONCE = 64 };

struct letters {
    struct dead_letters base;
    struct dead_letters_catalogue_settings settings;
    char *path;
    struct plat_mutex mutex;
    struct catalogue *writer; /* NULL: not opened yet */
    uint64_t evicted;
};

static struct letters *self_of(struct dead_letters *base)
{
    return (struct letters *)base;
}

/* ---- changing --------------------------------------------------------------------------------- */

/* Holds the mutex. False with ERR_MISSING: there is no catalogue. */
static bool begin(struct letters *letters, struct error *err)
{
    if (!letters->writer) {
        letters->writer = catalogue_open(letters->path, CATALOGUE_WRITE, err);
    }
    return letters->writer && catalogue_begin(letters->writer, err);
}

/* A connection that failed may have lost its file: the next one who writes opens another. */
static void abandon(struct letters *letters)
{
    catalogue_close(letters->writer);
    letters->writer = NULL;
}

struct catalogue_letter dead_letters_catalogue_row(const struct dead_letter *letter)
{
    bool too_long = letter->document.size > CATALOGUE_DOCUMENT_MAX_BYTES;
    return (struct catalogue_letter){.time = letter->time,
        .status = letter->status,
        .output = letter->output,
        .type = letter->type,
        .reason = letter->reason,
        .index = letter->index,
        .route = letter->route,
        .document_id = letter->document_id,
        .document = too_long ? span_make(NULL, 0) : letter->document};
}

static bool put_rows(struct letters *letters, const struct dead_letter *items, size_t count,
    uint64_t *ret_evicted, struct error *err)
{
    struct catalogue_letter rows[PUT_AT_ONCE];
    bool ok = true;
    for (size_t first = 0; ok && first < count; first += PUT_AT_ONCE) {
        size_t part = count - first < PUT_AT_ONCE ? count - first : PUT_AT_ONCE;
        uint64_t evicted = 0;
        for (size_t i = 0; i < part; i++) {
            rows[i] = dead_letters_catalogue_row(&items[first + i]);
        }
        ok = catalogue_put_letters(
            letters->writer, rows, part, letters->settings.max_bytes, NULL, &evicted, err);
        *ret_evicted += evicted;
    }
    return ok && catalogue_commit(letters->writer, err);
}

static bool put(
    struct dead_letters *base, const struct dead_letter *items, size_t count, struct error *err)
{
    struct letters *letters = self_of(base);
    uint64_t evicted = 0;
    plat_mutex_lock(&letters->mutex);
    bool ok = begin(letters, err) && put_rows(letters, items, count, &evicted, err);
    if (ok) {
        letters->evicted += evicted;
    } else {
        abandon(letters);
    }
    plat_mutex_unlock(&letters->mutex);
    if (ok && evicted && letters->settings.evicted) {
        letters->settings.evicted(letters->settings.self, evicted);
    }
    return ok;
}

static bool remove_letters(struct dead_letters *base, const uint64_t *ids, size_t count,
    uint64_t *ret_removed, struct error *err)
{
    struct letters *letters = self_of(base);
    uint64_t removed = 0;
    struct error why = {.code = ERR_NONE};
    plat_mutex_lock(&letters->mutex);
    bool ok = begin(letters, &why) &&
              catalogue_remove_letters(letters->writer, ids, count, &removed, &why) &&
              catalogue_commit(letters->writer, &why);
    if (!ok) {
        abandon(letters);
    }
    plat_mutex_unlock(&letters->mutex);
    if (!ok && why.code != ERR_MISSING) {
        *err = why;
        return false;
    }
    *ret_removed = ok ? removed : 0;
    return true;
}

/* ---- looking ---------------------------------------------------------------------------------- */

struct look {
    bool (*each)(void *self, const struct dead_letter *letter);
    void *self;
};

static bool show(void *self, const struct catalogue_letter *row)
{
    const struct look *look = self;
    const struct dead_letter letter = {.id = row->id,
        .time = row->time,
        .output = row->output,
        .status = (int)row->status,
        .type = row->type,
        .reason = row->reason,
        .index = row->index,
        .route = row->route,
        .document_id = row->document_id,
        .document = row->document};
    return look->each(look->self, &letter);
}

/* A connection for looking. NULL: ${ret_ok} says whether that is because there is nothing yet. */
static struct catalogue *open_reader(const struct letters *letters, bool *ret_ok, struct error *err)
{
    struct error why = {.code = ERR_NONE};
    struct catalogue *reader = catalogue_open(letters->path, CATALOGUE_READ, &why);
    *ret_ok = reader || why.code == ERR_MISSING;
    if (!*ret_ok) {
        *err = why;
    }
    return reader;
}

static bool each(struct dead_letters *base,
    bool (*function)(void *self, const struct dead_letter *letter), void *self, struct error *err)
{
    bool ok;
    struct catalogue *reader = open_reader(self_of(base), &ok, err);
    struct look look = {.each = function, .self = self};
    ok = reader ? catalogue_letters(reader, show, &look, err) : ok;
    catalogue_close(reader);
    return ok;
}

static bool usage(
    struct dead_letters *base, struct dead_letters_usage *ret_usage, struct error *err)
{
    struct letters *letters = self_of(base);
    struct catalogue_info info = {.letter_bytes = 0};
    bool ok;
    struct catalogue *reader = open_reader(letters, &ok, err);
    ok = reader ? catalogue_info(reader, &info, err) : ok;
    catalogue_close(reader);
    if (ok) {
        plat_mutex_lock(&letters->mutex);
        *ret_usage = (struct dead_letters_usage){
            .bytes = info.letter_bytes, .evicted = letters->evicted};
        plat_mutex_unlock(&letters->mutex);
    }
    return ok;
}

/* ---- life ------------------------------------------------------------------------------------- */

static void destroy(struct dead_letters *base)
{
    struct letters *letters = self_of(base);
    catalogue_close(letters->writer);
    plat_mutex_fini(&letters->mutex);
    free(letters->path);
    free(letters);
}

static const struct dead_letters_ops catalogue_ops = {
    .put = put,
    .each = each,
    .remove = remove_letters,
    .usage = usage,
    .destroy = destroy,
};

struct dead_letters *dead_letters_catalogue_create(
    const struct dead_letters_catalogue_settings *settings, struct error *err)
{
    struct letters *letters = calloc(1, sizeof(*letters));
    size_t size = strlen(settings->path) + 1;
    char *path = malloc(size);
    if (!letters || !path) {
        free(letters);
        free(path);
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    letters->base.ops = &catalogue_ops;
    letters->settings = *settings;
    letters->settings.max_bytes = settings->max_bytes ? settings->max_bytes
                                                      : DEAD_LETTERS_CATALOGUE_MAX_BYTES;
    letters->path = memcpy(path, settings->path, size);
    plat_mutex_init(&letters->mutex);
    return &letters->base;
}
