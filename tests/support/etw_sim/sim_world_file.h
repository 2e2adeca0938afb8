#ifndef ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_WORLD_FILE_H
#define ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_WORLD_FILE_H

#include "support/etw_sim/etw_sim.h"
#include "support/etw_sim/sim_tdh.h"

/*
 * A simulated Windows from a text file, for programs that cannot call the simulator's set-up:
 * etwsim.dll and etwship-sim read the file that the environment variable ETWSIM_WORLD names.
 * Without it the world is empty: no provider, no session, the built-in kernel classes.
 *
 * One statement a line; words stand between blanks, in double quotes where they hold any;
 * `#` begins a comment. Paths are relative to the world file's folder. Numbers are decimal, or 0x
 * and hex. A provider is a GUID or a name that the world knows; names that it does not know get the
 * GUID that TraceLogging derives from them.
 *
 *   processors N
 *   windows BUILD                      19045
 *   logger MS                          10: how often full buffers leave a session's memory; 0: at
 *                                      once. What is written faster is lost, as on Windows
 *   heaps N                            0: so often each process allocates when a session of heaps
 *                                      starts that has its number
 *   own PID IMAGE                      the process that calls the functions
 *   not_administrator                  sessions are refused
 *   no_profile_privilege
 *   schemas PATH                       manifest, pack, or a folder of them: installed
 *   learn FILE.etl                     definitions that a trace carries: installed, too
 *   names FILE.tsv                     lines NAME<TAB>GUID: providers that TDH lists
 *   provider NAME [guid GUID] [kind manifest|tracelogging|classic] [pid N] [kernel] [error CODE]
 *            [unregistered]            a registered provider; CODE: what enabling it answers
 *   emit PROVIDER FILE.etl [rate N] [rounds N]
 *                                      replayed while a session has PROVIDER enabled, N events a
 *                                      second (1000), N times (for ever); `*`: all events of the
 *                                      file, while a system session runs
 *   session NAME [guid GUID] [mode N] [buffer KB] [flags N] [clock N] [control_error CODE]
 *           [open_error CODE]          runs from the start; real time unless a mode says otherwise
 *   process PID IMAGE [package NAME] [app NAME]
 *   calls PATH                         what is started and stopped is appended there, a line each:
 *                                      `start NAME CODE`, `stop NAME CODE`
 */
struct sim_world;

/*
 * A world whose `base` names a machine (sim_machine.h) takes from the file what TDH knows; the rest
 * is the machine's, which reads the same file.
 *
 * Make the world that ${path} describes and put its functions to use: etw_sim_world(), the table of
 * etw_sim_api(), sim_tdh_use(). ${path} NULL: the empty one. ${base}: what the file does not say
 * (zero where it leaves the choice to it). Its clock is that of the machine. NULL with ${err} set
 * ("FILE:LINE: what") if the file is wrong; what is only missing from the disk is told to ${warn},
 * which may be NULL, but for traces to replay.
 */
struct sim_world *sim_world_create(const char *path, const struct etw_sim_options *base,
    void (*warn)(void *self, const char *text), void *warn_self, struct error *err);
void sim_world_destroy(struct sim_world *world); /* NULL is fine */

struct etw_sim *sim_world_sim(struct sim_world *world);

#endif
