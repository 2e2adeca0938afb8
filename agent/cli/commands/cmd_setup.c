#include "cli/options/config_options.h"
#include "cli/text/output_words.h"
#include "cli/text/typed_words.h"

/* `etwship setup`: prepare the destination of an output for events. */

// clang-format off
static const struct cli_option options[] = {
    CLI_OPTIONS_CONFIG,
    {.name = "dry-run",
        .help = "Change nothing: print the requests, in the form for the consoles of Kibana and OpenSearch Dashboards, and the rights that they need."},
    {.name = NULL},
};
// clang-format on

static void say_note(void *talk_, const char *text)
{
    const struct output_talk *talk = talk_;
    talk->say(talk->host, OUTPUT_FOUND_NOTE, text);
}

/* The template has types for payload fields, from the available definitions. */
static int set_up_typed(
    const struct app_config *config, const struct app_output *output, struct output_talk *talk)
{
    enum { MAX_CONFLICTS = 20 };
    const struct typed_fields_settings settings = {
        .config = config, .output = output, .read_traces = true, .warn = cli_warn};
    struct typed_fields typed;
    struct error err;
    if (!typed_fields_find(&settings, &typed, &err)) {
        cli_error("%s", err.text);
        return EXIT_FAILED;
    }
    typed_words_each(&typed, MAX_CONFLICTS, say_note, talk);
    talk->fields = typed.fields;
    int exit_code = output->ops->setup(output->settings, talk) ? EXIT_DONE : EXIT_FAILED;
    typed_fields_fini(&typed);
    return exit_code;
}

static int set_up(const struct cli_args *args, const struct app_config *config)
{
    const struct app_output *output = output_words_find(args, config);
    if (!output) {
        return EXIT_USAGE;
    }
    bool dry_run = cli_value(args, "dry-run") != NULL;
    struct output_talk talk = output_words_talk(output, dry_run);
    if (!output->ops->setup) {
        talk.say(talk.host, OUTPUT_FOUND_GOOD, "this type of output needs no preparation");
        return EXIT_DONE;
    }
    if (!typed_fields_room(output)) {
        return output->ops->setup(output->settings, &talk) ? EXIT_DONE : EXIT_FAILED;
    }
    return set_up_typed(config, output, &talk);
}

const struct cli_command cmd_setup = {
    .name = "setup",
    .synopsis = "NAME [-c FILE] [--set KEY=VALUE]... [--dry-run]",
    .summary = "prepare the destination of an output for events",
    .description = "For Elasticsearch and OpenSearch: writes the index template for events of the "
                   "output NAME, and the lifecycle policy if the configuration has one. It changes "
                   "only what differs, so it may be run at any time. With `setup: {fields: typed}` "
                   "it also reads the definitions of the providers, those in recorded traces "
                   "included, and reports fields in which definitions differ.\n"
                   "It needs more rights than shipping; --set can give it credentials of its own. "
                   "It names the rights that are missing.",
    .options = options,
    .examples = "       etwship setup siem\n"
                "       etwship setup siem --set outputs.siem.auth.user=admin "
                "--set outputs.siem.auth.password=file:/root/admin\n"
                "       etwship setup siem --dry-run\n",
    .operands = {"the name of an output", 1, 1},
    .run_configured = set_up,
};
