#ifndef ETWSHIP_EVENT_SCHEMA_H
#define ETWSHIP_EVENT_SCHEMA_H

#include "base/arena.h"
#include "base/error.h"
#include "event/model/record.h"

/*
 * Layout and names of one event type, from any kind of definition. Immutable once schema_finish()
 * has returned; lives in the arena of its source. All text is UTF-8.
 */

/* TDH_IN_TYPE (tdh.h). Values above 0x1ff are our own, for layouts without a TDH type. */
enum in_type {
    IN_NULL = 0,
    IN_UNICODE_STRING = 1,
    IN_ANSI_STRING = 2,
    IN_INT8 = 3,
    IN_UINT8 = 4,
    IN_INT16 = 5,
    IN_UINT16 = 6,
    IN_INT32 = 7,
    IN_UINT32 = 8,
    IN_INT64 = 9,
    IN_UINT64 = 10,
    IN_FLOAT = 11,
    IN_DOUBLE = 12,
    IN_BOOLEAN = 13, /* 4 bytes */
    IN_BINARY = 14,
    IN_GUID = 15,
    IN_POINTER = 16,
    IN_FILETIME = 17,
    IN_SYSTEMTIME = 18,
    IN_SID = 19,
    IN_HEX_INT32 = 20,
    IN_HEX_INT64 = 21,
    IN_MANIFEST_COUNTED_STRING = 22,      /* u16 byte count, UTF-16 */
    IN_MANIFEST_COUNTED_ANSI_STRING = 23, /* u16 byte count, bytes */
    IN_RESERVED24 = 24,                   /* TraceLogging: struct */
    IN_MANIFEST_COUNTED_BINARY = 25,      /* u16 byte count, bytes */
    IN_COUNTED_STRING = 300,              /* u16 byte count, UTF-16 */
    IN_COUNTED_ANSI_STRING = 301,
    IN_REVERSED_COUNTED_STRING = 302, /* big-endian u16 byte count, UTF-16LE */
    IN_REVERSED_COUNTED_ANSI_STRING = 303,
    IN_NON_NUL_TERMINATED_STRING = 304, /* rest of the payload */
    IN_NON_NUL_TERMINATED_ANSI_STRING = 305,
    IN_UNICODE_CHAR = 306,
    IN_ANSI_CHAR = 307,
    IN_SIZE_T = 308,
    IN_HEX_DUMP = 309,   /* u32 byte count, bytes */
    IN_WBEM_SID = 310,   /* TOKEN_USER, then SID */
    IN_WMI_TIME = 0x200, /* 8 bytes, raw stamp of the session clock */
    IN_WPP_SID = 0x202,  /* a SID, or the ANSI text NULL if there is none */
};

/* TDH_OUT_TYPE (tdh.h). */
enum out_type {
    OUT_NULL = 0, /* the in type's default */
    OUT_STRING = 1,
    OUT_DATETIME = 2,
    OUT_BYTE = 3,
    OUT_UNSIGNED_BYTE = 4,
    OUT_SHORT = 5,
    OUT_UNSIGNED_SHORT = 6,
    OUT_INT = 7,
    OUT_UNSIGNED_INT = 8,
    OUT_LONG = 9,
    OUT_UNSIGNED_LONG = 10,
    OUT_FLOAT = 11,
    OUT_DOUBLE = 12,
    OUT_BOOLEAN = 13,
    OUT_GUID = 14,
    OUT_HEX_BINARY = 15,
    OUT_HEX_INT8 = 16,
    OUT_HEX_INT16 = 17,
    OUT_HEX_INT32 = 18,
    OUT_HEX_INT64 = 19,
    OUT_PID = 20,
    OUT_TID = 21,
    OUT_PORT = 22,
    OUT_IPV4 = 23,
    OUT_IPV6 = 24,
    OUT_SOCKET_ADDRESS = 25,
    OUT_CIM_DATETIME = 26,
    OUT_ETW_TIME = 27,
    OUT_XML = 28,
    OUT_ERROR_CODE = 29,
    OUT_WIN32_ERROR = 30,
    OUT_NTSTATUS = 31,
    OUT_HRESULT = 32,
    OUT_CULTURE_INSENSITIVE_DATETIME = 33,
    OUT_JSON = 34,
    OUT_UTF8 = 35,
    OUT_PKCS7_WITH_TYPE_INFO = 36,
    OUT_CODE_POINTER = 37,
    OUT_DATETIME_UTC = 38,
    OUT_REDUCED_STRING = 300,
    OUT_NO_PRINT = 301,
};

