#include "etw/etw_registry.h"

#include <stdlib.h>
#include <windows.h>

#include "etw/etw_text.h"
#include "etw/etw_types.h"

/* The registry of Windows (winreg.h): every call opens the key it is given, since they are few. */
enum { MAX_KEY_UNITS = 2048, MAX_NAME_UNITS = 16384 };

static const REGSAM VIEW = KEY_WOW64_64KEY;

static bool encode(const char *text, wchar_t *units, size_t capacity)
{
    int size = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, units, (int)capacity);
    return size > 0;
}

static bool decode(const wchar_t *units, char ret_name[ETW_REGISTRY_NAME_BYTES])
{
    return WideCharToMultiByte(
               CP_UTF8, 0, units, -1, ret_name, ETW_REGISTRY_NAME_BYTES, NULL, NULL) > 0;
}

static uint32_t open_key(const char *key, REGSAM rights, HKEY *ret_key)
{
    wchar_t path[MAX_KEY_UNITS];
    if (!encode(key, path, MAX_KEY_UNITS)) {
        return ERROR_INVALID_PARAMETER;
    }
    return (uint32_t)RegOpenKeyExW(HKEY_LOCAL_MACHINE, path, 0, rights | VIEW, ret_key);
}

static uint32_t make(void *self, const char *key)
{
    wchar_t path[MAX_KEY_UNITS];
    HKEY made;
    (void)self;
    if (!encode(key, path, MAX_KEY_UNITS)) {
        return ERROR_INVALID_PARAMETER;
    }
    LSTATUS code = RegCreateKeyExW(HKEY_LOCAL_MACHINE, path, 0, NULL, REG_OPTION_NON_VOLATILE,
        KEY_SET_VALUE | VIEW, NULL, &made, NULL);
    if (code == ERROR_SUCCESS) {
        RegCloseKey(made);
    }
    return (uint32_t)code;
}

static uint32_t set_text(HKEY key, const wchar_t *name, struct span text)
{
    size_t capacity = text.size + 1;
    wchar_t *units = calloc(capacity, sizeof(*units));
    if (!units) {
        return ERROR_NOT_ENOUGH_MEMORY;
    }
    int size = text.size ? MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS,
                               (const char *)text.data, (int)text.size, units, (int)text.size)
                         : 0;
    LSTATUS code = ERROR_INVALID_PARAMETER;
    if (size > 0 || text.size == 0) {
        code = RegSetValueExW(key, name, 0, REG_SZ, (const BYTE *)units,
            (DWORD)(((size_t)size + 1) * sizeof(*units)));
    }
    free(units);
    return (uint32_t)code;
}

static uint32_t set(void *self, const char *key, const char *name, uint32_t type, struct span data)
{
    wchar_t units[MAX_KEY_UNITS];
    HKEY opened;
    (void)self;
    if (!encode(name, units, MAX_KEY_UNITS) || data.size > ETW_REGISTRY_MAX_DATA_BYTES) {
        return ERROR_INVALID_PARAMETER;
    }
    uint32_t code = open_key(key, KEY_SET_VALUE, &opened);
    if (code) {
        return code;
    }
    code = type == ETW_REGISTRY_TEXT
               ? set_text(opened, units, data)
               : (uint32_t)RegSetValueExW(opened, units, 0, type, data.data, (DWORD)data.size);
    RegCloseKey(opened);
    return code;
}

static uint32_t key_at(
    void *self, const char *key, uint32_t index, char ret_name[ETW_REGISTRY_NAME_BYTES])
{
    wchar_t units[ETW_REGISTRY_NAME_BYTES];
    DWORD size = ETW_REGISTRY_NAME_BYTES;
    HKEY opened;
    (void)self;
    uint32_t code = open_key(key, KEY_ENUMERATE_SUB_KEYS, &opened);
    if (code) {
        return code;
    }
    code = (uint32_t)RegEnumKeyExW(opened, index, units, &size, NULL, NULL, NULL, NULL);
    RegCloseKey(opened);
    return code || decode(units, ret_name) ? code : ERROR_INVALID_DATA;
}

