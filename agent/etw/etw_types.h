#ifndef ETWSHIP_ETW_ETW_TYPES_H
#define ETWSHIP_ETW_ETW_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "base/event_descriptor.h"
#include "base/guid.h"

/*
 * The structures of ETW's and TDH's functions, with the layout of 64-bit Windows (evntrace.h,
 * evntprov.h, evntcons.h, tdh.h, wmistr.h of the Windows SDK). They are declared here because this
 * code is built and tested on every system, and because the headers of mingw-w64 end at Windows 7.
 * Text is UTF-16; names follow the members of the SDK's structures.
 */

typedef uint16_t etw_char; /* a UTF-16 code unit: WCHAR */

enum {
    ETW_SUCCESS = 0,
    ETW_ERROR_INVALID_FUNCTION = 1,
    ETW_ERROR_FILE_NOT_FOUND = 2,
    ETW_ERROR_PATH_NOT_FOUND = 3,
    ETW_ERROR_ACCESS_DENIED = 5,
    ETW_ERROR_INVALID_HANDLE = 6,
    ETW_ERROR_NOT_ENOUGH_MEMORY = 8,
    ETW_ERROR_OUTOFMEMORY = 14,
    ETW_ERROR_BAD_LENGTH = 24,
    ETW_ERROR_NOT_SUPPORTED = 50,
    ETW_ERROR_INVALID_PARAMETER = 87,
    ETW_ERROR_DISK_FULL = 112,
    ETW_ERROR_CALL_NOT_IMPLEMENTED = 120,
    ETW_ERROR_INSUFFICIENT_BUFFER = 122,
    ETW_ERROR_BAD_PATHNAME = 161,
    ETW_ERROR_ALREADY_EXISTS = 183,
    ETW_ERROR_MORE_DATA = 234,
    ETW_ERROR_NO_MORE_ITEMS = 259,
    ETW_ERROR_NOACCESS = 998,
    ETW_ERROR_INVALID_FLAGS = 1004,
    ETW_ERROR_NOT_FOUND = 1168,
    ETW_ERROR_CANCELLED = 1223,
    ETW_ERROR_PRIVILEGE_NOT_HELD = 1314,
    ETW_ERROR_NO_SYSTEM_RESOURCES = 1450,
    ETW_ERROR_TIMEOUT = 1460,
    ETW_ERROR_INVALID_TIME = 1901,
    ETW_ERROR_LOG_FILE_FULL = 1502,
    ETW_ERROR_WMI_GUID_NOT_FOUND = 4200,
    ETW_ERROR_WMI_INSTANCE_NOT_FOUND = 4201,
    ETW_ERROR_WMI_ALREADY_ENABLED = 4206,
    ETW_ERROR_CTX_CLOSE_PENDING = 7007,
    ETW_ERROR_EVT_INVALID_CHANNEL_PATH = 15000,
    ETW_ERROR_MUI_FILE_NOT_FOUND = 15100,
    ETW_ERROR_RESOURCE_TYPE_NOT_FOUND = 1813,
};

#define ETW_INVALID_TRACE UINT64_MAX /* INVALID_PROCESSTRACE_HANDLE of 64-bit processes */

/* ---- sessions: evntrace.h, wmistr.h ---------------------------------------------------------- */

enum {
    ETW_WNODE_TRACED_GUID = 0x00020000,
    ETW_WNODE_VERSIONED_PROPERTIES = 0x00800000, /* struct etw_properties with its second version */
    ETW_MAX_NAME_CHARS = 1024,                   /* of a session and of a file, with the NUL */
    ETW_PROPERTIES_V1_BYTES = 120,
};

struct etw_wnode {
    uint32_t buffer_size; /* bytes of the whole block, names included */
    uint32_t provider_id;
    uint64_t historical_context; /* out: the session's handle */
    int64_t time_stamp;
    struct guid guid;
    /* enum trace_clock_type of event/model/trace_clock.h: 1, 2, 3; 0 is 1 */
    uint32_t client_context;
    uint32_t flags; /* ETW_WNODE_* */
};

