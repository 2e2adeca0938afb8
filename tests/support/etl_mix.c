/*
 * A table says what each kind is: header, identity, frequency. An event is made in three steps:
 * the payload (etl_mix_payload.c), the record as a reader sees it, and from that the bytes
 * (etl_encode.h).
 */
#include "support/etl_mix.h"

#include <stdlib.h>

#include "support/etl_encode.h"
#include "support/etl_mix_payload.h"
#include "support/etl_mix_schema.h"
#include "support/etl_put.h"

enum { MAX_EVENT = 0xffff, EVENT_SOURCE_PID = 4712, MANIFEST_CHUNKS = 2, MAX_ITEMS = 4 };

#define KERNEL_CLASS(a, b, c, d, e, f, g, h, ...) \
    {                                             \
        {                                         \
            d, c, b, a, f, e, h, g, __VA_ARGS__   \
        }                                         \
    }

static const struct guid process_class = KERNEL_CLASS(
    0x3d, 0x6f, 0xa8, 0xd0, 0xfe, 0x05, 0x11, 0xd0, 0x9d, 0xda, 0, 0xc0, 0x4f, 0xd7, 0xba, 0x7c);
static const struct guid thread_class = KERNEL_CLASS(
    0x3d, 0x6f, 0xa8, 0xd1, 0xfe, 0x05, 0x11, 0xd0, 0x9d, 0xda, 0, 0xc0, 0x4f, 0xd7, 0xba, 0x7c);
static const struct guid disk_class = KERNEL_CLASS(
    0x3d, 0x6f, 0xa8, 0xd4, 0xfe, 0x05, 0x11, 0xd0, 0x9d, 0xda, 0, 0xc0, 0x4f, 0xd7, 0xba, 0x7c);
static const struct guid image_class = KERNEL_CLASS(
    0x2c, 0xb1, 0x5d, 0x1d, 0x5f, 0xc1, 0x11, 0xd2, 0xab, 0xe1, 0, 0xa0, 0xc9, 0x11, 0xf5, 0x18);
static const struct guid tcp_class = KERNEL_CLASS(
    0x9a, 0x28, 0x0a, 0xc0, 0xc8, 0xe0, 0x11, 0xd1, 0x84, 0xe2, 0, 0xc0, 0x4f, 0xb9, 0x98, 0xa2);
static const struct guid file_class = KERNEL_CLASS(
    0x90, 0xcb, 0xdc, 0x39, 0x4a, 0x3e, 0x11, 0xd1, 0x84, 0xf4, 0, 0, 0xf8, 0x04, 0x64, 0xe3);
static const struct guid perfinfo_class = KERNEL_CLASS(
    0xce, 0x1d, 0xbf, 0xb4, 0x13, 0x7e, 0x4d, 0xa6, 0x87, 0xb0, 0x3f, 0x59, 0xaa, 0x10, 0x2c, 0xbc);
static const struct guid stack_class = KERNEL_CLASS(
    0xde, 0xf2, 0xfe, 0x46, 0x7b, 0xd6, 0x4b, 0x80, 0xbd, 0x94, 0xf5, 0x7f, 0xe2, 0x0d, 0x0c, 0xe3);
static const struct guid metadata_class = KERNEL_CLASS(
    0xbb, 0xcc, 0xf6, 0xc1, 0x6c, 0xd1, 0x48, 0xc4, 0x80, 0xff, 0x83, 0x94, 0x82, 0xe3, 0x76, 0x71);

enum family { MANIFEST, TRACELOGGING, EVENTSOURCE, KERNEL, WPP };

struct kind_info {
    const char *name;
    const char *sequence_field;
    enum family family;
    uint8_t weight;                          /* in the realistic profile, of 100 */
    uint8_t limit_weight;                    /* in that of the limit program */
    const struct etl_mix_provider *provider; /* manifest */
    const struct event_descriptor *descriptor;
    const struct guid *class_guid; /* kernel */
    uint8_t form;                  /* enum etl_kernel_form */
    uint8_t version;
    uint16_t hook_id;
};

