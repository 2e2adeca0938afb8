#ifndef ETWSHIP_TESTS_SUPPORT_ETW_SIM_H
#define ETWSHIP_TESTS_SUPPORT_ETW_SIM_H

#include "etw/etw_api.h"
#include "event/model/record.h"

/*
 * A simulated Windows as far as Event Tracing goes: sessions, providers, processes, consumers and
 * files behind the documented functions (etw_sim_calls.h). A test makes a world, puts its table in
 * place of the system's, lets simulated providers write, and looks at what came of it:
 *
 *     struct etw_sim *sim = etw_sim_create(&(struct etw_sim_options){.processors = 4}, &err);
 *     etw_api_use(etw_sim_api(sim));
 *     struct etw_sim_provider *p =
 *         etw_sim_provider_add(sim, &(struct etw_sim_provider_options){…});
 *     …
 *     etw_api_use(NULL);
 *     etw_sim_destroy(sim);
 *
 * The functions have no argument that says which world they belong to: there is one at a time.
 * Everything here may be called from any thread, also while sessions run, unless it says otherwise.
 * Text is UTF-8. Errors are Win32 codes, 0 is success. What is as on Windows and what is not there:
 * README.md.
 *
 * Time stands still unless a test moves it (etw_sim_advance), or runs by itself (real_clock), where
 * a thread of the world runs timers, replays and the logger.
 *
 * Losses are exact. For every session, at every moment (struct etw_sim_counts):
 *     offered = filtered + withheld + events_lost + logged
 *     logged  = delivered + in_lost_buffers + discarded + pending        (real time)
 *     logged  = in_file + overwritten + in_lost_log_buffers + pending_file   (file, buffering)
 */
struct etw_sim;

/* Zero means the default that is named. */
struct etw_sim_options {
    uint32_t processors;       /* 2, at most 64 */
    uint32_t max_sessions;     /* 64, at most 256 (EtwMaxLoggers) */
    uint32_t os_build;         /* 19045. 20348 and later know the system providers */
    bool real_clock;           /* time is that of the machine */
    uint64_t start_time;       /* FILETIME at which a manual clock starts: 2026-11-21T09:30:00Z */
    uint64_t up_seconds;       /* how long the machine has been up then: 3600 */
    uint64_t perf_frequency;   /* QPC ticks per second: 10000000 */
    uint64_t perf_counter;     /* what QPC says at the start, instead of up_seconds */
    uint64_t boot_time;        /* FILETIME when QPC said 0; 0: as it follows from these */
    uint16_t machine;          /* the port of a machine (sim_machine.h) whose sessions these are */
    uint32_t cpu_mhz;          /* 2400 */
    uint32_t step_ticks;       /* of a manual clock, per event written: 1 */
    uint32_t playback_kb;      /* size of each session's playback file: 10240; 1 is next to none */
    uint32_t consumer_buffers; /* how many buffers a consumer holds before they go there: 64 */
    uint32_t logger_period_ms; /* how often full buffers leave the session's memory; 0: at once */
    uint32_t heap_allocs;      /* by each process of a heap session, when it starts: 0 */
    uint32_t own_process;      /* pid of the caller of the functions: 4711 */
    const char *own_image;     /* "etwship.exe" */
    bool not_administrator;    /* sessions and control are refused: 5 */
    bool no_profile_privilege; /* SeSystemProfilePrivilege is not enabled: 1314 */
    bool no_ms_flush_timer;    /* mode bit 0x10 is refused: 87 */
    bool header_event; /* live consumers get the EventTrace header event first, as readers of files
                          do; sources differ on what Windows does */
    bool odd_pointer_size; /* LogfileHeader.PointerSize of live sessions says 4, as it may */
    bool no_perf_freq;     /* LogfileHeader.PerfFreq of live sessions is 0 */
    bool no_raw_delivery;  /* OpenTraceFromRealTimeLogger is not there */
    void (*set_last_error)(uint32_t code); /* SetLastError of a real system, beside our own */
    uint32_t (*thread_id)(void);           /* of the caller; else small numbers */
    /* Whenever a session was to be started ("start") or stopped ("stop"), with what was answered.
     * Calls no function of the world. */
    void (*on_call)(void *self, const char *what, const char *session, uint32_t code);
    void *on_call_self;
};

