#include <stdio.h>
#include <stdlib.h>

#include "app/plan/app_dead_letters.h"
#include "base/grow.h"
#include "base/order.h"
#include "base/visible.h"
#include "cli/options/config_options.h"
#include "cli/text/deadletter_replay.h"
#include "cli/text/deadletter_text.h"
#include "event/value/value_json.h"
#include "platform/plat_file.h"

/* `etwship deadletter`: records that destinations rejected, of a running or a stopped agent. */

// clang-format off
static const struct cli_option options[] = {
    CLI_OPTIONS_CONFIG,
    {.name = "output", .letter = 'o', .argument = "NAME", .help = "Only dead letters of this output."},
    {.name = "json", .help = "JSON lines."},
    {.name = NULL},
};
// clang-format on

enum { MAX_IDS = CLI_MAX_VALUES, PRINT_AT_BYTES = 64 * 1024, MAX_TEXT_BYTES = 128 * 1024 * 1024 };

/* Arguments of a subcommand. */
struct call {
    const struct app_config *config;
    struct dead_letters *letters;
    const char *output;  /* NULL: all */
    const uint64_t *ids; /* ascending, each once */
    size_t id_count;     /* 0: all */
    bool json;

    struct deadletter_widths widths;
    struct buf out;
    bool closed; /* the reader of standard output has closed it */
    uint64_t *found;
    size_t found_count;
    size_t found_capacity;
    bool out_of_memory;
    bool output_has_letters;
};

static bool is_wanted(const void *self, const struct dead_letter *letter)
{
    const struct call *call = self;
    return (!call->output || span_is(letter->output, call->output)) &&
           (call->id_count == 0 ||
               bsearch(&letter->id, call->ids, call->id_count, sizeof(*call->ids), order_numbers));
}

static bool each(struct call *call, bool (*function)(void *self, const struct dead_letter *letter))
{
    struct error err;
    return call->letters->ops->each(call->letters, function, call, &err) || cli_fail(&err);
}

/* ---- printing -------------------------------------------------------------------------------- */

/* False if the reader has closed it. */
static bool print(struct call *call)
{
    struct error err;
    if (call->out.failed) {
        cli_error("out of memory");
        call->closed = true;
    } else if (!plat_file_write(plat_file_stdout(), buf_span(&call->out), &err)) {
        call->closed = true;
        if (err.code != ERR_STOPPED) {
            cli_fail(&err);
        }
    }
    buf_reset(&call->out);
    return !call->closed;
}

static void add_json(struct call *call, const struct dead_letter *letter)
{
    size_t start = call->out.size;
    dead_letter_json(letter, &call->out);
    visible_make(&call->out, start);
    buf_add_byte(&call->out, '\n');
}

static bool measure(void *self, const struct dead_letter *letter)
{
    struct call *call = self;
    if (is_wanted(call, letter)) {
        deadletter_text_measure(&call->widths, letter);
    }
    return true;
}

static bool add_row(void *self, const struct dead_letter *letter)
{
    struct call *call = self;
    if (!is_wanted(call, letter)) {
        return true;
    }
    if (call->json) {
        add_json(call, letter);
    } else {
        deadletter_text_row(&call->widths, letter, &call->out);
    }
    return (!call->out.failed && call->out.size < PRINT_AT_BYTES) || print(call);
}

static bool list(struct call *call)
{
    deadletter_text_widths(&call->widths);
    if (!call->json) {
        if (!each(call, measure)) {
            return false;
        }
        deadletter_text_row(&call->widths, NULL, &call->out);
    }
    return each(call, add_row);
}

static bool add_details(void *self, const struct dead_letter *letter)
{
    struct call *call = self;
    if (!is_wanted(call, letter)) {
        return true;
    }
    call->found_count++;
    if (call->json) {
        add_json(call, letter);
    } else {
        deadletter_text_details(letter, &call->out);
    }
    return false;
}

static bool show(struct call *call)
{
    if (!each(call, add_details)) {
        return false;
    }
    if (call->found_count == 0) {
        cli_error("there is no dead letter %llu. see `etwship deadletter list`",
            (unsigned long long)call->ids[0]);
    }
    return call->found_count > 0;
}

