#include "pipeline/record/width_evidence.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/map.h"

/*
 * Two tables: when the newer one is full, it becomes the older one, which is dropped. So what was
 * learned last is there, for any number of traces.
 */
enum {
    MAX_KEYS = 4096,
    MAX_BYTES = 1024 * 1024,
    KEY_BYTES = 32,
    LOOKED_AT = 8, /* code units: garbage of four narrow pointers */
};

/* Evidence for one key. */
struct finding {
    uint8_t key[KEY_BYTES];
    bool seen[2][2]; /* by kind of evidence; width 4, 8 */
};

struct table {
    struct arena arena;
    struct map map;
};

struct width_evidence {
    struct table newer;
    struct table older;
};

static void init_table(struct table *table)
{
    arena_init(&table->arena, MAX_BYTES);
    map_init(&table->map, MAX_KEYS);
}

static void fini_table(struct table *table)
{
    map_fini(&table->map);
    arena_fini(&table->arena);
}

struct width_evidence *width_evidence_create(struct error *err)
{
    struct width_evidence *evidence = calloc(1, sizeof(*evidence));
    if (!evidence) {
        error_set(err, ERR_MEMORY, "out of memory for a decoder");
        return NULL;
    }
    init_table(&evidence->newer);
    init_table(&evidence->older);
    return evidence;
}

void width_evidence_destroy(struct width_evidence *evidence)
{
    if (evidence) {
        fini_table(&evidence->newer);
        fini_table(&evidence->older);
        free(evidence);
    }
}

/* ---- what proves it -------------------------------------------------------------------------- */

/* Trace, class, version, width in the header and, if ${of_process}, process. */
static void make_key(const struct event_record *record, bool of_process, uint8_t key[KEY_BYTES])
{
    memset(key, 0, KEY_BYTES);
    memcpy(key, record->provider.bytes, 16);
    memcpy(key + 16, &record->trace, sizeof(record->trace));
    key[24] = record->descriptor.version;
    key[25] = record->pointer_size;
    key[26] = of_process;
    store_le32(key + 28, of_process ? record->process_id : 0);
}

static struct finding *get(const struct width_evidence *evidence, const uint8_t key[KEY_BYTES])
{
    struct span span = span_make(key, KEY_BYTES);
    struct finding *finding = map_get(&evidence->newer.map, span);
    return finding ? finding : map_get(&evidence->older.map, span);
}

/* NULL: out of memory. */
static struct finding *put(struct width_evidence *evidence, const uint8_t key[KEY_BYTES])
{
    if (evidence->newer.map.count == MAX_KEYS) {
        fini_table(&evidence->older);
        evidence->older = evidence->newer;
        init_table(&evidence->newer);
    }
    struct finding *finding = arena_alloc(&evidence->newer.arena, sizeof(*finding));
    if (finding) {
        memcpy(finding->key, key, KEY_BYTES);
        if (!map_put(&evidence->newer.map, span_make(finding->key, KEY_BYTES), finding)) {
            return NULL;
        }
    }
    return finding;
}

void width_evidence_add(struct width_evidence *evidence, const struct event_record *record,
    uint8_t width, enum width_evidence_kind kind)
{
    for (int of_process = 0; of_process < 2; of_process++) {
        uint8_t key[KEY_BYTES];
        make_key(record, of_process, key);
        struct finding *finding = get(evidence, key);
        finding = finding ? finding : put(evidence, key);
        if (finding) {
            finding->seen[kind][width == 8] = true;
        }
    }
}

/* False: the finding says nothing, and a more general one may. ${ret_width} 0: both are proven. */
static bool judge(const struct finding *finding, uint8_t *ret_width)
{
    if (!finding) {
        return false;
    }
    const bool *proven = finding->seen[WIDTH_PROVEN];
    const bool *by_text = finding->seen[WIDTH_BY_TEXT];
    if (proven[0] || proven[1]) {
        *ret_width = proven[0] && proven[1] ? 0 : proven[1] ? 8 : 4;
        return true;
    }
    *ret_width = by_text[1] ? 8 : 4;
    return by_text[0] != by_text[1];
}

uint8_t width_evidence_find(
    const struct width_evidence *evidence, const struct event_record *record)
{
    uint8_t width = 0;
    if (!evidence || evidence->newer.map.count == 0) {
        return 0;
    }
    for (int of_process = 1; of_process >= 0; of_process--) {
        uint8_t key[KEY_BYTES];
        make_key(record, of_process, key);
        if (judge(get(evidence, key), &width)) {
            return width;
        }
    }
    return 0;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Controls other than white space, private use, noncharacters (Unicode 15, chapters 23.1, 23.5,
 * 23.7). Half a surrogate pair is none of them: file names may have it. */
static bool is_garbage(uint32_t unit)
{
    bool is_space = unit >= 0x09 && unit <= 0x0d;
    return (unit < 0x20 && !is_space) || (unit >= 0x7f && unit < 0xa0) ||
           (unit >= 0xe000 && unit < 0xf900) || unit >= 0xfffe;
}

static bool is_letter(uint32_t unit)
{
    return (unit | 0x20) >= 'a' && (unit | 0x20) <= 'z';
}

enum width_text width_evidence_text(const struct event *event)
{
    for (size_t i = 0; i < event->field_count; i++) {
        const struct field *field = &event->fields[i];
        bool wide = field->schema->in_type == IN_UNICODE_STRING;
        if (field->shape != FIELD_VALUE || (!wide && field->schema->in_type != IN_ANSI_STRING)) {
            continue;
        }
        uint32_t units[LOOKED_AT] = {0};
        size_t count = field->size / (wide ? 2 : 1);
        for (size_t k = 0; k < count && k < LOOKED_AT; k++) {
            units[k] = wide ? load_le16(field->data + 2 * k) : field->data[k];
            /* A code page may have letters where Unicode has controls. */
            if (is_garbage(units[k]) && (wide || units[k] < 0x7f)) {
                return WIDTH_TEXT_GARBAGE;
            }
        }
        bool is_path = units[0] == '\\' || (is_letter(units[0]) && units[1] == ':');
        return is_path ? WIDTH_TEXT_PATH : WIDTH_TEXT_ANY;
    }
    return WIDTH_TEXT_ANY;
}
