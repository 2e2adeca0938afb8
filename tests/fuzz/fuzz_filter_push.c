#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "filter/push/filter_push.h"

/*
 * An event's header and an expression: bytes 0 to 15 are the header, the rest the expression. If
 * the expression or its negation keeps the event, the calls to ETW must let it through.
 */
enum { HEAD = 16, MAX_MEMORY = 1 << 24 };

static const struct guid guid = {{1, 2, 3}};

static const struct schema_keyword keywords[] = {{0x10, {(const uint8_t *)"Net", 3}}};
static const struct schema_field layout[] = {
    {.name = {(const uint8_t *)"N", 1}, .in_type = IN_UINT32, .count = 1},
    {.name = {(const uint8_t *)"T", 1}, .in_type = IN_UNICODE_STRING, .count = 1},
};

enum { FIELDS = sizeof(layout) / sizeof(layout[0]) };

struct rig {
    struct arena arena;
    struct filter_scratch scratch;
    struct event_schema schema;
    struct schema_field fields[FIELDS];
    struct filter_push_event known;
    struct filter_push_question question;
    struct event_record record;
    struct event event;
};

static void require(bool truth)
{
    if (!truth) {
        abort();
    }
}

/* An event with a complete definition but without a payload, so all its fields are missing. */
static void set_up(struct rig *rig, const uint8_t *head)
{
    memcpy(rig->fields, layout, sizeof(layout));
    rig->record = (struct event_record){.kind = RECORD_EVENT,
        .provider = guid,
        .pointer_size = 8,
        .present = head[1] & 1,
        .process_id = head[2],
        .descriptor = {.id = load_le16(head + 4),
            .version = head[3],
            .level = head[6],
            .opcode = head[7],
            .keyword = load_le64(head + 8)}};
    rig->schema = (struct event_schema){.kind = SCHEMA_MANIFEST,
        .source = "fuzz",
        .has_layout = true,
        .provider = guid,
        .provider_name = {(const uint8_t *)"Provider", 8},
        .event_name = {(const uint8_t *)"Start", 5},
        .descriptor = rig->record.descriptor,
        .keywords = keywords,
        .keyword_count = 1,
        .fields = rig->fields,
        .field_count = FIELDS,
        .top_count = FIELDS};
    require(schema_finish(&rig->schema, &rig->arena, NULL));
    bool is_known = head[0] & 1;
    rig->known = (struct filter_push_event){.descriptor = rig->record.descriptor,
        .schema = &rig->schema,
        .unstated = (head[0] >> 3) & SCHEMA_ALL_UNSTATED};
    struct event_descriptor *d = &rig->known.descriptor;
    d->level = rig->known.unstated & SCHEMA_NO_LEVEL ? 0 : d->level;
    d->keyword = rig->known.unstated & SCHEMA_NO_KEYWORDS ? 0 : d->keyword;
    d->opcode = rig->known.unstated & SCHEMA_NO_OPCODE ? 0 : d->opcode;
    rig->question = (struct filter_push_question){.every_count = 1,
        .provider = span_text("provider"),
        .guid = guid,
        .is_manifest = is_known,
        .events = &rig->known,
        .event_count = is_known};
    rig->event = (struct event){.record = &rig->record,
        .schema = is_known || head[0] & 2 ? &rig->schema : NULL,
        .status = head[0] & 2 ? DECODE_PARTIAL : DECODE_RAW};
}

static bool is_let_through(const struct filter_push *push, const struct event_record *record)
{
    const struct event_descriptor *d = &record->descriptor;
    bool process = push->pid_count == 0;
    for (size_t i = 0; i < push->pid_count; i++) {
        process = process || (record->present && record->process_id == push->pids[i]);
    }
    return !push->nothing && process && d->level <= push->level &&
           filter_push_has_id(push, d->id) &&
           (d->keyword == 0 || push->any == 0 ||
               ((d->keyword & push->any) && (d->keyword & push->all) == push->all));
}

static void check_list(struct rig *rig, struct span text, bool keeps)
{
    const struct filter_rule rules[] = {
        {.action = keeps ? FILTER_ACTION_KEEP : FILTER_ACTION_DROP, .text = text},
        {.action = FILTER_ACTION_DROP, .text = span_text(keeps ? "true" : "event.code == 3")}};
    struct filter_place place;
    struct filter_push push;
    size_t rule;
    struct filter *filter = filter_create(rules, 2, &place, NULL);
    const struct filter *every = filter;
    rig->question.every = &every;
    if (filter && filter_push_make(&rig->question, &rig->arena, &push, NULL)) {
        bool kept = filter_event(filter, &rig->scratch, &rig->event, &rule) == FILTER_KEEP;
        require(!kept || is_let_through(&push, &rig->record));
        require(push.level > 0 && push.pid_count <= FILTER_PUSH_MAX_PIDS);
        for (size_t i = 0; i < push.payload_count; i++) {
            require(push.payload[i].count && push.payload[i].count <= FILTER_PUSH_MAX_TESTS);
            require(!kept); /* without a payload no test of a field can be true */
        }
    }
    rig->question.every = NULL;
    filter_destroy(filter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct rig rig;
    if (size < HEAD) {
        return 0;
    }
    struct span text = span_make(data + HEAD, size - HEAD);
    arena_init(&rig.arena, MAX_MEMORY);
    if (filter_scratch_init(&rig.scratch, NULL, NULL)) {
        set_up(&rig, data);
        check_list(&rig, text, true);
        check_list(&rig, text, false);
    }
    filter_scratch_fini(&rig.scratch);
    arena_fini(&rig.arena);
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const char *const texts[] = {
        "event.code in (1, 2, 5-9) and not event.level >= 5",
        "event.keywords has ('net', 0x20) or event.keywords == 0",
        "process.pid in (7, 9) and provider.name == 'PROVIDER'",
        "not (event.keywords has 0x11) and event.level in (critical, error)",
        "data.N in (1, 2-5) and data.T contains 'x'c and event.code < 10.5",
        "event.name == 'Start' or (event.code != 7 and exists(data.N))",
        "event.code == -1 or event.level > 1e3 or event.keywords == '0x10'",
        "provider.guid startswith '0' and event.code has 1 and true",
    };
    enum { TEXTS = sizeof(texts) / sizeof(texts[0]) };
    static const uint8_t head[HEAD] = {0, 1, 7, 0, 7, 0, 4, 1, 0x10};
    if (index >= 4 * TEXTS || HEAD + strlen(texts[index / 4]) > max) {
        return 0;
    }
    memcpy(out, head, HEAD);
    out[0] = index % 4;
    memcpy(out + HEAD, texts[index / 4], strlen(texts[index / 4]));
    return HEAD + strlen(texts[index / 4]);
}
