#ifndef ETWSHIP_PLATFORM_PLAT_SYSTEM_H
#define ETWSHIP_PLATFORM_PLAT_SYSTEM_H

#include "base/error.h"
#include "base/utf.h"

/* The machine and the process around us. */

/*
 * First of all in main: make the process ready. On Windows the arguments become UTF-8 that lives as
 * long as the process, output is written as it is, consoles show UTF-8 and colours, and libraries
 * are loaded from the system's folder only.
 */
void plat_process_init(int *argc, char ***argv);

/* Now, as FILETIME (100 ns since 1601, UTC). */
uint64_t plat_now_filetime(void);

/* How many seconds this machine's local time is ahead of UTC at FILETIME ${filetime}; 0 where the system
 * does not tell. */
int32_t plat_local_offset(uint64_t filetime);

/* Monotonic nanoseconds, for durations. */
uint64_t plat_monotonic_ns(void);

/* Wait; signals may end the wait early. */
void plat_sleep_ms(unsigned milliseconds);

/* CPU time of this process so far, user and system, in nanoseconds. */
uint64_t plat_cpu_ns(void);

/* Peak resident set of this process in bytes; 0 if the system does not tell. */
uint64_t plat_peak_rss_bytes(void);

/* The number of this process. */
uint32_t plat_process_id(void);

/* Is there a process with the number ${pid} now? */
bool plat_process_runs(uint32_t pid);

/* The path of the program that process ${pid} runs, if it did so at FILETIME ${time} already. False: it
 * has ended, or this system is not asked (Linux). */
bool plat_process_image(uint32_t pid, uint64_t time, char *path, size_t size);

/* Host name as UTF-8, cut to ${size} with its terminator; "" if unknown. */
void plat_host_name(char *name, size_t size);

/* Random bytes good enough for ids. */
bool plat_random(void *data, size_t size, struct error *err);

/* Has this system Event Tracing for Windows? */
bool plat_has_etw(void);

/* Is the stream (1 stdout, 2 stderr) a terminal? */
bool plat_is_terminal(int stream);

/* Does the user want no colours (NO_COLOR is set and not empty; no-color.org)? */
bool plat_no_color(void);

/* Where the configuration lies if the user names none. Static. */
const char *plat_default_config_path(void);

/*
 * Where the agent's data lies if the user names no folder: %ProgramData%\etwship; /var/lib/etwship
 * for root, else below $XDG_STATE_HOME or ~/.local/state (XDG Base Directory Specification 0.8). NULL
 * if there is no such place: no home. Static.
 */
const char *plat_default_data_folder(void);

/*
 * Fill ${page} for Windows code page ${id}. Double-byte pages allocate `pairs`, which
 * plat_codepage_fini frees. False if the system does not know the page.
 */
bool plat_codepage_init(struct codepage *page, uint32_t id, struct error *err);
void plat_codepage_fini(struct codepage *page);

/*
 * What ends a group of processes often sends two signals at once (timeout, a shell, a container's
 * init). Those that come within this time of the first are the same request to stop.
 */
enum { PLAT_STOP_REPEAT_MS = 500 };

/*
 * Ask for orderly ends: after the first SIGINT or SIGTERM (Ctrl-C, service stop) ${stop} is called
 * once on a thread of the platform layer; a second signal, PLAT_STOP_REPEAT_MS or more after the
 * first, ends the process with exit code 130. A closed pipe is reported by writes, not by a
 * signal. Call once per process.
 */
bool plat_on_stop(void (*stop)(void *self), void *self, struct error *err);

/* What is still to be done when a second signal ends the process: ${last} is called on a thread of the
 * platform layer before it does. A third signal waits for nothing. NULL: nothing any more. */
void plat_on_kill(void (*last)(void *self), void *self);

/* As plat_on_stop for SIGHUP, any number of times: ${hangup} is called once for those that came since it
 * was called last. Windows has no such signal. */
bool plat_on_hangup(void (*hangup)(void *self), void *self, struct error *err);

#endif
