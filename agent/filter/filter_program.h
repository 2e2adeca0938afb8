#ifndef ETWSHIP_FILTER_FILTER_PROGRAM_H
#define ETWSHIP_FILTER_FILTER_PROGRAM_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <stdatomic.h>

#include "base/arena.h"
#include "base/text/ip.h"
#include "event/edit/event_edit.h"
#include "filter/filter.h"

/*
 * A compiled filter: a sequence of tests. Each names the next test for true and for false; these
 * jumps represent `and`, `or`, `not` and parentheses. Internal to the filter.
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

/* An integer with sign, or a real. */
struct filter_number {
    bool is_real;
    bool negative; /* integers */
    uint64_t size; /* absolute value of an integer */
    double real;
};

enum filter_literal_type { LITERAL_TEXT, LITERAL_NUMBER, LITERAL_RANGE, LITERAL_BOOL };

struct filter_literal {
    enum filter_literal_type type;
    bool exact;               /* `c` follows the quote */
    bool truth;               /* BOOL */
    struct filter_number low; /* NUMBER, RANGE; TEXT with is_number */
    struct filter_number high;
    struct span text;    /* TEXT: folded unless exact */
    size_t offset;       /* in the rule's text, for errors */
    struct span written; /* as in the rule's text */
    /* Other meanings of a text without `c`. */
    bool is_number; /* for fields shown as "0x…" */
    bool is_time;
    bool is_guid;
    bool is_address;
    int64_t time;
    struct guid guid;
    struct ip_address address;
    struct ip_network network; /* CIDR */
    pcre2_code *regex;         /* MATCHES */
};

/* Numbers from ${first} to ${last}. */
struct filter_range {
    uint64_t first;
    uint64_t last;
};

struct filter_op {
    uint8_t test;
    uint8_t need;      /* enum event_path_need */
    uint8_t scope;     /* enum event_path_scope */
    bool inverted;     /* below an odd number of `not`; see filter_truth.c */
    bool has_names;    /* HAS: `names` is valid */
    uint32_t on_true;  /* next test, or FILTER_TRUE, FILTER_FALSE */
    uint32_t on_false; /* like on_true */
    uint32_t literal_count;
    const struct filter_literal *literals;
    uint32_t sorted_count; /* IN: number of texts without `c`, which come first, sorted by bytes */
    bool has_ranges;       /* filter_ranges_hold decides: the literals are not asked */
    uint32_t range_count;
    const struct filter_range *ranges; /* ascending, with gaps between them */
    struct event_path path;
    struct event_path names; /* HAS: names for numbers */
    struct span path_text;
    size_t offset;
};

/* Groups events by the values of some fields, combined into one number. */
struct filter_key {
    struct event_path *paths; /* with any element if a field is a list */
    struct span *texts;
    uint32_t count;
    uint8_t need;                /* enum event_path_need, the maximum of them */
    enum event_path_scope scope; /* scope of the field that varies most */
};

enum { FILTER_TRUE = 0x7ffffffe, FILTER_FALSE = 0x7fffffff };

struct filter_code {
    uint32_t start;
    enum filter_action action;
    struct span name;
    struct filter_op *ops;
    uint32_t op_count;
    struct filter_key key; /* for SAMPLE and LIMIT */
    struct filter_limit limit;
    uint64_t window;          /* for ROLLUP */
    struct event_edit *edits; /* for editing rules */
    uint32_t edit_count;
    uint64_t most;                /* SAMPLE: the highest key that is kept */
    bool drops_unsure;            /* filter_rule.drops_unsure */
    atomic_uint_fast64_t *unsure; /* filter_rule_unsure */
    uint8_t need;                 /* maximum over its tests */
    uint8_t least_need;           /* minimum over its tests; RECORD if there are none */
};

/* Compiled patterns, the only memory outside the arena. */
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
    uint64_t id;                /* unique in the process */
    size_t word_count;          /* words of a bitmap of rules */
    struct filter_index *index; /* of values that many rules compare with; NULL: none */
    bool is_plain;              /* its rules keep or drop by plain numbers of the header alone */
    bool plans_help[3];         /* by enum event_path_need: plans for types save evaluations */
};

