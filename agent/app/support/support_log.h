#ifndef ETWSHIP_APP_SUPPORT_LOG_H
#define ETWSHIP_APP_SUPPORT_LOG_H

#include "app/config/app_config.h"
#include "base/buf.h"

/* The last part of the agent's log, for the support bundle. */

enum { SUPPORT_LOG_MAX_BYTES = 1024 * 1024, SUPPORT_LOG_PATH_BYTES = 4096 };

/* Find the log file of ${config}, which may be NULL, or the default one of a service. False: the
 * log is not in a file. */
bool support_log_path(const struct app_log *log, char path[SUPPORT_LOG_PATH_BYTES]);

/*
 * Append the last whole lines of the file ${path}, and of PATH.1 before it, SUPPORT_LOG_MAX_BYTES
 * together at most. Links are not followed: an account that may write to the folder could add any
 * file to the bundle.
 */
bool support_log_read(const char *path, struct buf *out, struct error *err);

#endif
