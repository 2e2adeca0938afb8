#include "app/plan/app_policy.h"

#include <stdio.h>

#include "app/config/app_modules.h"
#include "cli/options/cli.h"
#include "cli/options/config_options.h"
#include "config/config_show.h"
#include "etw/etw_registry.h"
#include "platform/plat_file.h"
#include "support/etw_sim/sim_registry.h"
#include "support/temp_folder.h"
#include "support/test.h"

static struct sim_registry *registry;
static struct app_policy policy;
static struct error err;
static char folder[TEMP_FOLDER_BYTES];

/* ---- the registry ---------------------------------------------------------------------------------- */

static int set_up(void **state)
{
    (void)state;
    registry = sim_registry_create(NULL);
    etw_registry_use(sim_registry_api(registry));
    return registry ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    etw_registry_use(NULL);
    sim_registry_destroy(registry);
    return 0;
}

static void demand_as(uint32_t type, const char *name, struct span data)
{
    const struct etw_registry_api *api = sim_registry_api(registry);
    assert_int_equal(api->make(api->self, "SOFTWARE\\Policies\\etwship"), 0);
    assert_int_equal(api->set(api->self, "SOFTWARE\\Policies\\etwship", name, type, data), 0);
}

static void demand(const char *name, const char *text)
{
    demand_as(ETW_REGISTRY_TEXT, name, span_text(text));
}

static void assert_refused(const char *text)
{
    assert_false(app_policy_read(&policy, &err));
    assert_int_equal(err.code, ERR_CONFIG);
    if (!strstr(err.text, text)) {
        fail_msg("'%s' is not in '%s'", text, err.text);
    }
}

static void a_machine_without_a_policy_demands_nothing(void **state)
{
    (void)state;
    assert_true(app_policy_read(&policy, &err));
    assert_true(app_policy_is_empty(&policy));
    etw_registry_use(NULL); /* nor does a system that has no registry */
    assert_true(app_policy_read(&policy, &err));
    assert_true(app_policy_is_empty(&policy));
}

static void what_it_demands_is_read(void **state)
{
    (void)state;
    demand("ConfigFile", "C:\\f\xc3\xbcr.yaml");
    demand("serviceaccount", "virtual"); /* names are read as Windows reads them */
    demand("OutputUrl", "");             /* as if it were not there */
    demand("Another", "is somebody else's");
    assert_true(app_policy_read(&policy, &err));
    assert_string_equal(policy.texts[APP_POLICY_CONFIG_FILE], "C:\\f\xc3\xbcr.yaml");
    assert_string_equal(policy.texts[APP_POLICY_SERVICE_ACCOUNT], "virtual");
    assert_string_equal(policy.texts[APP_POLICY_OUTPUT_URL], "");
    assert_false(app_policy_is_empty(&policy));
}

static void a_value_that_makes_no_sense_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *value;
        const char *text;
    } rows[] = {
        {"ConfigFile", "etwship.yaml", "policy ConfigFile: 'etwship.yaml' is no whole path"},
        {"ServiceAccount", "root", "policy ServiceAccount: "},
        {"OutputUrl", "siem:9200", "policy OutputUrl: "},
        {"OutputUrl", "https://me:word@siem", "holds a name or a password"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        demand(rows[i].name, rows[i].value);
        assert_refused(rows[i].text);
        assert_null(strstr(err.text, "word@"));
        demand(rows[i].name, "");
    }
}

static void a_value_of_another_type_or_size_is_named(void **state)
{
    (void)state;
    static char text[APP_POLICY_TEXT_BYTES + 1];
    demand_as(ETW_REGISTRY_DWORD, "OutputCa", span_make("\1\0\0\0", 4));
    assert_refused("policy OutputCa: it is no text");
    memset(text, 'a', APP_POLICY_TEXT_BYTES);
    demand("OutputCa", text);
    assert_refused("policy OutputCa: it has more than 1023 bytes");
    demand_as(ETW_REGISTRY_TEXT, "OutputCa", span_make("a\0b", 3));
    assert_refused("policy OutputCa: it holds a NUL");
    text[APP_POLICY_TEXT_BYTES - 1] = '\0';
    demand("OutputCa", text);
    assert_true(app_policy_read(&policy, &err));
}

/* ---- a configuration ------------------------------------------------------------------------------- */

#define SESSION "sessions: [{name: t, type: file, paths: [a.etl]}]\n"
#define SIEM "{name: siem, type: elasticsearch, hosts: ['http://file:9200'], tls: {ca: /file.pem}}"
#define WEB "{name: web, type: http, url: 'http://file/'}"
#define COPY "{name: copy, type: file, path: a.ndjson}"

static char path[TEMP_FOLDER_BYTES + 16];

/* What `check`, `run` and the service get of ${text}, with a `--set` that a policy goes before. */
static bool load(const char *text, struct app_config *ret_config)
{
    struct cli_args args;
    int exit_code;
    char *argv[] = {(char[]){"check"}, (char[]){"-c"}, path};
    assert_true(plat_file_replace(path, span_text(text), &err));
    assert_true(cli_parse(&cmd_check, 3, argv, &args, &exit_code));
    bool good = config_options_load(&args, ret_config);
    cli_args_fini(&args);
    return good;
}

