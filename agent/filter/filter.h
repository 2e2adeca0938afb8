#ifndef ETWSHIP_FILTER_FILTER_H
#define ETWSHIP_FILTER_FILTER_H

#include "base/buf.h"
#include "event/event_path.h"

/*
 * Rules that keep or drop events, in the expression language of docs/reference/filter-language.md. A list of
 * rules is compiled once into a flat program, which any number of threads may run, each with a
 * scratch of its own. What the header of an event decides, is decided before anybody looks for its
 * schema; nothing is allocated while it runs.
 */
struct filter;

enum filter_action {
    FILTER_ACTION_KEEP,
    FILTER_ACTION_DROP,
    FILTER_ACTION_SAMPLE, /* keep one in so many, drop the others */
    FILTER_ACTION_LIMIT, /* keep what a bucket of tokens allows, which is the caller's: scratch.key */
    FILTER_ACTION_ROLLUP, /* keep, counted with others of scratch.key in one, by the caller */
    /* These decide nothing: filter_edit.h says what they do to events that are kept. */
    FILTER_ACTION_SET,
    FILTER_ACTION_TAG,
    FILTER_ACTION_REMOVE,
    FILTER_ACTION_RENAME,
    FILTER_ACTION_HASH,
    FILTER_ACTION_TRUNCATE,
};

/* Does a rule that matches end the list? The others are passed by, whatever they match. */
static inline bool filter_action_decides(enum filter_action action)
{
    return action < FILTER_ACTION_SET;
}

/* Tokens that a bucket gets, and how many it holds. */
struct filter_limit {
    uint64_t events; /* per ${period} */
    uint64_t period; /* 100 ns */
    uint64_t burst;  /* at least 1 */
};

/* One rule as somebody wrote it. */
struct filter_rule {
    enum filter_action action;
    struct span text;
    struct span name; /* for counts; empty: the text */

    /* What becomes of an event for which nobody knows whether the expression is true, as a regular
     * expression has met its limits: it is dropped, else kept. See filter_scratch.unsure. */
    bool drops_unsure;

    /* SAMPLE: one value of the first of ${fields} in ${every} is kept, with all its events; without
     * a field, of activity_id. */
    uint64_t every; /* at least 1 */
    /* LIMIT: a bucket for each combination of values of ${fields}; without any, one for all. */
    struct filter_limit limit;
    /* ROLLUP: the events of so long, 100 ns, at least 1, are counted in one by the values of ${fields};
     * without any, all together. */
    uint64_t window;
    const char *const *fields; /* paths, which are copied; TAG: the tags */
    size_t field_count;

    /* Of rules that edit (filter_edit.h). */
    const char *const *values; /* SET: what each of ${fields} becomes; RENAME: its name */
    size_t field_step;         /* from one of ${fields}, and of ${values}, to the next; 0: 1 */
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
    FILTER_MAX_EDITS = 256, /* fields of one rule that edits */
    FILTER_MIN_KEY_BYTES = 16,
    FILTER_MAX_BURST = 10 * 1000 * 1000,
};

/* Where in the rules something is wrong: bytes from the start of a rule's text, or of its field. */
struct filter_place {
    size_t rule;
    size_t offset;
    size_t field; /* 0: the text; else the number of the field, from 1 */
};

/* The first rule that decides and matches has the word, and KEEP if none does. The texts are copied. NULL: ${err}
 * says what is wrong and what to do, ${ret_place} where. */
struct filter *filter_create(const struct filter_rule *rules, size_t count,
    struct filter_place *ret_place, struct error *err);
void filter_destroy(struct filter *filter); /* NULL is fine; no thread may be running it */

size_t filter_rule_count(const struct filter *filter);
enum filter_action filter_rule_action(const struct filter *filter, size_t rule);
struct span filter_rule_name(const struct filter *filter, size_t rule);

/* `1/N`, one in N, into ${ret_every}; false: ${text} is something else. */
bool filter_rate_parse(struct span text, uint64_t *ret_every);

/* `N/s`, or per m, h, d, into ${ret_limit}, with N as the burst; false: ${text} is something else. */
bool filter_limit_parse(struct span text, struct filter_limit *ret_limit);

/* Of a LIMIT; ${ret_has_fields}: it has more than one bucket. */
const struct filter_limit *filter_rule_limit(
    const struct filter *filter, size_t rule, bool *ret_has_fields);

/* Of a ROLLUP, 100 ns. */
uint64_t filter_rule_window(const struct filter *filter, size_t rule);

/* Events for which nobody knew whether the expression of the rule is true, so far. Any thread. */
uint64_t filter_rule_unsure(const struct filter *filter, size_t rule);

/* How much of an event the filter may have to look at. */
enum event_path_need filter_need(const struct filter *filter);

/* ---- running ----------------------------------------------------------------------------------- */

/* Memory of one thread, for all its filters; `paths.session` and `paths.agent` are the caller's to
 * set. Schemas come from one cache for as long as it is used: what their names say is remembered by
 * event_schema.serial. */
