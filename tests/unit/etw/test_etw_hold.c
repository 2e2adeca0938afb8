#include <stdatomic.h>

#include "etw/etw_hold.h"
#include "platform/plat_thread.h"
#include "support/test.h"

#ifdef _WIN32
#include <aclapi.h>
#include <sddl.h>

#include "etw/windows/etw_hold_groups.h"
#include "support/squatter.h"
#endif

static void our_sessions_are_known_by_their_names(void **state)
{
    static const struct {
        const char *name;
        bool is_ours;
    } rows[] = {
        {"etwship-security", true},
        {"ETWSHIP-x", true},
        {"etwship-", false},
        {"etwship", false},
        {"xetwship-a", false},
        {"NT Kernel Logger", false},
        {"", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(etw_hold_is_ours(rows[i].name), rows[i].is_ours);
    }
}

static void a_session_is_held_by_one_at_a_time(void **state)
{
    struct error err;
    (void)state;
    char owner[ETW_HOLD_OWNER_BYTES] = "somebody";
    assert_int_equal(etw_hold_look("etwship-test-hold", owner), ETW_HOLD_FREE);
    assert_string_equal(owner, "");
    struct etw_hold *hold = etw_hold_take("etwship-test-hold", &err);
    assert_non_null(hold);
    assert_int_equal(etw_hold_look("etwship-test-hold", owner), ETW_HOLD_HELD);
    assert_true(etw_hold_is_held("etwship-test-hold"));
    assert_true(etw_hold_is_held("ETWSHIP-Test-Hold")); /* names have no case */
    assert_false(etw_hold_is_held("etwship-test-hold2"));
    assert_null(etw_hold_take("Etwship-test-hold", &err));
    assert_int_equal(err.code, ERR_STOPPED);
    assert_non_null(strstr(err.text, "Etwship-test-hold"));
    struct etw_hold *other = etw_hold_take("etwship-test-hold2", &err);
    assert_non_null(other);
    etw_hold_drop(hold);
    assert_false(etw_hold_is_held("etwship-test-hold"));
    assert_true(etw_hold_is_held("etwship-test-hold2"));
    hold = etw_hold_take("etwship-test-hold", &err);
    assert_non_null(hold);
    etw_hold_drop(hold);
    etw_hold_drop(other);
    etw_hold_drop(NULL);
}

static atomic_int inside;
static atomic_int most_inside;

static void take_and_drop(void *self)
{
    (void)self;
    for (int i = 0; i < 500; i++) {
        struct etw_hold *hold = etw_hold_take("etwship-test-threads", NULL);
        if (hold) {
            int now = atomic_fetch_add(&inside, 1) + 1;
            if (now > atomic_load(&most_inside)) {
                atomic_store(&most_inside, now);
            }
            atomic_fetch_sub(&inside, 1);
            etw_hold_drop(hold);
        }
    }
}

static void threads_hold_a_session_one_at_a_time(void **state)
{
    struct plat_thread *threads[4];
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        threads[i] = plat_thread_start("hold", take_and_drop, NULL, NULL);
        assert_non_null(threads[i]);
    }
    for (size_t i = 0; i < 4; i++) {
        plat_thread_join(threads[i]);
    }
    assert_int_equal(most_inside, 1);
    assert_false(etw_hold_is_held("etwship-test-threads"));
}

static void names_may_hold_what_names_of_objects_may_not(void **state)
{
    struct error err;
    (void)state;
    struct etw_hold *hold = etw_hold_take("etwship-test\\a/b\xc3\xa9", &err);
    assert_non_null(hold);
    assert_true(etw_hold_is_held("etwship-test\\a/b\xc3\xa9"));
    etw_hold_drop(hold);
}

