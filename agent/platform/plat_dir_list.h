#ifndef ETWSHIP_PLATFORM_PLAT_DIR_LIST_H
#define ETWSHIP_PLATFORM_PLAT_DIR_LIST_H

#include "base/text/glob.h"

/* Used by path patterns and folder listings. */

/* Kind of the entry at ${path}. */
enum glob_kind plat_dir_kind(const char *path);

/* List everything in ${folder} except "." and "..", in any order; ${each} returns false to stop.
 * False with ${err} set if the folder is unreadable. */
bool plat_dir_list(const char *folder, glob_entry_fn *each, void *self, struct error *err);

#endif
