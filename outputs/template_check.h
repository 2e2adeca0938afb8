#ifndef ETWSHIP_OUTPUTS_TEMPLATE_CHECK_H
#define ETWSHIP_OUTPUTS_TEMPLATE_CHECK_H

#include "config/config_check.h"
#include "event/select/event_template.h"

/* What is wrong with the template ${*text}, the setting ${key}, is a fault at its place in it. */
void template_check(struct config_check *check, const char *key, const char *const *text,
    enum event_template_safety safety);

#endif
