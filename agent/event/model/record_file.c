#include "event/model/record_file.h"

#include "base/reader.h"
#include "event/model/record_letter.h"

enum owner { DISK_IO, PAGE_FAULT, FILE_IO, KERNEL_FILE, KERNEL_DISK, OWNERS };

static const struct guid owners[OWNERS] = {
    [DISK_IO] = {{0xd4, 0xa8, 0x6f, 0x3d, 0x05, 0xfe, 0xd0, 0x11, 0x9d, 0xda, 0x00, 0xc0, 0x4f,
        0xd7, 0xba, 0x7c}},
    [PAGE_FAULT] = {{0xd3, 0xa8, 0x6f, 0x3d, 0x05, 0xfe, 0xd0, 0x11, 0x9d, 0xda, 0x00, 0xc0, 0x4f,
        0xd7, 0xba, 0x7c}},
    [FILE_IO] = {{0x39, 0xdc, 0xcb, 0x90, 0x3e, 0x4a, 0xd1, 0x11, 0x84, 0xf4, 0x00, 0x00, 0xf8,
        0x04, 0x64, 0xe3}},
    [KERNEL_FILE] = {{0x27, 0x89, 0xd0, 0xed, 0xc4, 0x9c, 0x65, 0x4e, 0xb9, 0x70, 0xc2, 0x56, 0x0f,
        0xb5, 0xc2, 0x89}},
    [KERNEL_DISK] = {{0x9a, 0xe6, 0xbd, 0xc7, 0xe0, 0xe1, 0x77, 0x41, 0xb6, 0xef, 0x28, 0x3a, 0xd1,
        0x52, 0x52, 0x71}},
};

/*
 * One letter per field, in the order of the payload:
 *
 *     K   the file key                     a       another pointer: left out
 *     O   the file object                  2 4 8   so many bytes: left out
 *     E   either, it is not said which     n       name, UTF-16
 *     w   another text, UTF-16: left out   ?       4 bytes, where newer builds have them: left out
 */
struct layout {
    uint8_t owner; /* enum owner */
    uint8_t first; /* types, or ids */
    uint8_t last;
    uint8_t version;
    uint8_t news; /* enum record_file_news */
    const char *fields;
};