struct filter_scratch {
    struct event_path_context paths;
    struct buf folded;
    void *match;        /* of the regex library */
    void *match_limits; /* the same */
    void *match_stack;  /* the same */
    uint64_t given_up;  /* regex searches that met their limits: nobody knows what they find */
    uint64_t given_up_before; /* … before the event at hand */
    struct span unsure;       /* name of a rule that kept an event, or did something to it, though
                                   nobody knows whether its expression is true; for the caller to
                                   empty. Valid as long as the filter */
    bool was_unsure; /* was there doubt at all, whatever came of it? For the caller to empty */
    bool asks_again; /* set by the caller: what is asked was asked of the event before, so
                                   that doubt is counted already */
    uint64_t key;    /* of the bucket, where a LIMIT or ROLLUP decided to KEEP */
    bool placed;     /* the last verdict depends on EVENT_PATH_OF_PLACE */
    struct filter_plans *plans; /* what is left to ask by type of event; NULL: none yet */
};

/* ${ansi} NULL: 1252. On failure, too, fini is allowed. */
bool filter_scratch_init(
    struct filter_scratch *scratch, const struct codepage *ansi, struct error *err);
void filter_scratch_fini(struct filter_scratch *scratch);

enum filter_verdict { FILTER_KEEP, FILTER_DROP, FILTER_UNDECIDED };

/*
 * The verdict on a record, of which nothing else is known. UNDECIDED: more must be. ${ret_rule} is the
 * rule that decided, filter_rule_count() if none matched: for the caller's counts; untouched if
 * undecided.
 */
enum filter_verdict filter_header(const struct filter *filter, struct filter_scratch *scratch,
    const struct event_record *record, size_t *ret_rule);

/* May filter_header drop a record at all? */
bool filter_drops_early(const struct filter *filter);

/* May a verdict depend on EVENT_PATH_OF_PLACE? A verdict that came about without is known before the
 * record has its place (filter_scratch.placed): its sequence, its stack and its process need not be
 * there. */
bool filter_is_placed(const struct filter *filter);

/* May a verdict depend on the process and the thread of a record (EVENT_PATH_OF_PROCESS)? */
bool filter_asks_process(const struct filter *filter);

/* The same for a record that one of ${schemas} will decode, NULL among them for none: decided where
 * the verdict and the rule are the same for all. ${event} has the record and the stack. */
enum filter_verdict filter_candidates(const struct filter *filter, struct filter_scratch *scratch,
    const struct event *event, const struct event_schema *const *schemas, size_t count,
    size_t *ret_rule);

/* How many of the top-level fields of ${event}'s schema must be decoded, so that filter_event says the
 * same as of the whole event; EVENT_PATH_ALL_FIELDS: all of it must. ${event} has record and schema. */
uint16_t filter_fields(
    const struct filter *filter, struct filter_scratch *scratch, const struct event *event);

/* The same for a decoded event: never UNDECIDED. */
enum filter_verdict filter_event(const struct filter *filter, struct filter_scratch *scratch,
    const struct event *event, size_t *ret_rule);

/* ---- for people -------------------------------------------------------------------------------- */

/* Line and column of a place, from 1; columns are characters. */
void filter_position(struct span text, size_t offset, size_t *ret_line, size_t *ret_column);

/* Append the line of ${text} with ${offset}, and below it a `^`; each indented by two. */
void filter_show_place(struct span text, size_t offset, struct buf *out);

/* A field of the payload that a rule asks for. */
struct filter_field {
    struct filter_place place;
    struct span path; /* valid as long as the filter */
    struct span name; /* the first name below `data` */
};

typedef void filter_field_fn(void *self, const struct filter_field *field);

/* The payload fields that the program needs, as often as they are asked for. */
void filter_each_field(const struct filter *filter, filter_field_fn *each, void *self);

/* A text that a rule wants a field to be: of == and `in`, not below a `not`. */
struct filter_wanted {
    size_t rule;
    struct span path; /* as the rule has it; both valid as long as the filter */
    struct span text; /* folded, unless it is to be exact */
};

typedef void filter_wanted_fn(void *self, const struct filter_wanted *wanted);

/* All of them. */
void filter_each_wanted(const struct filter *filter, filter_wanted_fn *each, void *self);

/* A regular expression that meets its limits with a text made for that, and what the text is. */
struct filter_slow {
    struct filter_place place; /* of the pattern's test */
    struct span pattern;       /* valid as long as the filter */
    char text[64];             /* "32,767 times a, then !" */
};

typedef void filter_slow_fn(void *self, const struct filter_slow *slow);

/* Try each regular expression on long runs of the characters that stand in it. That some pattern is not
 * among those called does not mean that it is fast on all texts. Takes up to some seconds. */
void filter_each_slow(
    const struct filter *filter, struct filter_scratch *scratch, filter_slow_fn *each, void *self);

/* Names of payload fields that are known: calls ${take} for each. */
typedef void filter_name_fn(void *self, struct span name);
struct filter_names {
    void (*each)(void *self, filter_name_fn *take, void *take_self);
    void *self;
};

/* Is the field among ${names}, itself or as the generated `_name` of one? If not, ${ret_meant} is
 * the nearest one, or empty. */
bool filter_field_known(
    const struct filter_field *field, const struct filter_names *names, struct span *ret_meant);

#endif
