#ifndef ETWSHIP_INPUT_INPUT_FILE_H
#define ETWSHIP_INPUT_INPUT_FILE_H

#include "config/config.h"
#include "input/input.h"

/*
 * Input `file`: recorded traces. Files are read one after the other, or merged by time
 * (etl_merge.h). Replayable: the same files give the same records in the same order. A packed file
 * (packed.h) stands for the traces in it, each a separate file; with `follow` it is refused because
 * packed files do not grow.
 */
struct trace_box;
enum input_file_merge { INPUT_FILE_EACH, INPUT_FILE_ALL };
enum input_file_naming { INPUT_FILE_NAME, INPUT_FILE_PATH };
enum input_file_pointer_size {
    INPUT_FILE_POINTER_AUTO,
    INPUT_FILE_POINTER_4,
    INPUT_FILE_POINTER_8
};
enum input_file_stack_walk {
    INPUT_FILE_STACK_JOIN,
    INPUT_FILE_STACK_EVENTS,
    INPUT_FILE_STACK_DROP
};

struct input_file_settings {
    struct config_strings paths; /* files, or patterns (plat_glob) */
    int merge;                   /* enum input_file_merge */
    bool follow;                 /* see below */
    bool carve;                  /* also the leftovers of event logs (evtx_carve.h) */
    uint64_t poll_ns;
    uint64_t start;   /* FILETIME; records before it are left out; 0: no limit */
    uint64_t end;     /* FILETIME; records from it on are left out; 0: no limit */
    const char *host; /* name of the recording machine; overrides the trace */
    int etw_file;     /* enum input_file_naming */

    /* Not in the configuration: a box that is already open, borrowed. The path of the box stands
     * for the traces in it, or with ${given_one} for the one at ${given_index}. NULL: none. */
    struct trace_box *given;
    bool given_one;
    size_t given_index;

    /* Used by decoding and delivery only. */
    int pointer_size; /* enum input_file_pointer_size */
    int stack_walk;   /* enum input_file_stack_walk */
    bool metadata;
    int64_t codepage; /* Windows code page of ANSI strings */
};

/*
 * The input. Its settings and what they point to must outlive the object. A path that several
 * patterns match is read once. An unreadable file does not stop the others: the first such failure
 * is the error of run(), which returns INPUT_FAILED at the end.
 *
 * What records refer to (trace) lives until destroy(). With `merge: each`, metadata() is called for
 * each file before that file's first record().
 */
extern const struct input_ops input_file;

#endif
