/* A DLL that leaves a trace when it is loaded. It lies beside the program with the name of one of
 * Windows' DLLs. */
#include <windows.h>

BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, void *reserved)
{
    (void)self;
    (void)reserved;
    if (reason == DLL_PROCESS_ATTACH) {
        HANDLE file = CreateFileW(
            L"planted.txt", GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL);
        CloseHandle(file);
    }
    return TRUE;
}
