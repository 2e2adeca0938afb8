#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "decode/decode.h"
#include "event/formats/event_format.h"
#include "event/write/event_path.h"
#include "event/write/event_writer.h"
#include "input/etl/etl_merge.h"
#include "platform/plat_file.h"
#include "schema/cache/schema_cache.h"
#include "support/crim_put.h"
#include "support/evtx_sample.h"
#include "support/pe_put.h"
#include "support/temp_folder.h"
#include "support/test.h"

/* Records of event logs and program files of their providers, from the bytes of both to JSON:
 * messages, texts of parameters, names, forms of values, languages. The expected texts were written
 * by hand. */

static struct evtx_put put;
static struct error err;
static char folder[TEMP_FOLDER_BYTES];

/* ---- program files --------------------------------------------------------------------------- */

enum {
    ENGLISH = 0x409,
    GERMAN = 0x407,
};

#define LOGON UINT32_C(0xb0001210)
#define JOB UINT32_C(0xb00000c8)
#define SERVICE UINT32_C(0xb0001b7c)
#define NETWORK UINT32_C(0xd0000001)
#define NO_TEXT CRIM_PUT_NO_MESSAGE
/* An event without names of its level, task, opcode and channel. */
#define NAMES_NOTHING                                                                \
    .opcode_at = CRIM_PUT_NONE, .level_at = CRIM_PUT_NONE, .task_at = CRIM_PUT_NONE, \
    .channel_at = CRIM_PUT_NONE

static const struct crim_put_entry logon_types[] = {{3, NETWORK}};
static const struct crim_put_map maps[] = {
    {.name = "LogonTypes", .signature = "VMAP", .entries = logon_types, .count = 1}};

static const struct crim_put_property logon_fields[] = {
    {.name = "TargetUserName", .in = IN_UNICODE_STRING, .out = OUT_STRING, .map = -1},
    {.name = "LogonType", .in = IN_UINT32, .out = OUT_UNSIGNED_INT, .map = 0},
    {.name = "TargetLogonId", .in = IN_HEX_INT64, .out = OUT_HEX_INT64, .map = -1},
    {.name = "TargetUserSid", .in = IN_SID, .out = OUT_STRING, .map = -1},
    {.name = "Nothing", .in = IN_UNICODE_STRING, .out = OUT_STRING, .map = -1}, {.name = NULL}};
static const struct crim_put_property job_fields[] = {
    {.name = "id", .in = IN_UINT32, .out = OUT_IPV4, .map = -1},
    {.name = "Step", .in = IN_UNICODE_STRING, .out = OUT_STRING, .map = -1},
    {.name = "Text", .in = IN_UNICODE_STRING, .out = OUT_STRING, .map = -1}, {.name = NULL}};
static const struct crim_put_property service_fields[] = {
    {.name = "param1", .in = IN_UNICODE_STRING, .out = OUT_STRING, .map = -1},
    {.name = "param2", .in = IN_UNICODE_STRING, .out = OUT_STRING, .map = -1}, {.name = NULL}};
static const struct crim_put_template security_templates[] = {
    {.properties = logon_fields, .top_count = 5}, {.properties = job_fields, .top_count = 3}};
static const struct crim_put_template service_templates[] = {
    {.properties = service_fields, .top_count = 2}};

static const struct crim_put_name none[] = {{.name = NULL}};
static const struct crim_put_event security_events[] = {
    {.id = 200, .level = 4, .message = JOB, .template_at = 1, NAMES_NOTHING},
    {.id = 300, .level = 4, .message = JOB, .template_at = 1, NAMES_NOTHING},
    {.id = 4624,
        .level = 4,
        .keyword = UINT64_C(0x8020000000000000),
        .message = LOGON,
        .template_at = 0,
        NAMES_NOTHING}};
static const struct crim_put_event service_events[] = {
    {.id = 7036, .message = SERVICE, .template_at = 0, NAMES_NOTHING}};

