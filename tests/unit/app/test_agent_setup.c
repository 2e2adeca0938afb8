#include "app/run/agent_setup.h"

#include <stdlib.h>

#include "app/run/agent_runner_own.h"
#include "app_modules_rig.h"
#include "etw/etw_api.h"
#include "platform/plat_file.h"
#include "schema/source/schema_sources.h"
#include "support/temp_folder.h"

/* What a setup says long after it was made. */

static char folder[TEMP_FOLDER_BYTES];

/* A TDH that answers nothing while it is held. */
static struct {
    struct plat_mutex mutex;
    struct plat_cond changed;
    bool held;
} tdh;

static uint32_t wait_while_held(struct etw_event_record *record, uint32_t context_count,
    struct etw_tdh_context *context, void *ret_info, uint32_t *info_bytes)
{
    (void)record;
    (void)context_count;
    (void)context;
    (void)ret_info;
    *info_bytes = 0;
    plat_mutex_lock(&tdh.mutex);
    while (tdh.held) {
        plat_cond_wait(&tdh.changed, &tdh.mutex);
    }
    plat_mutex_unlock(&tdh.mutex);
    return ETW_ERROR_ACCESS_DENIED;
}

static void hold_tdh(bool held)
{
    plat_mutex_lock(&tdh.mutex);
    tdh.held = held;
    plat_cond_broadcast(&tdh.changed);
    plat_mutex_unlock(&tdh.mutex);
}

static int setup(void **state)
{
    (void)state;
    static const struct etw_api api = {.TdhGetEventInformation = wait_while_held};
    plat_mutex_init(&tdh.mutex);
    plat_cond_init(&tdh.changed);
    etw_api_use(&api);
    return temp_folder_make(folder, "setup");
}

static int teardown(void **state)
{
    (void)state;
    etw_api_use(NULL);
    plat_cond_fini(&tdh.changed);
    plat_mutex_fini(&tdh.mutex);
    return temp_folder_remove(folder);
}

static void open_log(struct agent_runner *runner, struct app_config *config, char *path)
{
    struct error err;
    config->agent.log.file = path;
    config->agent.log.level = LOG_LEVEL_WARNING;
    assert_true(agent_runner_open_log(runner, config, &err));
}

/* Look for an event that only TDH may know. */
static void ask(const struct agent_setup *made)
{
    const struct event_record record = {
        .kind = RECORD_EVENT, .pointer_size = 8, .provider = {{1}}, .descriptor = {.id = 1}};
    struct schema_candidates found = {.count = 0};
    schema_source_tdh.find(
        schema_shared_source(made->schemas, &schema_source_tdh), &record, &found);
    assert_true(found.late);
}

static void a_late_warning_goes_to_the_log_of_that_time(void **state)
{
    (void)state;
    static const struct agent_run_settings settings;
    struct app_config config;
    struct config_report report;
    struct error err;
    char first[TEMP_FOLDER_BYTES + 16];
    char second[TEMP_FOLDER_BYTES + 16];
    snprintf(first, sizeof(first), "%s/first.log", folder);
    snprintf(second, sizeof(second), "%s/second.log", folder);
    assert_true(parse(ONE_FILE, STDOUT, &config, &report));
    struct agent_runner *runner = agent_runner_create(&settings, &err);
    assert_non_null(runner);
    open_log(runner, &config, first);
    struct agent_setup *made = agent_setup_create(&settings, runner, &config, false, &err);
    assert_non_null(made);
    open_log(runner, &config, second); /* as a reload does before the agent of the setup begins */
    hold_tdh(true);
    ask(made);
    hold_tdh(false);
    agent_setup_destroy(made);
    agent_runner_destroy(runner);
    app_config_fini(&config);
    config_report_fini(&report);
    char *data;
    size_t size;
    assert_true(plat_file_load(second, 1 << 20, &data, &size, &err));
    assert_true(span_find(span_make(data, size), "TDH does not answer") < size);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_late_warning_goes_to_the_log_of_that_time),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
