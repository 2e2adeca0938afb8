#include "support/sddl.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct writer {
    uint8_t *out;
    size_t size;
};

static void put(struct writer *w, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes && w->size < SDDL_MAX_BYTES; i++) {
        w->out[w->size++] = i < sizeof(value) ? (uint8_t)(value >> 8 * i) : 0;
    }
}

/* ---- SIDs ------------------------------------------------------------------------------------ */

static const struct {
    const char *letters;
    const char *sid;
} aliases[] = {
    {"WD", "S-1-1-0"},
    {"CO", "S-1-3-0"},
    {"CG", "S-1-3-1"},
    {"OW", "S-1-3-4"},
    {"NU", "S-1-5-2"},
    {"IU", "S-1-5-4"},
    {"AN", "S-1-5-7"},
    {"AU", "S-1-5-11"},
    {"SY", "S-1-5-18"},
    {"LS", "S-1-5-19"},
    {"NS", "S-1-5-20"},
    {"BA", "S-1-5-32-544"},
    {"BU", "S-1-5-32-545"},
    {"BG", "S-1-5-32-546"},
    {"PU", "S-1-5-32-547"},
    {"AC", "S-1-15-2-1"},
    {"LA", "S-1-5-21-1-2-3-500"},
    {"DA", "S-1-5-21-1-2-3-512"},
    {"DU", "S-1-5-21-1-2-3-513"},
    {"EA", "S-1-5-21-1-2-3-519"},
    /* Not of SDDL, but with names in these tables. */
    {"TI", "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"},
    {"ES", "S-1-5-80-636056026-1604520351-2996388291-1047079574-1752779691"},
    {"U1", "S-1-5-21-1-2-3-1001"},
    {"U2", "S-1-5-21-1-2-3-1002"},
};

static bool put_sid(struct writer *w, const char **text)
{
    const char *at = *text;
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
        if (strncmp(at, aliases[i].letters, 2) == 0) {
            const char *sid = aliases[i].sid;
            *text += 2;
            return put_sid(w, &sid);
        }
    }
    if (strncmp(at, "S-1-", 4) != 0) {
        return false;
    }
    char *end;
    unsigned long long authority = strtoull(at + 4, &end, 0);
    size_t count_at = w->size + 1;
    put(w, 1, 2);
    for (int i = 5; i >= 0; i--) {
        put(w, authority >> 8 * i, 1);
    }
    while (*end == '-') {
        put(w, strtoull(end + 1, &end, 10), 4);
        w->out[count_at]++;
    }
    *text = end;
    return true;
}

size_t sddl_encode_sid(const char *text, uint8_t *out, const char **ret_end)
{
    struct writer w = {.out = out};
    bool good = put_sid(&w, &text);
    if (ret_end) {
        *ret_end = text;
    }
    return good ? w.size : 0;
}

/* ---- entries --------------------------------------------------------------------------------- */

struct word {
    const char *letters;
    uint32_t bits;
};

static const struct word flags[] = {
    {"OI", 1}, {"CI", 2}, {"NP", 4}, {"IO", 8}, {"ID", 16}, {"SA", 64}, {"FA", 128}, {NULL, 0}};

static const struct word rights[] = {
    {"GA", 0x10000000},
    {"GX", 0x20000000},
    {"GW", 0x40000000},
    {"GR", 0x80000000},
    {"SD", 0x10000},
    {"RC", 0x20000},
    {"WD", 0x40000},
    {"WO", 0x80000},
    {"FA", 0x1f01ff},
    {"FR", 0x120089},
    {"FW", 0x120116},
    {"FX", 0x1200a0},
    {"CC", 1},
    {"DC", 2},
    {"LC", 4},
    {"SW", 8},
    {"RP", 16},
    {"WP", 32},
    {"DT", 64},
    {"LO", 128},
    {"CR", 256},
    {NULL, 0},
};

static const struct word types[] = {
    {"A", 0}, {"D", 1}, {"AU", 2}, {"OA", 5}, {"OD", 6}, {"XA", 9}, {"XD", 10}, {NULL, 0}};

/* All words up to the next `;`, which is passed. */
static bool take_words(const char **text, const struct word *words, uint32_t *ret_bits)
{
    uint32_t bits = 0;
    while (**text && **text != ';') {
        size_t i = 0;
        while (words[i].letters && strncmp(*text, words[i].letters, 2) != 0) {
            i++;
        }
        if (!words[i].letters) {
            return false;
        }
        bits |= words[i].bits;
        *text += 2;
    }
    *ret_bits = bits;
    return *(*text)++ == ';';
}

