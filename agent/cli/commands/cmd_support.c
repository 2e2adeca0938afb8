#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/config/app_fields.h"
#include "app/config/app_modules.h"
#include "app/support/redactor.h"
#include "app/support/zip_file.h"
#include "base/visible.h"
#include "cli/options/config_options.h"
#include "cli/text/support_part.h"
#include "config/config_secrets.h"
#include "platform/plat_clock.h"
#include "platform/plat_file.h"
#include "platform/plat_system.h"

/* `etwship support`: write the facts for a request for help to one file, without secrets. */

// clang-format off
static const struct cli_option options[] = {
    {.name = "output", .letter = 'o', .argument = "FILE.zip",
        .help = "The file to write. It must not exist; only you may read it."},
    CLI_OPTIONS_CONFIG,
    {.name = NULL},
};
// clang-format on

/* An invisible byte is written as \uXXXX. */
enum { MAX_README_BYTES = 64 * 1024, MOST_GROWTH = 6 };

struct call {
    struct support support;
    struct app_config config;
    struct config_options_given given;
    struct config_report *errors;
    struct redactor redactor;
    struct zip_file zip;
    struct buf readme;
    size_t members;
    size_t missing;
};

/* ---- secrets --------------------------------------------------------------------------------- */

static void add_secret(void *self, const struct config_secret *secret)
{
    struct call *call = self;
    redactor_add(&call->redactor, secret->text, secret->user);
}

/* The value of a variable may be a secret in any key. */
static const char *get_variable(void *self, const char *name)
{
    struct call *call = self;
    const char *value = getenv(name);
    if (value) {
        redactor_add(&call->redactor, value, NULL);
    }
    return value;
}

static void add_source(struct call *call, const char *path)
{
    char *text;
    size_t size;
    if (plat_file_load(path, CONFIG_MAX_FILE_BYTES, &text, &size, NULL)) {
        redactor_add_source(&call->redactor, span_make(text, size));
        free(text);
    }
}

/* A policy may have a key in the query of an address without an output that uses it. */
static void add_policy(struct call *call)
{
    const char *url = call->given.policy.texts[APP_POLICY_OUTPUT_URL];
    const char *query = strpbrk(url, "?#");
    if (query) {
        redactor_add(&call->redactor, query + 1, NULL);
    }
}

/* Read as much of the configuration as possible: its secrets are hidden even if it is invalid. */
static bool learn_secrets(struct call *call)
{
    static struct config_report report;
    struct support *support = &call->support;
    support->memory = config_create(get_variable, call);
    support->fields = support->memory ? app_fields_create(support->memory, app_modules()) : NULL;
    if (!support->fields) {
        return false;
    }
    config_report_init(&report);
    support->root = app_config_bind(
        support->memory, support->config_path, support->fields, &call->given.options, &report);
    bool has_errors = !config_report_ok(&report);
    config_report_fini(&report);
    if (support->root) {
        config_secrets_each(support->fields, support->root, add_secret, call);
    }
    add_policy(call);
    const char *path = config_file_name(support->memory, 0);
    for (size_t i = 0; has_errors && path; path = config_file_name(support->memory, ++i)) {
        add_source(call, path);
    }
    return !call->redactor.failed;
}

/* ---- members --------------------------------------------------------------------------------- */

/* Search for secrets in ${text} before characters are escaped for people. */
static bool add_member(struct call *call, const char *name, struct span text, struct error *err)
{
    struct buf shown;
    buf_init(&shown, 2 * SUPPORT_PART_MAX_BYTES);
    redactor_write(&call->redactor, text, &shown);
    buf_set_max(&shown, MOST_GROWTH * shown.size);
    visible_make(&shown, 0);
    bool good = !call->redactor.failed && !shown.failed;
    good = good ? zip_file_add(&call->zip, name, buf_span(&shown), err)
                : error_set(err, ERR_MEMORY, "out of memory for %s", name);
    call->members += good;
    buf_fini(&shown);
    return good;
}

