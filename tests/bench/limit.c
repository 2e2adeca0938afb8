#include "bench/limit.h"

#include "bench/limit_put.h"

static inline uint8_t *begin(struct limit *limit, const struct event_record *r, uint8_t *p)
{
    p = LITERAL(p, "{\"@timestamp\":\"");
    return timestamp(limit, p, r->time);
}

static inline uint8_t *etw(
    struct limit *limit, const struct event_record *r, uint8_t *p, bool has_process)
{
    if (has_process) {
        p = LITERAL(p, ",\"process\":{\"pid\":");
        p = number(p, r->process_id);
        p = LITERAL(p, ",\"thread\":{\"id\":");
        p = number(p, r->thread_id);
        p = LITERAL(p, "}}");
    }
    p = copy(p, (const uint8_t *)limit->etw, limit->etw_size);
    p = number(p, r->sequence);
    p = LITERAL(p, ",\"cpu\":");
    p = number(p, r->cpu);
    if (has_process && r->kernel_ticks) {
        p = LITERAL(p, ",\"kernel_ticks\":");
        p = number(p, r->kernel_ticks);
    }
    if (has_process && r->user_ticks) {
        p = LITERAL(p, ",\"user_ticks\":");
        p = number(p, r->user_ticks);
    }
    return copy(p, (const uint8_t *)limit->file, limit->file_size);
}

static inline uint8_t *sid_item(const struct event_record *r, uint8_t *p)
{
    if (r->extended_count) {
        const uint8_t *at = r->extended[0].data.data;
        p = LITERAL(p, ",\"extended\":{\"sid\":\"");
        p = sid(p, &at, at + r->extended[0].data.size);
        p = LITERAL(p, "\"}");
    }
    return p;
}

static inline uint8_t *finish(struct limit *limit, uint8_t *p)
{
    return copy(p, (const uint8_t *)limit->tail, limit->tail_size);
}

/* Fixed members of the payload that are read without further checks. */
enum { DNS_FIXED = 24, PROCESS_FIXED = 32, REQUEST_FIXED = 10, KERNEL_PROCESS_FIXED = 56 };
enum { DISK_SIZE = 52, SAMPLE_SIZE = 16 };

static uint8_t *dns(struct limit *limit, const struct event_record *r, uint8_t *p)
{
    const uint8_t *at = r->payload.data;
    const uint8_t *end = at + r->payload.size;
    p = begin(limit, r, p);
    p = LITERAL(p,
        "\",\"provider\":{\"name\":\"Etwship-Sample-Dns\",\"guid\":"
        "\"6e7c1a52-0d4b-4c8e-9a37-5b0f1d2c3e41\",\"kind\":\"manifest\"},\"event\":{\"code\":3008,"
        "\"version\":0,\"level\":4,\"level_name\":\"Information\",\"task\":0,\"opcode\":0,"
        "\"opcode_name\":\"Info\",\"channel\":16,\"channel_name\":\"Etwship-Sample-Dns/"
        "Operational\",\"keywords\":\"0x8000000000000000\",\"keywords_name\":[\"Etwship-Sample-"
        "Dns/Operational\"]}");
    p = etw(limit, r, p, true);
    p = LITERAL(p, ",\"data\":{\"Sequence\":");
    p = number(p, load_le64(at));
    at += 8;
    p = LITERAL(p, ",\"QueryName\":\"");
    const uint8_t *name = p;
    p = text16(p, &at, end);
    size_t name_size = (size_t)(p - name);
    if (end - at < 16) {
        return NULL;
    }
    p = LITERAL(p, "\",\"QueryType\":");
    const uint8_t *type = p;
    p = number(p, load_le32(at));
    size_t type_size = (size_t)(p - type);
    p = LITERAL(p, ",\"QueryOptions\":");
    const uint8_t *options = p;
    p = number(p, load_le64(at + 4));
    size_t options_size = (size_t)(p - options);
    p = LITERAL(p, ",\"QueryStatus\":");
    const uint8_t *status = p;
    p = number(p, load_le32(at + 12));
    size_t status_size = (size_t)(p - status);
    at += 16;
    p = LITERAL(p, ",\"QueryResults\":\"");
    const uint8_t *results = p;
    p = text16(p, &at, end);
    size_t results_size = (size_t)(p - results);
    p = LITERAL(p, "\"}");
    p = sid_item(r, p);
    p = LITERAL(p, ",\"message\":\"DNS query is completed for the name ");
    p = copy(p, name, name_size);
    p = LITERAL(p, ", type ");
    p = copy(p, type, type_size);
    p = LITERAL(p, ", query options ");
    p = copy(p, options, options_size);
    p = LITERAL(p, " with status ");
    p = copy(p, status, status_size);
    p = LITERAL(p, " Results ");
    p = copy(p, results, results_size);
    *p++ = '"';
    return finish(limit, p);
}

