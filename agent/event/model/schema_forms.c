#include "event/model/schema_forms.h"

static enum value_form form_of_string(uint16_t in_type, uint16_t out_type)
{
    switch (in_type) {
    case IN_ANSI_STRING:
    case IN_MANIFEST_COUNTED_ANSI_STRING:
    case IN_COUNTED_ANSI_STRING:
    case IN_REVERSED_COUNTED_ANSI_STRING:
    case IN_NON_NUL_TERMINATED_ANSI_STRING:
        return out_type == OUT_UTF8 || out_type == OUT_XML || out_type == OUT_JSON ? FORM_UTF8
                                                                                   : FORM_ANSI;
    default:
        return FORM_UTF16;
    }
}

static enum value_form form_of_8_bits(bool is_signed, uint16_t out_type)
{
    switch (out_type) {
    case OUT_STRING:
        return FORM_CHAR8;
    case OUT_BOOLEAN:
        return FORM_BOOL8;
    case OUT_HEX_INT8:
    case OUT_HEX_INT16:
    case OUT_HEX_INT32:
    case OUT_HEX_INT64:
        return FORM_HEX8;
    case OUT_UNSIGNED_BYTE:
        return FORM_UINT8;
    case OUT_BYTE:
        return FORM_INT8;
    default:
        return is_signed ? FORM_INT8 : FORM_UINT8;
    }
}

static enum value_form form_of_16_bits(bool is_signed, uint16_t out_type)
{
    switch (out_type) {
    case OUT_STRING:
        return FORM_CHAR16;
    case OUT_BOOLEAN:
        return FORM_BOOL16;
    case OUT_PORT:
        return FORM_PORT;
    case OUT_HEX_INT16:
    case OUT_HEX_INT32:
    case OUT_HEX_INT64:
    case OUT_ERROR_CODE:
        return FORM_HEX16;
    case OUT_UNSIGNED_SHORT:
        return FORM_UINT16;
    case OUT_SHORT:
        return FORM_INT16;
    default:
        return is_signed ? FORM_INT16 : FORM_UINT16;
    }
}

static enum value_form form_of_32_bits(bool is_signed, uint16_t out_type)
{
    switch (out_type) {
    case OUT_BOOLEAN:
        return FORM_BOOL32;
    case OUT_IPV4:
        return FORM_IPV4;
    case OUT_HEX_INT32:
    case OUT_HEX_INT64:
    case OUT_ERROR_CODE:
    case OUT_CODE_POINTER:
        return FORM_HEX32;
    case OUT_NTSTATUS:
        return FORM_NTSTATUS;
    case OUT_HRESULT:
        return FORM_HRESULT;
    case OUT_WIN32_ERROR:
        return FORM_WIN32_ERROR;
    case OUT_PID:
    case OUT_TID:
    case OUT_UNSIGNED_INT:
        return FORM_UINT32;
    case OUT_INT:
        return FORM_INT32;
    default:
        return is_signed ? FORM_INT32 : FORM_UINT32;
    }
}

static enum value_form form_of_64_bits(bool is_signed, uint16_t out_type)
{
    switch (out_type) {
    case OUT_HEX_INT64:
    case OUT_HEX_INT32:
    case OUT_CODE_POINTER:
    case OUT_ERROR_CODE:
        return FORM_HEX64;
    case OUT_DATETIME:
    case OUT_DATETIME_UTC:
    case OUT_CULTURE_INSENSITIVE_DATETIME:
        return FORM_FILETIME;
    case OUT_UNSIGNED_LONG:
    case OUT_PID:
    case OUT_TID:
        return FORM_UINT64;
    case OUT_LONG:
        return FORM_INT64;
    default:
        return is_signed ? FORM_INT64 : FORM_UINT64;
    }
}

