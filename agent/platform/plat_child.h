#ifndef ETWSHIP_PLATFORM_PLAT_CHILD_H
#define ETWSHIP_PLATFORM_PLAT_CHILD_H

#include "base/error.h"
#include "base/span.h"

/*
 * Programs that somebody looks after: started by us, halted at first, or running already. They go on
 * when we end. One thread at a time for each.
 */
struct plat_child;

/* The program that ${command_line} begins with: a path that may stand in double quotes, and must if it
 * holds blanks. Empty if a quote is not closed. Pure. */
struct span plat_child_program(const char *command_line);

/*
 * Start what ${command_line} says, whose first word is the absolute path of the program, in ${folder}:
 * halted, before its first instruction (CREATE_SUSPENDED). It has this process's account and
 * environment, no files or streams of it, and, if it writes to a console, one of its own. If this
 * process ends before plat_child_go, so does it. NULL: ERR_IO, ERR_MEMORY.
 */
struct plat_child *plat_child_launch(
    const char *command_line, const char *folder, struct error *err);

/* The process ${pid}, which runs. NULL: ERR_MISSING if there is none, ERR_IO. */
struct plat_child *plat_child_open(uint32_t pid, struct error *err);

uint32_t plat_child_pid(const struct plat_child *child);

/* When it was started, in the system's own unit: with its number it is this process, and not a later one
 * of that number. 0: unknown. */
uint64_t plat_child_started(const struct plat_child *child);

/* Let one that was launched run. */
bool plat_child_go(struct plat_child *child, struct error *err);

/* Has it ended? ${ret_code}, which may be NULL: its exit code, UINT32_MAX if that is unknown. */
bool plat_child_has_ended(struct plat_child *child, uint32_t *ret_code);

/* End it, and wait until it has ended. */
void plat_child_kill(struct plat_child *child);

/* Look after it no more: it goes on, but one that never ran is ended. NULL is fine. */
void plat_child_close(struct plat_child *child);

/* Call ${each} with the processes that run now and whose program is called ${name} (`app.exe`, without
 * regard to case on Windows) until it returns false. */
bool plat_child_find(
    const char *name, bool (*each)(void *self, uint32_t pid), void *self, struct error *err);

#endif
