#ifndef ETWSHIP_FILTER_FILTER_H
#define ETWSHIP_FILTER_FILTER_H

#include "base/buf.h"
#include "event/write/event_path.h"

/*
 * Rules that keep or drop events, in the expression language of docs/reference/filter-language.md.
 * A list of rules is compiled into a flat program, which any number of threads may run, each with
 * its own scratch. What an event's header decides is decided before its schema is looked up.
 * Running allocates nothing.
 */
struct filter;

enum filter_action {
    FILTER_ACTION_KEEP,
    FILTER_ACTION_DROP,
    FILTER_ACTION_SAMPLE, /* keep one in N, drop the others */
    /* keep what a token bucket allows; the caller has the buckets: scratch.key */
    FILTER_ACTION_LIMIT,
    FILTER_ACTION_ROLLUP, /* keep; the caller counts events with equal scratch.key in one */
    /* These decide nothing; filter_edit.h says what they do to kept events. */
    FILTER_ACTION_SET,
    FILTER_ACTION_TAG,
    FILTER_ACTION_REMOVE,
    FILTER_ACTION_RENAME,
    FILTER_ACTION_HASH,
    FILTER_ACTION_TRUNCATE,
};

/* True if a matching rule ends the list. Other rules never end it. */
static inline bool filter_action_decides(enum filter_action action)
{
    return action < FILTER_ACTION_SET;
}

/* Refill rate and capacity of a bucket. */
struct filter_limit {
    uint64_t events; /* per ${period} */
    uint64_t period; /* 100 ns */
    uint64_t burst;  /* at least 1 */
};

/* A rule as configured. */
struct filter_rule {
    enum filter_action action;
    struct span text;
    struct span name; /* for counters; empty: the text */

    /* Action if the expression's truth is unknown because a regular expression exceeded its limits:
     * true: drop the event. See filter_scratch.unsure. */
    bool drops_unsure;

    /* SAMPLE: keep one in ${every} values of the first of ${fields}, with all their events; without
     * a field, of activity_id. */
    uint64_t every; /* at least 1 */
    /* LIMIT: one bucket per combination of values of ${fields}; without fields, one for all. */
    struct filter_limit limit;
    /* ROLLUP: events of this period (100 ns, at least 1) are counted in one event per combination
     * of values of ${fields}; without fields, all together. */
    uint64_t window;
    const char *const *fields; /* paths, which are copied; for TAG the tags */
    size_t field_count;

    /* For rules that edit (filter_edit.h). */
    const char *const *values; /* SET: new value of each of ${fields}; RENAME: new name */
    size_t field_step;         /* distance between elements of ${fields}, and of ${values}; 0: 1 */
    uint32_t bytes;            /* TRUNCATE */
    struct span key;           /* HASH: a secret */
};

/* Limits of one rule's text. */
enum {
    FILTER_MAX_TEXT_BYTES = 64 * 1024,
    FILTER_MAX_DEPTH = 64,
    FILTER_MAX_TESTS = 4096,
    FILTER_MAX_LITERALS = 16384,
    FILTER_MAX_RULES = 4096,
    FILTER_MAX_FIELDS = 8,
    FILTER_MAX_EDITS = 256, /* fields per editing rule */
    FILTER_MIN_KEY_BYTES = 16,
    FILTER_MAX_BURST = 10 * 1000 * 1000,
};

/* Position of an error: bytes from the start of a rule's text, or of its field. */
struct filter_place {
    size_t rule;
    size_t offset;
    size_t field; /* 0: the text; else number of the field, from 1 */
};

/* The first rule that decides and matches gives the verdict; KEEP if none does. Texts are copied.
 * NULL on error: ${err} says what is wrong and what to do, ${ret_place} where. */
struct filter *filter_create(const struct filter_rule *rules, size_t count,
    struct filter_place *ret_place, struct error *err);
void filter_destroy(struct filter *filter); /* NULL is fine; no thread may be running it. */

size_t filter_rule_count(const struct filter *filter);
enum filter_action filter_rule_action(const struct filter *filter, size_t rule);
struct span filter_rule_name(const struct filter *filter, size_t rule);

/* Parse `1/N`, one in N, into ${ret_every}; false if ${text} is invalid. */
bool filter_rate_parse(struct span text, uint64_t *ret_every);

/* Parse `N/s`, or per m, h, d, into ${ret_limit}, with N as burst; false if ${text} is invalid. */
bool filter_limit_parse(struct span text, struct filter_limit *ret_limit);

/* The limit of a LIMIT rule; ${ret_has_fields}: it has several buckets. */
const struct filter_limit *filter_rule_limit(
    const struct filter *filter, size_t rule, bool *ret_has_fields);

/* The period of a ROLLUP rule, in 100 ns. */
uint64_t filter_rule_window(const struct filter *filter, size_t rule);

/* Number of events for which the truth of the rule's expression was unknown, so far.
 * Thread-safe. */
uint64_t filter_rule_unsure(const struct filter *filter, size_t rule);

