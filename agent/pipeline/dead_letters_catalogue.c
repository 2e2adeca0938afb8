#include <stdlib.h>

#include "pipeline/dead_letters.h"
#include "platform/plat_thread.h"
#include "store/catalogue_letters.h"

/*
 * Dead letters in the catalogue of a spool. Every call has a connection of its own, and what changes
 * something is a transaction; the owner of the spool and other processes have theirs, and SQLite lets
 * one write at a time. Between calls none is open: on Windows nobody could set a damaged catalogue
 * aside.
 *
 * The catalogue may be replaced at any moment by its owner, who copies what is in it or makes another
 * one. What was committed while the file was in its place is in the copy; what was committed to one that
 * was not any more may be nowhere, and is put again into the one that is there.
 *
 * The mutex guards the count, and lets one change at a time.
 */
enum { PUT_AT_ONCE = 64, TRIES = 3 };

struct letters {
    struct dead_letters base;
    struct dead_letters_catalogue_settings settings;
    char *path;
    struct plat_mutex mutex;
    uint64_t evicted;
};

static struct letters *self_of(struct dead_letters *base)
{
    return (struct letters *)base;
}

/* ---- changing --------------------------------------------------------------------------------- */

struct catalogue_letter dead_letters_catalogue_row(const struct dead_letter *letter)
{
    bool too_long = letter->document.size > CATALOGUE_DOCUMENT_MAX_BYTES;
    return (struct catalogue_letter){.time = letter->time,
        .status = letter->status,
        .epoch = letter->epoch,
        .record = letter->record,
        .output = letter->output,
        .type = letter->type,
        .reason = letter->reason,
        .index = letter->index,
        .route = letter->route,
        .document_id = letter->document_id,
        .document = too_long ? span_make(NULL, 0) : letter->document};
}

/* What is done in a transaction. */
struct change {
    const struct letters *letters;
    const struct dead_letter *items; /* put, … */
    const uint64_t *ids;             /* … or removed */
    size_t count;
    uint64_t removed;
    struct evictions evictions;
};

static void on_evicted(void *self, uint64_t id, struct span output, uint64_t time)
{
    (void)id;
    evictions_add(self, output, time);
}

static bool all_wait(const struct change *change)
{
    bool waits = true;
    for (size_t i = 0; i < change->count; i++) {
        waits = waits && change->items[i].waits;
    }
    return waits;
}

static bool put_rows(struct change *change, struct catalogue *catalogue, struct error *err)
{
    struct catalogue_letter rows[PUT_AT_ONCE];
    const struct catalogue_letters_room room = {.max_bytes = change->letters->settings.max_bytes,
        .waits = all_wait(change),
        .evicted = on_evicted,
        .self = &change->evictions};
    bool ok = true;
    evictions_reset(&change->evictions);
    for (size_t first = 0; ok && first < change->count; first += PUT_AT_ONCE) {
        size_t left = change->count - first;
        size_t part = left < PUT_AT_ONCE ? left : PUT_AT_ONCE;
        for (size_t i = 0; i < part; i++) {
            rows[i] = dead_letters_catalogue_row(&change->items[first + i]);
        }
        ok = catalogue_put_letters(catalogue, rows, part, &room, NULL, err);
    }
    return ok;
}

/* False with ERR_MISSING: there is no catalogue, or it is no longer where it was. */
static bool try_change(struct change *change, struct error *err)
{
    struct catalogue *catalogue = catalogue_open_beside(change->letters->path, err);
    bool ok = catalogue && catalogue_begin(catalogue, err) &&
              (change->items ? put_rows(change, catalogue, err)
                             : catalogue_remove_letters(
                                   catalogue, change->ids, change->count, &change->removed, err)) &&
              catalogue_commit(catalogue, err) && catalogue_check_place(catalogue, err);
    catalogue_close(catalogue);
    return ok;
}

/* Holds the mutex. */
static bool run(struct change *change, struct error *err)
{
    struct error why = {.code = ERR_MISSING};
    bool ok = false;
    for (unsigned i = 0; !ok && why.code == ERR_MISSING && i < TRIES; i++) {
        ok = try_change(change, &why);
    }
    if (!ok && err) {
        *err = why;
    }
    return ok;
}

static bool put(
    struct dead_letters *base, const struct dead_letter *items, size_t count, struct error *err)
{
    struct letters *letters = self_of(base);
    struct change change = {.letters = letters, .items = items, .count = count};
    plat_mutex_lock(&letters->mutex);
    bool ok = run(&change, err);
    letters->evicted += ok ? evictions_total(&change.evictions) : 0;
    plat_mutex_unlock(&letters->mutex);
    if (ok) {
        evictions_tell(&change.evictions, letters->settings.evicted, letters->settings.self);
    }
    evictions_fini(&change.evictions);
    return ok;
}

static bool remove_letters(struct dead_letters *base, const uint64_t *ids, size_t count,
    uint64_t *ret_removed, struct error *err)
{
    struct letters *letters = self_of(base);
    struct change change = {.letters = letters, .ids = ids, .count = count};
    struct error why = {.code = ERR_NONE};
    plat_mutex_lock(&letters->mutex);
    bool ok = run(&change, &why);
    plat_mutex_unlock(&letters->mutex);
    if (!ok && why.code != ERR_MISSING) {
        *err = why;
        return false;
    }
    *ret_removed = ok ? change.removed : 0;
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
        .epoch = row->epoch,
        .record = row->record,
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