/* EVENT_TRACE_PROPERTIES_V2. The names follow at the offsets. */
struct etw_properties {
    struct etw_wnode wnode;
    uint32_t buffer_size; /* KB */
    uint32_t minimum_buffers;
    uint32_t maximum_buffers;
    uint32_t maximum_file_size; /* MB; KB with ETW_MODE_USE_KBYTES_FOR_SIZE */
    uint32_t log_file_mode;     /* ETW_MODE_* */
    uint32_t flush_timer;       /* s; ms with ETW_MODE_USE_MS_FLUSH_TIMER */
    uint32_t enable_flags;      /* kernel events */
    int32_t age_limit;          /* or FlushThreshold */
    uint32_t number_of_buffers; /* out, like all up to logger_thread_id */
    uint32_t free_buffers;
    uint32_t events_lost;
    uint32_t buffers_written;
    uint32_t log_buffers_lost;
    uint32_t real_time_buffers_lost;
    uint64_t logger_thread_id;
    uint32_t log_file_name_offset; /* 0: no file */
    uint32_t logger_name_offset;
    uint32_t version; /* 2, the low 8 bits; this and what follows with VERSIONED_PROPERTIES only */
    uint32_t filter_desc_count;
    uint64_t filter_desc;
    uint64_t v2_options;
};

_Static_assert(sizeof(struct etw_wnode) == 48, "WNODE_HEADER");
_Static_assert(sizeof(struct etw_properties) == 144, "EVENT_TRACE_PROPERTIES_V2");
_Static_assert(offsetof(struct etw_properties, enable_flags) == 72, "EVENT_TRACE_PROPERTIES");
_Static_assert(offsetof(struct etw_properties, logger_thread_id) == 104, "EVENT_TRACE_PROPERTIES");
_Static_assert(offsetof(struct etw_properties, version) == ETW_PROPERTIES_V1_BYTES, "V2");

/* ControlTrace. */
enum {
    ETW_CONTROL_QUERY = 0,
    ETW_CONTROL_STOP = 1,
    ETW_CONTROL_UPDATE = 2,
    ETW_CONTROL_FLUSH = 3,
    ETW_CONTROL_INCREMENT_FILE = 4,
    ETW_CONTROL_CONVERT_TO_REALTIME = 5,
};

/* LogFileMode; 0x10, 0x20000000 and other internal bits from System Informer's ntwmi.h. */
#define ETW_MODE_SEQUENTIAL UINT32_C(0x00000001)
#define ETW_MODE_CIRCULAR UINT32_C(0x00000002)
#define ETW_MODE_APPEND UINT32_C(0x00000004)
#define ETW_MODE_NEWFILE UINT32_C(0x00000008)
#define ETW_MODE_USE_MS_FLUSH_TIMER UINT32_C(0x00000010)
#define ETW_MODE_PREALLOCATE UINT32_C(0x00000020)
#define ETW_MODE_NONSTOPPABLE UINT32_C(0x00000040)
#define ETW_MODE_SECURE UINT32_C(0x00000080)
#define ETW_MODE_REAL_TIME UINT32_C(0x00000100)
#define ETW_MODE_DELAY_OPEN_FILE UINT32_C(0x00000200)
#define ETW_MODE_BUFFERING UINT32_C(0x00000400)
#define ETW_MODE_PRIVATE_LOGGER UINT32_C(0x00000800)
#define ETW_MODE_ADD_HEADER UINT32_C(0x00001000)
#define ETW_MODE_USE_KBYTES_FOR_SIZE UINT32_C(0x00002000)
#define ETW_MODE_USE_GLOBAL_SEQUENCE UINT32_C(0x00004000)
#define ETW_MODE_USE_LOCAL_SEQUENCE UINT32_C(0x00008000)
#define ETW_MODE_PRIVATE_IN_PROC UINT32_C(0x00020000)
#define ETW_MODE_STOP_ON_HYBRID_SHUTDOWN UINT32_C(0x00400000)
#define ETW_MODE_PERSIST_ON_HYBRID_SHUTDOWN UINT32_C(0x00800000)
#define ETW_MODE_USE_PAGED_MEMORY UINT32_C(0x01000000)
#define ETW_MODE_SYSTEM_LOGGER UINT32_C(0x02000000)
#define ETW_MODE_COMPRESSED UINT32_C(0x04000000)
#define ETW_MODE_INDEPENDENT_SESSION UINT32_C(0x08000000)
#define ETW_MODE_NO_PER_PROCESSOR_BUFFERING UINT32_C(0x10000000)

