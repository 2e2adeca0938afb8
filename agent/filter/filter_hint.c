#include "filter/filter_hint.h"

#include <string.h>

#include "base/text/nearest.h"

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

static const char *const operators[] = {
    "in", "contains", "startswith", "endswith", "like", "matches", "has"};

/* Operators of SQL, PowerShell, KQL, Python and others. */
static const struct {
    const char *theirs;
    const char *ours;
} foreign[] = {
    {"eq", "=="},
    {"equals", "=="},
    {"equal", "=="},
    {"is", "=="},
    {"ne", "!="},
    {"lt", "<"},
    {"le", "<="},
    {"gt", ">"},
    {"ge", ">="},
    {"starts", "startswith"},
    {"starts_with", "startswith"},
    {"beginswith", "startswith"},
    {"begins", "startswith"},
    {"ends", "endswith"},
    {"ends_with", "endswith"},
    {"match", "matches"},
    {"regex", "matches"},
    {"rlike", "matches"},
    {"between", "in (10-20)"},
    {"includes", "contains"},
};

bool filter_hint_operator(struct span word, struct error *err)
{
    struct span shown = span_first(word, 40);
    for (size_t i = 0; i < COUNT_OF(foreign); i++) {
        if (span_equal_nocase(word, span_text(foreign[i].theirs))) {
            return error_set(err, ERR_CONFIG, "%.*s is not part of this language. write %s",
                SPAN_ARG(shown), foreign[i].ours);
        }
    }
    struct nearest nearest = {.text = word};
    for (size_t i = 0; i < COUNT_OF(operators); i++) {
        nearest_consider(&nearest, span_text(operators[i]));
    }
    struct span meant = nearest_meant(&nearest);
    if (meant.size) {
        return error_set(err, ERR_CONFIG, "%.*s is not an operator. did you mean %.*s?",
            SPAN_ARG(shown), SPAN_ARG(meant));
    }
    return error_set(err, ERR_CONFIG,
        "an operator (== != < <= > >= in contains startswith endswith like matches has) is "
        "expected, not %.*s",
        SPAN_ARG(shown));
}

/* U+2018 to U+201F, which word processors substitute for ' and ". */
static bool is_curly_quote(struct span word)
{
    return span_is(span_first(word, 2), "\xe2\x80") && word.size > 2 && word.data[2] >= 0x98 &&
           word.data[2] <= 0x9f;
}

static bool is_nothing(struct span word)
{
    static const char *const words[] = {"null", "none", "nil", "undefined"};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (span_equal_nocase(word, span_text(words[i]))) {
            return true;
        }
    }
    return false;
}

bool filter_hint_value(struct span word, struct span field, struct error *err)
{
    struct span shown = span_first(word, 60);
    if (is_curly_quote(word)) {
        return error_set(err, ERR_CONFIG, "typographic quotes are not supported. write ' or \"");
    }
    if (is_nothing(word)) {
        return error_set(err, ERR_CONFIG,
            "%.*s is not a value. for a missing field write not exists(%.*s)", SPAN_ARG(shown),
            SPAN_ARG(span_first(field, 60)));
    }
    return error_set(
        err, ERR_CONFIG, "expected a value. write text in quotes: '%.*s'", SPAN_ARG(shown));
}

bool filter_hint_function(struct span word, struct error *err)
{
    struct span shown = span_first(word, 60);
    for (size_t i = 0; i < COUNT_OF(operators); i++) {
        if (span_equal_nocase(word, span_text(operators[i]))) {
            return error_set(err, ERR_CONFIG, "%s must follow its field: FIELD %s (…)",
                operators[i], operators[i]);
        }
    }
    return error_set(err, ERR_CONFIG,
        "unknown function %.*s. write FIELD contains 'text', exists(FIELD) or cidr(FIELD, …)",
        SPAN_ARG(shown));
}

bool filter_hint_number(struct span number, struct error *err)
{
    struct span shown = span_first(number, 40);
    bool hex = span_equal_nocase(span_first(number, 2), span_text("0x"));
    const char *allowed = hex ? "0123456789abcdefABCDEF" : "0123456789.eE+-";
    size_t points = 0;
    bool is_meant = true;
    for (size_t i = hex ? 2 : 0; i < number.size; i++) {
        is_meant = is_meant && strchr(allowed, number.data[i]);
        points += number.data[i] == '.';
    }
    is_meant = is_meant && points <= 1;
    return error_set(err, ERR_CONFIG, "%.*s is not a number of at most 64 bits%s", SPAN_ARG(shown),
        is_meant ? "" : ". write text, GUIDs and addresses in quotes");
}
