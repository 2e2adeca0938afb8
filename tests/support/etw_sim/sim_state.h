#ifndef ETWSHIP_TESTS_SUPPORT_SIM_STATE_H
#define ETWSHIP_TESTS_SUPPORT_SIM_STATE_H

#include "base/buf.h"
#include "base/map.h"
#include "platform/plat_thread.h"
#include "support/etw_sim/etw_sim.h"
#include "support/etw_sim/etw_sim_calls.h"

/*
 * What the simulator's files share. One mutex, `lock`, guards everything of a world; functions here
 * want it held unless they say otherwise. It is let go while callbacks run: those of providers
 * (sim_provider_tell) and of consumers (sim_deliver.c), which may call any function.
 *
 * Records stand in buffers as Windows writes them (etl_encode.h). So their sizes are real, a file
 * gets the very bytes, and a consumer reads them with the reader for files.
 */
enum {
    SIM_MAX_CPUS = 64,
    SIM_MAX_SESSIONS = 256,
    SIM_MAX_ENABLES = 8, /* sessions per provider */
    SIM_MAX_SYSTEM = 8,  /* system loggers */
    SIM_KEPT_SYSTEM = 2, /* of them, for two names */
    SIM_PROFILE_SOURCES = 4,
    SIM_MAX_STACK_IDS = 256,
    SIM_MAX_PIDS = 64,
    SIM_MAX_CAPTURES = 64,
    SIM_MAX_DISALLOWED = 64,
    SIM_MAX_FILTERS = 13,
    SIM_BUFFER_HEADER = 0x48, /* WMI_BUFFER_HEADER */
    SIM_RECORD_ROOM = 65536 + 4096,
    SIM_TEXT_BYTES = 3 * ETW_MAX_NAME_CHARS,
    SIM_ERROR_ARITHMETIC_OVERFLOW = 534,
    SIM_ERROR_LOG_FILE_FULL = 1502,
};

enum { /* WMI_BUFFER_HEADER.BufferFlag */
    SIM_FLAG_FLUSH_MARKER = 0x01,
    SIM_FLAG_EVENTS_LOST = 0x02,
    SIM_FLAG_BUFFER_LOST = 0x04,
    SIM_FLAG_PROC_INDEX = 0x20,
};

enum { /* RT_LostEvent to be told before a buffer; the opcode is 32 + the bit's number */
    SIM_LOST_EVENT = 1,
    SIM_LOST_BUFFER = 2,
    SIM_LOST_FILE = 4,
};

/* Whose memory a buffer takes. */
enum sim_place { SIM_IN_POOL, SIM_IN_CONSUMER, SIM_IN_PLAYBACK };

/* A session's buffer: being filled, waiting for the logger, or for consumers. */
struct sim_chunk {
    struct sim_chunk *next;
    uint64_t index; /* in the real-time queue, from 1 */
    uint64_t sequence;
    int64_t last_time;
    uint32_t used;   /* valid bytes, header included */
    uint32_t events; /* records of providers */
    uint32_t readers;
    uint16_t cpu;
    uint16_t flags;
    uint8_t lost; /* SIM_LOST_* */
    enum sim_place place;
    bool delivered;
    uint8_t data[];
};

struct sim_chunks {
    struct sim_chunk *head;
    struct sim_chunk *tail;
};

struct sim_file; /* sim_file.h */
struct sim_trace;

struct sim_session {
    struct sim_session *next; /* among those that have ended */
    struct etw_sim *sim;
    bool running;
    bool system;
    bool heap; /* of heaps: events of `pids` alone */
    uint16_t id;
    uint32_t users; /* consumers that hold it, running or not */
    struct guid guid;
    struct span name; /* UTF-8 */
    char name_text[SIM_TEXT_BYTES];
    etw_char name16[ETW_MAX_NAME_CHARS];
    char file_text[SIM_TEXT_BYTES];
    etw_char file16[ETW_MAX_NAME_CHARS]; /* [0] is 0: no file */

