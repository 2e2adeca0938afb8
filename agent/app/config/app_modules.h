#ifndef ETWSHIP_APP_APP_MODULES_H
#define ETWSHIP_APP_APP_MODULES_H

#include "app/config/app_config.h"

/* The modules of this build. After its inputs follow those that are known
 * but not part of it. Static. */
const struct app_registry *app_modules(void);

#endif
