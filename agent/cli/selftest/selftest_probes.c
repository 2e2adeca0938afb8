#include "cli/selftest/selftest_probes.h"

#include <stdarg.h>
#include <stdio.h>

#include "etw/etw_api.h"
#include "etw/etw_hold.h"
#include "event/value/value_json.h"
#include "platform/plat_self.h"

static const struct {
    const char *name;
    void (*run)(struct selftest_answer *ret_answer);
} probes[] = {
#define PROBE(name) {#name, selftest_probe_##name##_run},
#include "cli/selftest/selftest_probes.def"
#undef PROBE
};

static const char *const outcomes[] = {[SELFTEST_UNKNOWN] = "unknown",
    [SELFTEST_AS_EXPECTED] = "as expected",
    [SELFTEST_OTHERWISE] = "OTHERWISE"};

void selftest_probes_answer(
    struct selftest_answer *answer, enum selftest_outcome outcome, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    answer->outcome = outcome;
    vsnprintf(answer->text, sizeof(answer->text), format, args);
    va_end(args);
}

void selftest_probes_session(const char *probe, char ret_name[SELFTEST_PROBE_NAME_BYTES])
{
    snprintf(ret_name, SELFTEST_PROBE_NAME_BYTES, ETW_OUR_PREFIX "selftest-%s-%u", probe,
        plat_process_id());
}

bool selftest_probes_start(const char *probe, char ret_name[SELFTEST_PROBE_NAME_BYTES],
    struct etw_session_state *ret_session, struct selftest_answer *answer)
{
    struct error err = {0};
    selftest_probes_session(probe, ret_name);
    const struct etw_session_spec spec = {
        .name = ret_name, .buffer_kb = 64, .mode = ETW_MODE_REAL_TIME};
    if (!etw_control_start(&spec, ret_session, &err)) {
        selftest_probes_answer(answer, SELFTEST_UNKNOWN, "%.300s", err.text);
        return false;
    }
    return true;
}

bool selftest_probes_register(
    struct selftest_provider *provider, const struct guid *guid, struct selftest_answer *answer)
{
    uint32_t code = selftest_provider_register(provider, guid);
    if (code) {
        selftest_probes_answer(
            answer, SELFTEST_UNKNOWN, "no provider can be registered: %s", etw_api_reason(code));
    }
    return code == 0;
}

void selftest_probes_run(struct selftest_answer ret_answers[SELFTEST_PROBES])
{
    for (size_t i = 0; i < SELFTEST_PROBES; i++) {
        ret_answers[i] = (struct selftest_answer){.outcome = SELFTEST_UNKNOWN};
        probes[i].run(&ret_answers[i]);
    }
}

bool selftest_probes_have_failed(const struct selftest_answer answers[SELFTEST_PROBES])
{
    bool failed = false;
    for (size_t i = 0; i < SELFTEST_PROBES; i++) {
        failed = failed || answers[i].outcome == SELFTEST_OTHERWISE;
    }
    return failed;
}

void selftest_probes_write(const struct selftest_answer answers[SELFTEST_PROBES], struct buf *out)
{
    for (size_t i = 0; i < SELFTEST_PROBES; i++) {
        buf_printf(
            out, "%-14s %s: %s\n", probes[i].name, outcomes[answers[i].outcome], answers[i].text);
    }
}

void selftest_probes_write_json(
    const struct selftest_answer answers[SELFTEST_PROBES], struct buf *out)
{
    static const char *const words[] = {[SELFTEST_UNKNOWN] = "unknown",
        [SELFTEST_AS_EXPECTED] = "as_expected",
        [SELFTEST_OTHERWISE] = "otherwise"};
    buf_add_text(out, ",\"probes\":[");
    for (size_t i = 0; i < SELFTEST_PROBES; i++) {
        buf_printf(out, "%s{\"name\":\"%s\",\"outcome\":\"%s\",\"text\":", i ? "," : "",
            probes[i].name, words[answers[i].outcome]);
        value_json_string(span_text(answers[i].text), out);
        buf_add_byte(out, '}');
    }
    buf_add_byte(out, ']');
}
