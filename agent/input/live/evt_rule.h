#ifndef ETWSHIP_INPUT_EVT_RULE_H
#define ETWSHIP_INPUT_EVT_RULE_H

#include "base/buf.h"
#include "event/model/record.h"
#include "input/live/evt_scope.h"
#include "input/live/provider_spec.h"

/*
 * The records of a channel that a session wants, and a query with which Windows leaves out others.
 * Windows supports a part of XPath 1.0 (consuming-events on learn.microsoft.com) and few terms. So
 * the query may select more records than the rule, never fewer, and the agent applies the whole
 * rule to each record.
 */

/* An element of `channels`. */
struct evt_channel_settings {
    const char *name; /* name of a channel, or a pattern */
    struct config_strings ids;
    struct config_strings levels;
    struct config_strings providers;
    const char *query; /* XPath; NULL: none */
};

struct evt_rule {
    const char *name; /* borrowed, like all texts here */
    struct provider_events ids;
    uint32_t levels[8]; /* one bit for each level, if has_levels */
    bool has_levels;
    struct config_strings providers; /* compared exactly, as in XPath; none: all */
    const char *query;
    uint64_t max_age_ns;           /* 0: no limit */
    const struct evt_scope *scope; /* what rules of the agent keep; NULL: all */
};

/* Read ${settings}. False: ${err} has the first error, and ${ret_member} points to the wrong
 * value. */
bool evt_rule_read(const struct evt_channel_settings *settings, struct evt_rule *ret_rule,
    const void **ret_member, struct error *err);

/* True if the name is a pattern. */
bool evt_rule_is_pattern(const struct evt_rule *rule);

/* True if the rule wants the record of ${provider}. ${now}: FILETIME. */
bool evt_rule_keeps(const struct evt_rule *rule, const struct event_record *record,
    struct span provider, uint64_t now);

/* Maximum number of terms that Windows accepts in a query. */
enum { EVT_RULE_TERMS = 22 };

/* True if the query leaves out events that rules of the agent do not keep. */
bool evt_rule_is_narrowed(const struct evt_rule *rule);

/* Append the query as UTF-8. It leaves out what rules of the agent drop, as far as the rule itself
 * leaves terms for that. True: the query selects exactly the records of the rule, or those of them
 * that rules of the agent may keep. */
bool evt_rule_write_query(const struct evt_rule *rule, struct buf *out);

#endif
