#include <stdio.h>

#include "schema/pack/pack.h"
#include "support/temp_folder.h"
#include "unit/app/event_log_rig.h"

/* A schema pack contains the texts to which values of event logs refer by number, so any system
 * shows them. */

static char folder[TEMP_FOLDER_BYTES];

static const char text[] =
    "etwship-pack 3\n"
    "\n"
    "provider 54849625-5478-4994-a5ba-3e3b0328c30d \"Microsoft-Windows-Security-Auditing\"\n"
    "parameters 0x409\n"
    "  parameter 1842 \"Yes\"\n"
    "  parameter 1843 \"No\"\n"
    "\n"
    "event manifest 4624 0\n"
    "  message \"Logon of %1, %%1842.\"\n"
    "  field \"TargetUserName\" UnicodeString\n";

static const struct schema_parameters *texts_of(void *self, const struct event_schema *schema)
{
    return schema_cache_parameters(self, schema);
}

struct list {
    const struct event_schema *items[4];
    size_t count;
};

static void add(void *self, const struct event_schema *schema)
{
    struct list *list = self;
    if (strcmp(schema->source, "pack") == 0) {
        assert_true(list->count < 4);
        list->items[list->count++] = schema;
    }
}

/* The output of `schema export`. */
static void assert_export(struct schema_cache *cache, const char *expected)
{
    const struct pack_texts texts = {.self = cache, .find = texts_of};
    struct list list = {.count = 0};
    struct buf out;
    buf_init(&out, 1 << 20);
    schema_cache_list(cache, add, &list);
    assert_true(pack_write(list.items, list.count, &texts, &out));
    assert_span(buf_span(&out), expected);
    buf_fini(&out);
}

static void a_pack_has_the_texts_of_parameters(void **state)
{
    (void)state;
    char path[TEMP_FOLDER_BYTES + 16];
    const char *const paths[] = {folder};
    const struct schema_cache_settings settings = {.sources = {.paths = paths, .path_count = 1}};
    struct reading r;
    assert_int_equal(temp_folder_make(folder, "packs"), 0);
    snprintf(path, sizeof(path), "%s/x.pack", folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
    evtx_put_begin(&put);
    evtx_sample_logon(&put, 1, EVTX_SAMPLE_TIME, "PC-1", "%%1843");
    evtx_put_finish(&put);
    reading_init(&r);
    schema_cache_destroy(r.cache);
    r.cache = schema_cache_create(&settings, &err);
    assert_non_null(r.cache);
    struct span json = next_as(&r, "native");
    assert_true(holds(json, "\"TargetUserName\":\"%%1843\",\"TargetUserName_name\":\"No\""));
    assert_true(holds(json, "\"message\":\"Logon of No, Yes.\""));
    assert_export(r.cache, text);
    reading_fini(&r);
    assert_int_equal(temp_folder_remove(folder), 0);
}

static void assert_refused(const char *lines, const char *why)
{
    char all[512];
    snprintf(all, sizeof(all),
        "etwship-pack 3\nprovider 54849625-5478-4994-a5ba-3e3b0328c30d \"P\"\n%s", lines);
    assert_null(pack_read(span_text(all), "x.pack", NULL, &err));
    assert_string_equal(err.text, why);
}

static void texts_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    assert_refused("parameter 1 \"a\"\n", "x.pack:3: not allowed here: \"parameter\"");
    assert_refused("parameters 0x409\nparameter 2 \"a\"\nparameter 1 \"b\"\nparameter 2 \"c\"\n",
        "x.pack:6: the parameters above have two texts for one number");
    assert_refused("parameters 0x10000\n", "x.pack:3: \"0x10000\" is not a number from 0 to 65535");
    assert_refused("parameters 0\nparameter 1\n", "x.pack:4: a text in double quotes is missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pack_has_the_texts_of_parameters),
        cmocka_unit_test(texts_that_make_no_sense_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
