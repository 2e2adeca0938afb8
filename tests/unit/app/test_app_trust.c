#define _GNU_SOURCE

#include "support/test.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/config/app_modules.h"
#include "app/plan/app_trust.h"
#include "platform/plat_file.h"
#include "support/temp_folder.h"

/* Which places are judged. tests/unit/trust tests the verdicts. */

enum { MAX_PATH = TEMP_FOLDER_BYTES + 64, MAX_REPORTS = 16 * 1024 };

static char folder[TEMP_FOLDER_BYTES];
static char reports[MAX_REPORTS];

static const char *in_folder(const char *name)
{
    static char path[MAX_PATH];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void set_mode(const char *name, mode_t mode)
{
    assert_int_equal(chmod(in_folder(name), mode), 0);
}

static int set_up(void **state)
{
    static const char *const folders[] = {"conf.d", "schema", "schema/a", "schema/a/b", "data",
        "data/spool", "log", "app", "work", "out", "many", "keys"};
    (void)state;
    if (temp_folder_make(folder, "trust") != 0) {
        return -1;
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (!plat_dir_create(in_folder(folders[i]), NULL)) {
            return -1;
        }
        set_mode(folders[i], 0755);
    }
    char text[1024];
    write_file("app/app.exe", "");
    set_mode("app/app.exe", 0755);
    snprintf(text, sizeof(text),
        "version: 1\n"
        "agent: {data_dir: data, log: {file: log/agent.log}}\n"
        "schema: [{type: folder, path: schema}]\n"
        "include: [conf.d/*.yaml]\n"
        "sessions: [{type: file, paths: [x.etl]}, "
        "{type: heap, launch: '\"%s\" -x', folder: work}]\n",
        in_folder("app/app.exe"));
    write_file("main.yaml", text);
    write_file("conf.d/out.yaml",
        "outputs: [{type: stdout}, {type: file, name: one, path: ../out/one.json},\n"
        "{type: file, name: many, path: '../many/a-%Y/{provider.name}.json'},\n"
        "{type: http, url: 'https://h', auth: {bearer: 'file:../keys/token'},\n"
        "tls: {ca: ../keys/ca.pem, cert: ../keys/own.pem, key: ../keys/own.key}}]\n");
    static const char *const others[] = {
        "out/one.json", "keys/token", "keys/ca.pem", "keys/own.pem", "keys/own.key"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        write_file(others[i], "x");
        set_mode(others[i], 0600);
    }
    write_file("schema/a.man", "");
    write_file("schema/a/b/b.man", "");
    write_file("log/agent.log", "");
    write_file("data/kept", "");
    set_mode("main.yaml", 0644);
    set_mode("conf.d/out.yaml", 0644);
    set_mode("schema/a.man", 0644);
    set_mode("schema/a/b/b.man", 0644);
    set_mode("log/agent.log", 0644);
    set_mode("data/kept", 0644);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static void hear(void *self, const char *text)
{
    (void)self;
    size_t size = strlen(reports);
    snprintf(reports + size, sizeof(reports) - size, "%s\n", text);
}

/* The number of reported places; their words are in `said`. */
static size_t find_in(enum app_trust_scope scope, const char *setting, enum app_trust_owner owner)
{
    struct app_config config;
    static struct config_report report;
    const struct app_config_options options = {
        .settings = &setting, .setting_count = setting ? 1 : 0};
    config_report_init(&report);
    assert_true(app_config_load(in_folder("main.yaml"), app_modules(), &options, &config, &report));
    config_report_fini(&report);
    reports[0] = 0;
    size_t count = app_trust_find(&config, scope, owner, hear, NULL);
    app_config_fini(&config);
    return count;
}

static size_t find_for(const char *setting, enum app_trust_owner owner)
{
    return find_in(APP_TRUST_CONFIG, setting, owner);
}

static size_t find(const char *setting)
{
    return find_for(setting, APP_TRUST_PROCESS);
}

/* If others can change even an empty folder of our own, there is nothing to compare with. */
static void need_a_place_of_our_own(void)
{
    if (find(NULL) != 0) {
        print_message("%s", reports);
        skip();
    }
}

static void each_place_that_is_believed_is_looked_at(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        mode_t mode;
        mode_t good_mode;
    } cases[] = {
        {"main.yaml", 0666, 0644},
        {"conf.d", 01777, 0755}, /* an account that may put a file there writes the configuration */
        {"conf.d/out.yaml", 0664, 0644},
        {"schema", 0777, 0755},
        {"schema/a.man", 0646, 0644},
        {"schema/a", 01777, 0755}, /* any file there will be read */
        {"schema/a/b", 0775, 0755},
        {"schema/a/b/b.man", 0664, 0644},
        {"log", 01777, 0755},
        {"log/agent.log", 0666, 0644},
        {"data", 0775, 0755},
        {"data/kept", 0666, 0644},
        {"data/spool", 0777, 0755},
        {"app/app.exe", 0775, 0755}, /* a launched program has the agent's rights */
        {"work", 0777, 0755},        /* its working folder */
        {"out", 01777, 0755},        /* a link could be put there */
        {"out/one.json", 0666, 0644},
        {"many", 0777, 0755},
        {"keys/ca.pem", 0666,
            0644}, /* an account that may change it decides which servers are trusted */
        {"keys/own.pem", 0664, 0644},
        {"keys/own.key", 0620, 0600},
        {"keys/token", 0620, 0600},
    };
    need_a_place_of_our_own();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char start[2 * MAX_PATH];
        set_mode(cases[i].name, cases[i].mode);
        assert_int_equal(find(NULL), 1);
        snprintf(start, sizeof(start), "%s: ", in_folder(cases[i].name));
        assert_non_null(strstr(reports, start));
        assert_int_equal(
            strstr(reports, "to correct it: chmod g") != NULL, !(cases[i].mode & 01000));
        set_mode(cases[i].name, cases[i].good_mode);
    }
}

