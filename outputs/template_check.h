#ifndef ETWSHIP_OUTPUTS_TEMPLATE_CHECK_H
#define ETWSHIP_OUTPUTS_TEMPLATE_CHECK_H

#include "config/config_check.h"
#include "event/select/event_template.h"

/* Report an error in the template ${*text} of the setting ${key}, at its place in the text. */
void template_check(struct config_check *check, const char *key, const char *const *text,
    enum event_template_safety safety);

#endif