static void names_of_commands_say_which_process_it_is(void **state)
{
    static const struct {
        const char *name;
        uint32_t pid;
    } rows[] = {
        {"etwship-watch-4711", 4711},
        {"etwship-record-7", 7},
        {"etwship-selftest-4294967295", UINT32_MAX},
        {"etwship-who-12", 12},
        {"etwship-selftest-4294967296", 0},
        {"etwship-watch-", 0},
        {"etwship-watch-12a", 0},
        {"etwship-watch-towers", 0},
        {"etwship-security", 0},
        {"watch-4711", 0},
        {"Somebodys", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(etw_hold_name_pid(rows[i].name), rows[i].pid);
    }
}

#ifdef _WIN32
static void a_squatter_without_rights_holds_nothing(void **state)
{
    (void)state;
    for (int hides = 0; hides <= 1; hides++) {
        struct error err = {0};
        HANDLE squatter = squatter_take("etwship-test-hold", hides);
        assert_non_null(squatter);
        assert_false(etw_hold_is_held("etwship-test-hold"));
        /* No such account exists on this machine, so Windows cannot say what it may do. */
        char owner[ETW_HOLD_OWNER_BYTES];
        assert_int_equal(etw_hold_look("etwship-test-hold", owner), ETW_HOLD_DOUBTFUL);
        assert_string_equal(owner, hides ? "an unreadable account" : SQUATTER_SID);
        struct etw_hold *hold = etw_hold_take("etwship-test-hold", &err);
        assert_non_null(hold);
        assert_non_null(etw_hold_warning(hold));
        assert_non_null(
            strstr(etw_hold_warning(hold), hides ? "an unreadable account" : SQUATTER_SID));
        etw_hold_drop(hold);
        CloseHandle(squatter);
        hold = etw_hold_take("etwship-test-hold", &err);
        assert_non_null(hold);
        assert_null(etw_hold_warning(hold));
        assert_true(etw_hold_is_held("etwship-test-hold"));
        etw_hold_drop(hold);
    }
}

/* ---- an authz.dll that knows the other account ----------------------------------------------- */

static const char
    *group; /* a group of the account, beside Authenticated Users; NULL: Windows does not say */
static DWORD group_attributes;
static int handles_open;

static BOOL WINAPI create_manager(DWORD flags, void *check, void *compute, void *free_groups,
    const wchar_t *name, AUTHZ_RESOURCE_MANAGER_HANDLE *ret_manager)
{
    (void)flags, (void)check, (void)compute, (void)free_groups, (void)name;
    *ret_manager = (AUTHZ_RESOURCE_MANAGER_HANDLE)&handles_open;
    handles_open++;
    return TRUE;
}

static BOOL WINAPI look_up(DWORD flags, PSID account, AUTHZ_RESOURCE_MANAGER_HANDLE manager,
    LARGE_INTEGER *expires, LUID identifier, void *arguments,
    AUTHZ_CLIENT_CONTEXT_HANDLE *ret_context)
{
    (void)flags, (void)manager, (void)expires, (void)identifier, (void)arguments;
    char *text = NULL;
    assert_true(ConvertSidToStringSidA(account, &text));
    assert_string_equal(text, SQUATTER_SID);
    LocalFree(text);
    if (!group) {
        SetLastError(ERROR_NO_SUCH_DOMAIN);
        return FALSE;
    }
    *ret_context = (AUTHZ_CLIENT_CONTEXT_HANDLE)&handles_open;
    handles_open++;
    return TRUE;
}

static BOOL WINAPI get_groups(
    AUTHZ_CLIENT_CONTEXT_HANDLE context, int what, DWORD bytes, DWORD *ret_bytes, void *ret_groups)
{
    static SID users = {
        SID_REVISION, 1, {SECURITY_NT_AUTHORITY}, {SECURITY_AUTHENTICATED_USER_RID}};
    static PSID sid;
    const SID_AND_ATTRIBUTES common = {.Sid = &users, .Attributes = SE_GROUP_ENABLED};
    TOKEN_GROUPS *groups = ret_groups;
    (void)context;
    LocalFree(sid);
    assert_true(ConvertStringSidToSidA(group, &sid));
    assert_int_equal(what, AuthzContextInfoGroupsSids);
    *ret_bytes = sizeof(*groups) + sizeof(groups->Groups[0]);
    assert_true(*ret_bytes <= bytes);
    groups->GroupCount = 2;
    groups->Groups[0] = common;
    groups->Groups[1] = (SID_AND_ATTRIBUTES){.Sid = sid, .Attributes = group_attributes};
    return TRUE;
}

static BOOL WINAPI free_context(AUTHZ_CLIENT_CONTEXT_HANDLE context)
{
    (void)context;
    handles_open--;
    return TRUE;
}

static BOOL WINAPI free_manager(AUTHZ_RESOURCE_MANAGER_HANDLE manager)
{
    (void)manager;
    handles_open--;
    return TRUE;
}

static void an_account_that_may_trace_holds_its_session(void **state)
{
    static const struct etw_hold_authz authz = {
        create_manager, look_up, get_groups, free_context, free_manager};
    static const struct {
        const char *group;
        DWORD attributes;
        enum etw_hold_state held;
    } rows[] = {
        {"S-1-5-32-559", SE_GROUP_ENABLED, ETW_HOLD_HELD},           /* Performance Log Users */
        {"S-1-5-32-544", SE_GROUP_ENABLED, ETW_HOLD_HELD},           /* Administrators */
        {"S-1-5-32-544", SE_GROUP_USE_FOR_DENY_ONLY, ETW_HOLD_HELD}, /* not elevated */
        {"S-1-5-32-558", SE_GROUP_ENABLED, ETW_HOLD_FREE},           /* Performance Monitor Users */
        {"S-1-5-21-1-2-3-559", SE_GROUP_ENABLED, ETW_HOLD_FREE},     /* one of a domain */
        {NULL, 0, ETW_HOLD_DOUBTFUL},
    };
    (void)state;
    etw_hold_groups_use(&authz);
    HANDLE lock = squatter_take("etwship-test-member", false);
    assert_non_null(lock);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        group = rows[i].group;
        group_attributes = rows[i].attributes;
        assert_int_equal(etw_hold_look("etwship-test-member", NULL), rows[i].held);
        assert_int_equal(handles_open, 0);
    }
    CloseHandle(lock);
    etw_hold_groups_use(NULL);
}

