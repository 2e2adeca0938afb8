#include <stdio.h>
#include <stdlib.h>

#include "base/order.h"
#include "base/span_compare.h"
#include "base/text/fold.h"
#include "base/text/nearest.h"
#include "base/text/rfc3339.h"
#include "filter/filter_program.h"

/*
 * Checks literals against their field. Impossible comparisons are refused with a correction if the
 * field's type is known; the types of payload values are known only at run time.
 */

static bool is_number_type(uint8_t type)
{
    return type == EVENT_VALUE_UINT || type == EVENT_VALUE_HEX;
}

static bool is_order(enum filter_test test)
{
    return test >= TEST_LESS && test <= TEST_GREATER_EQUAL;
}

static bool is_search(enum filter_test test)
{
    return test >= TEST_CONTAINS && test <= TEST_MATCHES;
}

static const char *test_word(enum filter_test test)
{
    static const char *const words[] = {[TEST_CONTAINS] = "contains",
        [TEST_STARTS] = "startswith",
        [TEST_ENDS] = "endswith",
        [TEST_LIKE] = "like",
        [TEST_MATCHES] = "matches"};
    return words[test];
}

/* ---- other meanings of a text ---------------------------------------------------------------- */

/* True for `2026-11-21` or a longer prefix of a time: such a text is compared with the ISO form as
 * text. */
static bool looks_like_time(struct span text)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd.ddddddd";
    for (size_t i = 0; i < text.size; i++) {
        bool fits = i < sizeof(form) - 1 &&
                    (form[i] == 'd' ? text.data[i] >= '0' && text.data[i] <= '9'
                                    : form[i] == (char)text.data[i]);
        if (!fits) {
            return false;
        }
    }
    return text.size >= 4;
}

static void read_text(struct filter_literal *literal)
{
    uint64_t filetime;
    literal->is_time = rfc3339_parse(literal->text, &filetime);
    literal->time = literal->is_time ? (int64_t)filetime : 0;
    literal->is_guid = guid_parse(literal->text, &literal->guid);
    literal->is_address = ip_parse(literal->text, &literal->address);
    literal->is_number = filter_number_parse(literal->text, &literal->low) && !literal->low.is_real;
}

static bool fold(struct filter *filter, struct filter_literal *literal, struct error *err)
{
    uint8_t *folded = arena_alloc(&filter->arena, fold_bound(literal->text.size));
    if (!folded) {
        return error_set(err, ERR_MEMORY, "no memory left for filters");
    }
    literal->text = span_make(folded, fold_utf8(literal->text, folded));
    return true;
}

static bool compile_regex(
    struct filter *filter, struct filter_literal *literal, size_t *ret_offset, struct error *err)
{
    enum { MAX_PATTERN_BYTES = 4096 };
    if (literal->text.size > MAX_PATTERN_BYTES) {
        return error_set(err, ERR_CONFIG, "a pattern has at most %d bytes", (int)MAX_PATTERN_BYTES);
    }
    int code = 0;
    PCRE2_SIZE offset = 0;
    uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C |
                       (literal->exact ? 0 : PCRE2_CASELESS);
    struct filter_regex *regex = arena_alloc(&filter->arena, sizeof(*regex));
    if (!regex) {
        return error_set(err, ERR_MEMORY, "no memory left for filters");
    }
    regex->code = pcre2_compile(
        literal->text.data, literal->text.size, options, &code, &offset, NULL);
    if (!regex->code) {
        char why[128] = "";
        pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof(why));
        *ret_offset = offset < literal->text.size ? offset : literal->text.size;
        return error_set(err, ERR_CONFIG, "not a regular expression: %s", why);
    }
    /* without JIT, as where memory must not be executable, searches are slower */
    pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE);
    regex->next = filter->regexes;
    filter->regexes = regex;
    literal->regex = regex->code;
    return true;
}

/* ---- names in place of numbers --------------------------------------------------------------- */

