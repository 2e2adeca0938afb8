#define _GNU_SOURCE

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "etw/etw_api.h"
#include "sim_script.h"
#include "support/etw_sim/sim_machine.h"
#include "support/etw_sim/sim_registry.h"
#include "support/etw_sim/sim_world_file.h"

/*
 * A simulated Windows that programs share: the world of the file that ETWSIM_WORLD names. The first
 * line on standard output is the port, which programs find in ETWSIM_MACHINE. Standard input is a
 * script (sim_script.h), done as it comes; each line is answered by one. Its end is the machine's.
 */
static void warn(void *self, const char *text)
{
    (void)self;
    fprintf(stderr, "etwsim-machine: %s\n", text);
}

/* The value of Wine's performance counter, which programs under Wine read by themselves. */
static uint64_t counter(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 10000000 + (uint64_t)now.tv_nsec / 100;
}

static void play(void)
{
    char line[512];
    while (fgets(line, sizeof(line), stdin)) {
        if (!sim_script_act(line, stdout)) {
            puts("done");
        }
        fflush(stdout);
    }
}

int main(void)
{
    struct error err = {0};
    uint16_t port = 0;
    const struct etw_sim_options options = {.perf_counter = counter()};
    struct sim_world *world = sim_world_create(getenv("ETWSIM_WORLD"), &options, warn, NULL, &err);
    struct sim_machine *machine = world ? sim_machine_start(sim_world_sim(world), &port, &err)
                                        : NULL;
    if (!machine) {
        fprintf(stderr, "etwsim-machine: %s\n", err.text);
        sim_world_destroy(world);
        return EXIT_FAILURE;
    }
    const char *registry_path = getenv("ETWSIM_REGISTRY");
    struct sim_registry *registry = registry_path ? sim_registry_create(registry_path) : NULL;
    etw_registry_use(registry ? sim_registry_api(registry) : NULL);
    etw_api_use(etw_sim_api(sim_world_sim(world)));
    sim_script_begin(sim_world_sim(world));
    printf("%u\n", port);
    fflush(stdout);
    play();
    sim_machine_stop(machine);
    etw_api_use(NULL);
    etw_registry_use(NULL);
    sim_registry_destroy(registry);
    sim_world_destroy(world);
    return EXIT_SUCCESS;
}
