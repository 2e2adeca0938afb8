#ifndef ETWSHIP_INPUT_EVT_RULE_H
#define ETWSHIP_INPUT_EVT_RULE_H

#include "base/buf.h"
#include "event/record.h"
#include "input/provider_spec.h"

/*
 * Which records of a channel are wanted, and the query that has Windows itself leave out others. Windows knows a part
 * of XPath 1.0 (consuming-events on learn.microsoft.com) and takes few terms; so the query may say less than the
 * rule, and never more: what Windows hands over is held to the whole rule here.
 */

/* An element of `channels`. */
struct evt_channel_settings {
    const char *name; /* of a channel, or a pattern of names */
    struct config_strings ids;
    struct config_strings levels;
    struct config_strings providers;
    const char *query; /* XPath; NULL: none */
};

struct evt_rule {
    const char *name; /* borrowed, as all texts */
    struct provider_events ids;
    uint32_t levels[8]; /* a bit for each, if there are any */
    bool has_levels;
    struct config_strings providers; /* compared as they are written, as XPath does; none: all */
    const char *query;
    uint64_t max_age_ns; /* 0: of any age */
};

/* Read ${settings}. False: the first thing that is wrong is in ${err}, and ${ret_member} the value that it is about. */
bool evt_rule_read(const struct evt_channel_settings *settings, struct evt_rule *ret_rule,
    const void **ret_member, struct error *err);

/* Is the name a pattern? */
bool evt_rule_is_pattern(const struct evt_rule *rule);

/* Does the rule want a record of ${provider}? ${now}: FILETIME. */
bool evt_rule_keeps(const struct evt_rule *rule, const struct event_record *record,
    struct span provider, uint64_t now);

/* How many terms Windows takes in a query. */
enum { EVT_RULE_TERMS = 22 };

/* Append the query as UTF-8. Returns whether it says all that the rule does. */
bool evt_rule_write_query(const struct evt_rule *rule, struct buf *out);

#endif
