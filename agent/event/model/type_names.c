#include "event/model/type_names.h"

struct named_type {
    const char *name;
    uint16_t value;
};

static const struct named_type in_types[] = {
    {"UnicodeString", IN_UNICODE_STRING},
    {"AnsiString", IN_ANSI_STRING},
    {"Int8", IN_INT8},
    {"UInt8", IN_UINT8},
    {"Int16", IN_INT16},
    {"UInt16", IN_UINT16},
    {"Int32", IN_INT32},
    {"UInt32", IN_UINT32},
    {"Int64", IN_INT64},
    {"UInt64", IN_UINT64},
    {"Float", IN_FLOAT},
    {"Double", IN_DOUBLE},
    {"Boolean", IN_BOOLEAN},
    {"Binary", IN_BINARY},
    {"GUID", IN_GUID},
    {"Pointer", IN_POINTER},
    {"FILETIME", IN_FILETIME},
    {"SYSTEMTIME", IN_SYSTEMTIME},
    {"SID", IN_SID},
    {"HexInt32", IN_HEX_INT32},
    {"HexInt64", IN_HEX_INT64},
    {"CountedUnicodeString", IN_MANIFEST_COUNTED_STRING},
    {"CountedAnsiString", IN_MANIFEST_COUNTED_ANSI_STRING},
    {"CountedBinary", IN_MANIFEST_COUNTED_BINARY},
    {"WbemCountedString", IN_COUNTED_STRING},
    {"WbemCountedAnsiString", IN_COUNTED_ANSI_STRING},
    {"ReversedCountedString", IN_REVERSED_COUNTED_STRING},
    {"ReversedCountedAnsiString", IN_REVERSED_COUNTED_ANSI_STRING},
    {"NonNullTerminatedString", IN_NON_NUL_TERMINATED_STRING},
    {"NonNullTerminatedAnsiString", IN_NON_NUL_TERMINATED_ANSI_STRING},
    {"UnicodeChar", IN_UNICODE_CHAR},
    {"AnsiChar", IN_ANSI_CHAR},
    {"SizeT", IN_SIZE_T},
    {"HexDump", IN_HEX_DUMP},
    {"WbemSid", IN_WBEM_SID},
    {"WppSid", IN_WPP_SID},
    {"WmiTime", IN_WMI_TIME},
    /* Spellings of TraceEvent (PerfView) in manifests of registered providers. */
    {"CountedUtf16String", IN_MANIFEST_COUNTED_STRING},
    {"CountedMbcsString", IN_MANIFEST_COUNTED_ANSI_STRING},
    {"CountedString", IN_COUNTED_STRING},
};

static const struct named_type out_types[] = {
    {"string", OUT_STRING},
    {"dateTime", OUT_DATETIME},
    {"byte", OUT_BYTE},
    {"unsignedByte", OUT_UNSIGNED_BYTE},
    {"short", OUT_SHORT},
    {"unsignedShort", OUT_UNSIGNED_SHORT},
    {"int", OUT_INT},
    {"unsignedInt", OUT_UNSIGNED_INT},
    {"long", OUT_LONG},
    {"unsignedLong", OUT_UNSIGNED_LONG},
    {"float", OUT_FLOAT},
    {"double", OUT_DOUBLE},
    {"boolean", OUT_BOOLEAN},
    {"GUID", OUT_GUID},
    {"hexBinary", OUT_HEX_BINARY},
    {"HexInt8", OUT_HEX_INT8},
    {"HexInt16", OUT_HEX_INT16},
    {"HexInt32", OUT_HEX_INT32},
    {"HexInt64", OUT_HEX_INT64},
    {"PID", OUT_PID},
    {"TID", OUT_TID},
    {"Port", OUT_PORT},
    {"IPv4", OUT_IPV4},
    {"IPv6", OUT_IPV6},
    {"SocketAddress", OUT_SOCKET_ADDRESS},
    {"CIMDateTime", OUT_CIM_DATETIME},
    {"ETWTIME", OUT_ETW_TIME},
    {"Xml", OUT_XML},
    {"ErrorCode", OUT_ERROR_CODE},
    {"Win32Error", OUT_WIN32_ERROR},
    {"NTSTATUS", OUT_NTSTATUS},
    {"HResult", OUT_HRESULT},
    {"DateTimeCultureInsensitive", OUT_CULTURE_INSENSITIVE_DATETIME},
    {"Json", OUT_JSON},
    {"Utf8", OUT_UTF8},
    {"Pkcs7WithTypeInfo", OUT_PKCS7_WITH_TYPE_INFO},
    {"CodePointer", OUT_CODE_POINTER},
    {"DateTimeUtc", OUT_DATETIME_UTC},
    {"ReducedString", OUT_REDUCED_STRING},
    {"NoPrint", OUT_NO_PRINT},
};

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

static const char *name_of(const struct named_type *table, size_t count, uint16_t value)
{
    for (size_t i = 0; i < count; i++) {
        if (table[i].value == value) {
            return table[i].name;
        }
    }
    return NULL;
}

static bool find(const struct named_type *table, size_t count, struct span name, uint16_t *ret_type)
{
    for (size_t i = 0; i < count; i++) {
        if (span_equal_nocase(name, span_text(table[i].name))) {
            *ret_type = table[i].value;
            return true;
        }
    }
    return false;
}

const char *type_names_in(uint16_t in_type)
{
    const char *name = name_of(in_types, COUNT_OF(in_types), in_type);
    return name ? name : "unknown";
}

const char *type_names_out(uint16_t out_type)
{
    const char *name = name_of(out_types, COUNT_OF(out_types), out_type);
    return name ? name : "unknown";
}

bool type_names_knows_out(uint16_t out_type)
{
    return name_of(out_types, COUNT_OF(out_types), out_type) != NULL;
}

bool type_names_find_in(struct span name, uint16_t *ret_type)
{
    return find(in_types, COUNT_OF(in_types), name, ret_type);
}

bool type_names_find_out(struct span name, uint16_t *ret_type)
{
    return find(out_types, COUNT_OF(out_types), name, ret_type);
}