static const struct crim_put_provider providers[] = {
    {.guid = {{0x25, 0x96, 0x84, 0x54, 0x78, 0x54, 0x94, 0x49, 0xa5, 0xba, 0x3e, 0x3b, 0x03, 0x28,
         0xc3, 0x0d}},
        .name = "Microsoft-Windows-Security-Auditing",
        .message = NO_TEXT,
        .channels = none,
        .levels = none,
        .tasks = none,
        .opcodes = none,
        .keywords = none,
        .maps = maps,
        .map_count = 1,
        .templates = security_templates,
        .template_count = 2,
        .events = security_events,
        .event_count = 3},
    {.guid = {{0xd1, 0x08, 0x59, 0x55, 0xd7, 0xa6, 0x95, 0x46, 0x8e, 0x1e, 0x26, 0x93, 0x1d, 0x20,
         0x12, 0xf4}},
        .name = "Service Control Manager",
        .message = NO_TEXT,
        .channels = none,
        .levels = none,
        .tasks = none,
        .opcodes = none,
        .keywords = none,
        .templates = service_templates,
        .template_count = 1,
        .events = service_events,
        .event_count = 1}};

static const struct pe_put_message english_texts[] = {{JOB, "Job %1: %3, at %2.", false},
    {LOGON,
        "Logon of %1.\r\n\r\n%tType:%t%2%n%tId:%t%3!s!0%n%tSid:%t%4%n%tNone:%t<%5!s!>%n100%% "
        "%%1842 "
        "%%99999 %9\r\n",
        false},
    {SERVICE, "The %1 service entered the %2 state.", false}, {NETWORK, "Network", false}};
static const struct pe_put_message german_texts[] = {
    {LOGON, "Anmeldung von %1 (%2).", false}, {NETWORK, "Netzwerk", false}};
static const struct pe_put_message english_parameters[] = {
    {1538, "READ_CONTROL", false}, {1842, "Yes", false}, {1843, "No%0 more", false}};
static const struct pe_put_message german_parameters[] = {
    {1842, "Ja", false}, {1843, "Nein", false}};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void write_file(const char *name, struct span bytes)
{
    char path[512];
    assert_true((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) < sizeof(path));
    char *slash = strrchr(path, '/');
    *slash = 0;
    assert_true(plat_dir_create(path, &err));
    *slash = '/';
    struct plat_file *file = plat_file_open(path, PLAT_FILE_CREATE, &err);
    assert_non_null(file);
    assert_true(plat_file_write(file, bytes, &err));
    plat_file_close(file);
}

/* A program file, with the manifest of both providers if ${defines}, and with a table of ${count}
 * texts, if any. */
static void write_program(const char *name, bool defines, uint16_t language,
    const struct pe_put_message *texts, size_t count)
{
    struct buf manifest;
    struct buf table;
    struct buf file;
    struct pe_put_resource list[2];
    size_t used = 0;
    buf_init(&manifest, 1 << 16);
    buf_init(&table, 1 << 16);
    buf_init(&file, 1 << 20);
    if (defines) {
        crim_put(&manifest, providers, COUNT(providers));
        list[used++] = (struct pe_put_resource){
            .type_name = "WEVT_TEMPLATE", .bytes = buf_span(&manifest)};
    }
    if (count) {
        pe_put_messages(&table, texts, count);
        list[used++] = (struct pe_put_resource){
            .type = 11, .language = language, .bytes = buf_span(&table)};
    }
    pe_put(&file, &(struct pe_put_options){.gap = 64}, list, used, NULL);
    write_file(name, buf_span(&file));
    buf_fini(&file);
    buf_fini(&table);
    buf_fini(&manifest);
}

static void write_english(void)
{
    write_program("adtschema.dll", true, ENGLISH, english_texts, COUNT(english_texts));
    write_program("msobjs.dll", false, ENGLISH, english_parameters, COUNT(english_parameters));
}

static int make_folder(void **state)
{
    (void)state;
    evtx_put_begin(&put);
    return temp_folder_make(folder, "messages");
}

static int remove_folder(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
    struct arena arena;
    struct etl_file *file;
    struct etl_merge *merge;
    struct schema_cache *cache;
    struct decoder decoder;
    struct event_writer *writer;
    struct event event;
    struct buf out;
    char warnings[1024];
    size_t max_bytes; /* of the cache */
};

static void on_warning(void *self, const char *text)
{
    struct reading *r = self;
    size_t used = strlen(r->warnings);
    snprintf(r->warnings + used, sizeof(r->warnings) - used, "%s\n", text);
}