/* NULL if there is a world already, or no memory. */
struct etw_sim *etw_sim_create(const struct etw_sim_options *options, struct error *err);

/* No function of the world's table may be running. Ends what still runs. NULL is fine. */
void etw_sim_destroy(struct etw_sim *sim);

/* The table of its functions, as etw_api_use() takes it. */
const struct etw_api *etw_sim_api(struct etw_sim *sim);

/* The world that etw_sim_create made and etw_sim_destroy has not ended, or NULL: for the
 * functions. */
struct etw_sim *etw_sim_world(void);

/* Every function calls ${make} first, which makes a world where there is none and returns when it
 * is whole; NULL: none is made. Before any of them is called. */
void etw_sim_on_demand(void (*make)(void));

/* ---- faults ---------------------------------------------------------------------------------- */

/*
 * From the ${nth} call on (1: the next), ${times} calls (0: all further ones) of ${function}
 * ("StartTraceW") do nothing and answer ${code}; functions that return a handle fail with it as the
 * last error. False if there is no such function.
 */
bool etw_sim_fail(
    struct etw_sim *sim, const char *function, uint32_t nth, uint32_t times, uint32_t code);

/* ControlTraceW only where the control code is ${control} (ETW_CONTROL_STOP, …). */
void etw_sim_fail_control(
    struct etw_sim *sim, uint32_t control, uint32_t nth, uint32_t times, uint32_t code);

/* This system has no ${function}: its entry in the table is NULL. Before the table is used. */
bool etw_sim_remove(struct etw_sim *sim, const char *function);

/* How often ${function} was called. */
uint32_t etw_sim_calls(struct etw_sim *sim, const char *function);

/* ---- time ------------------------------------------------------------------------------------ */

/* Move a manual clock on by ${ms}; flush timers, capture state timers and replays that fall due run
 * on this thread, in the order of their times. */
void etw_sim_advance(struct etw_sim *sim, uint32_t ms);

/* Ticks of the performance counter, and FILETIME, now. */
uint64_t etw_sim_qpc(struct etw_sim *sim);
uint64_t etw_sim_filetime(struct etw_sim *sim);

/* Flush every session, and wait until consumers have been given all there is. False if they do not
 * take it within ${timeout_ms} of real time. */
bool etw_sim_settle(struct etw_sim *sim, uint32_t timeout_ms);

/* Wait until ${count} consumers or more are in ProcessTrace for session ${name}. False if they are
 * not within ${timeout_ms} of real time. */
bool etw_sim_await_consumers(
    struct etw_sim *sim, const char *name, uint32_t count, uint32_t timeout_ms);

/* With ${held}, full buffers stay in the sessions' memory, as if the logger's thread got no
 * processor: writers soon find no free buffer. */
void etw_sim_hold_logger(struct etw_sim *sim, bool held);

/* ---- processes and providers ----------------------------------------------------------------- */

struct etw_sim_process {
    uint32_t pid;
    const char *image;       /* "svchost.exe" */
    const char *package;     /* full package name, or NULL */
    const char *package_app; /* package-relative application id, or NULL */
    uint64_t start_key;      /* 0: made from the pid */
    uint32_t session_id;     /* terminal services */
    uint8_t sid[68];         /* its user; all zero: LocalSystem */
    uint8_t sid_size;
    uint64_t container[2]; /* container id */
};

/* A process that runs from now on; one of the same pid before it has ended. Pids that are not
 * declared exist all the same, as "process.exe". System sessions with the PROCESS flag are told of
 * the declared ones when they start (Process DCStart) and end (DCEnd), or ask for it
 * (CAPTURE_STATE of SystemTraceControlGuid). */
