#include "app/plan/app_trust.h"
#include "app/plan/output_trial.h"
#include "cli/options/config_options.h"
#include "cli/text/output_words.h"

/* `etwship test-output`: find out why an output cannot deliver. */

// clang-format off
static const struct cli_option options[] = {
    CLI_OPTIONS_CONFIG,
    {.name = "dry-run", .help = "Do not send the test event."},
    {.name = NULL},
};
// clang-format on

static void say_note(void *host, const char *text)
{
    (void)host;
    output_words_say(OUTPUT_FOUND_NOTE, text);
}

/* The tests have already reported their notes. */
static bool send_event(const struct app_config *config, const struct app_output *output)
{
    struct error err;
    if (!output_trial_run(config, output, output->ops->examine ? NULL : say_note, &err)) {
        output_words_say(OUTPUT_FOUND_FAULT, err.text);
        return false;
    }
    output_words_say(OUTPUT_FOUND_GOOD, "a test event was delivered");
    return true;
}

static void warn_of_trust(void *self, const char *text)
{
    (void)self;
    cli_warning("others could use the rights of the agent. %s", text);
}

static int test(const struct cli_args *args, const struct app_config *config)
{
    const struct app_output *output = output_words_find(args, config);
    if (!output) {
        return EXIT_USAGE;
    }
    if (!output->ops->create) {
        cli_error("type: '%s' is not in this build. use another type", output->type);
        return EXIT_USAGE;
    }
    app_trust_find(config, APP_TRUST_OUTPUTS, APP_TRUST_CHECKER, warn_of_trust, NULL);
    struct output_talk talk = output_words_talk(output, false);
    bool dry_run = cli_value(args, "dry-run") != NULL;
    bool good = !output->ops->examine || output->ops->examine(output->settings, &talk);
    /* Only the running agent may write to its files. */
    bool may_send = !dry_run && !app_config_target(output);
    if (may_send && good) {
        good = send_event(config, output);
    } else if (may_send) {
        /* For example, without its template one event would create an index with permanently wrong
         * types. */
        output_words_say(OUTPUT_FOUND_NOTE, "no test event is sent until this is corrected");
    }
    if (good && !output->enabled) {
        output_words_say(OUTPUT_FOUND_NOTE, "the output is switched off: enabled: false");
    }
    return good ? EXIT_DONE : EXIT_FAILED;
}

const struct cli_command cmd_test_output = {
    .name = "test-output",
    .synopsis = "NAME [-c FILE] [--set KEY=VALUE]... [--dry-run]",
    .summary = "find out why an output cannot deliver",
    .description = "Tests one after the other what a delivery of the output NAME needs: its name, "
                   "a connection, certificates, credentials, rights, the index template; then "
                   "delivers one test event. It explains each fault and its remedy; the exit code "
                   "is then 1. It writes nothing to the files of a file output.",
    .options = options,
    .examples = "       etwship test-output siem -c etwship.yaml\n",
    .operands = {"the name of an output", 1, 1},
    .run_configured = test,
};
