#ifndef ETWSHIP_PLATFORM_PLAT_PROCESS_H
#define ETWSHIP_PLATFORM_PLAT_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* This process: its beginning, what it has used, its streams, requests to stop it; and whether
 * another one, known by its id, runs. plat_processes.h lists all. */

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

/* True if a process with the id ${pid} exists now. */
bool plat_process_runs(uint32_t pid);

/* Path of the program of process ${pid} if it already ran at FILETIME ${time}. False: it has ended,
 * or the system does not support this (Linux). */
bool plat_process_image(uint32_t pid, uint64_t time, char *path, size_t size);

/* True if the stream (1 stdout, 2 stderr) is a terminal. */
bool plat_is_terminal(int stream);

/* True if the user disables colours (NO_COLOR is set and not empty; no-color.org). */
bool plat_no_color(void);

/*
 * A group of processes often receives two signals at once (from timeout, a shell, a container's
 * init). Signals within this time of the first are part of one request to stop.
 */
enum { PLAT_STOP_REPEAT_MS = 500 };

/*
 * Handle requests to stop: after the first SIGINT or SIGTERM (Ctrl-C, service stop), ${stop} is
 * called once on a thread of the platform layer; a second signal, PLAT_STOP_REPEAT_MS or more after
 * the first, ends the process with exit code 130. Writes report a closed pipe; there is no signal
 * for it. Call once per process.
 */
bool plat_on_stop(void (*stop)(void *self), void *self, struct error *err);

/* Register a last action for when a second signal ends the process: ${last} is called before that
 * on a thread of the platform layer. A third signal does not wait for it. NULL: none. */
void plat_on_kill(void (*last)(void *self), void *self);

/* Like plat_on_stop for SIGHUP, any number of times: ${hangup} is called once for all that arrived
 * since its last call. Windows has no such signal. */
bool plat_on_hangup(void (*hangup)(void *self), void *self, struct error *err);

#endif
