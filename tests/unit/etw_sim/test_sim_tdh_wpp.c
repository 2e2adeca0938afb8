/* TDH's messages of WPP code: it reads the files that the caller's context names (tdh_context_type,
 * property_data_descriptor). */
#include "sim_tdh_rig.h"

#define GUID_TEXT "0a0b0c0d-0102-0304-0506-0708090a0b0c"

static const struct guid message_guid = {{0x0d, 0x0c, 0x0b, 0x0a, 0x02, 0x01, 0x04, 0x03, 0x05,
    0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c}};
static const char tmf_name[] = GUID_TEXT ".tmf";
static const char tmf[] = GUID_TEXT
    " sample // SRC=driver.c MJ= MN=\n"
    "#typev driver_c120 10 \"%0opened \\\"%10!s!\\\" with %11!x!\" //   LEVEL=TRACE_LEVEL_ERROR "
    "FLAGS=TRACE_IO FUNC=DriverOpen\n"
    "{\n"
    "path, ItemString -- 10\n"
    "code, ItemLong -- 11\n"
    "}\n";
static char tmf_path[TEMP_FOLDER_BYTES + 64];

static int make_tmf(void **state)
{
    if (make_world(state) != 0) {
        return -1;
    }
    snprintf(tmf_path, sizeof(tmf_path), "%s/%s", folder, tmf_name);
    FILE *f = fopen(tmf_path, "wb");
    bool ok = f && fwrite(tmf, 1, sizeof(tmf) - 1, f) == sizeof(tmf) - 1;
    ok &= f && fclose(f) == 0;
    return ok ? 0 : -1;
}

static struct etw_event_record message(void)
{
    static const uint8_t payload[] = "C:\\x\0\xbe\xba\xfe\xca";
    struct etw_event_record record = event_of(
        &message_guid, 10, 0, span_make(payload, sizeof(payload) - 1));
    record.header.flags |= EVENT_FLAG_TRACE_MESSAGE;
    record.header.time_stamp = 134081910001230000; /* 2025-11-21T09:30:00.123Z, a Friday */
    return record;
}

static void expect_text(struct etw_event_record *record, uint32_t count,
    struct etw_tdh_context *context, const char *name, const char *expected)
{
    uint8_t bytes[256];
    uint32_t size = 0;
    struct etw_property_path path = {.name = (uintptr_t)wide(name), .array_index = UINT32_MAX};
    assert_int_equal(etw_sim_TdhGetPropertySize(record, count, context, 1, &path, &size), 0);
    assert_int_equal(size, 2 * strlen(expected) + 2);
    assert_int_equal(
        etw_sim_TdhGetProperty(record, count, context, 1, &path, size - 1, bytes), INSUFFICIENT);
    assert_int_equal(etw_sim_TdhGetProperty(record, count, context, 1, &path, size, bytes), 0);
    assert_wide(bytes, expected);
}

static void a_message_is_written_by_the_file_that_the_context_names(void **state)
{
    (void)state;
    struct etw_event_record record = message();
    /* The buffers of wide() are reused after a few calls. */
    etw_char texts[3][128];
    memcpy(texts[0], wide(tmf_path), sizeof(texts[0]));
    memcpy(texts[1], wide(folder), sizeof(texts[1]));
    memcpy(texts[2], wide(tmf_name), sizeof(texts[2]));
    struct etw_tdh_context contexts[][2] = {
        {{(uintptr_t)texts[0], 0, 0}, {8, 3, 0}}, /* the file; 8-byte pointers */
        {{(uintptr_t)texts[1], 1, 0}, {1, 2, 0}}, /* a folder; UTC */
        {{(uintptr_t)texts[1], 1, 0}, {(uintptr_t)texts[2], 0, 0}},
    };
    for (size_t i = 0; i < sizeof(contexts) / sizeof(contexts[0]); i++) {
        struct etw_tdh_context *c = contexts[i];
        expect_text(&record, 2, c, "FormattedString", "opened \"C:\\x\" with cafebabe");
        expect_text(&record, 2, c, "FunctionName", "DriverOpen");
        expect_text(&record, 2, c, "LevelName", "TRACE_LEVEL_ERROR");
        expect_text(&record, 2, c, "FlagsName", "TRACE_IO");
        expect_text(&record, 2, c, "GuidTypeName", "driver_c120");
        uint32_t size = 0;
        uint8_t info[1024];
        assert_int_equal(etw_sim_TdhGetEventInformation(&record, 2, c, NULL, &size), INSUFFICIENT);
        assert_in_range(size, 0x70, sizeof(info));
        assert_int_equal(etw_sim_TdhGetEventInformation(&record, 2, c, info, &size), 0);
        assert_int_equal(load_le32(info + 0x30), 2); /* DecodingSourceWPP */
    }
}