static void reading_init(struct reading *r, const char *language)
{
    static const struct event_writer_settings plain;
    const char *const paths[] = {folder};
    *r = (struct reading){.max_bytes = r->max_bytes};
    const struct schema_cache_settings settings = {.sources = {.paths = paths,
                                                       .path_count = 1,
                                                       .language = language,
                                                       .warn = on_warning,
                                                       .warn_self = r},
        .max_bytes = r->max_bytes};
    const struct etl_visitor visitor = {.self = NULL};
    evtx_put_finish(&put);
    arena_init(&r->arena, 1 << 24);
    buf_init(&r->out, 1 << 24);
    r->file = etl_file_open_memory(span_make(put.bytes, put.size), "mem.evtx", &r->arena, &err);
    assert_non_null(r->file);
    assert_true(etl_file_index(r->file, &visitor, &err));
    r->merge = etl_merge_create(&r->file, 1, &err);
    r->cache = schema_cache_create(&settings, &err);
    r->writer = event_writer_create(&plain, &err);
    assert_true(r->merge && r->cache && r->writer && decoder_init(&r->decoder, &err));
}

static void reading_fini(struct reading *r)
{
    event_writer_destroy(r->writer);
    decoder_fini(&r->decoder);
    schema_cache_destroy(r->cache);
    etl_merge_destroy(r->merge);
    etl_file_destroy(r->file);
    buf_fini(&r->out);
    arena_fini(&r->arena);
}

static void next(struct reading *r)
{
    const struct event_record *record;
    size_t file;
    enum etl_merge_step step;
    do {
        step = etl_merge_next(r->merge, &record, &file, &err);
    } while (step == ETL_MERGE_FILE_END);
    assert_int_equal(step, ETL_MERGE_RECORD);
    const struct schema_choice *choice = schema_cache_find(r->cache, record);
    assert_int_equal(choice->count, 1);
    decoder_run(&r->decoder, record, choice->list[0], record->pointer_size, &r->event);
    assert_int_equal(r->event.status, DECODE_COMPLETE);
}

static struct span as(struct reading *r, const char *format)
{
    buf_reset(&r->out);
    event_format_find(span_text(format))->event(r->writer, &r->event, &r->out);
    assert_false(r->out.failed);
    return buf_span(&r->out);
}

static bool has(struct span text, const char *part)
{
    struct span wanted = span_text(part);
    for (size_t i = 0; i + wanted.size <= text.size; i++) {
        if (memcmp(text.data + i, wanted.data, wanted.size) == 0) {
            return true;
        }
    }
    return false;
}