static bool take_type(const char **text, uint32_t *ret_type)
{
    size_t size = strcspn(*text, ";");
    const char *at = *text;
    *text += size + ((*text)[size] == ';');
    if (size == 4 && strncmp(at, "??", 2) == 0) {
        *ret_type = (uint32_t)strtoul(at + 2, NULL, 16);
        return true;
    }
    for (const struct word *w = types; w->letters; w++) {
        if (strlen(w->letters) == size && strncmp(at, w->letters, size) == 0) {
            *ret_type = w->bits;
            return true;
        }
    }
    return false;
}

static bool take_rights(const char **text, uint32_t *ret_rights)
{
    if (strncmp(*text, "0x", 2) != 0) {
        return take_words(text, rights, ret_rights);
    }
    char *end;
    *ret_rights = (uint32_t)strtoul(*text, &end, 16);
    *text = end + 1;
    return *end == ';';
}

/* `type;flags;rights;object;inherited;sid[;condition])` */
static bool put_entry(struct writer *w, const char **text)
{
    uint32_t type;
    uint32_t bits;
    uint32_t mask;
    size_t start = w->size;
    if (!take_type(text, &type) || !take_words(text, flags, &bits) || !take_rights(text, &mask)) {
        return false;
    }
    put(w, type, 1);
    put(w, bits, 1);
    put(w, 0, 2);
    put(w, mask, 4);
    bool has_object = **text != ';';
    if (type == 5 || type == 6) {
        put(w, has_object, 4);
    }
    if (has_object) {
        put(w, 0x1122334455667788, 8);
        put(w, 0x1122334455667788, 8);
    }
    *text += strcspn(*text, ";)");
    if (strncmp(*text, ";;", 2) != 0) {
        return false;
    }
    *text += 2;
    if (!put_sid(w, text)) {
        return false;
    }
    if (**text == ';') {
        put(w, 0x78747261, 4); /* artx */
        int depth = 0;
        for (; **text && (**text != ')' || depth); (*text)++) {
            depth += (**text == '(') - (**text == ')');
        }
    }
    size_t size = w->size - start;
    w->out[start + 2] = (uint8_t)size;
    w->out[start + 3] = (uint8_t)(size >> 8);
    return *(*text)++ == ')';
}

static bool put_list(struct writer *w, const char **text)
{
    size_t start = w->size;
    put(w, 2, 2);
    put(w, 0, 6);
    while (**text == '(') {
        ++*text;
        if (!put_entry(w, text)) {
            return false;
        }
        w->out[start + 4]++;
    }
    size_t size = w->size - start;
    w->out[start + 2] = (uint8_t)size;
    w->out[start + 3] = (uint8_t)(size >> 8);
    return true;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void put_at(uint8_t *at, size_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

static bool put_dacl(struct writer *w, const char **text)
{
    static const char none[] = "NO_ACCESS_CONTROL";
    w->out[2] |= 0x4;
    if (strncmp(*text, none, sizeof(none) - 1) == 0) {
        *text += sizeof(none) - 1;
        return true;
    }
    *text += strspn(*text, "PAIR");
    put_at(w->out + 16, w->size);
    return put_list(w, text);
}

size_t sddl_encode(const char *text, uint8_t out[SDDL_MAX_BYTES])
{
    struct writer w = {.out = out};
    memset(out, 0, SDDL_MAX_BYTES);
    put(&w, 1, 2);
    put(&w, 0x8000, 2);
    put(&w, 0, 16);
    while (*text && strncmp(text, "S:", 2) != 0) {
        char part = *text;
        bool good = text[1] == ':';
        text += 2;
        if (good && part == 'O') {
            put_at(out + 4, w.size);
            good = put_sid(&w, &text);
        } else if (good && part == 'G') {
            struct writer group = {.out = (uint8_t[SDDL_MAX_BYTES]){0}};
            good = put_sid(&group, &text);
        } else {
            good = good && part == 'D' && put_dacl(&w, &text);
        }
        if (!good || w.size == SDDL_MAX_BYTES) {
            return 0;
        }
    }
    return w.size;
}
