#include "fuzz/fuzz.h"

#include <stdlib.h>

#include "decode/decode.h"
#include "etw/etw_text.h"
#include "input/evtx/evtx_event.h"
#include "input/evtx/evtx_typed.h"
#include "input/evtx/evtx_xml.h"
#include "schema/source/schema_sources.h"

/* Any bytes as the XML of a record, and the bytes after it as its values: the event that is made of
 * them decodes to the last byte. */
enum { MAX_BYTES = 1 << 16, MAX_VALUES = 64 };

static void check_payload(const struct event_record *record)
{
    static const struct schema_source_settings settings;
    void *source = schema_source_tracelogging.create(&settings, NULL);
    struct schema_candidates found = {.count = 0};
    struct decoder decoder;
    struct event event;
    if (!source || !decoder_init(&decoder, NULL)) {
        abort();
    }
    schema_source_tracelogging.find(source, record, &found);
    if (found.count && found.list[0]->has_layout) {
        decoder_run(&decoder, record, found.list[0], record->pointer_size, &event);
        if (found.list[0]->kind != SCHEMA_EVENTLOG || event.status != DECODE_COMPLETE) {
            abort();
        }
    }
    decoder_fini(&decoder);
    schema_source_tracelogging.destroy(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t xml[MAX_BYTES];
    static struct evtx_tree tree;
    static struct evtx_room room;
    static struct evtx_event event;
    struct evtx_given given[MAX_VALUES];
    struct span rest = span_first(span_make(data, size), MAX_BYTES);
    size_t count = rest.size ? rest.data[0] % MAX_VALUES : 0;
    rest = span_from(rest, 1);
    if (rest.size < count * 2) {
        return 0;
    }
    const uint8_t *types = rest.data;
    rest = span_from(rest, count * 2);
    for (size_t i = 0; i < count; i++) {
        given[i] = (struct evtx_given){
            .type = types[2 * i], .bytes = span_first(rest, types[2 * i + 1])};
        rest = span_from(rest, given[i].bytes.size);
    }
    if (rest.size) {
        memcpy(xml, rest.data, rest.size);
    }
    if (!evtx_xml_read(&tree, &room, xml, rest.size)) {
        evtx_typed_apply(&tree, given, count);
    } else {
        evtx_typed_none(&tree);
    }
    const char *problem = NULL;
    event.record = (struct event_record){.trace = NULL};
    if (evtx_event_fill(&event, &tree, &problem)) {
        check_payload(&event.record);
    }
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const char xml[] =
        "<Event xmlns='http://x'><System><Provider Name='P' Guid='{54849625-5478-4994-a5ba-"
        "3e3b0328c30d}'/><EventID>1</EventID><TimeCreated SystemTime='2025-11-24T18:10:00Z'/>"
        "<Security UserID='S-1-5-18'/></System><EventData><Data Name='a'>7</Data><Data>x &amp; "
        "&#65;</Data></EventData><RenderingInfo Culture='en'><Message>m</Message></RenderingInfo>"
        "</Event>";
    static uint16_t wide[sizeof(xml)];
    static const uint8_t head[] = {2, 8, 4, 1, 2, 7, 0, 0, 0, 'x', 0};
    size_t units;
    if (index > 0 || !etw_text_encode(span_text(xml), wide, sizeof(xml), &units) ||
        max < sizeof(head) + units * 2) {
        return 0;
    }
    memcpy(out, head, sizeof(head));
    memcpy(out + sizeof(head), wide, units * 2);
    return sizeof(head) + units * 2;
}
