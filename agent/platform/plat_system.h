#ifndef ETWSHIP_PLATFORM_PLAT_SYSTEM_H
#define ETWSHIP_PLATFORM_PLAT_SYSTEM_H

#include "base/error.h"
#include "base/utf.h"

/* The machine and this process. */

/*
 * Call first in main. On Windows the arguments become UTF-8 that lives as long as the process,
 * output is binary, consoles show UTF-8 and colours, and libraries are loaded from the system
 * folder only.
 */
void plat_process_init(int *argc, char ***argv);

/* The present time as FILETIME (100 ns since 1601, UTC). */
uint64_t plat_now_filetime(void);

/* Seconds that local time is ahead of UTC at FILETIME ${filetime}; 0 if unknown. */
int32_t plat_local_offset(uint64_t filetime);

/* Monotonic nanoseconds, for durations. */
uint64_t plat_monotonic_ns(void);

/* Sleep; a signal may end the sleep early. */
void plat_sleep_ms(unsigned milliseconds);

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

/* Host name as UTF-8, cut to ${size} with its terminator; "" if unknown. */
void plat_host_name(char *name, size_t size);

/* Random bytes for ids. */
bool plat_random(void *data, size_t size, struct error *err);

/* True if this system has Event Tracing for Windows. */
bool plat_has_etw(void);

/* True if the stream (1 stdout, 2 stderr) is a terminal. */
bool plat_is_terminal(int stream);

/* True if the user disables colours (NO_COLOR is set and not empty; no-color.org). */
bool plat_no_color(void);

/* Default path of the configuration. Static. */
const char *plat_default_config_path(void);

/*
 * Default folder of the agent's data: %ProgramData%\etwship; /var/lib/etwship for root, else below
 * $XDG_STATE_HOME or ~/.local/state (XDG Base Directory Specification 0.8). NULL if there is none,
 * because there is no home. Static.
 */
const char *plat_default_data_folder(void);

/*
 * Fill ${page} for Windows code page ${id}. Double-byte pages allocate `pairs`, which
 * plat_codepage_fini frees. False if the system does not know the page.
 */
bool plat_codepage_init(struct codepage *page, uint32_t id, struct error *err);
void plat_codepage_fini(struct codepage *page);

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
