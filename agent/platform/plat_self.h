#ifndef ETWSHIP_PLATFORM_PLAT_SELF_H
#define ETWSHIP_PLATFORM_PLAT_SELF_H

#include <stdbool.h>
#include <stdint.h>

/* This process: its beginning, its id, what it has used, its streams. plat_signal.h has the
 * requests to stop it, plat_processes.h has the other processes. */

/*
 * Call first in main. On Windows the arguments become UTF-8 that lives as long as the process,
 * output is binary, consoles show UTF-8 and colours, and libraries are loaded from the system
 * folder only.
 */
void plat_process_init(int *argc, char ***argv);

/* CPU time of this process so far, user and system, in nanoseconds. */
uint64_t plat_cpu_ns(void);

/* Peak resident set of this process in bytes; 0 if unknown. */
uint64_t plat_peak_rss_bytes(void);

/* Id of this process. */
uint32_t plat_process_id(void);

/* True if the stream (1 stdout, 2 stderr) is a terminal. */
bool plat_is_terminal(int stream);

/* True if the user disables colours (NO_COLOR is set and not empty; no-color.org). */
bool plat_no_color(void);

#endif
