#define _GNU_SOURCE

#include <errno.h>
#include <iconv.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "platform/plat_system.h"

/*
 * The C library's iconv supports the Windows code pages with small differences: bytes 0x80 to 0x9f
 * without a character are C1 controls of equal value in Windows (Microsoft's bestfit*.txt). Every
 * byte and pair is queried once, so iconv is not needed later.
 *
 * Pages with shift states or with characters of more than two bytes (ISO-2022, EUC-JP, UTF-7, GB
 * 18030) are missing because struct codepage cannot represent them.
 */
static const struct page_name {
    uint32_t id;
    const char *name;
} page_names[] = {
    {37, "CP037"},
    {437, "CP437"},
    {500, "CP500"},
    {737, "CP737"},
    {775, "CP775"},
    {850, "CP850"},
    {852, "CP852"},
    {855, "CP855"},
    {857, "CP857"},
    {858, "CP858"},
    {860, "CP860"},
    {861, "CP861"},
    {862, "CP862"},
    {863, "CP863"},
    {864, "CP864"},
    {865, "CP865"},
    {866, "CP866"},
    {869, "CP869"},
    {874, "WINDOWS-874"},
    {932, "WINDOWS-31J"},
    {936, "CP936"},
    {949, "CP949"},
    {950, "CP950"},
    {1026, "CP1026"},
    {1047, "CP1047"},
    {1140, "CP1140"},
    {1250, "CP1250"},
    {1251, "CP1251"},
    {1252, "CP1252"},
    {1253, "CP1253"},
    {1254, "CP1254"},
    {1255, "CP1255"},
    {1256, "CP1256"},
    {1257, "CP1257"},
    {1258, "CP1258"},
    {1361, "JOHAB"},
    {10000, "MACINTOSH"},
    {10007, "MAC-CYRILLIC"},
    {20127, "ASCII"},
    {20866, "KOI8-R"},
    {20936, "GB2312"},
    {21866, "KOI8-U"},
    {28591, "ISO-8859-1"},
    {28592, "ISO-8859-2"},
    {28593, "ISO-8859-3"},
    {28594, "ISO-8859-4"},
    {28595, "ISO-8859-5"},
    {28596, "ISO-8859-6"},
    {28597, "ISO-8859-7"},
    {28598, "ISO-8859-8"},
    {28599, "ISO-8859-9"},
    {28603, "ISO-8859-13"},
    {28605, "ISO-8859-15"},
    {51936, "GB2312"},
    {51949, "EUC-KR"},
};

enum { UNDEFINED = 0xfffd };

/* UTF-16 unit for ${size} bytes; CODEPAGE_LEAD if they are incomplete. */
static uint16_t unit_of(iconv_t converter, const uint8_t *bytes, size_t size)
{
    char in[2];
    memcpy(in, bytes, size);
    uint8_t out[16];
    char *in_at = in;
    char *out_at = (char *)out;
    size_t in_left = size;
    size_t out_left = sizeof(out);
    iconv(converter, NULL, NULL, NULL, NULL);
    bool good = iconv(converter, &in_at, &in_left, &out_at, &out_left) == 0;
    if (!good) {
        return errno == EINVAL && size == 1 ? CODEPAGE_LEAD : UNDEFINED;
    }
    /* pages with combining marks hold a letter back until the end of input */
    good = iconv(converter, NULL, NULL, &out_at, &out_left) == 0;
    return good && out_left == sizeof(out) - 2 ? load_le16(out) : UNDEFINED;
}

/* False if memory is short. */
static bool fill(struct codepage *page, iconv_t converter)
{
    uint16_t *pairs = NULL;
    page->is_ascii = true;
    for (unsigned byte = 0; byte < 256; byte++) {
        uint8_t bytes[2] = {(uint8_t)byte, 0};
        uint16_t unit = unit_of(converter, bytes, 1);
        if (unit == UNDEFINED && byte >= 0x80 && byte < 0xa0) {
            unit = (uint16_t)byte;
        }
        page->single[byte] = unit;
        page->is_ascii = page->is_ascii && (byte >= 0x80 || unit == byte);
        if (unit != CODEPAGE_LEAD) {
            continue;
        }
        if (!pairs) {
            pairs = malloc(sizeof(*pairs) * 65536);
            if (!pairs) {
                return false;
            }
            for (size_t i = 0; i < 65536; i++) {
                pairs[i] = UNDEFINED;
            }
        }
        for (unsigned trail = 0; trail < 256; trail++) {
            bytes[1] = (uint8_t)trail;
            pairs[byte * 256 + trail] = unit_of(converter, bytes, 2);
        }
    }
    page->pairs = pairs;
    return true;
}

bool plat_codepage_init(struct codepage *page, uint32_t id, struct error *err)
{
    if (id == CODEPAGE_UTF8) {
        *page = (struct codepage){.id = id};
        return true;
    }
    const char *name = NULL;
    for (size_t i = 0; i < sizeof(page_names) / sizeof(page_names[0]); i++) {
        if (page_names[i].id == id) {
            name = page_names[i].name;
        }
    }
    if (!name) {
        return error_set(err, ERR_UNSUPPORTED, "code page %u: not known", (unsigned)id);
    }
    iconv_t converter = iconv_open("UTF-16LE", name);
    if (converter == (iconv_t)-1) {
        return error_set(err, ERR_UNSUPPORTED,
            "code page %u: the C library of this system has no converter for %s", (unsigned)id,
            name);
    }
    struct codepage filled = {.id = id};
    bool good = fill(&filled, converter);
    iconv_close(converter);
    if (!good) {
        return error_set(err, ERR_MEMORY, "code page %u: out of memory", (unsigned)id);
    }
    *page = filled;
    return true;
}

void plat_codepage_fini(struct codepage *page)
{
    free((void *)(uintptr_t)page->pairs);
    page->pairs = NULL;
}
