#ifndef ETWSHIP_CLI_LEFT_AUTOLOGGERS_H
#define ETWSHIP_CLI_LEFT_AUTOLOGGERS_H

/* Remove the autologgers (etw/etw_autologger.h) that are ours, where no agent will come any more that would read
 * what they write. Each is told: on stdout, or as a warning if it cannot be removed. */
void left_autologgers_remove(void);

#endif