/* ---- removing -------------------------------------------------------------------------------- */

static bool collect(void *self, const struct dead_letter *letter)
{
    struct call *call = self;
    if (!is_wanted(call, letter)) {
        return true;
    }
    call->out_of_memory = !grow_list(
        &call->found, call->found_count, &call->found_capacity, sizeof(*call->found));
    if (!call->out_of_memory) {
        call->found[call->found_count++] = letter->id;
    }
    return !call->out_of_memory;
}

/* True if all named dead letters exist. */
static bool found_all(const struct call *call)
{
    for (size_t i = 0; i < call->id_count; i++) {
        if (!bsearch(&call->ids[i], call->found, call->found_count, sizeof(*call->found),
                order_numbers)) {
            cli_error("there is no dead letter %llu%s%s", (unsigned long long)call->ids[i],
                call->output ? " of output " : "", call->output ? call->output : "");
            return false;
        }
    }
    return true;
}

static bool find(struct call *call)
{
    bool good = each(call, collect);
    if (call->out_of_memory) {
        cli_error("out of memory");
        return false;
    }
    if (call->found_count) {
        qsort(call->found, call->found_count, sizeof(*call->found), order_numbers);
    }
    return good && found_all(call);
}

static bool purge(struct call *call)
{
    struct error err;
    uint64_t removed = 0;
    if (!find(call)) {
        return false;
    }
    if (call->found_count && !call->letters->ops->remove(
                                 call->letters, call->found, call->found_count, &removed, &err)) {
        return cli_fail(&err);
    }
    buf_printf(&call->out, call->json ? "{\"removed\":%llu}\n" : "%llu removed\n",
        (unsigned long long)removed);
    return true;
}

/* ---- sending once more ----------------------------------------------------------------------- */

static void add_counts(
    struct call *call, const char *output, const struct deadletter_replay_counts *counts)
{
    unsigned long long delivered = counts->delivered;
    unsigned long long refused = counts->refused;
    unsigned long long skipped = counts->skipped;
    unsigned long long unplaced = counts->unplaced;
    if (call->json) {
        buf_add_text(&call->out, "{\"output\":");
        value_json_string(span_text(output), &call->out);
        buf_printf(&call->out,
            ",\"delivered\":%llu,\"refused\":%llu,\"skipped\":%llu,\"unplaced\":%llu}\n", delivered,
            refused, skipped, unplaced);
        return;
    }
    buf_printf(&call->out, "output %s: %llu delivered", output, delivered);
    if (refused) {
        buf_printf(&call->out, ", %llu refused again", refused);
    }
    if (skipped) {
        buf_printf(&call->out, ", %llu without a document", skipped);
    }
    if (unplaced) {
        buf_printf(&call->out, ", %llu without a place", unplaced);
    }
    buf_add_byte(&call->out, '\n');
}

static void tell_unplaced(const char *output, const struct deadletter_replay_counts *counts)
{
    char more[40] = "";
    if (counts->unplaced > 1) {
        snprintf(more, sizeof(more), " and %llu more", (unsigned long long)counts->unplaced - 1);
    }
    cli_error("output %s: not sent, since its index or path now depends on fields, and these were "
              "kept without it: dead letter %llu%s. replay with the index or path that was meant",
        output, (unsigned long long)counts->first_unplaced, more);
}

static bool replay_output(struct call *call, const struct app_output *output, bool *all_delivered)
{
    const struct deadletter_replay replay = {
        .output = output, .letters = call->letters, .wants = is_wanted, .self = call};
    struct deadletter_replay_counts counts = {.delivered = 0};
    struct error err;
    bool good = deadletter_replay_run(&replay, &counts, &err);
    add_counts(call, output->name, &counts);
    if (counts.unplaced) {
        tell_unplaced(output->name, &counts);
    }
    *all_delivered = *all_delivered && counts.refused + counts.skipped + counts.unplaced == 0;
    return good || cli_fail(&err);
}

