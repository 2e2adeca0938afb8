#include <stdlib.h>
#include <windows.h>

#include "platform/plat_system.h"
#include "platform/windows/plat_wide.h"

enum { UNDEFINED = 0xfffd };

/* Query Windows for one byte or pair; done once for all of them. */
static uint16_t unit_of(uint32_t id, const char *bytes, int size)
{
    wchar_t wide[4];
    int units = MultiByteToWideChar(id, MB_ERR_INVALID_CHARS, bytes, size, wide, 4);
    return units == 1 ? (uint16_t)wide[0] : UNDEFINED;
}

static uint16_t *pairs_of(uint32_t id)
{
    uint16_t *pairs = malloc(sizeof(*pairs) * 65536);
    for (size_t i = 0; pairs && i < 65536; i++) {
        char bytes[2] = {(char)(i >> 8), (char)i};
        bool is_pair = IsDBCSLeadByteEx(id, (BYTE)(i >> 8));
        pairs[i] = is_pair ? unit_of(id, bytes, 2) : UNDEFINED;
    }
    return pairs;
}

bool plat_codepage_init(struct codepage *page, uint32_t id, struct error *err)
{
    if (id == CODEPAGE_UTF8) {
        *page = (struct codepage){.id = id};
        return true;
    }
    /* 0 to 3 are aliases for this machine's settings; pages with shift states take no flags */
    CPINFO info;
    if (id < 37 || id == CP_UTF7 || !GetCPInfo(id, &info) || info.MaxCharSize > 2) {
        return error_set(err, ERR_UNSUPPORTED, "code page %u: not known", (unsigned)id);
    }
    struct codepage filled = {.id = id, .is_ascii = true};
    for (unsigned byte = 0; byte < 256; byte++) {
        char text[1] = {(char)byte};
        bool is_lead = info.MaxCharSize == 2 && IsDBCSLeadByteEx(id, (BYTE)byte);
        filled.single[byte] = is_lead ? CODEPAGE_LEAD : unit_of(id, text, 1);
        filled.is_ascii = filled.is_ascii && (byte >= 0x80 || filled.single[byte] == byte);
    }
    if (info.MaxCharSize == 2) {
        filled.pairs = pairs_of(id);
        if (!filled.pairs) {
            return error_set(err, ERR_MEMORY, "code page %u: out of memory", (unsigned)id);
        }
    }
    *page = filled;
    return true;
}

void plat_codepage_fini(struct codepage *page)
{
    free((void *)(uintptr_t)page->pairs);
    page->pairs = NULL;
}