static inline uint8_t *process_flags(uint8_t *p, uint32_t flags)
{
    p = LITERAL(p, ",\"Flags\":");
    p = number(p, flags);
    p = LITERAL(p, ",\"Flags_name\":[");
    uint8_t *start = p;
    p = flags & 1 ? LITERAL(p, "\"PackagedProcess\",") : p;
    p = flags & 2 ? LITERAL(p, "\"ProtectedProcess\",") : p;
    p = flags & 4 ? LITERAL(p, "\"SubsystemProcess\",") : p;
    p -= p > start;
    *p++ = ']';
    return p;
}

/* ${ret_image} is the written form of the image name: the message repeats it. */
static uint8_t *process_data(
    struct limit *limit, const uint8_t *at, const uint8_t *end, uint8_t *p, struct span *ret_image)
{
    p = LITERAL(p, ",\"data\":{\"Sequence\":");
    p = number(p, load_le64(at));
    p = LITERAL(p, ",\"ProcessID\":");
    p = number(p, load_le32(at + 8));
    p = LITERAL(p, ",\"CreateTime\":\"");
    p = timestamp(limit, p, load_le64(at + 12));
    p = LITERAL(p, "\",\"ParentProcessID\":");
    p = number(p, load_le32(at + 20));
    p = LITERAL(p, ",\"SessionID\":");
    p = number(p, load_le32(at + 24));
    p = process_flags(p, load_le32(at + 28));
    at += PROCESS_FIXED;
    p = LITERAL(p, ",\"ImageName\":\"");
    uint8_t *image = p;
    p = text16(p, &at, end);
    *ret_image = span_make(image, (size_t)(p - image));
    p = LITERAL(p, "\",\"CommandLine\":\"");
    p = text16(p, &at, end);
    p = LITERAL(p, "\",\"UserSid\":\"");
    p = sid(p, &at, end);
    if (end - at < 8) {
        return NULL;
    }
    p = LITERAL(p, "\",\"ImageChecksum\":");
    p = hex(p, load_le32(at));
    p = LITERAL(p, ",\"TimeDateStamp\":");
    p = hex(p, load_le32(at + 4));
    *p++ = '}';
    return p;
}

static uint8_t *process_start(struct limit *limit, const struct event_record *r, uint8_t *p)
{
    const uint8_t *at = r->payload.data;
    p = begin(limit, r, p);
    p = LITERAL(p,
        "\",\"provider\":{\"name\":\"Etwship-Sample-Process\",\"guid\":"
        "\"b84f9d63-2f5a-4f07-8c11-7d9e6a4b5c20\",\"kind\":\"manifest\"},\"event\":{\"code\":1,"
        "\"version\":3,\"level\":4,\"level_name\":\"Information\",\"task\":1,\"task_name\":"
        "\"ProcessStart\",\"opcode\":1,\"opcode_name\":\"Start\",\"channel\":16,\"channel_name\":"
        "\"Etwship-Sample-Process/Analytic\",\"keywords\":\"0x8000000000000010\","
        "\"keywords_name\":[\"PROCESS\",\"Etwship-Sample-Process/Analytic\"]}");
    p = etw(limit, r, p, true);
    struct span image;
    p = process_data(limit, at, at + r->payload.size, p, &image);
    if (!p) {
        return NULL;
    }
    p = sid_item(r, p);
    p = LITERAL(p, ",\"message\":\"Process ");
    p = number(p, load_le32(at + 8));
    p = LITERAL(p, " started by parent ");
    p = number(p, load_le32(at + 20));
    p = LITERAL(p, " running in session ");
    p = number(p, load_le32(at + 24));
    p = LITERAL(p, " with name ");
    p = copy(p, image.data, image.size);
    *p++ = '"';
    return finish(limit, p);
}

