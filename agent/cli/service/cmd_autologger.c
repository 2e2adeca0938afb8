#include <stdio.h>
#include <stdlib.h>

#include "app/plan/app_trust.h"
#include "base/visible.h"
#include "cli/options/config_options.h"
#include "cli/service/autologger_text.h"
#include "etw/etw_hold.h"
#include "platform/plat_file.h"

/* `etwship autologger`: the sessions that Windows starts at boot, from the same configuration. */

// clang-format off
static const struct cli_option options[] = {
    CLI_OPTIONS_CONFIG,
    {.name = "json", .help = "status: JSON lines, an object per autologger."},
    {.name = NULL},
};
// clang-format on

enum { MAX_OUTPUT_BYTES = 16 * 1024 * 1024, MAX_NAME_BYTES = ETW_REGISTRY_NAME_BYTES + 16 };

struct call {
    const struct cli_args *args;
    const char *name; /* remove: of a session or an autologger; NULL: all of ours */
    struct autologger_list list;
    struct buf out;
};

/* ---- install --------------------------------------------------------------------------------- */

/* "The path to this file must exist." */
static bool make_folder(const struct etw_boot *boot, struct error *err)
{
    char folder[ETW_BOOT_PATH_BYTES];
    memcpy(folder, boot->file, sizeof(folder));
    size_t size = strlen(folder);
    while (size && folder[size - 1] != '/' && folder[size - 1] != '\\') {
        size--;
    }
    folder[size ? size - 1 : 0] = 0;
    return !folder[0] || plat_dir_create(folder, err);
}

/* Create the data folder first: only its owner may read it. */
static bool make_folders(
    const struct autologger_list *list, const struct app_config *config, struct error *err)
{
    const char *data_dir = app_config_data_dir(config);
    bool good = true;
    for (size_t i = 0; i < list->count && good; i++) {
        const struct etw_boot *boot = &list->wanted[i];
        good = (!boot->is_read || plat_dir_create_private(data_dir, err)) && make_folder(boot, err);
    }
    return good;
}

static bool write_all(const struct autologger_list *list, struct error *err)
{
    struct etw_autologger *items = calloc(list->count + 1, sizeof(*items));
    if (!items) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < list->count; i++) {
        items[i] = list->wanted[i].autologger;
    }
    bool good = etw_autologger_install(items, list->count, err);
    free(items);
    return good;
}

static void warn_of_trust(void *self, const char *text)
{
    (void)self;
    cli_warning("Windows would write the file of the configuration with all rights. %s", text);
}

static bool install(struct call *call, const struct app_config *config)
{
    struct autologger_list *list = &call->list;
    struct error err;
    if (app_trust_matters()) {
        app_trust_find(config, APP_TRUST_CONFIG, APP_TRUST_CHECKER, warn_of_trust, NULL);
    }
    if (list->count == 0) {
        cli_error(
            "no session of the configuration that is enabled has `boot: true`. add it to one");
        return false;
    }
    if (!make_folders(list, config, &err) || !write_all(list, &err) ||
        !autologger_list_find(list, &err)) {
        return cli_fail(&err);
    }
    for (size_t i = 0; i < list->count; i++) {
        buf_printf(&call->out, "%s: installed. Windows starts it at the next boot\n",
            list->wanted[i].autologger.name);
        if (list->wanted[i].has_flags) {
            cli_warning("session %s: Windows documents kernel flags of the Global Logger alone. if "
                        "it ignores these, kernel events begin when the agent starts",
                list->sessions[i]);
        }
    }
    for (size_t i = 0; i < list->found_count; i++) {
        if (!autologger_list_wants(list, list->found[i])) {
            buf_printf(&call->out,
                "%s: unchanged. no session of the configuration has it; `etwship autologger remove "
                "%s` removes it\n",
                list->found[i], list->found[i]);
        }
    }
    return true;
}

/* ---- status ---------------------------------------------------------------------------------- */

static bool status(struct call *call, const struct app_config *config)
{
    struct autologger_list *list = &call->list;
    bool json = cli_value(call->args, "json") != NULL;
    struct error err;
    (void)config;
    if (!autologger_list_find(list, &err)) {
        return cli_fail(&err);
    }
    for (size_t i = 0; i < list->count; i++) {
        if (!autologger_text_status(list->wanted[i].autologger.name, list->sessions[i],
                &list->wanted[i], json, &call->out, &err)) {
            return cli_fail(&err);
        }
    }
    for (size_t i = 0; i < list->found_count; i++) {
        if (!autologger_list_wants(list, list->found[i]) &&
            !autologger_text_status(list->found[i], NULL, NULL, json, &call->out, &err)) {
            return cli_fail(&err);
        }
    }
    if (!json && list->count + list->found_count == 0) {
        buf_add_text(&call->out, "no session has `boot: true`, and no autologger is installed\n");
    }
    return true;
}

