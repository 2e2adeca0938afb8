#include "app/run/agent_process_tables.h"

#include "pipeline/assembly/budget.h"
#include "platform/plat_clock.h"
#include "platform/plat_processes.h"
#include "platform/plat_volumes.h"

static bool make_live(struct agent_process_tables *processes, size_t max_bytes,
    size_t max_file_bytes, struct error *err)
{
    processes->names = processes->names ? processes->names : account_names_create(NULL, err);
    if (!processes->live && processes->names) {
        const struct process_table_settings settings = {.max_bytes = max_bytes,
            .max_file_bytes = max_file_bytes,
            .one_machine = true,
            .names = processes->names};
        processes->live = process_table_create(&settings, err);
    }
    return processes->live != NULL;
}

size_t agent_process_tables_count(const struct agent_plan *plan)
{
    size_t count = 0;
    bool any_live = false;
    for (size_t i = 0; i < plan->session_count; i++) {
        bool is_live = plan->session_configs[i]->ops->needs_etw;
        bool has = plan->session_configs[i]->process_context;
        count += has && !is_live;
        any_live |= has && is_live;
    }
    return count + any_live;
}

bool agent_process_tables_plan(struct agent_process_tables *processes, struct agent_plan *plan,
    size_t memory_bytes, struct process_table **ret_tables, struct error *err)
{
    struct process_table_settings recorded = {
        .max_bytes = budget_process_bytes(memory_bytes, agent_process_tables_count(plan)),
        .max_file_bytes = budget_file_bytes(memory_bytes, agent_process_tables_count(plan))};
    for (size_t i = 0; i < plan->session_count; i++) {
        const struct app_session *config = plan->session_configs[i];
        struct pipeline_session *session = &plan->sessions[i];
        session->processes = NULL;
        if (!config->process_context) {
            continue;
        }
        if (config->ops->needs_etw) {
            if (!make_live(processes, recorded.max_bytes, recorded.max_file_bytes, err)) {
                return false;
            }
            session->processes = processes->live;
        } else {
            /* Workers lag by varying amounts: results must not depend on
             * when a later file is read. */
            recorded.by_file = !session->decoding.merged;
            session->processes = ret_tables[i] = process_table_create(&recorded, err);
            if (!ret_tables[i]) {
                return false;
            }
        }
    }
    return true;
}

static void warn(struct process_table *table, const char *session, struct log *log)
{
    if (table && process_table_tells_evicted(table)) {
        log_write_as(log, LOG_CAUSE_MEMORY, LOG_LEVEL_WARNING, "files",
            "session %s: the memory for names of files is full, so some events have no file.path. "
            "raise agent.memory",
            session);
    }
}

void agent_process_tables_warn(const struct agent_process_tables *processes,
    const struct agent_plan *plan, struct process_table *const *tables, struct log *log)
{
    for (size_t i = 0; i < plan->session_count; i++) {
        bool is_live = plan->session_configs[i]->ops->needs_etw;
        warn(is_live ? processes->live : tables[i], plan->sessions[i].name, log);
    }
}

static void add_volume(void *self, struct span device, struct span place)
{
    process_table_add_volume(self, 0, device, place);
}

static void add_process(void *self, const struct plat_process *process)
{
    const struct process_news news = {.what = LIFE_ALIVE,
        .source = PROCESS_FROM_SNAPSHOT,
        .pid = process->pid,
        .time = plat_now_filetime(),
        .created = process->start,
        .start_key = process->start_key ? process->start_key : process->sequence_number,
        .has_parent = true,
        .parent_pid = process->parent_pid,
        .has_session = true,
        .session_id = process->session_id,
        .has_integrity = process->integrity != PLAT_INTEGRITY_UNKNOWN,
        .integrity = (uint32_t)process->integrity,
        .name = process->name,
        .path = process->executable,
        .command_line = process->command_line,
        .user = process->user_sid};
    if (process->start_key) {
        process_table_set_boot_id(self, (uint16_t)(process->start_key >> 48));
    }
    process_table_add(self, &news);
}

void agent_process_tables_look(struct agent_process_tables *processes)
{
    struct error
        err; /* of systems that have no such list; events are then named by the stream alone */
    if (processes->live) {
        plat_volumes_each(add_volume, processes->live);
        plat_processes_each(add_process, processes->live, &err);
    }
}

void agent_process_tables_fini(struct agent_process_tables *processes)
{
    process_table_destroy(processes->live);
    account_names_destroy(processes->names);
    *processes = (struct agent_process_tables){.live = NULL};
}
