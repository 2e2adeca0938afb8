#include "support/evtx_sample.h"

#include <string.h>

#include "base/bytes.h"

/* {54849625-5478-4994-a5ba-3e3b0328c30d}, Microsoft-Windows-Security-Auditing. */
static const uint8_t provider_guid[16] = {
    0x25, 0x96, 0x84, 0x54, 0x78, 0x54, 0x94, 0x49, 0xa5, 0xba, 0x3e, 0x3b, 0x03, 0x28, 0xc3, 0x0d};
/* S-1-5-18 */
static const uint8_t system_sid[12] = {1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0};

enum { COUNT = 16, TEXT_BYTES = 256 };

/* The values of one record. */
struct given {
    struct evtx_put_value values[COUNT];
    size_t count;
    uint8_t numbers[COUNT][8];
    uint8_t texts[COUNT][TEXT_BYTES];
};

static void add_number(struct given *g, uint8_t type, uint64_t number, uint8_t size)
{
    g->values[g->count] = evtx_put_number(type, number, size, g->numbers[g->count]);
    g->count++;
}

static void add_text(struct given *g, const char *text)
{
    g->values[g->count] = evtx_put_text16(text, g->texts[g->count]);
    g->count++;
}

static void add_bytes(struct given *g, uint8_t type, const void *bytes, size_t size)
{
    g->values[g->count++] = (struct evtx_put_value){type, bytes, (uint16_t)size};
}

static void begin(struct evtx_put *put, uint64_t id, uint64_t time)
{
    evtx_put_record(put, id, time);
    evtx_put_fragment(put);
}

static void end(struct evtx_put *put)
{
    evtx_put_end(put);
    evtx_put_record_end(put);
}

static void open_event(struct evtx_put *put)
{
    evtx_put_open(put, "Event", true);
    evtx_put_attribute(put, "xmlns");
    evtx_put_text(put, "http://schemas.microsoft.com/win/2004/08/events/event");
    evtx_put_close_start(put);
}

static void put_empty(
    struct evtx_put *put, const char *element, const char *attribute, uint16_t index)
{
    evtx_put_open(put, element, true);
    evtx_put_attribute(put, attribute);
    evtx_put_value_of(put, index, EVTX_PUT_TEXT16);
    evtx_put_close_empty(put);
}

/* Values 0 to 8: id, level, keywords, time, record id, process, computer, user, provider's GUID. */
static void put_system(struct evtx_put *put, const char *provider, const char *channel)
{
    evtx_put_open(put, "System", false);
    evtx_put_close_start(put);
    evtx_put_open(put, "Provider", true);
    evtx_put_attribute(put, "Name");
    evtx_put_text(put, provider);
    evtx_put_attribute(put, "Guid");
    evtx_put_value_of(put, 8, EVTX_PUT_GUID);
    evtx_put_close_empty(put);
    evtx_put_element_of(put, "EventID", 0);
    evtx_put_element_of(put, "Level", 1);
    evtx_put_element_of(put, "Keywords", 2);
    put_empty(put, "TimeCreated", "SystemTime", 3);
    evtx_put_element_of(put, "EventRecordID", 4);
    put_empty(put, "Execution", "ProcessID", 5);
    evtx_put_open(put, "Channel", false);
    evtx_put_close_start(put);
    evtx_put_text(put, channel);
    evtx_put_end_element(put);
    evtx_put_element_of(put, "Computer", 6);
    put_empty(put, "Security", "UserID", 7);
    evtx_put_end_element(put);
}

static void add_system(
    struct given *g, uint16_t event_id, uint64_t id, uint64_t time, const char *computer)
{
    add_number(g, EVTX_PUT_UINT16, event_id, 2);
    add_number(g, EVTX_PUT_UINT8, 4, 1);
    add_number(g, EVTX_PUT_HEX64, UINT64_C(0x8020000000000000), 8);
    add_number(g, EVTX_PUT_FILETIME, time, 8);
    add_number(g, EVTX_PUT_UINT64, id, 8);
    add_number(g, EVTX_PUT_UINT32, 648, 4);
    add_text(g, computer);
    add_bytes(g, EVTX_PUT_SID, system_sid, sizeof(system_sid));
    add_bytes(g, EVTX_PUT_GUID, provider_guid, sizeof(provider_guid));
}

