#include "app/run/agent_tap.h"

#include <stdlib.h>

#include "app/run/agent_generation.h"
#include "app/run/agent_runner.h"
#include "app/run/agent_setup.h"
#include "pipeline/work/tap.h"
#include "platform/plat_clock.h"

enum { MAX_VALUE_BYTES = 8192, DEFAULT_RATE = 100 };

struct looker {
    struct tap *tap;
    uint64_t since_ns;
};

/* ---- the stream ------------------------------------------------------------------------------ */

static bool more(void *self, struct buf *out)
{
    struct looker *looker = self;
    uint64_t now = plat_monotonic_ns();
    bool goes_on = tap_take(looker->tap, now - looker->since_ns, out);
    uint64_t omitted = tap_omitted(looker->tap);
    looker->since_ns = now;
    if (omitted) {
        buf_printf(out, "{\"tap\":{\"omitted\":%llu}}\n", (unsigned long long)omitted);
    }
    return goes_on;
}

static void end(void *self)
{
    struct looker *looker = self;
    tap_close(looker->tap);
    free(looker);
}

static const struct status_stream_ops stream_ops = {.more = more, .end = end};

/* ---- what is asked for ----------------------------------------------------------------------- */

static bool is_text(const struct agent_plan *plan, size_t stream)
{
    return strcmp(plan->streams[stream].shape.format->name, "otlp") != 0;
}

/* Events of a session are shown as its first stream has them. */
static bool is_session_text(const struct agent_plan *plan, size_t session)
{
    const struct pipeline_session *of = &plan->sessions[session];
    return of->stream_count == 0 || is_text(plan, of->streams[0]);
}

static bool find_place(const struct agent_plan *plan, struct span name,
    struct tap_settings *settings, struct error *err)
{
    size_t session = agent_plan_find_session(plan, name);
    size_t output = agent_plan_find_output(plan, name);
    settings->session = SIZE_MAX;
    if (session < plan->session_count) {
        settings->session = session;
        return is_session_text(plan, session) ||
               error_set(err, ERR_UNSUPPORTED,
                   "the first output of this session gets binary data (protocol: protobuf). name "
                   "an output that gets text");
    }
    if (output < plan->output_count) {
        settings->stream = plan->outputs[output].stream;
        return is_text(plan, settings->stream) ||
               error_set(err, ERR_UNSUPPORTED,
                   "the events of this output are not text. name a session instead");
    }
    return error_set(err, ERR_MISSING, "no running session or output has this name");
}

static bool compile(struct span text, struct filter **ret_filter, struct error *err)
{
    struct filter_rule rules[] = {
        {.action = FILTER_ACTION_KEEP, .text = text},
        {.action = FILTER_ACTION_DROP, .text = span_text("true")},
    };
    struct filter_place place = {.rule = 0};
    struct error why;
    *ret_filter = filter_create(rules, 2, &place, &why);
    return *ret_filter ||
           error_set(err, ERR_CONFIG, "where: at character %zu of the expression: %s",
               place.offset + 1, why.text);
}

static bool parse_rate(struct span text, unsigned *ret_rate, struct error *err)
{
    unsigned rate = 0;
    for (size_t i = 0; i < text.size && i < 6; i++) {
        bool digit = text.data[i] >= '0' && text.data[i] <= '9';
        rate = digit ? rate * 10 + (unsigned)(text.data[i] - '0') : TAP_MAX_RATE + 1;
        if (!digit) {
            break;
        }
    }
    *ret_rate = rate;
    return (text.size && text.size < 6 && rate > 0 && rate <= TAP_MAX_RATE) ||
           error_set(err, ERR_CONFIG, "rate: write a number of events per second from 1 to %d",
               TAP_MAX_RATE);
}

/* The names are looked up, and the tap is opened, while the agent that they are of is held. */
static struct tap *open_tap(struct agent_runner *runner, struct tap_hub *taps, struct span name,
    struct tap_settings *settings, struct error *err)
{
    struct agent *agent = agent_runner_borrow(runner);
    struct tap *tap = NULL;
    if (!agent) {
        error_set(
            err, ERR_BUSY, "the agent starts, loads a configuration or stops. try again later");
        filter_destroy(settings->filter);
        return NULL;
    }
    const struct agent_setup *setup = agent_setup_of(agent);
    if (find_place(&setup->plan, name, settings, err)) {
        settings->worker_count = (size_t)setup->config.agent.decode_workers;
        settings->session_count = setup->plan.session_count + 1;
        tap = tap_open(taps, settings, err);
    } else {
        filter_destroy(settings->filter);
    }
    agent_runner_give_back(runner);
    return tap;
}

static struct tap *ask(struct agent_runner *runner, struct tap_hub *taps,
    const struct status_request *request, struct error *err)
{
    struct tap_settings settings = {.rate = DEFAULT_RATE};
    struct tap *tap = NULL;
    struct buf value;
    buf_init(&value, MAX_VALUE_BYTES);
    bool ok = !status_request_query(request, "rate", &value) ||
              parse_rate(buf_span(&value), &settings.rate, err);
    buf_reset(&value);
    if (ok && status_request_query(request, "where", &value)) {
        ok = compile(buf_span(&value), &settings.filter, err);
    }
    buf_reset(&value);
    if (ok && status_request_query(request, "of", &value)) {
        tap = open_tap(runner, taps, buf_span(&value), &settings, err);
    } else if (ok) {
        filter_destroy(settings.filter);
        error_set(err, ERR_CONFIG, "of: name a session or an output");
    }
    buf_fini(&value);
    return tap;
}

static unsigned status_of(enum error_code code)
{
    switch (code) {
    case ERR_MISSING:
        return 404;
    case ERR_CONFIG:
    case ERR_UNSUPPORTED: /* another name can be asked for */
        return 400;
    case ERR_LIMIT:
        return 429;
    default:
        return 503;
    }
}

void agent_tap_answer(struct agent_runner *runner, struct tap_hub *taps,
    const struct status_request *request, bool trusted, struct status_reply *reply)
{
    struct error err = {.code = ERR_NONE};
    struct looker *looker = trusted ? calloc(1, sizeof(*looker)) : NULL;
    reply->type = "text/plain; charset=utf-8";
    if (!trusted) {
        reply->status = 403;
        buf_add_text(&reply->body,
            "events are shown only over status.unix and status.pipe, or with status.token\n");
        return;
    }
    if (looker) {
        looker->tap = ask(runner, taps, request, &err);
        looker->since_ns = plat_monotonic_ns();
    }
    if (!looker || !looker->tap) {
        reply->status = looker ? status_of(err.code) : 503;
        buf_printf(&reply->body, "%s\n", looker ? err.text : "out of memory");
        free(looker);
        return;
    }
    reply->type = "application/x-ndjson";
    reply->stream = &stream_ops;
    reply->stream_self = looker;
}
