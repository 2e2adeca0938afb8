#ifndef ETWSHIP_EVENT_EVENT_PROCESS_H
#define ETWSHIP_EVENT_EVENT_PROCESS_H

#include "event/write/event_path.h"

/*
 * The process that an event comes from: what was known of it when the event was decoded. Made by
 * process/process_table.h and never changed afterwards, so that any thread may read it. What is not
 * known is 0 or empty, and no member of the event. Texts are UTF-8.
 */
struct event_process {
    /* From 1, of this process and these facts, and of no others whatever table they are in: texts may be
     * kept by it. */
    uint64_t serial;
    uint32_t pid;
    struct span name; /* of the image: notepad.exe */
    struct span
        executable; /* its path: with a drive where the volume is known, else the device's */
    struct span command_line; /* as CreateProcess had it */
    uint64_t start;           /* FILETIME */
    uint64_t start_key;       /* PsGetProcessStartKey: boot id << 48 | sequence number */

    bool
        has_parent; /* it is known who that is, or was: the process that has that pid may be another */
    uint32_t parent_pid;
    struct span parent_name; /* empty too where only the pid is known */
    struct span parent_executable;

    struct span user_id; /* SID: S-1-5-18 */
    struct span user_name;
    struct span user_domain;

    bool has_session;
    uint32_t session_id;   /* of Terminal Services */
    const char *integrity; /* untrusted low medium high system protected, or NULL. Static */
};

/* Who knows other processes than that of the event, on the thread that writes it. */
struct event_processes {
    /* Process ${pid} at the time of ${record}, on the machine of its trace. NULL: unknown. Valid until
     * the next call. */
    const struct event_process *(*find)(
        void *self, const struct event_record *record, uint32_t pid);
    void *self;
};

/* ---- for formats ------------------------------------------------------------------------------- */

struct event_writer;

/* Append the members behind pid and thread, each as `,"name":value`. */
typedef void event_process_fn(
    struct event_writer *writer, const struct event_process *process, struct buf *out);

/* What ${render} writes for the process of an event (NULL: nothing), rendered once for a writer: it is
 * kept for further events of the process. A writer's calls name one ${render}, or one per ${part}. Valid
 * until the next call for this part. */
enum event_process_part { EVENT_PROCESS_MEMBERS, EVENT_PROCESS_USER, EVENT_PROCESS_PARTS };
struct span event_process_text(struct event_writer *writer, const struct event_process *process,
    enum event_process_part part, event_process_fn *render);

/* The members of the native event's and of the ecs event's `process`, and the latter's `user`, whose
 * text is `,"user":{…}`. */
event_process_fn event_process_native;
event_process_fn event_process_ecs;
event_process_fn event_process_ecs_user;

/* The start key that the record has itself, else the process's; 0: neither. */
uint64_t event_process_start_key(
    const struct event_record *record, const struct event_process *process);

/* ---- for paths --------------------------------------------------------------------------------- */

/* The value of a path from process.start_key to process.start. */
struct event_value event_process_value(const struct event_path *path, const struct event *event);

/* The same of any process; of NULL nothing. */
struct event_value event_process_fact(
    const struct event_path *path, const struct event_process *process);

#endif
