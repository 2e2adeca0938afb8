#ifndef ETWSHIP_OUTPUTS_OUTPUT_H
#define ETWSHIP_OUTPUTS_OUTPUT_H

#include "base/error.h"
#include "base/span.h"

/*
 * Where batches go. An output is one file and one line in outputs.def. It delivers once and says
 * how it went; the host alone retries, backs off, acks and dead-letters. One object per worker
 * thread: no locks inside. An output frames bytes, it never encodes an event again.
 */
enum output_verdict {
    OUTPUT_RETRY,     /* nothing is known to have arrived; zero is the safe answer */
    OUTPUT_RECONNECT, /* the same, and the connection is gone */
    OUTPUT_DELIVERED, /* the destination has answered for every record */
    OUTPUT_MIXED,     /* see output_report.records */
    OUTPUT_REJECTED,  /* the destination will never take it */
    OUTPUT_FATAL,     /* the output cannot go on at all (a closed pipe, a lost right) */
};

enum record_status { RECORD_RETRY, RECORD_DELIVERED, RECORD_REJECTED };

/* What is left to send of one batch. A first try and a partial resend look the same. */
struct delivery {
    struct span bytes;           /* the records back to back, as the stream's format ends them */
    const uint32_t *record_ends; /* end of each record in `bytes` */
    size_t record_count;
};

struct output_report {
    struct error error;          /* for every verdict but OUTPUT_DELIVERED */
    enum record_status *records; /* room for record_count entries; read with OUTPUT_MIXED */
};

struct config_field;

struct output_env {
    const char *name; /* of the output in the configuration */
};

struct output_ops {
    const char *name; /* `type:` in YAML */
    const struct config_field *fields;
    size_t settings_size;

    /* Name of the event format whose bytes this output wants, NULL: the `format` setting. */
    const char *(*format)(const void *settings);

    bool (*check)(const void *settings, struct error *err); /* no I/O; may be NULL */
    void *(*create)(const void *settings, const struct output_env *env, struct error *err);
    bool (*connect)(void *self, struct error *err); /* may be NULL */
    enum output_verdict (*send)(
        void *self, const struct delivery *delivery, struct output_report *report);
    void (*disconnect)(void *self); /* may be NULL */
    void (*destroy)(void *self);    /* NULL and half-built are fine */
};

#define OUTPUT(id) extern const struct output_ops output_##id;
#include "outputs/outputs.def"
#undef OUTPUT

#endif