/* ---- remove ---------------------------------------------------------------------------------- */

static bool remove_one(struct call *call, const char *name)
{
    struct error err;
    if (etw_autologger_remove(name, &err)) {
        buf_printf(&call->out, "%s: removed. its running session does not stop\n", name);
        return true;
    }
    if (err.code == ERR_STOPPED && !call->name) {
        buf_printf(&call->out, "%s: unchanged, as etwship has not installed it\n", name);
        return true;
    }
    return cli_fail(&err);
}

static bool remove_all(struct call *call)
{
    struct autologger_list *list = &call->list;
    struct error err;
    bool good = autologger_list_find(list, &err) || cli_fail(&err);
    for (size_t i = 0; i < list->found_count; i++) {
        good = remove_one(call, list->found[i]) && good;
    }
    if (good && list->found_count == 0) {
        buf_add_text(&call->out, "no autologger of etwship is installed\n");
    }
    if (good && list->other_count) {
        buf_printf(&call->out, "%zu autologgers of others: unchanged\n", list->other_count);
    }
    return good;
}

/* A name is the autologger's, or the session's. */
static bool remove_wanted(struct call *call, const struct app_config *config)
{
    char name[MAX_NAME_BYTES];
    (void)config;
    if (!call->name) {
        return remove_all(call);
    }
    snprintf(name, sizeof(name), "%s%.1000s", etw_hold_is_ours(call->name) ? "" : ETW_OUR_PREFIX,
        call->name);
    return remove_one(call, name);
}

/* ---- the command ----------------------------------------------------------------------------- */

static const struct verb {
    const char *name;
    bool (*run)(struct call *call, const struct app_config *config);
    bool needs_config;
    bool takes_name;
} verbs[] = {
    {"install", install, true, false},
    {"status", status, true, false},
    {"remove", remove_wanted, false, true},
};

static const struct verb *find_verb(const struct cli_args *args)
{
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(verbs[i].name, args->operands[0]) != 0) {
            continue;
        }
        if (args->operand_count > 1 && !verbs[i].takes_name) {
            cli_error("autologger %s takes no name", verbs[i].name);
            return NULL;
        }
        return &verbs[i];
    }
    return NULL;
}

static int finish(struct call *call, bool good)
{
    struct error err;
    visible_make(&call->out, 0);
    if (call->out.failed) {
        cli_error("out of memory");
        good = false;
    } else if (!plat_file_write(plat_file_stdout(), buf_span(&call->out), &err) &&
               err.code != ERR_STOPPED) {
        good = cli_fail(&err);
    }
    return good ? EXIT_DONE : EXIT_FAILED;
}

static int run_verb(const struct verb *verb, struct call *call)
{
    struct app_config config = {.memory = NULL};
    struct error err;
    if (!etw_registry_get()) {
        cli_error("this system has no registry, so it has no autologgers");
        return EXIT_FAILED;
    }
    if (verb->needs_config && !config_options_load(call->args, &config)) {
        return EXIT_USAGE;
    }
    buf_init(&call->out, MAX_OUTPUT_BYTES);
    bool good = !verb->needs_config || autologger_list_want(&call->list, &config, &err) ||
                cli_fail(&err);
    int exit_code = finish(call, good && verb->run(call, &config));
    buf_fini(&call->out);
    autologger_list_fini(&call->list);
    if (verb->needs_config) {
        app_config_fini(&config);
    }
    return exit_code;
}

static int run(const struct cli_args *args)
{
    const struct verb *verb = find_verb(args);
    struct call call = {.args = args, .name = args->operand_count > 1 ? args->operands[1] : NULL};
    return verb ? run_verb(verb, &call) : EXIT_USAGE;
}

const struct cli_command cmd_autologger = {
    .name = "autologger",
    .synopsis = "install|status|remove [NAME] [-c FILE] [--set KEY=VALUE]... [--json]",
    .summary = "let Windows start sessions at boot",
    .description =
        "Sessions with `boot: true` are started by Windows itself, before any service: install "
        "writes an autologger etwship-NAME for each into the registry, for the next boot. All or "
        "none are written. It needs an administrator.\n"
        "Until the agent starts, such a session writes a file in the folder boot of the agent's "
        "data; `etwship run` reads it once and continues with the session.\n"
        "status shows what is installed, how it differs from the configuration, how the last start "
        "went, whether the session runs, and its files. remove deletes what install has written, "
        "or that of one session; it recognises them by the Guid, which is derived from the name. "
        "Autologgers of others do not change.",
    .options = options,
    .examples = "       etwship autologger install -c etwship.yaml\n"
                "       etwship autologger status --json\n"
                "       etwship autologger remove security\n",
    .verbs = "install|status|remove",
    .operands = {"install, status or remove", 1, 2},
    .run = run,
};
