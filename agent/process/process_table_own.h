#ifndef ETWSHIP_PROCESS_PROCESS_TABLE_OWN_H
#define ETWSHIP_PROCESS_PROCESS_TABLE_OWN_H

#include "platform/plat_thread.h"
#include "process/process_table.h"

/*
 * Shared by the table and its readers. `mutex` guards everything except the stamps. Ids are
 * distributed over stamps, which count changes: a cached answer is valid while its stamps are
 * unchanged.
 */
enum { PROCESS_STAMPS = 4096, PROCESS_MAX_AHEAD = 256, PROCESS_LINE_BYTES = 64 };

struct process_table {
    /* What readers look at for every event. */
    struct process_table_settings settings;
    atomic_bool knows_processes;
    atomic_bool knows_threads;
    atomic_uint process_stamps[PROCESS_STAMPS];
    atomic_uint thread_stamps[PROCESS_STAMPS];

    /* What follows is written with each statement. In a line of the processor's cache with the
     * above, it would have readers wait. */
    uint8_t apart[PROCESS_LINE_BYTES];
    struct plat_mutex mutex;
    struct lifetimes processes; /* value: struct process_entry */
    struct lifetimes threads;   /* value: process id */
    struct volume_map volumes;
    struct file_names file_keys;
    struct file_names file_objects;
    uint64_t ahead[PROCESS_MAX_AHEAD]; /* ring of machines with file names passed on ahead */
    size_t ahead_count;
    bool told_evicted; /* process_table_tells_evicted returned true */
    uint64_t boot_id;
    size_t max_bytes;
    size_t max_threads;
    size_t bytes; /* used by processes */
    uint64_t evicted;
    uint64_t threads_evicted;
    struct buf sheet_texts; /* for process_sheet_make */
};

static inline unsigned process_stamp_of(uint32_t id)
{
    return id * 0x9e3779b1u >> 20;
}

/* A process, the interval in which it is the answer, and its stamps. */
struct process_answer {
    struct process_sheet *sheet; /* owned by the caller; NULL: unknown */
    uint64_t from;
    uint64_t to;
    uint64_t names; /* account_names_news at the time of the answer */
    uint32_t pid;
    uint32_t parent_pid;
    unsigned stamp;
    unsigned parent_stamp;
};

static inline uint64_t process_table_names(const struct process_table *table)
{
    return table->settings.names ? account_names_news(table->settings.names) : 0;
}

static inline uint64_t process_table_machine(const struct process_table *table, uint64_t machine)
{
    return table->settings.one_machine ? 0 : machine;
}

/* ${start_key}: that of the event, or 0. */
void process_table_find(struct process_table *table, const struct life_key *key, uint64_t time,
    uint64_t start_key, struct process_answer *ret_answer);

struct thread_answer {
    bool found;
    uint32_t pid;
    uint64_t from;
    uint64_t to;
    unsigned stamp;
};

/* Look up a file key or file object. */
void process_table_find_file(struct process_table *table, struct file_names *names,
    const struct file_key *key, uint64_t time, struct file_answer *ret_answer);

void process_table_find_thread(struct process_table *table, const struct life_key *key,
    uint64_t time, struct thread_answer *ret_answer);

#endif
