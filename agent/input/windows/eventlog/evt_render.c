#include "input/windows/eventlog/evt_render.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "input/evtx/evtx_format.h"
#include "input/evtx/evtx_typed.h"
#include "input/evtx/evtx_xml.h"

/* A record has at most 64 KB; its XML is several times as long. */
enum { FIRST_BYTES = 64 * 1024, MAX_BYTES = 16 * 1024 * 1024, MAX_VALUES = 512 };
enum { BOOKMARK_CHARS = 1024 };

/* Memory for the output of Windows, aligned for variants. */
struct room {
    uint8_t *data;
    uint32_t capacity;
};

struct evt_render {
    const struct evt_api *api;
    evt_handle values; /* the context for values; NULL: no types */
    evt_handle bookmark;
    struct room xml;
    struct room variants;
    struct evtx_given given[MAX_VALUES];
    evt_char mark[BOOKMARK_CHARS];
    struct evtx_tree tree;
    struct evtx_room tree_room;
    struct evtx_event event;
};

static bool reserve(struct room *room, uint32_t capacity)
{
    if (capacity <= room->capacity) {
        return true;
    }
    uint8_t *data = capacity <= MAX_BYTES ? malloc(capacity) : NULL;
    if (data) {
        free(room->data);
        *room = (struct room){.data = data, .capacity = capacity};
    }
    return data != NULL;
}

struct evt_render *evt_render_create(struct error *err)
{
    struct evt_render *render = malloc(sizeof(*render));
    if (!render) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    render->api = evt_api_get();
    render->xml = (struct room){.data = NULL};
    render->variants = (struct room){.data = NULL};
    render->values = NULL;
    render->bookmark = render->api->EvtCreateBookmark(NULL);
    if (!render->bookmark) {
        evt_api_fail(err, render->api->last_error(), "cannot make a bookmark");
    } else if (!reserve(&render->xml, FIRST_BYTES) || !reserve(&render->variants, FIRST_BYTES)) {
        error_set(err, ERR_MEMORY, "out of memory");
    } else {
        if (render->api->EvtCreateRenderContext) {
            render->values = render->api->EvtCreateRenderContext(0, NULL, EVT_RENDER_CONTEXT_USER);
        }
        return render;
    }
    evt_render_destroy(render);
    return NULL;
}

void evt_render_destroy(struct evt_render *render)
{
    if (!render) {
        return;
    }
    if (render->values) {
        render->api->EvtClose(render->values);
    }
    if (render->bookmark) {
        render->api->EvtClose(render->bookmark);
    }
    free(render->xml.data);
    free(render->variants.data);
    free(render);
}

/* Render into ${room}, which grows to the size that Windows asks for. Returns 0, or the Win32
 * error. */
static uint32_t fill(struct evt_render *render, evt_handle context, evt_handle event,
    uint32_t flags, struct room *room, uint32_t *ret_used, uint32_t *ret_count)
{
    for (int tries = 0; tries < 3; tries++) {
        uint32_t used = 0;
        *ret_count = 0;
        if (render->api->EvtRender(
                context, event, flags, room->capacity, room->data, &used, ret_count)) {
            *ret_used = used < room->capacity ? used : room->capacity;
            return EVT_OK;
        }
        uint32_t code = render->api->last_error();
        if (code != EVT_ERROR_INSUFFICIENT_BUFFER || used <= room->capacity) {
            return code ? code : EVT_ERROR_INVALID_PARAMETER;
        }
        if (!reserve(room, used)) {
            return EVT_ERROR_NOT_ENOUGH_MEMORY;
        }
    }
    return EVT_ERROR_INSUFFICIENT_BUFFER;
}

/* ---- positions ------------------------------------------------------------------------------- */

/* The number in ` RecordId='…'` of the bookmark. */
static bool find_number(const evt_char *text, size_t size, uint64_t *ret_id)
{
    static const char key[] = "RecordId=";
    enum { KEY_CHARS = sizeof(key) - 1 };
    for (size_t i = 0; i + KEY_CHARS + 1 < size; i++) {
        size_t same = 0;
        while (same < KEY_CHARS && text[i + same] == (evt_char)key[same]) {
            same++;
        }
        if (same < KEY_CHARS) {
            continue;
        }
        uint64_t id = 0;
        size_t at = i + KEY_CHARS + 1; /* the quote */
        for (; at < size && text[at] >= '0' && text[at] <= '9'; at++) {
            id = id * 10 + (text[at] - (unsigned)'0');
        }
        *ret_id = id;
        return at > i + KEY_CHARS + 1;
    }
    return false;
}

