#ifndef ETWSHIP_PROCESS_PROCESS_TABLE_H
#define ETWSHIP_PROCESS_PROCESS_TABLE_H

#include "base/error.h"
#include "process/account_names.h"
#include "process/file_names.h"
#include "process/process_facts.h"

/*
 * Which process had an id at a time. Facts come from records of a stream (process_events.h), from a
 * snapshot of the system, or both, in any order. Look-ups use the time of an event
 * (process_reader.h), however far a reader lags. The names of files by their addresses are kept in
 * the same way (file_events.h). Thread-safe.
 *
 * A few thousand processes fit. Those that ended first are evicted first, then the oldest.
 */
struct process_table;

/* Memory limit of a table, without the few kilobytes that each reader holds. */
enum { PROCESS_TABLE_BYTES = 4 * 1024 * 1024, PROCESS_TABLE_FILE_BYTES = 8 * 1024 * 1024 };

struct process_table_settings {
    size_t max_bytes;            /* 0: PROCESS_TABLE_BYTES */
    size_t max_file_bytes;       /* for names of files, in addition; 0: PROCESS_TABLE_FILE_BYTES */
    bool one_machine;            /* everything is of one machine and boot */
    bool by_file;                /* facts in a file apply to its own records only */
    struct account_names *names; /* names of users; borrowed; NULL: only well-known accounts */
};

/* NULL: out of memory. */
struct process_table *process_table_create(
    const struct process_table_settings *settings, struct error *err);
/* The caller ensures that no reader is left; NULL is fine. */
void process_table_destroy(struct process_table *table);

/* Machine and boot in which ids of the record are unique; statements refer to it. */
uint64_t process_table_machine_of(
    const struct process_table *table, const struct event_record *record);

/* Add a statement about a process. Statements without a time are ignored. */
void process_table_add(struct process_table *table, const struct process_news *news);

/* A statement about a thread. */
struct thread_news {
    enum life_news what;
    enum process_source source;
    uint64_t machine;
    uint32_t tid;
    uint32_t pid;
    uint64_t time;
};

void process_table_add_thread(struct process_table *table, const struct thread_news *news);

/* A statement about a file key or file object. */
struct file_news {
    enum file_told what;
    bool is_object;
    bool ahead; /* the record is delivered again in its place */
    bool grows; /* its trace grows, so not everything could be passed on ahead */
    uint64_t machine;
    uint64_t address; /* 0: ignored */
    uint64_t time;    /* FILETIME */
    struct span path; /* device path, UTF-8 */
};

void process_table_add_file(struct process_table *table, const struct file_news *news);

/* ${path}, a device path in UTF-8, as a program on the machine would open it. The caller owns one
 * use. NULL: no memory. */
struct file_path *process_table_show_path(
    struct process_table *table, uint64_t machine, struct span path);

/* See volume_map_add. */
void process_table_add_volume(
    struct process_table *table, uint64_t machine, struct span device, struct span drive);

/* Set the upper 16 bits of start keys, if the system reports them (KUSER_SHARED_DATA.BootId). */
void process_table_set_boot_id(struct process_table *table, uint16_t boot_id);

struct process_table_counts {
    size_t processes;
    size_t threads;
    size_t bytes;
    uint64_t evicted; /* processes evicted to make room */
    size_t files;     /* number of file addresses */
    size_t file_bytes;
    /* file keys evicted to make room; events that use them have no file name */
    uint64_t files_evicted;
};

struct process_table_counts process_table_counts(struct process_table *table);

/* Was there no room for all processes and threads? */
bool process_table_has_evicted(struct process_table *table);

/* True once, after names of files were first evicted: for one warning. */
bool process_table_tells_evicted(struct process_table *table);

#endif
