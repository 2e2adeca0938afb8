#ifndef ETWSHIP_INPUT_INPUT_FILE_OWN_H
#define ETWSHIP_INPUT_INPUT_FILE_OWN_H

#include <stdatomic.h>

#include "base/map.h"
#include "input/etl/etl_copy.h"
#include "input/etl/etl_follow.h"
#include "input/file/input_file.h"
#include "input/file/input_schedule.h"
#include "input/file/trace_box.h"
#include "platform/plat_path.h"
#include "platform/plat_thread.h"

/* Shared by the parts of the input `file`: input_file.c (settings, start and end), input_paths.c
 * (finding files), input_boxes.c (packed files), input_group.c (complete files), input_follow.c
 * (growing files), input_replay.c (replay after a restart). Everything except what `mutex` guards
 * belongs to the thread of run(). */

enum path_state {
    PATH_NEW,      /* nothing was read from it yet */
    PATH_TAKEN,    /* everything was read, now or in an earlier run */
    PATH_FOLLOWED, /* it is being followed */
    PATH_BAD,      /* not a trace, or unreadable: reported, ignored until it changes */
};

struct input_path {
    struct input *in;
    const char *path;
    enum path_state state;
    struct plat_stamp stamp; /* taken when it became bad or taken */
    struct etl_follow *follow;
    struct trace_box *box; /* box that contains it; NULL: a file */
    size_t box_index;
    bool started;      /* a circular trace whose start is in the schedule */
    unsigned moved;    /* number of rounds in which its name named another file */
    const uint8_t *id; /* identity under which the agent knows its trace; NULL: none yet */
    uint8_t trace[16]; /* the trace's own identity; see etl_file.h */
    bool apart;        /* another trace has that identity, too, but is not a copy */
};

struct input {
    struct input_file_settings settings;
    struct trace_naming naming;
    atomic_bool stop;

    struct plat_mutex mutex;
    struct plat_cond stopped;       /* signals `stop` */
    struct input_schedule schedule; /* guarded by `mutex` */

    struct input_schedule restored; /* schedule of the earlier run */
    bool restore_failed;
    bool replaying; /* the current steps are in the schedule already */

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
    struct map by_box; /* by path of the packed file */

    const struct input_sink *sink;
    uint64_t done_bytes;
    uint64_t total_bytes;
    bool gave;             /* a followed file delivered something */
    bool unsettled;        /* and kernel events in it may wait for their stacks */
    uint8_t last_read[16]; /* file read last */
    /* nothing has arrived since then; 0: the last round brought something */
    uint64_t quiet_since_ns;

    struct error failure; /* the first failure */
    size_t failures;
};

/* ---- input_file.c ---------------------------------------------------------------------------- */

bool input_file_is_stopped(struct input *in);

/* Make run() fail at its end with ${why}. */
void input_file_remember(struct input *in, const struct error *why);

/* Report ${what} about ${path} as a whole, for inputs that never end. */
void input_file_tell(struct input *in, const char *path, const char *what);

/* Add a step to the schedule before its records are delivered. */
void input_file_note(
    struct input *in, enum schedule_kind kind, const uint8_t file_id[16], uint64_t value);

/* ---- input_paths.c --------------------------------------------------------------------------- */

/* Add trace ${index} of ${box} to the session. False: out of memory, or too many. */
bool input_paths_add_boxed(struct input *in, struct trace_box *box, size_t index);

/* Add files that match now and are not known yet, in the order of the settings. ${quiet}: it is no
 * failure if nothing matches. */
void input_paths_find(struct input *in, bool quiet);

/* Read the identities of all new paths. */
void input_paths_identify(struct input *in);

/* The path with this identity, or NULL. */
struct input_path *input_paths_by_id(struct input *in, const uint8_t file_id[16]);

/* Read the identity of the file at ${path} now; false if it is not a trace. */
bool input_paths_read_id(struct input *in, const char *path, uint8_t ret_id[16]);