/* ElapsedMs is a multiple of a quarter below 2^18. That is known in advance, like all other facts
 * here. */
static inline uint8_t *quarters(uint8_t *p, const uint8_t *at)
{
    static const char fractions[4][4] = {".0", ".25", ".5", ".75"};
    static const uint8_t sizes[4] = {2, 3, 2, 3};
    uint64_t bits = load_le64(at);
    double value;
    memcpy(&value, &bits, sizeof(value));
    uint32_t n = (uint32_t)(value * 4.0);
    p = number(p, n >> 2);
    memcpy(p, fractions[n & 3], 4);
    return p + sizes[n & 3];
}

static inline uint8_t *client(uint8_t *p, const uint8_t **from, const uint8_t *end)
{
    const uint8_t *at = *from;
    p = LITERAL(p, "\",\"Client\":{\"User\":\"");
    p = text16(p, &at, end);
    if (end - at < 10 + 4 + 8 + 1 + 2) {
        return NULL;
    }
    p = LITERAL(p, "\",\"Address\":\"");
    for (int i = 0; i < 4; i++) {
        p = number(p, at[i]);
        *p++ = '.';
    }
    p = LITERAL(p - 1, "\",\"Port\":");
    p = number(p, load_be16(at + 4));
    p = LITERAL(p, ",\"Build\":{\"Major\":");
    p = number(p, load_le16(at + 6));
    p = LITERAL(p, ",\"Minor\":");
    p = number(p, load_le16(at + 8));
    p = LITERAL(p, "}}");
    *from = at + 10;
    return p;
}

static uint8_t *request_data(const uint8_t *at, const uint8_t *end, uint8_t *p)
{
    p = LITERAL(p, ",\"data\":{\"Sequence\":");
    p = number(p, load_le64(at));
    p = LITERAL(p, ",\"Url\":\"");
    size_t url_size = load_le16(at + 8);
    at += REQUEST_FIXED;
    if (url_size > (size_t)(end - at)) {
        return NULL;
    }
    p += utf16_to_json(span_make(at, url_size), p);
    at += url_size;
    p = client(p, &at, end);
    if (!p) {
        return NULL;
    }
    p = LITERAL(p, ",\"Status\":");
    p = signed_number(p, (int32_t)load_le32(at));
    p = LITERAL(p, ",\"ElapsedMs\":");
    p = quarters(p, at + 4);
    p = at[12] ? LITERAL(p, ",\"Secure\":true,\"ChunkSizes\":[")
               : LITERAL(p, ",\"Secure\":false,\"ChunkSizes\":[");
    size_t chunks = load_le16(at + 13);
    at += 15;
    if (chunks * 4 > (size_t)(end - at)) {
        return NULL;
    }
    for (size_t i = 0; i < chunks; i++, at += 4) {
        p = number(p, load_le32(at));
        *p++ = ',';
    }
    p -= chunks > 0;
    p = LITERAL(p, "],\"UserAgent\":\"");
    p = text8(p, &at, end);
    return LITERAL(p, "\"}");
}

static uint8_t *http_request(struct limit *limit, const struct event_record *r, uint8_t *p)
{
    p = begin(limit, r, p);
    p = LITERAL(p, "\",\"provider\":{\"name\":\"Etwship.Sample.Telemetry\",\"guid\":"
                   "\"4fafd8c1-961e-56d4-8bf2-263fe7f62ff2\",\"kind\":\"tracelogging\"},"
                   "\"event\":{\"code\":0,\"version\":0,\"name\":\"HttpRequest\",\"level\":4,"
                   "\"level_name\":\"Information\",\"task\":0,\"opcode\":0,\"opcode_name\":"
                   "\"Info\",\"channel\":11,\"keywords\":\"0x400000000000\"}");
    p = etw(limit, r, p, true);
    if (!guid_is_zero(&r->activity_id)) {
        p = LITERAL(p, ",\"activity_id\":\"");
        p = guid(p, r->activity_id.bytes);
        *p++ = '"';
    }
    if (r->extended[0].type == EXTENDED_RELATED_ACTIVITY_ID) {
        p = LITERAL(p, ",\"related_activity_id\":\"");
        p = guid(p, r->extended[0].data.data);
        *p++ = '"';
    }
    p = request_data(r->payload.data, r->payload.data + r->payload.size, p);
    return p ? finish(limit, p) : NULL;
}

