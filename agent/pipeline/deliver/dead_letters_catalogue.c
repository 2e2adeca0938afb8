#include <stdlib.h>

#include "pipeline/deliver/dead_letters.h"
#include "pipeline/deliver/delivery_host.h"
#include "platform/plat_clock.h"
#include "platform/plat_thread.h"
#include "store/catalogue/catalogue_letters.h"
#include "store/letters/letter_files.h"

/*
 * Dead letters in the catalogue of a spool. Every call has a connection of its own, and what
 * changes something is a transaction; the owner of the spool and other processes have theirs, and
 * SQLite lets one write at a time. Between calls none is open: on Windows an open file cannot be
 * renamed, so a damaged catalogue could not be set aside.
 *
 * The catalogue may be replaced at any moment by its owner, which copies its content or makes
 * another one. What was committed while the file was in its place is in the copy; what was
 * committed to one that was not any more may be nowhere, and is put again into the one that is
 * there.
 *
 * Letters stand a second time in files, from which a catalogue that was lost is made anew.
 *
 * The mutex guards the count, and lets one change at a time.
 */

/* How long usage() answers from memory while nothing is changed here: opening a connection each
 * time would make scrapes slow, and other processes rarely change anything. */
static const uint64_t known_for_ns = UINT64_C(30000000000);

enum {
    AGENT_WAIT_S = 5,
    PUT_AT_ONCE = DELIVERY_KEPT_AT_ONCE,
    TRIES = 3,
    FILES_SPARE_BYTES = 32 << 20,
    LOOK_EVERY = 32
};

struct letters {
    struct dead_letters base;
    struct dead_letters_catalogue_settings settings;
    char *path;
    char *files;
    struct plat_mutex mutex;
    uint64_t evicted;
    uint64_t puts;
    uint64_t changes; /* that this process tried */

    /* Size of all letters when it was read last. */
    uint64_t known_bytes;
    uint64_t known_changes;
    uint64_t known_until_ns; /* 0: it was never asked */
};

static struct letters *self_of(struct dead_letters *base)
{
    return (struct letters *)base;
}

/* ---- changing -------------------------------------------------------------------------------- */

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

/* The work of a transaction. */
struct change {
    const struct letters *letters;
    const struct dead_letter *items; /* put, … */
    const uint64_t *ids;             /* … or removed */
    size_t count;
    uint64_t removed;
    struct evictions evictions;
    uint64_t evicted_to; /* the last one of them */
    bool is_in_files;    /* what is put */
    bool is_committed;   /* to a catalogue that was not in its place any more, maybe */
    uint64_t next;       /* the catalogue's next number before it */
    uint64_t first_left; /* the first letter that is there after it; UINT64_MAX: none */
};

static void on_evicted(void *self, uint64_t id, struct span output, uint64_t time)
{
    struct change *change = self;
    change->evicted_to = id > change->evicted_to ? id : change->evicted_to;
    evictions_add(&change->evictions, output, time);
}

static bool all_wait(const struct change *change)
{
    bool waits = true;
    for (size_t i = 0; i < change->count; i++) {
        waits = waits && change->items[i].waits;
    }
    return waits;
}

/* ---- the second copy ------------------------------------------------------------------------- */

/* Before the commit: what is in the catalogue is in the files. */
static bool put_in_files(
    struct change *change, const struct catalogue_letter *rows, size_t count, struct error *err)
{
    const char *files = change->letters->settings.files;
    const struct letter_files_change put = {
        .letters = rows, .count = count, .gone_to = change->evicted_to, .next = change->next};
    change->is_in_files = files != NULL;
    return !files || letter_files_append(files, &put, err);
}

/* Create removed files again, and rewrite those in which few letters are left. */
static bool tidy_files(struct change *change, struct catalogue *catalogue,
    const struct catalogue_info *info, struct error *err)
{
    const char *folder = change->letters->settings.files;
    uint64_t files = 0;
    if (change->letters->puts % LOOK_EVERY) {
        return true;
    }
    uint64_t bytes = folder ? letter_files_bytes(folder, &files) : 0;
    bool is_lost = folder && files == 0 && info->letters;
    return (!is_lost && bytes <= 2 * info->letter_bytes + FILES_SPARE_BYTES) ||
           letter_files_rewrite(folder, catalogue, err);
}

/* After the commit: what is gone, or was put in vain. If that cannot be said now, such letters come
 * back when the catalogue is made anew, and no harm is done but that. What was committed is never
 * in vain: the catalogue that takes the place may be a copy with these letters, which a later start
 * would remove. */