void etw_sim_process_start(struct etw_sim *sim, const struct etw_sim_process *process);
void etw_sim_process_end(struct etw_sim *sim, uint32_t pid);

/* The calls of this thread come from ${pid} and ${tid} from now on; 0: from own_process again. */
void etw_sim_as(uint32_t pid, uint32_t tid);

enum etw_sim_kind {
    ETW_SIM_MANIFEST,     /* EventRegister */
    ETW_SIM_TRACELOGGING, /* the same, self-describing: no filters by id; writes only what level and
                             keywords of its last callback let through */
    ETW_SIM_CLASSIC,      /* RegisterTraceGuids: one session; TraceEvent or TraceMessage */
};

struct etw_sim_provider_options {
    struct guid guid;
    const char *name; /* for EnumerateTraceGuidsEx nothing, for the world's TDH its name */
    enum etw_sim_kind kind;
    uint32_t pid;          /* the process that registers it; 0: own_process */
    bool kernel_mode;      /* a driver's: not enabled for a session that names process ids;
                              other scope filters do not apply */
    struct guid group;     /* zero: none */
    uint32_t enable_error; /* what EnableTraceEx2 answers for it (5: protected) */
    bool unregistered;     /* known (enable_error), but not registered yet */
    uint64_t commands;     /* keywords at which it acts (etw_keywords.h): counted as `commanded` */
    bool never_answers;    /* its process is suspended: its callback is never called, and
                              EnableTraceEx2 waits for it as long as its timeout says */
};

struct etw_sim_provider; /* a registration by a simulated process; the world's */

/* NULL only without memory. Several registrations of a GUID may exist. */
struct etw_sim_provider *etw_sim_provider_add(
    struct etw_sim *sim, const struct etw_sim_provider_options *options);

/* Register one that was added unregistered, or was unregistered; unregister it. */
void etw_sim_provider_register(struct etw_sim_provider *provider);
void etw_sim_provider_unregister(struct etw_sim_provider *provider);

/* What is written. Zeroes are sound: cpu 0, pid of the provider, time now. */
struct etw_sim_event {
    struct event_descriptor descriptor;
    struct guid class_guid; /* classic: the event class, else the provider's GUID */
    uint32_t process_id;    /* 0: the provider's */
    uint32_t thread_id;     /* 0: process_id + 4 */
    uint16_t cpu;
    uint8_t pointer_size;    /* 8; 4: a 32-bit process */
    uint16_t event_property; /* EVENT_HEADER_PROPERTY_* */
    bool string_only;        /* EventWriteString */
    bool in_private;         /* EVENT_WRITE_FLAG_INPRIVATE */
    struct guid activity;
    const struct guid *related;
    struct span traits;   /* TraceLogging: provider traits, as in a descriptor of type 2 */
    struct span metadata; /* TraceLogging: event metadata, type 1 */
    struct span payload;
    const uint64_t *stack; /* return addresses, for sessions that want them; NULL: two made up */
    size_t stack_count;
    const struct extended_item *extended; /* further items, whatever the sessions ask for */
    size_t extended_count;
    uint32_t kernel_ticks;
    uint32_t user_ticks;
};

/* As EventWriteTransfer or TraceEvent would return it: 0, also if no session listens. */
uint32_t etw_sim_write(struct etw_sim_provider *provider, const struct etw_sim_event *event);

/* ${count} times ${event}, with a u64 before its payload that counts up from ${first}. Without
 * ${per_second} as fast as it goes; with it, a manual clock is moved, a real one waited for.
 * Returns how many were written with 0. */
uint64_t etw_sim_burst(struct etw_sim_provider *provider, const struct etw_sim_event *event,
    uint64_t first, uint64_t count, uint32_t per_second);

