#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/commands/cli_main.h"
#include "platform/plat_clock.h"
#include "platform/plat_self.h"
#include "platform/plat_thread.h"
#include "sim_script.h"
#include "support/etw_sim/sim_registry.h"
#include "support/etw_sim/sim_world_file.h"
#include "support/evt_sim.h"

/*
 * etwship on a simulated Windows: the program itself, with the world that the file in ETWSIM_WORLD
 * describes, or, with the port of a machine in ETWSIM_MACHINE, on one that it shares with others
 * (etwsim_machine.c). Its registry is the file ETWSIM_REGISTRY, none without. Sessions that it
 * leaves behind are an error of its own (exit code 99), but not on a machine that is shared.
 */
enum { EXIT_LEFT = 99 };

/*
 * ETWSIM_EVENTLOG=NAME:COUNT: a channel of the Event Log that has COUNT records when the program
 * starts, the same ones each time. NAME:COUNT+: more come as long as it runs.
 */
enum { LOG_NAME_BYTES = 128, WRITE_EVERY_MS = 20 };

static struct {
    char name[LOG_NAME_BYTES];
    unsigned long count;
    atomic_bool stop;
    struct plat_thread *writer;
} event_log;

static void write_record(unsigned long number)
{
    enum { CYCLE = 5 };
    char user[LOG_NAME_BYTES];
    snprintf(user, sizeof(user), "user%lu", number);
    const struct evt_sim_event event = {.provider = "Microsoft-Windows-Security-Auditing",
        .id = (uint16_t)(4624 + number % CYCLE),
        .level = 4,
        .time = UINT64_C(134084814000000000) + number,
        .message = strcmp(event_log.name, "Silent") == 0 ? NULL : "An account was logged on.\r\n",
        .data = {{"TargetUserName", 1, user, 0}, {"LogonType", 8, NULL, 3},
            {"TargetLogonId", 21, NULL, number}},
        .data_count = 3};
    evt_sim_write(event_log.name, &event);
}

static void write_more(void *self)
{
    (void)self;
    while (!atomic_load(&event_log.stop)) {
        write_record(++event_log.count);
        plat_sleep_ms(WRITE_EVERY_MS);
    }
}

static void start_event_log(const char *what, struct error *err)
{
    enum { MORE = 100000 };
    char plus = 0;
    evt_sim_start();
    if (!what || sscanf(what, "%127[^:]:%lu%c", event_log.name, &event_log.count, &plus) < 2) {
        return;
    }
    evt_sim_channel(event_log.name, EVT_CHANNEL_ADMIN, event_log.count + MORE);
    evt_sim_channel("Simulated/Analytic", EVT_CHANNEL_ANALYTIC, 1);
    evt_sim_channel("Simulated/Denied", EVT_CHANNEL_OPERATIONAL, 1);
    evt_sim_set_denied("Simulated/Denied", true);
    for (unsigned long i = 1; i <= event_log.count; i++) {
        write_record(i);
    }
    event_log.writer = plus == '+' ? plat_thread_start("eventlog", write_more, NULL, err) : NULL;
}

static size_t end_event_log(void)
{
    atomic_store(&event_log.stop, true);
    plat_thread_join(event_log.writer);
    return evt_sim_end();
}

static void warn(void *self, const char *text)
{
    (void)self;
    fprintf(stderr, "etwship-sim: %s\n", text);
}

int main(int argc, char **argv)
{
    struct error err = {0};
    plat_process_init(&argc, &argv);
    const char *machine = getenv("ETWSIM_MACHINE");
    const struct etw_sim_options options = {.own_process = plat_process_id(),
        .machine = machine ? (uint16_t)strtoul(machine, NULL, 10) : 0};
    if (machine) {
        sim_script_shorten_intervals();
    }
    struct sim_world *world = sim_world_create(getenv("ETWSIM_WORLD"), &options, warn, NULL, &err);
    if (!world) {
        fprintf(stderr, "etwship-sim: %s\n", err.text);
        return EXIT_LEFT;
    }
    struct etw_sim *sim = sim_world_sim(world);
    const char *registry_path = getenv("ETWSIM_REGISTRY");
    struct sim_registry *registry = registry_path ? sim_registry_create(registry_path) : NULL;
    etw_registry_use(registry ? sim_registry_api(registry) : NULL);
    etw_api_use(etw_sim_api(sim));
    start_event_log(getenv("ETWSIM_EVENTLOG"), &err);
    uint32_t before = etw_sim_session_count(sim);
    struct plat_thread *script = sim_script_start(sim, &err);
    int exit_code = cli_main(argc, argv);
    sim_script_end(script);
    uint32_t left = etw_sim_session_count(sim);
    if (left > before) {
        fprintf(stderr, "etwship-sim: %u sessions are left behind\n", left - before);
        exit_code = EXIT_LEFT;
    }
    if (end_event_log()) {
        fprintf(stderr, "etwship-sim: handles of the Event Log are left open\n");
        exit_code = EXIT_LEFT;
    }
    etw_api_use(NULL);
    etw_registry_use(NULL);
    sim_registry_destroy(registry);
    sim_world_destroy(world);
    return exit_code;
}
