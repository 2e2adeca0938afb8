#include "support/test.h"

#include <stdio.h>

#include "schema/cache/schema_cache.h"
#include "schema/pack/builtin.h"
#include "schema/pack/builtin_text.h"
#include "schema/source/known_providers.h"
#include "schema/source/schema_sources.h"

static const struct schema_source_ops *const ops = &schema_source_builtin;
static void *source;

static int create(void **state)
{
    (void)state;
    const struct schema_source_settings settings = {.path_count = 0};
    struct error err;
    source = ops->create(&settings, &err);
    return source ? 0 : -1;
}

static int destroy(void **state)
{
    (void)state;
    ops->destroy(source);
    return 0;
}

static const struct event_schema *find(const char *provider, uint16_t id, uint8_t version)
{
    struct event_record record = {
        .kind = RECORD_EVENT, .descriptor = {.id = id, .version = version}};
    struct schema_candidates found = {.count = 0};
    assert_true(known_providers_guid(span_text(provider), &record.provider));
    ops->find(source, &record, &found);
    assert_true(found.count <= 1);
    return found.count ? found.list[0] : NULL;
}

static const struct schema_field *field_of(const struct event_schema *schema, const char *name)
{
    for (size_t i = 0; schema && i < schema->field_count; i++) {
        if (span_is(schema->fields[i].name, name)) {
            return &schema->fields[i];
        }
    }
    fail_msg("no field %s", name);
    return NULL;
}

static void fail_on_warning(void *self, const char *text)
{
    (void)self;
    fail_msg("%s", text);
}

/* The definitions are complete, and names are found without reading these. */
static void every_text_is_well_and_its_provider_known(void **state)
{
    (void)state;
    assert_true(builtin_text_count() >= 10);
    for (size_t i = 0; i < builtin_text_count(); i++) {
        const char *name;
        struct span text = builtin_text(i, &name);
        const struct manifest_options options = {.source = "builtin",
            .file = name,
            .kind = SCHEMA_MANIFEST,
            .max_bytes = 1 << 23,
            .warn = fail_on_warning};
        struct error err = {0};
        struct manifest *manifest = builtin_text_read(text, &options, &err);
        if (!manifest) {
            fail_msg("%s: %s", name, err.text);
        }
        assert_true(manifest->event_count > 0);
        const struct event_schema *first = manifest->events[0];
        assert_true(span_equal(known_providers_name(&first->provider), first->provider_name));
        for (size_t k = 1; k < manifest->event_count; k++) {
            const struct event_descriptor *a = &manifest->events[k - 1]->descriptor;
            const struct event_descriptor *b = &manifest->events[k]->descriptor;
            assert_true(a->id < b->id || (a->id == b->id && a->version < b->version));
        }
        manifest_events_destroy(manifest);
    }
}

static void an_event_is_found_by_exact_id_and_version(void **state)
{
    (void)state;
    const struct event_schema *schema = find("Microsoft-Windows-DotNETRuntime", 1, 2);
    assert_non_null(schema);
    assert_string_equal(schema->source, "builtin");
    assert_int_equal(schema->kind, SCHEMA_MANIFEST);
    assert_true(span_is(schema->task_name, "GC"));
    assert_true(span_is(schema->opcode_name, "Start"));
    assert_null(find("Microsoft-Windows-DotNETRuntime", 1, 9));
    assert_null(find("Microsoft-Windows-WLAN-AutoConfig", 8001, 0));
}

static void only_manifest_events_are_looked_for(void **state)
{
    (void)state;
    struct event_record record = {.kind = RECORD_CLASSIC, .descriptor = {.id = 1, .version = 2}};
    struct schema_candidates found = {.count = 0};
    assert_true(
        known_providers_guid(span_text("Microsoft-Windows-DotNETRuntime"), &record.provider));
    ops->find(source, &record, &found);
    assert_int_equal(found.count, 0);
}

/* The public manifest calls it an array of two; the runtime writes FrameCount addresses. */
static void stacks_of_the_clr_have_as_many_frames_as_they_say(void **state)
{
    (void)state;
    static const struct {
        const char *provider;
        uint16_t id;
    } walks[] = {{"Microsoft-Windows-DotNETRuntime", 82},
        {"Microsoft-Windows-DotNETRuntimeRundown", 0},
        {"Microsoft-Windows-DotNETRuntimeStress", 1}};
    for (size_t i = 0; i < sizeof(walks) / sizeof(walks[0]); i++) {
        const struct event_schema *schema = find(walks[i].provider, walks[i].id, 0);
        const struct schema_field *stack = field_of(schema, "Stack");
        assert_true(stack->flags & FIELD_PARAM_COUNT);
        assert_true(span_is(schema->fields[stack->count].name, "FrameCount"));
    }
}