enum field_flags {
    FIELD_STRUCT = 0x01,       /* struct_start, struct_members are valid, in_type is not */
    FIELD_PARAM_LENGTH = 0x02, /* length is the index of the property that holds it */
    FIELD_PARAM_COUNT = 0x04,  /* count is the index of the property that holds it */
    FIELD_FIXED_LENGTH = 0x08, /* length counts even where it is 0 */
    FIELD_FIXED_COUNT = 0x10,  /* an array even where count is 1 */
    FIELD_REST_COUNT = 0x20,   /* as many elements as fit into the rest of the payload */
    FIELD_COUNTED = 0x40,      /* u16 element count precedes the elements (TraceLogging Vcount) */
    FIELD_OPTIONAL = 0x80,     /* present only if payload bytes remain */
    FIELD_IS_NUMBER = 0x100,   /* another property's length or count: set by schema_finish */
    FIELD_EDITED = 0x200,      /* not from a schema: a rule replaced or removed the value
                             (event_editor.h) */
    FIELD_CORRECTED = 0x400,   /* differs from its source: schema/source/corrections.h */
};

/* How the value is shown (interface of the event: "Values" in docs/reference/events.md). Derived
 * from in type, out type and map by schema_finish. */
enum value_form {
    FORM_NONE,
    FORM_INT8,
    FORM_UINT8,
    FORM_INT16,
    FORM_UINT16,
    FORM_INT32,
    FORM_UINT32,
    FORM_INT64,
    FORM_UINT64,
    FORM_FLOAT,
    FORM_DOUBLE,
    FORM_BOOL8,
    FORM_BOOL16,
    FORM_BOOL32,
    FORM_HEX8,
    FORM_HEX16,
    FORM_HEX32,
    FORM_HEX64,
    FORM_POINTER,     /* "0x…", width by the record */
    FORM_POINTER_INT, /* unsigned number, width by the record */
    FORM_POINTER_SINT,
    FORM_UTF16,
    FORM_ANSI,
    FORM_UTF8,
    FORM_CHAR8,
    FORM_CHAR16,
    FORM_BINARY,
    FORM_GUID,
    FORM_FILETIME,
    FORM_SYSTEMTIME,
    FORM_SYSTEMTIME_UTC,
    FORM_WMI_TIME,
    FORM_SID,
    FORM_PORT, /* big-endian u16 */
    FORM_IPV4,
    FORM_IPV6,
    FORM_SOCKET_ADDRESS,
    FORM_NTSTATUS, /* number, and <field>_name where the code is known */
    FORM_HRESULT,
    FORM_WIN32_ERROR,
    FORM_ABSENT, /* FIELD_EDITED: the field was removed but keeps its place in the field array */
};

/* How the decoder finds the bytes of a property. Derived by schema_finish. */
enum field_take {
    TAKE_GENERAL, /* all others, also lengths and counts of other properties */
    TAKE_FIXED,   /* fixed_size bytes */
    TAKE_POINTER, /* 4 or 8 bytes by the record */
    TAKE_TEXT16,  /* UTF-16 up to a NUL */
    TAKE_TEXT8,   /* bytes up to a NUL */
    TAKE_COUNTED, /* a u16 that counts the bytes after it */
};

enum map_kind {
    MAP_VALUE, /* exact match */
    MAP_BITS,  /* entries are masks; names of all that are set */
};

struct schema_map_entry {
    uint64_t value;
    struct span text; /* UTF-8 */
};

struct schema_map {
    enum map_kind kind;
    const struct schema_map_entry
        *entries; /* MAP_VALUE: ascending by value after schema_finish_map */
    size_t entry_count;
    struct span name; /* name in the source; may be empty */
};

struct field;
struct schema_parameters; /* event/model/schema_parameters.h */

/*
 * Siblings that are scalars of fixed size, not arrays, structs or optional: their offsets from the
 * start of the first are constant. As decoded fields (event.h), whose data pointers are offsets
 * into the run, and whose ends count from its first.
 */
struct schema_run {
    const struct field *fields;
    uint32_t bytes; /* of all */
    uint16_t count;
    bool has_numbers; /* some are lengths or counts of other properties */
};

struct schema_field {
    struct span name; /* as the source spells it; may be empty until schema_finish */
    uint16_t in_type;
    uint16_t out_type;
    uint16_t flags;
    uint16_t count;          /* elements, or property index with FIELD_PARAM_COUNT */
    uint16_t length;         /* UTF-16 units or bytes, or property index with FIELD_PARAM_LENGTH */
    uint16_t struct_start;   /* property index of the first member */
    uint16_t struct_members; /* direct members */
    const struct schema_map *map; /* or NULL */
    const struct schema_parameters
        *parameters; /* texts that its value, a text, may refer to; NULL: none */

    /* Set by schema_finish. */
    uint8_t form;       /* enum value_form */
    uint8_t fixed_size; /* bytes of one value; 0 variable; pointers: see pointer_sized */
    bool pointer_sized; /* 4 or 8 bytes by the record */
    bool is_array;
    uint8_t take;         /* enum field_take */
    bool is_special;      /* more than a single value is shown, or it may be absent */
    bool may_hold_nul;    /* strings: length given, so the text may end before the bytes do */
    struct span json_key; /* `"Name":` with the escaped, unique name */
    struct span name_key; /* `"Name_name":`, for values that may have a name */
    struct span raw_key;  /* `"Name_raw":`, for numbers that may have a name */
    const struct schema_run *runs; /* that start here, by pointer size: [0] 4, [1] 8; NULL: none */
};

