#include "base/utf.h"

#include <stdatomic.h>

#include "base/utf_engine.h"

/*
 * Dispatch: selects an engine at the first call and keeps it in an atomic pointer, so that a call
 * costs only an indirect jump. UTF-8 is decoded here: ASCII runs go to the engine, the rest is
 * decoded one character at a time.
 */

/* Best first. */
static const struct utf_engine *const engines[] = {
#if defined(UTF_HAVE_X86)
    &utf_ssse3,
    &utf_sse2,
#elif defined(UTF_HAVE_NEON)
    &utf_neon,
#endif
    &utf_scalar,
};

static _Atomic(const struct utf_engine *) chosen;

static bool is_supported(const struct utf_engine *e)
{
    return !e->supported || e->supported();
}

static const struct utf_engine *choose(void)
{
    const struct utf_engine *best = &utf_scalar;
    for (size_t i = sizeof(engines) / sizeof(engines[0]); i-- > 0;) {
        best = is_supported(engines[i]) ? engines[i] : best;
    }
    /* must not override utf_set_engine on another thread */
    const struct utf_engine *before = NULL;
    return atomic_compare_exchange_strong(&chosen, &before, best) ? best : before;
}

static inline const struct utf_engine *engine(void)
{
    const struct utf_engine *e = atomic_load_explicit(&chosen, memory_order_acquire);
    return e ? e : choose();
}

const char *utf_engine(void)
{
    return engine()->name;
}

bool utf_set_engine(const char *name)
{
    for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
        if (strcmp(engines[i]->name, name) == 0 && is_supported(engines[i])) {
            atomic_store_explicit(&chosen, engines[i], memory_order_release);
            return true;
        }
    }
    return false;
}

size_t utf16_to_json(struct span utf16, uint8_t *out)
{
    return utf16.size < 2 ? 0 : engine()->write_utf16(utf16, out, true);
}

size_t utf16_to_utf8(struct span utf16, uint8_t *out)
{
    return utf16.size < 2 ? 0 : engine()->write_utf16(utf16, out, false);
}

size_t utf16_until_nul(struct span utf16)
{
    return utf16.size < 2 ? 0 : engine()->utf16_until_nul(utf16);
}

size_t utf_copy_plain(struct span text, uint8_t *out)
{
    return engine()->copy_plain(text, out);
}

/*
 * Table 3-7 of The Unicode Standard (well-formed UTF-8): after four of the lead bytes, the first
 * continuation byte is further restricted. An invalid sequence ends before the byte that makes it
 * invalid (the "maximal subpart" practice of section 3.9), so that no valid character is swallowed.
 */
uint32_t utf8_next(struct span text, size_t *at)
{
    const uint8_t *p = text.data + *at;
    size_t left = text.size - *at;
    uint8_t lead = p[0];
    *at += 1;
    if (lead < 0x80) {
        return lead;
    }
    uint8_t low = 0x80;
    uint8_t high = 0xbf;
    size_t more;
    uint32_t c;
    if (lead >= 0xc2 && lead <= 0xdf) {
        more = 1;
        c = lead & 0x1f;
    } else if (lead >= 0xe0 && lead <= 0xef) {
        more = 2;
        c = lead & 0x0f;
        low = lead == 0xe0 ? 0xa0 : 0x80;
        high = lead == 0xed ? 0x9f : 0xbf;
    } else if (lead >= 0xf0 && lead <= 0xf4) {
        more = 3;
        c = lead & 0x07;
        low = lead == 0xf0 ? 0x90 : 0x80;
        high = lead == 0xf4 ? 0x8f : 0xbf;
    } else {
        return 0xfffd;
    }
    for (size_t i = 1; i <= more; i++) {
        if (i >= left || p[i] < low || p[i] > high) {
            return 0xfffd;
        }
        c = c << 6 | (p[i] & 0x3f);
        low = 0x80;
        high = 0xbf;
        *at += 1;
    }
    return c;
}

size_t utf8_put(uint32_t character, uint8_t *out)
{
    if (character > 0x10ffff || (character & 0xfffff800) == 0xd800) {
        character = 0xfffd;
    }
    return (size_t)(utf_put_scalar(out, character) - out);
}

size_t utf8_to_json(struct span utf8, uint8_t *out)
{
    uint8_t *start = out;
    size_t at = 0;
    while (at < utf8.size) {
        if (utf_is_plain(utf8.data[at])) {
            size_t plain = utf_copy_plain(span_from(utf8, at), out);
            at += plain;
            out += plain;
        } else {
            out = utf_put_json(out, utf8_next(utf8, &at));
        }
    }
    return (size_t)(out - start);
}
