#include "outputs/loki/loki_event.h"

#include "base/filetime.h"
#include "base/text/rfc3339.h"
#include "outputs/json_member.h"
#include "outputs/loki/loki_settings.h"

enum { LABEL_MAX_BYTES = 1024 }; /* per value; Loki accepts 2048 */

/* Where the native event has labels and metadata. */
static const struct place {
    const char *object;
    const char *member;
    const char *name; /* in Loki */
} places[LOKI_PLACE_COUNT] = {
    [LOKI_HOST] = {"host", "name", "host"},
    [LOKI_PROVIDER] = {"provider", "name", "provider"},
    [LOKI_CHANNEL] = {"event", "channel_name", "channel"},
    [LOKI_LEVEL] = {"event", "level", "level"},
    [LOKI_SESSION] = {"etw", "session", "session"},
    {"provider", "guid", "provider_guid"},
    {"event", "code", "event_code"},
    {"event", "name", "event_name"},
    {"event", "task_name", "task"},
    {"event", "opcode_name", "opcode"},
    {"process", "pid", "process_pid"},
    {"process", "name", "process_name"},
    {"etw", "sequence", "sequence"},
};

static const char *const objects[] = {"host", "provider", "event", "etw", "process"};

enum { OBJECT_COUNT = sizeof(objects) / sizeof(objects[0]) };

/* Levels known to Grafana. */
static struct span level_word(struct span level)
{
    static const char *const words[] = {"critical", "error", "warning", "info", "debug"};
    unsigned number = level.size == 1 ? (unsigned)(level.data[0] - '1') : UINT32_MAX;
    return number < sizeof(words) / sizeof(words[0]) ? span_text(words[number])
                                                     : span_make(NULL, 0);
}

/* The raw text of a string or number, with its escapes; a long one is cut between characters and
 * escapes. */
static struct span text_of(struct span value)
{
    struct span text = value;
    json_member_inner(value, &text);
    if (text.size > LABEL_MAX_BYTES) {
        size_t size = LABEL_MAX_BYTES - 12; /* two \uXXXX */
        for (size_t back = 0; back < 12 && (text.data[size] & 0xc0) == 0x80; back++) {
            size--;
        }
        for (size_t i = size < 11 ? 0 : size - 11; i < size; i++) {
            if (text.data[i] == '\\') {
                size = i;
                while (size && text.data[size - 1] == '\\') {
                    size--;
                }
            }
        }
        text.size = size;
    }
    return text;
}

const char *loki_event_name(size_t place)
{
    return places[place].name;
}

void loki_event_texts(struct span line, struct span ret_texts[LOKI_PLACE_COUNT])
{
    struct span found[OBJECT_COUNT];
    for (size_t i = 0; i < OBJECT_COUNT; i++) {
        found[i] = json_member_find(line, objects[i]);
    }
    for (size_t i = 0; i < LOKI_PLACE_COUNT; i++) {
        size_t object = 0;
        while (strcmp(objects[object], places[i].object) != 0) {
            object++;
        }
        ret_texts[i] = text_of(json_member_find(found[object], places[i].member));
    }
    ret_texts[LOKI_LEVEL] = level_word(ret_texts[LOKI_LEVEL]);
}

bool loki_event_time(struct span line, int64_t *ret_nanos)
{
    struct span text;
    uint64_t time = 0;
    if (!json_member_inner(json_member_find(line, "@timestamp"), &text)) {
        return false;
    }
    /* If it cannot be parsed, as after the year 9999, `time` stays 0. */
    rfc3339_parse(text, &time);
    uint64_t ticks = time > FILETIME_UNIX_EPOCH ? time - FILETIME_UNIX_EPOCH : 0;
    *ret_nanos = ticks > INT64_MAX / 100 ? INT64_MAX : (int64_t)(ticks * 100);
    return true;
}