void evtx_sample_logon(
    struct evtx_put *put, uint64_t id, uint64_t time, const char *computer, const char *user)
{
    static const uint8_t addresses[] = {'a', 0, 'b', 0, 0, 0, 'c', 0, 0, 0};
    begin(put, id, time);
    if (evtx_put_template(put, EVTX_SAMPLE_LOGON)) {
        open_event(put);
        put_system(put, "Microsoft-Windows-Security-Auditing", "Security");
        evtx_put_open(put, "EventData", false);
        evtx_put_close_start(put);
        evtx_put_data_of(put, "TargetUserName", 9);
        evtx_put_data_of(put, "LogonType", 10);
        evtx_put_data_of(put, "TargetLogonId", 11);
        evtx_put_data_of(put, "TargetUserSid", 12);
        evtx_put_data_of(put, "Elevated", 13);
        evtx_put_data_of(put, "Nothing", 14);
        evtx_put_data_of(put, "Addresses", 15);
        evtx_put_end_element(put);
        evtx_put_end_element(put);
        evtx_put_template_end(put);
    }
    struct given g = {.count = 0};
    add_system(&g, 4624, id, time, computer);
    add_text(&g, user);
    add_number(&g, EVTX_PUT_UINT32, 3, 4);
    add_number(&g, EVTX_PUT_HEX64, 0x3e7, 8);
    add_bytes(&g, EVTX_PUT_SID, system_sid, sizeof(system_sid));
    add_number(&g, EVTX_PUT_BOOL, 1, 4);
    add_bytes(&g, EVTX_PUT_NULL, NULL, 0);
    add_bytes(&g, EVTX_PUT_TEXT16 | EVTX_PUT_ARRAY, addresses, sizeof(addresses));
    evtx_put_values(put, g.values, g.count);
    end(put);
}

void evtx_sample_user(struct evtx_put *put, uint64_t id, uint64_t time)
{
    begin(put, id, time);
    if (evtx_put_template(put, EVTX_SAMPLE_USER)) {
        open_event(put);
        put_system(put, "Example-Jobs", "Example/Admin");
        evtx_put_open(put, "UserData", false);
        evtx_put_close_start(put);
        evtx_put_open(put, "Job", true);
        evtx_put_attribute(put, "xmlns:p");
        evtx_put_text(put, "urn:jobs");
        evtx_put_attribute(put, "id");
        evtx_put_value_of(put, 9, EVTX_PUT_UINT32);
        evtx_put_close_start(put);
        evtx_put_element_of(put, "p:Step", 10);
        evtx_put_element_of(put, "Step", 11);
        evtx_put_open(put, "Text", false);
        evtx_put_close_start(put);
        evtx_put_text(put, "job ");
        evtx_put_value_of(put, 9, EVTX_PUT_UINT32);
        evtx_put_text(put, " is done");
        evtx_put_end_element(put);
        evtx_put_end_element(put);
        evtx_put_end_element(put);
        evtx_put_end_element(put);
        evtx_put_template_end(put);
    }
    struct given g = {.count = 0};
    add_system(&g, 200, id, time, "PC-1");
    add_number(&g, EVTX_PUT_UINT32, 7, 4);
    add_text(&g, "first");
    add_number(&g, EVTX_PUT_INT16, 0xfffe, 2);
    evtx_put_values(put, g.values, g.count);
    end(put);
}

void evtx_sample_plain(struct evtx_put *put, uint64_t id, uint64_t time)
{
    static const uint8_t texts[] = {'o', 0, 'n', 0, 'e', 0, 0, 0, 't', 0, 'w', 0, 'o', 0};
    static const uint8_t binary[] = {0xde, 0xad, 0xbe, 0xef};
    begin(put, id, time);
    if (evtx_put_template(put, EVTX_SAMPLE_PLAIN)) {
        open_event(put);
        evtx_put_open(put, "System", false);
        evtx_put_close_start(put);
        put_empty(put, "Provider", "Name", 0);
        evtx_put_open(put, "EventID", true);
        evtx_put_attribute(put, "Qualifiers");
        evtx_put_value_of(put, 1, EVTX_PUT_UINT16);
        evtx_put_close_start(put);
        evtx_put_value_of(put, 2, EVTX_PUT_UINT16);
        evtx_put_end_element(put);
        evtx_put_end_element(put);
        evtx_put_open(put, "EventData", false);
        evtx_put_close_start(put);
        evtx_put_data_of(put, NULL, 3);
        evtx_put_data_of(put, NULL, 4);
        evtx_put_element_of(put, "Binary", 5);
        evtx_put_end_element(put);
        evtx_put_end_element(put);
        evtx_put_template_end(put);
    }
    struct given g = {.count = 0};
    add_text(&g, "Service Control Manager");
    add_number(&g, EVTX_PUT_UINT16, 16384, 2);
    add_number(&g, EVTX_PUT_UINT16, 7036, 2);
    add_bytes(&g, EVTX_PUT_TEXT16 | EVTX_PUT_ARRAY, texts, sizeof(texts));
    add_number(&g, EVTX_PUT_UINT8, 200, 1);
    add_bytes(&g, EVTX_PUT_BINARY, binary, sizeof(binary));
    evtx_put_values(put, g.values, g.count);
    end(put);
}

