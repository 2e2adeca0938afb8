#include <stdio.h>
#include <stdlib.h>

#include "pipeline/dead_letters.h"
#include "pipeline/grow.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "platform/plat_system.h"
#include "platform/plat_thread.h"

/*
 * Dead letters in files of lines, NNNNNNNN.ndjson. The number of a file is that of the first letter
 * that it may hold, so that numbers go on rising when all letters were removed: the newest file stays
 * then, empty. New letters go to the end of the newest file until that is long enough.
 *
 * A process holds the file `lock` for a moment while it changes anything, and reads without it: files
 * grow at their end, or are replaced and removed as a whole. So letters can be listed and removed
 * beside a running agent.
 *
 * A process that dies while it writes leaves a line without its end. The next one to write closes it
 * with a line break, readers skip it, and the record that it stands for was never settled.
 */
enum {
    MAX_PATH_BYTES = 4096,
    LOCK_WAIT_MS = 10,
    LOCK_TRIES = 100,
    MAX_LINE_BYTES = 6 * DEAD_LETTER_DOCUMENT_MAX_BYTES + 64 * 1024,
    MAX_FILE_BYTES = 2 * MAX_LINE_BYTES, /* of what is read: one line beyond file_bytes */
};

static const uint64_t default_max_bytes = UINT64_C(64) * 1024 * 1024;
static const uint64_t default_file_bytes = UINT64_C(4) * 1024 * 1024;

struct store_file {
    uint64_t number;
    uint64_t size;
};

struct file_list {
    struct store_file *files; /* by number */
    size_t count;
    size_t capacity;
    const char *folder;
    bool failed;
};

struct store {
    struct dead_letters base;
    struct dead_letters_folder_settings settings;
    char *folder;
    struct plat_mutex mutex; /* for all below, and for the lock file within this process */
    struct buf line;
    struct store_file newest; /* as this process left it */
    uint64_t next_id;         /* 0: not known */
    bool torn;                /* the newest file ends within a line */
    uint64_t evicted;
};

/* ---- files -------------------------------------------------------------------------------------- */

static bool path_of(
    const struct store *store, uint64_t number, char path[MAX_PATH_BYTES], struct error *err)
{
    int size = snprintf(
        path, MAX_PATH_BYTES, "%s/%08llu.ndjson", store->folder, (unsigned long long)number);
    return (size > 0 && size < MAX_PATH_BYTES) ||
           error_set(err, ERR_CONFIG, "%s: this path is too long", store->folder);
}

/* `folder/NNNNNNNN.ndjson`, with the separators of the system. A folder may have the characters of
 * patterns in its name, and then others are found, too. */
static bool number_of(const char *path, const char *folder, uint64_t *ret_number)
{
    size_t size = strlen(folder);
    char again[MAX_PATH_BYTES];
    for (size_t i = 0; i < size; i++) {
        if (path[i] != folder[i] && !(strchr("/\\", folder[i]) && path[i] == '\\')) {
            return false;
        }
    }
    if (path[size] == '\0') {
        return false;
    }
    unsigned long long number = strtoull(path + size + 1, NULL, 10);
    snprintf(again, sizeof(again), "%08llu.ndjson", number);
    *ret_number = number;
    return strcmp(path + size + 1, again) == 0;
}

static bool add_file(void *self, const char *path)
{
    struct file_list *list = self;
    uint64_t number;
    if (!number_of(path, list->folder, &number)) {
        return true;
    }
    struct store_file *files = grow_list(list->files, list->count, &list->capacity, sizeof(*files));
    list->failed = !files;
    if (files) {
        list->files = files;
        files[list->count++] = (struct store_file){
            .number = number, .size = plat_path_stamp(path).size};
    }
    return files != NULL;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = ((const struct store_file *)a)->number;
    uint64_t y = ((const struct store_file *)b)->number;
    return (x > y) - (x < y);
}