static const struct event_descriptor request_descriptor = {
    .channel = 11, .level = 4, .keyword = 0x400000000000};
static const struct event_descriptor heartbeat_descriptor = {.channel = 11, .level = 5};
static const struct event_descriptor work_descriptor = {
    .id = 1, .version = 1, .level = 4, .opcode = 1, .task = 1, .keyword = 0xf00000000000};
static const struct event_descriptor note_descriptor = {
    .id = 2, .level = 3, .task = 65532, .keyword = 0xf00000000000};

// clang-format off
#define MANIFEST_TYPE(p, i) MANIFEST, .provider = &(p), .descriptor = &(p).types[i].descriptor
#define KERNEL_TYPE(guid, f, v, hook) \
    KERNEL, .class_guid = &(guid), .form = (f), .version = (v), .hook_id = (hook)

static const struct kind_info kinds[] = {
    [MIX_DNS_COMPLETED] = {"dns_completed", "Sequence",
        MANIFEST_TYPE(etl_mix_schema_dns, 0), .weight = 22, .limit_weight = 4},
    [MIX_DNS_CALLED] = {"dns_called", "Sequence",
        MANIFEST_TYPE(etl_mix_schema_dns, 1), .weight = 2},
    [MIX_PROCESS_START] = {"process_start", "Sequence",
        MANIFEST_TYPE(etl_mix_schema_process, 0), .weight = 25, .limit_weight = 2},
    [MIX_PROCESS_STOP] = {"process_stop", "Sequence",
        MANIFEST_TYPE(etl_mix_schema_process, 1), .weight = 3},
    [MIX_HTTP_REQUEST] = {"http_request", "Sequence",
        TRACELOGGING, .descriptor = &request_descriptor, .weight = 26, .limit_weight = 3},
    [MIX_HEARTBEAT] = {"heartbeat", "Sequence",
        TRACELOGGING, .descriptor = &heartbeat_descriptor, .weight = 1},
    [MIX_WORK_START] = {"work_start", "Sequence",
        EVENTSOURCE, .descriptor = &work_descriptor, .weight = 3},
    [MIX_NOTE] = {"note", "Sequence",
        EVENTSOURCE, .descriptor = &note_descriptor, .weight = 1},
    [MIX_KERNEL_PROCESS_START] = {"kernel_process_start", "SessionId",
        KERNEL_TYPE(process_class, ETL_SYSTEM, 4, 0x0301), .weight = 5, .limit_weight = 3},
    [MIX_KERNEL_PROCESS_END] = {"kernel_process_end", "SessionId",
        KERNEL_TYPE(process_class, ETL_SYSTEM, 4, 0x0302), .weight = 2},
    [MIX_KERNEL_THREAD_START] = {"kernel_thread_start", "SubProcessTag",
        KERNEL_TYPE(thread_class, ETL_SYSTEM, 4, 0x0501), .weight = 1},
    [MIX_KERNEL_IMAGE_LOAD] = {"kernel_image_load", "TimeDateStamp",
        KERNEL_TYPE(image_class, ETL_SYSTEM, 3, 0x030a), .weight = 3},
    [MIX_KERNEL_DISK_READ] = {"kernel_disk_read", "ByteOffset",
        KERNEL_TYPE(disk_class, ETL_PERFINFO, 3, 0x010a), .weight = 1, .limit_weight = 6},
    [MIX_KERNEL_TCP_SEND] = {"kernel_tcp_send", "seqnum",
        KERNEL_TYPE(tcp_class, ETL_PERFINFO, 2, 0x060a), .weight = 1},
    [MIX_KERNEL_FILE_CREATE] = {"kernel_file_create", "CreateOptions",
        KERNEL_TYPE(file_class, ETL_PERFINFO, 3, 0x0440), .weight = 2},
    [MIX_KERNEL_SAMPLE] = {"kernel_sample", "InstructionPointer",
        KERNEL_TYPE(perfinfo_class, ETL_PERFINFO, 2, 0x0f2e), .weight = 1},
    [MIX_WPP] = {"wpp", "arg10", WPP, .weight = 1},
    [MIX_KERNEL_STACK] = {"kernel_stack", NULL,
        KERNEL_TYPE(stack_class, ETL_PERFINFO, 2, 0x1820)},
    [MIX_METADATA] = {"metadata", NULL, MANIFEST, .weight = 0},
};
// clang-format on