/* Assign each dead letter to its output, if that can send it. */
struct outputs_seen {
    struct call *call;
    size_t *letters; /* by output of the configuration; the last one: of unknown outputs */
};

static bool note_output(void *self, const struct dead_letter *letter)
{
    struct outputs_seen *seen = self;
    const struct app_config *config = seen->call->config;
    size_t i = 0;
    while (i < config->output_count && !span_is(letter->output, config->outputs[i].name)) {
        i++;
    }
    seen->letters[i] += is_wanted(seen->call, letter);
    return true;
}

static bool replay_seen(struct call *call, const size_t *letters, bool *all_delivered)
{
    bool good = true;
    for (size_t i = 0; i < call->config->output_count; i++) {
        const struct app_output *output = &call->config->outputs[i];
        if (letters[i] && (!output->enabled || !output->ops->create)) {
            cli_error(output->enabled
                          ? "output %s is of a type that is not in this build: %zu dead "
                            "letters stay"
                          : "output %s is not enabled: %zu dead letters stay",
                output->name, letters[i]);
            good = false;
        } else if (letters[i]) {
            good = replay_output(call, output, all_delivered) && good;
        }
    }
    if (letters[call->config->output_count]) {
        cli_error("%zu dead letters are of outputs that the configuration does not have",
            letters[call->config->output_count]);
        good = false;
    }
    return good;
}

/* ${ret_whole}: all that could be sent was delivered. */
static bool replay(struct call *call, bool *ret_whole)
{
    struct error err;
    struct outputs_seen seen = {
        .call = call, .letters = calloc(call->config->output_count + 1, sizeof(*seen.letters))};
    if (!seen.letters) {
        cli_error("out of memory");
        return false;
    }
    bool whole = true;
    bool good = find(call) &&
                (call->letters->ops->each(call->letters, note_output, &seen, &err) ||
                    cli_fail(&err)) &&
                replay_seen(call, seen.letters, &whole);
    free(seen.letters);
    *ret_whole = whole;
    return good;
}

/* ---- the command ----------------------------------------------------------------------------- */

enum verb { VERB_LIST, VERB_SHOW, VERB_REPLAY, VERB_PURGE, VERB_NONE };

static enum verb find_verb(const char *name)
{
    static const char *const verbs[] = {[VERB_LIST] = "list",
        [VERB_SHOW] = "show",
        [VERB_REPLAY] = "replay",
        [VERB_PURGE] = "purge"};
    for (size_t i = 0; i < VERB_NONE; i++) {
        if (strcmp(verbs[i], name) == 0) {
            return (enum verb)i;
        }
    }
    return VERB_NONE;
}

static bool parse_id(const char *text, uint64_t *ret_id)
{
    uint64_t id = 0;
    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9' || id > (INT64_MAX - 9) / 10) {
            id = 0;
            break;
        }
        id = id * 10 + (uint64_t)(*c - '0');
    }
    if (id == 0) {
        cli_error("deadletter: '%s' is not the number of a dead letter", text);
    }
    *ret_id = id;
    return id != 0;
}

/* True if the operands fit the verb. The caller frees ${ret_ids}. */
static bool parse_usage(
    enum verb verb, const struct cli_args *args, uint64_t **ret_ids, size_t *ret_count)
{
    size_t count = args->operand_count - 1;
    if (verb == VERB_LIST ? count > 0 : verb == VERB_SHOW && count != 1) {
        cli_error(verb == VERB_LIST ? "deadletter list takes no numbers"
                                    : "deadletter show: give the number of one dead letter");
        return false;
    }
    uint64_t *ids = calloc(count + 1, sizeof(*ids));
    size_t unique = 0;
    for (size_t i = 0; ids && i < count; i++) {
        if (!parse_id(args->operands[i + 1], &ids[i])) {
            free(ids);
            return false;
        }
    }
    if (!ids) {
        cli_error("out of memory");
        return false;
    }
    qsort(ids, count, sizeof(*ids), order_numbers);
    for (size_t i = 0; i < count; i++) {
        unique -= unique && ids[unique - 1] == ids[i];
        ids[unique++] = ids[i];
    }
    *ret_ids = ids;
    *ret_count = unique;
    return true;
}