/* The caller frees ret_list->files. */
static bool list_files(const struct store *store, struct file_list *ret_list, struct error *err)
{
    struct file_list list = {.folder = store->folder};
    char pattern[MAX_PATH_BYTES];
    struct error why = {0};
    if (snprintf(pattern, sizeof(pattern), "%s/*.ndjson", store->folder) >= MAX_PATH_BYTES) {
        return error_set(err, ERR_CONFIG, "%s: this path is too long", store->folder);
    }
    /* ERR_CONFIG: nothing matches. */
    bool good = plat_glob(pattern, add_file, &list, &why) || why.code == ERR_CONFIG ||
                plat_path_kind(store->folder) == PLAT_PATH_NONE;
    if (!good || list.failed) {
        free(list.files);
        return list.failed ? error_set(err, ERR_MEMORY, "out of memory")
                           : error_set(err, why.code, "%s", why.text);
    }
    if (list.count) {
        qsort(list.files, list.count, sizeof(list.files[0]), by_number);
    }
    *ret_list = list;
    return true;
}

/* Hold the store against other processes until the file is closed. */
static struct plat_file *lock_folder(const struct store *store, struct error *err)
{
    char path[MAX_PATH_BYTES];
    if (snprintf(path, sizeof(path), "%s/lock", store->folder) >= MAX_PATH_BYTES) {
        error_set(err, ERR_CONFIG, "%s: this path is too long", store->folder);
        return NULL;
    }
    struct plat_file *lock = plat_dir_create_private(store->folder, err)
                                 ? plat_file_open(path, PLAT_FILE_APPEND, err)
                                 : NULL;
    struct error why = {0};
    for (int i = 0; lock && !plat_file_lock(lock, &why); i++) {
        if (why.code != ERR_STOPPED || i == LOCK_TRIES) {
            plat_file_close(lock);
            error_set(err, why.code, "%s", why.text);
            return NULL;
        }
        plat_sleep_ms(LOCK_WAIT_MS);
    }
    return lock;
}

/* ---- reading ------------------------------------------------------------------------------------ */

/* The next whole line of ${text}, without its line break; false at the end, or before a last line
 * that has none. */
static bool next_line(struct span *text, struct span *ret_line)
{
    const uint8_t *end = text->size ? memchr(text->data, '\n', text->size) : NULL;
    if (!end) {
        return false;
    }
    size_t size = (size_t)(end - text->data);
    *ret_line = span_first(*text, size);
    *text = span_from(*text, size + 1);
    return true;
}

/* The text of a file, which the caller frees; empty for one that is gone. */
static bool load(const struct store *store, uint64_t number, char **ret_data, struct span *ret_text,
    struct error *err)
{
    char path[MAX_PATH_BYTES];
    struct error why;
    size_t size = 0;
    *ret_data = NULL;
    *ret_text = span_make(NULL, 0);
    if (!path_of(store, number, path, err)) {
        return false;
    }
    if (!plat_file_load(path, MAX_FILE_BYTES, ret_data, &size, &why)) {
        return plat_path_kind(path) == PLAT_PATH_NONE || error_set(err, why.code, "%s", why.text);
    }
    *ret_text = span_make(*ret_data, size);
    return true;
}

static bool folder_each(struct dead_letters *base,
    bool (*each)(void *self, const struct dead_letter *letter), void *self, struct error *err)
{
    const struct store *store = (const struct store *)base;
    struct file_list list;
    if (!list_files(store, &list, err)) {
        return false;
    }
    struct buf texts;
    buf_init(&texts, MAX_FILE_BYTES);
    bool good = true;
    bool go_on = true;
    for (size_t i = 0; good && go_on && i < list.count; i++) {
        char *data;
        struct span text;
        struct span line;
        struct dead_letter letter;
        good = load(store, list.files[i].number, &data, &text, err);
        while (good && go_on && next_line(&text, &line)) {
            go_on = !dead_letter_read(line, &texts, &letter) || each(self, &letter);
        }
        free(data);
    }
    buf_fini(&texts);
    free(list.files);
    return good;
}

/* ---- writing ------------------------------------------------------------------------------------ */