    uint32_t mode;
    uint32_t buffer_bytes;
    uint32_t minimum;
    uint32_t maximum;
    uint32_t number; /* buffers allocated */
    uint32_t max_file_size;
    uint32_t flush_timer; /* in force */
    int32_t age_limit;
    uint32_t enable_flags;
    uint64_t v2_options;
    uint32_t clock;
    int64_t start_raw;
    uint64_t start_time;
    uint32_t mask[8];          /* EnableFlags and TraceSetInformation */
    uint32_t provider_mask[8]; /* system providers */
    struct etw_classic_event_id stacks[SIM_MAX_STACK_IDS];
    uint32_t stack_count;
    uint32_t pids[SIM_MAX_PIDS];
    uint32_t pid_count;
    struct guid disallowed[SIM_MAX_DISALLOWED];
    uint32_t disallowed_count;
    struct guid captures[SIM_MAX_CAPTURES];
    uint16_t capture_count;
    uint32_t capture_s;
    uint64_t capture_due; /* ticks; 0: none */
    uint64_t flush_due;
    bool binary_tracking;
    uint32_t control_error;
    uint32_t open_error;
    uint32_t message_sequence;

    struct sim_chunk *fill[SIM_MAX_CPUS];
    uint32_t streams;
    uint8_t stream_lost[SIM_MAX_CPUS]; /* SIM_LOST_EVENT: tell it before the next buffer */
    struct sim_chunks full;            /* wait for the logger; buffering: the ring */
    struct sim_chunks queue;           /* wait for consumers */
    struct sim_chunks spare;
    uint32_t in_pool; /* buffers that are not free */
    uint32_t in_consumer;
    uint64_t playback_bytes;
    bool playback_full;
    bool file_full;     /* the session is to end: sim_session_reap */
    uint8_t queue_lost; /* SIM_LOST_*: tell it before the next buffer of the queue */
    uint64_t sequence;
    uint64_t queue_index;
    uint32_t lose_buffers;
    uint32_t lose_file;
    uint32_t fail_disk;
    struct sim_file *file;
    struct sim_trace *consumers;
    uint32_t consumer_count;

    uint32_t buffers_written;
    uint32_t log_buffers_lost;
    uint32_t real_time_buffers_lost;
    struct etw_sim_counts counts;
};

/* What one session wants of one provider (or group). */
struct sim_enable {
    struct sim_session *session;
    uint8_t level;
    uint64_t any;
    uint64_t all;
    uint32_t property;
    struct guid source_id;
    struct etw_filter filters[SIM_MAX_FILTERS]; /* data: owned */
    uint32_t filter_count;
    uint32_t enables;
    uint32_t captures;
    bool was_read;  /* a consumer had opened the session at the first ENABLE */
    bool is_silent; /* of a system provider: an UPDATE of the session has switched it off */
};

struct sim_registration;

/* A provider's or group's GUID, from its first mention on. */
struct sim_guid {
    struct guid guid;
    struct sim_guid *next;
    struct sim_enable *enables[SIM_MAX_ENABLES];
    uint32_t enable_count;
    struct sim_registration *registrations;
    uint32_t enable_error;
    bool is_group;
};

/* One process's registration of a provider. */
struct sim_registration {
    struct sim_registration *next; /* of the same GUID */
    struct sim_guid *of;
    uint64_t handle;
    enum etw_sim_kind kind;
    bool kernel_mode;
    bool pre_enabled;
    uint32_t pid;
    struct sim_guid *group;
    etw_enable_fn *callback;
    etw_classic_fn *classic;
    void *context;
    uint32_t busy; /* callbacks that run */
    bool gone;
    bool detached;
    struct etw_sim_provider *simulated;
    struct guid *classes; /* classic: event classes, for instance ids */
    uint32_t class_count;
    uint32_t next_instance;
    uint8_t traits[256]; /* set; they come with every event */
    uint16_t traits_size;
    bool uses_types; /* of its data descriptors */
};

struct etw_sim_provider {
    struct etw_sim *sim;
    struct etw_sim_provider *next;
    struct etw_sim_provider_options options;
    struct sim_registration *registration;
    struct etw_sim_provider_state state;
};

struct sim_process {
    struct sim_process *next;
    struct etw_sim_process p;
    char image[256];
    char package[256];
    char app[256];
};