/* Like input_paths_read_id, for a path that may be in an archive. */
bool input_paths_read_id_of(struct input *in, const struct input_path *path, uint8_t ret_id[16]);

/* A file was renamed: exchange the names of two paths. */
void input_paths_swap_names(struct input *in, struct input_path *a, struct input_path *b);

/* Identity in the positions of the path's records. Copies use the trace's own identity, so that a
 * copied record keeps its position; a path that is `apart` uses its own. */
static inline const uint8_t *input_paths_records(const struct input_path *path)
{
    return path->apart ? path->id : path->trace;
}

/*
 * Set the identity of the trace found at ${path}: the trace's own or, if another path has that, one
 * derived from it and the path's name, so that two files never count as one. True if there is
 * nothing to read: it was read in an earlier run, or earlier in this run, possibly under another
 * name.
 */
bool input_paths_is_taken(struct input *in, struct input_path *path, const uint8_t trace[16]);

/* Open the trace with the path's identity if it has one. NULL on failure, which is remembered. */
struct etl_file *input_paths_open(struct input *in, const struct input_path *path);

/* The file at the path was replaced: treat it as new. */
void input_paths_renew(struct input_path *path);

/* ---- input_boxes.c --------------------------------------------------------------------------- */

/* If ${path} is a packed file, add its traces, or remember the failure, and return true. */
bool input_boxes_take(struct input *in, const char *path);

/* Make a box that is already open report to this input. */
void input_boxes_adopt(struct input *in, struct trace_box *box);

/* Unpack and open a trace of a box. NULL with ${err} set; ERR_STOPPED: stopped. */
struct etl_file *input_boxes_open(
    struct input *in, const struct input_path *path, struct error *err);

/* Identity by the first bytes of the trace; false if there is none. */
bool input_boxes_read_id(const struct input_path *path, uint8_t ret_id[16]);

/* Location of the bytes of ${path}. False: its box cannot be unpacked. */
bool input_boxes_place(const struct input_path *path, struct etl_place *ret_place);

/* Free the disk space of boxes once no trace in a box is open, unless ${next}, which is opened
 * next, is in an unpacked box. NULL: always. */
void input_boxes_release(struct input *in, const struct input_path *next);

void input_boxes_fini(struct input *in);

/* ---- input_group.c --------------------------------------------------------------------------- */

/* Pass on a record that describes others. */
void input_group_teach(struct input *in, const struct event_record *record);

/* Deliver a record unless it is filtered out. False: stop. */
bool input_group_give(struct input *in, const struct event_record *record);

/* Note the number of a message record, in whatever order records arrive. */
void input_group_note(const struct etl_file *file, const struct event_record *record);

/* Buffers of a growing file were emptied: report missing messages (message_numbers_cut). */
void input_group_tell_missing(struct input *in, const struct etl_file *file);

/* ${buffers} lost buffers of the file were reported. */
void input_group_explain(const struct etl_file *file, uint64_t buffers);

/* Report what the sessions of the file have lost. For a growing file, its ETW counters are final
 * now. */
void input_group_tell_losses(struct input *in, const struct etl_file *file);

/* Report that no further record of the file follows. */
void input_group_end(struct input *in, const struct etl_file *file);

/* Index complete files and deliver them in one order. */
enum input_end input_group_run(
    struct input *in, struct etl_file *const *files, size_t count, struct error *err);

/* Read paths in state NEW one by one, or with ${merge} in one order. */
enum input_end input_group_take(
    struct input *in, struct input_path *const *paths, size_t count, bool merge);

/* ---- input_follow.c -------------------------------------------------------------------------- */

/* Follow until stopped. */
enum input_end input_follow_run(struct input *in);

/* Replay one step of a schedule on a followed file. False: stopped. */
bool input_follow_replay(
    struct input *in, struct input_path *path, const struct schedule_entry *entry);

/* ---- input_replay.c -------------------------------------------------------------------------- */

/* Repeat the steps of an earlier run. DONE also if there was none, or it cannot be repeated. */
enum input_end input_replay_run(struct input *in);

#endif
