#ifndef ETWSHIP_CLI_LEFT_AUTOLOGGERS_H
#define ETWSHIP_CLI_LEFT_AUTOLOGGERS_H

/* Remove the autologgers of etwship (etw/etw_autologger.h) when no agent will read their files any
 * more. Reports each: on stdout, or as a warning if it cannot be removed. */
void left_autologgers_remove(void);

#endif
