#ifndef ETWSHIP_PROCESS_PROCESS_FACTS_H
#define ETWSHIP_PROCESS_PROCESS_FACTS_H

#include <stdatomic.h>

#include "event/event_process.h"
#include "process/account_names.h"
#include "process/lifetimes.h"
#include "process/volume_map.h"

/* Who tells of a process. */
enum process_source {
    PROCESS_FROM_KERNEL = 1, /* the kernel's classic events */
    PROCESS_FROM_PROVIDER,   /* Microsoft-Windows-Kernel-Process */
    PROCESS_FROM_SNAPSHOT,   /* the system, asked */
    PROCESS_FROM_CREATION, /* a time of creation that something else tells: by the system's clock */
    PROCESS_FROM_DEFUNCT, /* what the kernel says when it deletes the process: later than its end */
};

/* Lower bits of a start key: the number of the process since the machine was booted. */
#define PROCESS_SEQUENCE_MASK ((UINT64_C(1) << 48) - 1)

enum { PROCESS_LISTS = 2 };

/* What is heard of a process; 0 and empty: not told. Texts are UTF-8, all is borrowed. */
struct process_news {
    enum life_news what;
    enum process_source source;
    uint64_t machine; /* of which boot of which machine: trace_info.boot_time */
    uint32_t pid;
    uint64_t time;    /* FILETIME of what it did, by the clock of the events that ask; 0: nothing */
    uint64_t created; /* FILETIME by the system's clock */
    uint64_t start_key;  /* PsGetProcessStartKey, or its lower 48 bits */
    uint64_t object;     /* UniqueProcessKey: its address, which no other has at the same time */
    uint64_t parent_key; /* as start_key */
    bool has_parent;
    uint32_t parent_pid;
    /* FILETIME at which a list of all processes came to it, at the begin or the end of a session: the
     * system has them in the order in which they were created. */
    uint64_t listed[PROCESS_LISTS];
    bool has_session;
    uint32_t session_id;
    bool has_integrity;
    uint32_t integrity; /* the last number of its mandatory label, S-1-16-x */
    struct span name;   /* of its image; the kernel cuts it after 14 bytes in some events */
    struct span path;   /* of its image: surely */
    struct span image;  /* a program that it loaded: its own, if the name is right */
    struct span command_line;
    struct span user; /* SID, bytes */
};

/* ${told} by the system's clock where that is within a second of ${recorded}, when it was by the clock of
 * events; else ${recorded}. The system's may have been set since the session began, whose own goes on. */
uint64_t process_moment(uint64_t told, uint64_t recorded);

/* Do lists of all processes say that the one that has the parent's id was created after the child? */
bool process_facts_are_later(const struct process_news *parent, const struct process_news *child);

/* All that was heard of a process, in memory of its own; shared by copies of a life. Never changed.
 * One thread at a time. */
struct process_facts {
    unsigned users;
    size_t bytes;
    struct process_news known;
    uint8_t text[];
};

/* Can both be of one process? */
bool process_facts_fit(const struct process_facts *facts, const struct process_news *news);

/* What is known with ${news} beside ${facts} (NULL: nothing). ${facts} itself where that is nothing
 * new; else one that replaces it and takes its place as a user. NULL: no memory, and ${facts} stays. */
struct process_facts *process_facts_with(
    struct process_facts *facts, const struct process_news *news);

void process_facts_drop(struct process_facts *facts); /* by one user; NULL is fine */

/* Of ${facts} as events show them. Threads may share it. */
struct process_sheet {
    struct event_process process;
    atomic_uint users;
    size_t bytes;
    uint8_t text[];
};

/* What a sheet is made of. */
struct process_sheet_parts {
    const struct process_facts *facts;
    const struct process_facts *parent; /* NULL: not known */
    uint64_t machine;                   /* whose paths these are */
    const struct volume_map *volumes;
    struct account_names *names; /* NULL: account_names_find */
    uint64_t start;              /* 0: unknown */
    uint64_t boot_id;            /* upper bits of start keys; 0: unknown */
};

/* NULL: no memory. Its serial is 0. */
struct process_sheet *process_sheet_make(const struct process_sheet_parts *parts);

/* Do they say the same? */
bool process_sheet_equal(const struct process_sheet *a, const struct process_sheet *b);

static inline void process_sheet_use(struct process_sheet *sheet)
{
    if (sheet) {
        atomic_fetch_add_explicit(&sheet->users, 1, memory_order_relaxed);
    }
}

void process_sheet_drop(struct process_sheet *sheet); /* any thread; NULL is fine */

#endif
