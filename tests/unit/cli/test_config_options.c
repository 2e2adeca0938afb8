#include "cli/options/config_options.h"

#include <stdio.h>

#include "app/config/app_modules.h"
#include "cli/options/cli.h"
#include "config/config_show.h"
#include "platform/plat_file.h"
#include "support/policy_rig.h"
#include "support/temp_folder.h"

static struct error err;
static char folder[TEMP_FOLDER_BYTES];

/* ---- a configuration ------------------------------------------------------------------------- */

#define SESSION "sessions: [{name: t, type: file, paths: [a.etl]}]\n"
#define SIEM "{name: siem, type: elasticsearch, hosts: ['http://file:9200'], tls: {ca: /file.pem}}"
#define WEB "{name: web, type: http, url: 'http://file/'}"
#define COPY "{name: copy, type: file, path: a.ndjson}"

static char path[TEMP_FOLDER_BYTES + 16];

/* The configuration that `check`, `run` and the service get from ${text}, with a `--set` that a
 * policy overrides. */
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

/* ${text} is good, and with the policy on top it has ${one} and ${other}. */
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
        "http://file:9200"); /* the other one keeps its address */
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

/* ---- the command line ------------------------------------------------------------------------ */

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

int main(void)
{
    const struct CMUnitTest tests[] = {
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
