#include "event/type_names.h"

const char *type_names_in(uint16_t in_type)
{
    static const char *const manifest[] = {"Null", "UnicodeString", "AnsiString", "Int8", "UInt8",
        "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Float", "Double", "Boolean",
        "Binary", "GUID", "Pointer", "FILETIME", "SYSTEMTIME", "SID", "HexInt32", "HexInt64",
        "CountedUnicodeString", "CountedAnsiString", "Struct", "CountedBinary"};
    static const char *const wbem[] = {"CountedString", "CountedAnsiString",
        "ReversedCountedString", "ReversedCountedAnsiString", "NonNullTerminatedString",
        "NonNullTerminatedAnsiString", "UnicodeChar", "AnsiChar", "SizeT", "HexDump", "WbemSid"};
    if (in_type < sizeof(manifest) / sizeof(manifest[0])) {
        return manifest[in_type];
    }
    if (in_type >= IN_COUNTED_STRING && in_type <= IN_WBEM_SID) {
        return wbem[in_type - IN_COUNTED_STRING];
    }
    return in_type == IN_WMI_TIME ? "WmiTime" : "unknown";
}

const char *type_names_out(uint16_t out_type)
{
    static const char *const names[] = {"default", "string", "dateTime", "byte", "unsignedByte",
        "short", "unsignedShort", "int", "unsignedInt", "long", "unsignedLong", "float", "double",
        "boolean", "GUID", "hexBinary", "HexInt8", "HexInt16", "HexInt32", "HexInt64", "PID", "TID",
        "Port", "IPv4", "IPv6", "SocketAddress", "CimDateTime", "ETWTIME", "Xml", "ErrorCode",
        "Win32Error", "NTSTATUS", "HResult", "DateTimeCultureInsensitive", "Json", "Utf8",
        "Pkcs7WithTypeInfo", "CodePointer", "DateTimeUtc"};
    if (out_type < sizeof(names) / sizeof(names[0])) {
        return names[out_type];
    }
    return out_type == OUT_REDUCED_STRING ? "ReducedString"
           : out_type == OUT_NO_PRINT     ? "NoPrint"
                                          : "unknown";
}
