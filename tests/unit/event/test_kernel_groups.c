#include "event/model/kernel_groups.h"

#include "support/test.h"

static void kernel_groups_have_their_names(void **state)
{
    (void)state;
    static const char *const names[] = {"EventTrace", "DiskIo", "Memory/PageFault", "Process",
        "FileIo", "Thread", "TcpIp", "Job", "UdpIp", "Registry", "DbgPrint", "SystemConfig", "0xc",
        "Wnf", "Pool", "PerfInfo", "Heap", "Object", "Power", "ModBound", "Image", "Dpc", "Cc",
        "CritSec", "StackWalk", "Ums", "Alpc", "SplitIo", "ThreadPool", "Hypervisor",
        "HypervisorX"};
    assert_int_equal(sizeof(names) / sizeof(names[0]), KERNEL_GROUP_COUNT);
    for (unsigned i = 0; i < 256; i++) {
        const struct kernel_group *group = kernel_group_find((uint8_t)i);
        if (i < KERNEL_GROUP_COUNT) {
            assert_string_equal(group->name, names[i]);
        } else {
            assert_null(group);
        }
    }
}

/* GUIDs as MSNT_SystemTrace's classes document them. */
static void hooks_belong_to_their_classes(void **state)
{
    (void)state;
    static const struct {
        uint16_t hook;
        const char *guid;
    } cases[] = {
        {0x0000, "68fdd900-4a3e-11d1-84f4-0000f80464e3"},
        {0x010a, "3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c"},
        {0x020a, "3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c"},
        {0x0301, "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c"},
        {0x030a, "2cb15d1d-5fc1-11d2-abe1-00a0c911f518"}, /* Image/Load among the process hooks */
        {0x1402, "2cb15d1d-5fc1-11d2-abe1-00a0c911f518"},
        {0x0440, "90cbdc39-4a3e-11d1-84f4-0000f80464e3"},
        {0x0524, "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c"},
        {0x060a, "9a280ac0-c8e0-11d1-84e2-00c04fb998a2"},
        {0x080a, "bf3a50c5-a9c9-4988-a005-2df0b7c80f80"},
        {0x090b, "ae53722e-c863-11d2-8659-00c04fa321a1"},
        {0x0b0a, "01853a65-418f-4f36-aefc-dc0f1d2fd235"},
        {0x0f2e, "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc"},
        {0x1820, "def2fe46-7bd6-4b80-bd94-f57fe20d0ce3"},
        {0x1a21, "45d8cccd-539f-4b72-a8b7-5c683142609a"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct guid guid;
        assert_true(guid_parse(span_text(cases[i].guid), &guid));
        assert_true(guid_equal(kernel_group_class(cases[i].hook), &guid));
    }
    assert_null(kernel_group_class(0x1f00));
    assert_null(kernel_group_class(0xffff));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_groups_have_their_names),
        cmocka_unit_test(hooks_belong_to_their_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
