#include "input/evtx/evtx_system.h"

#include "base/bytes.h"
#include "input/evtx/evtx_format.h"

void evtx_system_find(const struct evtx_tree *tree, uint16_t system, struct evtx_system *ret_system)
{
    static const struct {
        const char *element;
        const char *attribute; /* NULL: the content of the element */
    } places[] = {
        [EVTX_SYSTEM_PROVIDER] = {"Provider", "Name"},
        [EVTX_SYSTEM_GUID] = {"Provider", "Guid"},
        [EVTX_SYSTEM_ID] = {"EventID", NULL},
        [EVTX_SYSTEM_QUALIFIERS] = {"EventID", "Qualifiers"},
        [EVTX_SYSTEM_VERSION] = {"Version", NULL},
        [EVTX_SYSTEM_LEVEL] = {"Level", NULL},
        [EVTX_SYSTEM_TASK] = {"Task", NULL},
        [EVTX_SYSTEM_OPCODE] = {"Opcode", NULL},
        [EVTX_SYSTEM_KEYWORDS] = {"Keywords", NULL},
        [EVTX_SYSTEM_TIME] = {"TimeCreated", "SystemTime"},
        [EVTX_SYSTEM_RECORD_ID] = {"EventRecordID", NULL},
        [EVTX_SYSTEM_ACTIVITY] = {"Correlation", "ActivityID"},
        [EVTX_SYSTEM_RELATED] = {"Correlation", "RelatedActivityID"},
        [EVTX_SYSTEM_PROCESS] = {"Execution", "ProcessID"},
        [EVTX_SYSTEM_THREAD] = {"Execution", "ThreadID"},
        [EVTX_SYSTEM_CPU] = {"Execution", "ProcessorID"},
        [EVTX_SYSTEM_KERNEL_TIME] = {"Execution", "KernelTime"},
        [EVTX_SYSTEM_USER_TIME] = {"Execution", "UserTime"},
        [EVTX_SYSTEM_SESSION] = {"Execution", "SessionID"},
        [EVTX_SYSTEM_CHANNEL] = {"Channel", NULL},
        [EVTX_SYSTEM_COMPUTER] = {"Computer", NULL},
        [EVTX_SYSTEM_USER] = {"Security", "UserID"},
    };
    for (size_t i = 0; i < EVTX_SYSTEM_PARTS; i++) {
        uint16_t node = evtx_tree_find(tree, system, EVTX_NODE_ELEMENT, places[i].element);
        ret_system->nodes[i] = places[i].attribute ? evtx_tree_find(tree, node, EVTX_NODE_ATTRIBUTE,
                                                         places[i].attribute)
                                                   : node;
    }
}

/* ---- the header ------------------------------------------------------------------------------ */

/* The System of the current record. */
struct parts {
    const struct evtx_tree *tree;
    const uint16_t *nodes;
};

/* The number in a part; 0 if it has none, or one above ${max}. */
static uint64_t number(const struct parts *parts, enum evtx_system_part part, uint64_t max)
{
    uint64_t value;
    return evtx_value_number(parts->tree, parts->nodes[part], &value) && value <= max ? value : 0;
}

static void fill_descriptor(struct event_record *record, const struct parts *parts)
{
    struct event_descriptor *d = &record->descriptor;
    uint64_t qualifiers;
    d->id = (uint16_t)number(parts, EVTX_SYSTEM_ID, UINT16_MAX);
    d->version = (uint8_t)number(parts, EVTX_SYSTEM_VERSION, UINT8_MAX);
    d->level = (uint8_t)number(parts, EVTX_SYSTEM_LEVEL, UINT8_MAX);
    d->task = (uint16_t)number(parts, EVTX_SYSTEM_TASK, UINT16_MAX);
    d->opcode = (uint8_t)number(parts, EVTX_SYSTEM_OPCODE, UINT8_MAX);
    d->keyword = number(parts, EVTX_SYSTEM_KEYWORDS, UINT64_MAX);
    if (evtx_value_number(parts->tree, parts->nodes[EVTX_SYSTEM_QUALIFIERS], &qualifiers) &&
        qualifiers <= UINT16_MAX) {
        record->present |= RECORD_HAS_QUALIFIERS;
        record->log_qualifiers = (uint16_t)qualifiers;
    }
}

