/*
 * Events of the kernel: which hook belongs to which bit of a session's group masks (PERF_* of
 * ntwmi.h: the top three bits name the word), and stacks after those that the session listed.
 * Hooks that no row names go to every system session that has any bit set.
 */
#include "event/model/kernel_groups.h"
#include "support/etl_encode.h"
#include "support/etl_put.h"
#include "support/etw_sim/sim_state.h"

struct row {
    uint8_t group;
    uint8_t first;
    uint8_t last;
    uint32_t masks[3];
};

/* The first row with a hook counts. */
static const struct row rows[] = {
    {0x00, 0, 255, {0xffffffff}},
    {0x18, 0, 255, {0xffffffff}},
    {0x0b, 0, 255, {0xffffffff}},
    {0x01, 10, 11, {0x100}},
    {0x01, 14, 14, {0x100}},
    {0x01, 12, 13, {0x400}},
    {0x01, 15, 15, {0x400}},
    {0x01, 34, 53, {0x800000, 0x20000010}},
    {0x01, 55, 60, {0x80000001}},
    {0x02, 10, 15, {0x1000, 0x20000001}},
    {0x02, 32, 32, {0x2000}},
    {0x02, 98, 99, {0x4000, 0x20008000}},
    {0x02, 128, 129, {0x4000, 0x20008000}},
    {0x03, 10, 10, {0x4}},
    {0x03, 32, 33, {0x8}},
    {0x03, 0, 255, {0x1}},
    {0x04, 0, 0, {0x200}},
    {0x04, 32, 36, {0x200}},
    {0x04, 37, 39, {0x8000}},
    {0x04, 76, 76, {0x2000000}},
    {0x04, 64, 90, {0x4000000, 0x2000000}},
    {0x05, 36, 36, {0x10, 0x20000004}},
    {0x05, 37, 37, {0x20000100}},
    {0x05, 41, 41, {0x20010000}},
    {0x05, 50, 50, {0x800, 0x20000200}},
    {0x05, 57, 57, {0x48000000}},
    {0x05, 0, 255, {0x2}},
    {0x06, 0, 255, {0x10000}},
    {0x07, 0, 255, {0x80000}},
    {0x08, 0, 255, {0x10000}},
    {0x09, 0, 255, {0x20000, 0x41000000, 0x42000000}},
    {0x0a, 0, 255, {0x40000}},
    {0x0e, 0, 255, {0x20000040}},
    {0x0f, 46, 46, {0x1000000, 0x20000002}},
    {0x0f, 47, 47, {0x20000400}},
    {0x0f, 51, 52, {0x80, 0x40000040}},
    {0x0f, 66, 66, {0x20, 0x20000080}},
    {0x0f, 67, 67, {0x40, 0x20004000}},
    {0x0f, 68, 70, {0x20, 0x20000080}},
    {0x0f, 72, 74, {0x1000000, 0x20000002}},
    {0x0f, 95, 95, {0x40, 0x20004000}},
    {0x10, 0, 255, {0x40000020}},
    {0x11, 0, 255, {0x80000040, 0x80000080, 0x40000400}},
    {0x12, 0, 255, {0x80008000, 0x40008000}},
    {0x14, 0, 255, {0x4}},
    {0x16, 0, 255, {0x80020000}},
    {0x1a, 0, 255, {0x100000}},
    {0x1b, 0, 255, {0x200000}},
};

static bool has_bits(const struct sim_session *s, uint32_t perf)
{
    uint32_t word = perf >> 29;
    return ((s->mask[word] | s->provider_mask[word]) & perf & 0x1fffffff) != 0;
}

static bool has_any(const struct sim_session *s)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < 8; i++) {
        bits |= s->mask[i] | s->provider_mask[i];
    }
    return bits != 0;
}

static bool wants_heap(const struct sim_session *s, uint16_t hook, uint32_t pid)
{
    for (uint32_t i = 0; hook >> 8 == 0x10 && i < s->pid_count; i++) {
        if (s->pids[i] == pid) {
            return true;
        }
    }
    return false;
}