static enum value_form form_of_pointer(uint16_t out_type)
{
    switch (out_type) {
    case OUT_LONG:
    case OUT_INT:
        return FORM_POINTER_SINT;
    case OUT_UNSIGNED_LONG:
    case OUT_UNSIGNED_INT:
    case OUT_PID:
    case OUT_TID:
        return FORM_POINTER_INT;
    default:
        return FORM_POINTER;
    }
}

static enum value_form form_of_binary(uint16_t out_type)
{
    switch (out_type) {
    case OUT_IPV6:
        return FORM_IPV6;
    case OUT_SOCKET_ADDRESS:
        return FORM_SOCKET_ADDRESS;
    default:
        return FORM_BINARY;
    }
}

enum value_form schema_forms_of(uint16_t in_type, uint16_t out_type)
{
    switch (in_type) {
    case IN_INT8:
    case IN_UINT8:
        return form_of_8_bits(in_type == IN_INT8, out_type);
    case IN_INT16:
    case IN_UINT16:
        return form_of_16_bits(in_type == IN_INT16, out_type);
    case IN_INT32:
    case IN_UINT32:
        return form_of_32_bits(in_type == IN_INT32, out_type);
    case IN_HEX_INT32:
        return form_of_32_bits(false, out_type == OUT_NULL ? OUT_HEX_INT32 : out_type);
    case IN_INT64:
    case IN_UINT64:
        return form_of_64_bits(in_type == IN_INT64, out_type);
    case IN_HEX_INT64:
        return form_of_64_bits(false, out_type == OUT_NULL ? OUT_HEX_INT64 : out_type);
    case IN_FLOAT:
        return FORM_FLOAT;
    case IN_DOUBLE:
        return FORM_DOUBLE;
    case IN_BOOLEAN:
        return FORM_BOOL32;
    case IN_BINARY:
    case IN_MANIFEST_COUNTED_BINARY:
    case IN_HEX_DUMP:
        return form_of_binary(out_type);
    case IN_GUID:
        return FORM_GUID;
    case IN_POINTER:
    case IN_SIZE_T:
        return form_of_pointer(out_type);
    case IN_FILETIME:
        return FORM_FILETIME;
    case IN_SYSTEMTIME:
        return out_type == OUT_DATETIME_UTC ? FORM_SYSTEMTIME_UTC : FORM_SYSTEMTIME;
    case IN_SID:
    case IN_WBEM_SID:
    case IN_WPP_SID:
        return FORM_SID;
    case IN_UNICODE_CHAR:
        return FORM_CHAR16;
    case IN_ANSI_CHAR:
        return FORM_CHAR8;
    case IN_WMI_TIME:
        return FORM_WMI_TIME;
    case IN_UNICODE_STRING:
    case IN_ANSI_STRING:
    case IN_MANIFEST_COUNTED_STRING:
    case IN_MANIFEST_COUNTED_ANSI_STRING:
    case IN_COUNTED_STRING:
    case IN_COUNTED_ANSI_STRING:
    case IN_REVERSED_COUNTED_STRING:
    case IN_REVERSED_COUNTED_ANSI_STRING:
    case IN_NON_NUL_TERMINATED_STRING:
    case IN_NON_NUL_TERMINATED_ANSI_STRING:
        return form_of_string(in_type, out_type);
    default:
        return FORM_NONE;
    }
}

uint8_t schema_forms_fixed_size(uint16_t in_type)
{
    switch (in_type) {
    case IN_INT8:
    case IN_UINT8:
    case IN_ANSI_CHAR:
        return 1;
    case IN_INT16:
    case IN_UINT16:
    case IN_UNICODE_CHAR:
        return 2;
    case IN_INT32:
    case IN_UINT32:
    case IN_HEX_INT32:
    case IN_FLOAT:
    case IN_BOOLEAN:
        return 4;
    case IN_INT64:
    case IN_UINT64:
    case IN_HEX_INT64:
    case IN_DOUBLE:
    case IN_FILETIME:
    case IN_WMI_TIME:
        return 8;
    case IN_GUID:
    case IN_SYSTEMTIME:
        return 16;
    default:
        return 0;
    }
}