static bool add_part(struct call *call, const struct support_part *part, struct error *err)
{
    struct buf text;
    struct error why;
    buf_init(&text, SUPPORT_PART_MAX_BYTES);
    bool is_there = part->write(&call->support, &text, &why);
    if (is_there && text.failed) {
        is_there = error_set(&why, ERR_LIMIT, "cut after %zu bytes", text.size);
    }
    bool good = !text.size || add_member(call, part->name, buf_span(&text), err);
    if (text.size || !is_there) {
        buf_printf(&call->readme, "%-15s%s\n", part->name, part->holds);
    }
    if (!is_there) {
        call->missing++;
        buf_printf(&call->readme, "%15sINCOMPLETE. %s\n", "", why.text);
        cli_warning("%s: %s", part->name, why.text);
    }
    buf_fini(&text);
    return good;
}

static bool write_bundle(struct call *call, const char *path, struct error *err)
{
    if (!zip_file_create(&call->zip, path, plat_now_filetime(), err)) {
        return false;
    }
    buf_add_text(&call->readme,
        "What `etwship support` found. *** stands for a secret that the configuration holds, for "
        "the\nvalue of a variable in it, and for what looks like a secret. Names of machines, "
        "files,\nsessions and providers are in it: read it before you share it.\n\n");
    bool good = true;
    const struct support_part *part = support_part_at(0);
    for (size_t i = 0; good && part; part = support_part_at(++i)) {
        good = add_part(call, part, err);
    }
    good = good && add_member(call, "README.txt", buf_span(&call->readme), err) &&
           zip_file_finish(&call->zip, err);
    zip_file_fini(&call->zip);
    return good;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int support(const struct cli_args *args, struct call *call, const char *path)
{
    struct error err;
    struct support *support = &call->support;
    bool is_good = config_options_read(args, &call->given, &call->config, call->errors);
    support->config = is_good ? &call->config : NULL;
    support->errors = call->errors;
    support->config_path = call->given.path;
    support->policy = &call->given.policy;
    if (!learn_secrets(call)) {
        cli_error("out of memory");
        return EXIT_FAILED;
    }
    const char *given = support->root ? support->root->agent.data_dir : NULL;
    support->data_dir = is_good ? app_config_data_dir(&call->config) : given;
    support->data_dir = support->data_dir ? support->data_dir : plat_default_data_folder();
    if (!write_bundle(call, path, &err)) {
        cli_error("%s", err.text);
        return EXIT_FAILED;
    }
    printf("%s: %zu files%s. look through it before you give it away\n", path, call->members,
        call->missing ? ", and some parts are missing" : "");
    return call->missing ? EXIT_LOSSES : EXIT_DONE;
}

static int run(const struct cli_args *args)
{
    static struct call call;
    static struct config_report errors;
    const char *path = cli_value(args, "output");
    if (!path) {
        cli_error("name the file: -o FILE.zip");
        return EXIT_USAGE;
    }
    call = (struct call){.errors = &errors};
    config_report_init(&errors);
    buf_init(&call.readme, MAX_README_BYTES);
    int exit_code = support(args, &call, path);
    buf_fini(&call.readme);
    if (call.support.config) {
        app_config_fini(&call.config);
    }
    config_options_fini(&call.given);
    config_destroy(call.support.memory);
    config_report_fini(&errors);
    redactor_fini(&call.redactor);
    return exit_code;
}

const struct cli_command cmd_support = {
    .name = "support",
    .synopsis = "-o FILE.zip [-c FILE] [--set KEY=VALUE]...",
    .summary = "write the facts for a request for help to one file, without secrets",
    .description =
        "Writes one .zip file with version, system, configuration, the result of `check`, limits, "
        "status, sessions and providers of Windows, the state of the spool, and the last lines of "
        "the log. It replaces all secrets: those of the configuration, also from files and "
        "variables, and what looks like one. It contains no events.\n"
        "It only reads, and may be used while the agent runs. It does not contain a log on "
        "standard error: on Linux add the output of `journalctl -u etwship`.\n"
        "Exit codes: 0 complete; 3 written, but a part is missing or the configuration has errors "
        "(see README.txt in it); 1 not written; 2 usage.",
    .options = options,
    .examples = "       etwship support -o etwship-support.zip\n"
                "       etwship support -o bundle.zip -c etwship.yaml\n",
    .run = run,
};