/* Look at what the newest file holds: the number of the next letter, and whether it ends well. */
static bool learn_newest(struct store *store, const struct store_file *newest, struct error *err)
{
    char *data;
    struct span text;
    if (!load(store, newest->number, &data, &text, err)) {
        return false;
    }
    struct span line;
    struct dead_letter letter;
    uint64_t next = newest->number;
    store->newest = (struct store_file){.number = newest->number, .size = text.size};
    store->torn = text.size && text.data[text.size - 1] != '\n';
    while (next_line(&text, &line)) {
        if (dead_letter_read(line, &store->line, &letter) && letter.id >= next) {
            next = letter.id + 1;
        }
    }
    store->next_id = next;
    free(data);
    return true;
}

/* Choose the file that new letters go to, and know it. */
static bool choose_newest(struct store *store, const struct file_list *list, struct error *err)
{
    if (list->count == 0) {
        store->next_id = store->next_id ? store->next_id : 1;
        store->newest = (struct store_file){.number = store->next_id};
        store->torn = false;
        return true;
    }
    const struct store_file *newest = &list->files[list->count - 1];
    bool known = store->next_id && newest->number == store->newest.number &&
                 newest->size == store->newest.size;
    if (!known && !learn_newest(store, newest, err)) {
        return false;
    }
    if (store->newest.size >= store->settings.file_bytes &&
        store->next_id != store->newest.number) {
        store->newest = (struct store_file){.number = store->next_id};
        store->torn = false;
    }
    return true;
}

static void render(struct store *store, const struct dead_letter *letter, uint64_t id)
{
    struct dead_letter numbered = *letter;
    numbered.id = id;
    if (numbered.document.size > DEAD_LETTER_DOCUMENT_MAX_BYTES) {
        numbered.document = span_make(NULL, 0);
    }
    buf_reset(&store->line);
    dead_letter_write(&numbered, &store->line);
}

/* Append to the newest file, all or nothing. */
static bool append(struct store *store, const struct dead_letter *items, size_t count,
    uint64_t *ret_size, struct error *err)
{
    char path[MAX_PATH_BYTES];
    struct plat_file *file = path_of(store, store->newest.number, path, err)
                                 ? plat_file_open(path, PLAT_FILE_APPEND, err)
                                 : NULL;
    if (!file) {
        return false;
    }
    uint64_t size = store->newest.size + store->torn;
    bool good = !store->torn || plat_file_write(file, span_text("\n"), err);
    for (size_t i = 0; good && i < count; i++) {
        render(store, &items[i], store->next_id + i);
        good = store->line.failed ? error_set(err, ERR_MEMORY, "out of memory for a dead letter")
                                  : plat_file_write(file, buf_span(&store->line), err);
        size += store->line.size;
    }
    good = good && plat_file_sync(file, err) &&
           (store->newest.size || plat_path_sync_folder(store->folder, err));
    if (!good) {
        plat_file_truncate(file, store->newest.size, NULL);
    }
    plat_file_close(file);
    *ret_size = size;
    return good;
}

/* Count the letters of a file. The output of one that cannot be read is not known. */
static void count_lines(struct store *store, struct span text, struct evictions *evictions)
{
    struct span line;
    while (next_line(&text, &line)) {
        struct dead_letter letter = {.id = 0};
        dead_letter_read(line, &store->line, &letter);
        evictions_add(evictions, letter.output, letter.time);
    }
}

static bool evict_file(struct store *store, uint64_t number, struct evictions *evictions)
{
    char path[MAX_PATH_BYTES];
    char *data;
    struct span text;
    if (!path_of(store, number, path, NULL) || !load(store, number, &data, &text, NULL)) {
        return false;
    }
    bool removed = plat_path_remove(path, NULL);
    if (removed) {
        count_lines(store, text, evictions);
    }
    free(data);
    return removed;
}

static uint64_t total_bytes(const struct store *store, const struct file_list *list)
{
    uint64_t total = store->newest.size;
    for (size_t i = 0; i < list->count; i++) {
        total += list->files[i].number == store->newest.number ? 0 : list->files[i].size;
    }
    return total;
}

