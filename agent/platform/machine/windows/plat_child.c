#include "platform/plat_child.h"

#include <stdlib.h>
#include <windows.h>

#include <tlhelp32.h>

#include "platform/windows/plat_filetime.h"
#include "platform/windows/plat_wide.h"

/*
 * CreateProcessW gets the program separately, so that it need not guess it from blanks in the
 * command line. Until it is resumed, the process is in a job that ends its members when its last
 * handle, which is ours, is closed, also if this process is killed.
 */
struct plat_child {
    HANDLE process;
    HANDLE thread; /* NULL: it runs */
    HANDLE job;    /* NULL: none */
    DWORD pid;
    uint64_t started;
};

static bool set_end_with_us(HANDLE job, bool ends)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {0};
    limits.BasicLimitInformation.LimitFlags = ends ? JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE : 0;
    return SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof(limits));
}

/* Without a job (before Windows 8 a process can be in only one), killing this process leaves the
 * program suspended. */
static HANDLE hold_in_job(HANDLE process)
{
    HANDLE job = CreateJobObjectW(NULL, NULL);
    if (job && set_end_with_us(job, true) && AssignProcessToJobObject(job, process)) {
        return job;
    }
    if (job) {
        CloseHandle(job);
    }
    return NULL;
}

static bool start(const wchar_t *program, wchar_t *line, const wchar_t *folder,
    struct plat_child *child, const char *what, struct error *err)
{
    STARTUPINFOW startup = {.cb = sizeof(startup)};
    PROCESS_INFORMATION made;
    /* otherwise it would inherit our priority, which may be low (plat_limits.c) */
    const DWORD flags = CREATE_SUSPENDED | CREATE_NEW_CONSOLE | NORMAL_PRIORITY_CLASS;
    if (!CreateProcessW(program, line, NULL, NULL, FALSE, flags, NULL, folder, &startup, &made)) {
        return plat_wide_error(err, GetLastError(), what, "cannot be started");
    }
    *child = (struct plat_child){.process = made.hProcess,
        .thread = made.hThread,
        .job = hold_in_job(made.hProcess),
        .pid = made.dwProcessId,
        .started = plat_filetime_began(made.hProcess)};
    return true;
}

static wchar_t *program_of(const char *command_line, struct error *err)
{
    struct span span = plat_child_program(command_line);
    char *text = calloc(1, span.size + 1);
    if (!text) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    if (span.size) {
        memcpy(text, span.data, span.size);
    }
    wchar_t *wide = plat_wide_text(text, err);
    free(text);
    return wide;
}

struct plat_child *plat_child_launch(
    const char *command_line, const char *folder, struct error *err)
{
    struct plat_child *child = calloc(1, sizeof(*child));
    wchar_t *program = program_of(command_line, err);
    wchar_t *line = plat_wide_text(command_line, err);
    wchar_t *wide_folder = plat_wide_text(folder, err);
    bool good = child ? program && line && wide_folder &&
                            start(program, line, wide_folder, child, command_line, err)
                      : error_set(err, ERR_MEMORY, "out of memory");
    free(program);
    free(line);
    free(wide_folder);
    if (!good) {
        free(child);
        return NULL;
    }
    return child;
}

struct plat_child *plat_child_open(uint32_t pid, struct error *err)
{
    struct plat_child *child = calloc(1, sizeof(*child));
    if (!child) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    child->pid = pid;
    child->process = OpenProcess(
        SYNCHRONIZE | PROCESS_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)pid);
    DWORD code = child->process ? ERROR_SUCCESS : GetLastError();
    if (child->process && plat_child_has_ended(child, NULL)) {
        code = ERROR_INVALID_PARAMETER; /* only a handle elsewhere keeps it */
    }
    if (code == ERROR_SUCCESS) {
        child->started = plat_filetime_began(child->process);
        return child;
    }
    plat_child_close(child);
    if (code == ERROR_INVALID_PARAMETER) {
        error_set(err, ERR_MISSING, "no process has the id %lu", (unsigned long)pid);
    } else {
        plat_wide_error(err, code, "the process", "cannot be opened");
    }
    return NULL;
}

uint32_t plat_child_pid(const struct plat_child *child)
{
    return child->pid;
}

uint64_t plat_child_started(const struct plat_child *child)
{
    return child->started;
}

bool plat_child_go(struct plat_child *child, struct error *err)
{
    if (!child->thread) {
        return true;
    }
    if (child->job && !set_end_with_us(child->job, false)) {
        return plat_wide_error(err, GetLastError(), "the program", "cannot be resumed");
    }
    if (ResumeThread(child->thread) == (DWORD)-1) {
        DWORD code = GetLastError();
        set_end_with_us(child->job, true);
        return plat_wide_error(err, code, "the program", "cannot be resumed");
    }
    CloseHandle(child->thread);
    child->thread = NULL;
    return true;
}

bool plat_child_has_ended(struct plat_child *child, uint32_t *ret_code)
{
    DWORD code = UINT32_MAX;
    if (WaitForSingleObject(child->process, 0) != WAIT_OBJECT_0) {
        return false;
    }
    if (ret_code) {
        *ret_code = GetExitCodeProcess(child->process, &code) ? code : UINT32_MAX;
    }
    return true;
}

void plat_child_kill(struct plat_child *child)
{
    enum { EXIT_CODE = 1 };
    HANDLE process = OpenProcess(PROCESS_TERMINATE, FALSE, child->pid);
    if (process && TerminateProcess(process, EXIT_CODE)) {
        WaitForSingleObject(child->process, PLAT_CHILD_KILL_MS);
    }
    if (process) {
        CloseHandle(process);
    }
}

void plat_child_close(struct plat_child *child)
{
    if (!child) {
        return;
    }
    if (child->thread) {
        TerminateProcess(child->process, 1);
        CloseHandle(child->thread);
    }
    if (child->process) {
        CloseHandle(child->process);
    }
    if (child->job) {
        CloseHandle(child->job);
    }
    free(child);
}

bool plat_child_find(
    const char *name, bool (*each)(void *self, uint32_t pid), void *self, struct error *err)
{
    wchar_t *wide = plat_wide_text(name, err);
    HANDLE all = wide ? CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0) : INVALID_HANDLE_VALUE;
    PROCESSENTRY32W entry = {.dwSize = sizeof(entry)};
    if (!wide) {
        return false;
    }
    if (all == INVALID_HANDLE_VALUE) {
        plat_wide_error(err, GetLastError(), "processes", "cannot be listed");
        free(wide);
        return false;
    }
    bool more = true;
    for (BOOL good = Process32FirstW(all, &entry); good && more;
         good = Process32NextW(all, &entry)) {
        if (CompareStringOrdinal(entry.szExeFile, -1, wide, -1, TRUE) == CSTR_EQUAL) {
            more = each(self, entry.th32ProcessID);
        }
    }
    CloseHandle(all);
    free(wide);
    return true;
}