struct etl_mix {
    struct etl_mix_options options;
    struct etl_mix_source source;
    uint64_t sequence;
    uint64_t delivered; /* events and stacks: etw.sequence */
    uint32_t mean_gap;  /* raw ticks between two events */
    uint16_t last_cpu;
    bool stack_pending;
    unsigned metadata_next;
    uint32_t wpp_sequence;
    uint8_t cumulative[MIX_KINDS];
    uint32_t total_weight;
    struct guid telemetry;
    struct guid event_source;
    struct buf payload, bytes, sid, traits, request_blob, heartbeat_blob;
    struct extended_item items[MAX_ITEMS];
    struct guid related;
    struct event_record record;
    struct etl_mix_event event;
};

static uint8_t weight_of(const struct kind_info *info, enum etl_mix_profile profile)
{
    static const enum family families[] = {[MIX_MANIFEST] = MANIFEST,
        [MIX_TRACELOGGING] = TRACELOGGING,
        [MIX_EVENTSOURCE] = EVENTSOURCE,
        [MIX_KERNEL] = KERNEL,
        [MIX_WPP_ONLY] = WPP};
    if (profile == MIX_REALISTIC) {
        return info->weight;
    }
    if (profile == MIX_LIMIT) {
        return info->limit_weight;
    }
    return profile == MIX_ALL || families[profile] == info->family;
}

struct etl_mix *etl_mix_create(const struct etl_mix_options *options, struct error *err)
{
    struct etl_mix *m = calloc(1, sizeof(*m));
    if (!m) {
        error_set(err, ERR_MEMORY, "no memory for an event mix");
        return NULL;
    }
    m->options = *options;
    m->options.processors = options->processors ? options->processors : 1;
    uint32_t pace = options->events_per_second ? options->events_per_second : 50000;
    uint64_t gap = options->clock.frequency / pace;
    m->mean_gap = gap > 0x40000000 ? 0x40000000 : (uint32_t)gap;
    m->sequence = options->last_sequence;
    m->source.random = options->seed;
    m->source.pointer_size = options->pointer_size == 4 ? 4 : 8;
    m->source.time_raw = options->clock.start_raw;
    m->source.time = options->clock.start_time;
    for (int i = 0; i < MIX_KINDS; i++) {
        m->total_weight += weight_of(&kinds[i], options->profile);
        m->cumulative[i] = (uint8_t)m->total_weight;
    }
    m->telemetry = guid_from_name(span_text(ETL_MIX_TELEMETRY_NAME));
    m->event_source = guid_from_name(span_text(ETL_MIX_EVENT_SOURCE_NAME));
    struct buf *bufs[] = {
        &m->payload, &m->bytes, &m->sid, &m->traits, &m->request_blob, &m->heartbeat_blob};
    for (size_t i = 0; i < sizeof(bufs) / sizeof(bufs[0]); i++) {
        buf_init(bufs[i], MAX_EVENT);
    }
    etl_mix_schema_telemetry_traits(&m->traits);
    etl_mix_schema_request_blob(&m->request_blob);
    etl_mix_schema_heartbeat_blob(&m->heartbeat_blob);
    if (m->traits.failed || m->request_blob.failed || m->heartbeat_blob.failed) {
        error_set(err, ERR_MEMORY, "no memory for an event mix");
        etl_mix_destroy(m);
        return NULL;
    }
    return m;
}

