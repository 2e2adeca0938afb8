#ifndef ETWSHIP_INPUT_INPUT_FILE_PARTS_H
#define ETWSHIP_INPUT_INPUT_FILE_PARTS_H

#include <stdatomic.h>

#include "base/map.h"
#include "input/etl_copy.h"
#include "input/etl_follow.h"
#include "input/input_file.h"
#include "input/input_schedule.h"
#include "input/trace_box.h"
#include "platform/plat_path.h"
#include "platform/plat_thread.h"

/* The input `file` among its own rooms: input_file.c (settings, start and end), input_paths.c (which
 * files there are), input_boxes.c (those that are packed), input_group.c (whole files), input_follow.c (growing ones), input_replay.c (the
 * same again after a restart). All but what `mutex` guards belongs to the thread of run(). */

enum path_state {
    PATH_NEW,      /* nothing was taken from it yet */
    PATH_TAKEN,    /* everything was, now or in an earlier run */
    PATH_FOLLOWED, /* it is being followed */
    PATH_BAD,      /* no trace, or not readable: told, left alone until it changes */
};

struct input_path {
    struct input *in;
    const char *path;
    enum path_state state;
    struct plat_stamp stamp; /* when it was found bad or taken */
    struct etl_follow *follow;
    struct trace_box *box; /* that holds it; NULL: it is a file */
    size_t box_index;
    bool started;      /* of a circular trace: its start is in the schedule */
    unsigned moved;    /* rounds that its name has not been its own any more */
    const uint8_t *id; /* by which the trace there is known to the agent; NULL: none yet */
    uint8_t trace[16]; /* the trace's own, as etl_file.h tells it */
    bool apart;        /* another trace has that one, too, and this is no copy of it */
};

struct input {
    struct input_file_settings settings;
    struct trace_naming naming;
    atomic_bool stop;

    struct plat_mutex mutex;
    struct plat_cond stopped;       /* `stop` was set */
    struct input_schedule schedule; /* guarded by `mutex` */

    struct input_schedule restored; /* what the earlier run did */
    bool restore_failed;
    bool replaying; /* the schedule knows already what is being done */

    bool skipping;       /* until the record at `position` has passed */
    bool position_known; /* a file has its identity */
    struct record_position position;

    struct arena arena;
    struct etl_handles handles;
    struct map by_path; /* of struct input_path */
    struct map by_id;
    struct input_path **paths;
    size_t path_count;
    size_t path_capacity;
    size_t followed;

    struct trace_scratch scratch; /* of the boxes in `boxes` */
    struct trace_box **boxes;
    size_t box_count;
    size_t box_capacity;
    struct map by_box; /* by the path of the packed file */

    const struct input_sink *sink;
    uint64_t done_bytes;
    uint64_t total_bytes;
    bool gave;               /* something came from a followed file */
    bool unsettled;          /* and kernel events among it may wait for their stacks */
    uint8_t last_read[16];   /* the file */
    uint64_t quiet_since_ns; /* nothing came since; 0: the last round brought something */

    struct error failure; /* the first one */
    size_t failures;
};

/* ---- input_file.c --------------------------------------------------------------------------------- */

bool input_file_is_stopped(struct input *in);

/* ${why} makes run() fail at its end. */
void input_file_remember(struct input *in, const struct error *why);

/* Tell of ${what} that concerns ${path} as a whole: for inputs that have no end. */
void input_file_tell(struct input *in, const char *path, const char *what);

/* Note what is going to be done, before the records that it brings. */
void input_file_note(
    struct input *in, enum schedule_kind kind, const uint8_t file_id[16], uint64_t value);

/* ---- input_paths.c -------------------------------------------------------------------------------- */

/* The trace ${index} of ${box} is one of the session's, too. False: out of memory, or too many. */
bool input_paths_add_boxed(struct input *in, struct trace_box *box, size_t index);

/* Find what matches now and is not known yet; in the order of the settings. ${quiet}: that nothing
 * matches is no failure. */
void input_paths_find(struct input *in, bool quiet);

/* Read the identities of all paths that are new. */
void input_paths_identify(struct input *in);

/* The path with this identity, or NULL. */
struct input_path *input_paths_by_id(struct input *in, const uint8_t file_id[16]);

