#include "input/live/evt_rule.h"

#include "platform/plat_clock.h"

#include <string.h>

static const uint64_t ns_per_unit = 100; /* of FILETIME */

/* Like the Event Viewer, treat events that are always logged as information. */
enum { LEVEL_ALWAYS = 0, LEVEL_INFORMATION = 4 };

static void set_level(struct evt_rule *rule, uint8_t level)
{
    rule->levels[level / 32] |= UINT32_C(1) << level % 32;
}

static bool has_level(const struct evt_rule *rule, unsigned level)
{
    return rule->levels[level / 32] >> level % 32 & 1;
}

static bool read_levels(const struct evt_channel_settings *settings, struct evt_rule *rule,
    const void **ret_member, struct error *err)
{
    for (size_t i = 0; i < settings->levels.count; i++) {
        uint8_t level;
        *ret_member = &settings->levels.items[i];
        struct error why;
        if (!provider_spec_parse_level(span_text(settings->levels.items[i]), &level, &why)) {
            return error_set(err, why.code, "levels: %s", why.text);
        }
        set_level(rule, level);
        rule->has_levels = true;
    }
    if (has_level(rule, LEVEL_INFORMATION)) {
        set_level(rule, LEVEL_ALWAYS);
    }
    return true;
}

bool evt_rule_read(const struct evt_channel_settings *settings, struct evt_rule *ret_rule,
    const void **ret_member, struct error *err)
{
    struct evt_rule rule = {
        .name = settings->name, .providers = settings->providers, .query = settings->query};
    for (size_t i = 0; i < settings->ids.count; i++) {
        *ret_member = &settings->ids.items[i];
        struct error why;
        if (!provider_spec_add_range(&rule.ids, span_text(settings->ids.items[i]), &why)) {
            return error_set(err, why.code, "ids: %s", why.text);
        }
    }
    if (!read_levels(settings, &rule, ret_member, err)) {
        return false;
    }
    *ret_rule = rule;
    return true;
}

bool evt_rule_is_pattern(const struct evt_rule *rule)
{
    return strpbrk(rule->name, "*?") != NULL;
}

/* ---- what is wanted -------------------------------------------------------------------------- */

static bool has_id(const struct provider_events *ids, uint16_t id)
{
    for (size_t i = 0; i < ids->range_count; i++) {
        if (id >= ids->ranges[i].first && id <= ids->ranges[i].last) {
            return true;
        }
    }
    return ids->range_count == 0;
}

static bool has_provider(const struct config_strings *providers, struct span provider)
{
    for (size_t i = 0; i < providers->count; i++) {
        if (span_is(provider, providers->items[i])) {
            return true;
        }
    }
    return providers->count == 0;
}

bool evt_rule_keeps(const struct evt_rule *rule, const struct event_record *record,
    struct span provider, uint64_t now)
{
    uint64_t age = now > record->time ? now - record->time : 0;
    return has_id(&rule->ids, record->descriptor.id) &&
           (!rule->has_levels || has_level(rule, record->descriptor.level)) &&
           has_provider(&rule->providers, provider) &&
           (rule->max_age_ns == 0 || age <= rule->max_age_ns / ns_per_unit);
}

/* ---- the query ------------------------------------------------------------------------------- */

struct query {
    struct buf *out;
    size_t terms; /* number of terms that may still be added */
    bool is_whole;
    bool has_any;
};

/* Begin a part of ${terms} terms, with `and` before it. False: Windows would refuse so many. */
static bool begin(struct query *q, size_t terms)
{
    if (terms > q->terms) {
        q->is_whole = false;
        return false;
    }
    q->terms -= terms;
    if (q->has_any) {
        buf_add_text(q->out, " and ");
    }
    q->has_any = true;
    return true;
}

/* The quote around ${text} in XPath, which cannot escape quotes; 0: the text contains both
 * kinds. */
static char quote_of(const char *text)
{
    return !strchr(text, '\'') ? '\'' : !strchr(text, '"') ? '"' : 0;
}

static void add_providers(struct query *q, const struct config_strings *providers)
{
    for (size_t i = 0; i < providers->count; i++) {
        if (!quote_of(providers->items[i])) {
            q->is_whole = false;
            return;
        }
    }
    if (providers->count == 0 || !begin(q, providers->count)) {
        return;
    }
    buf_add_text(q->out, "Provider[");
    for (size_t i = 0; i < providers->count; i++) {
        char quote = quote_of(providers->items[i]);
        buf_printf(q->out, "%s@Name=%c%s%c", i ? " or " : "", quote, providers->items[i], quote);
    }
    buf_add_byte(q->out, ']');
}

/* The ranges of one part, in parentheses: `(EventID=1 or (EventID>=3 and EventID<=5))`. */
static void add_ranges(
    struct query *q, const char *name, const struct provider_id_range *ranges, size_t count)
{
    size_t terms = 0;
    for (size_t i = 0; i < count; i++) {
        terms += ranges[i].first == ranges[i].last ? 1 : 2;
    }
    if (count == 0 || !begin(q, terms)) {
        return;
    }
    buf_add_byte(q->out, '(');
    for (size_t i = 0; i < count; i++) {
        const char *joint = i ? " or " : "";
        if (ranges[i].first == ranges[i].last) {
            buf_printf(q->out, "%s%s=%u", joint, name, ranges[i].first);
        } else {
            buf_printf(q->out, "%s(%s>=%u and %s<=%u)", joint, name, ranges[i].first, name,
                ranges[i].last);
        }
    }
    buf_add_byte(q->out, ')');
}