void etl_mix_destroy(struct etl_mix *m)
{
    if (!m) {
        return;
    }
    buf_fini(&m->payload);
    buf_fini(&m->bytes);
    buf_fini(&m->sid);
    buf_fini(&m->traits);
    buf_fini(&m->request_blob);
    buf_fini(&m->heartbeat_blob);
    free(m);
}

static uint32_t roll(struct etl_mix *m, uint32_t limit)
{
    return etl_mix_payload_random(&m->source, limit);
}

static void add_item(struct etl_mix *m, enum extended_type type, struct span data)
{
    m->items[m->record.extended_count++] = (struct extended_item){
        .type = (uint16_t)type, .data = data};
    m->record.extended = m->items;
    m->record.flags |= EVENT_FLAG_EXTENDED_INFO;
}

/* Programs that name keywords and opcodes in each call have one type with many descriptors. Layouts
 * of manifests belong to one opcode. */
static void vary_descriptor(struct etl_mix *m, const struct kind_info *info)
{
    uint32_t count = m->options.descriptors;
    uint64_t number = count ? m->sequence % count : 0;
    m->record.descriptor.keyword |= number << 8;
    if (info->family == TRACELOGGING) {
        m->record.descriptor.opcode = (uint8_t)(number % 10);
    }
}

static void random_guid(struct etl_mix *m, struct guid *ret_guid)
{
    for (int i = 0; i < 4; i++) {
        store_le32(ret_guid->bytes + 4 * i, roll(m, UINT32_MAX));
    }
}

/* Provider, activity and extended items of an EVENT_HEADER record. */
static void describe_event(struct etl_mix *m, enum etl_mix_kind kind)
{
    const struct kind_info *info = &kinds[kind];
    struct event_record *r = &m->record;
    r->descriptor = *info->descriptor;
    vary_descriptor(m, info);
    if (info->family == MANIFEST) {
        r->provider = info->provider->guid;
        if (roll(m, 2)) {
            buf_reset(&m->sid);
            etl_mix_payload_sid(&m->source, &m->sid);
            add_item(m, EXTENDED_SID, buf_span(&m->sid));
        }
    } else if (info->family == EVENTSOURCE) {
        r->provider = m->event_source;
        r->process_id = EVENT_SOURCE_PID;
        random_guid(m, &r->activity_id);
    } else {
        bool request = kind == MIX_HTTP_REQUEST;
        r->provider = m->telemetry;
        if (request && roll(m, 2)) {
            random_guid(m, &r->activity_id);
            random_guid(m, &m->related);
            add_item(m, EXTENDED_RELATED_ACTIVITY_ID, span_make(m->related.bytes, 16));
        }
        add_item(m, EXTENDED_PROV_TRAITS, buf_span(&m->traits));
        add_item(m, EXTENDED_SCHEMA_TL, buf_span(request ? &m->request_blob : &m->heartbeat_blob));
    }
}

static void describe_kernel(struct etl_mix *m, const struct kind_info *info)
{
    static const uint8_t types[][2] = {[ETL_SYSTEM] = {1, 2}, [ETL_PERFINFO] = {16, 17}};
    struct event_record *r = &m->record;
    r->kind = RECORD_KERNEL;
    r->header_type = types[info->form][m->source.pointer_size == 8];
    r->hook_id = info->hook_id;
    r->provider = *info->class_guid;
    r->descriptor.version = info->version;
    r->descriptor.opcode = (uint8_t)info->hook_id;
    if (info->form == ETL_PERFINFO) {
        r->present = RECORD_HAS_TIME;
        r->process_id = 0;
        r->thread_id = 0;
        r->kernel_ticks = 0;
        r->user_ticks = 0;
    }
}