static void tell_files(const struct change *change, bool ok)
{
    const char *files = change->letters->settings.files;
    struct letter_files_change gone = {.next = change->next};
    uint64_t useless[PUT_AT_ONCE];
    if (!files) {
        return;
    }
    if (ok && change->ids) {
        gone.gone = change->ids;
        gone.gone_count = change->removed ? change->count : 0;
    } else if (!ok && change->is_in_files && !change->is_committed) {
        for (size_t i = 0; i < PUT_AT_ONCE && i < change->count; i++) {
            useless[gone.gone_count++] = change->next + i;
        }
        gone.gone = useless;
    }
    if (gone.gone_count) {
        letter_files_append(files, &gone, NULL);
    }
    if (ok && (change->evicted_to || gone.gone_count)) {
        letter_files_trim(files, change->first_left);
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool put_rows(struct change *change, struct catalogue *catalogue, struct error *err)
{
    struct catalogue_letter rows[PUT_AT_ONCE];
    const struct catalogue_letters_room room = {.max_bytes = change->letters->settings.max_bytes,
        .waits = all_wait(change),
        .evicted = on_evicted,
        .self = change};
    uint64_t ids[PUT_AT_ONCE];
    bool ok = true;
    evictions_reset(&change->evictions);
    change->evicted_to = 0;
    for (size_t first = 0; ok && first < change->count; first += PUT_AT_ONCE) {
        size_t left = change->count - first;
        size_t part = left < PUT_AT_ONCE ? left : PUT_AT_ONCE;
        for (size_t i = 0; i < part; i++) {
            rows[i] = dead_letters_catalogue_row(&change->items[first + i]);
        }
        ok = catalogue_put_letters(catalogue, rows, part, &room, ids, err);
        for (size_t i = 0; ok && i < part; i++) {
            rows[i].id = ids[i] > change->evicted_to ? ids[i] : 0;
        }
        ok = ok && put_in_files(change, rows, part, err);
    }
    return ok;
}

static bool change_rows(struct change *change, struct catalogue *catalogue, struct error *err)
{
    struct catalogue_info info;
    if (!catalogue_info(catalogue, &info, err)) {
        return false;
    }
    change->next = info.next.letter;
    bool ok = change->items
                  ? tidy_files(change, catalogue, &info, err) && put_rows(change, catalogue, err)
                  : catalogue_remove_letters(
                        catalogue, change->ids, change->count, &change->removed, err);
    return ok && catalogue_first_letter(catalogue, &change->first_left, err);
}

/* False with ERR_MISSING: there is no catalogue, or it is no longer where it was. */
static bool try_change(struct change *change, struct error *err)
{
    /* The agent puts letters, and repeats what failed. Commands remove them. */
    unsigned wait_s = change->items ? AGENT_WAIT_S : CATALOGUE_COMMAND_WAIT_S;
    struct catalogue *catalogue = catalogue_open_beside(change->letters->path, wait_s, err);
    change->is_in_files = false;
    change->is_committed = catalogue && catalogue_begin(catalogue, err) &&
                           change_rows(change, catalogue, err) && catalogue_commit(catalogue, err);
    bool ok = change->is_committed && catalogue_check_place(catalogue, err);
    catalogue_close(catalogue);
    tell_files(change, ok);
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

/* Is it not that nothing was put yet, but that the catalogue has gone? */
static bool is_lost(const struct letters *letters, struct error *err)
{
    uint64_t files = 0;
    if (letters->settings.files) {
        letter_files_bytes(letters->settings.files, &files);
    }
    if (files) {
        error_set(err, ERR_DAMAGED,
            "%s is missing, but files of dead letters exist. the next start of the agent rebuilds "
            "it from them",
            letters->path);
    }
    return files != 0;
}

static bool put(
    struct dead_letters *base, const struct dead_letter *items, size_t count, struct error *err)
{
    struct letters *letters = self_of(base);
    struct change change = {.letters = letters, .items = items, .count = count};
    plat_mutex_lock(&letters->mutex);
    bool ok = run(&change, err);
    letters->puts += ok;
    letters->changes++;
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
    letters->changes++;
    plat_mutex_unlock(&letters->mutex);
    if (!ok && (why.code != ERR_MISSING || is_lost(letters, &why))) {
        *err = why;
        return false;
    }
    *ret_removed = ok ? change.removed : 0;
    return true;
}

/* ---- looking --------------------------------------------------------------------------------- */

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
    *ret_ok = reader || (why.code == ERR_MISSING && !is_lost(letters, &why));
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

/* True: ${ret_usage} is what usage() found a moment ago.
 * ${ret_changes}: how many changes this process tried so far. */
static bool is_known(
    struct letters *letters, struct dead_letters_usage *ret_usage, uint64_t *ret_changes)
{
    plat_mutex_lock(&letters->mutex);
    bool known = letters->known_changes == letters->changes &&
                 plat_monotonic_ns() < letters->known_until_ns;
    *ret_usage = (struct dead_letters_usage){
        .bytes = letters->known_bytes, .evicted = letters->evicted};
    *ret_changes = letters->changes;
    plat_mutex_unlock(&letters->mutex);
    return known;
}

static bool usage(
    struct dead_letters *base, struct dead_letters_usage *ret_usage, struct error *err)
{
    struct letters *letters = self_of(base);
    struct catalogue_info info = {.letter_bytes = 0};
    struct dead_letters_usage found;
    uint64_t changes;
    bool ok;
    if (is_known(letters, &found, &changes)) {
        *ret_usage = found;
        return true;
    }
    struct catalogue *reader = open_reader(letters, &ok, err);
    ok = reader ? catalogue_info(reader, &info, err) : ok;
    catalogue_close(reader);
    if (ok) {
        plat_mutex_lock(&letters->mutex);
        letters->known_bytes = info.letter_bytes;
        letters->known_changes = changes;
        letters->known_until_ns = plat_monotonic_ns() + known_for_ns;
        *ret_usage = (struct dead_letters_usage){
            .bytes = info.letter_bytes, .evicted = letters->evicted};
        plat_mutex_unlock(&letters->mutex);
    }
    return ok;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void destroy(struct dead_letters *base)
{
    struct letters *letters = self_of(base);
    plat_mutex_fini(&letters->mutex);
    free(letters->path);
    free(letters->files);
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
    char *path = span_copy(span_text(settings->path));
    char *files = settings->files ? span_copy(span_text(settings->files)) : NULL;
    if (!letters || !path || (settings->files && !files)) {
        free(letters);
        free(path);
        free(files);
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    letters->base.ops = &catalogue_ops;
    letters->settings = *settings;
    letters->settings.max_bytes = settings->max_bytes ? settings->max_bytes
                                                      : DEAD_LETTERS_CATALOGUE_MAX_BYTES;
    letters->path = path;
    letters->files = files;
    letters->settings.path = path;
    letters->settings.files = files;
    plat_mutex_init(&letters->mutex);
    return &letters->base;
}
