#include "etw/windows/etw_hold_groups.h"

#include <sddl.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GROUPS_BYTES = 64 * 1024 };

static const struct etw_hold_authz *in_use; /* NULL: those of Windows */

void etw_hold_groups_use(const struct etw_hold_authz *authz)
{
    in_use = authz;
}

bool etw_hold_groups_may_trace(const TOKEN_GROUPS *groups, DWORD attributes)
{
    bool may = false;
    for (DWORD i = 0; i < groups->GroupCount; i++) {
        const SID_AND_ATTRIBUTES *group = &groups->Groups[i];
        may = may || ((group->Attributes & attributes) == attributes &&
                         (IsWellKnownSid(group->Sid, WinBuiltinAdministratorsSid) ||
                             IsWellKnownSid(group->Sid, WinBuiltinPerfLoggingUsersSid)));
    }
    return may;
}

/* authz.dll is not one of the "known DLLs", so for an import Windows would search the program's
 * folder first. NULL: this Windows lacks a function. */
static HMODULE load(struct etw_hold_authz *ret_authz)
{
    HMODULE library = LoadLibraryExW(L"authz.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    const struct {
        const char *name;
        void *member;
    } functions[] = {
        {"AuthzInitializeResourceManager", &ret_authz->create},
        {"AuthzInitializeContextFromSid", &ret_authz->look_up},
        {"AuthzGetInformationFromContext", &ret_authz->get},
        {"AuthzFreeContext", &ret_authz->free_context},
        {"AuthzFreeResourceManager", &ret_authz->free_manager},
    };
    bool has_all = library != NULL;
    for (size_t i = 0; has_all && i < sizeof(functions) / sizeof(functions[0]); i++) {
        FARPROC function = GetProcAddress(library, functions[i].name);
        memcpy(functions[i].member, &function, sizeof(function));
        has_all = function != NULL;
    }
    if (library && !has_all) {
        FreeLibrary(library);
    }
    return has_all ? library : NULL;
}

/* A deny-only membership counts too: the account is then an administrator that can elevate, and its
 * session may run elevated. (authzinitializecontextfromsid) */
static enum etw_hold_state ask(const struct etw_hold_authz *authz, PSID account)
{
    enum etw_hold_state state = ETW_HOLD_DOUBTFUL;
    AUTHZ_RESOURCE_MANAGER_HANDLE manager = NULL;
    AUTHZ_CLIENT_CONTEXT_HANDLE context = NULL;
    LUID nothing = {0};
    DWORD bytes = 0;
    TOKEN_GROUPS *groups = calloc(1, MAX_GROUPS_BYTES);
    if (groups && authz->create(AUTHZ_RM_FLAG_NO_AUDIT, NULL, NULL, NULL, NULL, &manager) &&
        authz->look_up(0, account, manager, NULL, nothing, NULL, &context) &&
        authz->get(context, AuthzContextInfoGroupsSids, MAX_GROUPS_BYTES, &bytes, groups)) {
        state = etw_hold_groups_may_trace(groups, 0) ? ETW_HOLD_HELD : ETW_HOLD_FREE;
    }
    if (context) {
        authz->free_context(context);
    }
    if (manager) {
        authz->free_manager(manager);
    }
    free(groups);
    return state;
}

enum etw_hold_state etw_hold_groups_ask(const char *account)
{
    struct etw_hold_authz windows;
    PSID sid = NULL;
    HMODULE library = in_use ? NULL : load(&windows);
    enum etw_hold_state state = ETW_HOLD_DOUBTFUL;
    if ((in_use || library) && ConvertStringSidToSidA(account, &sid)) {
        state = ask(in_use ? in_use : &windows, sid);
        LocalFree(sid);
    }
    if (library) {
        FreeLibrary(library);
    }
    return state;
}
