#ifndef ETWSHIP_PROCESS_PROCESS_TABLE_H
#define ETWSHIP_PROCESS_PROCESS_TABLE_H

#include "base/error.h"
#include "process/account_names.h"
#include "process/process_facts.h"

/*
 * Who had which process id, and when: told by the records of a stream (process_events.h), by a snapshot
 * of the system, or both, in any order; asked for by the time of an event (process_reader.h), however
 * far behind its reader is. All functions from any thread.
 *
 * A few thousand processes fit. Those that ended first are forgotten first, then the oldest.
 */
struct process_table;

/* What a table takes at the most, but for what readers hold on to: a few kilobytes each. */
enum { PROCESS_TABLE_BYTES = 4 * 1024 * 1024 };

struct process_table_settings {
    size_t max_bytes;            /* 0: PROCESS_TABLE_BYTES */
    bool one_machine;            /* all is of one: records need not say which boot of which */
    bool by_file;                /* what a file tells is of its own records alone */
    struct account_names *names; /* of users; borrowed; NULL: only those that every Windows has */
};

/* NULL: out of memory. */
struct process_table *process_table_create(
    const struct process_table_settings *settings, struct error *err);
void process_table_destroy(struct process_table *table); /* no reader is left; NULL is fine */

/* What ids of the record are unique in: news of it say so. */
uint64_t process_table_machine_of(
    const struct process_table *table, const struct event_record *record);

/* Something was heard of a process. News without a time are nothing. */
void process_table_add(struct process_table *table, const struct process_news *news);

/* The same of a thread. */
struct thread_news {
    enum life_news what;
    enum process_source source;
    uint64_t machine;
    uint32_t tid;
    uint32_t pid;
    uint64_t time;
};

void process_table_add_thread(struct process_table *table, const struct thread_news *news);

/* See volume_map_add. */
void process_table_add_volume(
    struct process_table *table, uint64_t machine, struct span device, struct span drive);

/* The upper 16 bits of start keys, where the system tells them (KUSER_SHARED_DATA.BootId). */
void process_table_set_boot_id(struct process_table *table, uint16_t boot_id);

struct process_table_counts {
    size_t processes;
    size_t threads;
    size_t bytes;
    uint64_t forgotten; /* processes, for want of room */
};

struct process_table_counts process_table_counts(struct process_table *table);

#endif