/* Where the other places do not matter, these do: a link that others plant leads anywhere. */
static void where_outputs_write_matters_to_everybody(void **state)
{
    (void)state;
    static const char *const places[] = {"out", "many", "main.yaml", "keys", "keys/ca.pem"};
    need_a_place_of_our_own();
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        mode_t good = strchr(places[i], '.') ? 0600 : 0755;
        set_mode(places[i], 0777);
        reports[0] = 0;
        assert_int_equal(find_in(APP_TRUST_OUTPUTS, NULL, APP_TRUST_PROCESS), i < 2);
        assert_int_equal(find(NULL), 1);
        set_mode(places[i], good);
    }
    /* Any account may create a file that is not there yet. */
    char setting[MAX_PATH + 64];
    snprintf(setting, sizeof(setting), "outputs=[{type: file, path: '%s'}]",
        in_folder("out/new/deep/x.json"));
    assert_int_equal(find_in(APP_TRUST_OUTPUTS, setting, APP_TRUST_PROCESS), 0);
    set_mode("out", 01777);
    assert_int_equal(find_in(APP_TRUST_OUTPUTS, setting, APP_TRUST_PROCESS), 1);
    set_mode("out", 0755);
    /* A place that only the system creates does not count. */
    assert_int_equal(
        find_in(APP_TRUST_OUTPUTS, "outputs=[{type: file, path: /dev/stdout}]", APP_TRUST_PROCESS),
        0);
}

static void a_place_is_told_once(void **state)
{
    (void)state;
    need_a_place_of_our_own();
    set_mode("", 0777); /* on the way to all places */
    assert_int_equal(find(NULL), 1);
    set_mode("", 0700);
}

static void a_data_folder_that_will_be_made_is_judged_by_its_way(void **state)
{
    (void)state;
    char setting[MAX_PATH + 32];
    need_a_place_of_our_own();
    snprintf(setting, sizeof(setting), "agent.data_dir=%s", in_folder("data/none"));
    set_mode("data", 01777);
    assert_int_equal(find(setting), 0);
    set_mode("data", 0777);
    assert_int_equal(find(setting), 1);
    set_mode("data", 0755);
}