/* Compile ${text}, which must outlive the filter, into ${code}. ${ret_offset}: position of an
 * error. */
bool filter_parse(struct filter *filter, struct span text, struct filter_code *code,
    size_t *ret_offset, struct error *err);

/* Compile the fields of ${rule} into ${key}. ${ret_place}: position of an error. */
bool filter_key_compile(struct filter *filter, const struct filter_rule *rule,
    struct filter_key *key, struct filter_place *ret_place, struct error *err);

/* Compile the edits of ${rule} into ${code}. ${ret_place}: position of an error. */
bool filter_edit_compile(struct filter *filter, const struct filter_rule *rule,
    struct filter_code *code, struct filter_place *ret_place, struct error *err);

/* Search ${literal}'s pattern in ${text} within the limits of ${scratch}. Exceeding them is counted
 * and gives false. */
bool filter_regex_finds(
    struct filter_scratch *scratch, const struct filter_literal *literal, struct span text);

/* Count an event for which the truth of rule ${rule} is unknown. */
void filter_note_unsure(
    const struct filter *filter, struct filter_scratch *scratch, size_t rule, bool marks);

/* True if the editing rule ${rule} applies to the decoded ${event}. A rule that hides data also
 * applies if its truth is unknown. */
bool filter_rule_fits(const struct filter *filter, struct filter_scratch *scratch,
    const struct event *event, size_t rule);

/* Combine the values of ${key} in ${event} into one number; false if the event has none of them.
 * Thread-safe. The number for given values never changes: docs/reference/filter-language.md defines
 * it. */
bool filter_key_of(const struct filter_key *key, struct filter_scratch *scratch,
    const struct event *event, uint64_t *ret_key);

/* Prepare a literal for ${test} on ${path}: check its type, fold its text, compile it.
 * ${ret_offset} is set if the error is not at the literal's start. */
bool filter_literal_prepare(struct filter *filter, struct filter_literal *literal,
    enum filter_test test, const struct event_path *path, struct span path_text, size_t *ret_offset,
    struct error *err);

/* Number of a level's name, or 0. */
uint8_t filter_literal_level(struct span name);

/* Report that ${text}, quoted or not, is not a value for the numeric ${path_text}, and what is.
 * Always false. */
bool filter_literal_no_number(struct span path_text, struct span text, struct error *err);

/* Move texts without `c` to the front, sorted; returns their number. */
uint32_t filter_literal_sort(struct filter_literal *literals, uint32_t count);

int filter_number_compare(const struct filter_number *a, const struct filter_number *b);

/* The value as a number; false if it is not one. */
bool filter_number_of(const struct event_value *value, struct filter_number *number);

/* Express ${op}, whose literals are there, in ranges of numbers, if its field is a plain number of
 * the header and each literal is an integer. False only if memory is out. */
bool filter_ranges_make(struct filter *filter, struct filter_op *op);

/* True if ${op}, which has ranges, holds for the record: what filter_value_test says of the value,
 * and false if there is none. */
bool filter_ranges_hold(const struct filter_op *op, const struct event_record *record);

/* Parse an integer or real without sign. */
bool filter_number_parse(struct span text, struct filter_number *ret_number);

/* True if ${op} holds for ${event}, of which the part op->need must be present. */
bool filter_op_holds(
    struct filter_scratch *scratch, const struct filter_op *op, const struct event *event);

/* True if ${value} satisfies ${op}. Not for EXISTS. */
bool filter_value_test(
    struct filter_scratch *scratch, const struct filter_op *op, const struct event_value *value);

/* True if the value equals one of the literals. */
bool filter_value_in(
    struct filter_scratch *scratch, const struct filter_op *op, const struct event_value *value);

/* True if the bits of one of the literals are set in the value. */
bool filter_value_has_bits(const struct filter_op *op, const struct event_value *value);

#endif