static void an_object_of_another_kind_holds_nothing(void **state)
{
    (void)state;
    struct guid guid = guid_from_name(span_text("etwship-test-kind"));
    char text[GUID_TEXT_SIZE] = {0};
    char name[64];
    struct error err;
    guid_write(&guid, text);
    snprintf(name, sizeof(name), "Global\\etwship-session-%.36s", text);
    HANDLE event = CreateEventA(NULL, FALSE, FALSE, name);
    assert_non_null(event);
    struct etw_hold *hold = etw_hold_take("etwship-test-kind", &err);
    assert_non_null(hold);
    assert_non_null(etw_hold_warning(hold));
    assert_int_equal(etw_hold_look("etwship-test-kind", NULL), ETW_HOLD_FREE);
    etw_hold_drop(hold);
    CloseHandle(event);
}

/* An open handle keeps a mutex and its owner alive: an account without the right to trace must not
 * get one. */
static void only_accounts_that_may_trace_can_open_a_lock(void **state)
{
    (void)state;
    struct guid guid = guid_from_name(span_text("etwship-test-open"));
    char text[GUID_TEXT_SIZE] = {0};
    char name[64];
    struct error err;
    guid_write(&guid, text);
    snprintf(name, sizeof(name), "Global\\etwship-session-%.36s", text);
    struct etw_hold *hold = etw_hold_take("etwship-test-open", &err);
    assert_non_null(hold);

    HANDLE mutex = OpenMutexA(READ_CONTROL, FALSE, name);
    assert_non_null(mutex);
    PSECURITY_DESCRIPTOR descriptor = NULL;
    PACL list = NULL;
    assert_int_equal(GetSecurityInfo(mutex, SE_KERNEL_OBJECT, DACL_SECURITY_INFORMATION, NULL, NULL,
                         &list, NULL, &descriptor),
        ERROR_SUCCESS);
    assert_non_null(list);
    assert_int_equal(list->AceCount, 3);
    for (WORD i = 0; i < list->AceCount; i++) {
        void *ace = NULL;
        char *sid = NULL;
        assert_true(GetAce(list, i, &ace));
        assert_true(ConvertSidToStringSidA(&((ACCESS_ALLOWED_ACE *)ace)->SidStart, &sid));
        assert_true(!strcmp(sid, "S-1-5-18") || !strcmp(sid, "S-1-5-32-544") ||
                    !strcmp(sid, "S-1-5-32-559"));
        LocalFree(sid);
    }
    LocalFree(descriptor);
    CloseHandle(mutex);
    etw_hold_drop(hold);
}

/* Any account that may trace can hold a command's session, trusted or not; the process is the
 * proof. */
static void a_process_with_rights_holds_its_commands_session(void **state)
{
    char name[64];
    (void)state;
    snprintf(name, sizeof(name), "etwship-watch-%lu", GetCurrentProcessId());
    HANDLE squatter = squatter_take(name, false);
    HANDLE other = squatter_take(
        "etwship-watch-4294967292", false); /* no process has that number */
    assert_int_equal(etw_hold_look(name, NULL), ETW_HOLD_HELD);
    assert_int_equal(etw_hold_look("etwship-watch-4294967292", NULL), ETW_HOLD_FREE);
    CloseHandle(other);
    CloseHandle(squatter);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_sessions_are_known_by_their_names),
        cmocka_unit_test(a_session_is_held_by_one_at_a_time),
        cmocka_unit_test(threads_hold_a_session_one_at_a_time),
        cmocka_unit_test(names_may_hold_what_names_of_objects_may_not),
        cmocka_unit_test(names_of_commands_say_which_process_it_is),
#ifdef _WIN32
        cmocka_unit_test(a_squatter_without_rights_holds_nothing),
        cmocka_unit_test(an_account_that_may_trace_holds_its_session),
        cmocka_unit_test(an_object_of_another_kind_holds_nothing),
        cmocka_unit_test(only_accounts_that_may_trace_can_open_a_lock),
        cmocka_unit_test(a_process_with_rights_holds_its_commands_session),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
