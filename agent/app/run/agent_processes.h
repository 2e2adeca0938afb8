#ifndef ETWSHIP_APP_AGENT_PROCESSES_H
#define ETWSHIP_APP_AGENT_PROCESSES_H

#include "app/log/log.h"
#include "app/plan/agent_plan.h"
#include "process/process_table.h"

/*
 * The processes of events (process_context of sessions). Live sessions share one table, as they are of one
 * machine: what one of them hears of a process names the events of all. It stays over reloads, since Windows
 * does not report again which processes run. Recorded traces have one each.
 */
struct agent_processes {
    struct account_names *names;
    struct process_table *live; /* NULL: no session has wanted it yet */
};

void agent_processes_fini(struct agent_processes *processes); /* zero-initialised is fine */

/* How many tables the sessions of a plan have. */
size_t agent_processes_count(const struct agent_plan *plan);

/* Give every session of ${plan} that wants one its table. ${ret_tables}, one for each session, gets those
 * that are the agent's, to be destroyed with the pipeline gone. ${memory_bytes}: agent.memory. False
 * with ${err} set. */
bool agent_processes_plan(struct agent_processes *processes, struct agent_plan *plan,
    size_t memory_bytes, struct process_table **ret_tables, struct error *err);

/* Log a warning for each table that has begun to evict names of files, once. ${tables}: those that
 * agent_processes_plan gave. */
void agent_processes_warn(const struct agent_processes *processes, const struct agent_plan *plan,
    struct process_table *const *tables, struct log *log);

/* Add the running processes to the table of live sessions, if this system lists them. The sessions run already:
 * they report processes that start later. */
void agent_processes_look(struct agent_processes *processes);

#endif
