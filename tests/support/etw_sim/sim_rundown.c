/*
 * The rundown of a system session: a Process event (MOF class Process_V4_TypeGroup1) for each
 * process that has been declared, so that consumers know those that were there before.
 */
#include "support/etl_encode.h"
#include "support/etl_put.h"
#include "support/etw_sim/sim_state.h"

enum { HOOK_DC_START = 0x0303, HOOK_DC_END = 0x0304, VERSION = 4, FLAG_PROCESS = 1 };

static void put_process(const struct etw_sim_process *p, struct buf *out)
{
    etl_put_u64(out, UINT64_C(0xffffae8000000000) | (uint64_t)p->pid << 12); /* UniqueProcessKey */
    etl_put_u32(out, p->pid);
    etl_put_u32(out, 4); /* ParentId */
    etl_put_u32(out, p->session_id);
    etl_put_u32(out, 0x103); /* ExitStatus: STILL_ACTIVE */
    etl_put_u64(out, UINT64_C(0x1aa000) + p->pid);
    etl_put_u32(out, 0); /* Flags */
    etl_put_u32(out, 0); /* no UserSID */
    etl_put_textz(out, p->image);
    etl_put_utf16z(out, p->image); /* CommandLine */
    etl_put_utf16z(out, p->package ? p->package : "");
    etl_put_utf16z(out, p->package_app ? p->package_app : "");
}

void sim_rundown_write(struct sim_session *s, bool at_end)
{
    struct etw_sim *sim = s->sim;
    if (!s->system || !((s->mask[0] | s->provider_mask[0]) & FLAG_PROCESS) || s->file_full) {
        return;
    }
    struct buf payload;
    buf_init(&payload, 65536);
    for (const struct sim_process *p = sim->processes; p; p = p->next) {
        buf_reset(&payload);
        put_process(&p->p, &payload);
        const struct etw_sim_kernel_event event = {.hook_id = at_end ? HOOK_DC_END : HOOK_DC_START,
            .version = VERSION,
            .process_id = UINT32_MAX,
            .thread_id = UINT32_MAX,
            .form = ETL_SYSTEM,
            .payload = buf_span(&payload)};
        sim_kernel_write(sim, &event, s);
    }
    buf_fini(&payload);
}

void sim_rundown_write_heaps(struct sim_session *s)
{
    enum { HOOK_ALLOC = 0x1021, SIZE = 64, MAIN_PATH = 3 };
    struct buf payload;
    buf_init(&payload, 64);
    for (uint32_t i = 0; i < s->pid_count * s->sim->options.heap_allocs; i++) {
        uint32_t pid = s->pids[i % s->pid_count];
        buf_reset(&payload);
        etl_put_u64(&payload, UINT64_C(0x1f0000)); /* HeapHandle */
        etl_put_u64(&payload, SIZE);
        etl_put_u64(&payload, UINT64_C(0x200000) + (uint64_t)i * SIZE); /* Address */
        etl_put_u32(&payload, MAIN_PATH);
        const struct etw_sim_kernel_event event = {.hook_id = HOOK_ALLOC,
            .process_id = pid,
            .thread_id = pid + 4,
            .form = ETL_SYSTEM,
            .payload = buf_span(&payload)};
        sim_kernel_write(s->sim, &event, s);
    }
    buf_fini(&payload);
}
