#ifndef ETWSHIP_APP_DATA_FOLDER_H
#define ETWSHIP_APP_DATA_FOLDER_H

#include "base/error.h"

/* agent.data_dir: what the agent keeps over restarts. One agent at a time has it. */

struct plat_lock;

enum { DATA_FOLDER_PATH_BYTES = 4096 };

/* The folder for files of outputs (output_env.folder). */
#define DATA_FOLDER_OUTPUTS "outputs"

/* ${path} = folder/name. False (ERR_CONFIG) if that is too long. */
bool data_folder_path(
    const char *folder, const char *name, char path[DATA_FOLDER_PATH_BYTES], struct error *err);

/*
 * Make the folder if needed, and hold it by its file `lock`, to be let go with plat_lock_drop.
 * NULL if another agent holds it (ERR_STOPPED, the text names its process), or if it cannot be
 * used.
 */
struct plat_lock *data_folder_take(const char *folder, struct error *err);

/* Free bytes on the disk of ${folder}, or of the place where it will be created. False: unknown. */
bool data_folder_free(const char *folder, uint64_t *ret_bytes);

#endif
