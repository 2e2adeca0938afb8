#ifndef ETWSHIP_PLATFORM_PLAT_TREE_H
#define ETWSHIP_PLATFORM_PLAT_TREE_H

#include "base/error.h"

/*
 * Remove the folder ${path} with all that is in it. Links are removed and not followed, wherever they
 * lead. One that is not there is no failure. What cannot be removed stays, and the first such is named;
 * the rest is removed all the same.
 */
bool plat_tree_remove(const char *path, struct error *err);

#endif
