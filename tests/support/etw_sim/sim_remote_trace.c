/* Consumers of a machine's sessions: buffers come over the connection, and are delivered as those
 * of a session of this world are. */
#include <stdlib.h>

#include "support/etw_sim/sim_remote.h"
#include "support/etw_sim/sim_wire.h"

static void send_op(struct sim_link *link, enum sim_wire op)
{
    uint8_t byte = (uint8_t)op;
    sim_link_send(link, span_make(&byte, 1));
}

static uint32_t ask_for_trace(
    struct sim_link *link, const struct buf *question, struct sim_session *s)
{
    struct buf answer;
    uint32_t code = ETW_ERROR_NO_SYSTEM_RESOURCES;
    buf_init(&answer, SIM_LINK_MAX_BYTES);
    if (sim_link_send(link, buf_span(question)) && sim_link_receive(link, &answer)) {
        struct reader in = reader_make(buf_span(&answer));
        code = reader_u32(&in);
        if (!code && !sim_wire_session(&in, s)) {
            code = ETW_ERROR_NO_SYSTEM_RESOURCES;
        }
    }
    buf_fini(&answer);
    return code;
}

uint32_t sim_remote_open(struct etw_sim *sim, const etw_char *name,
    struct sim_session **ret_session, struct sim_link **ret_link)
{
    struct buf question;
    uint32_t pid = sim_world_pid(sim);
    uint32_t tid = sim_world_tid(sim);
    plat_mutex_unlock(&sim->lock);
    struct sim_session *s = calloc(1, sizeof(*s));
    struct sim_link *link = s ? sim_link_connect(sim->options.machine, NULL) : NULL;
    uint32_t code = ETW_ERROR_NO_SYSTEM_RESOURCES;
    if (link) {
        buf_init(&question, SIM_LINK_MAX_BYTES);
        etl_put_u8(&question, SIM_WIRE_TRACE);
        etl_put_u32(&question, pid);
        etl_put_u32(&question, tid);
        sim_wire_put_text(&question, name);
        code = ask_for_trace(link, &question, s);
        buf_fini(&question);
    }
    plat_mutex_lock(&sim->lock);
    if (code) {
        sim_link_close(link);
        free(s);
        return code;
    }
    s->sim = sim;
    *ret_session = s;
    *ret_link = link;
    return 0;
}

/* ---- delivery -------------------------------------------------------------------------------- */

/* A buffer in the form of the machine's session. NULL: it is invalid, or there is no memory. */
static struct sim_chunk *take_chunk(const struct sim_session *s, struct reader *in)
{
    uint16_t cpu = reader_u16(in);
    uint8_t lost = reader_u8(in);
    int64_t last_time = (int64_t)reader_u64(in);
    struct span bytes = sim_wire_block(in);
    if (in->failed || bytes.size < SIM_BUFFER_HEADER || bytes.size > s->buffer_bytes) {
        return NULL;
    }
    struct sim_chunk *chunk = malloc(sizeof(*chunk) + s->buffer_bytes);
    if (chunk) {
        memset(chunk, 0, sizeof(*chunk));
        chunk->cpu = cpu;
        chunk->lost = lost;
        chunk->last_time = last_time;
        chunk->used = (uint32_t)bytes.size;
        memcpy(chunk->data, bytes.data, bytes.size);
        memset(chunk->data + bytes.size, 0xff, s->buffer_bytes - bytes.size);
    }
    return chunk;
}

/* False: no more of them. */
static bool deliver(struct sim_trace *t, struct reader *in)
{
    struct sim_chunk *chunks[SIM_MAX_BATCH];
    size_t taken = 0;
    uint64_t late = 0;
    t->log.header.events_lost = reader_u32(in);
    t->log.header.buffers_written = reader_u32(in);
    uint32_t count = reader_u32(in);
    while (taken < count && taken < SIM_MAX_BATCH &&
           (chunks[taken] = take_chunk(t->session, in)) != NULL) {
        taken++;
    }
    bool go_on = taken && taken == count && sim_deliver_batch(t, chunks, taken, &late);
    for (size_t i = 0; i < taken; i++) {
        free(chunks[i]);
    }
    const uint8_t answer[] = {SIM_WIRE_TAKEN, go_on};
    sim_link_send(t->link, span_make(answer, sizeof(answer)));
    return go_on;
}

uint32_t sim_remote_run(struct etw_sim *sim, struct sim_trace *t)
{
    struct buf message;
    bool go_on = true;
    uint32_t code = ETW_ERROR_CANCELLED; /* the machine is gone */
    plat_mutex_unlock(&sim->lock);
    sim_deliver_header(t);
    buf_init(&message, SIM_LINK_MAX_BYTES);
    send_op(t->link, SIM_WIRE_PROCESS);
    while (sim_link_receive(t->link, &message)) {
        struct reader in = reader_make(buf_span(&message));
        uint8_t op = reader_u8(&in);
        if (op == SIM_WIRE_BATCH) {
            go_on = deliver(t, &in);
        } else if (op == SIM_WIRE_END) {
            code = reader_u32(&in);
            break;
        }
    }
    buf_fini(&message);
    plat_mutex_lock(&sim->lock);
    /* A consumer that closed the handle was not stopped by its buffer callback. */
    if (atomic_load(&t->closing)) {
        return 0;
    }
    return go_on ? code : ETW_ERROR_CANCELLED;
}

void sim_remote_close(struct sim_trace *t)
{
    send_op(t->link, SIM_WIRE_CLOSE);
}
