#ifndef ETWSHIP_PROCESS_PROCESS_TABLE_OWN_H
#define ETWSHIP_PROCESS_PROCESS_TABLE_OWN_H

#include "platform/plat_thread.h"
#include "process/process_table.h"

/*
 * What the table and its readers share. `mutex` guards everything but the stamps. Ids are spread over
 * stamps, which count what has changed among them: an answer holds as long as the stamps it was given
 * under, so that a reader that kept it need not ask again.
 */
enum { PROCESS_STAMPS = 256, PROCESS_MAX_AHEAD = 256 };

struct process_table {
    struct process_table_settings settings;
    struct plat_mutex mutex;
    struct lifetimes processes; /* value: struct process_entry */
    struct lifetimes threads;   /* value: the process's id */
    struct volume_map volumes;
    struct file_names file_keys;
    struct file_names file_objects;
    uint64_t ahead[PROCESS_MAX_AHEAD]; /* machines whose names of files were told ahead: a ring */
    size_t ahead_count;
    bool told_forgotten; /* process_table_tells_forgotten was true */
    uint64_t boot_id;
    size_t max_bytes;
    size_t max_threads;
    size_t bytes; /* of processes */
    uint64_t forgotten;
    atomic_bool knows_processes;
    atomic_bool knows_threads;
    atomic_uint process_stamps[PROCESS_STAMPS];
    atomic_uint thread_stamps[PROCESS_STAMPS];
};

static inline unsigned process_stamp_of(uint32_t id)
{
    return id * 0x9e3779b1u >> 24;
}

/* Who a process was, for how long that is the answer, and under which stamps. */
struct process_answer {
    struct process_sheet *sheet; /* the caller's to drop; NULL: unknown */
    uint64_t from;
    uint64_t to;
    unsigned stamp;
    uint32_t parent_pid;
    unsigned parent_stamp;
    uint64_t names; /* account_names_news when it was given */
};

static inline uint64_t process_table_names(const struct process_table *table)
{
    return table->settings.names ? account_names_news(table->settings.names) : 0;
}

static inline uint64_t process_table_machine(const struct process_table *table, uint64_t machine)
{
    return table->settings.one_machine ? 0 : machine;
}

/* ${start_key}: 0, or that of the event. */
void process_table_find(struct process_table *table, const struct life_key *key, uint64_t time,
    uint64_t start_key, struct process_answer *ret_answer);

struct thread_answer {
    bool found;
    uint32_t pid;
    uint64_t from;
    uint64_t to;
    unsigned stamp;
};

/* Of a file key, or of a file object. */
void process_table_find_file(struct process_table *table, struct file_names *names,
    const struct file_key *key, uint64_t time, struct file_answer *ret_answer);

void process_table_find_thread(struct process_table *table, const struct life_key *key,
    uint64_t time, struct thread_answer *ret_answer);

#endif
