#include "event/model/record_process.h"

#include "base/bytes.h"

/* ntwmi.h; KernelTraceControl's and the provider's as in every trace that has them. */
enum record_process record_process_class(const uint8_t guid[16])
{
    static const struct {
        enum record_process kind;
        struct guid guid;
    } classes[] = {
        {RECORD_OF_PROCESS, {{0xd0, 0xa8, 0x6f, 0x3d, 0x05, 0xfe, 0xd0, 0x11, 0x9d, 0xda, 0x00,
                                0xc0, 0x4f, 0xd7, 0xba, 0x7c}}},
        {RECORD_OF_THREAD, {{0xd1, 0xa8, 0x6f, 0x3d, 0x05, 0xfe, 0xd0, 0x11, 0x9d, 0xda, 0x00, 0xc0,
                               0x4f, 0xd7, 0xba, 0x7c}}},
        {RECORD_OF_IMAGE, {{0x1d, 0x5d, 0xb1, 0x2c, 0xc1, 0x5f, 0xd2, 0x11, 0xab, 0xe1, 0x00, 0xa0,
                              0xc9, 0x11, 0xf5, 0x18}}},
        {RECORD_OF_VOLUME, {{0x91, 0xee, 0x79, 0x9b, 0xfd, 0xb5, 0xc0, 0x41, 0xa2, 0x43, 0x42, 0x48,
                               0xe2, 0x66, 0xe9, 0xd0}}},
        {RECORD_OF_PROCESS_PROVIDER, {{0xd6, 0x2c, 0xfb, 0x22, 0x7b, 0x0e, 0x2b, 0x42, 0xa0, 0xc7,
                                         0x2f, 0xad, 0x1f, 0xd0, 0xe7, 0x16}}},
    };
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        if (load_le64(guid) == load_le64(classes[i].guid.bytes) &&
            load_le64(guid + 8) == load_le64(classes[i].guid.bytes + 8)) {
            return classes[i].kind;
        }
    }
    return RECORD_OF_OTHERS;
}

static enum record_process classic_kind(const struct event_record *record)
{
    enum { IMAGE_LOAD = 10, VOLUME_PATHS = 33, VOLUME_MAPPING = 35, DEFUNCT = 39 };
    uint8_t type = record->descriptor.opcode;
    enum record_process kind = record_process_class(record->provider.bytes);
    bool is_life = type >= 1 && type <= 4;
    switch (kind) {
    case RECORD_OF_PROCESS:
        return is_life || type == DEFUNCT ? kind : RECORD_OF_OTHERS;
    case RECORD_OF_THREAD:
        return is_life ? kind : RECORD_OF_OTHERS;
    case RECORD_OF_IMAGE:
        return type == 3 || type == 4 || type == IMAGE_LOAD ? kind : RECORD_OF_OTHERS;
    case RECORD_OF_VOLUME:
        return type == VOLUME_PATHS || type == VOLUME_MAPPING ? kind : RECORD_OF_OTHERS;
    default:
        return RECORD_OF_OTHERS;
    }
}

enum record_process record_process_kind(const struct event_record *record)
{
    enum { LAST_LIFE = 5, RUNDOWN = 15 };
    uint16_t id = record->descriptor.id;
    if (record->present & RECORD_OF_LOG) {
        return RECORD_OF_OTHERS; /* its payload is another one */
    }
    switch (record->kind) {
    case RECORD_KERNEL:
        return record_process_hook(record->hook_id) ? classic_kind(record) : RECORD_OF_OTHERS;
    case RECORD_CLASSIC:
        return classic_kind(record);
    case RECORD_EVENT:
        return ((id >= 1 && id <= LAST_LIFE) || id == RUNDOWN) &&
                       record_process_class(record->provider.bytes) == RECORD_OF_PROCESS_PROVIDER
                   ? RECORD_OF_PROCESS_PROVIDER
                   : RECORD_OF_OTHERS;
    default:
        return RECORD_OF_OTHERS;
    }
}