static int run_verb(enum verb verb, struct call *call)
{
    bool whole = true;
    bool good = false;
    buf_init(&call->out, MAX_TEXT_BYTES);
    switch (verb) {
    case VERB_LIST:
        good = list(call);
        break;
    case VERB_SHOW:
        good = show(call);
        break;
    case VERB_REPLAY:
        good = replay(call, &whole);
        break;
    default:
        good = purge(call);
        break;
    }
    if (!call->closed) {
        print(call);
    }
    buf_fini(&call->out);
    free(call->found);
    return !good ? EXIT_FAILED : whole ? EXIT_DONE : EXIT_LOSSES;
}

static bool has_output(const struct app_config *config, const char *name)
{
    for (size_t i = 0; i < config->output_count; i++) {
        if (strcmp(config->outputs[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool note_letter(void *self, const struct dead_letter *letter)
{
    struct call *call = self;
    bool is_its = span_is(letter->output, call->output);
    call->output_has_letters = call->output_has_letters || is_its;
    return !is_its;
}

/* Dead letters stay when their output is removed from the configuration, so its name remains
 * valid. */
static int check_output(struct call *call)
{
    if (!call->output || has_output(call->config, call->output)) {
        return EXIT_DONE;
    }
    if (!each(call, note_letter)) {
        return EXIT_FAILED;
    }
    if (!call->output_has_letters) {
        cli_error(
            "no output and no dead letter has the name '%s'. `etwship check` lists the outputs",
            call->output);
        return EXIT_USAGE;
    }
    cli_warning("output '%s' is not in the configuration", call->output);
    return EXIT_DONE;
}

static int run_config(enum verb verb, struct call *call)
{
    struct error err;
    call->letters = app_dead_letters_open(call->config, NULL, NULL, &err);
    if (!call->letters) {
        cli_error("%s", err.text);
        return err.code == ERR_CONFIG ? EXIT_USAGE : EXIT_FAILED;
    }
    int exit_code = check_output(call);
    if (exit_code == EXIT_DONE) {
        exit_code = run_verb(verb, call);
    }
    dead_letters_destroy(call->letters);
    return exit_code;
}

static int run(const struct cli_args *args)
{
    int exit_code = EXIT_USAGE;
    struct app_config config;
    uint64_t *ids = NULL;
    size_t id_count = 0;
    enum verb verb = find_verb(args->operands[0]);
    if (verb != VERB_NONE && parse_usage(verb, args, &ids, &id_count) &&
        config_options_load(args, &config)) {
        struct call call = {.config = &config,
            .output = cli_value(args, "output"),
            .ids = ids,
            .id_count = id_count,
            .json = cli_value(args, "json") != NULL};
        exit_code = run_config(verb, &call);
        app_config_fini(&config);
    }
    free(ids);
    return exit_code;
}

const struct cli_command cmd_deadletter = {
    .name = "deadletter",
    .synopsis = "list | show ID | replay [ID...] | purge [ID...] [-c FILE] [-o NAME] [--json]",
    .summary = "list events that destinations rejected, send them again, or remove them",
    .description =
        "An event that its destination rejects for good (a field of the wrong type, an event that "
        "is too large) is kept in agent.data_dir as a dead letter. At most 64 MB are kept; new "
        "ones replace the oldest. list shows all, show prints one in full, replay sends them "
        "through their output again and removes those that arrive, purge removes them. Numbers and "
        "--output select some. Dead letters kept with spool.mode: memory are visible with durable "
        "after the agent has started once.\n"
        "All verbs work while the agent runs. With --json a dead letter is an object with "
        "id, time, output, status, type, reason, index, document; what is unknown is null. replay "
        "prints output, delivered, refused, skipped, and purge removed.",
    .options = options,
    .examples = "       etwship deadletter list -c etwship.yaml\n"
                "       etwship deadletter show 12 --json\n"
                "       etwship deadletter replay -o siem\n",
    .verbs = "list|show|replay|purge",
    .operands = {"list, show, replay or purge", 1, MAX_IDS},
    .run = run,
};
