#ifndef ETWSHIP_CLI_SELFTEST_WRITER_H
#define ETWSHIP_CLI_SELFTEST_WRITER_H

#include "base/buf.h"

/*
 * Providers of every kind in Windows that write known events: TraceLogging (EventRegister, events
 * that describe themselves), manifest (EventRegister, ids; described by a schema pack), classic
 * (RegisterTraceGuids, TraceEvent; described by the pack, too) and messages of WPP code (the same
 * registration, TraceMessage; described by a trace message format).
 */
enum selftest_kind {
    SELFTEST_TRACELOGGING,
    SELFTEST_MANIFEST,
    SELFTEST_CLASSIC,
    SELFTEST_MESSAGE,
    SELFTEST_KINDS,
};

/* Names of the kinds, as in `provider.kind`. */
const char *selftest_writer_kind(enum selftest_kind kind);

/* The providers to enable, in the compact form of provider_spec.h. NULL after the last. */
const char *selftest_writer_provider(size_t index);

/* Definitions of their events: a schema pack. */
extern const char selftest_writer_pack[];

/* Definitions of their messages: a trace message format. */
extern const char selftest_writer_tmf[];

/* Append `data` with its key in the native format for event ${sequence}, written at ${sent_ns}. */
void selftest_writer_expect(
    enum selftest_kind kind, uint64_t sequence, uint64_t sent_ns, struct buf *out);

/* Append `message`; nothing for kinds without text. */
void selftest_writer_expect_text(
    enum selftest_kind kind, uint64_t sequence, uint64_t sent_ns, struct buf *out);

struct selftest_writer;

struct selftest_writer_settings {
    uint64_t rate;        /* events a second, of all kinds together */
    uint64_t duration_ns; /* how long to write */
    void (*done)(void *self, const uint64_t sent[SELFTEST_KINDS]); /* on its thread, at the end */
    void *self;
};

/* The result. */
struct selftest_written {
    uint64_t sent[SELFTEST_KINDS];
    uint64_t refused;   /* calls that returned an error */
    uint32_t last_code; /* of these */
    uint64_t took_ns;
    bool was_enabled; /* all providers were enabled */
    bool as_asked;    /* the classic one with the right level and flags */
};

/* Register the providers and start a thread, which writes when all are enabled; after the last
 * event it calls `done`, then writes one more of every kind, numbered 0. NULL with ${err} set: a
 * function is missing or fails. */
struct selftest_writer *selftest_writer_start(
    const struct selftest_writer_settings *settings, struct error *err);

/* Stop writing, and unregister the providers. */
void selftest_writer_end(struct selftest_writer *writer, struct selftest_written *ret_written);

#endif
