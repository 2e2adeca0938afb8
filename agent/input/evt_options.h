#ifndef ETWSHIP_INPUT_EVT_OPTIONS_H
#define ETWSHIP_INPUT_EVT_OPTIONS_H

#include "config/config_check.h"
#include "input/evt_rule.h"

/* Settings of a session of channels of the Windows Event Log (`type: eventlog`). */

enum evt_start { EVT_START_OLDEST, EVT_START_NOW };

struct evt_settings {
    struct config_list channels; /* struct evt_channel_settings */
    int start;                   /* enum evt_start: of channels that were never read */
    uint64_t max_age_ns;         /* CONFIG_NEVER: of any age */
    bool messages;
    const char *language; /* NULL: the system's */
};

extern const struct config_field evt_options_fields[];

void evt_options_check(const void *settings, struct config_check *check);

/* Warns of what cannot be meant. */
void evt_options_doubt(const void *settings, struct config_check *check);

/* Append, for people, what Windows is asked for: lines that begin with ${indent}. */
void evt_options_words(const void *settings, const char *indent, struct buf *out);

/* The rules of ${settings}, which outlive them: to be freed. NULL with ${err} set. */
struct evt_rule *evt_options_rules(const struct evt_settings *settings, struct error *err);

#endif
