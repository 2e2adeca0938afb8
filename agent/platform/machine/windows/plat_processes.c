#include "platform/plat_processes.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
/* After windows.h, on which it depends. */
#include <winternl.h>

#include "base/utf.h"
#include "platform/windows/plat_filetime.h"
#include "platform/windows/plat_wide.h"

/*
 * The kernel returns the list as one copy. Missing values are queried per process through a handle
 * with minimal rights (PROCESS_QUERY_LIMITED_INFORMATION, which protected processes allow, too).
 * For the list, no call runs code of the process or opens a file: paths stay in kernel form,
 * because GetModuleFileNameEx reads the process's memory and QueryFullProcessImageName queries the
 * mount manager.
 */
enum {
    LIST_BYTES = 256 * 1024,            /* initial size */
    MAX_LIST_BYTES = 128 * 1024 * 1024, /* it contains threads: about 100 bytes each */
    ANSWER_BYTES = 160 * 1024,          /* a path and a command line of 64 KB each, and more */
    MAX_TEXT_BYTES = 65536,             /* of UTF-16 in a UNICODE_STRING */
};

/* Information classes of NtQuerySystemInformation and NtQueryInformationProcess, from winternl.h of
 * the Windows SDK and ntddk.h of its driver kit. */
enum {
    SYSTEM_PROCESSES = 5,
    SYSTEM_PROCESS_ID = 88,
    PROCESS_IMAGE_FILE_NAME = 27,
    PROCESS_COMMAND_LINE = 60, /* Windows 8.1 */
    PROCESS_TELEMETRY_ID = 64, /* Windows 10 */
    STATUS_MISMATCH = (int)0xc0000004,
};

struct system_process { /* used part of SYSTEM_PROCESS_INFORMATION (winternl.h) */
    ULONG next;         /* bytes to the next one; 0: none */
    ULONG threads;
    LARGE_INTEGER reserved[3];
    LARGE_INTEGER start;
    LARGE_INTEGER user_time;
    LARGE_INTEGER kernel_time;
    UNICODE_STRING name;
    LONG priority;
    ULONG_PTR pid;
    ULONG_PTR parent_pid;
    ULONG handles;
    ULONG session_id;
};

struct process_id_question { /* SYSTEM_PROCESS_ID_INFORMATION */
    ULONG_PTR pid;
    UNICODE_STRING image;
};

struct telemetry { /* used part of PROCESS_TELEMETRY_ID_INFORMATION */
    ULONG header_bytes;
    ULONG pid;
    ULONG64 start_key;
    ULONG64 start;
    ULONG64 interrupt_time;
    ULONG64 unbiased_interrupt_time;
    ULONG64 sequence_number;
};

typedef LONG NTAPI system_fn(int what, void *out, ULONG size, ULONG *ret_size);
typedef LONG NTAPI process_fn(HANDLE process, int what, void *out, ULONG size, ULONG *ret_size);

