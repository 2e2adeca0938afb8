#include "support/evt_sim.h"

#include <stdlib.h>
#include <string.h>

#include "platform/plat_clock.h"

/* `*`, or `*[System[…]]` with and, or, parentheses; EventID and Level compared with numbers;
 * Provider[@Name='…']; TimeCreated[timediff(@SystemTime) <= …]. Each comparison is a term. */
struct parse {
    const char *at;
    const struct evt_sim_event *event;
    int terms;
    bool failed;
};

static uint64_t fixed_now;

void evt_sim_now(uint64_t now)
{
    fixed_now = now;
}

static void spaces(struct parse *p)
{
    while (*p->at == ' ') {
        p->at++;
    }
}

static bool word(struct parse *p, const char *text)
{
    spaces(p);
    size_t size = strlen(text);
    if (strncmp(p->at, text, size) != 0) {
        return false;
    }
    p->at += size;
    return true;
}

static void expect(struct parse *p, const char *text)
{
    p->failed |= !word(p, text);
}

static bool compare(struct parse *p, uint64_t value)
{
    static const char *const signs[] = {"<=", ">=", "!=", "=", "<", ">"};
    size_t sign = 0;
    while (sign < 6 && !word(p, signs[sign])) {
        sign++;
    }
    spaces(p);
    char *end;
    uint64_t number = strtoull(p->at, &end, 10);
    p->failed |= sign == 6 || end == p->at;
    p->at = end;
    p->terms++;
    switch (sign) {
    case 0:
        return value <= number;
    case 1:
        return value >= number;
    case 2:
        return value != number;
    case 3:
        return value == number;
    case 4:
        return value < number;
    default:
        return value > number;
    }
}

static bool name_is(struct parse *p)
{
    expect(p, "@Name=");
    char quote = *p->at;
    if (p->failed || (quote != '\'' && quote != '"')) {
        p->failed = true;
        return false;
    }
    const char *from = ++p->at;
    while (*p->at && *p->at != quote) {
        p->at++;
    }
    size_t size = (size_t)(p->at - from);
    p->failed |= *p->at != quote;
    p->at += *p->at == quote;
    p->terms++;
    return strlen(p->event->provider) == size && memcmp(p->event->provider, from, size) == 0;
}

static bool any(struct parse *p);

static bool one(struct parse *p)
{
    bool result;
    if (p->failed) {
        return false;
    }
    if (word(p, "(")) {
        result = any(p);
        expect(p, ")");
        return result;
    }
    if (word(p, "EventID")) {
        return compare(p, p->event->id);
    }
    if (word(p, "Level")) {
        return compare(p, p->event->level);
    }
    if (word(p, "Provider[")) {
        result = name_is(p);
        while (word(p, "or")) {
            result |= name_is(p);
        }
        expect(p, "]");
        return result;
    }
    if (word(p, "TimeCreated[timediff(@SystemTime)")) {
        result = compare(
            p, ((fixed_now ? fixed_now : plat_now_filetime()) - p->event->time) / 10000);
        expect(p, "]");
        return result;
    }
    p->failed = true;
    return false;
}

static bool all(struct parse *p)
{
    bool result = one(p);
    while (!p->failed && word(p, "and")) {
        result &= one(p);
    }
    return result;
}

static bool any(struct parse *p)
{
    bool result = all(p);
    while (!p->failed && word(p, "or")) {
        result |= all(p);
    }
    return result;
}

bool evt_sim_selects(const char *query, const struct evt_sim_event *event, bool *ret_valid)
{
    enum { MAX_TERMS = 22 };
    struct parse p = {.at = query, .event = event};
    bool result = true;
    expect(&p, "*");
    if (!p.failed && *p.at) {
        expect(&p, "[System[");
        result = any(&p);
        expect(&p, "]]");
    }
    *ret_valid = !p.failed && *p.at == 0 && p.terms <= MAX_TERMS;
    return *ret_valid && result;
}
