#include "platform/plat_winhttp.h"

#include <stddef.h>
#include <string.h>
#include <windows.h>
/* After windows.h, on which it depends. */
#include <winhttp.h>

#define SAME_PLACE(ours, member, theirs, field) \
    _Static_assert(offsetof(ours, member) == offsetof(theirs, field), #field)

_Static_assert(sizeof(struct plat_winhttp_named) == sizeof(WINHTTP_PROXY_INFO), "named");
SAME_PLACE(struct plat_winhttp_named, proxy, WINHTTP_PROXY_INFO, lpszProxy);
SAME_PLACE(struct plat_winhttp_named, bypass, WINHTTP_PROXY_INFO, lpszProxyBypass);
_Static_assert(
    sizeof(struct plat_winhttp_user) == sizeof(WINHTTP_CURRENT_USER_IE_PROXY_CONFIG), "user");
SAME_PLACE(
    struct plat_winhttp_user, script, WINHTTP_CURRENT_USER_IE_PROXY_CONFIG, lpszAutoConfigUrl);
SAME_PLACE(struct plat_winhttp_user, proxy, WINHTTP_CURRENT_USER_IE_PROXY_CONFIG, lpszProxy);
SAME_PLACE(struct plat_winhttp_user, bypass, WINHTTP_CURRENT_USER_IE_PROXY_CONFIG, lpszProxyBypass);
_Static_assert(sizeof(struct plat_winhttp_auto) == sizeof(WINHTTP_AUTOPROXY_OPTIONS), "auto");
SAME_PLACE(struct plat_winhttp_auto, script, WINHTTP_AUTOPROXY_OPTIONS, lpszAutoConfigUrl);
SAME_PLACE(struct plat_winhttp_auto, logs_in, WINHTTP_AUTOPROXY_OPTIONS, fAutoLogonIfChallenged);

static uint32_t last_error(void)
{
    return GetLastError();
}

/* winhttp.dll is not one of the "known DLLs", so Windows would first search the program's
 * folder. */
bool plat_winhttp_load(struct plat_winhttp *ret_winhttp)
{
    HMODULE winhttp = LoadLibraryExW(L"winhttp.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    struct plat_winhttp found = {.last_error = last_error};
    const struct {
        HMODULE module;
        const char *name;
        void *member;
    } functions[] = {
        {winhttp, "WinHttpOpen", &found.open},
        {winhttp, "WinHttpCloseHandle", &found.close},
        {winhttp, "WinHttpSetTimeouts", &found.set_timeouts},
        {winhttp, "WinHttpGetDefaultProxyConfiguration", &found.get_default},
        {winhttp, "WinHttpGetIEProxyConfigForCurrentUser", &found.get_user},
        {winhttp, "WinHttpGetProxyForUrl", &found.get_for_url},
        {GetModuleHandleW(L"kernel32.dll"), "GlobalFree", &found.free},
    };
    bool has_all = winhttp != NULL;
    for (size_t i = 0; has_all && i < sizeof(functions) / sizeof(functions[0]); i++) {
        FARPROC function = GetProcAddress(functions[i].module, functions[i].name);
        memcpy(functions[i].member, &function, sizeof(function));
        has_all = function != NULL;
    }
    *ret_winhttp = has_all ? found : (struct plat_winhttp){.open = NULL};
    return has_all;
}
