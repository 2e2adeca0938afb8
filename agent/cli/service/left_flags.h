#ifndef ETWSHIP_CLI_LEFT_FLAGS_H
#define ETWSHIP_CLI_LEFT_FLAGS_H

/* Put back TracingFlags (etw/etw_image_flags.h) that a killed agent has left, where no agent will come any
 * more that would. Each is told: on stdout, or as a warning if it cannot be put back. */
void left_flags_put_back(void);

#endif