enum { SIZE_BYTES = 2, ID_AND_VERSION_BYTES = 3 }; /* of traits */

/* Write traits of the provider: their size, the names of provider and channel, each with its NUL,
 * and the event's id and version, which distinguish the provider's events. */
static void fill_traits(
    struct evtx_event *event, const struct parts *parts, const struct evtx_shared *shared)
{
    uint8_t *at = event->traits + SIZE_BYTES;
    if (shared && shared->has_names) {
        memcpy(at, shared->names.data, shared->names.size);
        at += shared->names.size;
    } else {
        static const enum evtx_system_part names[] = {EVTX_SYSTEM_PROVIDER, EVTX_SYSTEM_CHANNEL};
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            at += evtx_value_utf8(
                parts->tree, parts->nodes[names[i]], at, EVTX_EVENT_NAME_BYTES - 1)
                      .size;
            *at++ = 0;
        }
    }
    store_le16(at, event->record.descriptor.id);
    at[2] = event->record.descriptor.version;
    at += ID_AND_VERSION_BYTES;
    store_le16(event->traits, (uint16_t)(at - event->traits));
    evtx_event_add_item(
        event, EXTENDED_PROV_TRAITS, span_make(event->traits, (size_t)(at - event->traits)));
}

static void fill_ids(
    struct evtx_event *event, const struct parts *parts, const struct evtx_shared *shared)
{
    struct event_record *record = &event->record;
    const uint16_t *nodes = parts->nodes;
    if (shared && shared->has_provider) {
        record->provider = shared->provider;
    } else {
        evtx_value_guid(parts->tree, nodes[EVTX_SYSTEM_GUID], &record->provider);
    }
    evtx_value_guid(parts->tree, nodes[EVTX_SYSTEM_ACTIVITY], &record->activity_id);
    if (evtx_value_guid(parts->tree, nodes[EVTX_SYSTEM_RELATED], &event->related)) {
        evtx_event_add_item(event, EXTENDED_RELATED_ACTIVITY_ID,
            span_make(event->related.bytes, sizeof(event->related.bytes)));
    }
}

static void fill_execution(struct evtx_event *event, const struct parts *parts)
{
    struct event_record *record = &event->record;
    const uint16_t *nodes = parts->nodes;
    uint64_t value;
    if (evtx_value_number(parts->tree, nodes[EVTX_SYSTEM_PROCESS], &value)) {
        record->present |= RECORD_HAS_PROCESS;
        record->process_id = (uint32_t)value;
    }
    if (evtx_value_number(parts->tree, nodes[EVTX_SYSTEM_THREAD], &value)) {
        record->present |= RECORD_HAS_THREAD;
        record->thread_id = (uint32_t)value;
    }
    record->cpu = (uint16_t)number(parts, EVTX_SYSTEM_CPU, UINT16_MAX);
    if (nodes[EVTX_SYSTEM_KERNEL_TIME] != EVTX_TREE_NONE) {
        record->present |= RECORD_HAS_CPU_TIMES;
        record->kernel_ticks = (uint32_t)number(parts, EVTX_SYSTEM_KERNEL_TIME, UINT32_MAX);
        record->user_ticks = (uint32_t)number(parts, EVTX_SYSTEM_USER_TIME, UINT32_MAX);
    }
    if (evtx_value_number(parts->tree, nodes[EVTX_SYSTEM_SESSION], &value)) {
        store_le32(event->session, (uint32_t)value);
        evtx_event_add_item(
            event, EXTENDED_TS_ID, span_make(event->session, sizeof(event->session)));
    }
}

/* Set the user: usually a SID, otherwise text. */
static void fill_user(struct evtx_event *event, const struct parts *parts)
{
    uint16_t user = parts->nodes[EVTX_SYSTEM_USER];
    struct span sid = evtx_value_sid(parts->tree, user, event->sid);
    if (sid.size) {
        evtx_event_add_item(event, EXTENDED_SID, sid);
        return;
    }
    struct span text = evtx_value_utf8(parts->tree, user, event->sid, sizeof(event->sid));
    if (text.size) {
        event->record.present |= RECORD_SID_IS_TEXT;
        evtx_event_add_item(event, EXTENDED_SID, text);
    }
}

