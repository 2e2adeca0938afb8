#include "support/otlp_text.h"

#include <math.h>
#include <stdbool.h>

#include "base/protobuf.h"
#include "base/put.h"
#include "base/text/base64.h"
#include "base/utf.h"

enum { MAX_DEPTH = 32 };

struct text {
    struct buf *out;
    const char *wrong;
};

static void fail(struct text *t, const char *what)
{
    t->wrong = t->wrong ? t->wrong : what;
}

static bool next(struct text *t, struct span *message, struct protobuf_field *field)
{
    if (!t->wrong && protobuf_next(message, field)) {
        return true;
    }
    if (message->size) {
        fail(t, "bytes that are no field");
    }
    return false;
}

static void expect(struct text *t, const struct protobuf_field *field, enum protobuf_wire wire)
{
    if (field->wire != wire) {
        fail(t, "a field of another type");
    }
}

static void add_string(struct text *t, const char *before, const struct protobuf_field *field)
{
    expect(t, field, PROTOBUF_BYTES);
    for (size_t i = 0; i < field->bytes.size;) {
        size_t start = i;
        uint8_t again[4];
        uint32_t c = utf8_next(field->bytes, &i);
        if (i - start != utf8_put(c, again) ||
            memcmp(again, field->bytes.data + start, i - start) != 0) {
            fail(t, "a text that is no UTF-8");
            return;
        }
    }
    buf_add_text(t->out, before);
    if (buf_reserve(t->out, utf8_json_bound(field->bytes.size))) {
        t->out->size += utf8_to_json(field->bytes, t->out->data + t->out->size);
    }
    buf_add_byte(t->out, '"');
}

static void add_double(struct text *t, uint64_t bits)
{
    double value;
    uint8_t digits[PUT_MAX];
    memcpy(&value, &bits, sizeof(value));
    buf_add_text(t->out, "{\"doubleValue\":");
    if (isnan(value)) {
        buf_add_text(t->out, "\"NaN\"");
    } else if (isinf(value)) {
        buf_add_text(t->out, value < 0 ? "\"-Infinity\"" : "\"Infinity\"");
    } else {
        buf_add(t->out, digits, (size_t)(put_double(digits, value) - digits));
    }
    buf_add_byte(t->out, '}');
}

static void add_value(struct text *t, struct span value, unsigned depth);

static void add_pair(struct text *t, struct span pair, unsigned depth)
{
    struct protobuf_field key;
    struct protobuf_field value;
    if (!next(t, &pair, &key) || !next(t, &pair, &value) || key.number != 1 || value.number != 2 ||
        pair.size) {
        fail(t, "a pair that is none");
        return;
    }
    expect(t, &value, PROTOBUF_BYTES);
    add_string(t, "{\"key\":\"", &key);
    buf_add_text(t->out, ",\"value\":");
    add_value(t, value.bytes, depth);
    buf_add_byte(t->out, '}');
}

static void add_list(struct text *t, struct span list, bool pairs, unsigned depth)
{
    struct protobuf_field field;
    const char *separator = "";
    buf_add_byte(t->out, '[');
    while (next(t, &list, &field)) {
        expect(t, &field, PROTOBUF_BYTES);
        if (field.number != 1) {
            fail(t, "a list with a field of another number");
        }
        buf_add_text(t->out, separator);
        separator = ",";
        if (pairs) {
            add_pair(t, field.bytes, depth);
        } else {
            add_value(t, field.bytes, depth);
        }
    }
    buf_add_byte(t->out, ']');
}

static void add_value(struct text *t, struct span value, unsigned depth)
{
    struct protobuf_field field;
    if (depth == MAX_DEPTH) {
        fail(t, "too deep");
    }
    if (!next(t, &value, &field) || value.size) {
        fail(t, "a value that is not one");
        return;
    }
    switch (field.number) {
    case 1:
        add_string(t, "{\"stringValue\":\"", &field);
        buf_add_byte(t->out, '}');
        break;
    case 2:
        expect(t, &field, PROTOBUF_VARINT);
        buf_add_text(t->out, field.value ? "{\"boolValue\":true}" : "{\"boolValue\":false}");
        break;
    case 3:
        expect(t, &field, PROTOBUF_VARINT);
        buf_printf(t->out, "{\"intValue\":\"%lld\"}", (long long)field.value);
        break;
    case 4:
        expect(t, &field, PROTOBUF_FIXED64);
        add_double(t, field.value);
        break;
    case 5:
    case 6:
        expect(t, &field, PROTOBUF_BYTES);
        buf_add_text(t->out,
            field.number == 5 ? "{\"arrayValue\":{\"values\":" : "{\"kvlistValue\":{\"values\":");
        add_list(t, field.bytes, field.number == 6, depth + 1);
        buf_add_text(t->out, "}}");
        break;
    case 7:
        expect(t, &field, PROTOBUF_BYTES);
        buf_add_text(t->out, "{\"bytesValue\":\"");
        base64_write(t->out, field.bytes);
        buf_add_text(t->out, "\"}");
        break;
    default:
        fail(t, "a value of an unknown kind");
    }
}