/* Remove the oldest files, though never the newest, until there is room. A file that cannot be
 * removed now is tried again with the next letter. */
static void make_room(
    struct store *store, const struct file_list *list, struct evictions *evictions)
{
    uint64_t total = total_bytes(store, list);
    for (size_t i = 0; i < list->count && total > store->settings.max_bytes; i++) {
        const struct store_file *oldest = &list->files[i];
        if (oldest->number != store->newest.number &&
            evict_file(store, oldest->number, evictions)) {
            total -= oldest->size;
        }
    }
    store->evicted += evictions_total(evictions);
}

static bool all_wait(const struct dead_letter *items, size_t count)
{
    bool waits = true;
    for (size_t i = 0; i < count; i++) {
        waits = waits && items[i].waits;
    }
    return waits;
}

/* Letters that wait are put as long as there is any room: the last ones may go a little beyond it. */
static bool check_room(const struct store *store, const struct file_list *list, struct error *err)
{
    uint64_t total = total_bytes(store, list);
    return total < store->settings.max_bytes ||
           error_set(err, ERR_LIMIT,
               "dead letters are full: they take %llu of %llu bytes. look at them with etwship "
               "deadletter list, mend what refuses them, then send them again (deadletter replay) "
               "or remove them (deadletter purge)",
               (unsigned long long)total, (unsigned long long)store->settings.max_bytes);
}

static bool put_locked(struct store *store, const struct dead_letter *items, size_t count,
    struct evictions *evictions, struct error *err)
{
    struct plat_file *lock = lock_folder(store, err);
    struct file_list list = {.count = 0};
    uint64_t size = 0;
    bool waits = all_wait(items, count);
    bool good = lock && list_files(store, &list, err) && choose_newest(store, &list, err) &&
                (!waits || check_room(store, &list, err));
    if (good && append(store, items, count, &size, err)) {
        store->newest.size = size;
        store->torn = false;
        store->next_id += count;
        if (!waits) {
            make_room(store, &list, evictions);
        }
    } else {
        good = false;
        store->next_id = 0; /* look again: who knows what is there now */
    }
    free(list.files);
    plat_file_close(lock);
    return good;
}

static bool folder_put(
    struct dead_letters *base, const struct dead_letter *items, size_t count, struct error *err)
{
    struct store *store = (struct store *)base;
    struct evictions evictions = {.count = 0};
    plat_mutex_lock(&store->mutex);
    bool good = put_locked(store, items, count, &evictions, err);
    plat_mutex_unlock(&store->mutex);
    evictions_tell(&evictions, store->settings.evicted, store->settings.self);
    evictions_fini(&evictions);
    return good;
}

/* ---- removing ----------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* What is left of a file without some letters. */
struct remainder {
    struct buf text;
    uint64_t removed;
    uint64_t next_id; /* behind every letter that was in it */
    uint64_t next_left;
};

static void sort_out(struct store *store, struct span text, const uint64_t *ids, size_t count,
    struct remainder *rest)
{
    struct span line;
    struct dead_letter letter;
    while (next_line(&text, &line)) {
        if (!dead_letter_read(line, &store->line, &letter)) {
            continue; /* cut off, or damaged: of no use to anybody */
        }
        uint64_t next = letter.id + 1;
        rest->next_id = next > rest->next_id ? next : rest->next_id;
        if (bsearch(&letter.id, ids, count, sizeof(*ids), by_id)) {
            rest->removed++;
        } else {
            rest->next_left = next > rest->next_left ? next : rest->next_left;
            buf_add_span(&rest->text, line);
            buf_add_byte(&rest->text, '\n');
        }
    }
}

/* The last letter of all is gone only when the name of a file says how far the numbers have come. */
static bool keep_number(const struct store *store, uint64_t next_id, struct error *err)
{
    char next[MAX_PATH_BYTES];
    return path_of(store, next_id, next, err) && plat_file_replace(next, span_make(NULL, 0), err) &&
           plat_path_sync_folder(store->folder, err);
}