/* As the runtime's ClrEtwAll.man and the manifests of Windows 11 23H2 to 26H1 name them. */
static void events_of_newer_versions_have_the_fields_of_their_manifest(void **state)
{
    (void)state;
    static const struct {
        const char *provider;
        uint16_t id;
        uint8_t version;
        const char *fields;
    } events[] = {
        {"Microsoft-Windows-DotNETRuntime", 72, 0,
            "MethodID TypeID MethodToken TypeParameterCount LoaderModuleID TypeParameters"},
        {"Microsoft-Windows-DotNETRuntime", 146, 0,
            "MethodID ModuleID JitHotCodeRequestSize JitRODataRequestSize AllocatedSizeForJitCode "
            "JitAllocFlag ClrInstanceID"},
        {"Microsoft-Windows-DotNETRuntime", 190, 1,
            "MethodID ReJITID MethodExtent CountOfMapEntries ILOffsets NativeOffsets ClrInstanceID "
            "ILVersionID"},
        {"Microsoft-Windows-DotNETRuntimePrivate", 22, 1,
            "Min Max Objects IsLarge ClrInstanceID GenNumber"},
        {"Microsoft-Windows-DotNETRuntimePrivate", 189, 0,
            "ClrInstanceID MethodID ReJITID ILVersionID ChunkIndex DataSize Data"},
        {"Microsoft-Windows-DNS-Client", 1018, 2,
            "QueryName AddressLength Address DnsAddressLength DnsAddress ClientPID SendBlob "
            "SendBlobContext"},
        {"Microsoft-Windows-DNS-Client", 3009, 2,
            "QueryName IsParallelNetworkQuery NetworkIndex InterfaceCount AdapterName LocalAddress "
            "DNSServerAddress ClientPID QueryBlob ParentBlob"},
        {"Microsoft-Windows-DNS-Client", 3010, 1,
            "QueryName QueryType DnsServerIpAddress ClientPID"},
        {"Microsoft-Windows-DNS-Client", 3020, 2,
            "QueryName QueryType NetworkIndex InterfaceIndex Status QueryResults ClientPID "
            "QueryBlob"},
        {"Microsoft-Windows-Kernel-Process", 1, 5,
            "ProcessID ProcessSequenceNumber CreateTime ParentProcessID "
            "ParentProcessSequenceNumber SessionID Flags ProcessTokenElevationType "
            "ProcessTokenIsElevated MandatoryLabel ImageName ImageChecksum TimeDateStamp "
            "PackageFullName PackageRelativeAppId SecurityMitigations PartitionID "
            "ProcessMachine"},
        {"Microsoft-Windows-Kernel-Process", 15, 2,
            "ProcessID ProcessSequenceNumber CreateTime ParentProcessID "
            "ParentProcessSequenceNumber SessionID Flags ProcessTokenElevationType "
            "ProcessTokenIsElevated MandatoryLabel ImageName ImageChecksum TimeDateStamp "
            "PackageFullName PackageRelativeAppId SecurityMitigations"},
        {"Microsoft-Windows-Kernel-Process", 27, 0, "ProcessName ProcessID"},
        {"Microsoft-Windows-PowerShell", 16385, 1, "Action AmsiContext"},
        {"Microsoft-Windows-DotNETRuntimeRundown", 149, 1,
            "MethodID ReJITID MethodExtent CountOfMapEntries ILOffsets NativeOffsets ClrInstanceID "
            "ILVersionID"},
        {"Microsoft-Windows-DotNETRuntimeRundown", 150, 1,
            "MethodID ReJITID MethodExtent CountOfMapEntries ILOffsets NativeOffsets ClrInstanceID "
            "ILVersionID"},
    };
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        const struct event_schema *schema = find(
            events[i].provider, events[i].id, events[i].version);
        assert_non_null(schema);
        char names[512] = "";
        for (size_t k = 0; k < schema->field_count; k++) {
            const struct span *name = &schema->fields[k].name;
            size_t used = strlen(names);
            snprintf(names + used, sizeof(names) - used, "%s%.*s", used ? " " : "", (int)name->size,
                (const char *)name->data);
        }
        assert_string_equal(names, events[i].fields);
    }
}

