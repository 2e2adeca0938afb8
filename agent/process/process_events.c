#include "process/process_events.h"

#include <stdlib.h>

#include "base/reader.h"
#include "event/model/record_letter.h"
#include "process/process_subjects.h"

/*
 * Layouts: the kernel's from the MOF classes of root\wmi, the provider's from its manifest (Windows
 * 7 to 11). One letter per field, in order; later fields are not needed here.
 *
 *     p P T   32 bits: process, its parent, thread   q Q   process and parent as wide as pointers
 *     k K     64 bits: start key of process, parent  o     pointer: the process's object
 *     s       32 bits: session                       t x   FILETIME of start, of end
 *     S       TOKEN_USER and SID, or 32 zero bits    M     SID of the mandatory label
 *     n       name, ANSI                             c     command line, UTF-16
 *     i       path of its image, UTF-16              m     path of an image that it loaded, UTF-16
 *     D d     device and drive, or folder: UTF-16    4 8 a 32 bits, 64 bits, a pointer: ignored
 */
struct layout {
    uint8_t kind; /* enum record_process */
    uint8_t id;   /* 0: any */
    uint8_t version;
    const char *fields;
};

/* For one kind and id, ascending by version. */
static const struct layout layouts[] = {
    {RECORD_OF_PROCESS, 0, 0, "qQSn"},
    {RECORD_OF_PROCESS, 0, 1, "apPs4Sn"},
    {RECORD_OF_PROCESS, 0, 2, "opPs4Snc"},
    {RECORD_OF_PROCESS, 0, 3, "opPs4aSnc"},
    {RECORD_OF_PROCESS, 0, 4, "opPs4a4Sncww"},
    {RECORD_OF_PROCESS, 39, 5, "opPs4a4Sncwwx"},
    {RECORD_OF_THREAD, 0, 0, "Tp"},
    {RECORD_OF_THREAD, 0, 1, "pT"},
    {RECORD_OF_IMAGE, 0, 1, "aapm"},
    {RECORD_OF_IMAGE, 0, 2, "aap444a4444m"},
    {RECORD_OF_VOLUME, 33, 0, "wd"},
    {RECORD_OF_VOLUME, 35, 0, "Dd"},
    {RECORD_OF_PROCESS_PROVIDER, 1, 0, "ptPsi"},
    {RECORD_OF_PROCESS_PROVIDER, 1, 1, "ptPs4i"},
    {RECORD_OF_PROCESS_PROVIDER, 1, 3, "pktPKs444Mi"},
    {RECORD_OF_PROCESS_PROVIDER, 2, 0, "ptx444 88n"},
    {RECORD_OF_PROCESS_PROVIDER, 2, 1, "ptx444 888 44444n"},
    {RECORD_OF_PROCESS_PROVIDER, 2, 2, "pktx444 888 44444n"},
    {RECORD_OF_PROCESS_PROVIDER, 3, 0, "pT"},
    {RECORD_OF_PROCESS_PROVIDER, 4, 0, "pT"},
    {RECORD_OF_PROCESS_PROVIDER, 5, 0, "aap44am"},
    {RECORD_OF_PROCESS_PROVIDER, 15, 0, "ptPs4i"},
    {RECORD_OF_PROCESS_PROVIDER, 15, 1, "pktPKs444Mi"},
};

static const struct layout *find_layout(const struct event_record *record, enum record_process kind)
{
    const struct event_descriptor *d = &record->descriptor;
    unsigned id = kind == RECORD_OF_PROCESS_PROVIDER ? d->id : d->opcode;
    const struct layout *found = NULL;
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        const struct layout *layout = &layouts[i];
        if (layout->kind == kind && (layout->id == 0 || layout->id == id) &&
            layout->version <= d->version) {
            found = layout;
        }
    }
    return found;
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* Fields of a payload; texts are undecoded. */
struct fields {
    struct process_news news;
    uint32_t tid;
    uint64_t end;
    struct span name;         /* ANSI */
    struct span command_line; /* UTF-16, like all that follow */
    struct span path;
    struct span image;
    struct span device;
    struct span drive;
};

