#include <stdio.h>

#include "base/visible.h"
#include "cli/options/config_options.h"
#include "cli/text/agent_ask.h"

/* `etwship tap`: show events of a running agent. */

// clang-format off
static const struct cli_option options[] = {
    CLI_OPTIONS_CONFIG,
    {.name = "where", .argument = "EXPR", .help = "Only events for which this is true; the filter language of the configuration. The agent tests at most 20000 events per second."},
    {.name = "rate", .argument = "N", .help = "At most N events per second, up to 10000; default: 100. Further events are left out and counted."},
    {.name = "max-events", .letter = 'n', .argument = "N", .help = "End after N events."},
    {.name = NULL},
};
// clang-format on

enum {
    OK = 200,
    TOO_MANY = 429,
    MAX_TARGET_BYTES = 16 * 1024,
    MAX_LINE_BYTES = 1024 * 1024,
    MAX_REFUSAL_BYTES = 4096
};

struct watch {
    struct buf line;
    struct buf shown; /* the line, safe for terminals, still JSON */
    uint64_t left;    /* 0: no limit */
    uint64_t omitted;
    bool ended;
};

static bool parse_count(struct span text, uint64_t *ret_count)
{
    *ret_count = 0;
    for (size_t i = 0; i < text.size && i < 18; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
        *ret_count = *ret_count * 10 + (uint64_t)(text.data[i] - '0');
    }
    return text.size > 0;
}

/* Of `{"tap":{"omitted":N}}`; false: it is an event. */
static bool is_count(struct span line, uint64_t *ret_count)
{
    static const char before[] = "{\"tap\":{\"omitted\":";
    struct span rest = span_from(line, sizeof(before) - 1);
    return span_is(span_first(line, sizeof(before) - 1), before) && rest.size > 2 &&
           parse_count(span_first(rest, rest.size - 2), ret_count);
}

static void take_line(struct watch *watch, struct span line)
{
    uint64_t omitted;
    if (is_count(line, &omitted)) {
        watch->omitted += omitted;
        return;
    }
    buf_reset(&watch->shown);
    visible_add(&watch->shown, line);
    if (watch->shown.failed) {
        watch->omitted++;
        return;
    }
    line = buf_span(&watch->shown);
    if (fwrite(line.data, 1, line.size, stdout) != line.size || putchar('\n') == EOF) {
        watch->ended = true; /* the reader of standard output has closed it */
    }
    watch->ended = watch->ended || (watch->left && --watch->left == 0);
}

static bool take(void *self, struct span part)
{
    struct watch *watch = self;
    while (part.size && !watch->ended) {
        const uint8_t *end = memchr(part.data, '\n', part.size);
        struct span piece = span_first(part, end ? (size_t)(end - part.data) : part.size);
        buf_add_span(&watch->line, piece);
        part = span_from(part, piece.size + 1);
        if (end) {
            take_line(watch, buf_span(&watch->line));
            buf_reset(&watch->line);
        }
    }
    watch->ended = fflush(stdout) != 0 || watch->ended;
    return !watch->ended;
}

static void add_option(const struct cli_args *args, const char *name, struct buf *target)
{
    const char *value = cli_value(args, name);
    if (value) {
        buf_printf(target, "&%s=", name);
        status_client_escape(value, target);
    }
}

static int refused(unsigned status, const struct buf *refusal)
{
    struct span text = span_trim(buf_span(refusal));
    struct buf shown;
    buf_init(&shown, 8 * MAX_REFUSAL_BYTES);
    visible_add(&shown, text);
    cli_error("%.*s", SPAN_ARG(buf_span(&shown)));
    buf_fini(&shown);
    return status == TOO_MANY || status >= 500 ? EXIT_FAILED : EXIT_USAGE;
}

static int show(const struct cli_args *args, const struct app_config *config)
{
    struct status_client client;
    struct watch watch = {.omitted = 0};
    struct buf target;
    struct buf refusal;
    struct error err;
    unsigned status = 0;
    if (!cli_count(args, "max-events", &watch.left) || !agent_ask_init(config, 0, &client)) {
        return EXIT_USAGE;
    }
    buf_init(&target, MAX_TARGET_BYTES);
    buf_init(&refusal, MAX_REFUSAL_BYTES);
    buf_init(&watch.line, MAX_LINE_BYTES);
    buf_init(&watch.shown, 8 * MAX_LINE_BYTES);
    buf_add_text(&target, "/tap?of=");
    status_client_escape(args->operands[0], &target);
    add_option(args, "where", &target);
    add_option(args, "rate", &target);
    buf_add_byte(&target, 0);
    bool ok = !target.failed || error_set(&err, ERR_LIMIT, "the expression is too long");
    ok = ok && status_client_stream(
                   &client, (const char *)target.data, &status, take, &watch, &refusal, &err);
    int code = !ok ? agent_ask_failed(&err) : status == OK ? EXIT_DONE : refused(status, &refusal);
    if (watch.omitted) {
        cli_warning("%llu events were left out. raise --rate, or narrow --where",
            (unsigned long long)watch.omitted);
    }
    buf_fini(&target);
    buf_fini(&refusal);
    buf_fini(&watch.line);
    buf_fini(&watch.shown);
    return code;
}

const struct cli_command cmd_tap = {
    .name = "tap",
    .synopsis = "SESSION|OUTPUT [-c FILE] [--set KEY=VALUE]... [--where EXPR] [--rate N] [-n N]",
    .summary = "show events of the running agent",
    .description =
        "Asks the agent that runs with this configuration, at the address in its section status, "
        "for the events of a session or of an output, and prints one per line until Ctrl-C, -n, a "
        "reload or the end of the agent. It does not slow the agent: events beyond --rate are left "
        "out, and their count is printed to standard error at the end. Events of a session are "
        "shown before the rules of outputs, in the format of the first output. Over status.listen "
        "a token is needed.",
    .options = options,
    .examples = "       etwship tap security --where 'event.code == 3008' -n 5\n",
    .operands = {"the name of a session or an output", 1, 1},
    .run_configured = show,
};