/* TraceSetInformation, TraceQueryInformation: TRACE_INFO_CLASS. */
enum {
    ETW_INFO_GUID_QUERY_LIST = 0,
    ETW_INFO_GUID_QUERY_INFO = 1,
    ETW_INFO_GUID_QUERY_PROCESS = 2,
    ETW_INFO_STACK_TRACING = 3,       /* struct etw_classic_event_id[], replaces the list */
    ETW_INFO_SYSTEM_ENABLE_FLAGS = 4, /* uint32_t[8], replaces all of it */
    ETW_INFO_SAMPLED_PROFILE_INTERVAL = 5,
    ETW_INFO_PROFILE_SOURCE_CONFIG = 6,
    ETW_INFO_PROFILE_SOURCE_LIST = 7,
    ETW_INFO_PMC_EVENT_LIST = 8,
    ETW_INFO_PMC_COUNTER_LIST = 9,
    ETW_INFO_SET_DISALLOW_LIST = 10, /* struct guid[] */
    ETW_INFO_VERSION = 11,
    ETW_INFO_GROUP_QUERY_LIST = 12,
    ETW_INFO_GROUP_QUERY_INFO = 13,
    ETW_INFO_DISALLOW_LIST_QUERY = 14,
    ETW_INFO_PERIODIC_CAPTURE_STATE_LIST = 16, /* struct etw_periodic_capture, then its GUIDs */
    ETW_INFO_PERIODIC_CAPTURE_STATE = 17,
    ETW_INFO_PROVIDER_BINARY_TRACKING = 18,
    ETW_INFO_MAX_LOGGERS = 19,      /* uint32_t */
    ETW_INFO_MAX_PMC_COUNTERS = 22, /* uint32_t */
    ETW_INFO_STREAM_COUNT = 23,
};

struct etw_classic_event_id {
    struct guid guid;
    uint8_t type;
    uint8_t reserved[7];
};

struct etw_profile_interval {
    uint32_t source;
    uint32_t interval_100ns;
};

struct etw_periodic_capture {
    uint32_t seconds; /* 0: no more */
    uint16_t provider_count;
    uint16_t reserved;
};

/* EnumerateTraceGuidsEx: TRACE_GUID_INFO, TRACE_PROVIDER_INSTANCE_INFO, TRACE_ENABLE_INFO. */
struct etw_guid_info {
    uint32_t instance_count;
    uint32_t reserved;
};

struct etw_instance_info {
    uint32_t next_offset; /* from this one; 0: the last */
    uint32_t enable_count;
    uint32_t pid;
    uint32_t flags; /* 1: classic, 2: enabled before it was registered */
};

struct etw_enable_info {
    uint32_t is_enabled;
    uint8_t level;
    uint8_t reserved1;
    uint16_t logger_id;
    uint32_t enable_property;
    uint32_t reserved2;
    uint64_t match_any_keyword;
    uint64_t match_all_keyword;
};

_Static_assert(sizeof(struct etw_classic_event_id) == 24, "CLASSIC_EVENT_ID");
_Static_assert(sizeof(struct etw_instance_info) == 16, "TRACE_PROVIDER_INSTANCE_INFO");
_Static_assert(sizeof(struct etw_enable_info) == 32, "TRACE_ENABLE_INFO");

/* ---- enabling providers: evntprov.h, evntcons.h ---------------------------------------------- */

enum { ETW_PROVIDER_DISABLE = 0, ETW_PROVIDER_ENABLE = 1, ETW_PROVIDER_CAPTURE_STATE = 2 };

