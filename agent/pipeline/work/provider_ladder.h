#ifndef ETWSHIP_PIPELINE_PROVIDER_LADDER_H
#define ETWSHIP_PIPELINE_PROVIDER_LADDER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How much of one provider's events is kept when it sends more than its budget. A bucket fills with
 * the budget and pays for what is kept; the emptier it gets, the higher the step, and each step
 * leaves out more, in one order that is known beforehand:
 *
 *   sample    1 event in 2, in 4, in 8, in 16        (steps 1 to 4)
 *   verbose   no verbose events, then none of level information either, the rest 1 in 16 (5, 6)
 *   provider  critical events and errors alone       (7)
 *
 * Critical events and errors are left out only where the bucket is empty, and so the budget holds
 * for all that is asked for: kept is at most what the time so far and one burst allow, and one
 * event. What is charged is kept in any case and the others pay for it, with a debt of one burst at
 * most.
 *
 * The way back is one step at a time, and only when what the lower step would have kept for three
 * seconds is well within the budget; so a steady rate rests on one step.
 *
 * Pure: the caller brings the time, which does not go backwards. Nothing is allocated.
 */
enum provider_step {
    PROVIDER_STEP_ALL,
    PROVIDER_STEP_SAMPLE, /* 1 in 2; the next ones: 1 in 4, 8, 16 */
    PROVIDER_STEP_VERBOSE = 5,
    PROVIDER_STEP_INFORMATION,
    PROVIDER_STEP_PROVIDER,
    PROVIDER_STEP_COUNT,
};

/* Why an event was left out: by which stage. */
enum provider_cut {
    PROVIDER_CUT_NONE,
    PROVIDER_CUT_SAMPLED,
    PROVIDER_CUT_VERBOSE,
    PROVIDER_CUT_PROVIDER,
    PROVIDER_CUT_COUNT,
};

struct provider_limit {
    uint64_t events;   /* per second; 0: no limit */
    uint64_t bytes;    /* per second; 0: no limit */
    uint64_t burst_ns; /* what was not used for so long may be used at once; at least 1 s */
};

/* Levels that are treated alike. */
enum provider_class {
    PROVIDER_CLASS_SEVERE,      /* critical, error */
    PROVIDER_CLASS_OTHER,       /* warning, and level 0: events that say nothing of their level */
    PROVIDER_CLASS_INFORMATION, /* 4 */
    PROVIDER_CLASS_VERBOSE,     /* 5 and above */
    PROVIDER_CLASS_COUNT,
};

struct provider_load {
    uint64_t events;
    uint64_t bytes;
};

struct provider_ladder {
    struct provider_limit limit;
    uint64_t event_ns;      /* the time in which the budget pays for one event; 0: no limit */
    unsigned step;          /* enum provider_step and those between */
    int64_t left_events_ns; /* of the budget: how much time's worth is there */
    int64_t left_bytes_ns;
    uint64_t filled_ns;                                /* up to when the bucket was filled */
    uint64_t phase;                                    /* of sampling */
    uint64_t window_ns;                                /* when the window began */
    struct provider_load window[PROVIDER_CLASS_COUNT]; /* what came in it, kept or not */
    unsigned calm; /* windows in a row in which the step below would have done */
};

void provider_ladder_init(
    struct provider_ladder *ladder, const struct provider_limit *limit, uint64_t now_ns);

/* An event of ${level} with ${bytes}, at ${now_ns}: is it kept (PROVIDER_CUT_NONE)? */
enum provider_cut provider_ladder_ask(
    struct provider_ladder *ladder, uint8_t level, uint64_t bytes, uint64_t now_ns);

/* An event with ${bytes} at ${now_ns} that is kept whatever the budget says. */
void provider_ladder_charge(struct provider_ladder *ladder, uint64_t bytes, uint64_t now_ns);

/* Time passes: may the ladder step down? About once a second, also where no events come. */
void provider_ladder_tick(struct provider_ladder *ladder, uint64_t now_ns);

/* A text for what ${step} keeps: "1 event in 4 is kept". */
const char *provider_ladder_words(unsigned step);

#endif
