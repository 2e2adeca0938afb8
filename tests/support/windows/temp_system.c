#include "support/temp_folder.h"

#include <stdio.h>
#include <string.h>
#include <windows.h>
/* After windows.h, on which it depends. */
#include <sddl.h>

#include "platform/plat_file.h"
#include "platform/plat_path.h"

/* The system's folder is asked in the code page of the process, which fopen of tests has, too. */
int temp_folder_make(char folder[TEMP_FOLDER_BYTES], const char *name)
{
    char system[MAX_PATH + 1];
    DWORD size = GetTempPathA(sizeof(system), system);
    if (size == 0 || size >= sizeof(system)) {
        return -1;
    }
    for (unsigned i = 0; i < 1000; i++) {
        int length = snprintf(folder, TEMP_FOLDER_BYTES, "%setwship-%s-%lu-%u", system, name,
            GetCurrentProcessId(), i);
        if (length >= TEMP_FOLDER_BYTES) {
            return -1;
        }
        for (char *c = folder; *c; c++) {
            *c = *c == '\\' ? '/' : *c;
        }
        if (CreateDirectoryA(folder, NULL)) {
            return 0;
        }
    }
    return -1;
}

static bool remove_file(void *self, const char *path)
{
    (void)self;
    return plat_path_remove(path, NULL);
}

static int remove_folders(const char *folder)
{
    char path[MAX_PATH * 2];
    WIN32_FIND_DATAA entry;
    snprintf(path, sizeof(path), "%s/*", folder);
    HANDLE find = FindFirstFileA(path, &entry);
    while (find != INVALID_HANDLE_VALUE) {
        if ((entry.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) && strcmp(entry.cFileName, ".") &&
            strcmp(entry.cFileName, "..")) {
            snprintf(path, sizeof(path), "%s/%s", folder, entry.cFileName);
            remove_folders(path);
        }
        if (!FindNextFileA(find, &entry)) {
            FindClose(find);
            break;
        }
    }
    return RemoveDirectoryA(folder) ? 0 : -1;
}

int temp_folder_remove(const char *folder)
{
    char pattern[TEMP_FOLDER_BYTES + 4];
    snprintf(pattern, sizeof(pattern), "%s/**", folder);
    plat_glob(pattern, remove_file, NULL, NULL);
    return remove_folders(folder);
}

bool temp_folder_remove_empty(const char *path)
{
    return RemoveDirectoryA(path);
}

bool temp_folder_enter(const char *folder)
{
    return SetCurrentDirectoryA(folder);
}

bool temp_file_link(const char *target, const char *path)
{
    (void)target;
    (void)path;
    return false;
}

/* The user's SID as text, to be freed with LocalFree; NULL on failure. */
static char *user_sid(void)
{
    char room[256];
    DWORD size = sizeof(room);
    HANDLE token;
    char *text = NULL;
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) {
        return NULL;
    }
    if (GetTokenInformation(token, TokenUser, room, size, &size)) {
        TOKEN_USER user;
        memcpy(&user, room, sizeof(user));
        ConvertSidToStringSidA(user.User.Sid, &text);
    }
    CloseHandle(token);
    return text;
}

bool temp_file_share(const char *path, bool everybody)
{
    char text[512];
    char *sid = user_sid();
    PSECURITY_DESCRIPTOR descriptor = NULL;
    snprintf(
        text, sizeof(text), "D:P(A;;FA;;;%s)%s", sid ? sid : "", everybody ? "(A;;FR;;;WD)" : "");
    LocalFree(sid);
    bool good = ConvertStringSecurityDescriptorToSecurityDescriptorA(
                    text, SDDL_REVISION_1, &descriptor, NULL) &&
                SetFileSecurityA(path, DACL_SECURITY_INFORMATION, descriptor);
    LocalFree(descriptor);
    return good;
}

bool temp_file_copy_program(const char *from, const char *path)
{
    return CopyFileA(from, path, TRUE);
}

uint64_t temp_process_id(void)
{
    return GetCurrentProcessId();
}

bool temp_system_is_wine(void)
{
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
    return ntdll && GetProcAddress(ntdll, "wine_get_version");
}
