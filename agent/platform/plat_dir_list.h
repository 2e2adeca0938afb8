#ifndef ETWSHIP_PLATFORM_PLAT_DIR_LIST_H
#define ETWSHIP_PLATFORM_PLAT_DIR_LIST_H

#include "base/glob.h"

/* For patterns of paths, and for lists of folders. */

/* What lies at ${path}. */
enum glob_kind plat_dir_kind(const char *path);

/* Everything in ${folder} but "." and "..", in no order; ${each} returns false to stop. False with
 * ${err} set if the folder cannot be read. */
bool plat_dir_list(const char *folder, glob_entry_fn *each, void *self, struct error *err);

#endif