/* A message of WPP code (RECORD_MESSAGE), as TraceMessage writes it to the provider's session. */
struct etw_sim_message {
    struct guid guid;
    uint32_t component;
    uint16_t number;
    uint32_t flags; /* TRACE_MESSAGE_* of evntrace.h */
    uint8_t level;
    uint32_t keyword; /* a bit of the enable flags */
    uint16_t cpu;
    uint32_t process_id;
    uint32_t thread_id;
    struct span payload;
};

uint32_t etw_sim_write_message(
    struct etw_sim_provider *provider, const struct etw_sim_message *message);

/* An event of the kernel: goes to the system sessions whose flags cover ${hook_id}; those of heaps
 * (group 0x10) to the heap session that has ${process_id}. */
struct etw_sim_kernel_event {
    uint16_t hook_id; /* group << 8 | type; or 0 with the two below */
    struct guid class_guid;
    uint8_t opcode;
    uint16_t version;
    uint32_t process_id;
    uint32_t thread_id;
    uint16_t cpu;
    uint8_t form; /* enum etl_kernel_form: ETL_SYSTEM, ETL_COMPACT, ETL_PERFINFO */
    struct span payload;
    const uint64_t *stack; /* for the StackWalk event after it; NULL: two made up */
    size_t stack_count;
};

uint32_t etw_sim_kernel_write(struct etw_sim *sim, const struct etw_sim_kernel_event *event);

/* What the enable callback of a simulated provider was last told: merged over all sessions. */
struct etw_sim_provider_state {
    bool enabled;
    uint8_t level; /* the highest; 0xff where any session has no limit */
    uint64_t any;  /* all bits where any session names none, but for classic providers */
    uint64_t all;
    uint32_t sessions;
    uint32_t callbacks;      /* so far, captures included */
    uint32_t capture_states; /* so far */
    uint32_t commanded;      /* how many of them had one of `commands` */
    struct guid source_id;   /* of the last callback */
    bool had_filter;         /* the last callback brought a schematized filter */
};

void etw_sim_provider_get(
    struct etw_sim_provider *provider, struct etw_sim_provider_state *ret_state);

/* ---- sessions -------------------------------------------------------------------------------- */

/* A session of another program that runs already. */
struct etw_sim_session_options {
    const char *name;
    struct guid guid;   /* zero: made up */
    uint32_t mode;      /* ETW_MODE_* */
    uint32_t buffer_kb; /* 64 */
    uint32_t enable_flags;
    uint32_t clock;         /* 1 */
    uint32_t control_error; /* what ControlTrace answers for it; 0: does it */
    uint32_t open_error;    /* what OpenTrace answers */
};

/* Its handle, 0 with ${ret_code} (may be NULL) on failure. */
uint64_t etw_sim_session_add(
    struct etw_sim *sim, const struct etw_sim_session_options *options, uint32_t *ret_code);

/* Events. */
struct etw_sim_counts {
    uint64_t offered;  /* written by providers that the session has enabled */
    uint64_t filtered; /* level, keyword, filters */
    uint64_t withheld; /* because another session could not take them (INDEPENDENT_SESSION) */
    uint64_t events_lost;
    uint64_t logged; /* came into a buffer */
    uint64_t delivered;
    uint64_t in_lost_buffers;
    uint64_t discarded; /* the session ended, or its consumer left, with them in memory */
    uint64_t pending;
    uint64_t in_file;             /* circular files: still there */
    uint64_t overwritten;         /* circular files, buffering mode */
    uint64_t in_lost_log_buffers; /* could not be written */
    uint64_t pending_file;
    uint64_t buffers_lost;
    uint64_t buffers_delivered;
    uint64_t refused_writes; /* writers that were told that the playback file is full */
};

