#include "app/state/agent_identity.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/guid.h"
#include "event/write/event_writer.h"
#include "platform/plat_file.h"
#include "platform/plat_system.h"

enum { HOST_NAME_SIZE = 256, MAX_PATH_BYTES = 4096 };

static bool make_uuid(char text[GUID_TEXT_SIZE + 1], struct error *err)
{
    struct guid guid;
    if (!plat_random(guid.bytes, sizeof(guid.bytes), err)) {
        return false;
    }
    /* The stored form is little-endian in its first three fields:
     * version in byte 7, variant in 8. */
    guid.bytes[7] = (uint8_t)((guid.bytes[7] & 0x0f) | 0x40);
    guid.bytes[8] = (uint8_t)((guid.bytes[8] & 0x3f) | 0x80);
    guid_write(&guid, text);
    text[GUID_TEXT_SIZE] = '\0';
    return true;
}

static bool read_id(const char *path, char text[GUID_TEXT_SIZE + 1])
{
    char *data;
    size_t size;
    if (!plat_file_load(path, 1024, &data, &size, NULL)) {
        return false;
    }
    struct guid guid;
    bool ok = size >= GUID_TEXT_SIZE && guid_parse(span_make(data, GUID_TEXT_SIZE), &guid);
    if (ok) {
        guid_write(&guid, text);
        text[GUID_TEXT_SIZE] = '\0';
    }
    free(data);
    return ok;
}

/* The id of this data folder, made if it has none. */
static bool stable_id(const char *data_dir, char text[GUID_TEXT_SIZE + 1], struct error *err)
{
    char path[MAX_PATH_BYTES];
    if (snprintf(path, sizeof(path), "%s/agent.id", data_dir) >= (int)sizeof(path)) {
        return error_set(err, ERR_CONFIG, "agent.data_dir is too long");
    }
    if (read_id(path, text)) {
        return true;
    }
    if (!plat_dir_create_private(data_dir, err) || !make_uuid(text, err)) {
        return false;
    }
    struct plat_file *file = plat_file_open(path, PLAT_FILE_CREATE, err);
    if (!file) {
        return false;
    }
    char line[GUID_TEXT_SIZE + 2];
    int size = snprintf(line, sizeof(line), "%s\n", text);
    bool ok = plat_file_write(file, span_make(line, (size_t)size), err) &&
              plat_file_sync(file, err);
    plat_file_close(file);
    return ok;
}

const struct event_agent *agent_identity_plain(void)
{
    static char host[HOST_NAME_SIZE];
    static struct event_agent agent;
    if (agent.version.size == 0) {
        plat_host_name(host, sizeof(host));
        agent.name = span_text(host);
        agent.version = span_text(ETWSHIP_VERSION);
    }
    return &agent;
}

bool agent_identity_tail(struct buf *out, struct error *err)
{
    event_tail_render(agent_identity_plain(), out);
    return !out->failed || error_set(err, ERR_MEMORY, "out of memory");
}

bool agent_identity_init(struct agent_identity *identity, const char *data_dir,
    const struct config_map *labels, const struct config_strings *tags, struct error *err)
{
    *identity = (struct agent_identity){.texts = NULL};
    plat_host_name(identity->host, sizeof(identity->host));
    if (!make_uuid(identity->ephemeral_id, err) ||
        (data_dir && !stable_id(data_dir, identity->id, err))) {
        return false;
    }
    struct span *texts = calloc(labels->count * 2 + tags->count + 1, sizeof(*texts));
    if (!texts) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < labels->count; i++) {
        texts[i * 2] = span_text(labels->items[i].key);
        texts[i * 2 + 1] = span_text(labels->items[i].value);
    }
    struct span *tag_texts = texts + labels->count * 2;
    for (size_t i = 0; i < tags->count; i++) {
        tag_texts[i] = span_text(tags->items[i]);
    }
    identity->texts = texts;
    identity->agent = (struct event_agent){.id = span_text(identity->id),
        .ephemeral_id = span_text(identity->ephemeral_id),
        .name = span_text(identity->host),
        .version = span_text(ETWSHIP_VERSION),
        .labels = texts,
        .label_count = labels->count,
        .tags = tag_texts,
        .tag_count = tags->count};
    return true;
}

void agent_identity_keep(struct agent_identity *identity, char *ephemeral_id)
{
    char *own = identity->ephemeral_id;
    memcpy(*ephemeral_id ? own : ephemeral_id, *ephemeral_id ? ephemeral_id : own,
        sizeof(identity->ephemeral_id));
}

void agent_identity_fini(struct agent_identity *identity)
{
    free(identity->texts);
    identity->texts = NULL;
}
