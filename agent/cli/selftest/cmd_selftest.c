#include "cli/live/live_run.h"
#include "cli/selftest/selftest_check.h"
#include "cli/selftest/selftest_probes.h"
#include "etw/etw_api.h"
#include "event/value/value_json.h"
#include "platform/plat_file.h"

/*
 * `etwship selftest`: test tracing from a provider's call to the shipped line. Providers of every
 * kind in this process write known events, a session of the agent reads them, and its output
 * compares each line with the written event.
 */

// clang-format off
static const struct cli_option options[] = {
    {.name = "rate", .argument = "N", .help = "Events per second, of all kinds together (1000)."},
    {.name = "duration", .argument = "D", .help = "How long to write, as in 10s (2s)."},
    {.name = "json", .help = "One JSON object."},
    {.name = NULL},
};
// clang-format on

enum {
    MAX_OUTPUT_BYTES = 1024 * 1024,
    MAX_LATENCIES = 1 << 20,
    DEFAULT_RATE = 1000,
    MAX_RATE = 10000000,
};

static const uint64_t second_ns = 1000000000;

/* How long to wait for late events and for counted losses. */
static const uint64_t grace_ns = UINT64_C(15000000000);

struct result {
    struct selftest_written written;
    struct selftest_seen seen;
    uint64_t sent;
    uint64_t received;
    uint64_t wrong;
    uint64_t out_of_order;
    uint64_t missing; /* neither received nor counted as lost */
    struct selftest_answer answers[SELFTEST_PROBES];
};

/* ---- verdict --------------------------------------------------------------------------------- */

static void add_up(struct result *result)
{
    for (int i = 0; i < SELFTEST_KINDS; i++) {
        result->sent += result->written.sent[i];
        result->received += result->seen.received[i];
        result->wrong += result->seen.wrong[i];
        result->out_of_order += result->seen.out_of_order[i];
    }
    uint64_t known = result->received + result->seen.lost;
    result->missing = result->sent > known ? result->sent - known : 0;
}

static const char *verdict(const struct result *result, int *ret_exit)
{
    *ret_exit = EXIT_FAILED;
    if (!result->written.was_enabled) {
        return "the providers were not enabled";
    }
    if (!result->written.as_asked) {
        return "the classic provider was enabled with another level or other flags";
    }
    if (result->wrong) {
        return "decoded events differ from the written ones";
    }
    if (result->out_of_order) {
        return "events arrived twice or out of order";
    }
    if (result->received > result->sent) {
        return "more events arrived than were written";
    }
    if (result->missing && !result->seen.lost_otherwise) {
        return "events are missing without a counted loss";
    }
    if (selftest_probes_have_failed(result->answers)) {
        return "Windows behaves differently than etwship relies on";
    }
    if (result->seen.lost || result->seen.lost_otherwise) {
        *ret_exit = EXIT_LOSSES;
        return "events were lost, and all of them were counted";
    }
    *ret_exit = EXIT_DONE;
    return "every check has passed";
}

/* ---- report ---------------------------------------------------------------------------------- */

static double seconds(uint64_t ns)
{
    return (double)ns / (double)second_ns;
}

static double milliseconds(uint64_t ns)
{
    return (double)ns / 1e6;
}

static double rate_of(const struct result *result)
{
    return result->written.took_ns ? (double)result->sent / seconds(result->written.took_ns) : 0;
}

