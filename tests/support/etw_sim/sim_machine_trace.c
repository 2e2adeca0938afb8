/*
 * A consumer in another program. The connection's thread listens to the program; another one is in
 * ProcessTrace for it, sends buffers, and waits for each batch until the program is through with
 * it, so that a slow program is a slow consumer. The end of the connection closes the trace;
 * buffers that could not be sent stay the session's.
 */
#include "support/etw_sim/sim_machine_own.h"

struct consumer {
    struct sim_visitor *v;
    uint64_t handle;
    struct plat_mutex lock; /* guards what follows, up to `thread` */
    struct plat_cond changed;
    bool gone;     /* the program */
    bool answered; /* the last batch */
    bool go_on;
    struct plat_thread *thread; /* in ProcessTrace, or back from it */
};

static bool send_batch(
    struct consumer *c, const struct sim_trace *t, struct sim_chunk *const *chunks, size_t count)
{
    struct buf message;
    buf_init(&message, SIM_LINK_MAX_BYTES);
    etl_put_u8(&message, SIM_WIRE_BATCH);
    etl_put_u32(&message, t->log.header.events_lost);
    etl_put_u32(&message, t->log.header.buffers_written);
    etl_put_u32(&message, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        etl_put_u16(&message, chunks[i]->cpu);
        etl_put_u8(&message, chunks[i]->lost);
        etl_put_u64(&message, (uint64_t)chunks[i]->last_time);
        sim_wire_put_block(&message, chunks[i]->data, chunks[i]->used);
    }
    bool sent = !message.failed && sim_link_send(c->v->link, buf_span(&message));
    buf_fini(&message);
    return sent;
}

static bool take(void *self, const struct sim_trace *t, struct sim_chunk *const *chunks,
    size_t count, bool *ret_taken)
{
    struct consumer *c = self;
    plat_mutex_lock(&c->lock);
    c->answered = false;
    bool gone = c->gone;
    plat_mutex_unlock(&c->lock);
    *ret_taken = !gone && send_batch(c, t, chunks, count);
    plat_mutex_lock(&c->lock);
    while (*ret_taken && !c->answered && !c->gone) {
        plat_cond_wait(&c->changed, &c->lock);
    }
    bool go_on = *ret_taken && c->answered && c->go_on;
    plat_mutex_unlock(&c->lock);
    return go_on;
}

static void process(void *self)
{
    struct consumer *c = self;
    struct buf message;
    uint32_t code = etw_sim_ProcessTrace(&c->handle, 1, NULL, NULL);
    buf_init(&message, SIM_LINK_MAX_BYTES);
    etl_put_u8(&message, SIM_WIRE_END);
    etl_put_u32(&message, code);
    sim_link_send(c->v->link, buf_span(&message));
    buf_fini(&message);
}

static void listen_to(struct consumer *c)
{
    struct sim_visitor *v = c->v;
    while (sim_link_receive(v->link, &v->message)) {
        struct reader in = reader_make(buf_span(&v->message));
        uint8_t op = reader_u8(&in);
        if (op == SIM_WIRE_PROCESS) {
            plat_thread_join(c->thread); /* back already: the program was told */
            c->thread = plat_thread_start("away", process, c, NULL);
        } else if (op == SIM_WIRE_CLOSE) {
            etw_sim_CloseTrace(c->handle);
        } else if (op == SIM_WIRE_TAKEN) {
            plat_mutex_lock(&c->lock);
            c->answered = true;
            c->go_on = reader_u8(&in) != 0;
            plat_cond_signal(&c->changed);
            plat_mutex_unlock(&c->lock);
        }
    }
}

static void tell(void *self, const struct sim_session *s)
{
    struct sim_visitor *v = self;
    sim_wire_put_session(&v->answer, s);
}

void sim_machine_trace(struct sim_visitor *v)
{
    etw_char room[ETW_MAX_NAME_CHARS + 1];
    uint32_t code = 0;
    struct consumer c = {.v = v};
    const struct sim_away away = {.take = take, .most_bytes = SIM_LINK_MAX_BYTES / 2, .self = &c};
    plat_mutex_init(&c.lock);
    plat_cond_init(&c.changed);
    c.handle = sim_consumer_open_away(v->sim, sim_wire_text(&v->in, room), &away, tell, v, &code);
    if (sim_machine_answer(v, code) && !code) {
        listen_to(&c);
    }
    plat_mutex_lock(&c.lock);
    c.gone = true;
    plat_cond_signal(&c.changed);
    plat_mutex_unlock(&c.lock);
    if (!code) {
        etw_sim_CloseTrace(c.handle); /* nothing, if the program has done it */
    }
    plat_thread_join(c.thread);
    plat_cond_fini(&c.changed);
    plat_mutex_fini(&c.lock);
}