void evtx_system_fill(struct evtx_event *event, const struct evtx_tree *tree,
    const struct evtx_system *system, const struct evtx_shared *shared)
{
    struct event_record *record = &event->record;
    const struct parts parts = {.tree = tree, .nodes = system->nodes};
    fill_descriptor(record, &parts);
    fill_traits(event, &parts, shared);
    fill_ids(event, &parts, shared);
    fill_execution(event, &parts);
    fill_user(event, &parts);
    evtx_value_number(tree, system->nodes[EVTX_SYSTEM_RECORD_ID], &record->log_record_id);
    evtx_value_filetime(tree, system->nodes[EVTX_SYSTEM_TIME], &record->time);
    record->time_raw = (int64_t)record->time;
    event->computer = shared && shared->has_computer
                          ? shared->computer
                          : evtx_value_utf8(tree, system->nodes[EVTX_SYSTEM_COMPUTER],
                                event->computer_bytes, sizeof(event->computer_bytes));
}

/* ---- leftovers ------------------------------------------------------------------------------- */

static bool is_text_of_name(struct span text)
{
    while (text.size >= 2 && load_le16(text.data + text.size - 2) == 0) {
        text.size -= 2;
    }
    for (size_t i = 0; i + 1 < text.size; i += 2) {
        uint16_t unit = load_le16(text.data + i);
        bool is_control = unit < 0x20 || (unit >= 0x7f && unit < 0xa0);
        bool is_surrogate_or_private = unit >= 0xd800 && unit < 0xf900;
        if (is_control || is_surrogate_or_private) {
            return false;
        }
    }
    return true;
}

bool evtx_system_has_names(const struct evtx_tree *tree, const struct evtx_system *system)
{
    static const enum evtx_system_part names[] = {
        EVTX_SYSTEM_PROVIDER, EVTX_SYSTEM_CHANNEL, EVTX_SYSTEM_COMPUTER};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        uint16_t node = system->nodes[names[i]];
        uint16_t at = node == EVTX_TREE_NONE ? EVTX_TREE_NONE : tree->nodes[node].first;
        for (; at != EVTX_TREE_NONE; at = tree->nodes[at].next) {
            const struct evtx_node *value = &tree->nodes[at];
            if (value->type == EVTX_TEXT16 && !is_text_of_name(value->bytes)) {
                return false;
            }
        }
    }
    return true;
}

/* ---- what records share ---------------------------------------------------------------------- */

/* True if no value of the part comes from the record. */
static bool is_shared(
    const struct evtx_tree *tree, const struct evtx_system *system, enum evtx_system_part part)
{
    uint16_t node = system->nodes[part];
    uint16_t at = node == EVTX_TREE_NONE ? EVTX_TREE_NONE : tree->nodes[node].first;
    while (at != EVTX_TREE_NONE && tree->nodes[at].given == EVTX_TREE_NONE) {
        at = tree->nodes[at].next;
    }
    return at == EVTX_TREE_NONE;
}

struct span evtx_system_provider(const struct evtx_event *event)
{
    return span_text((const char *)event->traits + SIZE_BYTES);
}

struct evtx_shared evtx_system_share(
    const struct evtx_event *event, const struct evtx_tree *tree, const struct evtx_system *system)
{
    size_t traits = load_le16(event->traits);
    return (struct evtx_shared){.has_names = is_shared(tree, system, EVTX_SYSTEM_PROVIDER) &&
                                             is_shared(tree, system, EVTX_SYSTEM_CHANNEL),
        .has_provider = is_shared(tree, system, EVTX_SYSTEM_GUID),
        .has_computer = is_shared(tree, system, EVTX_SYSTEM_COMPUTER),
        .names = span_make(event->traits + SIZE_BYTES, traits - SIZE_BYTES - ID_AND_VERSION_BYTES),
        .computer = event->computer,
        .provider = event->record.provider};
}