static void add_levels(struct query *q, const struct evt_rule *rule)
{
    enum { LEVELS = 256 };
    struct provider_id_range ranges[LEVELS / 2];
    size_t count = 0;
    for (unsigned level = 0; rule->has_levels && level < LEVELS; level++) {
        if (!has_level(rule, level)) {
            continue;
        }
        if (count && ranges[count - 1].last + 1u == level) {
            ranges[count - 1].last = (uint16_t)level;
        } else {
            ranges[count++] = (struct provider_id_range){(uint16_t)level, (uint16_t)level};
        }
    }
    add_ranges(q, "Level", ranges, count);
}

/* ---- what the agent's own rules keep --------------------------------------------------------- */

struct id_runs {
    struct provider_id_range ranges[EVT_RULE_TERMS];
    size_t count;
    size_t terms;
    bool too_many;
};

/* The ids that the scope keeps, or drops if ${dropped}, as ranges. Ids that the rule does not want
 * may lie on either side, so they are left out. */
static struct id_runs find_runs(const struct evt_rule *rule, bool dropped)
{
    struct id_runs runs = {.count = 0};
    bool is_open = false;
    for (uint32_t id = 0; id < EVT_SCOPE_IDS && !runs.too_many; id++) {
        if (evt_scope_has_id(rule->scope, id) == dropped || !has_id(&rule->ids, (uint16_t)id)) {
            is_open = false;
            continue;
        }
        if (is_open) {
            struct provider_id_range *last = &runs.ranges[runs.count - 1];
            runs.terms += last->first == last->last;
            last->last = (uint16_t)id;
            continue;
        }
        runs.too_many = runs.count == EVT_RULE_TERMS;
        if (!runs.too_many) {
            runs.ranges[runs.count++] = (struct provider_id_range){(uint16_t)id, (uint16_t)id};
            runs.terms++;
            is_open = true;
        }
    }
    return runs;
}

/* `EventID!=1 and (EventID<3 or EventID>5)` */
static void add_dropped(struct query *q, const struct id_runs *runs)
{
    if (!begin(q, runs->terms)) {
        return;
    }
    for (size_t i = 0; i < runs->count; i++) {
        const char *joint = i ? " and " : "";
        const struct provider_id_range *range = &runs->ranges[i];
        if (range->first == range->last) {
            buf_printf(q->out, "%sEventID!=%u", joint, range->first);
        } else {
            buf_printf(q->out, "%s(EventID<%u or EventID>%u)", joint, range->first, range->last);
        }
    }
}

static bool drops_ids(const struct evt_rule *rule)
{
    for (uint32_t id = 0; rule->scope && rule->scope->ids && id < EVT_SCOPE_IDS; id++) {
        if (has_id(&rule->ids, (uint16_t)id) && !evt_scope_has_id(rule->scope, id)) {
            return true;
        }
    }
    return false;
}

static bool drops_levels(const struct evt_rule *rule)
{
    unsigned level = rule->scope ? rule->scope->level + 1u : EVT_SCOPE_EVERY_LEVEL + 1u;
    while (level <= EVT_SCOPE_EVERY_LEVEL && rule->has_levels && !has_level(rule, level)) {
        level++;
    }
    return level <= EVT_SCOPE_EVERY_LEVEL;
}

/* Events that the scope drops are not wanted, so the query remains complete without them. */
static void add_scope(struct query *q, const struct evt_rule *rule)
{
    bool was_whole = q->is_whole;
    if (drops_ids(rule)) {
        struct id_runs kept = find_runs(rule, false);
        struct id_runs dropped = find_runs(rule, true);
        if (!dropped.too_many && (kept.too_many || kept.count == 0 || dropped.terms < kept.terms)) {
            add_dropped(q, &dropped);
        } else if (!kept.too_many) {
            add_ranges(q, "EventID", kept.ranges, kept.count);
        }
    }
    if (drops_levels(rule) && begin(q, 1)) {
        buf_printf(q->out, "Level<=%u", rule->scope->level);
    }
    q->is_whole = was_whole;
}

bool evt_rule_is_narrowed(const struct evt_rule *rule)
{
    return !rule->query && (drops_ids(rule) || drops_levels(rule));
}

bool evt_rule_write_query(const struct evt_rule *rule, struct buf *out)
{
    struct query q = {.out = out, .terms = EVT_RULE_TERMS, .is_whole = true};
    bool has_own = rule->ids.range_count || rule->has_levels || rule->providers.count ||
                   rule->max_age_ns;
    if (rule->query) {
        buf_add_text(out, rule->query);
        return !has_own;
    }
    if (!has_own && !evt_rule_is_narrowed(rule)) {
        buf_add_byte(out, '*');
        return true;
    }
    size_t start = out->size;
    buf_add_text(out, "*[System[");
    /* one more, because the event ages until it is queried */
    if (rule->max_age_ns && begin(&q, 1)) {
        unsigned long long max_ms = rule->max_age_ns / NS_PER_MS + 1;
        buf_printf(out, "TimeCreated[timediff(@SystemTime) <= %llu]", max_ms);
    }
    add_levels(&q, rule);
    add_providers(&q, &rule->providers);
    add_ranges(&q, "EventID", rule->ids.ranges, rule->ids.range_count);
    add_scope(&q, rule);
    buf_add_text(out, "]]");
    if (!q.has_any) {
        out->size = start;
        buf_add_byte(out, '*');
    }
    return q.is_whole;
}
