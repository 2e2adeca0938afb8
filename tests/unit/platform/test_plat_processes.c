#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "platform/plat_processes.h"
#include "platform/plat_self.h"

#ifdef _WIN32

#include <windows.h>

struct seen {
    size_t count;
    size_t own_count;
    uint32_t own_parent;
    uint64_t own_start;
    uint32_t own_session;
    int32_t own_integrity;
    char own_name[512];
    char own_executable[2048];
    char own_command_line[8192];
    uint8_t own_sid[SECURITY_MAX_SID_SIZE];
    size_t own_sid_bytes;
};

static void copy(struct span from, char *to, size_t size)
{
    assert_true(from.size < size);
    memcpy(to, from.data, from.size);
    to[from.size] = 0;
}

static void see(void *self, const struct plat_process *process)
{
    struct seen *seen = self;
    seen->count++;
    if (process->pid != plat_process_id()) {
        return;
    }
    seen->own_count++;
    seen->own_parent = process->parent_pid;
    seen->own_start = process->start;
    seen->own_session = process->session_id;
    seen->own_integrity = process->integrity;
    copy(process->name, seen->own_name, sizeof(seen->own_name));
    copy(process->executable, seen->own_executable, sizeof(seen->own_executable));
    copy(process->command_line, seen->own_command_line, sizeof(seen->own_command_line));
    memcpy(seen->own_sid, process->user_sid.data, process->user_sid.size);
    seen->own_sid_bytes = process->user_sid.size;
}

/* Every name is compared with the results of other functions of Windows for this process. */
static void this_process_is_told_as_it_knows_itself(void **state)
{
    (void)state;
    struct seen *seen = calloc(1, sizeof(*seen));
    struct error err;
    FILETIME start;
    FILETIME unused;
    DWORD session;
    char path[MAX_PATH];
    assert_non_null(seen);
    assert_true(plat_processes_each(see, seen, &err));
    assert_int_equal(seen->own_count, 1);
    assert_true(seen->count > 1);

    assert_true(GetProcessTimes(GetCurrentProcess(), &start, &unused, &unused, &unused));
    assert_int_equal(seen->own_start, (uint64_t)start.dwHighDateTime << 32 | start.dwLowDateTime);
    assert_true(ProcessIdToSessionId(GetCurrentProcessId(), &session));
    assert_int_equal(seen->own_session, session);

    assert_true(GetModuleFileNameA(NULL, path, sizeof(path)) > 0);
    const char *name = strrchr(path, '\\');
    assert_non_null(name);
    assert_string_equal(seen->own_name, name + 1);
    size_t length = strlen(seen->own_executable);
    assert_true(length > strlen(name));
    assert_string_equal(seen->own_executable + length - strlen(name), name);
    if (seen->own_command_line[0]) { /* Wine has none */
        assert_string_equal(seen->own_command_line, GetCommandLineA());
    }

    union {
        TOKEN_USER user;
        uint8_t bytes[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
    } held;
    HANDLE token;
    DWORD bytes;
    assert_true(OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token));
    assert_true(GetTokenInformation(token, TokenUser, &held, sizeof(held), &bytes));
    assert_int_equal(seen->own_sid_bytes, GetLengthSid(held.user.User.Sid));
    assert_memory_equal(seen->own_sid, held.user.User.Sid, seen->own_sid_bytes);
    CloseHandle(token);
    /* Untrusted, low, medium, medium plus, high, system, protected: [MS-DTYP] 2.4.2.4. */
    assert_int_equal(seen->own_integrity & ~0x7100, 0);
    free(seen);
}

struct child {
    uint32_t pid;
    uint32_t parent;
    size_t count;
};

static void see_child(void *self, const struct plat_process *process)
{
    struct child *child = self;
    if (process->pid == child->pid) {
        child->parent = process->parent_pid;
        child->count++;
    }
}

/* A process that was started but has not run yet has hardly any of these. */
static void a_process_that_has_not_begun_is_told(void **state)
{
    (void)state;
    char path[MAX_PATH];
    STARTUPINFOA startup = {.cb = sizeof(startup)};
    PROCESS_INFORMATION made;
    struct error err;
    assert_true(GetModuleFileNameA(NULL, path, sizeof(path)) > 0);
    assert_true(CreateProcessA(
        path, NULL, NULL, NULL, FALSE, CREATE_SUSPENDED, NULL, NULL, &startup, &made));
    struct child child = {.pid = made.dwProcessId};
    bool listed = plat_processes_each(see_child, &child, &err);
    TerminateProcess(made.hProcess, 0);
    CloseHandle(made.hThread);
    CloseHandle(made.hProcess);
    assert_true(listed);
    assert_int_equal(child.count, 1);
    assert_int_equal(child.parent, GetCurrentProcessId());
}

#else

static void never(void *self, const struct plat_process *process)
{
    (void)self;
    fail_msg("process %u", process->pid);
}

static void linux_has_none(void **state)
{
    (void)state;
    struct error err;
    assert_false(plat_processes_each(never, NULL, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef _WIN32
        cmocka_unit_test(this_process_is_told_as_it_knows_itself),
        cmocka_unit_test(a_process_that_has_not_begun_is_told),
#else
        cmocka_unit_test(linux_has_none),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
