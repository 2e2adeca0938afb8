#include <stdio.h>
#include <stdlib.h>

#include "app/config/app_fields.h"
#include "app/config/app_modules.h"
#include "app/config/app_providers.h"
#include "app/plan/app_account.h"
#include "app/plan/app_reads.h"
#include "app/plan/app_trust.h"
#include "app/plan/field_warnings.h"
#include "base/visible.h"
#include "cli/options/config_options.h"
#include "cli/text/check_words.h"
#include "config/config_reference.h"
#include "config/config_schema.h"
#include "config/config_value.h"
#include "outputs/registry/registry.h"
#include "platform/plat_file.h"

/* `etwship check`: report errors in a configuration, and show what it means. */

enum { MAX_OUTPUT_BYTES = 64 * 1024 * 1024 };

// clang-format off
static const struct cli_option options[] = {
    CLI_OPTIONS_CONFIG,
    {.name = "verbose", .letter = 'v',
        .help = "Also show every provider, rule and value, including defaults. Secrets are never shown."},
    {.name = "json", .help = "Print one JSON object instead of text."},
    {.name = "resolve",
        .help = "Look up providers, events and keywords in the definitions that `schema` names."},
    {.name = "account", .argument = "system|virtual",
        .help = "Warn of sessions that a service with this account may not run."},
    {.name = "strict", .help = "Exit with 2 also if there is a warning."},
    {.name = "print-schema", .help = "Print a JSON schema of configurations, for editors."},
    {.name = "print-reference", .help = "Print a page of all keys, in Markdown."},
    {.name = NULL},
};
// clang-format on

/* Print ${out} on stdout and free it. */
static bool print(struct buf *out)
{
    struct error err;
    bool good = !out->failed || error_set(&err, ERR_LIMIT, "the text is too long to print");
    good = good &&
           (plat_file_write(plat_file_stdout(), buf_span(out), &err) || err.code == ERR_STOPPED);
    if (!good) {
        cli_error("%s", err.text);
    }
    buf_fini(out);
    return good;
}

/* ---- pages of the tables --------------------------------------------------------------------- */

/* Reference text of outputs beyond their keys. */
static void write_outputs(struct buf *out)
{
    size_t count;
    const struct output_ops *const *outputs = registry_outputs(&count);
    for (size_t i = 0; i < count; i++) {
        if (outputs[i]->reference) {
            outputs[i]->reference(out);
        }
    }
}

static int print_page(bool reference)
{
    static const char id[] = "https://etwship.example/etwship.schema.json";
    struct buf out;
    buf_init(&out, MAX_OUTPUT_BYTES);
    struct config *memory = config_create(NULL, NULL);
    const struct config_field *fields = memory ? app_fields_create(memory, app_modules()) : NULL;
    if (!fields) {
        config_destroy(memory);
        cli_error("out of memory");
        return EXIT_FAILED;
    }
    if (reference) {
        buf_add_text(&out,
            "# Keys of the configuration\n\n"
            "Made by `etwship check --print-reference` from the tables that the program itself "
            "reads; do not edit. [The guide](../guide/configuration.md) says what the words "
            "mean.\n\n"
            "`a.b` is the key `b` inside the mapping `a`, `a[].b` the key `b` of each element of "
            "the list `a`, `*` a key of your choice.\n");
        config_reference_write(fields, &out);
        write_outputs(&out);
    } else {
        config_schema_write(fields, id, "Configuration of etwship", &out);
    }
    config_destroy(memory);
    return print(&out) ? EXIT_DONE : EXIT_FAILED;
}

/* ---- the definitions at hand ----------------------------------------------------------------- */

/* All providers of all sessions, in order. */
static size_t gather(const struct app_config *config, struct provider_facts *facts)
{
    size_t count = 0;
    for (size_t i = 0; i < config->session_count; i++) {
        const struct app_provider *providers = config->sessions[i].providers.items;
        for (size_t k = 0; k < config->sessions[i].providers.count; k++) {
            if (facts) {
                facts[count].spec = &providers[k].spec;
            }
            count++;
        }
    }
    return count;
}