/* Query functions, and space for one process's texts. */
struct asker {
    system_fn *system;
    process_fn *process;
    uint8_t *answer; /* ANSWER_BYTES, aligned by malloc */
    uint8_t *name;
    uint8_t *executable;
    uint8_t *command_line;
    union {
        TOKEN_USER user;
        uint8_t bytes[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
    } token_user;
};

static bool find_calls(struct asker *a, struct error *err)
{
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
    FARPROC system = ntdll ? GetProcAddress(ntdll, "NtQuerySystemInformation") : NULL;
    FARPROC process = ntdll ? GetProcAddress(ntdll, "NtQueryInformationProcess") : NULL;
    if (!system || !process) {
        return error_set(err, ERR_UNSUPPORTED, "this Windows does not list its processes");
    }
    memcpy(&a->system, &system, sizeof(a->system));
    memcpy(&a->process, &process, sizeof(a->process));
    return true;
}

static bool find_room(struct asker *a, struct error *err)
{
    const size_t bytes = utf16_json_bound(MAX_TEXT_BYTES);
    a->answer = malloc(ANSWER_BYTES);
    a->name = malloc(bytes);
    a->executable = malloc(bytes);
    a->command_line = malloc(bytes);
    return (a->answer && a->name && a->executable && a->command_line) ||
           error_set(err, ERR_MEMORY, "out of memory for the list of processes");
}

static void free_room(struct asker *a)
{
    free(a->answer);
    free(a->name);
    free(a->executable);
    free(a->command_line);
}

/* ---- one process ----------------------------------------------------------------------------- */

/* ${text} as UTF-8 in ${room}; empty if it lies outside the ${size} bytes at ${data}. */
static struct span text_within(
    const UNICODE_STRING *text, const void *data, size_t size, uint8_t *room)
{
    uintptr_t begin = (uintptr_t)data;
    uintptr_t at = (uintptr_t)text->Buffer;
    if (!text->Length || at < begin || at - begin > size || text->Length > size - (at - begin)) {
        return span_make(NULL, 0);
    }
    return span_make(room, utf16_to_utf8(span_make(text->Buffer, text->Length), room));
}

/* The text ${what} of the process. */
static struct span ask_text(struct asker *a, HANDLE process, int what, uint8_t *room)
{
    UNICODE_STRING text;
    if (a->process(process, what, a->answer, ANSWER_BYTES, NULL) < 0) {
        return span_make(NULL, 0);
    }
    memcpy(&text, a->answer, sizeof(text));
    return text_within(&text, a->answer, ANSWER_BYTES, room);
}

/* Remove the kernel's drive folder from \??\C:\x, which makes it a usual path. */
static struct span without_folder(struct span path)
{
    static const char folder[] = "\\??\\";
    struct span head = span_first(path, sizeof(folder) - 1);
    return span_equal(head, span_text(folder)) ? span_from(path, head.size) : path;
}

/* Path of a process, without opening it. */
static struct span ask_path(struct asker *a, uint32_t pid)
{
    struct process_id_question question = {.pid = pid,
        .image = {.MaximumLength = MAX_TEXT_BYTES - 2, .Buffer = (wchar_t *)(void *)a->answer}};
    if (a->system(SYSTEM_PROCESS_ID, &question, sizeof(question), NULL) < 0) {
        return span_make(NULL, 0);
    }
    return text_within(&question.image, a->answer, ANSWER_BYTES, a->executable);
}

static void ask_start_key(struct asker *a, HANDLE process, struct plat_process *told)
{
    struct telemetry known;
    memset(a->answer, 0, sizeof(known));
    if (a->process(process, PROCESS_TELEMETRY_ID, a->answer, ANSWER_BYTES, NULL) < 0) {
        return;
    }
    memcpy(&known, a->answer, sizeof(known));
    if (known.header_bytes >= sizeof(known) && known.pid == told->pid) {
        told->start_key = known.start_key;
        told->sequence_number = known.sequence_number;
    }
}

static void ask_token(struct asker *a, HANDLE process, struct plat_process *told)
{
    union {
        TOKEN_MANDATORY_LABEL label;
        uint8_t bytes[sizeof(TOKEN_MANDATORY_LABEL) + SECURITY_MAX_SID_SIZE];
    } held;
    HANDLE token;
    DWORD bytes;
    if (!OpenProcessToken(process, TOKEN_QUERY, &token)) {
        return;
    }
    if (GetTokenInformation(token, TokenUser, &a->token_user, sizeof(a->token_user), &bytes)) {
        PSID sid = a->token_user.user.User.Sid;
        told->user_sid = span_make(sid, GetLengthSid(sid));
    }
    if (GetTokenInformation(token, TokenIntegrityLevel, &held, sizeof(held), &bytes)) {
        UCHAR count = *GetSidSubAuthorityCount(held.label.Label.Sid);
        told->integrity = count ? (int32_t)*GetSidSubAuthority(held.label.Label.Sid, count - 1u)
                                : PLAT_INTEGRITY_UNKNOWN;
    }
    CloseHandle(token);
}

static void ask_process(struct asker *a, struct plat_process *told)
{
    HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, told->pid);
    if (!process) {
        told->executable = without_folder(ask_path(a, told->pid));
        return;
    }
    /* not of a later process with its id */
    if (plat_filetime_began(process) == told->start) {
        told->executable = without_folder(
            ask_text(a, process, PROCESS_IMAGE_FILE_NAME, a->executable));
        told->command_line = ask_text(a, process, PROCESS_COMMAND_LINE, a->command_line);
        ask_start_key(a, process, told);
        ask_token(a, process, told);
    }
    CloseHandle(process);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* The caller frees it. */
static uint8_t *ask_list(struct asker *a, size_t *ret_size, struct error *err)
{
    LONG status = STATUS_MISMATCH;
    for (size_t size = LIST_BYTES; size <= MAX_LIST_BYTES; size *= 2) {
        uint8_t *list = malloc(size);
        if (!list) {
            error_set(err, ERR_MEMORY, "out of memory for the list of processes");
            return NULL;
        }
        status = a->system(SYSTEM_PROCESSES, list, (ULONG)size, NULL);
        if (status >= 0) {
            *ret_size = size;
            return list;
        }
        free(list);
        if (status != STATUS_MISMATCH) {
            error_set_os(err, status, "NtQuerySystemInformation failed",
                "the list of processes cannot be read (0x%08lx)", (unsigned long)status);
            return NULL;
        }
    }
    error_set(err, ERR_LIMIT, "the list of processes is larger than %u MB",
        (unsigned)(MAX_LIST_BYTES / (1024 * 1024)));
    return NULL;
}

static void tell_all(struct asker *a, const uint8_t *list, size_t size,
    void (*each)(void *self, const struct plat_process *process), void *self)
{
    struct system_process item = {.next = 1};
    for (size_t at = 0; item.next && size - at >= sizeof(item); at += item.next) {
        memcpy(&item, list + at, sizeof(item));
        struct plat_process told = {.pid = (uint32_t)item.pid,
            .parent_pid = (uint32_t)item.parent_pid,
            .session_id = item.session_id,
            .integrity = PLAT_INTEGRITY_UNKNOWN,
            .start = (uint64_t)item.start.QuadPart,
            .name = text_within(&item.name, list, size, a->name)};
        ask_process(a, &told);
        each(self, &told);
        if (item.next > size - at) {
            return;
        }
    }
}

bool plat_processes_each(
    void (*each)(void *self, const struct plat_process *process), void *self, struct error *err)
{
    struct asker a = {.answer = NULL};
    size_t size = 0;
    uint8_t *list = find_calls(&a, err) && find_room(&a, err) ? ask_list(&a, &size, err) : NULL;
    if (list) {
        tell_all(&a, list, size, each, self);
    }
    free(list);
    free_room(&a);
    return list != NULL;
}

/* ---- one by its id --------------------------------------------------------------------------- */

bool plat_process_runs(uint32_t pid)
{
    HANDLE process = OpenProcess(SYNCHRONIZE, FALSE, pid);
    if (!process) {
        return GetLastError() == ERROR_ACCESS_DENIED;
    }
    bool runs = WaitForSingleObject(process, 0) == WAIT_TIMEOUT;
    CloseHandle(process);
    return runs;
}

bool plat_process_image(uint32_t pid, uint64_t time, char *path, size_t size)
{
    wchar_t wide[1024];
    DWORD length = sizeof(wide) / sizeof(wide[0]);
    HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, pid);
    if (!process) {
        return false;
    }
    uint64_t began = plat_filetime_began(process);
    bool known = began && began <= time && QueryFullProcessImageNameW(process, 0, wide, &length);
    CloseHandle(process);
    char *text = known ? plat_wide_to_utf8(wide) : NULL;
    known = text && snprintf(path, size, "%s", text) < (int)size;
    free(text);
    return known;
}