struct sim_source; /* sim_replay.c */
struct sim_remote; /* sim_remote.c */
struct sim_far;    /* sim_remote_provider.c */

struct sim_fault {
    uint32_t skip; /* calls until it acts */
    uint32_t left; /* calls for which it acts; UINT32_MAX: all */
    uint32_t code; /* 0: none */
};

enum sim_call {
#define ETW_CALL(result, name, parameters) SIM_CALL_##name,
#include "etw/etw_calls.def"
#include "support/etw_sim/etw_sim_calls.def"
#undef ETW_CALL
    SIM_CALL_COUNT
};

enum { SIM_CONTROL_CODES = 6 };

struct etw_sim {
    struct plat_mutex lock;
    struct plat_cond timer;   /* the thread of a real clock: the end */
    struct plat_cond changed; /* queues, sessions, traces, callbacks: waiting threads look again */
    struct etw_sim_options options;
    char own_image[256];
    struct etw_api api;

    uint64_t ticks; /* manual clock */
    uint64_t real_start_ns;
    uint64_t start_ticks;
    uint64_t boot_time; /* FILETIME */
    uint64_t logger_due;
    bool logger_held;
    struct plat_thread *thread; /* real clock */
    bool stopping;

    struct sim_session *sessions[SIM_MAX_SESSIONS];
    struct sim_session *ended;
    uint16_t last_id;
    uint32_t global_sequence;
    uint32_t profile_intervals[SIM_PROFILE_SOURCES]; /* 100 ns; of counters: events */
    uint32_t profile_config[SIM_PROFILE_SOURCES];    /* sources that are on */
    uint32_t profile_config_count;
    uint64_t waited_ms; /* for processes that never answer */
    uint64_t next_start_key;

    struct map guids; /* GUID to struct sim_guid */
    struct sim_guid *guid_list;
    struct etw_sim_provider *providers;
    struct sim_process *processes;
    struct sim_registration **registrations; /* handle - base to it */
    uint32_t registration_room;
    uint32_t registration_count;
    struct sim_trace *traces;
    uint64_t last_trace;
    uint64_t last_registration;
    struct sim_access *access; /* sim_access.c */
    struct sim_source *sources;
    struct sim_trace_callback *trace_callbacks; /* sim_consumer.c */
    struct sim_remote *remote;                  /* NULL: this world has sessions of its own */
    struct sim_far *far;                        /* providers of this program on a machine */

    struct sim_fault faults[SIM_CALL_COUNT];
    uint32_t calls[SIM_CALL_COUNT];
    struct sim_fault control_faults[SIM_CONTROL_CODES];

    struct buf record;  /* the record that is being written */
    struct buf payload; /* and its payload, gathered */
    uint64_t late_events;
    uint64_t next_event_key;
    uint32_t last_instance;
};

/* ---- sim_world.c ----------------------------------------------------------------------------- */

/*
 * Begin ${call}: the world, its lock held, or NULL with ${ret_code} (may be NULL) where it is to
 * fail. Also NULL without a world (ETW_ERROR_CALL_NOT_IMPLEMENTED).
 */
struct etw_sim *sim_world_enter(enum sim_call call, uint32_t *ret_code);

static inline uint32_t sim_world_leave(struct etw_sim *sim, uint32_t code)
{
    plat_mutex_unlock(&sim->lock);
    return code;
}

/* Is the control code ${code} to fail? Its error, or 0. */
uint32_t sim_world_control_fault(struct etw_sim *sim, uint32_t code);

void sim_world_set_last_error(uint32_t code); /* of this thread */

/* Report that ${session} was to be started or stopped. */
void sim_world_note(
    const struct etw_sim *sim, const char *what, const etw_char *session, uint32_t code);

/* The calling process. */
uint32_t sim_world_pid(const struct etw_sim *sim);
uint32_t sim_world_tid(const struct etw_sim *sim);

/* Never NULL. */
const struct sim_process *sim_world_process(const struct etw_sim *sim, uint32_t pid);

/* Has a process of ${pid} been declared, or is it the own one? */
bool sim_world_process_runs(const struct etw_sim *sim, uint32_t pid);

