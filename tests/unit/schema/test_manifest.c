#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "platform/plat_file.h"
#include "schema/source/schema_sources.h"

/* The source over real files: in a folder of this test, and the shared manifests. */
static const struct schema_source_ops *const ops = &schema_source_manifest;
static const char *folder;

#define HEAD                                                                   \
    "<i><provider name=\"P\" guid=\"{01000000-0000-0000-0000-000000000000}\">" \
    "<template tid=\"t\"><data name=\"a\" inType=\"win:UInt32\" "
#define FOOT "</provider></i>"

static const struct {
    const char *name;
    const char *text;
} files[] = {
    {"a/plain.man", HEAD "/></template><event value=\"1\" template=\"t\" symbol=\"x\"/>" FOOT},
    {"a/rich.xml", HEAD "outType=\"win:PID\"/></template>"
                        "<event value=\"1\" template=\"t\" message=\"rich\"/>" FOOT},
    {"a/sub/zz.manifest.xml",
        HEAD "/></template><event value=\"1\" template=\"t\" message=\"sub\"/>" FOOT},
    {"a/none.txt", "no manifest, and not asked for"},
    {"b/other.man", HEAD "/></template><event value=\"1\" template=\"t\" message=\"other\"/>"
                         "<event value=\"1\" version=\"1\"/>" FOOT},
    {"b/broken.man", "<i><provider"},
};

static char warnings[4096];

static void on_warning(void *self, const char *text)
{
    (void)self;
    size_t used = strlen(warnings);
    snprintf(warnings + used, sizeof(warnings) - used, "%s\n", text);
}

static void path_of(const char *name, char *path, size_t size)
{
    assert_true((size_t)snprintf(path, size, "%s/%s", folder, name) < size);
}

static int write_files(void **state)
{
    (void)state;
    struct error err = {0};
    char path[512];
    folder = "test_manifest_files";
    path_of("a/sub", path, sizeof(path));
    assert_true(plat_dir_create(path, &err));
    path_of("b", path, sizeof(path));
    assert_true(plat_dir_create(path, &err));
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        path_of(files[i].name, path, sizeof(path));
        struct plat_file *file = plat_file_open(path, PLAT_FILE_CREATE, &err);
        assert_non_null(file);
        assert_true(plat_file_write(file, span_text(files[i].text), &err));
        plat_file_close(file);
    }
    return 0;
}

static void *create(const char *const *paths, size_t count)
{
    const struct schema_source_settings settings = {
        .paths = paths, .path_count = count, .warn = on_warning};
    struct error err = {0};
    warnings[0] = 0;
    void *source = ops->create(&settings, &err);
    assert_non_null(source);
    return source;
}

static struct schema_candidates find(void *source, enum record_kind kind, uint8_t version)
{
    const struct event_record record = {
        .kind = kind, .provider = {{0, 0, 0, 1}}, .descriptor = {.id = 1, .version = version}};
    struct schema_candidates found = {.count = 0};
    ops->find(source, &record, &found);
    return found;
}

static void a_folder_gives_what_says_more_first_then_path_order(void **state)
{
    (void)state;
    char a[512];
    char b[512];
    path_of("a", a, sizeof(a));
    path_of("b", b, sizeof(b));
    const char *const paths[] = {b, a};
    void *source = create(paths, 2);
    assert_non_null(strstr(warnings, "broken.man"));
    assert_null(strstr(warnings, "none.txt"));
    struct schema_candidates found = find(source, RECORD_EVENT, 0);
    assert_int_equal(found.count, 4);
    assert_span(found.list[0]->message, "other");
    assert_span(found.list[1]->message, "rich");
    assert_span(found.list[2]->message, "sub");
    assert_span(found.list[3]->message, "");
    ops->destroy(source);
}

static void events_match_by_exact_version_and_kind_of_record(void **state)
{
    (void)state;
    char b[512];
    path_of("b/other.man", b, sizeof(b));
    const char *const paths[] = {b};
    void *source = create(paths, 1);
    assert_string_equal(warnings, "");
    assert_int_equal(find(source, RECORD_EVENT, 1).count, 1);
    assert_int_equal(find(source, RECORD_EVENT, 2).count, 0);
    assert_int_equal(find(source, RECORD_CLASSIC, 0).count, 0);
    ops->destroy(source);
}

static void paths_that_do_not_exist_are_warned_about(void **state)
{
    (void)state;
    const char *const paths[] = {"no/such/path.man"};
    void *source = create(paths, 1);
    assert_non_null(strstr(warnings, "no/such/path.man"));
    assert_int_equal(find(source, RECORD_EVENT, 0).count, 0);
    ops->destroy(source);
    ops->destroy(NULL);
}

static void count_schema(void *self, const struct event_schema *schema)
{
    assert_true(schema->has_layout);
    ++*(size_t *)self;
}

/* The table beside the manifests has the number of their events. */
static void the_shared_manifests_are_all_read_without_a_warning(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        size_t events;
    } rows[] = {
        {"tx/HTTP_Server.man", 85},
        {"tx/IE_Client.man", 236},
        {"tx/SystemEvents.man", 450},
        {"tx/tcp.man", 211},
        {"perfview/ClrEtwAll.man", 384},
        {"msquic/MsQuicEtw.man", 187},
        {"powershell/PowerShell.Core.Instrumentation.man", 194},
        {"classic-samples/AdvancedProvider.man", 69},
        {"etl2pcapng/Microsoft-Windows-NDIS-PacketCapture.manifest.xml", 20},
        {"derived/Microsoft-Windows-Security-Auditing.man", 434},
        {"eventsource/Microsoft-Build.man", 53},
    };
    const char *shared = getenv("ETWSHIP_SHARED");
    char path[1024];
    snprintf(path, sizeof(path), "%s/data/manifests", shared ? shared : "");
    if (!shared || plat_path_kind(path) != PLAT_PATH_DIR) {
        print_message("no shared manifests: skipped\n");
        skip();
    }
    const char *const paths[] = {path};
    ops->destroy(create(paths, 1));
    assert_string_equal(warnings, "");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        snprintf(path, sizeof(path), "%s/data/manifests/%s", shared, rows[i].path);
        void *source = create(paths, 1);
        size_t count = 0;
        ops->list(source, count_schema, &count);
        assert_int_equal(count, rows[i].events);
        ops->destroy(source);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_gives_what_says_more_first_then_path_order),
        cmocka_unit_test(events_match_by_exact_version_and_kind_of_record),
        cmocka_unit_test(paths_that_do_not_exist_are_warned_about),
        cmocka_unit_test(the_shared_manifests_are_all_read_without_a_warning),
    };
    return cmocka_run_group_tests(tests, write_files, NULL);
}