static const struct {
    const char *name;
    uint8_t level;
} levels[] = {{"critical", 1}, {"error", 2}, {"warning", 3}, {"information", 4},
    {"informational", 4}, {"info", 4}, {"verbose", 5}};

uint8_t filter_literal_level(struct span name)
{
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        if (span_equal_nocase(name, span_text(levels[i].name))) {
            return levels[i].level;
        }
    }
    return 0;
}

static bool no_level(struct span text, struct error *err)
{
    struct nearest nearest = {.text = text};
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        nearest_consider(&nearest, span_text(levels[i].name));
    }
    struct span meant = nearest_meant(&nearest);
    struct span shown = span_first(text, 60);
    if (meant.size) {
        return error_set(err, ERR_CONFIG, "%.*s is not a level. did you mean %.*s, without quotes?",
            SPAN_ARG(shown), SPAN_ARG(meant));
    }
    return error_set(err, ERR_CONFIG,
        "%.*s is not a level. write a number, or critical, error, warning, information or verbose",
        SPAN_ARG(shown));
}

/* True if the number has a corresponding name field. */
static bool has_name(struct span path_text)
{
    char text[64];
    struct event_path path;
    int size = snprintf(text, sizeof(text), "%.*s_name", SPAN_ARG(path_text));
    return size > 0 && (size_t)size < sizeof(text) &&
           event_path_compile(span_make(text, (size_t)size), &path, NULL);
}

bool filter_literal_no_number(struct span path_text, struct span text, struct error *err)
{
    struct filter_number number;
    struct span name = span_first(path_text, 60);
    struct span shown = span_first(text, 60);
    if (!filter_number_parse(text, &number)) {
        if (span_is(path_text, "event.level")) {
            return filter_literal_level(text)
                       ? error_set(err, ERR_CONFIG, "write names of levels without quotes: %.*s",
                             SPAN_ARG(shown))
                       : no_level(text, err);
        }
        if (has_name(path_text)) {
            return error_set(err, ERR_CONFIG,
                "%.*s is a number. write one, or ask for its name: %.*s_name == '%.*s'",
                SPAN_ARG(name), SPAN_ARG(name), SPAN_ARG(shown));
        }
    }
    return error_set(
        err, ERR_CONFIG, "%.*s is a number. write one, without quotes", SPAN_ARG(name));
}

/* ---- types ----------------------------------------------------------------------------------- */

/* Check ==, !=, <, … and in, for header fields. */
static bool check_comparison(const struct filter_literal *literal, enum filter_test test,
    const struct event_path *path, struct span name, struct error *err)
{
    bool is_text = literal->type == LITERAL_TEXT;
    struct span shown = span_first(literal->written, 60);
    if (literal->type == LITERAL_BOOL) {
        return path->type == EVENT_VALUE_NONE || path->type == EVENT_VALUE_BOOL ||
               error_set(err, ERR_CONFIG,
                   "%.*s is not true or false. compare it with another value", SPAN_ARG(name));
    }
    switch (path->type) {
    case EVENT_VALUE_NONE:
        return true;
    case EVENT_VALUE_UINT:
    case EVENT_VALUE_HEX:
        return !is_text ||
               (path->type == EVENT_VALUE_HEX && (literal->is_number || literal->exact)) ||
               filter_literal_no_number(name, literal->text, err);
    case EVENT_VALUE_TIME:
        return (is_text &&
                   (literal->is_time || literal->exact || looks_like_time(literal->text))) ||
               error_set(err, ERR_CONFIG,
                   "%.*s is not a time. write it as in '2026-11-21T09:30:00Z'", SPAN_ARG(shown));
    case EVENT_VALUE_GUID:
        return (is_text && (literal->is_guid || literal->exact || is_order(test))) ||
               error_set(err, ERR_CONFIG, "%.*s is not a GUID. write the complete GUID in quotes",
                   SPAN_ARG(shown));
    default:
        return is_text ||
               error_set(err, ERR_CONFIG, "%.*s is text. write it in quotes", SPAN_ARG(name));
    }
}

