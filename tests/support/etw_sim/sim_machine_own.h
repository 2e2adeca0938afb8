#ifndef ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_MACHINE_OWN_H
#define ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_MACHINE_OWN_H

#include "support/etw_sim/sim_consumer.h"
#include "support/etw_sim/sim_link.h"
#include "support/etw_sim/sim_machine.h"
#include "support/etw_sim/sim_wire.h"

/* One connection of a program, and its thread. */
struct sim_visitor {
    struct sim_visitor *next;
    struct sim_machine *machine;
    struct etw_sim *sim;
    struct sim_link *link;
    struct plat_thread *thread;
    struct buf message;
    struct reader in; /* of the message, after its operation and caller */
    struct buf answer;
    struct guid held; /* zero: nothing; guarded by the machine's lock, like `gone` */
    bool gone;        /* its thread is about to end */
};

/* sim_machine_trace.c: a consumer, until the program closes its connection. */
void sim_machine_trace(struct sim_visitor *v);

/* sim_machine_provider.c: a provider, until the program unregisters it or closes its connection;
 * and calls of providers, which answer a code. */
void sim_machine_provider(struct sim_visitor *v);
uint32_t sim_machine_write(struct sim_visitor *v);
uint32_t sim_machine_write_string(struct sim_visitor *v);
uint32_t sim_machine_is_enabled(struct sim_visitor *v);
uint32_t sim_machine_set_provider(struct sim_visitor *v);
uint32_t sim_machine_trace_event(struct sim_visitor *v);
uint32_t sim_machine_trace_message(struct sim_visitor *v);

/* From here on this thread waits ${timeout_ms} for each provider that it notifies; 0: a moment,
 * because Windows notifies at once, although it waits for no answer. This lasts until the end call,
 * which says whether one did not answer. Otherwise it waits for ever. */
void sim_machine_wait_begin(uint32_t timeout_ms);
bool sim_machine_wait_end(void);

/* Send ${code}, and v->answer after it. */
bool sim_machine_answer(struct sim_visitor *v, uint32_t code);

#endif