static void assert_shows(const struct app_config *config, const char *wanted)
{
    struct buf text;
    buf_init(&text, 1 << 20);
    config_show_json(config->memory, config->fields, config->root, &text);
    buf_add_byte(&text, 0);
    if (!strstr((const char *)text.data, wanted)) {
        fail_msg("no '%s' in %s", wanted, (const char *)text.data);
    }
    buf_fini(&text);
}

/* ${text} is good, and with the policy on top it shows ${one} and ${other}. */
static void assert_makes(const char *text, const char *one, const char *other)
{
    struct app_config config;
    assert_true(load(text, &config));
    assert_shows(&config, one);
    assert_shows(&config, other);
    app_config_fini(&config);
}

static void address_and_authorities_go_before_the_file(void **state)
{
    (void)state;
    demand("OutputUrl", "https://policy:9200/it's${HOME}");
    demand("OutputCa", "/policy.pem");
    assert_makes(SESSION "outputs: [" COPY ", " SIEM "]\n",
        "\"hosts\":[\"https://policy:9200/it's$${HOME}\"]", "/policy.pem");
}

static void an_output_with_one_address_gets_it_too(void **state)
{
    (void)state;
    demand("OutputUrl", "https://policy/push");
    demand("OutputName", "web");
    assert_makes(SESSION "outputs: [" SIEM ", " WEB "]\n", "\"url\":\"https://policy/push\"",
        "http://file:9200"); /* the other one keeps its own */
}

static void it_must_be_clear_which_output_is_meant(void **state)
{
    (void)state;
    struct app_config config;
    demand("OutputUrl", "https://policy/");
    assert_false(load(SESSION "outputs: [" SIEM ", " WEB "]\n", &config));
    demand("OutputName", "sime");
    assert_false(load(SESSION "outputs: [" SIEM "]\n", &config));
    demand("OutputName", "");
    assert_true(load(SESSION "outputs: [" COPY "]\n", &config)); /* no events go elsewhere */
    app_config_fini(&config);
}

static void an_output_that_is_disabled_is_meant_only_by_its_name(void **state)
{
    (void)state;
    static const char text[] = SESSION
        "outputs: [" SIEM ", {name: web, type: http, url: 'http://file/', enabled: false}]\n";
    demand("OutputUrl", "https://policy/");
    assert_makes(text, "\"hosts\":[\"https://policy/\"]", "\"url\":\"http://file/\"");
    demand("OutputName", "web");
    assert_makes(text, "\"hosts\":[\"http://file:9200\"]", "\"url\":\"https://policy/\"");
}

static void a_policy_that_makes_no_sense_is_no_configuration(void **state)
{
    (void)state;
    struct app_config config;
    demand("ServiceAccount", "root");
    assert_false(load(SESSION "outputs: [" COPY "]\n", &config));
}

/* ---- the command line ------------------------------------------------------------------------------ */

static const char *path_of(char **argv, int argc, const struct cli_command *command)
{
    static char found[CONFIG_OPTIONS_PATH_BYTES];
    struct cli_args args;
    int exit_code;
    assert_true(cli_parse(command, argc, argv, &args, &exit_code));
    config_options_path(&args, found);
    cli_args_fini(&args);
    return found;
}

static void the_service_reads_the_file_of_the_policy_whatever_its_command_says(void **state)
{
    (void)state;
    char *service[] = {
        (char[]){"run"}, (char[]){"--service"}, (char[]){"-c"}, (char[]){"own.yaml"}};
    char *asked[] = {(char[]){"check"}, (char[]){"-c"}, (char[]){"own.yaml"}};
    assert_string_equal(path_of(service, 4, &cmd_run), "own.yaml");
    demand("ConfigFile", "C:\\policy.yaml");
    assert_string_equal(path_of(service, 4, &cmd_run), "C:\\policy.yaml");
    assert_string_equal(path_of(asked, 1, &cmd_check), "C:\\policy.yaml");
    /* A user who asks for a file at a terminal gets that file. */
    assert_string_equal(path_of(asked, 3, &cmd_check), "own.yaml");
}

#define policy_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        policy_test(a_machine_without_a_policy_demands_nothing),
        policy_test(what_it_demands_is_read),
        policy_test(a_value_that_makes_no_sense_is_named),
        policy_test(a_value_of_another_type_or_size_is_named),
        policy_test(address_and_authorities_go_before_the_file),
        policy_test(an_output_with_one_address_gets_it_too),
        policy_test(it_must_be_clear_which_output_is_meant),
        policy_test(an_output_that_is_disabled_is_meant_only_by_its_name),
        policy_test(a_policy_that_makes_no_sense_is_no_configuration),
        policy_test(the_service_reads_the_file_of_the_policy_whatever_its_command_says),
    };
    if (temp_folder_make(folder, "policy")) {
        return 1;
    }
    snprintf(path, sizeof(path), "%s/c.yaml", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return temp_folder_remove(folder) || failed;
}