/* Read the identity of what is there now; false if it is no trace. ${path}: its name is all that counts. */
bool input_paths_read_id(struct input *in, const char *path, uint8_t ret_id[16]);

/* As input_paths_read_id, for a path that may lead into an archive. */
bool input_paths_read_id_of(struct input *in, const struct input_path *path, uint8_t ret_id[16]);

/* The name of a file has changed: each path gets the other's. */
void input_paths_swap_names(struct input *in, struct input_path *a, struct input_path *b);

/* The identity in the positions of its records, once it has one: the trace's own, also of a copy, so
 * that a copy brings no record that is called otherwise; but its path's, if it is `apart`. */
static inline const uint8_t *input_paths_records(const struct input_path *path)
{
    return path->apart ? path->id : path->trace;
}

/*
 * Settle by which identity the trace that was found at ${path} is known: its own, or if that is
 * another path's, one made of it and the path's name, so that two files never count as one. True
 * if there is nothing to read: it was done in an earlier run, or taken before in this one, be it
 * under another name.
 */
bool input_paths_is_taken(struct input *in, struct input_path *path, const uint8_t trace[16]);

/* Open it, known by the path's identity if it has one; NULL, with the failure remembered, if that is
 * not possible. */
struct etl_file *input_paths_open(struct input *in, const struct input_path *path);

/* Other bytes have come to the path: it is as new. */
void input_paths_renew(struct input_path *path);

/* ---- input_boxes.c -------------------------------------------------------------------------------- */

/* Is ${path} a packed file? Then its traces are added, or the failure is remembered. */
bool input_boxes_take(struct input *in, const char *path);

/* A box that was opened before tells this input what it has to tell. */
void input_boxes_adopt(struct input *in, struct trace_box *box);

/* Open a trace in a box, which is unpacked first. NULL: the error says why; ERR_STOPPED: stopped. */
struct etl_file *input_boxes_open(
    struct input *in, const struct input_path *path, struct error *err);

/* The identity that its first bytes tell; false: none. */
bool input_boxes_read_id(const struct input_path *path, uint8_t ret_id[16]);

/* Where the bytes of ${path} are. False: it is in a box that cannot be unpacked. */
bool input_boxes_place(const struct input_path *path, struct etl_place *ret_place);

/* No trace in a box is open: give the room back that boxes take, unless ${next}, which is opened next, is in one that
 * is unpacked. NULL: in any case. */
void input_boxes_release(struct input *in, const struct input_path *next);

void input_boxes_fini(struct input *in);

/* ---- input_group.c -------------------------------------------------------------------------------- */

/* Hand on a record that describes others. */
void input_group_teach(struct input *in, const struct event_record *record);

/* Hand on a record, unless it is left out. False: stop. */
bool input_group_give(struct input *in, const struct event_record *record);

/* A record has come, in whatever order: note its number, if it is a message that has one. */
void input_group_note(const struct etl_file *file, const struct event_record *record);

/* Buffers of a growing file have been emptied: tell which messages are missing (message_numbers_cut). */
void input_group_tell_missing(struct input *in, const struct etl_file *file);

/* So many buffers of it were told to be lost. */
void input_group_explain(const struct etl_file *file, uint64_t buffers);

/* Tell what the sessions of the file have lost. Of a growing file ETW's counters are known by now. */
void input_group_tell_losses(struct input *in, const struct etl_file *file);

/* Tell that no record of the file comes any more. */
void input_group_end(struct input *in, const struct etl_file *file);

/* Index and deliver whole files in one order. */
enum input_end input_group_run(
    struct input *in, struct etl_file *const *files, size_t count, struct error *err);

/* Take the paths (state NEW) one by one, or with ${merge} in one order. */
enum input_end input_group_take(
    struct input *in, struct input_path *const *paths, size_t count, bool merge);

/* ---- input_follow.c ------------------------------------------------------------------------------- */

/* Follow until stopped. */
enum input_end input_follow_run(struct input *in);

/* One step of a schedule on a followed file. False: stopped. */
bool input_follow_replay(
    struct input *in, struct input_path *path, const struct schedule_entry *entry);

/* ---- input_replay.c ------------------------------------------------------------------------------- */

/* Do again what an earlier run did. DONE also if there was none, or it cannot be done again. */
enum input_end input_replay_run(struct input *in);

#endif