/* The nested XML refers to its own place in the chunk, so it is written at that place: the values
 * of the outer template end with it. */
void evtx_sample_nested(struct evtx_put *put, uint64_t id, uint64_t time)
{
    begin(put, id, time);
    if (evtx_put_template(put, EVTX_SAMPLE_NESTED)) {
        open_event(put);
        put_system(put, "Example-Nested", "Example/Debug");
        evtx_put_value_of(put, 9, EVTX_PUT_BINARY_XML);
        evtx_put_end_element(put);
        evtx_put_template_end(put);
    }
    struct given g = {.count = 0};
    add_system(&g, 300, id, time, "PC-1");
    add_bytes(&g, EVTX_PUT_BINARY_XML, "", 0);
    size_t values_at = put->at;
    evtx_put_values(put, g.values, g.count);
    size_t inner = put->at;
    evtx_put_fragment(put);
    evtx_put_open(put, "EventData", false);
    evtx_put_close_start(put);
    evtx_put_open(put, "Data", true);
    evtx_put_attribute(put, "Name");
    evtx_put_text(put, "Inner");
    evtx_put_close_start(put);
    evtx_put_text(put, "deep");
    evtx_put_end_element(put);
    evtx_put_end_element(put);
    evtx_put_end(put);
    /* Count, then size, type and a zero of each value: the last one's size is known now. */
    store_le16(put->bytes + values_at + 4 + 4 * (g.count - 1), (uint16_t)(put->at - inner));
    end(put);
}

static void put_text_element(struct evtx_put *put, const char *element, const char *text)
{
    evtx_put_open(put, element, false);
    evtx_put_close_start(put);
    evtx_put_text(put, text);
    evtx_put_end_element(put);
}

void evtx_sample_forwarded(struct evtx_put *put, uint64_t id, uint64_t time)
{
    begin(put, id, time);
    open_event(put);
    evtx_put_open(put, "System", false);
    evtx_put_close_start(put);
    evtx_put_open(put, "Provider", true);
    evtx_put_attribute(put, "Name");
    evtx_put_text(put, "Example-Forwarded");
    evtx_put_attribute(put, "Guid");
    evtx_put_text(put, "{54849625-5478-4994-A5BA-3E3B0328C30D}");
    evtx_put_close_empty(put);
    put_text_element(put, "EventID", "12");
    put_text_element(put, "Keywords", "0x8000000000000000");
    evtx_put_open(put, "TimeCreated", true);
    evtx_put_attribute(put, "SystemTime");
    evtx_put_text(put, "2025-11-24T18:10:00.5000000Z");
    evtx_put_close_empty(put);
    put_text_element(put, "EventRecordID", "77");
    put_text_element(put, "Computer", "far.corp.example");
    evtx_put_end_element(put);
    evtx_put_open(put, "EventData", false);
    evtx_put_close_start(put);
    put_text_element(put, "Data", "plain");
    evtx_put_open(put, "Data", false);
    evtx_put_close_start(put);
    evtx_put_text(put, "in two ");
    evtx_put_text(put, "pieces");
    evtx_put_end_element(put);
    evtx_put_open(put, "Data", true);
    evtx_put_attribute(put, "Name");
    evtx_put_text(put, "Xml");
    evtx_put_close_start(put);
    put_text_element(put, "Part", "x");
    evtx_put_end_element(put);
    evtx_put_end_element(put);
    evtx_put_end_element(put);
    end(put);
}