static void report_text(const struct result *result, const char *words, struct buf *out)
{
    static const char *const names[] = {"TraceLogging", "manifest", "classic", "message (WPP)"};
    const struct selftest_seen *seen = &result->seen;
    buf_printf(
        out, "%-14s %10s %10s %10s %13s\n", "", "written", "received", "wrong", "out of order");
    for (int i = 0; i < SELFTEST_KINDS; i++) {
        buf_printf(out, "%-14s %10llu %10llu %10llu %13llu\n", names[i],
            (unsigned long long)result->written.sent[i], (unsigned long long)seen->received[i],
            (unsigned long long)seen->wrong[i], (unsigned long long)seen->out_of_order[i]);
    }
    if (!seen->loss_count) {
        buf_add_text(out, "lost           none\n");
    }
    for (size_t i = 0; i < seen->loss_count; i++) {
        const struct selftest_loss *loss = &seen->losses[i];
        buf_printf(out, "lost           %llu %s at stage %s (%s)\n",
            (unsigned long long)loss->count, loss->unit, loss->stage, loss->reason);
    }
    if (result->missing) {
        buf_printf(out, "missing        %llu\n", (unsigned long long)result->missing);
    }
    if (result->written.refused) {
        buf_printf(out, "refused        %llu calls, the last with error %u: %s\n",
            (unsigned long long)result->written.refused, result->written.last_code,
            etw_api_reason(result->written.last_code));
    }
    buf_printf(out, "rate           %.0f events/s for %.1f s\n", rate_of(result),
        seconds(result->written.took_ns));
    buf_printf(out, "latency        p50 %.1f ms, p99 %.1f ms, most %.1f ms\n",
        milliseconds(seen->p50_ns), milliseconds(seen->p99_ns), milliseconds(seen->max_ns));
    selftest_probes_write(result->answers, out);
    if (seen->first_wrong[0]) {
        buf_printf(out, "first wrong    %s\n", seen->first_wrong);
    }
    buf_printf(out, "result         %s\n", words);
}

static void report_losses(const struct selftest_seen *seen, struct buf *out)
{
    buf_add_text(out, ",\"lost\":[");
    for (size_t i = 0; i < seen->loss_count; i++) {
        const struct selftest_loss *loss = &seen->losses[i];
        buf_add_text(out, i ? ",{\"stage\":" : "{\"stage\":");
        value_json_string(span_text(loss->stage), out);
        buf_add_text(out, ",\"reason\":");
        value_json_string(span_text(loss->reason), out);
        buf_add_text(out, ",\"unit\":");
        value_json_string(span_text(loss->unit), out);
        buf_printf(out, ",\"count\":%llu}", (unsigned long long)loss->count);
    }
    buf_add_byte(out, ']');
}

static void report_json(const struct result *result, const char *words, bool ok, struct buf *out)
{
    const struct selftest_seen *seen = &result->seen;
    buf_printf(out, "{\"ok\":%s,\"result\":", ok ? "true" : "false");
    value_json_string(span_text(words), out);
    buf_add_text(out, ",\"kinds\":[");
    for (int i = 0; i < SELFTEST_KINDS; i++) {
        buf_printf(out, "%s{\"kind\":\"%s\",\"written\":%llu,\"received\":%llu", i ? "," : "",
            selftest_writer_kind((enum selftest_kind)i),
            (unsigned long long)result->written.sent[i], (unsigned long long)seen->received[i]);
        buf_printf(out, ",\"wrong\":%llu,\"out_of_order\":%llu}",
            (unsigned long long)seen->wrong[i], (unsigned long long)seen->out_of_order[i]);
    }
    buf_add_byte(out, ']');
    report_losses(seen, out);
    buf_printf(out, ",\"missing\":%llu,\"refused\":%llu", (unsigned long long)result->missing,
        (unsigned long long)result->written.refused);
    buf_printf(out, ",\"seconds\":%.3f,\"events_per_second\":%.0f",
        seconds(result->written.took_ns), rate_of(result));
    buf_printf(out, ",\"latency_ms\":{\"p50\":%.3f,\"p99\":%.3f,\"max\":%.3f}",
        milliseconds(seen->p50_ns), milliseconds(seen->p99_ns), milliseconds(seen->max_ns));
    selftest_probes_write_json(result->answers, out);
    buf_add_text(out, "}\n");
}

