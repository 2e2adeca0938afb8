#ifndef ETWSHIP_INPUT_EVT_OPTIONS_H
#define ETWSHIP_INPUT_EVT_OPTIONS_H

#include "config/config_check.h"
#include "input/live/evt_rule.h"

/* Settings of a session of channels of the Windows Event Log (`type: eventlog`). */

enum evt_start { EVT_START_OLDEST, EVT_START_NOW };

struct evt_settings {
    struct config_list channels; /* struct evt_channel_settings */
    int start;                   /* enum evt_start, for channels without a bookmark */
    uint64_t max_age_ns;         /* CONFIG_NEVER: no limit */
    bool messages;
    const char *language; /* NULL: the system's */
};

extern const struct config_field evt_options_fields[];

void evt_options_check(const void *settings, struct config_check *check);

/* Warn about settings that are valid but probably not intended. */
void evt_options_warnings(const void *settings, struct config_check *check);

/* Append a description of the request to Windows, in lines that begin with ${indent}. */
void evt_options_words(
    const void *settings, const struct evt_scope *scope, const char *indent, struct buf *out);

/* The rules of ${settings}, one for each channel; the settings and the ${scope}, which may be NULL,
 * must outlive them. The caller frees them. NULL with ${err} set. */
struct evt_rule *evt_options_rules(
    const struct evt_settings *settings, const struct evt_scope *scope, struct error *err);

#endif
