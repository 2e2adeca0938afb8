#ifndef ETWSHIP_EVENT_OTEL_CODEC_H
#define ETWSHIP_EVENT_OTEL_CODEC_H

#include "base/buf.h"
#include "base/span.h"

/*
 * The two encodings of OTLP behind one table of functions, so that otel_event.c defines the shape
 * of an event for both:
 *
 *     otel_json   OTLP/JSON, a line (otel_json.c)
 *     otel_proto  protobuf and a line break (otel_proto.c)
 *
 * A record of either is a whole request of its own (ExportLogsServiceRequest with one resource, one
 * scope and one log record: opentelemetry/proto/collector/logs/v1/logs_service.proto), so a dead
 * letter can be read and sent by hand. The output `otlp` merges many records into one request.
 *
 * Keys and texts are JSON-escaped, as all writers of values write them.
 */

/* The place of a value: with a key in a list of attributes, or without. */
enum otel_place {
    OTEL_RECORD,   /* an attribute of the log record */
    OTEL_RESOURCE, /* of the resource */
    OTEL_MEMBER,   /* of a value that has members */
    OTEL_ELEMENT,  /* of a list; no key */
    OTEL_BODY,     /* of the log record; no key */
};

/* An open value or list, until it is closed. */
struct otel_open {
    size_t pair;    /* places of the lengths: of the pair, … */
    size_t value;   /* … of its value, … */
    size_t content; /* … of the text or list; in JSON, its start */
    uint8_t width;  /* bytes of each of these lengths */
    bool is_plain;  /* set by the writer of a text: it has no JSON escapes, or put_utf16 wrote it */
};

/* The places of the lengths around a record, as offsets into the buffer. */
struct otel_frame {
    size_t start;
    size_t scope_logs;
    size_t record;
    size_t attributes; /* start of the record's list of attributes */
};

struct otel_codec {
    void (*number)(struct buf *out, enum otel_place place, struct span key, int64_t value);
    void (*real)(struct buf *out, enum otel_place place, struct span key, double value);
    void (*truth)(struct buf *out, enum otel_place place, struct span key, bool value);
    void (*bytes)(struct buf *out, enum otel_place place, struct span key, struct span value);

    /* Write UTF-16 for a text. Room: utf16_json_bound. */
    size_t (*put_utf16)(struct span utf16, uint8_t *out);

    /* Open a text, which the caller appends to ${out}, JSON-escaped, and then closes. ${most}: its
     * maximum size without escapes; SIZE_MAX: unknown. ${room}: bytes to reserve. False: no memory,
     * and nothing was opened. */
    bool (*open_text)(struct buf *out, enum otel_place place, struct span key, size_t most,
        size_t room, struct otel_open *ret_open);
    void (*close_text)(struct buf *out, const struct otel_open *open);

    /* Open and close a list of elements, or a value with members. */
    void (*open_list)(
        struct buf *out, enum otel_place place, struct span key, struct otel_open *ret_open);
    void (*open_members)(
        struct buf *out, enum otel_place place, struct span key, struct otel_open *ret_open);
    void (*close)(struct buf *out, const struct otel_open *open);

    /* What precedes a scope; the caller writes the resource's attributes in between. */
    void (*open_resource)(struct buf *out, struct otel_open *ret_open);
    void (*close_resource)(struct buf *out, const struct otel_open *open);

    /* A scope with its names (UTF-8), and what precedes the times of a record. */
    void (*scope)(struct buf *out, struct span name, struct span version);

    /* The record's time and observed time, nanoseconds since 1970; 0: unknown. */
    void (*times)(struct buf *out, uint64_t time, uint64_t observed);

    /* Its severity number (0: unspecified), and names in UTF-8; empty: absent. */
    void (*severity)(struct buf *out, unsigned number, struct span text);
    void (*event_name)(struct buf *out, struct span name);

    void (*open_attributes)(struct buf *out, struct otel_frame *frame);
    void (*end)(struct buf *out, const struct otel_frame *frame);

    /* ${out} holds exactly one finished record: reopen it for more attributes. False: it is not a
     * record. */
    bool (*reopen)(struct buf *out, struct otel_frame *ret_frame);
};

extern const struct otel_codec otel_json;
extern const struct otel_codec otel_proto;

/* A text of a constant key: UTF-8, not trusted; an empty one is left out. */
void otel_codec_text(const struct otel_codec *codec, struct buf *out, enum otel_place place,
    const char *key, struct span utf8);

/* A number shown as `0x…`. */
void otel_codec_hex(const struct otel_codec *codec, struct buf *out, enum otel_place place,
    struct span key, uint64_t value);

/* 16 bytes of a GUID, lower case with dashes. */
void otel_codec_guid(const struct otel_codec *codec, struct buf *out, enum otel_place place,
    const char *key, const uint8_t bytes[16]);

/* A list of texts; nothing if there is none. */
void otel_codec_texts(const struct otel_codec *codec, struct buf *out, enum otel_place place,
    const char *key, const struct span *texts, size_t count);

/* An unsigned number. OpenTelemetry's integers are signed: values above 2^63 - 1 become a text of
 * decimal digits ("Mapping arbitrary data to OTLP AnyValue", Integer Values). ${as_text}: all
 * values do. */
void otel_codec_unsigned(const struct otel_codec *codec, struct buf *out, enum otel_place place,
    struct span key, uint64_t value, bool as_text);

/* Of a constant key. Here, so that its length is one, too. */
static inline void otel_codec_number(const struct otel_codec *codec, struct buf *out,
    enum otel_place place, const char *key, uint64_t value)
{
    if (value <= INT64_MAX) {
        codec->number(out, place, span_text(key), (int64_t)value);
    } else {
        otel_codec_unsigned(codec, out, place, span_text(key), value, true);
    }
}

#endif
