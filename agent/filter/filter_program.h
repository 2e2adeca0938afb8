#ifndef ETWSHIP_FILTER_FILTER_PROGRAM_H
#define ETWSHIP_FILTER_FILTER_PROGRAM_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <stdatomic.h>

#include "base/arena.h"
#include "base/ip.h"
#include "event/event_edit.h"
#include "filter/filter.h"

/*
 * A compiled filter: a row of tests. Each names the test that comes next if it is true and if it
 * is false; `and`, `or`, `not` and parentheses are in these jumps alone. Not for users of filter.h.
 */

enum filter_test {
    TEST_EQUAL,
    TEST_UNEQUAL,
    TEST_LESS,
    TEST_LESS_EQUAL,
    TEST_GREATER,
    TEST_GREATER_EQUAL,
    TEST_IN,
    TEST_CONTAINS,
    TEST_STARTS,
    TEST_ENDS,
    TEST_LIKE,
    TEST_MATCHES,
    TEST_CIDR,
    TEST_EXISTS,
    TEST_HAS,
};

/* Integers of either sign, or a real. */
struct filter_number {
    bool is_real;
    bool negative; /* integers */
    uint64_t size; /* integers: without sign */
    double real;
};

enum filter_literal_type { LITERAL_TEXT, LITERAL_NUMBER, LITERAL_RANGE, LITERAL_BOOL };

struct filter_literal {
    enum filter_literal_type type;
    bool exact;               /* `c` behind the quote */
    bool truth;               /* BOOL */
    struct filter_number low; /* NUMBER, RANGE; TEXT with is_number */
    struct filter_number high;
    struct span text; /* TEXT: folded unless exact */
    size_t offset;    /* in the rule's text, for errors */
    struct span source;
    /* What a text without `c` may be beside text. */
    bool is_number; /* of fields shown as "0x…" */
    bool is_time;
    bool is_guid;
    bool is_address;
    int64_t time;
    struct guid guid;
    struct ip_address address;
    struct ip_network network; /* CIDR */
    pcre2_code *regex;         /* MATCHES */
};

struct filter_op {
    uint8_t test;
    uint8_t need;      /* enum event_path_need */
    uint8_t scope;     /* enum event_path_scope */
    bool inverted;     /* below an odd number of `not`: see filter_truth.c */
    bool has_names;    /* HAS: `names` is valid */
    uint32_t on_true;  /* next test, or FILTER_TRUE, FILTER_FALSE */
    uint32_t on_false; /* the same */
    uint32_t literal_count;
    const struct filter_literal *literals;
    uint32_t sorted_count; /* IN: texts without `c` stand first, in the order of their bytes */
    struct event_path path;
    struct event_path names; /* HAS: names beside numbers */
    struct span path_text;
    size_t offset;
};

/* What events are told apart by: some fields' values as one number. */
struct filter_key {
    struct event_path *paths; /* with any element where a field is a list */
    struct span *texts;
    uint32_t count;
    uint8_t need;                /* enum event_path_need, the most of them */
    enum event_path_scope scope; /* that of the field that depends on most */
};

enum { FILTER_TRUE = 0x7ffffffe, FILTER_FALSE = 0x7fffffff };

struct filter_code {
    uint32_t start;
    enum filter_action action;
    struct span name;
    struct filter_op *ops;
    uint32_t op_count;
    struct filter_key key; /* of SAMPLE and LIMIT */
    struct filter_limit limit;
    uint64_t window;          /* of a ROLLUP */
    struct event_edit *edits; /* of rules that edit */
    uint32_t edit_count;
    uint64_t most;                /* SAMPLE: the highest key that is kept */
    bool drops_unsure;            /* filter_rule.drops_unsure */
    atomic_uint_fast64_t *unsure; /* filter_rule_unsure */
    uint8_t need;                 /* of its tests together: the most */
    uint8_t least_need;           /* of any of them; RECORD if there are none */
};

/* Compiled patterns are the only memory outside of the arena. */
struct filter_regex {
    pcre2_code *code;
    struct filter_regex *next;
};