static void describe_message(struct etl_mix *m)
{
    struct event_record *r = &m->record;
    r->kind = RECORD_MESSAGE;
    r->header_type = 15;
    r->present = RECORD_HAS_PROCESS | RECORD_HAS_THREAD | RECORD_HAS_TIME | RECORD_HAS_SEQUENCE;
    r->kernel_ticks = 0;
    r->user_ticks = 0;
    r->provider = etl_mix_schema_wpp_message;
    r->descriptor.id = 10;
    r->message_sequence = ++m->wpp_sequence;
    r->message_flags = ETL_MESSAGE_SEQUENCE | ETL_MESSAGE_GUID | ETL_MESSAGE_TIMESTAMP |
                       ETL_MESSAGE_SYSTEMINFO;
    r->message_flags |= m->source.pointer_size == 8 ? ETL_MESSAGE_POINTER64 : ETL_MESSAGE_POINTER32;
}

/* What all headers have, as of an EVENT_HEADER. */
static void begin_record(struct etl_mix *m)
{
    struct etl_mix_source *s = &m->source;
    m->record = (struct event_record){.kind = RECORD_EVENT,
        .header_type = s->pointer_size == 8 ? 19 : 18,
        .pointer_size = s->pointer_size,
        .present = RECORD_HAS_PROCESS | RECORD_HAS_THREAD | RECORD_HAS_CPU_TIMES | RECORD_HAS_TIME,
        .cpu = m->last_cpu,
        .process_id = s->process_id,
        .thread_id = s->thread_id,
        .time_raw = s->time_raw,
        .time = s->time,
        .trace = m->options.trace};
    m->record.kernel_ticks = roll(m, 20);
    m->record.user_ticks = roll(m, 40);
    buf_reset(&m->payload);
}

/* The bytes of the finished record. */
static const struct etl_mix_event *finish(
    struct etl_mix *m, enum etl_mix_kind kind, uint64_t sequence)
{
    m->record.payload = buf_span(&m->payload);
    m->record.sequence = kind == MIX_METADATA ? 0 : ++m->delivered;
    buf_reset(&m->bytes);
    etl_encode_record(&m->bytes, &m->record);
    if (m->payload.failed || m->bytes.failed || m->sid.failed) {
        return NULL;
    }
    m->event = (struct etl_mix_event){
        .kind = kind, .sequence = sequence, .record = &m->record, .bytes = buf_span(&m->bytes)};
    return &m->event;
}

/* The next moment, processor and thread. */
static void advance(struct etl_mix *m)
{
    struct etl_mix_source *s = &m->source;
    s->time_raw += 1 + roll(m, 2 * m->mean_gap);
    s->time = trace_clock_filetime(&m->options.clock, s->time_raw);
    m->last_cpu = (uint16_t)roll(m, m->options.processors);
    s->process_id = 4 * (1 + roll(m, 4000));
    s->thread_id = s->process_id + 4 * (1 + roll(m, 8));
}

static const struct etl_mix_event *make_stack(struct etl_mix *m)
{
    m->stack_pending = false;
    m->source.time_raw++;
    m->source.time = trace_clock_filetime(&m->options.clock, m->source.time_raw);
    begin_record(m);
    describe_kernel(m, &kinds[MIX_KERNEL_STACK]);
    etl_mix_payload_add(&m->source, MIX_KERNEL_STACK, &m->payload);
    return finish(m, MIX_KERNEL_STACK, 0);
}

const struct etl_mix_event *etl_mix_make(struct etl_mix *m, enum etl_mix_kind kind)
{
    const struct kind_info *info = &kinds[kind];
    advance(m);
    m->source.sequence = ++m->sequence;
    begin_record(m);
    if (info->family == KERNEL) {
        describe_kernel(m, info);
        m->stack_pending = kind == MIX_KERNEL_SAMPLE && roll(m, 2);
    } else if (info->family == WPP) {
        describe_message(m);
    } else {
        describe_event(m, kind);
    }
    etl_mix_payload_add(&m->source, kind, &m->payload);
    return finish(m, kind, m->sequence);
}

