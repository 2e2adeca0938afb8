#ifndef ETWSHIP_CLI_SELFTEST_PROBES_H
#define ETWSHIP_CLI_SELFTEST_PROBES_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "cli/selftest/selftest_provider.h"
#include "etw/session/etw_control.h"

/*
 * Tests of undocumented behaviour that etwship relies on, which only a real Windows can answer.
 * Each probe has sessions and providers of its own, and removes them.
 */
enum selftest_outcome {
    SELFTEST_UNKNOWN, /* no answer here; the text gives the reason */
    SELFTEST_AS_EXPECTED,
    SELFTEST_OTHERWISE,
};

struct selftest_answer {
    enum selftest_outcome outcome;
    char text[320];
};

enum {
#define PROBE(name) SELFTEST_PROBE_##name,
#include "cli/selftest/selftest_probes.def"
#undef PROBE
    SELFTEST_PROBES
};

#define PROBE(name) void selftest_probe_##name##_run(struct selftest_answer *ret_answer);
#include "cli/selftest/selftest_probes.def"
#undef PROBE

/* For probes: the answer and its text. */
void selftest_probes_answer(struct selftest_answer *answer, enum selftest_outcome outcome,
    const char *format, ...) ETWSHIP_PRINTF(3, 4);

/* A session name for the probe, unique to this process. */
enum { SELFTEST_PROBE_NAME_BYTES = 64 };
void selftest_probes_session(const char *probe, char ret_name[SELFTEST_PROBE_NAME_BYTES]);

/* Start a real-time session of that name. False: ${answer} has the reason. */
bool selftest_probes_start(const char *probe, char ret_name[SELFTEST_PROBE_NAME_BYTES],
    struct etw_session_state *ret_session, struct selftest_answer *answer);

/* As selftest_provider_register. False: ${answer} has the reason. */
bool selftest_probes_register(
    struct selftest_provider *provider, const struct guid *guid, struct selftest_answer *answer);

/* Run all probes. */
void selftest_probes_run(struct selftest_answer ret_answers[SELFTEST_PROBES]);

/* True if some result differs from the expected one. */
bool selftest_probes_have_failed(const struct selftest_answer answers[SELFTEST_PROBES]);

/* Append a line per probe, or `,"probes":[...]`. */
void selftest_probes_write(const struct selftest_answer answers[SELFTEST_PROBES], struct buf *out);
void selftest_probes_write_json(
    const struct selftest_answer answers[SELFTEST_PROBES], struct buf *out);

#endif