static void time_and_guid_are_no_texts(void **state)
{
    (void)state;
    struct etw_event_record record = message();
    struct etw_tdh_context context = {(uintptr_t)wide(folder), 1, 0};
    struct etw_property_path path = {.name = (uintptr_t)wide("SystemTime")};
    uint8_t bytes[16];
    assert_int_equal(etw_sim_TdhGetProperty(&record, 1, &context, 1, &path, 16, bytes), 0);
    static const uint16_t time[] = {2025, 11, 5, 21, 9, 30, 0, 123};
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(load_le16(bytes + 2 * i), time[i]);
    }
    path.name = (uintptr_t)wide("TraceGuid");
    assert_int_equal(etw_sim_TdhGetProperty(&record, 1, &context, 1, &path, 16, bytes), 0);
    assert_memory_equal(bytes, message_guid.bytes, 16);
}

static void what_no_context_describes_is_not_found(void **state)
{
    (void)state;
    struct etw_event_record record = message();
    struct etw_tdh_context context = {(uintptr_t)wide("/nowhere.tmf"), 0, 0};
    struct etw_property_path path = {.name = (uintptr_t)wide("FormattedString")};
    uint32_t size = 0;
    assert_int_equal(etw_sim_TdhGetEventInformation(&record, 0, NULL, NULL, &size), NOT_FOUND);
    assert_int_equal(etw_sim_TdhGetEventInformation(&record, 1, &context, NULL, &size), NOT_FOUND);
    assert_int_equal(etw_sim_TdhGetPropertySize(&record, 1, &context, 1, &path, &size), NOT_FOUND);
    context.value = (uintptr_t)wide(tmf_path);
    record.header.descriptor.id = 11; /* there is no message with this number */
    assert_int_equal(etw_sim_TdhGetPropertySize(&record, 1, &context, 1, &path, &size), NOT_FOUND);
    record.header.descriptor.id = 10;
    path.name = (uintptr_t)wide("NoSuch");
    assert_int_equal(etw_sim_TdhGetPropertySize(&record, 1, &context, 1, &path, &size), NOT_FOUND);
}

static void decoding_handles_keep_what_they_were_told(void **state)
{
    (void)state;
    struct etw_event_record record = message();
    void *handle = NULL;
    uint8_t bytes[256];
    uint32_t size = 0;
    etw_char *path = wide(tmf_path);
    struct etw_tdh_context file = {(uintptr_t)path, 0, 0};
    struct etw_tdh_context asked = {0, 0, 0};
    assert_int_equal(etw_sim_TdhOpenDecodingHandle(&handle), 0);
    assert_int_equal(etw_sim_TdhGetWppMessage(handle, &record, &size, NULL), NOT_FOUND);
    assert_int_equal(etw_sim_TdhSetDecodingParameter(handle, &file), 0);
    path[0] = 0; /* TDH has a copy */
    assert_int_equal(etw_sim_TdhGetDecodingParameter(handle, &asked), 0);
    assert_wide((const void *)(uintptr_t)asked.value, tmf_path);
    size = 0;
    assert_int_equal(etw_sim_TdhGetWppMessage(handle, &record, &size, NULL), INSUFFICIENT);
    assert_int_equal(etw_sim_TdhGetWppMessage(handle, &record, &size, bytes), 0);
    assert_wide(bytes, "opened \"C:\\x\" with cafebabe");
    size = sizeof(bytes);
    assert_int_equal(
        etw_sim_TdhGetWppProperty(handle, &record, wide("FunctionName"), &size, bytes), 0);
    assert_wide(bytes, "DriverOpen");
    record.header.flags = EVENT_FLAG_64_BIT; /* not a message */
    assert_int_equal(etw_sim_TdhGetWppMessage(handle, &record, &size, bytes), NOT_FOUND);
    assert_int_equal(etw_sim_TdhGetWppMessage(NULL, &record, &size, bytes), 87);
    assert_int_equal(etw_sim_TdhCloseDecodingHandle(handle), 0);
    assert_int_equal(etw_sim_TdhCloseDecodingHandle(NULL), 87);
}

static void no_provider_has_filters(void **state)
{
    (void)state;
    uint32_t count = 7;
    uint32_t size = 0;
    assert_int_equal(
        etw_sim_TdhEnumerateProviderFilters(&message_guid, 0, NULL, &count, NULL, &size),
        NOT_FOUND);
    assert_int_equal(count, 0);
    assert_int_equal(etw_sim_TdhEnumerateProviderFilters(NULL, 0, NULL, &count, NULL, &size), 87);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_is_written_by_the_file_that_the_context_names),
        cmocka_unit_test(time_and_guid_are_no_texts),
        cmocka_unit_test(what_no_context_describes_is_not_found),
        cmocka_unit_test(decoding_handles_keep_what_they_were_told),
        cmocka_unit_test(no_provider_has_filters),
    };
    return cmocka_run_group_tests(tests, make_tmf, drop_world);
}