/* In the form of Windows' manifest: network byte order. */
static void addresses_and_ports_are_shown_as_such(void **state)
{
    (void)state;
    const struct event_schema *four = find("Microsoft-Windows-Kernel-Network", 10, 0);
    const struct event_schema *six = find("Microsoft-Windows-Kernel-Network", 26, 0);
    assert_int_equal(field_of(four, "daddr")->form, FORM_IPV4);
    assert_int_equal(field_of(four, "sport")->form, FORM_PORT);
    assert_int_equal(field_of(six, "saddr")->form, FORM_IPV6);
    assert_int_equal(field_of(six, "dport")->form, FORM_PORT);
    const struct event_schema *dns = find("Microsoft-Windows-DNS-Client", 1013, 0);
    assert_int_equal(field_of(dns, "Address")->form, FORM_SOCKET_ADDRESS);
}

struct counted {
    size_t count;
    size_t with_layout;
};

static void count_schema(void *self, const struct event_schema *schema)
{
    struct counted *counted = self;
    counted->count++;
    counted->with_layout += schema->has_layout;
}

static void all_are_listed(void **state)
{
    (void)state;
    struct counted counted = {0};
    ops->list(source, count_schema, &counted);
    assert_true(counted.count > 800);
    assert_int_equal(counted.with_layout, counted.count);
}

/* ---- among other sources --------------------------------------------------------------------- */

#define CLR "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4"

static struct schema_cache *cache_of(struct schema_cache_settings settings, const char *pack)
{
    struct error err = {0};
    settings.sources.pack = span_text(pack);
    struct schema_cache *cache = schema_cache_create(&settings, &err);
    assert_string_equal(err.text, "");
    assert_non_null(cache);
    return cache;
}

static const struct schema_choice *choose(
    struct schema_cache *cache, const char *guid, uint16_t id, uint8_t version)
{
    static struct event_record record;
    record = (struct event_record){
        .kind = RECORD_EVENT, .descriptor = {.id = id, .version = version}, .time = 1000};
    assert_true(guid_parse(span_text(guid), &record.provider));
    return schema_cache_find(cache, &record);
}

static void a_definition_of_the_user_goes_first(void **state)
{
    (void)state;
    struct schema_cache *cache = cache_of((struct schema_cache_settings){0},
        "etwship-pack 1\nprovider " CLR " \"Own\"\nevent manifest 1 2\n  name \"own\"\n");
    const struct schema_choice *choice = choose(cache, CLR, 1, 2);
    assert_int_equal(choice->count, 2);
    assert_string_equal(choice->list[0]->source, "pack");
    assert_string_equal(choice->list[1]->source, "builtin");
    choice = choose(cache, CLR, 2, 1);
    assert_int_equal(choice->count, 1);
    assert_string_equal(choice->list[0]->source, "builtin");
    schema_cache_destroy(cache);
}

/* GCGlobalHeapHistory_V4 as NativeRuntimeEventSource describes it, without its array of times. */
static void the_manifest_that_the_runtime_sends_of_itself_comes_behind(void **state)
{
    (void)state;
    static const char chunk[] =
        "\x01\x01\x00\x5b\x01\x00\x00\x00"
        "<i><provider name=\"Microsoft-Windows-DotNETRuntime\" guid=\"{" CLR "}\">"
        "<templates><template tid=\"T\"><data name=\"Count\" inType=\"win:UInt32\"/>"
        "</template></templates><event value=\"205\" version=\"4\" template=\"T\"/>"
        "<event value=\"999\" template=\"T\"/></provider></i>";
    struct event_record record = {.kind = RECORD_EVENT,
        .descriptor = {.id = 0xfffe, .task = 0xfffe, .opcode = 0xfe},
        .payload = span_make(chunk, sizeof(chunk) - 1),
        .time = 1000};
    assert_true(guid_parse(span_text(CLR), &record.provider));
    for (int without = 0; without < 2; without++) {
        struct schema_cache *cache = cache_of(
            (struct schema_cache_settings){.no_builtin = without}, "");
        schema_cache_learn(cache, &record);
        const struct schema_choice *choice = choose(cache, CLR, 205, 4);
        assert_int_equal(choice->count, 1);
        assert_string_equal(choice->list[0]->source, without ? "eventsource" : "builtin");
        assert_string_equal(choose(cache, CLR, 999, 0)->list[0]->source, "eventsource");
        schema_cache_destroy(cache);
    }
}