enum {
    ETW_ENABLE_SID = 0x001,
    ETW_ENABLE_TS_ID = 0x002,
    ETW_ENABLE_STACK_TRACE = 0x004,
    ETW_ENABLE_PSM_KEY = 0x008,
    ETW_ENABLE_IGNORE_KEYWORD_0 = 0x010,
    ETW_ENABLE_PROVIDER_GROUP = 0x020,
    ETW_ENABLE_ENABLE_KEYWORD_0 = 0x040,
    ETW_ENABLE_PROCESS_START_KEY = 0x080,
    ETW_ENABLE_EVENT_KEY = 0x100,
    ETW_ENABLE_EXCLUDE_INPRIVATE = 0x200,
    ETW_ENABLE_SILOS = 0x400,
    ETW_ENABLE_CONTAINER_TRACKING = 0x800,
};

#define ETW_FILTER_SCHEMATIZED UINT32_C(0x80000000)
#define ETW_FILTER_TRACEHANDLE UINT32_C(0x80000002)
#define ETW_FILTER_PID UINT32_C(0x80000004)
#define ETW_FILTER_EXECUTABLE_NAME UINT32_C(0x80000008)
#define ETW_FILTER_PACKAGE_ID UINT32_C(0x80000010)
#define ETW_FILTER_PACKAGE_APP_ID UINT32_C(0x80000020)
#define ETW_FILTER_PAYLOAD UINT32_C(0x80000100)
#define ETW_FILTER_EVENT_ID UINT32_C(0x80000200)
#define ETW_FILTER_EVENT_NAME UINT32_C(0x80000400)
#define ETW_FILTER_STACKWALK UINT32_C(0x80001000)
#define ETW_FILTER_STACKWALK_NAME UINT32_C(0x80002000)
#define ETW_FILTER_STACKWALK_LEVEL_KW UINT32_C(0x80004000)
#define ETW_FILTER_CONTAINER UINT32_C(0x80008000)

enum {
    ETW_MAX_FILTERS = 8, /* 13 in newer SDKs; 8 is in all of them */
    ETW_MAX_FILTER_PIDS = 8,
    ETW_MAX_FILTER_IDS = 64,
    ETW_MAX_FILTER_BYTES = 1024,
    ETW_MAX_FILTER_NAME_BYTES = 4096,
    ETW_MAX_FILTER_PAYLOAD_BYTES = 4096,
};

struct etw_filter {
    uint64_t data; /* pointer */
    uint32_t size;
    uint32_t type; /* ETW_FILTER_* */
};

struct etw_enable_parameters {
    uint32_t version; /* 2 */
    uint32_t enable_property;
    uint32_t control_flags;
    struct guid source_id;
    uint64_t filters; /* pointer to struct etw_filter[] */
    uint32_t filter_count;
    uint32_t reserved;
};

_Static_assert(sizeof(struct etw_filter) == 16, "EVENT_FILTER_DESCRIPTOR");
_Static_assert(sizeof(struct etw_enable_parameters) == 48, "ENABLE_TRACE_PARAMETERS");
_Static_assert(offsetof(struct etw_enable_parameters, filters) == 32, "ENABLE_TRACE_PARAMETERS");

/* ---- records and consumers: evntcons.h, evntrace.h ------------------------------------------- */

struct etw_event_header {
    uint16_t size;
    uint16_t header_type;
    uint16_t flags; /* EVENT_FLAG_* of event/model/record.h */
    uint16_t event_property;
    uint32_t thread_id;
    uint32_t process_id;
    int64_t time_stamp;
    struct guid provider_id;
    struct event_descriptor descriptor;
    union {
        struct {
            uint32_t kernel_time;
            uint32_t user_time;
        };
        uint64_t processor_time;
    };
    struct guid activity_id;
};

struct etw_extended_item {
    uint16_t reserved1;
    uint16_t ext_type;
    uint16_t linkage; /* bit 0 */
    uint16_t data_size;
    uint64_t data; /* pointer */
};

struct etw_event_record {
    struct etw_event_header header;
    uint16_t processor_index; /* ETW_BUFFER_CONTEXT */
    uint16_t logger_id;
    uint16_t extended_data_count;
    uint16_t user_data_length;
    struct etw_extended_item *extended_data;
    void *user_data;
    void *user_context; /* the log file's context */
};

_Static_assert(sizeof(struct etw_event_header) == 80, "EVENT_HEADER");
_Static_assert(sizeof(struct etw_extended_item) == 16, "EVENT_HEADER_EXTENDED_DATA_ITEM");
_Static_assert(sizeof(void *) != 8 || sizeof(struct etw_event_record) == 112, "EVENT_RECORD");

