#ifndef ETWSHIP_PROCESS_PROCESS_TABLE_H
#define ETWSHIP_PROCESS_PROCESS_TABLE_H

#include "base/error.h"
#include "process/account_names.h"
#include "process/file_names.h"
#include "process/process_facts.h"

/*
 * Who had which process id, and when: told by the records of a stream (process_events.h), by a snapshot
 * of the system, or both, in any order; asked for by the time of an event (process_reader.h), however
 * far behind its reader is. It keeps
 * the names of files by their addresses in the same way (file_events.h). All functions from any thread.
 *
 * A few thousand processes fit. Those that ended first are forgotten first, then the oldest.
 */
struct process_table;

/* What a table takes at the most, but for what readers hold on to: a few kilobytes each. */
enum { PROCESS_TABLE_BYTES = 4 * 1024 * 1024, PROCESS_TABLE_FILE_BYTES = 8 * 1024 * 1024 };

struct process_table_settings {
    size_t max_bytes;            /* 0: PROCESS_TABLE_BYTES */
    size_t max_file_bytes;       /* of names of files, beside that; 0: PROCESS_TABLE_FILE_BYTES */
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

/* Something was heard of a file key or a file object. */
struct file_news {
    enum file_told what;
    bool is_object;
    bool ahead; /* the record comes again in its place */
    bool grows; /* its trace does: not all of it could be told ahead */
    uint64_t machine;
    uint64_t address; /* 0: nothing */
    uint64_t time;    /* FILETIME */
    struct span path; /* of the device, UTF-8 */
};

void process_table_add_file(struct process_table *table, const struct file_news *news);

/* ${path} of a device, UTF-8, as a program on the machine would open it: with one user, the caller. NULL:
 * no memory. */
struct file_path *process_table_show_path(
    struct process_table *table, uint64_t machine, struct span path);

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
    size_t files;       /* addresses of them */
    size_t file_bytes;
    uint64_t files_forgotten; /* file keys, for want of room: events that use them have no file */
};

struct process_table_counts process_table_counts(struct process_table *table);

/* Has it begun to forget names of files, and was that not asked before? For one warning. */
bool process_table_tells_forgotten(struct process_table *table);

#endif
