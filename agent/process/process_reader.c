#include "process/process_reader.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "event/model/record_process.h"
#include "process/file_reader.h"
#include "process/process_subjects.h"
#include "process/process_table_own.h"

enum { READER_SLOTS = 2048, OTHER_SLOTS = 64 };

struct process_slot {
    bool used;
    struct life_key key;
    uint64_t start_key;
    struct process_answer answer;
};

struct thread_slot {
    bool used;
    struct life_key key;
    struct thread_answer answer;
};

struct process_reader {
    struct process_table *table;
    struct process_slot processes[READER_SLOTS];
    /* used while the answer for an event's own process must stay valid */
    struct process_slot others[OTHER_SLOTS];
    struct thread_slot threads[READER_SLOTS];
    struct file_reader *files;
    struct event_processes asked;
};

static const struct event_process *find_other(
    void *self, const struct event_record *record, uint32_t pid);

struct process_reader *process_reader_create(struct process_table *table, struct error *err)
{
    struct process_reader *reader = calloc(1, sizeof(*reader));
    if (!reader) {
        error_set(err, ERR_MEMORY, "out of memory for a reader of processes");
        return NULL;
    }
    reader->table = table;
    reader->files = file_reader_create(table, err);
    if (!reader->files) {
        free(reader);
        return NULL;
    }
    reader->asked = (struct event_processes){.find = find_other, .self = reader};
    return reader;
}

void process_reader_destroy(struct process_reader *reader)
{
    for (size_t i = 0; reader && i < READER_SLOTS; i++) {
        process_sheet_drop(reader->processes[i].answer.sheet);
    }
    for (size_t i = 0; reader && i < OTHER_SLOTS; i++) {
        process_sheet_drop(reader->others[i].answer.sheet);
    }
    if (reader) {
        file_reader_destroy(reader->files);
    }
    free(reader);
}

static bool is_current(const atomic_uint *stamps, uint32_t id, unsigned stamp)
{
    return atomic_load_explicit(&stamps[process_stamp_of(id)], memory_order_acquire) == stamp;
}

static size_t slot_of(uint32_t id, size_t slots)
{
    return (id * 0x9e3779b1u >> 20) % slots;
}

static struct life_key key_of(
    const struct process_table *table, const struct event_record *record, uint32_t id)
{
    return (struct life_key){.machine = process_table_machine_of(table, record), .id = id};
}

static uint64_t start_key_of(const struct event_record *record)
{
    const struct extended_item *item = record->extended_count
                                           ? record_extended(record, EXTENDED_PROCESS_START_KEY)
                                           : NULL;
    return item && item->data.size == 8 ? load_le64(item->data.data) : 0;
}

static bool is_answer(const struct process_table *table, const struct process_slot *slot,
    const struct life_key *key, uint64_t time, uint64_t start_key)
{
    const struct process_answer *answer = &slot->answer;
    return slot->used && slot->key.id == key->id && slot->key.machine == key->machine &&
           slot->start_key == start_key && answer->names == process_table_names(table) &&
           answer->from <= time && time <= answer->to &&
           is_current(table->process_stamps, key->id, answer->stamp) &&
           is_current(table->process_stamps, answer->parent_pid, answer->parent_stamp);
}

/* Process ${pid} at the time of the record; ${start_key}: 0 if unknown. */
static const struct event_process *find(struct process_table *table, struct process_slot *slot,
    const struct event_record *record, uint32_t pid, uint64_t start_key)
{
    const struct life_key key = key_of(table, record, pid);
    if (!is_answer(table, slot, &key, record->time, start_key)) {
        process_sheet_drop(slot->answer.sheet);
        process_table_find(table, &key, record->time, start_key, &slot->answer);
        slot->used = true;
        slot->key = key;
        slot->start_key = start_key;
    }
    return slot->answer.sheet ? &slot->answer.sheet->process : NULL;
}

static bool knows_any(const struct process_table *table)
{
    return atomic_load_explicit(&table->knows_processes, memory_order_acquire);
}

const struct event_process *process_reader_find(
    struct process_reader *reader, const struct event_record *record)
{
    if (!(record->present & RECORD_HAS_PROCESS) || !knows_any(reader->table)) {
        return NULL;
    }
    struct process_slot *slot = &reader->processes[slot_of(record->process_id, READER_SLOTS)];
    return find(reader->table, slot, record, record->process_id, start_key_of(record));
}

static const struct event_process *find_other(
    void *self, const struct event_record *record, uint32_t pid)
{
    struct process_reader *reader = self;
    if (!knows_any(reader->table)) {
        return NULL;
    }
    struct process_slot *slot = &reader->others[slot_of(pid, OTHER_SLOTS)];
    return find(reader->table, slot, record, pid, 0);
}

const struct event_file *process_reader_used_file(
    struct process_reader *reader, const struct event_record *record)
{
    return file_reader_find(reader->files, record);
}

const struct event_processes *process_reader_others(const struct process_reader *reader)
{
    return reader ? &reader->asked : NULL;
}

/* Find the process of a thread at the time of the record. */
static bool find_pid(struct process_reader *reader, const struct event_record *record,
    uint32_t thread_id, uint32_t *ret_pid)
{
    struct process_table *table = reader->table;
    if (!atomic_load_explicit(&table->knows_threads, memory_order_acquire)) {
        return false;
    }
    const struct life_key key = key_of(table, record, thread_id);
    struct thread_slot *slot = &reader->threads[slot_of(key.id, READER_SLOTS)];
    struct thread_answer *answer = &slot->answer;
    if (!slot->used || slot->key.id != key.id || slot->key.machine != key.machine ||
        record->time < answer->from || record->time > answer->to ||
        !is_current(table->thread_stamps, key.id, answer->stamp)) {
        process_table_find_thread(table, &key, record->time, answer);
        slot->used = true;
        slot->key = key;
    }
    *ret_pid = answer->pid;
    return answer->found;
}

/* Find the subject of a record without process and thread in its header. */
static bool find_subject(struct process_reader *reader, const struct event_record *record,
    struct process_subject *ret_subject)
{
    return process_subjects_read(record, ret_subject) &&
           (ret_subject->has_process ||
               find_pid(reader, record, ret_subject->thread_id, &ret_subject->process_id));
}

/* For a record of the kernel's lists: if its payload names another process than the header, use
 * that process, and only a thread that the payload names. */
static const struct event_record *listed(
    const struct event_record *record, struct event_record *room)
{
    struct process_subject subject;
    if (!process_subjects_read(record, &subject) || !subject.has_process ||
        subject.process_id == record->process_id) {
        return record;
    }
    *room = *record;
    room->process_id = subject.process_id;
    room->thread_id = subject.thread_id;
    room->present &= (uint16_t)~RECORD_HAS_THREAD;
    room->present |= subject.has_thread ? RECORD_HAS_THREAD : 0;
    return room;
}

const struct event_record *process_reader_complete(
    struct process_reader *reader, const struct event_record *record, struct event_record *room)
{
    struct process_subject subject = {.has_thread = false};
    if (record->present & RECORD_HAS_PROCESS) {
        return record_process_is_listed(record) ? listed(record, room) : record;
    }
    bool found = record->present & RECORD_HAS_THREAD
                     ? find_pid(reader, record, record->thread_id, &subject.process_id)
                     : find_subject(reader, record, &subject);
    if (!found) {
        return record;
    }
    *room = *record;
    room->process_id = subject.process_id;
    room->present |= RECORD_HAS_PROCESS;
    if (subject.has_thread) {
        room->thread_id = subject.thread_id;
        room->present |= RECORD_HAS_THREAD;
    }
    return room;
}