/* Of one type, descending by version; the most frequent types come first. */
// clang-format off
static const struct layout layouts[] = {
    {DISK_IO, 10, 11, 3, RECORD_FILE_NO_NEWS, "44448Ka84"},      /* Read, Write */
    {DISK_IO, 10, 11, 2, RECORD_FILE_NO_NEWS, "44448Ka8"},
    {DISK_IO, 10, 11, 1, RECORD_FILE_NO_NEWS, "44448K8"},
    {DISK_IO, 10, 11, 0, RECORD_FILE_NO_NEWS, "44448K"},
    {DISK_IO, 55, 56, 3, RECORD_FILE_NO_NEWS, "44448Ka84"},      /* OpticalRead, OpticalWrite */
    {DISK_IO, 16, 16, 0, RECORD_FILE_NO_NEWS, "aK"},
    {DISK_IO, 34, 34, 2, RECORD_FILE_NO_NEWS, "44aEa4"},         /* DrvMjFnCall */
    {DISK_IO, 34, 34, 1, RECORD_FILE_NO_NEWS, "4aa44E"},
    {PAGE_FAULT, 32, 32, 2, RECORD_FILE_NO_NEWS, "88aK44"},      /* HardFault */
    {PAGE_FAULT, 105, 105, 2, RECORD_FILE_NO_NEWS, "K422"},      /* ImageLoadBacked */
    {FILE_IO, 0, 0, 0, RECORD_FILE_NAMED, "Kn"},                 /* Name */
    {FILE_IO, 36, 36, 2, RECORD_FILE_NAMED, "Kn"},               /* FileRundown */
    {FILE_IO, 32, 32, 1, RECORD_FILE_CREATED, "Kn"},             /* FileCreate */
    {FILE_IO, 34, 34, 0, RECORD_FILE_NO_NEWS, "K"},              /* FileNameNull */
    {FILE_IO, 35, 35, 2, RECORD_FILE_DELETED, "Kn"},             /* FileDelete */
    {FILE_IO, 64, 64, 3, RECORD_FILE_OPENED, "aO4444n"},         /* Create */
    {FILE_IO, 64, 64, 2, RECORD_FILE_OPENED, "aaO444n"},
    {FILE_IO, 66, 66, 3, RECORD_FILE_CLOSED, "aOK4"},            /* Close */
    {FILE_IO, 66, 66, 2, RECORD_FILE_CLOSED, "aaOK"},
    {FILE_IO, 67, 68, 3, RECORD_FILE_NO_NEWS, "8aOK444?"},       /* Read, Write */
    {FILE_IO, 67, 68, 2, RECORD_FILE_NO_NEWS, "8aaOK44"},
    {FILE_IO, 65, 65, 3, RECORD_FILE_NO_NEWS, "aOK4"},           /* Cleanup */
    {FILE_IO, 65, 65, 2, RECORD_FILE_NO_NEWS, "aaOK"},
    {FILE_IO, 73, 73, 3, RECORD_FILE_NO_NEWS, "aOK4"},           /* Flush */
    {FILE_IO, 73, 73, 2, RECORD_FILE_NO_NEWS, "aaOK"},
    {FILE_IO, 69, 71, 3, RECORD_FILE_NO_NEWS, "aOKa44"},         /* SetInfo, Delete, Rename */
    {FILE_IO, 69, 71, 2, RECORD_FILE_NO_NEWS, "aaOKa4"},
    {FILE_IO, 74, 75, 3, RECORD_FILE_NO_NEWS, "aOKa44"},         /* QueryInfo, FSControl */
    {FILE_IO, 74, 75, 2, RECORD_FILE_NO_NEWS, "aaOKa4"},
    {FILE_IO, 83, 84, 3, RECORD_FILE_NO_NEWS, "aOKa44"},
    {FILE_IO, 72, 72, 3, RECORD_FILE_NO_NEWS, "aOK4444w"},       /* DirEnum: of the directory */
    {FILE_IO, 72, 72, 2, RECORD_FILE_NO_NEWS, "aaOK444w"},
    {FILE_IO, 77, 77, 3, RECORD_FILE_NO_NEWS, "aOK4444w"},       /* DirNotify: the same */
    {FILE_IO, 77, 77, 2, RECORD_FILE_NO_NEWS, "aaOK444w"},
    {FILE_IO, 37, 40, 3, RECORD_FILE_NO_NEWS, "aK8a"},           /* MapFile … */
    {FILE_IO, 37, 40, 2, RECORD_FILE_NO_NEWS, "aK8a4"},
    {FILE_IO, 96, 97, 3, RECORD_FILE_NO_NEWS, "aOKaa4"},         /* minifilters' callbacks */
    {FILE_IO, 98, 99, 3, RECORD_FILE_NO_NEWS, "8aOKaa4"},
    {FILE_IO, 100, 101, 3, RECORD_FILE_NO_NEWS, "aOKaa44"},
    {KERNEL_FILE, 10, 10, 0, RECORD_FILE_CREATED, "Kn"},         /* NameCreate */
    {KERNEL_FILE, 11, 11, 0, RECORD_FILE_DELETED, "Kn"},         /* NameDelete */
    {KERNEL_FILE, 12, 12, 1, RECORD_FILE_OPENED, "aO4444n"},     /* Create */
    {KERNEL_FILE, 12, 12, 0, RECORD_FILE_OPENED, "aaO444n"},
    {KERNEL_FILE, 30, 30, 1, RECORD_FILE_OPENED, "aO4444n"},     /* CreateNewFile */
    {KERNEL_FILE, 30, 30, 0, RECORD_FILE_OPENED, "aaO444n"},
    {KERNEL_FILE, 14, 14, 1, RECORD_FILE_CLOSED, "aOK4"},        /* Close */
    {KERNEL_FILE, 14, 14, 0, RECORD_FILE_CLOSED, "aaOK"},
    {KERNEL_FILE, 15, 16, 1, RECORD_FILE_NO_NEWS, "8aOK4444"},   /* Read, Write */
    {KERNEL_FILE, 15, 16, 0, RECORD_FILE_NO_NEWS, "8aaOK44"},
    {KERNEL_FILE, 13, 13, 1, RECORD_FILE_NO_NEWS, "aOK4"},       /* Cleanup */
    {KERNEL_FILE, 13, 13, 0, RECORD_FILE_NO_NEWS, "aaOK"},
    {KERNEL_FILE, 21, 21, 1, RECORD_FILE_NO_NEWS, "aOK4"},       /* Flush */
    {KERNEL_FILE, 21, 21, 0, RECORD_FILE_NO_NEWS, "aaOK"},
    /* SetInformation, Delete, Rename */
    {KERNEL_FILE, 17, 19, 1, RECORD_FILE_NO_NEWS, "aOKa44"},
    {KERNEL_FILE, 17, 19, 0, RECORD_FILE_NO_NEWS, "aaOKa4"},
    {KERNEL_FILE, 22, 23, 1, RECORD_FILE_NO_NEWS, "aOKa44"},     /* QueryInformation, FSCTL */
    {KERNEL_FILE, 22, 23, 0, RECORD_FILE_NO_NEWS, "aaOKa4"},
    {KERNEL_FILE, 29, 29, 1, RECORD_FILE_NO_NEWS, "aOKa44"},     /* SetLink */
    {KERNEL_FILE, 29, 29, 0, RECORD_FILE_NO_NEWS, "aaOKa4"},
    {KERNEL_FILE, 20, 20, 1, RECORD_FILE_NO_NEWS, "aOK4444w"},   /* DirEnum: of the directory */
    {KERNEL_FILE, 20, 20, 0, RECORD_FILE_NO_NEWS, "aaOK444w"},
    {KERNEL_FILE, 25, 25, 1, RECORD_FILE_NO_NEWS, "aOK4444w"},   /* DirNotify: the same */
    {KERNEL_FILE, 25, 25, 0, RECORD_FILE_NO_NEWS, "aaOK444w"},
    {KERNEL_DISK, 10, 11, 0, RECORD_FILE_NO_NEWS, "44448Ka8"},   /* Read, Write */
};
// clang-format on

