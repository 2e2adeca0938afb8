#include "cli/config_options.h"
#include "cli/output_words.h"

/* `etwship setup`: make the destination of an output ready for events. */

// clang-format off
static const struct cli_option options[] = {
    CLI_OPTIONS_CONFIG,
    {.name = "dry-run",
        .help = "Change nothing: print the requests, as the consoles of Kibana and OpenSearch "
                "Dashboards take them, and the rights that they need."},
    {.name = NULL},
};
// clang-format on

static int set_up(const struct cli_args *args, const struct app_config *config)
{
    const struct app_output *output = output_words_find(args, config);
    if (!output) {
        return EXIT_USAGE;
    }
    bool dry_run = cli_value(args, "dry-run") != NULL;
    struct output_talk talk = output_words_talk(output, dry_run);
    if (!output->ops->setup) {
        talk.say(talk.host, OUTPUT_FOUND_GOOD, "this type of output needs nothing made ready");
        return EXIT_DONE;
    }
    return output->ops->setup(output->settings, &talk) ? EXIT_DONE : EXIT_FAILED;
}

static int run(const struct cli_args *args)
{
    return config_options_run(args, set_up);
}

const struct cli_command cmd_setup = {
    .name = "setup",
    .synopsis = "NAME [-c FILE] [--set KEY=VALUE]... [--dry-run]",
    .summary = "make the destination of an output ready for events",
    .description =
        "For Elasticsearch and OpenSearch: writes the index template that the events of the output "
        "NAME want, and the lifecycle policy if the configuration asks for one. What is right "
        "already is left alone, so it may be run at any time.\n"
        "It needs more rights than shipping; --set can give it credentials of its own. Where they "
        "are missing it says which.",
    .options = options,
    .examples = "       etwship setup siem\n"
                "       etwship setup siem --set outputs.siem.auth.user=admin "
                "--set outputs.siem.auth.password=file:/root/admin\n"
                "       etwship setup siem --dry-run\n",
    .operand = "the name of an output",
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
