#ifndef ETWSHIP_APP_APP_LOOP_H
#define ETWSHIP_APP_APP_LOOP_H

#include "app/config/app_config.h"

/* Does an output write into what a session reads? */
enum app_loop {
    APP_LOOP_NONE,
    APP_LOOP_WATCHED, /* near what is read: into a folder that the session searches */
    APP_LOOP_READ,    /* into a file that is read, or that the session takes for one to read */
};

/*
 * How ${output} and ${session} conflict: the worst case of all paths. ${ret_pattern} is that path
 * as the session has it. No conflict if one of them is disabled or incomplete. Looks at the files
 * that exist, since one file may have several names.
 */
enum app_loop app_loop_find(
    const struct app_output *output, const struct app_session *session, const char **ret_pattern);

/* Would a session that reads ${pattern} read the file ${path}, which need not exist? */
bool app_loop_is_read(const char *pattern, const char *path);

#endif