/* Any account may also create a folder that the agent will not create. */
static void a_missing_folder_of_definitions_may_be_made_by_others(void **state)
{
    (void)state;
    char setting[MAX_PATH + 64];
    need_a_place_of_our_own();
    snprintf(
        setting, sizeof(setting), "schema=[{type: folder, path: '%s'}]", in_folder("conf.d/none"));
    assert_int_equal(find(setting), 0);
    set_mode("conf.d", 01777);
    assert_int_equal(find(setting), 1);
    set_mode("conf.d", 0755);
}

static void definitions_that_are_too_many_to_judge_are_not_trusted(void **state)
{
    (void)state;
    enum { TOO_MANY = 8193 };
    char name[64];
    need_a_place_of_our_own();
    for (int i = 0; i < TOO_MANY; i++) {
        snprintf(name, sizeof(name), "schema/a/%d.man", i);
        write_file(name, "");
        set_mode(name, 0644);
    }
    assert_int_equal(find(NULL), 1);
    assert_non_null(strstr(reports, "it has too many files"));
    for (int i = 0; i < TOO_MANY; i++) {
        snprintf(name, sizeof(name), "schema/a/%d.man", i);
        remove(in_folder(name));
    }
    assert_int_equal(find(NULL), 0);
}

static void a_path_that_is_too_long_to_judge_is_not_trusted(void **state)
{
    (void)state;
    enum { LONGEST = 4096 };
    static char setting[2 * LONGEST];
    need_a_place_of_our_own();
    int start = snprintf(setting, sizeof(setting), "agent.log.file=/");
    memset(setting + start, 'x', LONGEST);
    snprintf(setting + start + LONGEST, sizeof(setting) - (size_t)start - LONGEST, "/agent.log");
    assert_int_equal(find(setting), 1);
    assert_non_null(strstr(reports, "the path is too long"));
}

static void a_folder_is_judged_after_it_was_made(void **state)
{
    (void)state;
    struct error err = {.code = ERR_NONE};
    need_a_place_of_our_own();
    assert_true(app_trust_make_private(in_folder("made"), &err));
    assert_true(app_trust_make_private(in_folder("made"), &err));
    set_mode("made", 0777);
    assert_false(app_trust_make_private(in_folder("made"), &err));
    assert_int_equal(err.code, ERR_CONFIG);
    assert_non_null(strstr(err.text, "everybody may put files there"));
    assert_false(app_trust_make_private(in_folder("main.yaml"), &err));
}

/* Like after a package was installed, whose data belongs to an account of the service. */
static void a_check_does_not_ask_for_the_data_of_the_agent(void **state)
{
    (void)state;
    enum { DAEMON = 1 };
    static const char *const places[] = {"data", "data/spool", "data/kept"};
    need_a_place_of_our_own();
    if (geteuid() != 0) {
        skip();
    }
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        assert_int_equal(chown(in_folder(places[i]), DAEMON, DAEMON), 0);
    }
    assert_int_equal(find_for(NULL, APP_TRUST_CHECKER), 0);
    assert_int_equal(find(NULL), 1);
    assert_int_equal(chown(in_folder("data/spool"), DAEMON + 1, 0), 0);
    assert_int_equal(find_for(NULL, APP_TRUST_CHECKER), 1);
    assert_int_equal(chown(in_folder("main.yaml"), DAEMON, 0), 0);
    assert_int_equal(find_for(NULL, APP_TRUST_CHECKER), 2);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        assert_int_equal(chown(in_folder(places[i]), 0, 0), 0);
    }
    assert_int_equal(chown(in_folder("main.yaml"), 0, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_place_that_is_believed_is_looked_at),
        cmocka_unit_test(where_outputs_write_matters_to_everybody),
        cmocka_unit_test(a_place_is_told_once),
        cmocka_unit_test(a_data_folder_that_will_be_made_is_judged_by_its_way),
        cmocka_unit_test(a_missing_folder_of_definitions_may_be_made_by_others),
        cmocka_unit_test(definitions_that_are_too_many_to_judge_are_not_trusted),
        cmocka_unit_test(a_path_that_is_too_long_to_judge_is_not_trusted),
        cmocka_unit_test(a_folder_is_judged_after_it_was_made),
        cmocka_unit_test(a_check_does_not_ask_for_the_data_of_the_agent),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