#define KERNEL_HEAD(class_guid, rest)                                                       \
    "\",\"provider\":{\"name\":\"MSNT_SystemTrace\",\"guid\":"                              \
    "\"9e814aad-3204-11d2-9a82-006008a86939\",\"kind\":\"mof\"},\"event\":{\"class_guid\":" \
    "\"" class_guid "\"," rest "}"

static uint8_t *kernel_process(struct limit *limit, const struct event_record *r, uint8_t *p)
{
    const uint8_t *at = r->payload.data;
    const uint8_t *end = at + r->payload.size;
    p = begin(limit, r, p);
    p = LITERAL(p, KERNEL_HEAD("3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c",
                       "\"name\":\"Process/Start\",\"task_name\":\"Process\",\"version\":4,"
                       "\"opcode\":1,\"opcode_name\":\"Start\""));
    p = etw(limit, r, p, true);
    p = LITERAL(p, ",\"data\":{\"UniqueProcessKey\":");
    p = hex(p, load_le64(at));
    p = LITERAL(p, ",\"ProcessId\":");
    p = number(p, load_le32(at + 8));
    p = LITERAL(p, ",\"ParentId\":");
    p = number(p, load_le32(at + 12));
    p = LITERAL(p, ",\"SessionId\":");
    p = number(p, load_le32(at + 16));
    p = LITERAL(p, ",\"ExitStatus\":");
    p = signed_number(p, (int32_t)load_le32(at + 20));
    p = LITERAL(p, ",\"DirectoryTableBase\":");
    p = hex(p, load_le64(at + 24));
    p = LITERAL(p, ",\"Flags\":");
    p = hex(p, load_le32(at + 32));
    at += 52; /* and the 16 bytes of TOKEN_USER before the SID */
    p = LITERAL(p, ",\"UserSID\":\"");
    p = sid(p, &at, end);
    p = LITERAL(p, "\",\"ImageFileName\":\"");
    p = text8(p, &at, end);
    p = LITERAL(p, "\",\"CommandLine\":\"");
    p = text16(p, &at, end);
    p = LITERAL(p, "\",\"PackageFullName\":\"");
    p = text16(p, &at, end);
    p = LITERAL(p, "\",\"ApplicationId\":\"");
    p = text16(p, &at, end);
    p = LITERAL(p, "\"}");
    return finish(limit, p);
}

static uint8_t *disk_read(struct limit *limit, const struct event_record *r, uint8_t *p)
{
    const uint8_t *at = r->payload.data;
    p = begin(limit, r, p);
    p = LITERAL(p, KERNEL_HEAD("3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c",
                       "\"name\":\"DiskIo/Read\",\"task_name\":\"DiskIo\",\"version\":3,"
                       "\"opcode\":10,\"opcode_name\":\"Read\""));
    p = etw(limit, r, p, false);
    p = LITERAL(p, ",\"data\":{\"DiskNumber\":");
    p = number(p, load_le32(at));
    p = LITERAL(p, ",\"IrpFlags\":");
    p = hex(p, load_le32(at + 4));
    p = LITERAL(p, ",\"TransferSize\":");
    p = number(p, load_le32(at + 8));
    p = LITERAL(p, ",\"Reserved\":");
    p = number(p, load_le32(at + 12));
    p = LITERAL(p, ",\"ByteOffset\":");
    p = number(p, load_le64(at + 16));
    p = LITERAL(p, ",\"FileObject\":");
    p = hex(p, load_le64(at + 24));
    p = LITERAL(p, ",\"Irp\":");
    p = hex(p, load_le64(at + 32));
    p = LITERAL(p, ",\"HighResResponseTime\":");
    p = number(p, load_le64(at + 40));
    p = LITERAL(p, ",\"IssuingThreadId\":");
    p = number(p, load_le32(at + 48));
    *p++ = '}';
    return finish(limit, p);
}

