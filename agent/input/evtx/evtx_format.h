#ifndef ETWSHIP_INPUT_EVTX_FORMAT_H
#define ETWSHIP_INPUT_EVTX_FORMAT_H

/*
 * Constants of the .evtx format, the files of the Windows Event Log. "Windows XML Event Log (EVTX)
 * format" (libevtx, J. Metz) describes the file, [MS-EVEN6] 2.2.12 ff. the binary XML in it. All
 * numbers are little-endian. Offsets in a chunk count from the chunk's start.
 */
enum {
    EVTX_FILE_HEADER_BYTES = 4096, /* the chunks follow it */
    EVTX_FILE_HEADER_SIZE_AT = 40, /* u16: bytes before the first chunk */
    EVTX_FILE_FLAGS_AT = 120,      /* u32: enum evtx_flag */

    EVTX_CHUNK_BYTES = 65536,
    EVTX_CHUNK_HEADER_BYTES = 512, /* with its tables of names and templates; records follow */
    EVTX_CHUNK_FIRST_NUMBER_AT = 8,
    EVTX_CHUNK_LAST_NUMBER_AT = 16,
    EVTX_CHUNK_FREE_AT = 48,         /* u32: end of the records */
    EVTX_CHUNK_RECORDS_CRC_AT = 52,  /* u32: of the records; 0: not set */
    EVTX_CHUNK_FLAGS_AT = 120,       /* u32: enum evtx_flag */
    EVTX_CHUNK_HEADER_CRC_AT = 124,  /* u32: of the header without flags and this; 0: not set */
    EVTX_CHUNK_HEADER_REST_AT = 128, /* the tables of names and templates */

    EVTX_RECORD_MAGIC = 0x2a2a,
    EVTX_RECORD_HEAD_BYTES = 24, /* magic, size, id, time */
    EVTX_RECORD_TAIL_BYTES = 4,  /* the size again */
};

/* Flags of files and chunks. */
enum evtx_flag {
    EVTX_FLAG_DIRTY = 0x1,  /* open, or never closed */
    EVTX_FLAG_NO_CRC = 0x4, /* the checksums are not valid */
};

#define EVTX_FILE_MAGIC "ElfFile"
#define EVTX_CHUNK_MAGIC "ElfChnk"

/* Tokens of binary XML. */
enum evtx_token {
    EVTX_TOKEN_END = 0x00,
    EVTX_TOKEN_OPEN_ELEMENT = 0x01,
    EVTX_TOKEN_CLOSE_START = 0x02,
    EVTX_TOKEN_CLOSE_EMPTY = 0x03,
    EVTX_TOKEN_END_ELEMENT = 0x04,
    EVTX_TOKEN_VALUE = 0x05,
    EVTX_TOKEN_ATTRIBUTE = 0x06,
    EVTX_TOKEN_CDATA = 0x07,
    EVTX_TOKEN_CHAR_REF = 0x08,
    EVTX_TOKEN_ENTITY_REF = 0x09,
    EVTX_TOKEN_PI_TARGET = 0x0a,
    EVTX_TOKEN_PI_DATA = 0x0b,
    EVTX_TOKEN_TEMPLATE = 0x0c,
    EVTX_TOKEN_VALUE_OF = 0x0d,
    EVTX_TOKEN_OPTIONAL_VALUE_OF = 0x0e,
    EVTX_TOKEN_FRAGMENT = 0x0f,
    EVTX_TOKEN_MASK = 0x3f,
    EVTX_TOKEN_MORE = 0x40, /* flag: an element has attributes, or more parts follow */
};

/* Types of values. */
enum evtx_type {
    EVTX_NULL = 0x00,
    EVTX_TEXT16 = 0x01,
    EVTX_TEXT8 = 0x02,
    EVTX_INT8 = 0x03,
    EVTX_UINT8 = 0x04,
    EVTX_INT16 = 0x05,
    EVTX_UINT16 = 0x06,
    EVTX_INT32 = 0x07,
    EVTX_UINT32 = 0x08,
    EVTX_INT64 = 0x09,
    EVTX_UINT64 = 0x0a,
    EVTX_FLOAT = 0x0b,
    EVTX_DOUBLE = 0x0c,
    EVTX_BOOL = 0x0d,
    EVTX_BINARY = 0x0e,
    EVTX_GUID = 0x0f,
    EVTX_SIZE = 0x10,
    EVTX_FILETIME = 0x11,
    EVTX_SYSTEMTIME = 0x12,
    EVTX_SID = 0x13,
    EVTX_HEX32 = 0x14,
    EVTX_HEX64 = 0x15,
    EVTX_HANDLE = 0x20,
    EVTX_BINARY_XML = 0x21,
    EVTX_XML = 0x23,
    EVTX_ARRAY = 0x80, /* flag: an array of values; each text ends with its NUL */
    EVTX_ELEMENT_MASK = 0x7f,
};

#endif