static bool resolve(struct check *check, struct schema_cache *cache)
{
    const struct app_config *config = check->config;
    check->fact_count = gather(config, NULL);
    check->facts = calloc(check->fact_count + 1, sizeof(*check->facts));
    if (!check->facts) {
        return false;
    }
    gather(config, check->facts);
    if (!provider_names_find(cache, check->facts, check->fact_count)) {
        return false;
    }
    size_t at = 0;
    for (size_t i = 0; i < config->session_count; i++) {
        const struct app_provider *providers = config->sessions[i].providers.items;
        for (size_t k = 0; k < config->sessions[i].providers.count; k++) {
            app_warnings_of_facts(config, &providers[k], &check->facts[at++], &check->warnings);
        }
    }
    field_warnings_find(config, cache, check->facts, check->fact_count, &check->warnings);
    return true;
}

/* ---- types of fields ------------------------------------------------------------------------- */

static void free_typed(struct check *check)
{
    for (size_t i = 0; check->typed && i < check->config->output_count; i++) {
        typed_fields_fini(&check->typed[i]);
    }
    free(check->typed);
}

/* Index types of payload fields, for outputs that use them. Traces are not read, as that may take
 * long. */
static bool find_typed(struct check *check, struct error *err)
{
    const struct app_config *config = check->config;
    bool good = true;
    for (size_t i = 0; good && i < config->output_count; i++) {
        const struct typed_fields_settings settings = {
            .config = config, .output = &config->outputs[i], .warn = cli_warn};
        if (!config->outputs[i].enabled || !typed_fields_room(&config->outputs[i])) {
            continue;
        }
        if (!check->typed) {
            check->typed = calloc(config->output_count, sizeof(*check->typed));
        }
        good = check->typed ? typed_fields_find(&settings, &check->typed[i], err)
                            : error_set(err, ERR_MEMORY, "out of memory");
    }
    return good;
}

/* ---- what the machine demands ---------------------------------------------------------------- */

/* The policy was read with the configuration and may have changed since. */
static void find_policy(struct check *check)
{
    struct app_policy_settings settings;
    bool sets = false;
    if (!app_policy_read(&check->policy, NULL)) {
        return;
    }
    bool demands = *check->policy.texts[APP_POLICY_OUTPUT_URL] ||
                   *check->policy.texts[APP_POLICY_OUTPUT_CA];
    if (app_policy_settings_init(&settings, &check->policy, check->config, NULL)) {
        sets = settings.count > 0;
        app_policy_settings_fini(&settings);
    }
    if (demands && !sets) {
        config_report_add(&check->warnings, config_file_name(check->config->memory, 0), 0, 0,
            "the policy of the machine demands an address or authorities, and no output has an "
            "address. add one, as of type elasticsearch");
    }
}

/* ---- trust ----------------------------------------------------------------------------------- */

static void warn_of_trust(void *self, const char *text)
{
    struct check *check = self;
    config_report_add(&check->warnings, config_file_name(check->config->memory, 0), 0, 0,
        "others could use the rights of the agent. %s", text);
}

/* ---- the command ----------------------------------------------------------------------------- */

static void say(const struct config_report *report)
{
    struct buf text;
    buf_init(&text, 1024 * 1024);
    config_report_write(report, "etwship: ", &text);
    cli_lines(strcmp(report->kind, "warning") == 0, buf_span(&text));
    buf_fini(&text);
}

static int finish(const struct cli_args *args, const struct check *check)
{
    struct buf out;
    buf_init(&out, MAX_OUTPUT_BYTES);
    if (cli_value(args, "json")) {
        check_words_write_json(check, &out);
    } else {
        check_words_write(check, &out);
        visible_make(&out, 0);
        say(&check->refusals);
        say(&check->warnings);
    }
    bool strict = cli_value(args, "strict") && !config_report_ok(&check->warnings);
    return !print(&out) ? EXIT_FAILED : strict ? EXIT_USAGE : EXIT_DONE;
}

/* Check that the files that outputs read exist. A configuration for another system may name files
 * there. */