struct etw_sim_session_info {
    uint64_t handle;
    uint16_t logger_id;
    bool system; /* a system logger */
    uint32_t mode;
    uint32_t buffer_kb;
    uint32_t minimum_buffers;
    uint32_t maximum_buffers;
    uint32_t consumers;
    uint32_t enabled_providers;
    uint32_t group_mask[8];
    uint32_t stack_ids; /* entries of its stack list */
    uint32_t pids[8];   /* of a session of heaps, the first of them */
    uint32_t pid_count;
    uint32_t flush_timer_ms;
    struct guid guid;
    struct etw_sim_counts counts;
};

/* By ${name}, running or, of those that have ended, the last. False if there never was one. */
bool etw_sim_session_get(
    struct etw_sim *sim, const char *name, struct etw_sim_session_info *ret_info);

/* How many run, those of etw_sim_session_add included. */
uint32_t etw_sim_session_count(struct etw_sim *sim);

/* Is one of this name running? */
bool etw_sim_session_runs(struct etw_sim *sim, const char *name);

/* How long calls of EnableTraceEx2 have waited for providers that never answer, all together. This
 * wait is counted; no time passes. */
uint64_t etw_sim_waited_ms(struct etw_sim *sim);

/* What session ${name} has asked of ${provider}. */
struct etw_sim_enablement {
    uint8_t level;
    uint64_t any;
    uint64_t all;
    uint32_t property;
    uint32_t filter_count;
    struct etw_filter filters[16]; /* data points to memory of the world: valid until the next call
                                      of EnableTraceEx2 for this pair */
    uint8_t ids[256]; /* a copy of its EVENT_FILTER_EVENT_ID, cut at its end; zero: there is none */
    uint32_t enables; /* EnableTraceEx2 with ENABLE so far */
    uint32_t captures; /* with CAPTURE_STATE, timers included */
    bool was_read;     /* a consumer had opened the session at the first ENABLE */
};

bool etw_sim_enabled(struct etw_sim *sim, const char *name, const struct guid *provider,
    struct etw_sim_enablement *ret_enablement);

/* Handles of consumers that are not closed, and of registrations through the functions. */
uint32_t etw_sim_open_traces(struct etw_sim *sim);
uint32_t etw_sim_registrations(struct etw_sim *sim);

/* Events that a callback was given after CloseTrace had been called for its handle: legal until
 * ProcessTrace returns, and what kills a consumer that frees its context too early. */
uint64_t etw_sim_late_events(struct etw_sim *sim);

/* The next ${buffers} that fall due for delivery to ${name} are lost as if the playback file were
 * full; with ${file}, the playback file itself is lost (RT_LostEvent 34). */
void etw_sim_lose_buffers(struct etw_sim *sim, const char *name, uint32_t buffers, bool file);

/* Messages of ${name} with the next ${count} numbers are lost, and no counter says so. */
void etw_sim_skip_numbers(struct etw_sim *sim, const char *name, uint32_t count);

/* The next ${buffers} that the file of ${name} is to take cannot be written (LogBuffersLost). */
void etw_sim_fail_disk(struct etw_sim *sim, const char *name, uint32_t buffers);

/* ---- replay ---------------------------------------------------------------------------------- */

struct etw_sim_replay {
    const char *path;     /* of an .etl file */
    struct guid provider; /* only its events; zero: all */
    uint32_t per_second;  /* 0: as fast as it goes */
    uint32_t rounds;      /* how often, 1; UINT32_MAX: for ever (sources only) */
};

/* Write its records now, as events of their providers at the present time: header fields, extended
 * items, payload, pid and tid stay. Returns how many records were offered to sessions; the
 * trace's own header record is left out. False if the file cannot be read. */
bool etw_sim_replay(struct etw_sim *sim, const struct etw_sim_replay *replay, uint64_t *ret_records,
    struct error *err);

/* As etw_sim_replay, whenever a session has enabled ${replay}->provider (zero: a system session
 * runs), as time goes on; begins anew with the first enablement after there was none. per_second 0:
 * 1000. */
bool etw_sim_source_add(
    struct etw_sim *sim, const struct etw_sim_replay *replay, struct error *err);

#endif