/* ---- sim_text.c ------------------------------------------------------------------------------ */

size_t sim_text_length(const etw_char *text, size_t max);  /* characters before the NUL */
bool sim_text_equal(const etw_char *a, const etw_char *b); /* ASCII case does not matter */
void sim_text_to_utf8(const etw_char *text, char *out, size_t size);
/* Cut to ${max} units with the NUL. */
void sim_text_from_utf8(const char *text, etw_char *out, size_t max);

/* ---- sim_clock.c ----------------------------------------------------------------------------- */

uint64_t sim_clock_ticks(const struct etw_sim *sim);
uint64_t sim_clock_ticks_of_ms(const struct etw_sim *sim, uint64_t ms);
uint64_t sim_clock_filetime(const struct etw_sim *sim, uint64_t ticks);

/* ${ticks} in the clock of ${s}. */
int64_t sim_clock_raw(const struct sim_session *s, uint64_t ticks);

/* A stamp for an event: now; a manual clock goes on. */
uint64_t sim_clock_stamp(struct etw_sim *sim);

bool sim_clock_start(struct etw_sim *sim, struct error *err);
void sim_clock_stop(struct etw_sim *sim); /* lock not held */

/* Move a manual clock to ${ticks}, running what falls due. */
void sim_clock_move(struct etw_sim *sim, uint64_t ticks);

/* ---- sim_session.c, sim_start.c, sim_properties.c -------------------------------------------- */

extern const struct guid sim_session_system_guid; /* SystemTraceControlGuid */
extern const etw_char sim_session_kernel_name[];  /* "NT Kernel Logger" */

enum { SIM_KERNEL_ID = 0xffff };

struct sim_session *sim_session_by_name(struct etw_sim *sim, const etw_char *name);
struct sim_session *sim_session_by_handle(struct etw_sim *sim, uint64_t handle);

/* ${name}, or without one ${handle}. */
struct sim_session *sim_session_find(struct etw_sim *sim, uint64_t handle, const etw_char *name);

uint64_t sim_session_handle(const struct sim_session *s);
uint32_t sim_session_flush_ms(const struct sim_session *s); /* 0: no timer */
void sim_session_arm(struct sim_session *s);                /* set flush_due from now */

/* Events that wait, in all its buffers; ${ret_file}: of those, what a file has not got yet. */
uint64_t sim_session_pending(const struct sim_session *s, uint64_t *ret_file);

/* Make one of ${s} (filled in by the caller, id and running not set) and register it. Takes it. */
uint32_t sim_session_begin(struct etw_sim *sim, struct sim_session *s);

/* End it: providers are told (the lock is let go meanwhile), buffers flushed, file closed. It lives
 * on as long as consumers hold it. */
void sim_session_end(struct sim_session *s);

/* End the sessions whose files are full. Not while a caller holds pointers to sessions. */
void sim_session_reap(struct etw_sim *sim);

/* A consumer lets go of it. */
void sim_session_release(struct sim_session *s);

void sim_session_free(struct sim_session *s);

/* sim_start.c */
uint32_t sim_start_modes(
    const struct etw_sim *sim, const struct etw_properties *p, bool system, const etw_char *file);

/* sim_properties.c: check the block's sizes and offsets. With ${ret_file} also what only input has:
 * flags, version, and the file name, which is found (NULL: none). */
uint32_t sim_properties_check(const struct etw_properties *p, const etw_char **ret_file);

/* Write the state of ${s} into the caller's block; ETW_ERROR_MORE_DATA if names do not fit. */
uint32_t sim_properties_fill(const struct sim_session *s, struct etw_properties *p);

/* ---- sim_buffer.c ---------------------------------------------------------------------------- */

/* Make room for a record of ${bytes} in a buffer of ${cpu}: 0 or why not. */
uint32_t sim_buffer_prepare(struct sim_session *s, uint16_t cpu, size_t bytes);

/* Put it there. After sim_buffer_prepare. ${counted}: an event of a provider. */
void sim_buffer_put(
    struct sim_session *s, uint16_t cpu, int64_t time, struct span record, bool counted);

