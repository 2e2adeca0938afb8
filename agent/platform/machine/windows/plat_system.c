#include "platform/plat_system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "platform/windows/plat_cng.h"
#include "platform/windows/plat_wide.h"

void plat_host_name(char *name, size_t size)
{
    if (size == 0) {
        return;
    }
    name[0] = '\0';
    DWORD units = 0;
    GetComputerNameExW(ComputerNameDnsHostname, NULL, &units);
    wchar_t *wide = units ? malloc(units * sizeof(*wide)) : NULL;
    char *text = NULL;
    if (wide && GetComputerNameExW(ComputerNameDnsHostname, wide, &units)) {
        text = plat_wide_to_utf8(wide);
    }
    if (text) {
        struct span cut = span_first(span_text(text), size - 1);
        memcpy(name, cut.data, cut.size);
        name[cut.size] = '\0';
    }
    free(text);
    free(wide);
}

bool plat_random(void *data, size_t size, struct error *err)
{
    enum { MAX_CALL_BYTES = 65536, SYSTEM_PREFERRED = 2 };
    LONG(WINAPI * random)(void *algorithm, UCHAR *data, ULONG size, ULONG flags);
    const struct plat_cng_function function = {"BCryptGenRandom", &random};
    if (!plat_cng_find(&function, 1, err)) {
        return false;
    }
    while (size) {
        ULONG want = size < MAX_CALL_BYTES ? (ULONG)size : MAX_CALL_BYTES;
        LONG status = random(NULL, data, want, SYSTEM_PREFERRED);
        if (status < 0) {
            return error_set_os(err, status, "BCryptGenRandom failed",
                "cannot get random numbers (0x%08lx)", status);
        }
        data = (uint8_t *)data + want;
        size -= want;
    }
    return true;
}

bool plat_has_etw(void)
{
    return true;
}

/* The ProgramData folder followed by ${below}. */
static const char *below_program_data(char *path, size_t size, struct span below)
{
    const wchar_t *value = _wgetenv(L"ProgramData");
    char *folder = plat_wide_to_utf8(value && *value ? value : L"C:\\ProgramData");
    struct span cut = span_first(span_text(folder), size - below.size - 1);
    if (cut.size) {
        memcpy(path, cut.data, cut.size);
    }
    memcpy(path + cut.size, below.data, below.size);
    path[cut.size + below.size] = 0;
    free(folder);
    return path;
}

enum { DEFAULT_PATH_BYTES = MAX_PATH * 3 + 64 };

const char *plat_default_config_path(void)
{
    static char path[DEFAULT_PATH_BYTES];
    return below_program_data(path, sizeof(path), span_text("\\etwship\\config\\etwship.yaml"));
}

const char *plat_default_data_folder(void)
{
    static char path[DEFAULT_PATH_BYTES];
    return below_program_data(path, sizeof(path), span_text("\\etwship"));
}