/* A text may lack its terminator, have several, or end in half a unit (regqueryvalueexw,
 * remarks). */
static void put_text(const BYTE *data, DWORD bytes, struct buf *out)
{
    const wchar_t *units = (const wchar_t *)(const void *)data;
    int count = (int)(bytes / sizeof(*units));
    while (count > 0 && units[count - 1] == 0) {
        count--;
    }
    int size = count ? WideCharToMultiByte(CP_UTF8, 0, units, count, NULL, 0, NULL, NULL) : 0;
    if (size > 0 && buf_reserve(out, (size_t)size)) {
        WideCharToMultiByte(
            CP_UTF8, 0, units, count, (char *)out->data + out->size, size, NULL, NULL);
        out->size += (size_t)size;
    }
}

static uint32_t read_value(HKEY key, uint32_t index, char ret_name[ETW_REGISTRY_NAME_BYTES],
    uint32_t *ret_type, struct buf *ret_data)
{
    DWORD bytes = ETW_REGISTRY_MAX_DATA_BYTES;
    DWORD size = MAX_NAME_UNITS;
    DWORD type = 0;
    BYTE *data = malloc(bytes);
    wchar_t *units = malloc(MAX_NAME_UNITS * sizeof(*units));
    uint32_t code = ERROR_NOT_ENOUGH_MEMORY;
    if (data && units) {
        code = (uint32_t)RegEnumValueW(key, index, units, &size, NULL, &type, data, &bytes);
    }
    if (!code && !decode(units, ret_name)) {
        code = ERROR_INVALID_DATA;
    }
    if (!code && type == REG_SZ) {
        put_text(data, bytes, ret_data);
    } else if (!code) {
        buf_add(ret_data, data, bytes);
    }
    *ret_type = type;
    free(units);
    free(data);
    return !code && ret_data->failed ? ERROR_NOT_ENOUGH_MEMORY : code;
}

static uint32_t value_at(void *self, const char *key, uint32_t index,
    char ret_name[ETW_REGISTRY_NAME_BYTES], uint32_t *ret_type, struct buf *ret_data)
{
    HKEY opened;
    (void)self;
    buf_reset(ret_data);
    uint32_t code = open_key(key, KEY_QUERY_VALUE, &opened);
    if (!code) {
        code = read_value(opened, index, ret_name, ret_type, ret_data);
        RegCloseKey(opened);
    }
    return code;
}

static uint32_t remove_value(void *self, const char *key, const char *name)
{
    wchar_t units[MAX_KEY_UNITS];
    HKEY opened;
    (void)self;
    if (!encode(name, units, MAX_KEY_UNITS)) {
        return ERROR_INVALID_PARAMETER;
    }
    uint32_t code = open_key(key, KEY_SET_VALUE, &opened);
    if (!code) {
        code = (uint32_t)RegDeleteValueW(opened, units);
        RegCloseKey(opened);
    }
    return code;
}

/* RegDeleteTree deletes the content; the key itself needs its own call, as only that takes the
 * view. */
static uint32_t remove_key(void *self, const char *key)
{
    wchar_t path[MAX_KEY_UNITS];
    HKEY opened;
    (void)self;
    uint32_t code = open_key(
        key, DELETE | KEY_ENUMERATE_SUB_KEYS | KEY_QUERY_VALUE | KEY_SET_VALUE, &opened);
    if (!code) {
        code = (uint32_t)RegDeleteTreeW(opened, NULL);
        RegCloseKey(opened);
    }
    if (!code) {
        code = encode(key, path, MAX_KEY_UNITS)
                   ? (uint32_t)RegDeleteKeyExW(HKEY_LOCAL_MACHINE, path, VIEW, 0)
                   : ERROR_INVALID_PARAMETER;
    }
    return code;
}

const struct etw_registry_api *etw_registry_load(void)
{
    static const struct etw_registry_api api = {.make = make,
        .set = set,
        .key_at = key_at,
        .value_at = value_at,
        .remove_value = remove_value,
        .remove_key = remove_key};
    return &api;
}