const struct etl_mix_event *etl_mix_next(struct etl_mix *m)
{
    if (m->stack_pending) {
        return make_stack(m);
    }
    uint32_t at = roll(m, m->total_weight);
    int kind = 0;
    while (m->cumulative[kind] <= at) {
        kind++;
    }
    return etl_mix_make(m, (enum etl_mix_kind)kind);
}

static void make_info(struct etl_mix *m, unsigned index)
{
    const struct etl_mix_provider *p = index < 2 ? &etl_mix_schema_dns : &etl_mix_schema_process;
    m->record.kind = RECORD_CLASSIC;
    m->record.header_type = m->source.pointer_size == 8 ? 20 : 10;
    m->record.present = RECORD_HAS_CPU_TIMES | RECORD_HAS_TIME;
    m->record.kernel_ticks = 0;
    m->record.user_ticks = 0;
    m->record.process_id = UINT32_MAX;
    m->record.thread_id = UINT32_MAX;
    m->record.provider = metadata_class;
    m->record.descriptor.opcode = index < 4 ? 32 : 33;
    if (index < 4) {
        etl_mix_schema_event_info(&m->payload, p, &p->types[index % 2]);
    } else {
        etl_mix_schema_map_info(&m->payload, p, p->maps[index % 2]);
    }
}

/* One chunk of the EventSource's manifest (ManifestEnvelope in EventSource.cs). */
static void make_chunk(struct etl_mix *m, unsigned chunk)
{
    struct buf text;
    buf_init(&text, MAX_EVENT);
    etl_mix_manifest_event_source(&text);
    size_t half = text.size / MANIFEST_CHUNKS;
    m->record.provider = m->event_source;
    m->record.process_id = EVENT_SOURCE_PID;
    m->record.thread_id = EVENT_SOURCE_PID + 4;
    m->record.descriptor = (struct event_descriptor){
        .id = 0xfffe, .version = 1, .opcode = 0xfe, .task = 0xfffe, .keyword = 0xffffffffffffff};
    etl_put_u8(&m->payload, 1);
    etl_put_u8(&m->payload, 4);
    etl_put_u8(&m->payload, 0);
    etl_put_u8(&m->payload, 0x5b);
    etl_put_u16(&m->payload, MANIFEST_CHUNKS);
    etl_put_u16(&m->payload, (uint16_t)chunk);
    struct span rest = span_from(buf_span(&text), chunk * half);
    buf_add_span(&m->payload, chunk + 1 < MANIFEST_CHUNKS ? span_first(rest, half) : rest);
    m->payload.failed = m->payload.failed || text.failed;
    buf_fini(&text);
}

const struct etl_mix_event *etl_mix_metadata(struct etl_mix *m)
{
    enum { INFOS = 6 };
    enum etl_mix_profile profile = m->options.profile;
    bool infos = profile == MIX_REALISTIC || profile == MIX_ALL || profile == MIX_MANIFEST ||
                 profile == MIX_LIMIT;
    bool chunks = profile == MIX_REALISTIC || profile == MIX_ALL || profile == MIX_EVENTSOURCE;
    unsigned next = m->metadata_next++;
    if (next < INFOS && !infos) {
        next = INFOS;
        m->metadata_next = INFOS + 1;
    }
    if (next >= (chunks ? INFOS + MANIFEST_CHUNKS : INFOS)) {
        return NULL;
    }
    m->last_cpu = 0;
    begin_record(m);
    if (next < INFOS) {
        make_info(m, next);
    } else {
        make_chunk(m, next - INFOS);
    }
    return finish(m, MIX_METADATA, 0);
}

const char *etl_mix_kind_name(enum etl_mix_kind kind)
{
    return kinds[kind].name;
}

const char *etl_mix_sequence_field(enum etl_mix_kind kind)
{
    return kinds[kind].sequence_field;
}
