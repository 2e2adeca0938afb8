#ifndef ETWSHIP_CONFIG_CONFIG_OVERRIDE_H
#define ETWSHIP_CONFIG_CONFIG_OVERRIDE_H

#include "config/config_tree.h"

/* Apply "KEY=VALUE" (struct config_additions) to a tree whose root is a mapping. Errors are
 * reported under the name `${origin} KEY`. */
void config_override_apply(struct config_tree *tree, const char *origin, const char *text);

#endif
