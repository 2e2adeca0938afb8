#ifndef ETWSHIP_TESTS_SUPPORT_SQLITE_MODEL_VFS_H
#define ETWSHIP_TESTS_SUPPORT_SQLITE_MODEL_VFS_H

#include "support/disk_model.h"

/*
 * SQLite's files on a disk_model: while one is installed, databases that are opened without naming
 * a VFS lie there. What SQLite shares and locks between connections (of this process, on one
 * thread) is kept in memory, so a killed or powered-off agent is one whose connections were closed
 * after the disk had stopped. Assumed is what SQLite assumes of the system's files: a write that is
 * cut short by a loss of power changes no bytes but its own.
 */

/* NULL: out of memory. One at a time. */
struct sqlite_model_vfs;
struct sqlite_model_vfs *sqlite_model_vfs_install(struct disk_model *model);

/* All connections are closed. The system's files are used again. */
void sqlite_model_vfs_remove(struct sqlite_model_vfs *vfs);

#endif