static bool wants(const struct sim_session *s, uint16_t hook, uint32_t pid)
{
    if (s->heap) {
        return wants_heap(s, hook, pid);
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *r = &rows[i];
        if (r->group == hook >> 8 && r->first <= (hook & 0xff) && (hook & 0xff) <= r->last) {
            return r->masks[0] == UINT32_MAX || has_bits(s, r->masks[0]) ||
                   has_bits(s, r->masks[1]) || has_bits(s, r->masks[2]);
        }
    }
    return has_any(s);
}

bool sim_kernel_any_session(const struct etw_sim *sim)
{
    for (size_t i = 0; i < SIM_MAX_SESSIONS; i++) {
        if (sim->sessions[i] && sim->sessions[i]->system) {
            return true;
        }
    }
    return false;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct writer {
    const struct etw_sim_kernel_event *event;
    uint16_t hook; /* 0 with a class that is no group of the kernel */
    uint64_t ticks;
};

static void encode(void *self, const struct sim_target *target, int64_t raw, struct buf *out)
{
    (void)target;
    const struct writer *w = self;
    const struct etw_sim_kernel_event *e = w->event;
    if (w->hook == 0 && !guid_is_zero(&e->class_guid)) {
        const struct etl_classic header = {.pointer_size = 8,
            .opcode = e->opcode,
            .version = e->version,
            .thread_id = e->thread_id,
            .process_id = e->process_id,
            .time = raw,
            .class_guid = e->class_guid};
        etl_encode_classic(out, &header, e->payload);
        return;
    }
    const struct etl_kernel header = {.form = (enum etl_kernel_form)e->form,
        .pointer_size = 8,
        .version = e->version,
        .hook_id = w->hook,
        .thread_id = e->thread_id,
        .process_id = e->process_id,
        .time = raw};
    etl_encode_kernel(out, &header, e->payload);
}

/* StackWalk_Event: when, where, frames. The session's own record: not counted as offered. */
static void encode_stack(void *self, const struct sim_target *target, int64_t raw, struct buf *out)
{
    static const uint64_t made_up[] = {UINT64_C(0xfffff80012345678), UINT64_C(0x7ff812345678)};
    const struct writer *w = self;
    const struct etw_sim_kernel_event *e = w->event;
    const uint64_t *frames = e->stack ? e->stack : made_up;
    size_t count = e->stack ? e->stack_count : 2;
    struct buf payload;
    buf_init(&payload, 4096);
    etl_put_u64(&payload, (uint64_t)sim_clock_raw(target->session, w->ticks));
    etl_put_u32(&payload, e->process_id);
    etl_put_u32(&payload, e->thread_id);
    for (size_t i = 0; i < count && i < 192; i++) {
        etl_put_u64(&payload, frames[i]);
    }
    const struct etl_kernel header = {
        .form = ETL_PERFINFO, .pointer_size = 8, .version = 2, .hook_id = 0x1820, .time = raw};
    etl_encode_kernel(out, &header, buf_span(&payload));
    buf_fini(&payload);
}

static bool wants_stack(const struct sim_session *s, const struct writer *w)
{
    const struct guid *class_guid = w->hook ? kernel_group_class(w->hook) : &w->event->class_guid;
    uint8_t type = w->hook ? (uint8_t)w->hook : w->event->opcode;
    for (uint32_t i = 0; class_guid && i < s->stack_count; i++) {
        if (s->stacks[i].type == type && guid_equal(&s->stacks[i].guid, class_guid)) {
            return true;
        }
    }
    return false;
}

static uint16_t hook_of(const struct etw_sim_kernel_event *e)
{
    if (e->hook_id) {
        return e->hook_id;
    }
    for (unsigned group = 0; group < KERNEL_GROUP_COUNT; group++) {
        if (guid_equal(&kernel_group_find((uint8_t)group)->class_guid, &e->class_guid)) {
            uint16_t hook = (uint16_t)(group << 8 | e->opcode);
            return hook == 0x140a ? 0x030a : hook;
        }
    }
    return 0;
}

uint32_t sim_kernel_write(
    struct etw_sim *sim, const struct etw_sim_kernel_event *event, const struct sim_session *only)
{
    struct writer w = {.event = event, .hook = hook_of(event)};
    struct sim_target targets[SIM_MAX_SYSTEM + 2];
    struct sim_target stacks[SIM_MAX_SYSTEM + 2];
    size_t count = 0;
    size_t stack_count = 0;
    for (size_t i = 0; i < SIM_MAX_SESSIONS && count < SIM_MAX_SYSTEM + 2; i++) {
        struct sim_session *s = sim->sessions[i];
        bool is_meant = s && (s->system || (s->heap && w.hook >> 8 == 0x10));
        if (!is_meant || (only && s != only)) {
            continue;
        }
        s->counts.offered++;
        if (!wants(s, w.hook, event->process_id)) {
            s->counts.filtered++;
            continue;
        }
        targets[count++] = (struct sim_target){.session = s};
        if (wants_stack(s, &w)) {
            s->counts.offered++;
            stacks[stack_count++] = (struct sim_target){.session = s};
        }
    }
    w.ticks = sim_clock_stamp(sim);
    uint32_t code = sim_write_all(sim, targets, count, event->cpu, w.ticks, encode, &w);
    if (stack_count) {
        sim_write_all(sim, stacks, stack_count, event->cpu, sim_clock_stamp(sim), encode_stack, &w);
    }
    return code;
}

uint32_t etw_sim_kernel_write(struct etw_sim *sim, const struct etw_sim_kernel_event *event)
{
    plat_mutex_lock(&sim->lock);
    sim_session_reap(sim);
    uint32_t code = sim_kernel_write(sim, event, NULL);
    plat_mutex_unlock(&sim->lock);
    return code;
}

void sim_kernel_add_stack_hook(struct sim_session *s, uint16_t hook_id)
{
    const struct guid *class_guid = kernel_group_class(hook_id);
    if (class_guid && s->stack_count < SIM_MAX_STACK_IDS) {
        s->stacks[s->stack_count++] = (struct etw_classic_event_id){
            .guid = *class_guid, .type = (uint8_t)hook_id};
    }
}

/* ---- system providers ------------------------------------------------------------------------ */

struct system_provider {
    struct guid guid;
    uint32_t perf[16]; /* by the number of the keyword's bit; 0: nothing that is simulated */
};

/* evntrace.h, system-providers: GUIDs as Windows stores them. */
static const struct system_provider system_providers[] = {
    /* 151f55dc-467d-471f-83b5-5f889d46ff66 Process */
    {{{0xdc, 0x55, 0x1f, 0x15, 0x7d, 0x46, 0x1f, 0x47, 0x83, 0xb5, 0x5f, 0x88, 0x9d, 0x46, 0xff,
         0x66}},
        {0x1, 0, 0, 0x8, 0x80002000, 0x80000200, 0, 0x400000, 0x40000, 0x80000, 0x48000000, 0x2,
            0x4}},
    /* 3d5c43e3-0f1c-4202-b817-174c0070dc79 Io */
    {{{0xe3, 0x43, 0x5c, 0x3d, 0x1c, 0x0f, 0x02, 0x42, 0xb8, 0x17, 0x17, 0x4c, 0x00, 0x70, 0xdc,
         0x79}},
        {0x100, 0x400, 0x200, 0x200000, 0x2000000, 0x80000001, 0, 0x800000, 0x80020000, 0x10000,
            0x4000000, 0x40020000}},
    /* 82958ca9-b6cd-47f8-a3a8-03ae85a4bc24 Memory */
    {{{0xa9, 0x8c, 0x95, 0x82, 0xcd, 0xb6, 0xf8, 0x47, 0xa3, 0xa8, 0x03, 0xae, 0x85, 0xa4, 0xbc,
         0x24}},
        {0x20000001, 0x2000, 0x1000, 0x20000040, 0x20080000, 0, 0x20800000, 0x40000020, 0, 0,
            0x4000, 0, 0, 0, 0x8000}},
    /* 16156bd9-fab4-4cfa-a232-89d1099058e3 Registry */
    {{{0xd9, 0x6b, 0x15, 0x16, 0xb4, 0xfa, 0xfa, 0x4c, 0xa2, 0x32, 0x89, 0xd1, 0x09, 0x90, 0x58,
         0xe3}},
        {0x20000, 0x41000000, 0x42000000}},
    /* 599a2a76-4d91-4910-9ac7-7d33f2e97a6c Scheduler */
    {{{0x76, 0x2a, 0x9a, 0x59, 0x91, 0x4d, 0x10, 0x49, 0x9a, 0xc7, 0x7d, 0x33, 0xf2, 0xe9, 0x7a,
         0x6c}},
        {0, 0x800, 0x21000000, 0, 0, 0, 0, 0, 0, 0x10, 0x20000100}},
    /* d4bbee17-b545-4888-858b-744169015b25 Interrupt */
    {{{0x17, 0xee, 0xbb, 0xd4, 0x45, 0xb5, 0x88, 0x48, 0x85, 0x8b, 0x74, 0x41, 0x69, 0x01, 0x5b,
         0x25}},
        {0x40, 0x40040000, 0x20, 0x20040000, 0x81000000, 0x82000000, 0x40400000}},
    /* 434286f7-6f1b-45bb-b37e-95f623046c7c Syscall */
    {{{0xf7, 0x86, 0x42, 0x43, 0x1b, 0x6f, 0xbb, 0x45, 0xb3, 0x7e, 0x95, 0xf6, 0x23, 0x04, 0x6c,
         0x7c}},
        {0x80}},
    /* fcb9baaf-e529-4980-92e9-ced1a6aadfdf Alpc */
    {{{0xaf, 0xba, 0xb9, 0xfc, 0x29, 0xe5, 0x80, 0x49, 0x92, 0xe9, 0xce, 0xd1, 0xa6, 0xaa, 0xdf,
         0xdf}},
        {0x100000}},
    /* bfeb0324-1cee-496f-a409-2ac2b48a6322 Profile */
    {{{0x24, 0x03, 0xeb, 0xbf, 0xee, 0x1c, 0x6f, 0x49, 0xa4, 0x09, 0x2a, 0xc2, 0xb4, 0x8a, 0x63,
         0x22}},
        {0x1000000, 0x20000400}},
    /* febd7460-3d1d-47eb-af49-c9eeb1e146f2 Object */
    {{{0x60, 0x74, 0xbd, 0xfe, 0x1d, 0x3d, 0xeb, 0x47, 0xaf, 0x49, 0xc9, 0xee, 0xb1, 0xe1, 0x46,
         0xf2}},
        {0x80000080, 0x80000040}},
};

static struct sim_enable *find_enable(struct sim_session *s, const struct system_provider *p)
{
    const struct sim_guid *g = map_get(
        &s->sim->guids, span_make(p->guid.bytes, sizeof(p->guid.bytes)));
    return g ? sim_enable_find(g, s) : NULL;
}

void sim_kernel_update(struct sim_session *s, uint32_t flags)
{
    const uint32_t extension = UINT32_C(0x80000000);
    memset(s->mask, 0, sizeof(s->mask));
    s->mask[0] = flags & extension ? 0 : flags;
    for (size_t i = 0; i < sizeof(system_providers) / sizeof(system_providers[0]); i++) {
        struct sim_enable *e = find_enable(s, &system_providers[i]);
        if (e) {
            e->is_silent = true;
        }
    }
    sim_kernel_update_providers(s);
}

void sim_kernel_update_providers(struct sim_session *s)
{
    memset(s->provider_mask, 0, sizeof(s->provider_mask));
    if (s->sim->options.os_build < 20348 || !s->system) {
        return;
    }
    for (size_t i = 0; i < sizeof(system_providers) / sizeof(system_providers[0]); i++) {
        const struct system_provider *p = &system_providers[i];
        const struct sim_enable *e = find_enable(s, p);
        for (unsigned bit = 0; e && !e->is_silent && bit < 16; bit++) {
            if (p->perf[bit] && (e->any == 0 || e->any >> bit & 1)) {
                s->provider_mask[p->perf[bit] >> 29] |= p->perf[bit] & 0x1fffffff;
            }
        }
    }
}