enum schema_kind {
    SCHEMA_UNKNOWN, /* no definition: the record's header alone */
    SCHEMA_MANIFEST,
    SCHEMA_EVENTSOURCE,
    SCHEMA_TRACELOGGING,
    SCHEMA_MOF,
    SCHEMA_WPP,
    SCHEMA_STRING,
    SCHEMA_EVENTLOG, /* a record of an event log describes itself (event/model/record.h) */
};

/* Header values that a manifest does not define for its events: the descriptor has 0, events may
 * have any value. Unused for other kinds. */
enum schema_unstated {
    SCHEMA_NO_LEVEL = 0x01,
    SCHEMA_NO_KEYWORDS = 0x02, /* or not all of them */
    SCHEMA_NO_TASK = 0x04,
    SCHEMA_NO_OPCODE = 0x08,
    SCHEMA_NO_CHANNEL = 0x10,
    SCHEMA_UNSTATED_BITS = 5,
    SCHEMA_ALL_UNSTATED = (1 << SCHEMA_UNSTATED_BITS) - 1,
};

/* A name for a keyword bit, or with mask 0 one of the names of exactly the schema's keyword. */
struct schema_keyword {
    uint64_t mask;
    struct span name;
};

struct wpp_format; /* wpp_format.h */

struct event_schema {
    enum schema_kind kind;
    const char *source; /* name of the schema source, static: "tracelogging", "manifest", … */
    uint32_t serial;    /* dense number assigned by the cache: index into per-worker tables */
    bool has_layout;    /* false: names only, the payload's layout is unknown */

    struct guid provider;
    struct guid class_guid; /* MOF: event class; else zero */
    struct event_descriptor descriptor;
    uint8_t unstated; /* SCHEMA_NO_*: of the descriptor */
    struct span provider_name;
    struct span event_name; /* event.name; kernel: "Process/Start" */
    struct span task_name;
    struct span opcode_name;
    struct span level_name;
    struct span channel_name;
    const struct schema_keyword *keywords;
    size_t keyword_count;
    struct span message;          /* with %1-style inserts, as the source has it; empty: none */
    uint16_t language;            /* of message and names: LANGID; 0: unknown */
    bool inserts_are_leaves;      /* they count the values inside of structs, not the structs */
    const struct wpp_format *wpp; /* WPP: the message text and its arguments; NULL: unknown */
    const char *open_end; /* why nothing is known of the payload after the fields; NULL: it ends */

    struct schema_field *fields; /* top-level ones first, then struct members */
    uint16_t field_count;
    uint16_t top_count;

    /* Set by schema_finish. */
    bool uses_pointers;
    bool has_numbers;    /* some field is the length or count of another */
    bool has_long_names; /* some field's has more than SCHEMA_LONG_NAME_BYTES */
};

/* Limits for every source; schema_finish refuses more. */
enum {
    SCHEMA_MAX_FIELDS = 4096,
    SCHEMA_MAX_DEPTH = 8,
    SCHEMA_MAX_MAP_ENTRIES = 65536,
    SCHEMA_LONG_NAME_BYTES = 500,
};

/*
 * Check and complete a schema whose public part is filled: every index in range, structs nested at
 * most SCHEMA_MAX_DEPTH deep and never recursive, lengths and counts refer to other integer
 * properties, which count as 0 until they are decoded; then names are made unique (dots become `_`,
 * a second property of one name gets `_2`, an empty name `field_N`, a generated `_name` or `_raw`
 * gives way to a real property) and the derived members are set. Memory comes from ${arena}.
 * On failure the schema must not be used.
 */
bool schema_finish(struct event_schema *schema, struct arena *arena, struct error *err);

/* Sort the entries of a value map in place so that schema_map_find works. */
void schema_map_sort(struct schema_map_entry *entries, size_t count);

/* Text for ${value} in a value map, or the empty span with NULL data. */
struct span schema_map_find(const struct schema_map *map, uint64_t value);

/* True if the entry of a bit map applies to ${value}. An entry without bits applies to 0. */
static inline bool schema_map_entry_is_in(const struct schema_map_entry *entry, uint64_t value)
{
    return entry->value ? (value & entry->value) == entry->value : value == 0;
}

/* True if values of the field are characters, so that an array of them is one text. */
static inline bool schema_is_text(const struct schema_field *field)
{
    return field->form == FORM_CHAR8 || field->form == FORM_CHAR16;
}

/* True if values of this form (enum value_form) are texts or characters. */
static inline bool schema_form_is_string(uint8_t form)
{
    return form == FORM_UTF16 || form == FORM_CHAR16 || form == FORM_UTF8 || form == FORM_ANSI ||
           form == FORM_CHAR8;
}

/* True if values of this type (enum in_type) can be the length or count of another property. */
bool schema_is_integer(uint16_t in_type);

/* Name of a kind as `provider.kind` shows it. */
const char *schema_kind_name(enum schema_kind kind);

/* Predefined names of winmeta.xml (levels 1-5; opcodes 0-9, 240), NULL where there is none. */
const char *schema_level_name(uint8_t level);
const char *schema_opcode_name(uint8_t opcode);

#endif
