#include "process/volume_map.h"

#include <stdlib.h>

struct volume {
    uint64_t machine;
    uint16_t device_size;
    uint16_t drive_size;
    uint8_t device[VOLUME_MAP_MAX_PATH];
    uint8_t drive[VOLUME_MAP_MAX_PATH];
};

static uint8_t lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c;
}

static bool is_same(const uint8_t *a, const uint8_t *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (lower(a[i]) != lower(b[i])) {
            return false;
        }
    }
    return true;
}

static struct span without_backslash(struct span path)
{
    path.size -= path.size && path.data[path.size - 1] == '\\';
    return path;
}

static struct volume *find(const struct volume_map *map, uint64_t machine, struct span device)
{
    for (size_t i = 0; i < map->count; i++) {
        struct volume *volume = &map->list[i];
        if (volume->machine == machine && volume->device_size == device.size &&
            is_same(volume->device, device.data, device.size)) {
            return volume;
        }
    }
    return NULL;
}

void volume_map_fini(struct volume_map *map)
{
    free(map->list);
    *map = (struct volume_map){.count = 0};
}

bool volume_map_add(struct volume_map *map, uint64_t machine, struct span device, struct span drive)
{
    device = without_backslash(device);
    drive = without_backslash(drive);
    if (device.size == 0 || drive.size == 0 || device.size > VOLUME_MAP_MAX_PATH ||
        drive.size > VOLUME_MAP_MAX_PATH || device.data[0] != '\\') {
        return false;
    }
    if (!map->list) {
        map->list = calloc(VOLUME_MAP_MAX, sizeof(*map->list));
    }
    struct volume *volume = map->list ? find(map, machine, device) : NULL;
    if (volume && span_equal(span_make(volume->drive, volume->drive_size), drive)) {
        return false;
    }
    if (!volume && map->list && map->count < VOLUME_MAP_MAX) {
        volume = &map->list[map->count++];
    }
    if (!volume) {
        return false;
    }
    volume->machine = machine;
    volume->device_size = (uint16_t)device.size;
    volume->drive_size = (uint16_t)drive.size;
    memcpy(volume->device, device.data, device.size);
    memcpy(volume->drive, drive.data, drive.size);
    return true;
}

static bool begins(struct span path, const char *start)
{
    size_t size = strlen(start);
    return path.size > size && is_same(path.data, (const uint8_t *)start, size);
}

static struct span behind_component(struct span path)
{
    const uint8_t *end = path.size ? memchr(path.data, '\\', path.size) : NULL;
    return end ? span_from(path, (size_t)(end - path.data) + 1) : span_make(NULL, 0);
}

/* The `host\share…` part of a path after \Device\Mup\. For a user's network drive, redirector and
 * drive with logon session precede it: `;LanmanRedirector\;Z:0000000000020d40\host\share`, or
 * `DfsClient\;Z:…`. Empty if its start is unknown. */
static struct span find_server(struct span path)
{
    struct span second = behind_component(path);
    if (second.size > 2 && second.data[0] == ';' && second.data[2] == ':') {
        return behind_component(second);
    }
    return path.data[0] == ';' ? span_make(NULL, 0) : path;
}

/* Translate names that mean the same on every machine. False if it is none of these. */
static bool add_well_known(struct span path, struct buf *out)
{
    static const char dos[] = "\\??\\";
    static const char unc[] = "\\??\\UNC\\";
    static const char mup[] = "\\Device\\Mup\\";
    enum { DRIVE = sizeof(dos) - 1, SHARE = sizeof(unc) - 1, SERVER = sizeof(mup) - 1 };
    struct span server = begins(path, unc)   ? span_from(path, SHARE)
                         : begins(path, mup) ? find_server(span_from(path, SERVER))
                                             : span_make(NULL, 0);
    if (server.size) {
        buf_add_text(out, "\\\\");
        buf_add_span(out, server);
        return true;
    }
    if (begins(path, dos) && path.size > DRIVE + 1 && path.data[DRIVE + 1] == ':') {
        buf_add_span(out, span_from(path, DRIVE));
        return true;
    }
    return false;
}

void volume_map_translate(
    const struct volume_map *map, uint64_t machine, struct span path, struct buf *out)
{
    const struct volume *best = NULL;
    if (add_well_known(path, out)) {
        return;
    }
    for (size_t i = 0; i < map->count; i++) {
        const struct volume *volume = &map->list[i];
        size_t size = volume->device_size;
        if (volume->machine == machine && size < path.size && path.data[size] == '\\' &&
            is_same(volume->device, path.data, size) && (!best || size > best->device_size)) {
            best = volume;
        }
    }
    if (best) {
        buf_add(out, best->drive, best->drive_size);
        path = span_from(path, best->device_size);
    }
    buf_add_span(out, path);
}
