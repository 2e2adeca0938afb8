#include "process/process_reader.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/slots.h"
#include "event/model/record_process.h"
#include "process/file_reader.h"
#include "process/process_subjects.h"
#include "process/process_table_own.h"

enum {
    READER_SLOTS = 256,
    READER_MAX_SLOTS = 4096,
    OTHER_SLOTS = 64,
    THREAD_SLOTS = 2048,
    LINE_BYTES = 64, /* of a processor's cache */
};

/* As large as a line: where events are of many processes, most of the time goes into waiting for
 * memory. */
struct process_slot {
    struct process_answer answer; /* from > to: unused */
    uint64_t machine;
    uint64_t start_key;
};

_Static_assert(sizeof(void *) < 8 || sizeof(struct process_slot) == LINE_BYTES, "see its comment");

struct process_slots {
    struct process_slot *list; /* in `memory`, at the begin of a line */
    void *memory;
    uint32_t count; /* a power of two */
    struct slots_load load;
};

struct thread_slot {
    bool used;
    struct life_key key;
    struct thread_answer answer;
};

struct process_reader {
    struct process_table *table;
    struct process_slots processes;
    /* used while the answer for an event's own process must stay valid */
    struct process_slots others;
    struct thread_slot threads[THREAD_SLOTS];
    struct file_reader *files;
    struct event_processes asked;
};

static const struct event_process *find_other(
    void *self, const struct event_record *record, uint32_t pid);

static bool is_used(const struct process_slot *slot)
{
    return slot->answer.from <= slot->answer.to;
}

static bool make_slots(struct process_slots *slots, uint32_t count)
{
    void *memory = calloc(count + 1, sizeof(*slots->list));
    if (!memory) {
        return false;
    }
    size_t skip = (LINE_BYTES - (uintptr_t)memory % LINE_BYTES) % LINE_BYTES;
    *slots = (struct process_slots){
        .list = (struct process_slot *)(void *)((uint8_t *)memory + skip),
        .memory = memory,
        .count = count};
    for (uint32_t i = 0; i < count; i++) {
        slots->list[i].answer.from = 1;
    }
    return true;
}

static void free_slots(struct process_slots *slots)
{
    for (uint32_t i = 0; i < slots->count; i++) {
        process_sheet_drop(slots->list[i].answer.sheet);
    }
    free(slots->memory);
}

static struct process_slot *slot_of(const struct process_slots *slots, const struct life_key *key)
{
    return &slots->list[process_place(key->machine, key->id) & (slots->count - 1)];
}

/* Have twice as many slots. Without memory for them this is not an error. */
static void grow_slots(struct process_slots *slots)
{
    struct process_slots more;
    if (!make_slots(&more, 2 * slots->count)) {
        return;
    }
    for (uint32_t i = 0; i < slots->count; i++) {
        const struct process_slot *slot = &slots->list[i];
        const struct life_key key = {.machine = slot->machine, .id = slot->answer.pid};
        if (is_used(slot)) {
            *slot_of(&more, &key) = *slot;
        }
    }
    free(slots->memory);
    *slots = more;
}

struct process_reader *process_reader_create(struct process_table *table, struct error *err)
{
    struct process_reader *reader = calloc(1, sizeof(*reader));
    if (!reader || !make_slots(&reader->processes, READER_SLOTS) ||
        !make_slots(&reader->others, OTHER_SLOTS)) {
        process_reader_destroy(reader);
        error_set(err, ERR_MEMORY, "out of memory for a reader of processes");
        return NULL;
    }
    reader->table = table;
    reader->files = file_reader_create(table, err);
    if (!reader->files) {
        process_reader_destroy(reader);
        return NULL;
    }
    reader->asked = (struct event_processes){.find = find_other, .self = reader};
    return reader;
}

void process_reader_destroy(struct process_reader *reader)
{
    if (reader) {
        free_slots(&reader->processes);
        free_slots(&reader->others);
        file_reader_destroy(reader->files);
        free(reader);
    }
}

static bool is_current(const atomic_uint *stamps, uint32_t id, unsigned stamp)
{
    return atomic_load_explicit(&stamps[process_stamp_of(id)], memory_order_acquire) == stamp;
}

static struct thread_slot *thread_slot_of(struct process_reader *reader, uint32_t id)
{
    return &reader->threads[(id * 0x9e3779b1u >> 20) % THREAD_SLOTS];
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
    return answer->pid == key->id && slot->machine == key->machine &&
           slot->start_key == start_key && answer->from <= time && time <= answer->to &&
           answer->names == process_table_names(table) &&
           is_current(table->process_stamps, key->id, answer->stamp) &&
           is_current(table->process_stamps, answer->parent_pid, answer->parent_stamp);
}

/* Process ${pid} at the time of the record; ${start_key}: 0 if unknown. */
static const struct event_process *find(struct process_table *table, struct process_slots *slots,
    const struct event_record *record, uint32_t pid, uint64_t start_key)
{
    const struct life_key key = key_of(table, record, pid);
    struct process_slot *slot = slot_of(slots, &key);
    bool is_other = is_used(slot) && (slot->answer.pid != pid || slot->machine != key.machine);
    if (slots_note(&slots->load, slots->count, is_other) && slots->count < READER_MAX_SLOTS) {
        grow_slots(slots);
        slot = slot_of(slots, &key);
    }
    if (!is_answer(table, slot, &key, record->time, start_key)) {
        process_sheet_drop(slot->answer.sheet);
        process_table_find(table, &key, record->time, start_key, &slot->answer);
        slot->machine = key.machine;
        slot->start_key = start_key;
    }
    return slot->answer.sheet ? &slot->answer.sheet->process : NULL;
}

static bool knows_any(const struct process_table *table)
{
    return atomic_load_explicit(&table->knows_processes, memory_order_acquire);
}

uint32_t process_reader_expect(
    const struct process_reader *reader, const struct event_record *record)
{
    const struct life_key key = key_of(reader->table, record, record->process_id);
    slots_expect(slot_of(&reader->processes, &key));
    return process_place(key.machine, key.id);
}

uint32_t process_reader_expect_next(
    const struct process_reader *reader, const struct event_record *record)
{
    const struct life_key key = key_of(reader->table, record, record->process_id);
    slots_expect(slot_of(&reader->processes, &key)->answer.sheet);
    return process_place(key.machine, key.id);
}

const struct event_process *process_reader_find(
    struct process_reader *reader, const struct event_record *record)
{
    if (!(record->present & RECORD_HAS_PROCESS) || !knows_any(reader->table)) {
        return NULL;
    }
    return find(
        reader->table, &reader->processes, record, record->process_id, start_key_of(record));
}

static const struct event_process *find_other(
    void *self, const struct event_record *record, uint32_t pid)
{
    struct process_reader *reader = self;
    if (!knows_any(reader->table)) {
        return NULL;
    }
    return find(reader->table, &reader->others, record, pid, 0);
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
    struct thread_slot *slot = thread_slot_of(reader, key.id);
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