static void assert_has(struct span text, const char *part)
{
    if (!has(text, part)) {
        fail_msg("\"%s\" is not in \"%.*s\"", part, SPAN_ARG(text));
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

static void a_message_has_the_values_of_the_record(void **state)
{
    (void)state;
    struct reading r = {.max_bytes = 0};
    write_english();
    evtx_sample_logon(&put, 1, EVTX_SAMPLE_TIME, "PC-1", "anna");
    reading_init(&r, NULL);
    next(&r);
    static const char message[] =
        "\"message\":\"Logon of "
        "anna.\\n\\n\\tType:\\tNetwork\\n\\tId:\\t0x3e70\\n\\tSid:\\tS-1-5-18\\n"
        "\\tNone:\\t<>\\n100% Yes %99999 %9\"";
    assert_has(as(&r, "native"), message);
    assert_has(as(&r, "ecs"), message);
    assert_string_equal(r.warnings, "");
    struct span silent;
    assert_false(schema_cache_next_silent(r.cache, &silent));
    reading_fini(&r);
}

static void values_are_shown_as_the_template_says(void **state)
{
    (void)state;
    struct reading r = {.max_bytes = 0};
    write_english();
    evtx_sample_logon(&put, 1, EVTX_SAMPLE_TIME, "PC-1", "anna");
    evtx_sample_user(&put, 2, EVTX_SAMPLE_TIME);
    reading_init(&r, NULL);
    next(&r);
    assert_has(as(&r, "native"),
        "\"data\":{\"TargetUserName\":\"anna\",\"LogonType\":3,\"LogonType_name\":\"Network\","
        "\"TargetLogonId\":\"0x3e7\",\"TargetUserSid\":\"S-1-5-18\",\"Elevated\":true,"
        "\"Addresses\":[\"ab\",\"c\"]}");
    assert_has(as(&r, "native"), "\"keywords\":\"0x8020000000000000\",\"keywords_name\":["
                                 "\"AuditSuccess\"],\"record_id\":1}");
    assert_has(as(&r, "ecs"), "\"LogonType\":\"Network\",\"LogonType_raw\":\"3\"");
    next(&r);
    struct span native = as(&r, "native");
    assert_has(native, "\"data\":{\"Job\":{\"id\":\"7.0.0.0\",\"Step\":\"first\",\"Step_2\":-2,"
                       "\"Text\":\"job 7 is done\"}}");
    assert_has(native, "\"message\":\"Job 7.0.0.0: job 7 is done, at first.\"");
    reading_fini(&r);
}

/* A message with other values would state what was never logged. */
static void a_record_with_other_values_has_no_message(void **state)
{
    (void)state;
    struct reading r = {.max_bytes = 0};
    write_english();
    evtx_sample_nested(&put, 1, EVTX_SAMPLE_TIME);
    reading_init(&r, NULL);
    next(&r);
    struct span native = as(&r, "native");
    assert_has(native, "\"data\":{\"Inner\":\"deep\"}");
    assert_false(has(native, "\"message\""));
    reading_fini(&r);
}

/* Its record has no GUID, and the list of texts is two values. */
static void a_classic_event_has_the_message_of_its_provider(void **state)
{
    (void)state;
    struct reading r = {.max_bytes = 0};
    write_english();
    evtx_sample_plain(&put, 1, EVTX_SAMPLE_TIME);
    reading_init(&r, NULL);
    next(&r);
    assert_has(as(&r, "native"), "\"message\":\"The one service entered the two state.\"");
    reading_fini(&r);
}

static void a_message_of_the_record_goes_before(void **state)
{
    (void)state;
    struct reading r = {.max_bytes = 0};
    write_english();
    evtx_sample_logon(&put, 1, EVTX_SAMPLE_TIME, "PC-1", "anna");
    reading_init(&r, NULL);
    next(&r);
    struct extended_item items[RECORD_MAX_EXTENDED];
    struct event_record record = *r.event.record;
    memcpy(items, record.extended, record.extended_count * sizeof(*items));
    items[record.extended_count] = (struct extended_item){
        EXTENDED_LOG_MESSAGE, span_text("As said there.")};
    record.extended = items;
    record.extended_count++;
    r.event.record = &record;
    assert_has(as(&r, "native"), "\"message\":\"As said there.\"");
    record.extended_count--;
    record.present |= RECORD_WITHOUT_MESSAGE;
    assert_false(has(as(&r, "native"), "\"message\""));
    reading_fini(&r);
}

/* ---- parameters ------------------------------------------------------------------------------ */

static void assert_path(struct reading *r, const char *path, const char *text)
{
    struct event_path_context context;
    struct event_path compiled;
    assert_true(event_path_compile(span_text(path), &compiled, &err));
    assert_true(event_path_context_init(&context, NULL, &err));
    struct event_value value = event_path_get(&compiled, &r->event, &context);
    assert_span(event_value_text(&context.values, &value), text);
    event_path_context_fini(&context);
}

static void parameters_have_their_texts_beside_them_and_in_the_message(void **state)
{
    (void)state;
    struct reading r = {.max_bytes = 0};
    write_english();
    evtx_sample_logon(&put, 1, EVTX_SAMPLE_TIME, "PC-1", "%%1843");
    evtx_sample_logon(&put, 2, EVTX_SAMPLE_TIME, "PC-1", "%%1538\n\t%%7, %%1842!");
    evtx_sample_logon(&put, 3, EVTX_SAMPLE_TIME, "PC-1", "100%% of %%");
    reading_init(&r, NULL);
    next(&r);
    assert_has(as(&r, "native"),
        "\"data\":{\"TargetUserName\":\"%%1843\",\"TargetUserName_name\":\"No\",\"LogonType\":3");
    assert_has(as(&r, "native"), "\"message\":\"Logon of No.\\n");
    assert_has(as(&r, "ecs"), "\"TargetUserName\":\"%%1843\",\"TargetUserName_name\":\"No\"");
    assert_has(as(&r, "otel"), "\"TargetUserName_name\"");
    assert_path(&r, "data.TargetUserName_name", "No");
    next(&r);
    assert_has(as(&r, "native"), "\"TargetUserName\":\"%%1538\\n\\t%%7, %%1842!\","
                                 "\"TargetUserName_name\":\"READ_CONTROL\\n\\t%%7, Yes!\"");
    assert_has(as(&r, "native"), "\"message\":\"Logon of READ_CONTROL\\n\\t%%7, Yes!.\\n");
    assert_path(&r, "data.TargetUserName_name", "READ_CONTROL\n\t%%7, Yes!");
    next(&r);
    assert_false(has(as(&r, "native"), "_name\":\"100"));
    assert_path(&r, "data.TargetUserName_name", "");
    assert_path(&r, "data.TargetUserName", "100%% of %%");
    reading_fini(&r);
}

/* No other definition describes the event. */
static void parameters_need_no_definition(void **state)
{
    (void)state;
    struct reading r = {.max_bytes = 0};
    write_program("msobjs.dll", false, ENGLISH, english_parameters, COUNT(english_parameters));
    evtx_sample_logon(&put, 1, EVTX_SAMPLE_TIME, "PC-1", "%%1843");
    reading_init(&r, NULL);
    next(&r);
    struct span native = as(&r, "native");
    assert_has(native, "\"TargetUserName_name\":\"No\"");
    assert_false(has(native, "\"message\""));
    struct span silent;
    assert_true(schema_cache_next_silent(r.cache, &silent));
    assert_span(silent, "Microsoft-Windows-Security-Auditing");
    assert_false(schema_cache_next_silent(r.cache, &silent));
    reading_fini(&r);
}

/* The file that defines a provider also has its texts, unless another file is known for these: not
 * for Security-Auditing. */
static void texts_of_another_provider_are_not_used(void **state)
{
    (void)state;
    struct reading r = {.max_bytes = 0};
    write_program("adtschema.dll", true, ENGLISH, english_parameters, COUNT(english_parameters));
    write_program("other.dll", false, ENGLISH, english_parameters, COUNT(english_parameters));
    evtx_sample_logon(&put, 1, EVTX_SAMPLE_TIME, "PC-1", "%%1843");
    reading_init(&r, NULL);
    next(&r);
    assert_false(has(as(&r, "native"), "TargetUserName_name"));
    reading_fini(&r);
}

/* ---- languages ------------------------------------------------------------------------------- */

static void write_both_languages(void)
{
    write_program("adtschema.dll", true, 0, NULL, 0);
    write_program("en-US/adtschema.dll.mui", false, ENGLISH, english_texts, COUNT(english_texts));
    write_program("de-DE/adtschema.dll.mui", false, GERMAN, german_texts, COUNT(german_texts));
    write_program("msobjs.dll", false, 0, NULL, 0);
    write_program(
        "en-US/msobjs.dll.mui", false, ENGLISH, english_parameters, COUNT(english_parameters));
    write_program(
        "de-DE/msobjs.dll.mui", false, GERMAN, german_parameters, COUNT(german_parameters));
}

static void assert_message_in(const char *language, const char *message)
{
    struct reading r = {.max_bytes = 0};
    evtx_put_begin(&put);
    evtx_sample_logon(&put, 1, EVTX_SAMPLE_TIME, "PC-1", "%%1843");
    reading_init(&r, language);
    next(&r);
    assert_has(as(&r, "native"), message);
    assert_string_equal(r.warnings, "");
    reading_fini(&r);
}

static void all_texts_are_in_the_language_that_was_chosen(void **state)
{
    (void)state;
    write_both_languages();
    assert_message_in(NULL, "\"message\":\"Logon of No.\\n\\n\\tType:\\tNetwork\\n");
    assert_message_in("en-US", "\"message\":\"Logon of No.\\n\\n\\tType:\\tNetwork\\n");
    assert_message_in("de-DE", "\"message\":\"Anmeldung von Nein (Netzwerk).\"");
    assert_message_in("de-AT", "\"message\":\"Anmeldung von Nein (Netzwerk).\"");
    assert_message_in("fr-FR", "\"message\":\"Logon of No.\\n\\n\\tType:\\tNetwork\\n");
}

/* A text that the chosen language lacks does not come from another one. */
static void languages_are_not_mixed(void **state)
{
    (void)state;
    write_program("adtschema.dll", true, ENGLISH, english_texts, COUNT(english_texts));
    write_program("de-DE/adtschema.dll.mui", false, GERMAN, german_texts, COUNT(german_texts));
    write_program("msobjs.dll", false, ENGLISH, english_parameters, COUNT(english_parameters));
    assert_message_in("de-DE", "\"message\":\"Anmeldung von %%1843 (Netzwerk).\"");
    struct reading r = {.max_bytes = 0};
    evtx_put_begin(&put);
    evtx_sample_user(&put, 1, EVTX_SAMPLE_TIME);
    reading_init(&r, "de-DE");
    next(&r);
    assert_false(has(as(&r, "native"), "\"message\""));
    reading_fini(&r);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Any process may write records of any number of types. */
static void more_types_than_have_room_keep_their_messages(void **state)
{
    (void)state;
    enum { TYPES = 3000, LEAST = 1 };
    struct reading r = {.max_bytes = LEAST};
    write_english();
    evtx_sample_logon(&put, 1, EVTX_SAMPLE_TIME, "PC-1", "anna");
    reading_init(&r, NULL);
    next(&r);
    struct extended_item items[RECORD_MAX_EXTENDED];
    struct event_record record = *r.event.record;
    memcpy(items, record.extended, record.extended_count * sizeof(*items));
    record.extended = items;
    uint8_t traits[256];
    size_t at = 0;
    while (items[at].type != EXTENDED_PROV_TRAITS) {
        at++;
    }
    struct span from = items[at].data;
    assert_true(from.size <= sizeof(traits));
    memcpy(traits, from.data, from.size);
    items[at].data = span_make(traits, from.size);
    uint8_t *channel = traits + 2 + sizeof("Microsoft-Windows-Security-Auditing");
    for (unsigned i = 0; i < TYPES; i++) {
        snprintf((char *)channel, sizeof("Security"), "%08u", i);
        const struct schema_choice *choice = schema_cache_find(r.cache, &record);
        assert_int_equal(choice->count, 1);
        assert_true(choice->list[0]->message.size > 0);
    }
    reading_fini(&r);
}

/* ---- providers without messages -------------------------------------------------------------- */

static void a_provider_without_messages_is_named_once(void **state)
{
    (void)state;
    struct reading r = {.max_bytes = 0};
    evtx_sample_logon(&put, 1, EVTX_SAMPLE_TIME, "PC-1", "anna");
    evtx_sample_user(&put, 2, EVTX_SAMPLE_TIME);
    evtx_sample_logon(&put, 3, EVTX_SAMPLE_TIME, "PC-1", "anna");
    evtx_sample_plain(&put, 4, EVTX_SAMPLE_TIME);
    reading_init(&r, NULL);
    for (int i = 0; i < 4; i++) {
        next(&r);
    }
    static const char *const names[] = {
        "Microsoft-Windows-Security-Auditing", "Example-Jobs", "Service Control Manager"};
    struct span silent;
    size_t count = 0;
    while (schema_cache_next_silent(r.cache, &silent)) {
        size_t i = 0;
        while (i < COUNT(names) && !span_is(silent, names[i])) {
            i++;
        }
        assert_true(i < COUNT(names));
        count++;
    }
    assert_int_equal(count, 3);
    reading_fini(&r);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_message_has_the_values_of_the_record),
        TEST(values_are_shown_as_the_template_says),
        TEST(a_classic_event_has_the_message_of_its_provider),
        TEST(a_record_with_other_values_has_no_message),
        TEST(a_message_of_the_record_goes_before),
        TEST(parameters_have_their_texts_beside_them_and_in_the_message),
        TEST(parameters_need_no_definition),
        TEST(texts_of_another_provider_are_not_used),
        TEST(all_texts_are_in_the_language_that_was_chosen),
        TEST(languages_are_not_mixed),
        TEST(more_types_than_have_room_keep_their_messages),
        TEST(a_provider_without_messages_is_named_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