/* Count an event that found no room, because of ${code}. */
void sim_buffer_lose(struct sim_session *s, uint16_t cpu, uint32_t code);

/* Hand all buffers that hold something to the logger; ${drain}: even if it is held. */
void sim_buffer_flush(struct sim_session *s, bool drain);

/* The logger's work: full buffers go to file and consumers. */
void sim_buffer_log(struct sim_session *s, bool drain);

/* The session has ended: free what no consumer will read. */
void sim_buffer_discard(struct sim_session *s);

/* ${trace} has read ${chunk} (${delivered}), or does not want it any more. */
void sim_buffer_read(struct sim_session *s, struct sim_chunk *chunk, bool delivered);

void sim_buffer_free(struct sim_session *s);

/* Complete the WMI_BUFFER_HEADER of ${chunk}. */
void sim_buffer_header(const struct sim_session *s, struct sim_chunk *chunk);

/* ---- sim_provider.c, sim_enable.c ------------------------------------------------------------ */

/* The entry of ${guid}, made if need be; NULL without memory. */
struct sim_guid *sim_provider_guid(struct etw_sim *sim, const struct guid *guid);

struct sim_registration *sim_provider_by_handle(struct etw_sim *sim, uint64_t handle);

/* Register: ${wanted} is copied. Tells it of sessions that want it already. */
uint32_t sim_provider_register(struct etw_sim *sim, const struct guid *guid,
    const struct sim_registration *wanted, uint64_t *ret_handle);
void sim_provider_unregister(struct etw_sim *sim, struct sim_registration *r);

enum sim_tell { SIM_TELL_CHANGE, SIM_TELL_CAPTURE };

/*
 * Call the callbacks of ${g}'s registrations (of a group: its members'). The lock is let go
 * meanwhile. ${cause} is the enablement that changed, or NULL.
 */
void sim_provider_tell(
    struct etw_sim *sim, struct sim_guid *g, enum sim_tell what, const struct sim_enable *cause);

/* Do all processes answer that ${g}, or a member of that group, is registered by? */
bool sim_provider_answers(const struct etw_sim *sim, const struct sim_guid *g);

/* The enablements that an event of ${r} goes through: its GUID's and its group's. */
size_t sim_provider_enables(
    const struct sim_registration *r, struct sim_enable *ret[2 * SIM_MAX_ENABLES]);

struct sim_enable *sim_enable_find(const struct sim_guid *g, const struct sim_session *s);
void sim_enable_drop(struct sim_guid *g, const struct sim_session *s); /* it is not reported */
uint32_t sim_enable_capture(struct etw_sim *sim, struct sim_session *s, const struct guid *guid);

/*
 * sim_watch.c: what Microsoft-Windows-Kernel-EventTracing writes when a session is stopped (11) or
 * configured (12), a provider enabled (14) or disabled (15): payloads of its manifest, and the
 * caller's process in the header. It is the kernel's, so it is always there.
 */
void sim_watch_session(struct sim_session *s, uint16_t id);
void sim_watch_provider(struct sim_session *s, uint16_t id, const struct guid *provider);

/* EnableTraceEx2 and its forerunners. */
uint32_t sim_enable_control(struct etw_sim *sim, uint64_t session, const struct guid *provider,
    uint32_t code, uint8_t level, uint64_t any, uint64_t all,
    const struct etw_enable_parameters *parameters);

/* ---- sim_filter.c ---------------------------------------------------------------------------- */

/* An event on its way. */
struct sim_item {
    struct event_descriptor descriptor;
    bool tracelogging;
    bool kernel_mode;
    bool in_private;
    struct span metadata; /* TraceLogging */
    const struct sim_process *process;
    uint32_t pid;
    struct span payload;
};

uint32_t sim_filter_check(const struct etw_enable_parameters *parameters);
bool sim_filter_level_keyword(const struct sim_enable *e, uint8_t level, uint64_t keyword);
bool sim_filter_pass(const struct sim_enable *e, const struct sim_item *item);
bool sim_filter_wants_stack(const struct sim_enable *e, const struct sim_item *item);

