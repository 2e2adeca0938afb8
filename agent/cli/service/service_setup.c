#include "cli/service/service_setup.h"

#include <stdio.h>
#include <stdlib.h>

#include "app/install/install_config.h"
#include "app/plan/app_policy.h"
#include "app/plan/app_trust.h"
#include "app/state/data_folder.h"
#include "cli/service/left_autologgers.h"
#include "cli/service/left_flags.h"
#include "cli/service/service_note.h"
#include "config/config_value.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "platform/plat_system.h"
#include "platform/plat_tree.h"
#include "service/service_control.h"
#include "trust/sid.h"

/*
 * Each command is a step of a transaction of Windows Installer or a script. The first step that
 * changes something saves the state of the machine in a note; `undo` restores it after any of the
 * steps, any number of times. The note is in the registry: actions with all rights must not depend
 * on a folder that the service's account may write.
 *
 * A note is valid for its own transaction only: later it would restore an old state. So `forget` is
 * the first and the last step, and the first change of a transaction deletes an old note before it
 * can fail.
 */

/* Installers pass empty values; these count as not given. */
// clang-format off
static const struct cli_option setup_options[] = {
    {.name = "config-file", .argument = "FILE",
        .help = "File to copy as the configuration, if there is none."},
    {.name = "output-url", .argument = "URL",
        .help = "Or: write a configuration that ships to this Elasticsearch, if there is none."},
    {.name = "api-key-file", .argument = "FILE",
        .help = "The file with its API key. The configuration names it; setup does not read it."},
    {.name = "account", .argument = "[system|virtual]",
        .help = "Account of the service; default: the present one, else system."},
    {.name = "start", .argument = "[1|0]",
        .help = "1: start it at the end. An existing service runs afterwards if it ran before."},
    {.name = "upgrade", .argument = "CODE",
        .help = "Not empty: the previous version was retired and saved the state of the machine."},
    {.name = NULL},
};

static const struct cli_option retire_options[] = {
    {.name = "upgrade", .argument = "CODE",
        .help = "Not empty: another version follows. The service is stopped and stays registered."},
    {.name = "remove-data", .argument = "[1|0]",
        .help = "1: also remove the folder of configuration, data and logs."},
    {.name = NULL},
};

static const struct cli_option undo_options[] = {
    {.name = "upgrade", .argument = "CODE",
        .help = "Not empty: the previous version undoes its own part afterwards, and starts the service."},
    {.name = NULL},
};

static const struct cli_option forget_options[] = {{.name = NULL}};
// clang-format on

enum {
    TEXT_BYTES = 32768,
    MAX_PRINTED_BYTES = 30000,
    MAX_CONFIG_BYTES = 4 * 1024 * 1024 /* what a configuration may have */
};

struct step {
    const char *folder; /* %ProgramData%\etwship */
    const char *config;
    char *program; /* ours */
    int (*start)(void);
};

/* Installers give every option, and nothing as the value of most. */
static const char *value_of(const struct cli_args *args, const char *name)
{
    const char *value = cli_value(args, name);
    return value && *value ? value : NULL;
}

/* Save the state before the first change. The note of a version that was just retired is more
 * complete. */