static void add_record(struct text *t, struct span record)
{
    struct protobuf_field field;
    const char *separator = "";
    bool in_list = false;
    buf_add_byte(t->out, '{');
    while (next(t, &record, &field)) {
        if (field.number == 6 && in_list) {
            buf_add_byte(t->out, ',');
        } else {
            buf_add_text(t->out, separator);
        }
        separator = ",";
        switch (field.number) {
        case 1:
        case 11:
            expect(t, &field, PROTOBUF_FIXED64);
            buf_printf(t->out, "\"%s\":\"%llu\"",
                field.number == 1 ? "timeUnixNano" : "observedTimeUnixNano",
                (unsigned long long)field.value);
            break;
        case 2:
            expect(t, &field, PROTOBUF_VARINT);
            buf_printf(t->out, "\"severityNumber\":%u", (unsigned)field.value);
            break;
        case 3:
            add_string(t, "\"severityText\":\"", &field);
            break;
        case 5:
            expect(t, &field, PROTOBUF_BYTES);
            buf_add_text(t->out, "\"body\":");
            add_value(t, field.bytes, 0);
            break;
        case 6:
            expect(t, &field, PROTOBUF_BYTES);
            buf_add_text(t->out, in_list ? "" : "\"attributes\":[");
            in_list = true;
            add_pair(t, field.bytes, 0);
            break;
        case 12:
            add_string(t, "\"eventName\":\"", &field);
            break;
        default:
            fail(t, "a field that log records do not have");
        }
    }
    buf_add_text(t->out, in_list ? "]}" : "}");
}

static void add_scope(struct text *t, struct span scope)
{
    struct protobuf_field field;
    const char *separator = "";
    buf_add_byte(t->out, '{');
    while (next(t, &scope, &field)) {
        buf_add_text(t->out, separator);
        separator = ",";
        add_string(t, field.number == 1 ? "\"name\":\"" : "\"version\":\"", &field);
        if (field.number > 2) {
            fail(t, "a field that scopes do not have");
        }
    }
    buf_add_byte(t->out, '}');
}

/* A message whose first field is ${head}, number 1, and whose others are a list, number 2. */
static void add_logs(struct text *t, struct span logs, bool is_resource)
{
    struct protobuf_field field;
    bool first = true;
    if (!next(t, &logs, &field) || field.number != 1) {
        fail(t, "logs without what they come from");
        return;
    }
    expect(t, &field, PROTOBUF_BYTES);
    if (is_resource) {
        buf_add_text(t->out, "{\"resource\":{\"attributes\":");
        add_list(t, field.bytes, true, 0);
        buf_add_text(t->out, "},\"scopeLogs\":[");
    } else {
        buf_add_text(t->out, "{\"scope\":");
        add_scope(t, field.bytes);
        buf_add_text(t->out, ",\"logRecords\":[");
    }
    for (; next(t, &logs, &field); first = false) {
        expect(t, &field, PROTOBUF_BYTES);
        if (field.number != 2) {
            fail(t, "logs with a field of another number");
        }
        buf_add_text(t->out, first ? "" : ",");
        if (is_resource) {
            add_logs(t, field.bytes, false);
        } else {
            add_record(t, field.bytes);
        }
    }
    buf_add_text(t->out, "]}");
}

const char *otlp_text(struct span request, struct buf *out)
{
    struct text t = {.out = out};
    struct protobuf_field field;
    const char *separator = "{\"resourceLogs\":[";
    while (next(&t, &request, &field)) {
        expect(&t, &field, PROTOBUF_BYTES);
        if (field.number != 1) {
            fail(&t, "a request with a field of another number");
        }
        buf_add_text(out, separator);
        separator = ",";
        add_logs(&t, field.bytes, true);
    }
    buf_add_text(out, *separator == ',' ? "]}\n" : "{}\n");
    return t.wrong;
}
