#ifndef ETWSHIP_CONFIG_CONFIG_CHECK_H
#define ETWSHIP_CONFIG_CONFIG_CHECK_H

#include "config/config.h"

/*
 * How a module looks at settings of its own beyond what its rows say (two keys that belong together,
 * the parts of an address), and tells everything that is wrong in one go, each mistake at its value.
 * No I/O. Settings may be incomplete where their rows found mistakes: what is required may be NULL,
 * a wrong value has its default. What is then said of values that were not given is not shown.
 */
struct config_check;
typedef void config_check_fn(const void *settings, struct config_check *check);

/*
 * The value of ${size} bytes at ${member} is wrong. The text reads "KEY: what. what to do".
 * ${character}: which one of the bound text, from 0; CONFIG_FAULT_WHOLE: it concerns the value as a
 * whole.
 */
#define CONFIG_FAULT_WHOLE SIZE_MAX

void config_check_fault(struct config_check *check, const void *member, size_t size,
    size_t character, const char *format, ...) ETWSHIP_PRINTF(5, 6);

#define CONFIG_FAULT(check, member, ...) \
    config_check_fault((check), (member), sizeof(*(member)), CONFIG_FAULT_WHOLE, __VA_ARGS__)
#define CONFIG_FAULT_IN(check, member, character, ...) \
    config_check_fault((check), (member), sizeof(*(member)), (character), __VA_ARGS__)

/* For hosts: the same said of what ${config} has bound, whatever else is wrong with it. */
void config_check_say(const struct config *config, const void *member, size_t size,
    size_t character, const char *what, struct config_report *report);

/* For hosts: ask ${ask}, NULL is fine, and report what it finds of ${settings}, bound by
 * ${config}. */
void config_check_report(const struct config *config, config_check_fn *ask, const void *settings,
    struct config_report *report);

/* The same without a file: false with the first fault in ${err}. */
bool config_check_first(config_check_fn *ask, const void *settings, struct error *err);

#endif
