#include "support/etl_put.h"
#include "support/etw_sim/sim_state.h"

/* {b675ec37-bdb6-4648-bc92-f3fdc74d3ca2} */
static const struct guid kernel_event_tracing = {{0x37, 0xec, 0x75, 0xb6, 0xb6, 0xbd, 0x48, 0x46,
    0xbc, 0x92, 0xf3, 0xfd, 0xc7, 0x4d, 0x3c, 0xa2}};

static void put_name(const struct sim_session *s, struct buf *out)
{
    size_t i = 0;
    for (; s->name16[i]; i++) {
        etl_put_u16(out, s->name16[i]);
    }
    etl_put_u16(out, 0);
}

static void write_event(struct etw_sim *sim, uint16_t id, uint64_t keyword, struct buf *payload)
{
    struct sim_guid *of = sim_provider_guid(sim, &kernel_event_tracing);
    uint32_t pid = sim_world_pid(sim);
    struct sim_registration by = {.of = of, .pid = 4, .kernel_mode = true};
    const struct etw_sim_event event = {.descriptor = {.id = id, .level = 5, .keyword = keyword},
        .process_id = pid,
        .thread_id = sim_world_tid(sim),
        .payload = buf_span(payload)};
    if (of && of->enable_count) {
        sim_write_event(sim, &by, &event);
    }
}

void sim_watch_session(struct sim_session *s, uint16_t id)
{
    struct buf payload;
    buf_init(&payload, 4096);
    buf_add(&payload, s->guid.bytes, sizeof(s->guid.bytes));
    etl_put_u32(&payload, s->mode);
    put_name(s, &payload);
    etl_put_u16(&payload, 0);
    write_event(s->sim, id, 0x10, &payload);
    buf_fini(&payload);
}

void sim_watch_provider(struct sim_session *s, uint16_t id, const struct guid *provider)
{
    struct buf payload;
    buf_init(&payload, 4096);
    buf_add(&payload, provider->bytes, sizeof(provider->bytes));
    put_name(s, &payload);
    write_event(s->sim, id, 0x20, &payload);
    buf_fini(&payload);
}