static int report(const struct result *result, bool json)
{
    int exit_code;
    struct buf out;
    struct error err;
    const char *words = verdict(result, &exit_code);
    buf_init(&out, MAX_OUTPUT_BYTES);
    if (json) {
        report_json(result, words, exit_code == EXIT_DONE, &out);
    } else {
        report_text(result, words, &out);
    }
    if (!plat_file_write(plat_file_stdout(), buf_span(&out), &err) && err.code != ERR_STOPPED) {
        cli_error("%s", err.text);
        exit_code = EXIT_FAILED;
    }
    buf_fini(&out);
    return exit_code;
}

/* ---- the test -------------------------------------------------------------------------------- */

static void on_sent(void *self, const uint64_t sent[SELFTEST_KINDS])
{
    (void)self;
    selftest_check_sent(sent);
}

static int test(uint64_t rate, uint64_t duration_ns, bool json)
{
    const char *providers[8];
    struct live_run_settings live = {.name = "selftest",
        .providers = providers,
        .output = &selftest_check_ops,
        .pack = span_text(selftest_writer_pack),
        .tmf = span_text(selftest_writer_tmf),
        .duration_ns = duration_ns + grace_ns};
    while ((providers[live.provider_count] = selftest_writer_provider(live.provider_count))) {
        live.provider_count++;
    }
    struct selftest_writer_settings settings = {
        .rate = rate, .duration_ns = duration_ns, .done = on_sent};
    struct result result = {.sent = 0};
    struct error err;
    if (!selftest_check_begin(MAX_LATENCIES)) {
        cli_error("out of memory");
        return EXIT_FAILED;
    }
    struct selftest_writer *writer = selftest_writer_start(&settings, &err);
    int exit_code = EXIT_FAILED;
    if (writer) {
        exit_code = live_run(&live);
        selftest_writer_end(writer, &result.written);
    } else {
        cli_error("selftest: %s", err.text);
    }
    selftest_check_end(&result.seen);
    if (!writer || (exit_code != EXIT_DONE && !result.written.was_enabled)) {
        return exit_code; /* printed already */
    }
    add_up(&result);
    selftest_probes_run(result.answers);
    return report(&result, json);
}

static int run(const struct cli_args *args)
{
    int exit_code = EXIT_USAGE;
    uint64_t rate;
    uint64_t duration_ns;
    if (cli_duration(args, "duration", &duration_ns) && cli_count(args, "rate", &rate)) {
        duration_ns = duration_ns ? duration_ns : 2 * second_ns;
        if (rate > MAX_RATE) {
            cli_error("--rate: at most %d events a second", MAX_RATE);
        } else if (!etw_api_has_sessions()) {
            cli_error("selftest: this system has no Event Tracing for Windows");
            exit_code = EXIT_FAILED;
        } else {
            exit_code = test(rate ? rate : DEFAULT_RATE, duration_ns, cli_value(args, "json"));
        }
    }
    return exit_code;
}

const struct cli_command cmd_selftest = {
    .name = "selftest",
    .synopsis = "[--rate N] [--duration D] [--json]",
    .summary = "test whether tracing works on this machine",
    .description =
        "Registers providers of every kind (TraceLogging, manifest, classic, messages of WPP "
        "code), writes known events with them through a session of its own, and compares the "
        "shipped lines: values, texts, order, losses by stage, and latency. Then it tests "
        "undocumented behaviour of Windows that etwship relies on: which keywords providers "
        "receive, whether sessions start with lists of processes and of kernel events, what UPDATE "
        "does to these, whether filters by event names work, whether a provider that does not "
        "answer delays EnableTraceEx2, and whether Windows knows a TraceLogging provider by its "
        "GUID. Exits with 0 only if everything passed, with 3 if events were lost but counted.\n"
        "Needs Windows, and the right to trace: administrator, or Performance Log Users.",
    .options = options,
    .examples = "       etwship selftest\n"
                "       etwship selftest --rate 20000 --duration 10s\n",
    .run = run,
};