static bool check_has(const struct filter_literal *literal, const struct event_path *path,
    struct span name, struct error *err)
{
    bool is_text = literal->type == LITERAL_TEXT;
    bool holds_numbers = is_number_type(path->type);
    if (!is_text && (literal->type != LITERAL_NUMBER || literal->low.is_real)) {
        return error_set(err, ERR_CONFIG, "has needs a name in quotes, or the bits as a number");
    }
    if (path->type != EVENT_VALUE_NONE && !path->is_list && !holds_numbers) {
        return error_set(err, ERR_CONFIG,
            "%.*s is neither a list nor a number. write == or contains", SPAN_ARG(name));
    }
    if (path->is_list && is_text && holds_numbers && !literal->is_number) {
        return error_set(err, ERR_CONFIG, "%.*s holds numbers", SPAN_ARG(name));
    }
    if (path->is_list && !is_text && !holds_numbers) {
        return error_set(err, ERR_CONFIG, "%.*s holds text. write it in quotes", SPAN_ARG(name));
    }
    struct event_path names;
    if (!path->is_list && is_text && path->type != EVENT_VALUE_NONE &&
        !event_path_names(path, &names)) {
        return error_set(err, ERR_CONFIG, "bits of %.*s have no names", SPAN_ARG(name));
    }
    return is_text || literal->low.size ||
           error_set(err, ERR_CONFIG, "0 has no bits. for no bit write == 0");
}

bool filter_literal_prepare(struct filter *filter, struct filter_literal *literal,
    enum filter_test test, const struct event_path *path, struct span path_text, size_t *ret_offset,
    struct error *err)
{
    bool is_text = literal->type == LITERAL_TEXT;
    struct span name = span_first(path_text, 60);
    if (is_text && !literal->exact) {
        read_text(literal);
    }
    if (test == TEST_CIDR) {
        if (!is_text || !ip_network_parse(literal->text, &literal->network)) {
            return error_set(err, ERR_CONFIG,
                "%.*s is not a network. write it as in '10.0.0.0/8' or 'fe80::/10'",
                SPAN_ARG(span_first(literal->written, 60)));
        }
        return !is_number_type(path->type) ||
               error_set(err, ERR_CONFIG, "%.*s is a number, not an address", SPAN_ARG(name));
    }
    if (is_search(test)) {
        if (!is_text) {
            return error_set(err, ERR_CONFIG, "%s needs a text in quotes", test_word(test));
        }
        if (path->type == EVENT_VALUE_UINT) {
            return error_set(
                err, ERR_CONFIG, "%.*s is a number. compare it with == or in", SPAN_ARG(name));
        }
        if (test == TEST_MATCHES) {
            return compile_regex(filter, literal, ret_offset, err);
        }
    } else if (test == TEST_HAS) {
        if (!check_has(literal, path, name, err)) {
            return false;
        }
    } else if (is_order(test) && literal->type == LITERAL_BOOL) {
        return error_set(err, ERR_CONFIG, "true and false are not ordered. write == or !=");
    } else if (!check_comparison(literal, test, path, name, err)) {
        return false;
    }
    return !is_text || literal->exact || fold(filter, literal, err);
}

static bool is_sortable(const struct filter_literal *literal)
{
    return literal->type == LITERAL_TEXT && !literal->exact;
}

static int compare_literals(const void *a, const void *b)
{
    const struct filter_literal *x = a;
    const struct filter_literal *y = b;
    int groups = is_sortable(y) - is_sortable(x);
    if (groups || !is_sortable(x)) {
        return groups ? groups : order_u64(x->offset, y->offset);
    }
    return span_compare(x->text, y->text);
}

uint32_t filter_literal_sort(struct filter_literal *literals, uint32_t count)
{
    uint32_t sorted = 0;
    qsort(literals, count, sizeof(*literals), compare_literals);
    while (sorted < count && is_sortable(&literals[sorted])) {
        sorted++;
    }
    return sorted;
}
