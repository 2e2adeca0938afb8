#ifndef ETWSHIP_PLATFORM_PLAT_CHILD_H
#define ETWSHIP_PLATFORM_PLAT_CHILD_H

#include "base/error.h"
#include "base/span.h"

/*
 * Programs that we started suspended, or processes that already run. They continue when we end. One
 * thread at a time each.
 */
struct plat_child;

/* The program in ${command_line}: a path in double quotes, which are required if it contains
 * blanks. Empty if a quote is not closed. Pure. */
struct span plat_child_program(const char *command_line);

/*
 * Start ${command_line} in ${folder}, suspended before its first instruction (CREATE_SUSPENDED).
 * Its first word must be the absolute path of the program. The program has this process's account
 * and environment, none of its files or streams, and a console of its own if it needs one. It ends
 * if this process ends before plat_child_go. NULL: ERR_IO, ERR_MEMORY.
 */
struct plat_child *plat_child_launch(
    const char *command_line, const char *folder, struct error *err);

/* Open the running process ${pid}. NULL: ERR_MISSING if there is none, ERR_IO. */
struct plat_child *plat_child_open(uint32_t pid, struct error *err);

uint32_t plat_child_pid(const struct plat_child *child);

/* Start time in the system's own unit. Together with the id it identifies the process, because ids
 * are reused. 0: unknown. */
uint64_t plat_child_started(const struct plat_child *child);

/* Resume a launched program. */
bool plat_child_go(struct plat_child *child, struct error *err);

/* True if it has ended. ${ret_code} (may be NULL): its exit code, UINT32_MAX if unknown. */
bool plat_child_has_ended(struct plat_child *child, uint32_t *ret_code);

/* End the process and wait for its end, but not longer than PLAT_CHILD_KILL_MS: the system may keep
 * it in a call. */
enum { PLAT_CHILD_KILL_MS = 10000 };
void plat_child_kill(struct plat_child *child);

/* Release it: it continues, except that a program that was never resumed is ended. NULL is fine. */
void plat_child_close(struct plat_child *child);

/* Call ${each} for the running processes of the program ${name} (`app.exe`, ignoring case on
 * Windows) until it returns false. */
bool plat_child_find(
    const char *name, bool (*each)(void *self, uint32_t pid), void *self, struct error *err);

#endif
