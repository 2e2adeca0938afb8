#ifndef ETWSHIP_CONFIG_CONFIG_CHECK_H
#define ETWSHIP_CONFIG_CONFIG_CHECK_H

#include "config/config.h"

/*
 * How a module checks its settings beyond its rows (two keys that belong together, the parts of an
 * address). It reports all errors in one call, each at its value. No I/O. Settings may be
 * incomplete if their rows had errors: a required value may be NULL, a wrong value has its default.
 * Errors of values that were not given are not shown then.
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

/* For hosts: report an error of what ${config} has bound in this form,
 * whatever other errors it has. */
void config_check_say(const struct config *config, const void *member, size_t size,
    size_t character, const char *what, struct config_report *report);

/* For hosts: call ${ask} (may be NULL), and report the errors that it finds in ${settings}, bound
 * by ${config}. */
void config_check_report(const struct config *config, config_check_fn *ask, const void *settings,
    struct config_report *report);

/* Without a file: false with the first error in ${err}. */
bool config_check_first(config_check_fn *ask, const void *settings, struct error *err);

#endif
