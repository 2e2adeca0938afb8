#include "event/otel/otel_codec.h"

#include "base/put.h"
#include "base/utf.h"

void otel_codec_text(const struct otel_codec *codec, struct buf *out, enum otel_place place,
    const char *key, struct span utf8)
{
    struct otel_open open;
    if ((utf8.size || place == OTEL_ELEMENT) &&
        codec->open_text(
            out, place, span_text(key), utf8.size * 3, utf8_json_bound(utf8.size), &open)) {
        out->size += utf8_to_json(utf8, out->data + out->size);
        codec->close_text(out, &open);
    }
}

void otel_codec_unsigned(const struct otel_codec *codec, struct buf *out, enum otel_place place,
    struct span key, uint64_t value, bool as_text)
{
    struct otel_open open;
    if (value <= INT64_MAX && !as_text) {
        codec->number(out, place, key, (int64_t)value);
    } else if (codec->open_text(out, place, key, PUT_MAX, PUT_MAX, &open)) {
        open.is_plain = true;
        out->size = (size_t)(put_u64(out->data + out->size, value) - out->data);
        codec->close_text(out, &open);
    }
}

void otel_codec_hex(const struct otel_codec *codec, struct buf *out, enum otel_place place,
    struct span key, uint64_t value)
{
    struct otel_open open;
    if (codec->open_text(out, place, key, PUT_MAX, PUT_MAX, &open)) {
        open.is_plain = true;
        out->size = (size_t)(put_hex(out->data + out->size, value) - out->data);
        codec->close_text(out, &open);
    }
}

void otel_codec_guid(const struct otel_codec *codec, struct buf *out, enum otel_place place,
    const char *key, const uint8_t bytes[16])
{
    struct otel_open open;
    if (codec->open_text(out, place, span_text(key), PUT_MAX, PUT_MAX, &open)) {
        open.is_plain = true;
        out->size = (size_t)(put_guid(out->data + out->size, bytes) - out->data);
        codec->close_text(out, &open);
    }
}

void otel_codec_texts(const struct otel_codec *codec, struct buf *out, enum otel_place place,
    const char *key, const struct span *texts, size_t count)
{
    struct otel_open open;
    if (count == 0) {
        return;
    }
    codec->open_list(out, place, span_text(key), &open);
    for (size_t i = 0; i < count; i++) {
        otel_codec_text(codec, out, OTEL_ELEMENT, "", texts[i]);
    }
    codec->close(out, &open);
}
