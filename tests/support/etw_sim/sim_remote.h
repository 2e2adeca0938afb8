#ifndef ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_REMOTE_H
#define ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_REMOTE_H

#include "base/reader.h"
#include "support/etw_sim/sim_consumer.h"
#include "support/etw_sim/sim_state.h"

/*
 * A world whose sessions are only those of a machine (sim_machine.h), which it shares with other
 * programs. The functions of sessions ask the machine. TDH, files and the delivery of buffers are
 * this program's.
 */

/* Reads the options of the machine at ${port} into ${options}. */
bool sim_remote_meet(uint16_t port, struct etw_sim_options *options, struct error *err);

/* From now on the sessions of ${sim} are those of the machine whose port its options name. */
bool sim_remote_attach(struct etw_sim *sim, struct error *err);
void sim_remote_detach(struct etw_sim *sim); /* also if it was never attached */

/* The world whose sessions are a machine's, or NULL. */
struct etw_sim *sim_remote_world(void);

void sim_remote_now(struct etw_sim *sim, int64_t *ret_counter, uint64_t *ret_filetime);

/* Like etw_sim_NAME. Without the lock. */
uint32_t sim_remote_start(struct etw_sim *sim, uint64_t *ret_session, const etw_char *name,
    struct etw_properties *properties);
uint32_t sim_remote_control(struct etw_sim *sim, uint64_t session, const etw_char *name,
    struct etw_properties *properties, uint32_t control);
uint32_t sim_remote_query_all(
    struct etw_sim *sim, struct etw_properties **list, uint32_t capacity, uint32_t *ret_count);
uint32_t sim_remote_enable(struct etw_sim *sim, uint64_t session, const struct guid *provider,
    uint32_t control, uint8_t level, uint64_t any, uint64_t all, uint32_t timeout_ms,
    const struct etw_enable_parameters *parameters);
uint32_t sim_remote_enumerate(struct etw_sim *sim, uint32_t info_class, const void *in,
    uint32_t in_bytes, void *out, uint32_t out_bytes, uint32_t *ret_bytes);
uint32_t sim_remote_set(
    struct etw_sim *sim, uint64_t session, uint32_t info_class, const void *data, uint32_t bytes);
uint32_t sim_remote_query(struct etw_sim *sim, uint64_t session, uint32_t info_class, void *data,
    uint32_t bytes, uint32_t *ret_bytes);

/* A provider of this program. */
struct sim_far_provider {
    struct guid guid;
    etw_enable_fn *callback;
    etw_classic_fn *classic; /* NULL: it is none */
    void *context;
    struct guid *classes; /* owned once registered; or NULL */
};

/* EventRegister, RegisterTraceGuids and their like. Without the lock. */
uint32_t sim_remote_register(
    struct etw_sim *sim, const struct sim_far_provider *provider, uint64_t *ret_handle);
uint32_t sim_remote_unregister(struct etw_sim *sim, uint64_t handle);
void sim_remote_unregister_all(struct etw_sim *sim);
uint32_t sim_remote_write(struct etw_sim *sim, uint64_t handle,
    const struct event_descriptor *descriptor, uint32_t flags, const struct guid *activity,
    const struct guid *related, uint32_t count, const struct etw_data *data);
uint32_t sim_remote_write_string(
    struct etw_sim *sim, uint64_t handle, uint8_t level, uint64_t keyword, const etw_char *text);
bool sim_remote_is_enabled(struct etw_sim *sim, uint64_t handle, uint8_t level, uint64_t keyword);
uint32_t sim_remote_set_provider(
    struct etw_sim *sim, uint64_t handle, uint32_t info_class, const void *data, uint32_t bytes);
uint32_t sim_remote_trace_event(struct etw_sim *sim, uint64_t session,
    const struct etw_classic_header *header, struct span payload);
uint32_t sim_remote_trace_message(struct etw_sim *sim, uint64_t session, uint32_t flags,
    const struct guid *guid, uint16_t number, const struct buf *payload);

/* A call on which others build: its message, in whose place the answer comes. */
struct sim_remote_call {
    struct buf bytes;
    struct reader in; /* of the answer, after its code */
};

/* ${op}: enum sim_wire. */
void sim_remote_begin(const struct etw_sim *sim, struct sim_remote_call *call, uint8_t op);
uint32_t sim_remote_ask(struct etw_sim *sim, struct sim_remote_call *call);
void sim_remote_end(struct sim_remote_call *call);

/* Named objects of the machine that end with the program that made them: etw_hold.h. NULL with
 * ETW_ERROR_ALREADY_EXISTS if another program has that object. */
struct sim_link *sim_remote_hold(struct etw_sim *sim, const struct guid *name, uint32_t *ret_code);
bool sim_remote_is_held(struct etw_sim *sim, const struct guid *name);

/*
 * Connect to session ${name}: its data, and the connection. Returns 0 or the error. The lock is
 * held, and released meanwhile.
 */
uint32_t sim_remote_open(struct etw_sim *sim, const etw_char *name,
    struct sim_session **ret_session, struct sim_link **ret_link);

/* ProcessTrace for ${t}; the lock is held, and released meanwhile. */
uint32_t sim_remote_run(struct etw_sim *sim, struct sim_trace *t);

/* CloseTrace while that runs. */
void sim_remote_close(struct sim_trace *t);

#endif