static bool begin(
    const struct step *step, bool is_upgrade, struct install_note *note, struct error *err)
{
    bool is_there = false;
    return (!is_upgrade || service_note_read(&is_there, note, err)) &&
           (is_there ||
               (service_note_look(step->config, note, err) && service_note_write(note, err)));
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Create the folders, with the rights that ${account} needs. */
static bool make_folders(const struct step *step, const char *account, struct error *err)
{
    if (service_plan_is_system(account)) {
        return app_trust_make_folders(step->folder, NULL, err);
    }
    struct buf sid;
    buf_init(&sid, 256);
    sid_write_plain(sid_of_service(), &sid);
    buf_add_byte(&sid, 0);
    bool good = sid.failed ? error_set(err, ERR_MEMORY, "out of memory")
                           : app_trust_make_folders(step->folder, (const char *)sid.data, err);
    buf_fini(&sid);
    return good;
}

/* ---- the first configuration ----------------------------------------------------------------- */

/* Save it in the note first: `undo` removes only this text. */
static bool write_first(
    const struct step *step, struct install_note *note, struct span text, struct error *err)
{
    return install_note_digest(text, note->wrote, err) && service_note_write(note, err) &&
           plat_file_replace(step->config, text, err);
}

static bool copy_config(
    const struct step *step, const char *from, struct install_note *note, struct error *err)
{
    char *text;
    size_t size;
    if (!plat_file_load(from, MAX_CONFIG_BYTES, &text, &size, err)) {
        return false;
    }
    bool good = write_first(step, note, span_make(text, size), err);
    free(text);
    return good;
}

static bool write_config(const struct step *step, const struct cli_args *args,
    struct install_note *note, struct error *err)
{
    const struct install_config config = {
        .url = value_of(args, "output-url"), .key_file = value_of(args, "api-key-file")};
    struct buf text;
    buf_init(&text, 64 * 1024);
    bool good = install_config_write(&config, &text, err) &&
                write_first(step, note, buf_span(&text), err);
    buf_fini(&text);
    return good;
}

static bool place_config(const struct step *step, const struct cli_args *args,
    struct install_note *note, struct error *err)
{
    const char *from = value_of(args, "config-file");
    bool is_there;
    uint64_t bytes;
    if (!plat_path_find(step->config, &is_there, &bytes, err)) {
        return false;
    }
    if (!is_there) {
        return from ? copy_config(step, from, note, err) : write_config(step, args, note, err);
    }
    if (from || value_of(args, "output-url")) {
        cli_warning(
            "%s exists and does not change: the options for a first configuration are ignored",
            step->config);
    }
    return true;
}

/* ---- setup ----------------------------------------------------------------------------------- */

static void say_not_trusted(void *self, const char *text)
{
    (void)self;
    cli_error("not installed, as others could use the rights of the service. %s", text);
}

static bool check_values(const struct cli_args *args, bool *ret_starts, struct error *err)
{
    const char *from = value_of(args, "config-file");
    const char *start = value_of(args, "start");
    char absolute[DATA_FOLDER_PATH_BYTES];
    if (start && strcmp(start, "0") != 0 && strcmp(start, "1") != 0) {
        return error_set(err, ERR_CONFIG, "--start takes 1 or 0, not '%.100s'", start);
    }
    if (from && (value_of(args, "output-url") || value_of(args, "api-key-file"))) {
        return error_set(err, ERR_CONFIG,
            "give either a file with a first configuration or an address, not both");
    }
    /* The working folder of an installer has no meaning. */
    if (from && (!plat_path_absolute(from, absolute, sizeof(absolute), err) ||
                    strcmp(absolute, from) != 0)) {
        return error_set(
            err, ERR_CONFIG, "'%.200s': the file of the configuration needs its whole path", from);
    }
    *ret_starts = !start || strcmp(start, "1") == 0;
    return true;
}

/* The account: from the policy of the machine, else from the option, else the present one. */
static bool find_account(
    const struct cli_args *args, const struct install_note *note, char account[256])
{
    static const char *const accounts[] = {"LocalSystem", "NT SERVICE\\" SERVICE_NAME};
    struct app_policy policy;
    int which = SERVICE_ACCOUNT_SYSTEM;
    struct error err;
    if (!app_policy_read(&policy, &err)) {
        return cli_fail(&err);
    }
    const char *demanded = policy.texts[APP_POLICY_SERVICE_ACCOUNT];
    const char *text = *demanded ? demanded : value_of(args, "account");
    if (text && !config_value_enum(span_text(text), service_plan_accounts, &which, &err)) {
        cli_error("--account: %s", err.text);
        return false;
    }
    snprintf(account, 256, "%s", text || !note->has_service ? accounts[which] : note->account);
    return true;
}

/* An existing service keeps its configuration's path. */
static bool make_plan(const struct step *step, const struct install_note *note, const char *account,
    struct service_plan *ret_plan, struct error *err)
{
    static char config[TEXT_BYTES];
    struct service_plan plain;
    if (!note->has_service || !service_plan_config(note->command, config, sizeof(config))) {
        snprintf(config, sizeof(config), "%s", step->config);
    }
    if (!service_plan_init(&plain, step->program, config, SERVICE_ACCOUNT_SYSTEM, err)) {
        return false;
    }
    bool good = service_plan_init_as(ret_plan, step->program, (const char *)plain.command.data,
        account, note->has_service ? note->start : SERVICE_START_DELAYED, err);
    service_plan_fini(&plain);
    return good;
}

/* ${note} has the earlier state; the present state decides. */
static bool put_service(const struct service_plan *plan, struct error *err)
{
    struct install_note now = {.has_service = false};
    service_settings_mask left_out;
    bool before;
    if (!service_note_look_at_service(&now, err)) {
        return false;
    }
    return now.has_service
               ? service_control_stop(&before, err) && service_control_change(plan, &left_out, err)
               : service_control_install(plan, &left_out, err);
}

static int set_up(const struct step *step, const struct cli_args *args)
{
    static struct install_note note;
    struct service_plan plan;
    struct error err = {.code = ERR_NONE};
    char account[256];
    bool is_upgrade = value_of(args, "upgrade") != NULL;
    bool starts = false;
    if (!is_upgrade && !service_note_delete(&err)) {
        cli_error("%s", err.text);
        return EXIT_FAILED;
    }
    if (!check_values(args, &starts, &err)) {
        cli_error("%s", err.text);
        return EXIT_USAGE;
    }
    if (app_trust_find_program(step->program, say_not_trusted, NULL)) {
        return EXIT_USAGE;
    }
    if (!begin(step, is_upgrade, &note, &err)) {
        cli_error("%s", err.text);
        return EXIT_FAILED;
    }
    if (!find_account(args, &note, account)) {
        return EXIT_USAGE;
    }
    if (!make_folders(step, account, &err) || !place_config(step, args, &note, &err) ||
        !make_plan(step, &note, account, &plan, &err)) {
        cli_error("%s", err.text);
        return err.code == ERR_CONFIG ? EXIT_USAGE : EXIT_FAILED;
    }
    bool good = put_service(&plan, &err);
    service_plan_fini(&plan);
    if (!good) {
        cli_error("%s", err.text);
        return EXIT_FAILED;
    }
    return (note.has_service ? note.runs : starts) ? step->start() : EXIT_DONE;
}

/* ---- retire ---------------------------------------------------------------------------------- */

/* A service from another folder may have this name: do not change it. */
static bool is_ours(const struct step *step, const struct install_note *note)
{
    static char program[TEXT_BYTES];
    struct plat_file_id a;
    struct plat_file_id b;
    if (!service_plan_program(note->command, program, sizeof(program))) {
        return false;
    }
    if (plat_file_id_at(program, &a) && plat_file_id_at(step->program, &b)) {
        return a.file == b.file && a.born == b.born;
    }
    return span_equal_nocase(span_text(program), span_text(step->program));
}

static bool remove_data(const struct step *step, struct error *err)
{
    /* Remove the rights of others, then the folder. */
    return plat_path_kind(step->folder) == PLAT_PATH_NONE ||
           (app_trust_make_folders(step->folder, NULL, err) && plat_tree_remove(step->folder, err));
}

/* ${ret_ours}: no service of this name runs another program. */
static bool retire_service(
    const struct step *step, bool is_upgrade, bool *ret_ours, struct error *err)
{
    static struct install_note note;
    bool before;
    if (!service_note_delete(err) || !service_note_look(step->config, &note, err)) {
        return false;
    }
    *ret_ours = !note.has_service || is_ours(step, &note);
    if (!*ret_ours) {
        cli_warning("the service runs another program, and stays: %s", note.command);
        return true;
    }
    if (!service_note_write(&note, err)) {
        return false;
    }
    return !note.has_service ||
           (is_upgrade ? service_control_stop(&before, err) : service_control_uninstall(err));
}

static int retire(const struct step *step, const struct cli_args *args)
{
    bool is_upgrade = value_of(args, "upgrade") != NULL;
    const char *option = value_of(args, "remove-data");
    bool removes = !is_upgrade && option && strcmp(option, "1") == 0;
    bool ours = false;
    struct error err;
    bool good = retire_service(step, is_upgrade, &ours, &err);
    if (good && !is_upgrade) {
        left_flags_put_back();
    }
    if (good && !is_upgrade && ours) {
        left_autologgers_remove();
    }
    if (good && removes && !ours) {
        cli_warning("%s stays, too, as that service may use it", step->folder);
    }
    if (!good || (removes && ours && !remove_data(step, &err))) {
        cli_error("%s", err.text);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

/* ---- undo ------------------------------------------------------------------------------------ */

static bool put_back(const struct install_note *note, const char *program, struct error *err)
{
    struct install_note now = {.has_service = false};
    struct service_plan plan;
    if (!service_note_look_at_service(&now, err)) {
        return false;
    }
    if (!note->has_service) {
        return !now.has_service || service_control_uninstall(err);
    }
    if (!service_plan_init_as(&plan, program, note->command, note->account, note->start, err)) {
        return false;
    }
    bool good = put_service(&plan, err);
    service_plan_fini(&plan);
    return good;
}

/* Remove a configuration that setup wrote, unless it was changed. */
static bool take_config_back(
    const struct step *step, const struct install_note *note, struct error *err)
{
    char digest[INSTALL_NOTE_DIGEST_BYTES] = "";
    struct error why;
    char *text;
    size_t size;
    if (note->has_config || !*note->wrote || plat_path_kind(step->config) == PLAT_PATH_NONE) {
        return true;
    }
    if (plat_file_load(step->config, MAX_CONFIG_BYTES, &text, &size, &why)) {
        bool known = install_note_digest(span_make(text, size), digest, err);
        free(text);
        if (!known) {
            return false;
        }
    }
    if (strcmp(digest, note->wrote) != 0) {
        cli_warning("%s was changed after the installation, and stays", step->config);
        return true;
    }
    return plat_path_remove(step->config, err);
}

static bool undo_all(const struct step *step, bool is_upgrade, struct error *err)
{
    static struct install_note note;
    static char program[TEXT_BYTES];
    bool is_there;
    if (!service_note_read(&is_there, &note, err)) {
        return false;
    }
    if (!is_there) {
        return true; /* nothing was changed */
    }
    if (note.has_service && !service_plan_program(note.command, program, sizeof(program))) {
        snprintf(program, sizeof(program), "%s", step->program);
    }
    if (!put_back(&note, program, err) || !take_config_back(step, &note, err)) {
        return false;
    }
    if (is_upgrade) {
        return true;
    }
    if (note.has_service && note.runs && step->start() != EXIT_DONE) {
        return error_set(err, ERR_IO, "the service was restored but does not start");
    }
    return service_note_delete(err);
}

static int undo(const struct step *step, const struct cli_args *args)
{
    struct error err = {.code = ERR_NONE};
    if (!undo_all(step, value_of(args, "upgrade") != NULL, &err)) {
        cli_error("%s", err.text);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

static int forget(const struct step *step, const struct cli_args *args)
{
    struct error err;
    (void)step;
    (void)args;
    if (!service_note_delete(&err)) {
        cli_error("%s", err.text);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

/* ---- what is printed ------------------------------------------------------------------------- */

/* Commands of an installer have no visible terminal. */
static void keep_line(void *self, bool is_warning, const char *text)
{
    struct buf *printed = self;
    (void)is_warning;
    buf_add_text(printed, text);
    buf_add_byte(printed, '\n');
}

static void write_event(int exit_code, struct buf *printed)
{
    const struct service_api *api = service_api_get();
    void *log;
    if (printed->size && api->open_log(SERVICE_NAME, &log) == SERVICE_OK) {
        printed->data[printed->size - 1] = 0;
        api->write_log(log,
            exit_code == EXIT_DONE ? SERVICE_MESSAGE_SETUP : SERVICE_MESSAGE_SETUP_FAILED,
            (const char *)printed->data);
        api->close_log(log);
    }
}

/* ---- the commands ---------------------------------------------------------------------------- */

static const struct verb {
    struct cli_command command;
    int (*run)(const struct step *step, const struct cli_args *args);
} verbs[] = {
    {{.name = "service setup",
         .synopsis = "[--config-file FILE | --output-url URL [--api-key-file FILE]] "
                     "[--account system|virtual] [--start 1|0] [--upgrade CODE]",
         .summary = "make the folders, the first configuration and the service (for installers)",
         .description = "Options with an empty value count as left out. Existing files stay: a "
                        "configuration is never overwritten.",
         .options = setup_options},
        set_up},
    {{.name = "service retire",
         .synopsis = "[--upgrade CODE] [--remove-data 1|0]",
         .summary = "stop the service and remove it (for installers)",
         .description = "Configuration and data stay unless --remove-data 1 is given.",
         .options = retire_options},
        retire},
    {{.name = "service undo",
         .synopsis = "[--upgrade CODE]",
         .summary = "undo setup or retire (for installers)",
         .description = "Restores the service as before the installation, and removes a "
                        "configuration that setup wrote, unless it was changed. May be repeated.",
         .options = undo_options},
        undo},
    {{.name = "service forget",
         .synopsis = "",
         .summary = "delete the saved state that undo uses (for installers)",
         .description = "Run it before the first step of an installation, and after success.",
         .options = forget_options},
        forget},
};

static int run(const struct verb *verb, const struct cli_args *args, int (*start)(void))
{
    const struct step step = {.folder = plat_default_data_folder(),
        .config = plat_default_config_path(),
        .program = service_api_get()->program(),
        .start = start};
    struct buf printed;
    int exit_code = EXIT_FAILED;
    buf_init(&printed, MAX_PRINTED_BYTES);
    cli_listen(keep_line, &printed);
    if (step.folder && step.program) {
        exit_code = verb->run(&step, args);
    } else {
        cli_error("the folders of this system are unknown");
    }
    cli_listen(NULL, NULL);
    write_event(exit_code, &printed);
    free(step.program);
    buf_fini(&printed);
    return exit_code;
}

int service_setup_run(int argc, char **argv, int (*start)(void))
{
    struct cli_args args;
    int exit_code;
    for (size_t i = 0; argc > 0 && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(verbs[i].command.name + strlen("service "), argv[0]) != 0) {
            continue;
        }
        if (!cli_parse(&verbs[i].command, argc, argv, &args, &exit_code)) {
            return exit_code;
        }
        exit_code = EXIT_USAGE;
        if (service_api_has_services()) {
            exit_code = run(&verbs[i], &args, start);
        } else {
            cli_error("service %s: this command is for Windows", argv[0]);
        }
        cli_args_fini(&args);
        return exit_code;
    }
    return -1;
}