static bool remove_from(struct store *store, uint64_t number, bool newest, const uint64_t *ids,
    size_t count, uint64_t *removed, struct error *err)
{
    char path[MAX_PATH_BYTES];
    char *data;
    struct span text;
    if (!path_of(store, number, path, err) || !load(store, number, &data, &text, err)) {
        return false;
    }
    struct remainder rest = {.next_id = number};
    buf_init(&rest.text, text.size);
    sort_out(store, text, ids, count, &rest);
    bool good = !rest.text.failed || error_set(err, ERR_MEMORY, "out of memory");
    if (good && rest.removed) {
        bool was_last = newest && rest.next_left < rest.next_id;
        good = (!was_last || keep_number(store, rest.next_id, err)) &&
               (rest.text.size ? plat_file_replace(path, buf_span(&rest.text), err)
                               : plat_path_remove(path, err));
    }
    *removed += good ? rest.removed : 0;
    buf_fini(&rest.text);
    free(data);
    return good;
}

static bool folder_remove(struct dead_letters *base, const uint64_t *ids, size_t count,
    uint64_t *ret_removed, struct error *err)
{
    struct store *store = (struct store *)base;
    struct file_list list = {.count = 0};
    uint64_t removed = 0;
    if (plat_path_kind(store->folder) == PLAT_PATH_NONE) {
        *ret_removed = 0;
        return true;
    }
    plat_mutex_lock(&store->mutex);
    struct plat_file *lock = lock_folder(store, err);
    bool good = lock && list_files(store, &list, err);
    for (size_t i = 0; good && i < list.count; i++) {
        good = remove_from(
            store, list.files[i].number, i + 1 == list.count, ids, count, &removed, err);
    }
    good = good && plat_path_sync_folder(store->folder, err);
    store->next_id = 0;
    free(list.files);
    plat_file_close(lock);
    plat_mutex_unlock(&store->mutex);
    if (good) {
        *ret_removed = removed;
    }
    return good;
}

/* ---- life --------------------------------------------------------------------------------------- */

static bool folder_usage(
    struct dead_letters *base, struct dead_letters_usage *ret_usage, struct error *err)
{
    struct store *store = (struct store *)base;
    struct file_list list;
    if (!list_files(store, &list, err)) {
        return false;
    }
    struct dead_letters_usage usage = {.bytes = 0};
    for (size_t i = 0; i < list.count; i++) {
        usage.bytes += list.files[i].size;
    }
    free(list.files);
    plat_mutex_lock(&store->mutex);
    usage.evicted = store->evicted;
    plat_mutex_unlock(&store->mutex);
    *ret_usage = usage;
    return true;
}

static void folder_destroy(struct dead_letters *base)
{
    struct store *store = (struct store *)base;
    buf_fini(&store->line);
    plat_mutex_fini(&store->mutex);
    free(store->folder);
    free(store);
}

static const struct dead_letters_ops folder_ops = {.put = folder_put,
    .each = folder_each,
    .remove = folder_remove,
    .usage = folder_usage,
    .destroy = folder_destroy};

struct dead_letters *dead_letters_folder_create(
    const struct dead_letters_folder_settings *settings, struct error *err)
{
    struct store *store = calloc(1, sizeof(*store));
    size_t size = strlen(settings->folder) + 1;
    char *folder = malloc(size);
    if (!store || !folder) {
        free(store);
        free(folder);
        error_set(err, ERR_MEMORY, "out of memory for dead letters");
        return NULL;
    }
    memcpy(folder, settings->folder, size);
    store->base.ops = &folder_ops;
    store->settings = *settings;
    store->settings.folder = folder;
    store->settings.max_bytes = settings->max_bytes ? settings->max_bytes : default_max_bytes;
    store->settings.file_bytes = settings->file_bytes ? settings->file_bytes : default_file_bytes;
    store->folder = folder;
    plat_mutex_init(&store->mutex);
    buf_init(&store->line, MAX_LINE_BYTES);
    return &store->base;
}