/* The part of an event that the filter may need. */
enum event_path_need filter_need(const struct filter *filter);

/* ---- running --------------------------------------------------------------------------------- */

/* Memory of one thread for all its filters. The caller sets `paths.session` and `paths.agent`. All
 * schemas must come from one cache, because results are remembered by event_schema.serial. */
struct filter_scratch {
    struct event_path_context paths;
    struct buf folded;
    void *match; /* objects of the regex library */
    void *match_limits;
    void *match_stack;
    uint64_t given_up;        /* number of regex searches that exceeded their limits */
    uint64_t given_up_before; /* `given_up` before the current event */
    /* name of a rule that kept or edited an event although its expression's truth is unknown; valid
     * as long as the filter; the caller clears it */
    struct span unsure;
    /* set by the caller: the event was asked about before, so unknown results are counted
     * already */
    bool asks_again;
    uint64_t key;               /* bucket, if a LIMIT or ROLLUP decided to KEEP */
    bool placed;                /* the last verdict depends on EVENT_PATH_OF_PLACE */
    struct filter_plans *plans; /* remaining tests by event type; NULL: none yet */
};

/* ${ansi} NULL: 1252. filter_scratch_fini is also allowed after a failure. */
bool filter_scratch_init(
    struct filter_scratch *scratch, const struct codepage *ansi, struct error *err);
void filter_scratch_fini(struct filter_scratch *scratch);

enum filter_verdict { FILTER_KEEP, FILTER_DROP, FILTER_UNDECIDED };

/*
 * Verdict on a record alone. UNDECIDED: more of the event is needed. ${ret_rule}: the rule that
 * decided, or filter_rule_count() if none matched, for the caller's counters; unchanged if
 * undecided.
 */
enum filter_verdict filter_header(const struct filter *filter, struct filter_scratch *scratch,
    const struct event_record *record, size_t *ret_rule);

/* True if filter_header can drop a record. */
bool filter_drops_early(const struct filter *filter);

/* Verdict on a record that one of ${schemas} will decode (NULL among them: none). Decided if
 * verdict and rule are equal for all of them. ${event} has the record and the stack. */
enum filter_verdict filter_candidates(const struct filter *filter, struct filter_scratch *scratch,
    const struct event *event, const struct event_schema *const *schemas, size_t count,
    size_t *ret_rule);

/* Number of top-level fields of ${event}'s schema that must be decoded for filter_event to give its
 * final verdict; EVENT_PATH_ALL_FIELDS: the whole event. ${event} has record and schema. */
uint16_t filter_fields(
    const struct filter *filter, struct filter_scratch *scratch, const struct event *event);

/* Verdict on a decoded event: never UNDECIDED. */
enum filter_verdict filter_event(const struct filter *filter, struct filter_scratch *scratch,
    const struct event *event, size_t *ret_rule);

/* ---- display --------------------------------------------------------------------------------- */

/* Line and column of an offset, counted from 1; columns are characters. */
void filter_position(struct span text, size_t offset, size_t *ret_line, size_t *ret_column);

/* Append the line of ${text} that contains ${offset}, and below it a `^`, both indented by two. */
void filter_show_place(struct span text, size_t offset, struct buf *out);

/* A payload field that a rule uses. */
struct filter_field {
    struct filter_place place;
    struct span path; /* valid as long as the filter */
    struct span name; /* first name below `data` */
};

typedef void filter_field_fn(void *self, const struct filter_field *field);

/* Report each use of a payload field. */
void filter_each_field(const struct filter *filter, filter_field_fn *each, void *self);

/* A text that a rule compares a field with: by == or `in`, not below a `not`. */
struct filter_wanted {
    size_t rule;
    struct span path; /* as in the rule; path and text are valid as long as the filter */
    struct span text; /* folded, unless exact */
};

typedef void filter_wanted_fn(void *self, const struct filter_wanted *wanted);

/* Report all such texts. */
void filter_each_wanted(const struct filter *filter, filter_wanted_fn *each, void *self);

/* A regular expression that exceeds its limits for a constructed text. */
struct filter_slow {
    struct filter_place place; /* position of its test */
    struct span pattern;       /* valid as long as the filter */
    char text[64];             /* description such as "32,767 times a, then !" */
};

typedef void filter_slow_fn(void *self, const struct filter_slow *slow);

/* Try each regular expression on long runs of its characters. A pattern that is not reported may
 * still be slow for other texts. May take some seconds. */
void filter_each_slow(
    const struct filter *filter, struct filter_scratch *scratch, filter_slow_fn *each, void *self);

/* Known names of payload fields: calls ${take} for each. */
typedef void filter_name_fn(void *self, struct span name);
struct filter_names {
    void (*each)(void *self, filter_name_fn *take, void *take_self);
    void *self;
};

/* True if the field is among ${names}, or is the generated `_name` field of one. Otherwise
 * ${ret_meant} is the most similar name, or empty. */
bool filter_field_known(
    const struct filter_field *field, const struct filter_names *names, struct span *ret_meant);

#endif
