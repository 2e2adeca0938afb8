#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "etw/etw_text.h"
#include "platform/plat_system.h"
#include "sim_script.h"
#include "support/etw_sim/sim_world_file.h"

/*
 * etwship on a simulated Windows: the program itself, with the world that the file in ETWSIM_WORLD
 * describes. What it starts and stops is appended to the file in ETWSIM_CALLS, a line each; sessions
 * that it leaves behind are an error of its own (exit code 99).
 */
enum { EXIT_LEFT = 99 };

static const struct etw_api *simulated;
static struct etw_api table;

static void note(const char *what, const etw_char *name, uint32_t code)
{
    const char *path = getenv("ETWSIM_CALLS");
    FILE *file = path ? fopen(path, "ab") : NULL;
    if (file) {
        char text[ETW_NAME_BYTES] = "";
        if (name) {
            etw_text_decode(name, ETW_MAX_NAME_CHARS, text, sizeof(text));
        }
        fprintf(file, "%s %s %u\n", what, text, code);
        fclose(file);
    }
}

static uint32_t start(
    uint64_t *ret_session, const etw_char *name, struct etw_properties *properties)
{
    uint32_t code = simulated->StartTraceW(ret_session, name, properties);
    note("start", name, code);
    return code;
}

static uint32_t control(uint64_t session, const etw_char *name, struct etw_properties *properties,
    uint32_t control_code)
{
    uint32_t code = simulated->ControlTraceW(session, name, properties, control_code);
    if (control_code == ETW_CONTROL_STOP) {
        note("stop", name, code);
    }
    return code;
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
    const struct etw_sim_options options = {.own_process = plat_process_id()};
    struct sim_world *world = sim_world_create(getenv("ETWSIM_WORLD"), &options, warn, NULL, &err);
    if (!world) {
        fprintf(stderr, "etwship-sim: %s\n", err.text);
        return EXIT_LEFT;
    }
    struct etw_sim *sim = sim_world_sim(world);
    simulated = etw_sim_api(sim);
    table = *simulated;
    table.StartTraceW = start;
    table.ControlTraceW = control;
    etw_api_use(&table);
    uint32_t before = etw_sim_session_count(sim);
    struct plat_thread *script = sim_script_start(sim, &err);
    int exit_code = cli_main(argc, argv);
    sim_script_end(script);
    uint32_t left = etw_sim_session_count(sim);
    if (left > before) {
        fprintf(stderr, "etwship-sim: %u sessions are left behind\n", left - before);
        exit_code = EXIT_LEFT;
    }
    etw_api_use(NULL);
    sim_world_destroy(world);
    return exit_code;
}