struct etw_time_zone { /* TIME_ZONE_INFORMATION */
    int32_t bias;
    etw_char standard_name[32];
    uint16_t standard_date[8];
    int32_t standard_bias;
    etw_char daylight_name[32];
    uint16_t daylight_date[8];
    int32_t daylight_bias;
};

/* TRACE_LOGFILE_HEADER. */
struct etw_logfile_header {
    uint32_t buffer_size;
    uint32_t version;
    uint32_t provider_version; /* build of the system */
    uint32_t number_of_processors;
    int64_t end_time;
    uint32_t timer_resolution;
    uint32_t maximum_file_size;
    uint32_t log_file_mode;
    uint32_t buffers_written;
    uint32_t start_buffers;
    uint32_t pointer_size; /* wrong for some live sessions: 4 */
    uint32_t events_lost;
    uint32_t cpu_speed_mhz;
    uint64_t logger_name;
    uint64_t log_file_name;
    struct etw_time_zone time_zone;
    int64_t boot_time;
    int64_t perf_freq;
    int64_t start_time;
    uint32_t reserved_flags; /* clock type */
    uint32_t buffers_lost;
};

struct etw_logfile;
typedef void etw_event_fn(struct etw_event_record *record);
typedef uint32_t etw_buffer_fn(struct etw_logfile *logfile); /* 0: stop */

/* EVENT_TRACE_LOGFILEW. */
struct etw_logfile {
    const etw_char *log_file_name;
    const etw_char *logger_name;
    int64_t current_time;
    uint32_t buffers_read;
    uint32_t process_trace_mode; /* ETW_PROCESS_* */
    uint8_t current_event[88];   /* EVENT_TRACE, obsolete */
    struct etw_logfile_header header;
    etw_buffer_fn *buffer_callback;
    uint32_t buffer_size;
    uint32_t filled;
    uint32_t events_lost;
    etw_event_fn *event_callback;
    uint32_t is_kernel_trace;
    void *context;
};

_Static_assert(sizeof(struct etw_time_zone) == 172, "TIME_ZONE_INFORMATION");
_Static_assert(sizeof(struct etw_logfile_header) == 280, "TRACE_LOGFILE_HEADER");
_Static_assert(sizeof(void *) != 8 || sizeof(struct etw_logfile) == 448, "EVENT_TRACE_LOGFILEW");
_Static_assert(
    sizeof(void *) != 8 || offsetof(struct etw_logfile, event_callback) == 424, "callback");

#define ETW_PROCESS_REAL_TIME UINT32_C(0x00000100)
#define ETW_PROCESS_RAW_TIMESTAMP UINT32_C(0x00001000)
#define ETW_PROCESS_EVENT_RECORD UINT32_C(0x10000000)

/* OpenTraceFromRealTimeLogger: ETW_OPEN_TRACE_OPTIONS, ETW_BUFFER_CALLBACK_INFORMATION. */
struct etw_buffer_info {
    uint64_t trace;
    const struct etw_logfile_header *header;
    uint32_t buffers_read;
};

typedef uint32_t etw_raw_buffer_fn(const void *buffer, uint32_t buffer_bytes,
    const struct etw_buffer_info *info, void *context); /* a WMI_BUFFER_HEADER; 0: stop */

struct etw_open_options {
    uint32_t modes; /* 1: raw time stamps */
    etw_event_fn *event_callback;
    void *event_context;
    etw_raw_buffer_fn *buffer_callback;
    void *buffer_context;
};

_Static_assert(sizeof(void *) != 8 || sizeof(struct etw_open_options) == 40, "OPEN_TRACE_OPTIONS");

/* ---- providers of our own (selftest): evntprov.h, evntrace.h --------------------------------- */

/* PENABLECALLBACK. */
typedef void etw_enable_fn(const struct guid *source_id, uint32_t is_enabled, uint8_t level,
    uint64_t match_any_keyword, uint64_t match_all_keyword, const struct etw_filter *filter,
    void *context);

