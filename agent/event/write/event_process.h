#ifndef ETWSHIP_EVENT_EVENT_PROCESS_H
#define ETWSHIP_EVENT_EVENT_PROCESS_H

#include "event/write/event_path.h"

/*
 * The process of an event, as known when the event was decoded. Made by process/process_table.h and
 * never changed afterwards, so any thread may read it. Unknown values are 0 or empty, and left out
 * of the event. Texts are UTF-8.
 */
struct event_process {
    /* From 1; unique for this process and these facts over all tables, so texts may be cached by
     * it. */
    uint64_t serial;
    uint64_t start_key; /* PsGetProcessStartKey: boot id << 48 | sequence number */
    /* Where caches look for it first: processes that run beside each
     * other have different places. */
    uint32_t place;
    uint32_t pid;
    struct span name; /* of the image: notepad.exe */
    struct span
        executable; /* its path: with a drive if the volume is known, else with the device */
    struct span command_line; /* as CreateProcess had it */
    uint64_t start;           /* FILETIME */

    bool has_parent; /* the parent is known; if not, the process with this pid may be another one */
    uint32_t parent_pid;
    struct span parent_name; /* also empty if only the pid is known */
    struct span parent_executable;

    struct span user_id; /* SID: S-1-5-18 */
    struct span user_name;
    struct span user_domain;

    bool has_session;
    uint32_t session_id;   /* of Terminal Services */
    const char *integrity; /* untrusted low medium high system protected, or NULL. Static */
};

/* Looks up processes other than the event's, on the thread that writes it. */
struct event_processes {
    /* Process ${pid} at the time of ${record}, on the machine of its trace. NULL: unknown.
     * Valid until the next call. */
    const struct event_process *(*find)(
        void *self, const struct event_record *record, uint32_t pid);
    void *self;
};

/* ---- for formats ----------------------------------------------------------------------------- */

struct event_writer;

/* Append the members that follow pid and thread, each as `,"name":value`. */
typedef void event_process_fn(
    struct event_writer *writer, const struct event_process *process, struct buf *out);

/* The text of ${render} for the process of an event (NULL: empty), cached by the writer for further
 * events of the process. A writer always passes the same ${render} for a ${part}. Valid until the
 * next call for this part. */
enum event_process_part { EVENT_PROCESS_MEMBERS, EVENT_PROCESS_USER, EVENT_PROCESS_PARTS };
struct span event_process_text(struct event_writer *writer, const struct event_process *process,
    enum event_process_part part, event_process_fn *render);

/* Say that the text of EVENT_PROCESS_MEMBERS will be asked for soon, for the process at ${place};
 * and, some time after that was said, that it will be asked for next. */
void event_process_expect(const struct event_writer *writer, uint32_t place);
void event_process_expect_next(const struct event_writer *writer, uint32_t place);

/* Members of `process` of the native and of the ecs event, and the latter's `,"user":{…}`. */
event_process_fn event_process_native;
event_process_fn event_process_ecs;
event_process_fn event_process_ecs_user;

/* The record's own start key, else the process's; 0: unknown. */
uint64_t event_process_start_key(
    const struct event_record *record, const struct event_process *process);

/* ---- for paths ------------------------------------------------------------------------------- */

/* The value of ${path}, one from process.start_key to process.start. */
struct event_value event_process_value(const struct event_path *path, const struct event *event);

/* The value of ${path} for any process; none for NULL. */
struct event_value event_process_fact(
    const struct event_path *path, const struct event_process *process);

#endif
