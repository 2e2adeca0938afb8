#ifndef ETWSHIP_PLATFORM_PLAT_TREE_H
#define ETWSHIP_PLATFORM_PLAT_TREE_H

#include "base/error.h"

/*
 * Remove the folder ${path} with its content. Links are removed, not followed. A missing folder is
 * no failure. Entries that cannot be removed stay, and the first is reported; everything else is
 * removed.
 */
bool plat_tree_remove(const char *path, struct error *err);

#endif