struct etw_data { /* EVENT_DATA_DESCRIPTOR */
    uint64_t data;
    uint32_t size;
    uint8_t type; /* 0 payload, 1 event metadata, 2 provider metadata */
    uint8_t reserved1;
    uint16_t reserved2;
};

_Static_assert(sizeof(struct etw_data) == 16, "EVENT_DATA_DESCRIPTOR");

/* WMIDPREQUEST: 4 enable, 5 disable; the buffer is a WNODE_HEADER whose context is the session. */
typedef uint32_t etw_classic_fn(
    uint32_t request_code, void *context, uint32_t *buffer_size, void *buffer);

struct etw_guid_registration { /* TRACE_GUID_REGISTRATION */
    const struct guid *guid;
    void *handle;
};

struct etw_classic_header { /* EVENT_TRACE_HEADER */
    uint16_t size;
    uint16_t field_type_flags;
    uint8_t type;
    uint8_t level;
    uint16_t version;
    uint32_t thread_id;
    uint32_t process_id;
    int64_t time_stamp;
    struct guid guid;        /* or a pointer to it, ETW_TRACE_USE_GUID_PTR */
    uint64_t processor_time; /* or ClientContext and Flags */
};

#define ETW_TRACE_TRACED_GUID UINT32_C(0x00020000)
#define ETW_TRACE_USE_GUID_PTR UINT32_C(0x00080000)
#define ETW_TRACE_USE_MOF_PTR UINT32_C(0x00100000)

_Static_assert(sizeof(struct etw_classic_header) == 48, "EVENT_TRACE_HEADER");

/* ---- TDH: tdh.h ------------------------------------------------------------------------------ */

/* PROVIDER_ENUMERATION_INFO: this, then TRACE_PROVIDER_INFOs. */
struct etw_provider_list {
    uint32_t count;
    uint32_t reserved;
};

struct etw_provider_info {
    struct guid guid;
    uint32_t schema_source; /* 0 manifest, 1 MOF */
    uint32_t name_offset;   /* bytes from the start of the list */
};

_Static_assert(sizeof(struct etw_provider_info) == 24, "TRACE_PROVIDER_INFO");

/* PROVIDER_EVENT_INFO: this, then EVENT_DESCRIPTORs. */
struct etw_provider_events {
    uint32_t count;
    uint32_t reserved;
};

/* PROVIDER_FIELD_INFOARRAY: this, then PROVIDER_FIELD_INFOs. */
struct etw_field_list {
    uint32_t count;
    uint32_t field_type; /* EVENT_FIELD_TYPE */
};

struct etw_field_info {
    uint32_t name_offset; /* bytes from the start of the list */
    uint32_t description_offset;
    uint64_t value;
};

_Static_assert(sizeof(struct etw_field_info) == 16, "PROVIDER_FIELD_INFO");

enum {
    ETW_FIELD_KEYWORD = 0,
    ETW_FIELD_LEVEL = 1,
    ETW_FIELD_CHANNEL = 2,
    ETW_FIELD_TASK = 3,
    ETW_FIELD_OPCODE = 4
};

struct etw_predicate { /* PAYLOAD_FILTER_PREDICATE */
    etw_char *field_name;
    uint16_t compare_op;
    etw_char *value;
};

enum {
    ETW_PAYLOAD_EQ,
    ETW_PAYLOAD_NE,
    ETW_PAYLOAD_LE,
    ETW_PAYLOAD_GT,
    ETW_PAYLOAD_LT,
    ETW_PAYLOAD_GE,
    ETW_PAYLOAD_BETWEEN,
    ETW_PAYLOAD_NOT_BETWEEN,
    ETW_PAYLOAD_MODULO,
    ETW_PAYLOAD_CONTAINS = 20,
    ETW_PAYLOAD_DOES_NOT_CONTAIN = 21,
    ETW_PAYLOAD_IS = 30,
    ETW_PAYLOAD_IS_NOT = 31,
    ETW_MAX_PREDICATES = 8
};

struct etw_tdh_context { /* TDH_CONTEXT */
    uint64_t value;
    uint32_t type; /* TDH_CONTEXT_TYPE; 3: pointer size */
    uint32_t size;
};

#endif
