#ifndef ETWSHIP_APP_APP_LOOP_H
#define ETWSHIP_APP_APP_LOOP_H

#include "app/config/app_config.h"

/* Does an output write where a session reads? */
enum app_loop {
    APP_LOOP_NONE,
    APP_LOOP_WATCHED, /* beside what is read: into a folder that is looked through */
    APP_LOOP_READ,    /* into a file that is read, or that the session takes for one to read */
};

/*
 * What ${output} and ${session} have to do with each other, the worst of all paths; ${ret_pattern} is
 * that path as the session has it. Nothing if one of them is not enabled or not complete. Looks at
 * which files there are, since one file may have several names.
 */
enum app_loop app_loop_find(
    const struct app_output *output, const struct app_session *session, const char **ret_pattern);

/* Would who reads ${pattern} read the file ${path}, whether it is there or not? */
bool app_loop_is_read(const char *pattern, const char *path);

#endif