static uint8_t *sample(struct limit *limit, const struct event_record *r, uint8_t *p)
{
    const uint8_t *at = r->payload.data;
    p = begin(limit, r, p);
    p = LITERAL(p, KERNEL_HEAD("ce1dbfb4-137e-4da6-87b0-3f59aa102cbc",
                       "\"name\":\"PerfInfo/SampleProf\",\"task_name\":\"PerfInfo\",\"version\":2,"
                       "\"opcode\":46,\"opcode_name\":\"SampleProf\""));
    p = etw(limit, r, p, false);
    p = LITERAL(p, ",\"data\":{\"InstructionPointer\":");
    p = hex(p, load_le64(at));
    p = LITERAL(p, ",\"ThreadId\":");
    p = number(p, load_le32(at + 8));
    p = LITERAL(p, ",\"Count\":");
    p = number(p, load_le16(at + 12));
    p = LITERAL(p, ",\"Reserved\":");
    p = number(p, load_le16(at + 14));
    *p++ = '}';
    return finish(limit, p);
}

/* ---- which kind ------------------------------------------------------------------------------ */

/* The first four bytes of the providers' GUIDs tell them apart. */
static uint8_t *write_event(struct limit *limit, const struct event_record *r, uint8_t *p)
{
    size_t size = r->payload.size;
    switch (load_le32(r->provider.bytes)) {
    case 0x6e7c1a52:
        return r->descriptor.id == 3008 && size >= DNS_FIXED ? dns(limit, r, p) : NULL;
    case 0xb84f9d63:
        return r->descriptor.id == 1 && size >= PROCESS_FIXED ? process_start(limit, r, p) : NULL;
    case 0x4fafd8c1:
        return r->descriptor.level == 4 && r->extended_count && size >= REQUEST_FIXED
                   ? http_request(limit, r, p)
                   : NULL;
    default:
        return NULL;
    }
}

static uint8_t *write_kernel(struct limit *limit, const struct event_record *r, uint8_t *p)
{
    size_t size = r->payload.size;
    if (r->pointer_size != 8) {
        return NULL;
    }
    switch (r->hook_id) {
    case 0x0301:
        return size >= KERNEL_PROCESS_FIXED ? kernel_process(limit, r, p) : NULL;
    case 0x010a:
        return size == DISK_SIZE ? disk_read(limit, r, p) : NULL;
    case 0x0f2e:
        return size == SAMPLE_SIZE ? sample(limit, r, p) : NULL;
    default:
        return NULL;
    }
}

size_t limit_write(struct limit *limit, const struct event_record *record, uint8_t *out)
{
    uint8_t *end = NULL;
    if (record->kind == RECORD_EVENT) {
        end = write_event(limit, record, out);
    } else if (record->kind == RECORD_KERNEL) {
        end = write_kernel(limit, record, out);
    }
    return end ? (size_t)(end - out) : 0;
}

/* ---- constants of a run ---------------------------------------------------------------------- */

/* Append ${before}, ${text} escaped, ${after}. False if ${room} is too small. */
static bool add_text(
    char *to, size_t room, size_t *size, const char *before, struct span text, const char *after)
{
    size_t fixed = strlen(before) + strlen(after);
    if (*size + fixed + utf8_json_bound(text.size) > room) {
        return false;
    }
    memcpy(to + *size, before, strlen(before));
    *size += strlen(before);
    *size += utf8_to_json(text, (uint8_t *)to + *size);
    memcpy(to + *size, after, strlen(after));
    *size += strlen(after);
    return true;
}

bool limit_init(struct limit *limit, const struct trace_info *trace, struct span tail)
{
    static const struct span none;
    *limit = (struct limit){.second = UINT64_MAX};
    bool session = trace->session_name.size > 0;
    bool file = trace->file.size > 0;
    bool host = trace->host_name.size > 0;
    bool ok = add_text(limit->etw, sizeof(limit->etw), &limit->etw_size,
        session ? ",\"etw\":{\"session\":\"" : ",\"etw\":{", trace->session_name,
        session ? "\",\"sequence\":" : "\"sequence\":");
    ok = ok && add_text(limit->file, sizeof(limit->file), &limit->file_size,
                   file ? ",\"file\":\"" : "", trace->file, file ? "\"}" : "}");
    ok = ok && (!host || add_text(limit->tail, sizeof(limit->tail), &limit->tail_size,
                             ",\"host\":{\"name\":\"", trace->host_name, "\"}"));
    if (!ok || limit->tail_size + tail.size > sizeof(limit->tail) - UTF_SLACK - 2) {
        return false;
    }
    if (tail.size) {
        memcpy(limit->tail + limit->tail_size, tail.data, tail.size);
        limit->tail_size += tail.size;
    }
    return add_text(limit->tail, sizeof(limit->tail), &limit->tail_size, "}\n", none, "");
}