/* Read the bytes of a SID; fails if there is none ([MS-DTYP] 2.4.2.2). */
static struct span take_sid(struct reader *r)
{
    enum { HEAD = 8, REVISION = 1, MAX_PARTS = 15 };
    struct span rest = reader_rest(r);
    if (rest.size < HEAD || rest.data[0] != REVISION || rest.data[1] > MAX_PARTS) {
        r->failed = true;
        return span_make(rest.data, 0);
    }
    return reader_take(r, HEAD + 4 * (size_t)rest.data[1]);
}

/* Read a TOKEN_USER (pointer and attributes) followed by a SID; or 32 zero bits. */
static struct span take_user(struct reader *r, uint8_t pointer_size)
{
    struct reader behind = *r;
    reader_skip(&behind, 2 * (size_t)pointer_size);
    struct span sid = take_sid(&behind);
    if (!behind.failed) {
        *r = behind;
        return sid;
    }
    r->failed |= reader_u32(r) != 0;
    return span_make(r->at, 0);
}

/* Set the integrity level x of a mandatory label S-1-16-x. */
static void take_label(struct reader *r, struct process_news *news)
{
    enum { ONE_PART = 12, AUTHORITY = 7, LABEL_AUTHORITY = 16 };
    struct span sid = take_sid(r);
    if (sid.size == ONE_PART && sid.data[AUTHORITY] == LABEL_AUTHORITY) {
        news->has_integrity = true;
        news->integrity = load_le32(sid.data + ONE_PART - 4);
    }
}

static void take_parent(struct process_news *news, uint64_t pid)
{
    news->has_parent = true;
    news->parent_pid = (uint32_t)pid;
}

static void take_number(struct reader *r, char letter, uint8_t pointer_size, struct fields *fields)
{
    struct process_news *news = &fields->news;
    switch (letter) {
    case 'p':
        news->pid = reader_u32(r);
        break;
    case 'q':
        news->pid = (uint32_t)record_letter_pointer(r, pointer_size);
        break;
    case 'P':
        take_parent(news, reader_u32(r));
        break;
    case 'Q':
        take_parent(news, record_letter_pointer(r, pointer_size));
        break;
    case 'T':
        fields->tid = reader_u32(r);
        break;
    case 'k':
        news->start_key = reader_u64(r);
        break;
    case 'K':
        news->parent_key = reader_u64(r);
        break;
    case 'o':
        news->object = record_letter_pointer(r, pointer_size);
        break;
    case 's':
        news->session_id = reader_u32(r);
        news->has_session = true;
        break;
    case 't':
        news->created = reader_u64(r);
        break;
    case 'x':
        fields->end = reader_u64(r);
        break;
    case '4':
        reader_skip(r, 4);
        break;
    case '8':
        reader_skip(r, 8);
        break;
    case 'a':
        reader_skip(r, pointer_size);
        break;
    default:
        break; /* blanks separate runs of digits */
    }
}

static void take_field(struct reader *r, char letter, uint8_t pointer_size, struct fields *fields)
{
    switch (letter) {
    case 'S':
        fields->news.user = take_user(r, pointer_size);
        break;
    case 'M':
        take_label(r, &fields->news);
        break;
    case 'n':
        fields->name = reader_text(r);
        break;
    case 'c':
        fields->command_line = reader_text16(r);
        break;
    case 'i':
        fields->path = reader_text16(r);
        break;
    case 'm':
        fields->image = reader_text16(r);
        break;
    case 'D':
        fields->device = reader_text16(r);
        break;
    case 'd':
        fields->drive = reader_text16(r);
        break;
    case 'w':
        reader_text16(r);
        break;
    default:
        take_number(r, letter, pointer_size, fields);
        break;
    }
}

