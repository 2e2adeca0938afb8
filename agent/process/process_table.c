#include <stdlib.h>

#include "base/bytes.h"
#include "process/process_table_own.h"

/*
 * Writers take the mutex, and readers without a cached answer: once per process event and per
 * change, never per event.
 */

enum {
    PROCESS_SLOTS = 4096,
    THREAD_SLOTS = 8192,
    THREAD_SHARE =
        /* a quarter of the memory is for threads, at 120 bytes each including allocator overhead */
    4,
    THREAD_BYTES = 120,
};

/* Facts about one life of a process. */
struct process_entry {
    struct process_facts *facts;
    struct process_sheet *sheet; /* NULL: not requested since the last change */
    unsigned parent_stamp;       /* stamp of the parent when the sheet was made */
    uint32_t parent_pid;         /* of the facts, which need not be read for it */
    uint64_t names;
};

enum { ENTRY_BYTES = sizeof(struct life) + sizeof(struct process_entry) + 32 };

/* Unique across all tables, because a worker sees processes of several tables. */
static uint64_t next_serial(void)
{
    static atomic_uint_fast64_t last;
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

/* ---- values of lives ------------------------------------------------------------------------- */

static void touch(atomic_uint *stamps, uint32_t id)
{
    atomic_fetch_add_explicit(&stamps[process_stamp_of(id)], 1, memory_order_release);
}

static void drop_sheet(struct process_table *table, struct process_entry *entry)
{
    if (entry->sheet) {
        table->bytes -= entry->sheet->bytes;
        process_sheet_drop(entry->sheet);
        entry->sheet = NULL;
    }
}

static bool fits(const struct life *life, const void *news)
{
    const struct process_entry *entry = life->value;
    return process_facts_fit(entry->facts, news);
}

/* lifetimes.h callback. Memory of facts is counted once per user, which overestimates copies. */
static bool take(void *self, struct life *life, const void *news)
{
    struct process_table *table = self;
    struct process_entry *entry = life->value;
    struct process_facts *facts = process_facts_with(entry->facts, news);
    if (!facts) {
        return false;
    }
    if (facts != entry->facts) {
        size_t before = life->bytes;
        life->bytes = facts->bytes + ENTRY_BYTES;
        table->bytes += life->bytes - before;
        entry->facts = facts;
        entry->parent_pid = facts->known.parent_pid;
        drop_sheet(table, entry);
        touch(table->process_stamps, life->id);
    }
    return true;
}

static bool copy(void *self, const struct life *life, struct life *copy)
{
    struct process_table *table = self;
    const struct process_entry *entry = life->value;
    struct process_entry *copy_entry = copy->value;
    copy_entry->facts = entry->facts;
    copy_entry->facts->users++;
    copy_entry->parent_pid = entry->parent_pid;
    table->bytes += copy->bytes;
    return true;
}

static void changed(void *self, struct life *life)
{
    struct process_table *table = self;
    struct process_entry *entry = life->value;
    drop_sheet(table, entry);
    touch(table->process_stamps, life->id);
}

/* What readers were told of it stays true. */
static void drop(void *self, struct life *life)
{
    struct process_table *table = self;
    struct process_entry *entry = life->value;
    drop_sheet(table, entry);
    process_facts_drop(entry->facts);
    table->bytes -= life->bytes;
}

static const struct life_ops process_ops = {.value_bytes = sizeof(struct process_entry),
    .fits = fits,
    .take = take,
    .copy = copy,
    .changed = changed,
    .drop = drop};

static bool thread_fits(const struct life *life, const void *news)
{
    return life->owner == ((const struct thread_news *)news)->pid;
}

static bool thread_take(void *self, struct life *life, const void *news)
{
    (void)self;
    life->owner = ((const struct thread_news *)news)->pid;
    return true;
}

static bool thread_copy(void *self, const struct life *life, struct life *copy)
{
    (void)self;
    copy->owner = life->owner;
    return true;
}

static void thread_changed(void *self, struct life *life)
{
    touch(((struct process_table *)self)->thread_stamps, life->id);
}

static const struct life_ops thread_ops = {.fits = thread_fits,
    .take = thread_take,
    .copy = thread_copy,
    .changed = thread_changed,
    .drop = thread_changed};

/* ---- statements ------------------------------------------------------------------------------ */

static void make_room(struct process_table *table, const struct life *keep)
{
    while (table->bytes > table->max_bytes && lifetimes_evict_one(&table->processes, keep)) {
        table->evicted++;
    }
}

/* The life at the time of ${news}, if it is the process that was created at the stated time. */
static struct life *find_created(
    const struct process_table *table, const struct life_key *key, const struct process_news *news)
{
    uint64_t from;
    uint64_t to;
    struct life *life = lifetimes_find(&table->processes, key, news->time, true, &from, &to);
    const struct process_entry *entry = life ? life->value : NULL;
    return entry && entry->facts->known.created == news->created ? life : NULL;
}

static struct life *note_start(struct process_table *table, const struct life_key *key,
    const struct process_news *news, uint64_t time, enum process_source source)
{
    struct life *life = news->created ? find_created(table, key, news) : NULL;
    if (life) {
        return take(table, life, news) ? life : NULL; /* its start is known */
    }
    return lifetimes_note(&table->processes, key, LIFE_STARTED, time, (uint8_t)source, news);
}

void process_table_add(struct process_table *table, const struct process_news *news)
{
    const struct life_key key = {
        .machine = process_table_machine(table, news->machine), .id = news->pid};
    bool is_start = news->what == LIFE_STARTED;
    struct life *life = NULL;
    plat_mutex_lock(&table->mutex);
    if (news->time && is_start) {
        life = note_start(table, &key, news, news->time, news->source);
    } else if (news->time && news->created) {
        uint64_t created = news->created < news->time ? news->created : news->time;
        life = note_start(table, &key, news, created, PROCESS_FROM_CREATION);
    }
    if (news->time && !is_start) {
        life = lifetimes_note(
            &table->processes, &key, news->what, news->time, (uint8_t)news->source, news);
    }
    if (life) {
        make_room(table, life);
        atomic_store_explicit(&table->knows_processes, true, memory_order_release);
    }
    plat_mutex_unlock(&table->mutex);
}

void process_table_add_thread(struct process_table *table, const struct thread_news *news)
{
    const struct life_key key = {
        .machine = process_table_machine(table, news->machine), .id = news->tid};
    plat_mutex_lock(&table->mutex);
    struct life *life = news->time ? lifetimes_note(&table->threads, &key, news->what, news->time,
                                         (uint8_t)news->source, news)
                                   : NULL;
    while (life && table->threads.count > table->max_threads &&
           lifetimes_evict_one(&table->threads, life)) {
        table->threads_evicted++;
    }
    if (life) {
        atomic_store_explicit(&table->knows_threads, true, memory_order_release);
    }
    plat_mutex_unlock(&table->mutex);
}

/* Drop all sheets because paths are shown differently. */
static void drop_sheets(struct process_table *table)
{
    const struct life_queue *const queues[] = {&table->processes.ended, &table->processes.going};
    for (size_t i = 0; i < 2; i++) {
        for (struct life *life = queues[i]->oldest; life; life = life->queue_behind) {
            drop_sheet(table, life->value);
        }
    }
    for (size_t i = 0; i < PROCESS_STAMPS; i++) {
        atomic_fetch_add_explicit(&table->process_stamps[i], 1, memory_order_release);
    }
}

/* True if everything of the machine was passed on ahead. Records in their places are then
 * duplicates or were evicted. */
static bool is_told_ahead(struct process_table *table, const struct file_news *news)
{
    size_t count = table->ahead_count < PROCESS_MAX_AHEAD ? table->ahead_count : PROCESS_MAX_AHEAD;
    for (size_t i = 0; i < count; i++) {
        if (table->ahead[i] == news->machine) {
            return true;
        }
    }
    if (news->ahead) {
        table->ahead[table->ahead_count++ % PROCESS_MAX_AHEAD] = news->machine;
    }
    return false;
}

void process_table_add_file(struct process_table *table, const struct file_news *news)
{
    const struct file_key key = {
        .machine = process_table_machine(table, news->machine), .address = news->address};
    if (news->address == 0 || news->time == 0) {
        return;
    }
    plat_mutex_lock(&table->mutex);
    bool is_known = !news->is_object && is_told_ahead(table, news) && !news->ahead && !news->grows;
    if (!is_known) {
        file_names_tell(news->is_object ? &table->file_objects : &table->file_keys, &key,
            news->what, news->time, news->path);
    }
    plat_mutex_unlock(&table->mutex);
}

void process_table_add_volume(
    struct process_table *table, uint64_t machine, struct span device, struct span drive)
{
    plat_mutex_lock(&table->mutex);
    machine = process_table_machine(table, machine);
    if (volume_map_add(&table->volumes, machine, device, drive)) {
        drop_sheets(table);
        file_names_volumes_changed(&table->file_keys);
        file_names_volumes_changed(&table->file_objects);
    }
    plat_mutex_unlock(&table->mutex);
}

void process_table_set_boot_id(struct process_table *table, uint16_t boot_id)
{
    plat_mutex_lock(&table->mutex);
    if (table->boot_id != boot_id) {
        table->boot_id = boot_id;
        drop_sheets(table);
    }
    plat_mutex_unlock(&table->mutex);
}

/* ---- look-up --------------------------------------------------------------------------------- */

static bool has_key(const struct life *life, uint64_t start_key)
{
    const struct process_entry *entry = life->value;
    uint64_t known = entry->facts->known.start_key & PROCESS_SEQUENCE_MASK;
    return known == (start_key & PROCESS_SEQUENCE_MASK);
}

/* The life with the event's ${start_key}; NULL if there is none. */
static struct life *find_key(
    const struct process_table *table, const struct life_key *key, uint64_t start_key)
{
    size_t index = 0;
    struct life *life = lifetimes_at(&table->processes, key, index);
    while (life && !has_key(life, start_key)) {
        life = lifetimes_at(&table->processes, key, ++index);
    }
    return life;
}

static struct life *find_life(const struct process_table *table, const struct life_key *key,
    uint64_t time, uint64_t start_key, struct process_answer *answer)
{
    struct life *life = lifetimes_find(
        &table->processes, key, time, true, &answer->from, &answer->to);
    if ((start_key & PROCESS_SEQUENCE_MASK) == 0) {
        return life;
    }
    const struct process_entry *entry = life ? life->value : NULL;
    bool is_known = entry && entry->facts->known.start_key;
    return entry && (!is_known || has_key(life, start_key)) ? life
                                                            : find_key(table, key, start_key);
}

/*
 * The process that created ${life}: the one with the parent's id at that time. If the start of
 * ${life} is unknown, the parent must have existed from the beginning, too, and must not have been
 * created later.
 */
static const struct process_facts *find_parent(
    const struct process_table *table, const struct life *life)
{
    const struct process_news *known = &((struct process_entry *)life->value)->facts->known;
    const struct life_key key = {.machine = life->machine, .id = known->parent_pid};
    uint64_t from;
    uint64_t to;
    if (!known->has_parent || known->parent_pid == life->id) {
        return NULL;
    }
    struct life *parent = lifetimes_find(
        &table->processes, &key, life->start_known ? life->first : 0, false, &from, &to);
    if (!parent) {
        return NULL;
    }
    const struct process_entry *entry = parent->value;
    uint64_t key_known = entry->facts->known.start_key & PROCESS_SEQUENCE_MASK;
    uint64_t key_told = known->parent_key & PROCESS_SEQUENCE_MASK;
    bool is_other = key_known && key_told && key_known != key_told;
    return is_other || process_facts_are_later(&entry->facts->known, known) ? NULL : entry->facts;
}

/* The up-to-date sheet of ${life}. NULL: no memory. */
static struct process_sheet *sheet_of(struct process_table *table, const struct life *life)
{
    struct process_entry *entry = life->value;
    unsigned stamp = atomic_load_explicit(
        &table->process_stamps[process_stamp_of(entry->parent_pid)], memory_order_relaxed);
    uint64_t names = process_table_names(table);
    if (entry->sheet && entry->names == names && entry->parent_stamp == stamp) {
        return entry->sheet;
    }
    const struct process_sheet_parts parts = {.facts = entry->facts,
        .parent = find_parent(table, life),
        .machine = life->machine,
        .volumes = &table->volumes,
        .names = table->settings.names,
        .start = life->start_known ? process_moment(entry->facts->known.created, life->first) : 0,
        .boot_id = table->boot_id,
        .texts = &table->sheet_texts};
    struct process_sheet *sheet = process_sheet_make(&parts);
    entry->parent_stamp = stamp;
    entry->names = names;
    if (sheet && entry->sheet && process_sheet_equal(sheet, entry->sheet)) {
        process_sheet_drop(sheet);
        return entry->sheet;
    }
    drop_sheet(table, entry);
    if (sheet) {
        sheet->process.serial = next_serial();
        table->bytes += sheet->bytes;
        entry->sheet = sheet;
    }
    return sheet;
}

void process_table_find(struct process_table *table, const struct life_key *key, uint64_t time,
    uint64_t start_key, struct process_answer *ret_answer)
{
    plat_mutex_lock(&table->mutex);
    *ret_answer = (struct process_answer){
        .pid = key->id, .parent_pid = key->id, .names = process_table_names(table)};
    struct life *life = find_life(table, key, time, start_key, ret_answer);
    if (life) {
        const struct process_entry *entry = life->value;
        ret_answer->sheet = sheet_of(table, life);
        process_sheet_use(ret_answer->sheet);
        ret_answer->parent_pid = entry->parent_pid;
        make_room(table, life);
    }
    ret_answer->stamp = atomic_load_explicit(
        &table->process_stamps[process_stamp_of(key->id)], memory_order_relaxed);
    ret_answer->parent_stamp = atomic_load_explicit(
        &table->process_stamps[process_stamp_of(ret_answer->parent_pid)], memory_order_relaxed);
    plat_mutex_unlock(&table->mutex);
}

void process_table_find_thread(struct process_table *table, const struct life_key *key,
    uint64_t time, struct thread_answer *ret_answer)
{
    *ret_answer = (struct thread_answer){.found = false};
    plat_mutex_lock(&table->mutex);
    const struct life *life = lifetimes_find(
        &table->threads, key, time, true, &ret_answer->from, &ret_answer->to);
    ret_answer->found = life != NULL;
    ret_answer->pid = life ? life->owner : 0;
    ret_answer->stamp = atomic_load_explicit(
        &table->thread_stamps[process_stamp_of(key->id)], memory_order_relaxed);
    plat_mutex_unlock(&table->mutex);
}

void process_table_find_file(struct process_table *table, struct file_names *names,
    const struct file_key *key, uint64_t time, struct file_answer *ret_answer)
{
    plat_mutex_lock(&table->mutex);
    file_names_find(names, key, time, &table->volumes, ret_answer);
    plat_mutex_unlock(&table->mutex);
}

struct file_path *process_table_show_path(
    struct process_table *table, uint64_t machine, struct span path)
{
    plat_mutex_lock(&table->mutex);
    struct file_path *shown = file_names_translate(
        &table->volumes, process_table_machine(table, machine), path);
    plat_mutex_unlock(&table->mutex);
    return shown;
}

bool process_table_has_evicted(struct process_table *table)
{
    plat_mutex_lock(&table->mutex);
    bool has = table->evicted || table->threads_evicted;
    plat_mutex_unlock(&table->mutex);
    return has;
}

bool process_table_tells_evicted(struct process_table *table)
{
    plat_mutex_lock(&table->mutex);
    bool is_news = table->file_keys.evicted && !table->told_evicted;
    table->told_evicted |= is_news;
    plat_mutex_unlock(&table->mutex);
    return is_news;
}

struct process_table_counts process_table_counts(struct process_table *table)
{
    plat_mutex_lock(&table->mutex);
    const struct process_table_counts counts = {.processes = table->processes.count,
        .threads = table->threads.count,
        .bytes = table->bytes + table->threads.count * THREAD_BYTES,
        .evicted = table->evicted,
        .files = table->file_keys.count + table->file_objects.count,
        .file_bytes = table->file_keys.bytes + table->file_objects.bytes,
        .files_evicted = table->file_keys.evicted};
    plat_mutex_unlock(&table->mutex);
    return counts;
}

uint64_t process_table_machine_of(
    const struct process_table *table, const struct event_record *record)
{
    uint64_t boot = record->trace ? record->trace->boot_time : 0;
    uint64_t file = table->settings.by_file ? load_le64(record->position.file_id) : 0;
    return table->settings.one_machine ? 0 : boot ^ file;
}

/* File objects have a separate limit: there are as many as programs open files, and they must not
 * evict the names of file keys. */
static bool init_files(struct process_table *table)
{
    enum { OBJECT_SHARE = 4 };
    size_t bytes = table->settings.max_file_bytes;
    bytes = bytes ? bytes : PROCESS_TABLE_FILE_BYTES;
    const struct file_names_settings keys = {
        .max_bytes = bytes - bytes / OBJECT_SHARE, .forward = table->settings.one_machine};
    const struct file_names_settings objects = {.max_bytes = bytes / OBJECT_SHARE, .forward = true};
    return file_names_init(&table->file_keys, &keys) &&
           file_names_init(&table->file_objects, &objects);
}

/* ---- creation -------------------------------------------------------------------------------- */

struct process_table *process_table_create(
    const struct process_table_settings *settings, struct error *err)
{
    struct process_table *table = calloc(1, sizeof(*table));
    if (!table) {
        error_set(err, ERR_MEMORY, "out of memory for a table of processes");
        return NULL;
    }
    size_t max_bytes = settings->max_bytes ? settings->max_bytes : PROCESS_TABLE_BYTES;
    table->settings = *settings;
    table->max_bytes = max_bytes - max_bytes / THREAD_SHARE;
    table->max_threads = max_bytes / THREAD_SHARE / THREAD_BYTES;
    plat_mutex_init(&table->mutex);
    if (!init_files(table) ||
        !lifetimes_init(&table->processes, PROCESS_SLOTS, &process_ops, table) ||
        !lifetimes_init(&table->threads, THREAD_SLOTS, &thread_ops, table)) {
        process_table_destroy(table);
        error_set(err, ERR_MEMORY, "out of memory for a table of processes");
        return NULL;
    }
    return table;
}

void process_table_destroy(struct process_table *table)
{
    if (table) {
        lifetimes_fini(&table->processes);
        lifetimes_fini(&table->threads);
        file_names_fini(&table->file_keys);
        file_names_fini(&table->file_objects);
        volume_map_fini(&table->volumes);
        buf_fini(&table->sheet_texts);
        plat_mutex_fini(&table->mutex);
        free(table);
    }
}
