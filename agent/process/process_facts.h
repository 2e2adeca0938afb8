#ifndef ETWSHIP_PROCESS_PROCESS_FACTS_H
#define ETWSHIP_PROCESS_PROCESS_FACTS_H

#include <stdatomic.h>

#include "event/write/event_process.h"
#include "process/account_names.h"
#include "process/lifetimes.h"
#include "process/volume_map.h"

/* Source of a statement about a process. */
enum process_source {
    PROCESS_FROM_KERNEL = 1, /* the kernel's classic events */
    PROCESS_FROM_PROVIDER,   /* Microsoft-Windows-Kernel-Process */
    PROCESS_FROM_SNAPSHOT,   /* a query of the system */
    PROCESS_FROM_CREATION,   /* a creation time in another event, by the system clock */
    PROCESS_FROM_DEFUNCT,    /* the kernel deletes the process object: later than its end */
};

/* Lower bits of a start key: number of the process since the machine booted. */
#define PROCESS_SEQUENCE_MASK ((UINT64_C(1) << 48) - 1)

enum { PROCESS_LISTS = 2 };

/* A statement about a process; 0 and empty: unknown. Texts are UTF-8; everything is borrowed. */
struct process_news {
    /* What process_facts_fit reads of every life is in one or two lines of a processor's cache. */
    uint64_t start_key; /* PsGetProcessStartKey, or its lower 48 bits */
    uint64_t object;    /* UniqueProcessKey: address of its object, unique at a time */
    uint64_t created;   /* FILETIME by the system's clock */
    struct span name;   /* image name; some events of the kernel truncate it to 14 bytes */
    struct span path;   /* certain path of its image */
    uint32_t parent_pid;
    bool has_parent;

    enum life_news what;
    enum process_source source;
    uint32_t pid;
    uint64_t machine; /* boot of a machine: trace_info.boot_time */
    /* FILETIME of the event, by the clock of the events that look it up; 0: nothing */
    uint64_t time;
    uint64_t parent_key; /* like start_key */
    /* FILETIME at which a list of all processes mentioned it, at the start or end of a session. The
     * system lists processes in the order of their creation. */
    uint64_t listed[PROCESS_LISTS];
    bool has_session;
    uint32_t session_id;
    bool has_integrity;
    uint32_t integrity; /* last number of its mandatory label, S-1-16-x */
    struct span image;  /* a program it loaded; its own if the name matches */
    struct span command_line;
    struct span user; /* SID, bytes */
};

/* ${told}, by the system clock, if it is within a second of ${recorded}, by the clock of events;
 * else ${recorded}. The system clock may have been set since the session began, which does not
 * affect the session's own clock. */
uint64_t process_moment(uint64_t told, uint64_t recorded);

/* True if lists of all processes show that the process with the parent's id was created after the
 * child. */
bool process_facts_are_later(const struct process_news *parent, const struct process_news *child);

/* All facts about a process, in one allocation; shared by copies of a life. Immutable. Not
 * thread-safe. */
struct process_facts {
    struct process_news known;
    unsigned users;
    size_t bytes;
    uint8_t text[];
};

/* True if both may belong to one process. */
bool process_facts_fit(const struct process_facts *facts, const struct process_news *news);

/* Combine ${facts} (may be NULL) with ${news}. Returns ${facts} if nothing is new; else a
 * replacement that takes over this use. NULL: no memory; ${facts} is unchanged. */
struct process_facts *process_facts_with(
    struct process_facts *facts, const struct process_news *news);

void process_facts_drop(struct process_facts *facts); /* Release one use; NULL is fine. */

/* Facts in the form that events show. Threads may share it. */
struct process_sheet {
    atomic_uint users; /* beside the serial, which is read with it */
    size_t bytes;
    struct event_process process;
    uint8_t text[];
};

/* Input for a sheet. */
struct process_sheet_parts {
    const struct process_facts *facts;
    const struct process_facts *parent; /* NULL: unknown */
    uint64_t machine;                   /* machine of the paths */
    const struct volume_map *volumes;
    struct account_names *names; /* may be NULL, like in account_names_find */
    uint64_t start;              /* 0: unknown */
    uint64_t boot_id;            /* upper bits of start keys; 0: unknown */
    struct buf *texts;           /* memory to gather texts in, kept for the next sheet */
};

/* The place (struct event_process) of a process. Ids are multiples of four,
 * and those of a machine near each other. */
static inline uint32_t process_place(uint64_t machine, uint32_t pid)
{
    return (pid >> 2) + (uint32_t)(machine * UINT64_C(0x9e3779b97f4a7c15) >> 40);
}

/* NULL: no memory. Its serial is 0. */
struct process_sheet *process_sheet_make(const struct process_sheet_parts *parts);

/* True if both have the same content. */
bool process_sheet_equal(const struct process_sheet *a, const struct process_sheet *b);

static inline void process_sheet_use(struct process_sheet *sheet)
{
    if (sheet) {
        atomic_fetch_add_explicit(&sheet->users, 1, memory_order_relaxed);
    }
}

void process_sheet_drop(struct process_sheet *sheet); /* Thread-safe; NULL is fine. */

#endif