static bool reads_all(struct check *check)
{
    struct config_report errors;
    config_report_init(&errors);
    app_reads_check(check->config, check->can_run ? &errors : &check->refusals, &check->refusals);
    bool good = config_report_ok(&errors);
    if (!good) {
        say(&errors);
    }
    check->can_run = check->can_run && config_report_ok(&check->refusals);
    config_report_fini(&errors);
    return good;
}

/* Look the configuration up in its definitions, if asked to, and print what it means. */
static int show(const struct cli_args *args, struct check *check)
{
    struct schema_cache *cache = NULL;
    struct explain explain;
    struct error err;
    int exit_code = EXIT_FAILED;
    bool good = true;
    if (cli_value(args, "resolve")) {
        cache = app_providers_schemas(check->config, cli_warn, NULL, &err);
        good = cache && (resolve(check, cache) || error_set(&err, ERR_MEMORY, "out of memory"));
    }
    good = good && find_typed(check, &err);
    bool explains = good && check->verbose && !cli_value(args, "json");
    if (explains) {
        good = explain_init(&explain, check->config, cli_warn, &err);
        check->explain = &explain;
    }
    if (good) {
        exit_code = finish(args, check);
    } else {
        cli_error("%s", err.text);
    }
    if (explains) {
        explain_fini(&explain);
        check->explain = NULL;
    }
    free(check->facts);
    free_typed(check);
    schema_cache_destroy(cache);
    return exit_code;
}

static int check_config(
    const struct cli_args *args, const struct app_config *config, enum service_account account)
{
    static struct check check;
    static char path[CONFIG_OPTIONS_PATH_BYTES];
    int exit_code = EXIT_USAGE;
    check = (struct check){.config = config,
        .path = config_options_path(args, path),
        .verbose = cli_value(args, "verbose") != NULL};
    config_report_init(&check.warnings);
    check.warnings.kind = "warning";
    find_policy(&check);
    config_report_init(&check.refusals);
    check.refusals.kind = "not here";
    check.can_run = app_config_can_run(config, &check.refusals);
    if (reads_all(&check)) {
        app_warnings_find(config, &check.warnings);
        app_account_find(config, account, &check.warnings);
        app_trust_find(config, app_trust_matters() ? APP_TRUST_CONFIG : APP_TRUST_OUTPUTS,
            APP_TRUST_CHECKER, warn_of_trust, &check);
        exit_code = show(args, &check);
    }
    config_report_fini(&check.warnings);
    config_report_fini(&check.refusals);
    return exit_code;
}

static int run(const struct cli_args *args)
{
    struct app_config config;
    struct error err;
    struct app_policy policy;
    int account = SERVICE_ACCOUNT_SYSTEM;
    const char *name = cli_value(args, "account");
    if (!name && app_policy_read(&policy, NULL) && *policy.texts[APP_POLICY_SERVICE_ACCOUNT]) {
        name = policy.texts[APP_POLICY_SERVICE_ACCOUNT];
    }
    if (name && !config_value_enum(span_text(name), service_plan_accounts, &account, &err)) {
        cli_error("--account: %s", err.text);
        return EXIT_USAGE;
    }
    if (cli_value(args, "print-schema") || cli_value(args, "print-reference")) {
        return print_page(cli_value(args, "print-reference") != NULL);
    }
    if (!config_options_load(args, &config)) {
        return EXIT_USAGE;
    }
    int exit_code = check_config(args, &config, (enum service_account)account);
    app_config_fini(&config);
    return exit_code;
}

const struct cli_command cmd_check = {
    .name = "check",
    .synopsis = "[-c FILE] [--set KEY=VALUE]... [-v] [--json] [--resolve] [--account NAME] "
                "[--strict]",
    .summary = "check a configuration and show what it does",
    .description =
        "All errors are reported at once, as FILE:LINE:COLUMN: error: what. what to do. Without "
        "errors it describes what `run` would do: sessions, providers, rules and where each acts, "
        "outputs, which of them share encoded events, and the limits of memory and disk. It warns "
        "of valid settings that are probably mistakes.\nA configuration for another system or "
        "build is checked too; settings that cannot run here are listed.",
    .options = options,
    .examples = "       etwship check -c etwship.yaml -v\n"
                "       etwship check --print-schema > etwship.schema.json\n",
    .run = run,
};
