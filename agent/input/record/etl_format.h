#ifndef ETWSHIP_INPUT_ETL_FORMAT_H
#define ETWSHIP_INPUT_ETL_FORMAT_H

/*
 * Constants of the .etl format: WMI_BUFFER_HEADER, TRACE_LOGFILE_HEADER and the record headers.
 * Sources: ntwmi.h, evntrace.h and evntcons.h. All integers on disk are little-endian.
 */

/* Offsets in WMI_BUFFER_HEADER, identical on 32- and 64-bit systems. */
enum {
    ETL_BUFFER_SIZE = 0x00,
    ETL_BUFFER_SAVED_OFFSET = 0x04,
    ETL_BUFFER_REFERENCES = 0x0c,
    ETL_BUFFER_TIME = 0x10,
    ETL_BUFFER_SEQUENCE = 0x18,
    ETL_BUFFER_CPU = 0x28,
    ETL_BUFFER_LOGGER = 0x2a,
    ETL_BUFFER_STATE = 0x2c,
    ETL_BUFFER_OFFSET = 0x30,
    ETL_BUFFER_FLAGS = 0x34,
    ETL_BUFFER_TYPE = 0x36,
    ETL_BUFFER_HEADER_SIZE = 0x48,
};

enum etl_buffer_flag {
    ETL_FLAG_PROC_INDEX = 0x0020, /* the processor number has 11 bits instead of 8 */
    ETL_FLAG_COMPRESSED = 0x0040,
    ETL_FLAGS_KNOWN = 0x007f,
};

enum etl_buffer_type {
    ETL_TYPE_HEADER = 4,
    ETL_TYPE_LAST = 7,
};

/* Limits of Windows (MAX_ETW_BUFFER_SIZE, ETW_PROCESSOR_INDEX_MASK). A record's size has 16
 * bits. */
enum {
    ETL_MAX_BUFFER_BYTES = 16 * 1024 * 1024,
    ETL_MAX_RECORD_BYTES = 65535,
    ETL_CPU_MASK = 0x07ff,
};

/* HeaderType: byte 2 of a record whose upper two bits are set. */
enum etl_header_type {
    ETL_SYSTEM32 = 1,
    ETL_SYSTEM64 = 2,
    ETL_COMPACT32 = 3,
    ETL_COMPACT64 = 4,
    ETL_FULL_HEADER32 = 10,
    ETL_INSTANCE32 = 11,
    ETL_MESSAGE = 15, /* used for message records, which have no HeaderType */
    ETL_PERFINFO32 = 16,
    ETL_PERFINFO64 = 17,
    ETL_EVENT_HEADER32 = 18,
    ETL_EVENT_HEADER64 = 19,
    ETL_FULL_HEADER64 = 20,
    ETL_INSTANCE64 = 21,
    ETL_ULONG32_TIME = 0xb0, /* our number for marker 0xb000: TRACE_HEADER_ULONG32_TIME */
};

/* Sizes of the fixed record headers. */
enum {
    ETL_RECORD_START_SIZE = 8, /* every record has marker and size in its first 8 bytes */
    ETL_COMPACT_SIZE = 0x18,
    ETL_SYSTEM_SIZE = 0x20,
    ETL_PERFINFO_SIZE = 0x10,
    ETL_FULL_HEADER_SIZE = 0x30,
    ETL_INSTANCE_SIZE = 0x48,
    ETL_EVENT_HEADER_SIZE = 0x50,
    ETL_RECORD_ALIGNMENT = 8,
};

/* Extension bits in the version word of PERFINFO headers (TRACE_HEADER_*, ntwmi.h). */
enum {
    ETL_PERFINFO_PEBS = 0x8000,     /* a u64 PEBS index follows the header */
    ETL_PERFINFO_COUNTERS = 0x0700, /* number of u64 PMC counters that follow */
    ETL_PERFINFO_COUNTERS_SHIFT = 8,
};

/* OptionFlags of message records (TRACE_MESSAGE_*, evntrace.h), in the order of their fields. */
enum {
    ETL_WPP_SEQUENCE = 0x01,
    ETL_WPP_GUID = 0x02,
    ETL_WPP_COMPONENT = 0x04,
    ETL_WPP_TIMESTAMP = 0x08,
    ETL_WPP_SYSTEMINFO = 0x20,
    ETL_WPP_POINTER32 = 0x40,
    ETL_WPP_POINTER64 = 0x80,
};

/* LogFileMode (EVENT_TRACE_*, evntrace.h). */
enum {
    ETL_MODE_CIRCULAR = 0x00000002,
    ETL_MODE_PREALLOCATE = 0x00000020,
    ETL_MODE_PRIVATE_LOGGER = 0x00000800,
    /* message records are numbered across all such sessions */
    ETL_MODE_GLOBAL_SEQUENCE = 0x00004000,
    ETL_MODE_LOCAL_SEQUENCE = 0x00008000, /* message records are numbered within the session */
    ETL_MODE_PRIVATE_IN_PROC = 0x00020000,
    ETL_MODE_COMPRESSED = 0x04000000,
};

#endif
