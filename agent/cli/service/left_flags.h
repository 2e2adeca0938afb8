#ifndef ETWSHIP_CLI_LEFT_FLAGS_H
#define ETWSHIP_CLI_LEFT_FLAGS_H

/* Restore TracingFlags (etw/etw_image_flags.h) left by a killed agent when no agent will do so any
 * more. Reports each: on stdout, or as a warning if it cannot be restored. */
void left_flags_put_back(void);

#endif