void sim_filter_forget_pid(struct sim_enable *e, uint32_t pid); /* its process has ended */

/* Could an event of ${pid} pass the scope filters? */
bool sim_filter_scope(
    const struct sim_enable *e, bool kernel_mode, uint32_t pid, const struct sim_process *process);

/* ---- sim_write.c ----------------------------------------------------------------------------- */

/* What goes into one session: filled by the writer's kind, see sim_write_all. */
struct sim_target {
    struct sim_session *session;
    struct sim_enable *enable; /* NULL: kernel events */
    uint32_t code;
};

/*
 * Put a record into ${count} sessions: ${encode} appends it for one of them to ${out}, with the
 * time stamp ${raw}. 0, or the first error. Losses and what INDEPENDENT_SESSION means are counted.
 */
typedef void sim_encode_fn(
    void *self, const struct sim_target *target, int64_t raw, struct buf *out);
uint32_t sim_write_all(struct etw_sim *sim, struct sim_target *targets, size_t count, uint16_t cpu,
    uint64_t ticks, sim_encode_fn *encode, void *self);

/* Write ${event} by ${r}. */
uint32_t sim_write_event(
    struct etw_sim *sim, struct sim_registration *r, const struct etw_sim_event *event);

/* ---- sim_classic.c, sim_message.c, sim_kernel.c ---------------------------------------------- */

/* Into ${s}, whose `offered` is counted already. */
uint32_t sim_classic_write(
    struct etw_sim *sim, struct sim_session *s, const struct etw_sim_event *event);
uint32_t sim_message_write(
    struct etw_sim *sim, struct sim_session *s, const struct etw_sim_message *message);
/* ${only}: NULL, or the one session that may get it. */
uint32_t sim_kernel_write(
    struct etw_sim *sim, const struct etw_sim_kernel_event *event, const struct sim_session *only);
/* sim_rundown.c: what of the kernel is there already, told to ${s}; at its start, or its end. */
void sim_rundown_write(struct sim_session *s, bool at_end);
/* What the processes of ${s} do with their heaps as soon as they are traced. */
void sim_rundown_write_heaps(struct sim_session *s);
/* Add what ${hook_id} stands for to the stack list. */
void sim_kernel_add_stack_hook(struct sim_session *s, uint16_t hook_id);
bool sim_kernel_any_session(const struct etw_sim *sim);

/* UPDATE with these EnableFlags: every other kernel event is off, those of system providers too
 * until they are enabled again (controltracew: 0 disables all kernel providers). */
void sim_kernel_update(struct sim_session *s, uint32_t flags);

/* What the system providers (build 20348 and later) that ${s} has enabled ask of the kernel. Call
 * it whenever one may have come or gone. */
void sim_kernel_update_providers(struct sim_session *s);

/* ---- sim_consumer.c, sim_deliver.c ----------------------------------------------------------- */

void sim_consumer_free_all(struct etw_sim *sim);

/* A chunk came into the queue of ${s}, or the session has ended. */
void sim_consumer_queued(struct sim_session *s, struct sim_chunk *chunk);

/* ---- sim_file.c ------------------------------------------------------------------------------ */

uint32_t sim_file_open(struct sim_session *s);
/* Take ${chunk}. False if the file is full: the session is to end. */
bool sim_file_write(struct sim_session *s, struct sim_chunk *chunk);
void sim_file_flush(struct sim_session *s);
void sim_file_close(struct sim_session *s);
uint32_t sim_file_increment(struct sim_session *s);
uint32_t sim_file_rename(struct sim_session *s, const etw_char *file);
void sim_file_snapshot(struct sim_session *s); /* buffering mode */

/* ---- sim_access.c, sim_replay.c -------------------------------------------------------------- */

void sim_access_free(struct etw_sim *sim);
void sim_replay_free(struct etw_sim *sim);
/* Write what the sources owe until ${ticks}; the lock is held, and let go between records. */
void sim_replay_run(struct etw_sim *sim, uint64_t ticks);
/* When the next source falls due; UINT64_MAX: none. */
uint64_t sim_replay_due(const struct etw_sim *sim);

#endif