bool evt_render_position(
    struct evt_render *render, evt_handle event, uint64_t *ret_id, struct error *err)
{
    uint32_t used = 0;
    uint32_t count;
    const struct evt_api *api = render->api;
    if (!api->EvtUpdateBookmark(render->bookmark, event) ||
        !api->EvtRender(NULL, render->bookmark, EVT_RENDER_BOOKMARK, sizeof(render->mark),
            render->mark, &used, &count)) {
        return evt_api_fail(err, api->last_error(), "cannot read the record number of an event");
    }
    size_t size = used < sizeof(render->mark) ? used / 2 : BOOKMARK_CHARS;
    return find_number(render->mark, size, ret_id) ||
           error_set(err, ERR_FORMAT, "a bookmark from Windows has no record number");
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The bytes at ${at}, if they lie in ${room}. */
static bool take(const struct room *room, const void *at, size_t size, struct span *ret_bytes)
{
    const uint8_t *from = at;
    uintptr_t offset = (uintptr_t)from - (uintptr_t)room->data;
    if (!from || offset > room->capacity || size > room->capacity - offset) {
        return false;
    }
    *ret_bytes = span_make(from, size);
    return true;
}

/* The text at ${at}, up to its NUL. */
static bool take_text(const struct room *room, const void *at, size_t unit, struct span *ret_bytes)
{
    struct span all;
    if (!take(room, at, 0, &all)) {
        return false;
    }
    size_t left = room->capacity - (size_t)(all.data - room->data);
    size_t size = 0;
    while (size + unit <= left && (all.data[size] || (unit == 2 && all.data[size + 1]))) {
        size += unit;
    }
    *ret_bytes = span_make(all.data, size);
    return true;
}

static bool take_sid(const struct room *room, const void *at, struct span *ret_bytes)
{
    enum { HEAD_BYTES = 8, MAX_SUBS = 15 };
    struct span head;
    return take(room, at, HEAD_BYTES, &head) && head.data[1] <= MAX_SUBS &&
           take(room, at, HEAD_BYTES + 4 * (size_t)head.data[1], ret_bytes);
}

/* A variant that cannot be used becomes an EVTX_ARRAY, which leaves the text of the XML as it
 * is. */
static struct evtx_given given_of(const struct room *room, const struct evt_variant *variant)
{
    struct evtx_given given = {.type = EVTX_ARRAY};
    struct span bytes = span_make(NULL, 0);
    uint8_t type = (uint8_t)variant->type;
    size_t size = evtx_typed_size(type);
    bool good = true;
    if (size) {
        bytes = span_make(&variant->value, size);
    } else if (type == EVTX_TEXT16) {
        good = take_text(room, variant->value.at, 2, &bytes);
    } else if (type == EVTX_TEXT8) {
        good = take_text(room, variant->value.at, 1, &bytes);
    } else if (type == EVTX_BINARY) {
        good = variant->count == 0 || take(room, variant->value.at, variant->count, &bytes);
    } else if (type == EVTX_GUID || type == EVTX_SYSTEMTIME) {
        good = take(room, variant->value.at, 16, &bytes);
    } else if (type == EVTX_SID) {
        good = take_sid(room, variant->value.at, &bytes);
    } else {
        good = type == EVTX_NULL;
    }
    return good ? (struct evtx_given){.type = type, .bytes = bytes} : given;
}

static void add_types(struct evt_render *render, evt_handle event)
{
    uint32_t used;
    uint32_t count = 0;
    if (!render->values || fill(render, render->values, event, EVT_RENDER_EVENT_VALUES,
                               &render->variants, &used, &count) != EVT_OK) {
        evtx_typed_none(&render->tree);
        return;
    }
    if (count > MAX_VALUES || count > used / sizeof(struct evt_variant)) {
        evtx_typed_none(&render->tree);
        return;
    }
    const struct evt_variant *variants = (const void *)render->variants.data;
    for (uint32_t i = 0; i < count; i++) {
        render->given[i] = given_of(&render->variants, &variants[i]);
    }
    evtx_typed_apply(&render->tree, render->given, count);
}

/* ---- records --------------------------------------------------------------------------------- */

struct evtx_event *evt_render_event(
    struct evt_render *render, evt_handle event, const char **ret_problem, struct error *err)
{
    uint32_t used;
    uint32_t count;
    uint32_t code = fill(render, NULL, event, EVT_RENDER_EVENT_XML, &render->xml, &used, &count);
    if (code != EVT_OK) {
        evt_api_fail(err, code, "cannot render an event");
        return NULL;
    }
    while (used >= 2 && load_le16(render->xml.data + used / 2 * 2 - 2) == 0) {
        used = used / 2 * 2 - 2; /* its NUL */
    }
    const char *in_xml = evtx_xml_read(&render->tree, &render->tree_room, render->xml.data, used);
    if (in_xml) {
        evtx_typed_none(&render->tree);
    } else {
        add_types(render, event);
    }
    render->event.record = (struct event_record){.trace = NULL};
    const char *in_event = NULL;
    if (!evtx_event_fill(&render->event, &render->tree, &in_event)) {
        error_set(err, ERR_FORMAT, "Windows rendered an event as XML without System");
        return NULL;
    }
    *ret_problem = in_xml ? in_xml : in_event;
    render->event.record.log_problem = *ret_problem;
    return &render->event;
}
