#ifndef ETWSHIP_EVT_EVT_TYPES_H
#define ETWSHIP_EVT_EVT_TYPES_H

#include <stdint.h>

/*
 * Parameters and results of the functions of wevtapi.dll (winevt.h), so that their callers can be
 * built and tested on every system. Texts are UTF-16 with a NUL.
 */
typedef uint16_t evt_char;

/* EVT_HANDLE, and HANDLE of an event object. NULL: none. */
typedef void *evt_handle;

/* EVT_SUBSCRIBE_FLAGS */
enum {
    EVT_SUBSCRIBE_TO_FUTURE_EVENTS = 1,
    EVT_SUBSCRIBE_START_AT_OLDEST_RECORD = 2,
    EVT_SUBSCRIBE_START_AFTER_BOOKMARK = 3,
    EVT_SUBSCRIBE_STRICT = 0x10000,
};

/* EVT_RENDER_FLAGS, EVT_RENDER_CONTEXT_FLAGS */
enum {
    EVT_RENDER_EVENT_VALUES = 0,
    EVT_RENDER_EVENT_XML = 1,
    EVT_RENDER_BOOKMARK = 2,
    EVT_RENDER_CONTEXT_USER = 2,
};

/* EVT_OPEN_LOG_FLAGS, EVT_LOG_PROPERTY_ID */
enum {
    EVT_OPEN_CHANNEL_PATH = 1,
    EVT_LOG_FILE_SIZE = 3,
    EVT_LOG_NUMBER_OF_RECORDS = 5,
    EVT_LOG_OLDEST_RECORD_NUMBER = 6,
};

/* EVT_CHANNEL_CONFIG_PROPERTY_ID */
enum {
    EVT_CHANNEL_CONFIG_ENABLED = 0,
    EVT_CHANNEL_CONFIG_TYPE = 2,
    EVT_CHANNEL_CONFIG_ACCESS = 5,
    EVT_CHANNEL_LOGGING_CONFIG_MAX_SIZE = 8,
};

/* EVT_CHANNEL_TYPE: analytic and debug channels cannot be subscribed to. */
enum {
    EVT_CHANNEL_ADMIN = 0,
    EVT_CHANNEL_OPERATIONAL = 1,
    EVT_CHANNEL_ANALYTIC = 2,
    EVT_CHANNEL_DEBUG = 3,
};

/* EVT_FORMAT_MESSAGE_FLAGS */
enum {
    EVT_FORMAT_MESSAGE_EVENT = 1,
    EVT_FORMAT_MESSAGE_LEVEL = 2,
    EVT_FORMAT_MESSAGE_TASK = 3,
    EVT_FORMAT_MESSAGE_OPCODE = 4,
    EVT_FORMAT_MESSAGE_KEYWORD = 5,
    EVT_FORMAT_MESSAGE_CHANNEL = 6,
    EVT_FORMAT_MESSAGE_PROVIDER = 7,
    EVT_FORMAT_MESSAGE_ID = 8,
    EVT_FORMAT_MESSAGE_XML = 9,
};

/* EVT_VARIANT: `type` is one of binary XML (input/evtx/evtx_format.h),
 * with 0x80 for an array of `count`. */
struct evt_variant {
    union {
        uint32_t boolean;
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
        float single;
        double wide;
        const evt_char *text;
        const char *ansi;
        const void *at; /* binary, GUID, SYSTEMTIME, SID, XML; the first of an array */
    } value;
    uint32_t count;
    uint32_t type;
};

/* winerror.h */
enum {
    EVT_OK = 0,
    EVT_ERROR_ACCESS_DENIED = 5,
    EVT_ERROR_INVALID_HANDLE = 6,
    EVT_ERROR_NOT_ENOUGH_MEMORY = 8,
    EVT_ERROR_NOT_SUPPORTED = 50,
    EVT_ERROR_INVALID_PARAMETER = 87,
    EVT_ERROR_INSUFFICIENT_BUFFER = 122,
    EVT_ERROR_NO_MORE_ITEMS = 259,
    EVT_ERROR_NOT_FOUND = 1168,
    EVT_ERROR_TIMEOUT = 1460,
    EVT_ERROR_RPC_UNAVAILABLE = 1722,   /* RPC_S_SERVER_UNAVAILABLE: the service does not run */
    EVT_ERROR_RPC_FAILED = 1726,        /* RPC_S_CALL_FAILED */
    EVT_ERROR_RPC_INVALID_BOUND = 1734, /* RPC_S_INVALID_BOUND: too many bytes at once */
    EVT_ERROR_INVALID_OPERATION = 4317,
    EVT_ERROR_INVALID_CHANNEL_PATH = 15000,
    EVT_ERROR_INVALID_QUERY = 15001,
    EVT_ERROR_PUBLISHER_NOT_FOUND = 15002,
    EVT_ERROR_CHANNEL_NOT_FOUND = 15007,
    EVT_ERROR_QUERY_RESULT_STALE = 15011,
    EVT_ERROR_QUERY_RESULT_INVALID_POSITION = 15012,
    EVT_ERROR_MESSAGE_NOT_FOUND = 15027,
    EVT_ERROR_MESSAGE_ID_NOT_FOUND = 15028,
    EVT_ERROR_UNRESOLVED_VALUE_INSERT = 15029,
    EVT_ERROR_UNRESOLVED_PARAMETER_INSERT = 15030,
    EVT_ERROR_MAX_INSERTS_REACHED = 15031,
    EVT_ERROR_PUBLISHER_DISABLED = 15037,
};

#endif