/* False: the payload does not have that layout. *ret_left: bytes after it. */
static bool take_fields(const struct event_record *record, const struct layout *layout,
    uint8_t pointer_size, struct fields *ret_fields, size_t *ret_left)
{
    struct reader r = reader_make(record->payload);
    *ret_fields = (struct fields){.tid = 0};
    for (const char *letter = layout->fields; *letter; letter++) {
        take_field(&r, *letter, pointer_size, ret_fields);
    }
    *ret_left = reader_left(&r);
    return !r.failed;
}

/* A 32-bit logger on a 64-bit machine writes wide pointers after narrow headers. The width that
 * leaves no bytes over is the right one. */
static bool read_fields(
    const struct event_record *record, const struct layout *layout, struct fields *ret_fields)
{
    struct fields other;
    size_t left;
    size_t other_left;
    uint8_t width = record->pointer_size == 4 ? 4 : 8;
    bool good = take_fields(record, layout, width, ret_fields, &left);
    if (good && left == 0) {
        return true;
    }
    if (take_fields(record, layout, 12 - width, &other, &other_left) &&
        (!good || other_left == 0)) {
        *ret_fields = other;
        return true;
    }
    return good;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Texts of one record as UTF-8, valid while it is processed. */
struct texts {
    uint8_t *data;
    size_t size;
    uint8_t *more; /* allocated if `room` is too small */
    uint8_t room[4096];
};

static struct span to_utf8(struct texts *texts, struct span utf16)
{
    uint8_t *start = texts->data + texts->size;
    size_t size = utf16.size ? utf16_to_utf8(utf16, start) : 0;
    texts->size += size;
    return span_make(start, size);
}

static struct span name_to_utf8(struct texts *texts, const struct codepage *ansi, struct span name)
{
    uint8_t *start = texts->data + texts->size;
    size_t size = name.size ? codepage_to_utf8(ansi ? ansi : &codepage_1252, name, start) : 0;
    texts->size += size;
    return span_make(start, size);
}

static bool texts_init(struct texts *texts, const struct fields *fields)
{
    size_t room = utf8_json_bound(fields->name.size) + utf16_json_bound(fields->command_line.size) +
                  utf16_json_bound(fields->path.size) + utf16_json_bound(fields->image.size) +
                  utf16_json_bound(fields->device.size) + utf16_json_bound(fields->drive.size);
    texts->more = room > sizeof(texts->room) ? malloc(room) : NULL;
    texts->data = texts->more ? texts->more : texts->room;
    texts->size = 0;
    return texts->more || room <= sizeof(texts->room);
}

/* ---- meaning --------------------------------------------------------------------------------- */

/* True if the UTF-16 text has this ending, ignoring case. ${end} is lower-case ASCII. */
static bool ends_with(struct span utf16, const char *end)
{
    size_t size = strlen(end);
    if (utf16.size < 2 * size) {
        return false;
    }
    const uint8_t *p = utf16.data + utf16.size - 2 * size;
    for (size_t i = 0; i < size; i++) {
        if ((p[2 * i] | 0x20) != (end[i] | 0x20) || p[2 * i + 1] != 0) {
            return false;
        }
    }
    return true;
}

/* False for libraries, which are nearly all images of a process. */
static bool may_be_program(struct span image)
{
    return image.size && !ends_with(image, ".dll") && !ends_with(image, ".sys") &&
           !ends_with(image, ".mui");
}

enum { START = 1, END = 2, LIST_BEGIN = 3, LIST_END = 4, DEFUNCT = 39 };

static enum life_news what_of(const struct event_record *record, enum record_process kind)
{
    enum { THREAD_START = 3, THREAD_STOP = 4 };
    bool is_classic = kind != RECORD_OF_PROCESS_PROVIDER;
    unsigned id = is_classic ? record->descriptor.opcode : record->descriptor.id;
    switch (id) {
    case START:
        return LIFE_STARTED;
    case END:
        return LIFE_ENDED;
    case DEFUNCT:
        return LIFE_GONE;
    case THREAD_START:
        return is_classic ? LIFE_ALIVE : LIFE_STARTED;
    case THREAD_STOP:
        return is_classic ? LIFE_ALIVE : LIFE_ENDED;
    default:
        return LIFE_ALIVE;
    }
}

static void learn_thread(struct process_table *table, const struct event_record *record,
    enum record_process kind, const struct fields *fields)
{
    const struct thread_news news = {.what = what_of(record, kind),
        .source = kind == RECORD_OF_THREAD ? PROCESS_FROM_KERNEL : PROCESS_FROM_PROVIDER,
        .machine = process_table_machine_of(table, record),
        .tid = fields->tid,
        .pid = fields->news.pid,
        .time = record->time};
    process_table_add_thread(table, &news);
}

static void learn_volume(struct process_table *table, const struct event_record *record,
    const struct fields *fields, struct texts *texts)
{
    enum { SYSTEM_PATHS = 33 };
    struct span device = record->descriptor.opcode == SYSTEM_PATHS ? span_text("\\SystemRoot")
                                                                   : to_utf8(texts, fields->device);
    process_table_add_volume(
        table, process_table_machine_of(table, record), device, to_utf8(texts, fields->drive));
}

static void learn_process(struct process_table *table, const struct codepage *ansi,
    const struct event_record *record, enum record_process kind, struct fields *fields,
    struct texts *texts)
{
    struct process_news *news = &fields->news;
    news->what = fields->image.size ? LIFE_ALIVE : what_of(record, kind);
    news->source = kind == RECORD_OF_PROCESS_PROVIDER ? PROCESS_FROM_PROVIDER
                   : news->what == LIFE_GONE          ? PROCESS_FROM_DEFUNCT
                                                      : PROCESS_FROM_KERNEL;
    news->machine = process_table_machine_of(table, record);
    uint64_t started = process_moment(news->created, record->time);
    news->time = news->what == LIFE_GONE && fields->end ? fields->end
                 : news->what == LIFE_ENDED             ? process_moment(fields->end, record->time)
                 : news->what == LIFE_STARTED && started < record->time ? started
                                                                        : record->time;
    if (kind == RECORD_OF_PROCESS) {
        uint8_t type = record->descriptor.opcode;
        news->listed[0] = type == LIST_BEGIN ? record->time : 0;
        news->listed[1] = type == LIST_END ? record->time : 0;
    }
    news->name = name_to_utf8(texts, ansi, fields->name);
    news->command_line = to_utf8(texts, fields->command_line);
    news->path = to_utf8(texts, fields->path);
    news->image = to_utf8(texts, fields->image);
    process_table_add(table, news);
}

void process_events_learn(
    struct process_table *table, const struct codepage *ansi, const struct event_record *record)
{
    enum record_process kind = record_process_kind(record);
    const struct layout *layout = kind == RECORD_OF_OTHERS ? NULL : find_layout(record, kind);
    struct fields fields;
    struct texts texts;
    if (!layout || !(record->present & RECORD_HAS_TIME) || !read_fields(record, layout, &fields)) {
        return;
    }
    if (strchr(layout->fields, 'T')) {
        learn_thread(table, record, kind, &fields);
        return;
    }
    bool is_image = strchr(layout->fields, 'm') != NULL;
    if ((is_image && !may_be_program(fields.image)) || !texts_init(&texts, &fields)) {
        return;
    }
    if (kind == RECORD_OF_VOLUME) {
        learn_volume(table, record, &fields, &texts);
    } else {
        learn_process(table, ansi, record, kind, &fields, &texts);
    }
    free(texts.more);
}

bool process_events_subject(const struct event_record *record, struct process_subject *ret_subject)
{
    enum record_process kind = record_process_kind(record);
    bool is_known = kind == RECORD_OF_PROCESS || kind == RECORD_OF_THREAD ||
                    kind == RECORD_OF_IMAGE;
    const struct layout *layout = is_known ? find_layout(record, kind) : NULL;
    struct fields fields;
    if (!layout || !read_fields(record, layout, &fields)) {
        return false;
    }
    *ret_subject = (struct process_subject){.has_process = fields.news.pid != UINT32_MAX,
        .process_id = fields.news.pid,
        .has_thread = kind == RECORD_OF_THREAD,
        .thread_id = fields.tid};
    return true;
}