static enum owner owner_of(const uint8_t guid[16])
{
    uint32_t start = load_le32(guid);
    for (unsigned i = 0; i < OWNERS; i++) {
        if (start == load_le32(owners[i].bytes) && memcmp(guid, owners[i].bytes, 16) == 0) {
            return i;
        }
    }
    return OWNERS;
}

static enum owner owner_of_record(const struct event_record *record)
{
    static const uint8_t of_group[] = {OWNERS, DISK_IO, PAGE_FAULT, OWNERS, FILE_IO};
    bool has_class = record->kind == RECORD_KERNEL || record->kind == RECORD_CLASSIC ||
                     record->kind == RECORD_EVENT;
    if (!has_class || (record->present & RECORD_OF_LOG) || !record_file_may(record)) {
        return OWNERS;
    }
    return record->kind == RECORD_KERNEL ? of_group[record->hook_id >> 8]
                                         : owner_of(record->provider.bytes);
}

static const struct layout *find_layout(const struct event_record *record)
{
    bool is_event = record->kind == RECORD_EVENT;
    enum owner owner = owner_of_record(record);
    uint16_t type = is_event ? record->descriptor.id : record->descriptor.opcode;
    if (owner == OWNERS || is_event != (owner == KERNEL_FILE || owner == KERNEL_DISK)) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        const struct layout *layout = &layouts[i];
        if (layout->owner == owner && layout->first <= type && type <= layout->last &&
            layout->version <= record->descriptor.version) {
            return layout;
        }
    }
    return NULL;
}

bool record_file_uses(const struct event_record *record)
{
    return find_layout(record) != NULL;
}

bool record_file_names(const struct event_record *record)
{
    enum { NAME_CREATE = 10, NAME_DELETE = 11 };
    uint16_t id = record->descriptor.id;
    if ((record->present & RECORD_OF_LOG) || !record_file_may(record)) {
        return false;
    }
    switch (record->kind) {
    case RECORD_KERNEL:
        return record_file_hook(record->hook_id);
    case RECORD_CLASSIC:
        return record_file_hook((uint16_t)(0x0400 | record->descriptor.opcode)) &&
               owner_of(record->provider.bytes) == FILE_IO;
    case RECORD_EVENT:
        return (id == NAME_CREATE || id == NAME_DELETE) &&
               owner_of(record->provider.bytes) == KERNEL_FILE;
    default:
        return false;
    }
}

bool record_file_tells(const struct event_record *record)
{
    enum { CREATE = 12, CLOSE = 14, CREATE_NEW = 30, OPENED = 64, CLOSED = 66 };
    const struct event_descriptor *d = &record->descriptor;
    if (record_file_names(record)) {
        return true;
    }
    enum owner owner = owner_of_record(record);
    bool is_event = d->id == CREATE || d->id == CLOSE || d->id == CREATE_NEW;
    return record->kind == RECORD_EVENT
               ? is_event && owner == KERNEL_FILE
               : (d->opcode == OPENED || d->opcode == CLOSED) && owner == FILE_IO;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static void take_field(
    struct reader *r, char letter, uint8_t pointer_size, struct record_file *file)
{
    switch (letter) {
    case 'K':
        file->key = record_letter_pointer(r, pointer_size);
        break;
    case 'O':
        file->object = record_letter_pointer(r, pointer_size);
        break;
    case 'E':
        file->key = file->object = record_letter_pointer(r, pointer_size);
        break;
    case 'n':
        file->name = reader_text16(r);
        break;
    default:
        record_letter_skip(r, letter, pointer_size);
        break;
    }
}

/* False: the payload is too short. *ret_fits: the bytes look like pointers of that width. */
static bool take_fields(const struct event_record *record, const struct layout *layout,
    uint8_t pointer_size, struct record_file *ret_file, bool *ret_fits)
{
    struct reader r = reader_make(record->payload);
    *ret_file = (struct record_file){.news = layout->news};
    for (const char *letter = layout->fields; *letter; letter++) {
        take_field(&r, *letter, pointer_size, ret_file);
    }
    /* The upper half of a pointer before a name is never a backslash. */
    bool begins = ret_file->name.size == 0 || load_le16(ret_file->name.data) == '\\';
    *ret_fits = reader_left(&r) == 0 && begins;
    return !r.failed;
}

/* A 32-bit logger on a 64-bit machine writes wide pointers after narrow headers: the width is the
 * one that fits, else the header's. */
bool record_file_read(const struct event_record *record, struct record_file *ret_file)
{
    const struct layout *layout = find_layout(record);
    struct record_file other;
    bool fits;
    bool other_fits;
    if (!layout) {
        return false;
    }
    uint8_t width = record->pointer_size == 4 ? 4 : 8;
    bool good = take_fields(record, layout, width, ret_file, &fits);
    if (!(good && fits) && take_fields(record, layout, 12 - width, &other, &other_fits) &&
        other_fits) {
        *ret_file = other;
        return true;
    }
    return good;
}