static void it_can_be_left_out_and_be_used_alone(void **state)
{
    (void)state;
    struct schema_cache *cache = cache_of((struct schema_cache_settings){.no_builtin = true}, "");
    const struct schema_choice *choice = choose(cache, CLR, 1, 2);
    assert_string_equal(choice->list[0]->source, "none");
    assert_int_equal(choice->list[0]->kind, SCHEMA_UNKNOWN);
    assert_false(choice->list[0]->has_layout);
    assert_true(span_is(choice->list[0]->provider_name, "Microsoft-Windows-DotNETRuntime"));
    schema_cache_destroy(cache);
    cache = cache_of((struct schema_cache_settings){.only_source = "builtin"}, "");
    assert_string_equal(choose(cache, CLR, 1, 2)->list[0]->source, "builtin");
    schema_cache_destroy(cache);
}

/* Two caches of one shared source, as workers have them. */
static void caches_share_what_was_read(void **state)
{
    (void)state;
    struct error err;
    const struct schema_source_settings none = {.path_count = 0};
    struct schema_shared *shared = schema_shared_create(&none, &err);
    assert_non_null(shared);
    const struct event_schema *found[2];
    struct schema_cache *caches[2];
    for (int i = 0; i < 2; i++) {
        caches[i] = cache_of((struct schema_cache_settings){.shared = shared}, "");
        found[i] = choose(caches[i], CLR, 1, 2)->list[0];
    }
    assert_ptr_not_equal(found[0], found[1]);
    assert_ptr_equal(found[0]->fields, found[1]->fields);
    schema_cache_destroy(caches[0]);
    schema_cache_destroy(caches[1]);
    schema_shared_destroy(shared);
}

/* Built-in names come last for a bare GUID: another definition of the provider wins. */
static void a_provider_without_a_definition_has_its_known_name(void **state)
{
    (void)state;
    static const char wlan[] = "9580d7dd-0379-4658-9870-d5be7d52d6de";
    struct schema_cache *cache = cache_of((struct schema_cache_settings){0}, "");
    const struct schema_choice *choice = choose(cache, wlan, 8001, 0);
    assert_int_equal(choice->count, 1);
    assert_true(span_is(choice->list[0]->provider_name, "Microsoft-Windows-WLAN-AutoConfig"));
    assert_string_equal(choice->list[0]->source, "none");
    assert_int_equal(choose(cache, "00000000-0000-0000-0000-000000000001", 1, 0)->count, 0);
    schema_cache_destroy(cache);
    cache = cache_of((struct schema_cache_settings){0},
        "etwship-pack 1\nprovider 9580d7dd-0379-4658-9870-d5be7d52d6de \"Renamed\"\n"
        "event manifest 1 0\n");
    assert_true(span_is(choose(cache, wlan, 8001, 0)->list[0]->provider_name, "Renamed"));
    schema_cache_destroy(cache);
    cache = cache_of((struct schema_cache_settings){0},
        "etwship-pack 1\nprovider 9580d7dd-0379-4658-9870-d5be7d52d6de \"\"\n"
        "event manifest 1 0\n");
    choice = choose(cache, wlan, 1, 0);
    assert_string_equal(choice->list[0]->source, "pack");
    assert_true(span_is(choice->list[0]->provider_name, "Microsoft-Windows-WLAN-AutoConfig"));
    schema_cache_destroy(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_text_is_well_and_its_provider_known),
        cmocka_unit_test(an_event_is_found_by_exact_id_and_version),
        cmocka_unit_test(only_manifest_events_are_looked_for),
        cmocka_unit_test(stacks_of_the_clr_have_as_many_frames_as_they_say),
        cmocka_unit_test(events_of_newer_versions_have_the_fields_of_their_manifest),
        cmocka_unit_test(addresses_and_ports_are_shown_as_such),
        cmocka_unit_test(all_are_listed),
        cmocka_unit_test(a_definition_of_the_user_goes_first),
        cmocka_unit_test(the_manifest_that_the_runtime_sends_of_itself_comes_behind),
        cmocka_unit_test(it_can_be_left_out_and_be_used_alone),
        cmocka_unit_test(caches_share_what_was_read),
        cmocka_unit_test(a_provider_without_a_definition_has_its_known_name),
    };
    return cmocka_run_group_tests(tests, create, destroy);
}
