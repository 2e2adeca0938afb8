#ifndef ETWSHIP_APP_AGENT_PROCESS_TABLES_H
#define ETWSHIP_APP_AGENT_PROCESS_TABLES_H

#include "app/log/log.h"
#include "app/plan/agent_plan.h"
#include "process/process_table.h"

/*
 * The processes of events (process_context of sessions). Live sessions share one table, as they are
 * of one machine: what one of them hears of a process names the events of all. It stays over
 * reloads, since Windows does not report again which processes run. Recorded traces have one each.
 */
struct agent_process_tables {
    struct account_names *names;
    struct process_table *live; /* NULL: no session has wanted it yet */
};

void agent_process_tables_fini(
    struct agent_process_tables *processes); /* zero-initialised is fine */

/* How many tables the sessions of a plan have. */
size_t agent_process_tables_count(const struct agent_plan *plan);

/* Give every session of ${plan} that wants one its table. ${ret_tables}, one for each session, gets
 * those that are the agent's, to be destroyed with the pipeline gone.
 * ${memory_bytes}: agent.memory. False with ${err} set. */
bool agent_process_tables_plan(struct agent_process_tables *processes, struct agent_plan *plan,
    size_t memory_bytes, struct process_table **ret_tables, struct error *err);

/* Log a warning for each table that has begun to evict names of files, once. ${tables}: those that
 * agent_process_tables_plan gave. */
void agent_process_tables_warn(const struct agent_process_tables *processes,
    const struct agent_plan *plan, struct process_table *const *tables, struct log *log);

/* Add the running processes to the table of live sessions, if this system lists them. The sessions
 * run already: they report processes that start later. */
void agent_process_tables_look(struct agent_process_tables *processes);

#endif
