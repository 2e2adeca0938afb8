#ifndef ETWSHIP_INPUT_INPUT_FILE_H
#define ETWSHIP_INPUT_INPUT_FILE_H

#include "config/config.h"
#include "input/input.h"

/*
 * Input `file`: recorded traces. Files are read one after the other, or merged into one order of
 * time (etl_merge.h). Replayable: the same files give the same records in the same order. A packed
 * file (packed.h) stands for the traces in it, each a file of its own; with `follow` it is refused, as
 * what is packed does not grow.
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
    uint64_t poll_ns;
    uint64_t start;   /* FILETIME; only records from here on; 0: no limit */
    uint64_t end;     /* FILETIME; only records before it; 0: no limit */
    const char *host; /* the recording machine, instead of what a trace says */
    int etw_file;     /* enum input_file_naming */

    /* Not in the configuration: a box that was opened before, borrowed. A path that is the box's stands for the
     * traces in it, or with ${given_one} for that with the number ${given_index}. NULL: there is none. */
    struct trace_box *given;
    bool given_one;
    size_t given_index;

    /* For whoever decodes and delivers; not used here. */
    int pointer_size; /* enum input_file_pointer_size */
    int stack_walk;   /* enum input_file_stack_walk */
    bool metadata;
    int64_t codepage; /* Windows code page of ANSI strings */
};

/*
 * The input. Its settings, and what they point to, outlive the object. Names a path only once even
 * if several patterns match it. A file that cannot be read does not keep the others from being
 * read: the first such failure is the error of run(), which then returns INPUT_FAILED at the end.
 *
 * What records refer to (trace) lives until destroy(). With `merge: each`, metadata() is called for
 * each file before that file's first record().
 */
extern const struct input_ops input_file;

/*
 * Before run(): deliver only what follows the record at ${position} in the order of delivery. The
 * order is replayed from the start over headers alone. run() fails without a record if no file has
 * this identity, or if the file has no record there. Of files with the same identity the first
 * counts. What a file has lost is told again if the file ends behind ${position}.
 */
void input_file_resume_after(void *self, const struct record_position *position);

#endif
