#include "process/file_reader.h"

#include <stdlib.h>

#include "process/file_events.h"
#include "process/process_table_own.h"

enum { SLOTS = 512 };

struct slot {
    bool used;
    bool is_object;
    struct file_key key;
    struct file_answer answer;
    struct event_file file;
};

struct file_reader {
    struct process_table *table;
    struct file_path *own; /* for a record that contains a name the table lacks */
    struct event_file own_file;
    struct slot slots[SLOTS];
};

struct file_reader *file_reader_create(struct process_table *table, struct error *err)
{
    struct file_reader *reader = calloc(1, sizeof(*reader));
    if (!reader) {
        error_set(err, ERR_MEMORY, "out of memory for a reader of files");
        return NULL;
    }
    reader->table = table;
    return reader;
}

void file_reader_destroy(struct file_reader *reader)
{
    for (size_t i = 0; reader && i < SLOTS; i++) {
        file_path_drop(reader->slots[i].answer.path);
    }
    if (reader) {
        file_path_drop(reader->own);
        free(reader);
    }
}

static struct span text_of(const struct file_path *path)
{
    return path ? span_make(path->text, path->size) : span_make(NULL, 0);
}

static bool is_answer(const struct file_names *names, const struct slot *slot, bool is_object,
    const struct file_key *key, uint64_t time)
{
    return slot->used && slot->is_object == is_object && slot->key.address == key->address &&
           slot->key.machine == key->machine && slot->answer.from <= time &&
           time <= slot->answer.to && file_names_is_current(names, key, slot->answer.stamp);
}

/* The file at ${address} at the time of the record. NULL: unknown. */
static const struct event_file *find(
    struct file_reader *reader, bool is_object, const struct event_record *record, uint64_t address)
{
    struct process_table *table = reader->table;
    struct file_names *names = is_object ? &table->file_objects : &table->file_keys;
    if (address == 0) {
        return NULL;
    }
    const struct file_key key = {
        .machine = process_table_machine_of(table, record), .address = address};
    struct slot *slot = &reader->slots[file_names_hash(&key) >> 40 & (SLOTS - 1)];
    if (!is_answer(names, slot, is_object, &key, record->time)) {
        file_path_drop(slot->answer.path);
        process_table_find_file(table, names, &key, record->time, &slot->answer);
        slot->used = true;
        slot->is_object = is_object;
        slot->key = key;
        slot->file.path = text_of(slot->answer.path);
    }
    return slot->answer.path ? &slot->file : NULL;
}

/* The file named by the record itself. The table knows it unless it was evicted or contradicted. */
static const struct event_file *find_own(
    struct file_reader *reader, const struct event_record *record, const struct record_file *used)
{
    struct file_text text;
    if (used->news == RECORD_FILE_NO_NEWS || used->name.size == 0 || !file_text_init(&text, used)) {
        return NULL;
    }
    file_path_drop(reader->own);
    reader->own = text.path.size ? process_table_show_path(reader->table,
                                       process_table_machine_of(reader->table, record), text.path)
                                 : NULL;
    file_text_fini(&text);
    reader->own_file.path = text_of(reader->own);
    return reader->own ? &reader->own_file : NULL;
}

static bool knows_any(const struct file_names *names)
{
    return atomic_load_explicit(&names->knows_any, memory_order_acquire);
}

const struct event_file *file_reader_find(
    struct file_reader *reader, const struct event_record *record)
{
    struct record_file used;
    const struct process_table *table = reader->table;
    if ((!knows_any(&table->file_keys) && !knows_any(&table->file_objects)) ||
        !record_file_read(record, &used)) {
        return NULL;
    }
    const struct event_file *file = find(reader, false, record, used.key);
    file = file ? file : find(reader, true, record, used.object);
    return file ? file : find_own(reader, record, &used);
}