struct filter {
    struct arena arena;
    struct filter_regex *regexes;
    struct filter_code *rules;
    size_t rule_count;
    bool has_edits;             /* a rule edits */
    bool drops_early;           /* filter_drops_early */
    bool is_placed;             /* filter_is_placed, but for samples of events without the field */
    bool asks_process;          /* filter_asks_process */
    uint64_t id;                /* of this filter alone, in the process */
    size_t word_count;          /* a bit for each rule takes so many words */
    struct filter_index *index; /* of values that many rules ask for; NULL: none */
    bool plans_help[3];         /* by enum event_path_need: there is something to know of types */
};

/* Compile ${text}, which outlives the filter, into ${code}. ${ret_offset}: where the error is. */
bool filter_parse(struct filter *filter, struct span text, struct filter_code *code,
    size_t *ret_offset, struct error *err);

/* Compile the fields of ${rule} into ${key}. ${ret_place}: where the error is. */
bool filter_key_compile(struct filter *filter, const struct filter_rule *rule,
    struct filter_key *key, struct filter_place *ret_place, struct error *err);

/* Compile what ${rule}, which edits, does into ${code}. ${ret_place}: where the error is. */
bool filter_edit_compile(struct filter *filter, const struct filter_rule *rule,
    struct filter_code *code, struct filter_place *ret_place, struct error *err);

/* Find ${literal}'s pattern in ${text}, within the limits of ${scratch}. What meets them is counted, and
 * is false. */
bool filter_regex_finds(
    struct filter_scratch *scratch, const struct filter_literal *literal, struct span text);

/* Count that nobody knows whether the expression of rule number ${rule} is true. */
void filter_note_unsure(
    const struct filter *filter, struct filter_scratch *scratch, size_t rule, bool marks);

/* Does rule number ${rule}, which edits, edit ${event}, which is decoded? One that hides something does
 * so too where nobody knows. */
bool filter_rule_fits(const struct filter *filter, struct filter_scratch *scratch,
    const struct event *event, size_t rule);

/* The values of ${key} in ${event} as one number; false: it has none of them. Any thread, and the same
 * number for the same values for ever: docs/reference/filter-language.md says how it is made. */
bool filter_key_of(const struct filter_key *key, struct filter_scratch *scratch,
    const struct event *event, uint64_t *ret_key);

/* Prepare a literal for ${test} on ${path}: check its type, fold its text, compile what it is.
 * ${ret_offset} is set where the error is not at the literal's start. */
bool filter_literal_prepare(struct filter *filter, struct filter_literal *literal,
    enum filter_test test, const struct event_path *path, struct span path_text, size_t *ret_offset,
    struct error *err);

/* The number of a level's name, 0 if it is none. */
uint8_t filter_literal_level(struct span name);

/* ${text}, in quotes or not, is no value for the number at ${path_text}: say what is. Always false. */
bool filter_literal_no_number(struct span path_text, struct span text, struct error *err);

/* Put texts without `c` to the front, in order; how many. */
uint32_t filter_literal_sort(struct filter_literal *literals, uint32_t count);

int filter_number_compare(const struct filter_number *a, const struct filter_number *b);

/* The value as a number; false: it is none. */
bool filter_number_of(const struct event_value *value, struct filter_number *number);

/* A whole or real number as literals have it, without sign. */
bool filter_number_parse(struct span text, struct filter_number *ret_number);

/* Is ${op} true for ${event}, of which what op->need says is there? */
bool filter_op_holds(
    struct filter_scratch *scratch, const struct filter_op *op, const struct event *event);

/* Is ${value} what ${op} asks for? Not for EXISTS. */
bool filter_value_test(
    struct filter_scratch *scratch, const struct filter_op *op, const struct event_value *value);

/* Does the value equal one of the literals? */
bool filter_value_in(
    struct filter_scratch *scratch, const struct filter_op *op, const struct event_value *value);

/* Are the bits of one of the literals set in the value? */
bool filter_value_has_bits(const struct filter_op *op, const struct event_value *value);

#endif
