#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
/* After windows.h, on which it depends. */
#include <psapi.h>

#include "platform/plat_self.h"
#include "platform/windows/plat_filetime.h"
#include "platform/windows/plat_wide.h"

/*
 * The manifest sets the process's code page to UTF-8, but systems before Windows 10 1903 ignore
 * that, and it never affects consoles, so both are set here.
 */
static const DWORD streams[] = {STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};

enum { STREAMS = sizeof(streams) / sizeof(streams[0]) };

/* The console outlives this process: its previous settings are restored. */
static struct {
    UINT code_page; /* 0: there is no console */
    struct {
        DWORD mode;
        bool changed;
    } stream[STREAMS];
} before;

static void restore_console(void)
{
    for (int i = 0; i < STREAMS; i++) {
        if (before.stream[i].changed) {
            SetConsoleMode(GetStdHandle(streams[i]), before.stream[i].mode);
        }
    }
    SetConsoleOutputCP(before.code_page);
}

static void init_console(void)
{
    before.code_page = GetConsoleOutputCP();
    if (!before.code_page || atexit(restore_console) != 0) {
        return;
    }
    SetConsoleOutputCP(CP_UTF8);
    for (int i = 0; i < STREAMS; i++) {
        HANDLE handle = GetStdHandle(streams[i]);
        DWORD mode;
        if (GetConsoleMode(handle, &mode)) {
            before.stream[i].mode = mode;
            before.stream[i].changed = SetConsoleMode(
                handle, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
        }
    }
}

/* CommandLineToArgvW, found at run time: shell32.dll depends on DLLs that are not "known DLLs", and
 * linked DLLs are loaded before the program can restrict where from. */
typedef wchar_t **WINAPI split_fn(const wchar_t *line, int *ret_count);

static wchar_t **split_command_line(int *ret_count)
{
    split_fn *split = NULL;
    HMODULE shell = LoadLibraryExW(L"shell32.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    FARPROC found = shell ? GetProcAddress(shell, "CommandLineToArgvW") : NULL;
    memcpy(&split, &found, sizeof(split));
    return split ? split(GetCommandLineW(), ret_count) : NULL;
}

/* The C library's arguments have lost characters outside the code page and have patterns expanded.
 * If memory is short they are used anyway. */
static void init_arguments(int *argc, char ***argv)
{
    int count = 0;
    wchar_t **wide = split_command_line(&count);
    char **texts = wide ? calloc((size_t)count + 1, sizeof(*texts)) : NULL;
    bool good = texts != NULL;
    for (int i = 0; good && i < count; i++) {
        texts[i] = plat_wide_to_utf8(wide[i]);
        good = texts[i] != NULL;
    }
    LocalFree(wide);
    if (good) {
        *argc = count;
        *argv = texts;
        return;
    }
    for (int i = 0; texts && i < count; i++) {
        free(texts[i]);
    }
    free(texts);
}

void plat_process_init(int *argc, char ***argv)
{
    /* load no library from the current or program folder; the linked ones are "known DLLs", which
     * Windows always takes from its own folder */
    SetDefaultDllDirectories(LOAD_LIBRARY_SEARCH_SYSTEM32);
    SetDllDirectoryW(L"");
    HeapSetInformation(NULL, HeapEnableTerminationOnCorruption, NULL, 0);
    /* a missing drive is an error instead of a message box */
    SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOOPENFILEERRORBOX);
    _setmode(_fileno(stdout), _O_BINARY);
    _setmode(_fileno(stderr), _O_BINARY);
    init_console();
    init_arguments(argc, argv);
}

uint64_t plat_cpu_ns(void)
{
    FILETIME created;
    FILETIME ended;
    FILETIME kernel;
    FILETIME user;
    if (!GetProcessTimes(GetCurrentProcess(), &created, &ended, &kernel, &user)) {
        return 0;
    }
    return (plat_filetime_of(kernel) + plat_filetime_of(user)) * 100;
}

uint64_t plat_peak_rss_bytes(void)
{
    PROCESS_MEMORY_COUNTERS counters = {.cb = sizeof(counters)};
    if (!GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof(counters))) {
        return 0;
    }
    return counters.PeakWorkingSetSize;
}

uint32_t plat_process_id(void)
{
    return GetCurrentProcessId();
}

static HANDLE console_of(int stream)
{
    return GetStdHandle(stream == 2 ? STD_ERROR_HANDLE : STD_OUTPUT_HANDLE);
}

bool plat_is_terminal(int stream)
{
    DWORD mode;
    return GetConsoleMode(console_of(stream), &mode);
}

bool plat_no_color(void)
{
    const wchar_t *value = _wgetenv(L"NO_COLOR");
    return value && *value;
}
