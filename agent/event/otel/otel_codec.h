#ifndef ETWSHIP_EVENT_OTEL_CODEC_H
#define ETWSHIP_EVENT_OTEL_CODEC_H

#include "base/buf.h"
#include "base/span.h"

/*
 * The two encodings of OTLP, behind one table of functions, so that an event has one shape
 * (otel_event.c) whatever it is written as:
 *
 *     otel_json   OTLP/JSON, a line (otel_json.c)
 *     otel_proto  protobuf and a line break (otel_proto.c)
 *
 * A record of either is a whole request of its own (ExportLogsServiceRequest with one resource, one
 * scope and one log record: opentelemetry/proto/collector/logs/v1/logs_service.proto), so a dead letter
 * can be read, and sent by hand. The output `otlp` takes it apart and puts many into one.
 *
 * Keys and texts come JSON-escaped, as all writers of values write them.
 */

/* Where a value stands: with a key in a list of attributes, or without. */
enum otel_place {
    OTEL_RECORD,   /* an attribute of the log record */
    OTEL_RESOURCE, /* of the resource */
    OTEL_MEMBER,   /* of a value that has members */
    OTEL_ELEMENT,  /* of a list; no key */
    OTEL_BODY,     /* of the log record; no key */
};

/* What was opened, until it is closed. */
struct otel_open {
    size_t pair;    /* where the lengths stand: of the pair, … */
    size_t value;   /* … of its value, … */
    size_t content; /* … of the text or list; of JSON, where that begins */
    uint8_t width;  /* bytes of each of these lengths */
    bool
        is_plain; /* a text, set by its writer: it has nothing that JSON escapes, or put_utf16 wrote it */
};

/* The places of the lengths around a record, as offsets into the buffer. */
struct otel_frame {
    size_t start;
    size_t scope_logs;
    size_t record;
    size_t attributes; /* where the record's list of attributes begins */
};

struct otel_codec {
    void (*number)(struct buf *out, enum otel_place place, struct span key, int64_t value);
    void (*real)(struct buf *out, enum otel_place place, struct span key, double value);
    void (*truth)(struct buf *out, enum otel_place place, struct span key, bool value);
    void (*bytes)(struct buf *out, enum otel_place place, struct span key, struct span value);

    /* UTF-16 as a text wants it. Room: utf16_json_bound. */
    size_t (*put_utf16)(struct span utf16, uint8_t *out);

    /* A text, which the caller appends to ${out}, JSON-escaped, and then closes. ${most}: bytes that it has
     * at most without escapes; SIZE_MAX: nobody knows. ${room}: bytes that there must be room for. False:
     * there is not, and nothing was opened. */
    bool (*open_text)(struct buf *out, enum otel_place place, struct span key, size_t most,
        size_t room, struct otel_open *ret_open);
    void (*close_text)(struct buf *out, const struct otel_open *open);

    /* A list of elements, or a value with members, which come in between. */
    void (*open_list)(
        struct buf *out, enum otel_place place, struct span key, struct otel_open *ret_open);
    void (*open_members)(
        struct buf *out, enum otel_place place, struct span key, struct otel_open *ret_open);
    void (*close)(struct buf *out, const struct otel_open *open);

    /* What stands before a scope; the attributes of the resource come in between. */
    void (*open_resource)(struct buf *out, struct otel_open *ret_open);
    void (*close_resource)(struct buf *out, const struct otel_open *open);

    /* A scope with its names (UTF-8), and what stands before the times of a record. */
    void (*scope)(struct buf *out, struct span name, struct span version);

    /* Of the record: when it happened and was seen, nanoseconds since 1970, 0: unknown. */
    void (*times)(struct buf *out, uint64_t time, uint64_t observed);

    /* Its severity, as the protocol numbers it (0: unspecified), and names in UTF-8; empty: absent. */
    void (*severity)(struct buf *out, unsigned number, struct span text);
    void (*event_name)(struct buf *out, struct span name);

    void (*open_attributes)(struct buf *out, struct otel_frame *frame);
    void (*end)(struct buf *out, const struct otel_frame *frame);

    /* ${out} holds one finished record and nothing else: make it ready for more attributes. False: it is
     * no record. */
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

/* Numbers without sign have 64 bits in ETW and 63 in OpenTelemetry: what is above 2^63 - 1 is a text of
 * decimal digits ("Mapping arbitrary data to OTLP AnyValue", Integer Values). ${as_text}: all are. */
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
