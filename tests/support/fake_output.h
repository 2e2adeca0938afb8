#ifndef ETWSHIP_TESTS_SUPPORT_FAKE_OUTPUT_H
#define ETWSHIP_TESTS_SUPPORT_FAKE_OUTPUT_H

#include "outputs/output.h"

/*
 * A destination that answers by a script and remembers what it got. It outlives the output objects
 * made for it (fake_output_ops.create takes its settings, which name it), as a disk outlives an
 * agent: a test can end one host and begin another.
 *
 * Any thread may call the functions here while outputs are at work. Waiting is waiting for the
 * event itself: a test that waits for what never comes is ended by ctest.
 */
struct fake_output;

/* One answer to send. Behind the end of the script everything is delivered. */
struct fake_step {
    enum output_verdict verdict;
    uint64_t delivers;    /* OUTPUT_MIXED: bit i: record i is delivered (record 64 and on: retry) */
    uint64_t rejects;     /* OUTPUT_MIXED: bit i: record i is rejected */
    bool closed;          /* OUTPUT_FATAL: its error is ERR_STOPPED, as of a closed pipe */
    bool refuses_connect; /* an answer to connect instead: it fails */
    uint32_t wait_ms;     /* these three go into the report as they are */
    bool degraded;
    uint64_t duplicates;
    uint64_t maybe_lost;
    const char *reason; /* said of each record that is rejected; NULL: nothing is said */
};

/* ${steps} is copied. Aborts where there is no memory, as tests do. */
struct fake_output *fake_output_create(const struct fake_step *steps, size_t count);
void fake_output_destroy(struct fake_output *fake); /* NULL is fine */

/* From now on it answers by ${steps}, which are copied, instead of what is left of its script. */
void fake_output_script(struct fake_output *fake, const struct fake_step *steps, size_t count);

/* From now on records that are routed to ${route} are blocked, when all goes well otherwise; NULL:
 * none are. */
void fake_output_shut(struct fake_output *fake, const char *route);

struct fake_settings {
    struct fake_output *fake;
    const char *route;  /* a template, or NULL */
    const char *target; /* a path, or NULL */
    const char *format; /* wants events in this format, or NULL */
    bool ids;           /* wants them: after each record's text stand a TAB and its id */
    bool saves;         /* has its checkpoint stored before each delivery, as for a new file */
    bool saves_last;    /* and when it disconnects, as for files that it still renames then */
};

/* `type: fake`. It connects, checkpoints, has idle time, and routes if the settings have one. */
extern const struct output_ops fake_output_ops;

/* From now on sends (and connects) wait inside, until the output is let go or its host says
 * `stopping`, when they answer OUTPUT_RETRY. */
void fake_output_hold(struct fake_output *fake);
void fake_output_let_go(struct fake_output *fake);
void fake_output_let_go_once(struct fake_output *fake); /* one call only */

struct fake_counts {
    size_t created;
    size_t destroyed;
    size_t connects; /* tries */
    size_t disconnects;
    size_t sends;   /* begun: one that is held counts */
    size_t records; /* delivered; those that a restart took back do not count */
    size_t bytes;   /* the same */
    size_t rejected;
    size_t early;    /* sends begun before an answer's wait_ms was over */
    size_t repeated; /* sends of what was, or may have been, sent before */
    size_t idles;
    size_t checkpoints;
    size_t misused; /* calls that output.h forbids: send before connect, two threads at once, … */
};

struct fake_counts fake_output_counts(struct fake_output *fake);

/* Wait until at least so many sends have begun, or records were delivered, or idle calls made. */
void fake_output_wait_sends(struct fake_output *fake, size_t count);
void fake_output_wait_records(struct fake_output *fake, size_t count);
void fake_output_wait_idles(struct fake_output *fake, size_t count);

/* The delivered records, back to back in order of arrival, with a NUL after; the caller frees.
 * With a route each record is preceded by its route name and a TAB. */
char *fake_output_text(struct fake_output *fake);

/*
 * Its checkpoint is the number of bytes it has (of what fake_output_text gives), in decimal; an
 * output made with one forgets what lies after, as the file output does.
 */

#endif
