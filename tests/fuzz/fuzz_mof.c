#include <stdlib.h>

#include "decode/decode.h"
#include "fuzz/fuzz.h"
#include "schema/mof/mof_build.h"
#include "schema/mof/mof_parse.h"
#include "schema/text/text_encoding.h"

/*
 * MOF text and events of it: after a line `---` comes the payload for one event of every type that
 * the text describes. Half of the text is read again as a second file.
 */
enum { MAX_ARENA = 1 << 24 };

static const char mark[] = "\n---\n";

/* Cut the text off ${input}; the payload is left in it. */
static struct span cut_text(struct span *input)
{
    const size_t mark_size = sizeof(mark) - 1;
    size_t at = 0;
    while (at + mark_size <= input->size && memcmp(input->data + at, mark, mark_size) != 0) {
        at++;
    }
    bool has_mark = at + mark_size <= input->size;
    struct span text = has_mark ? span_first(*input, at) : *input;
    *input = span_from(*input, has_mark ? at + mark_size : input->size);
    return text;
}

static void check_warning(void *self, const char *text)
{
    (void)self;
    bool is_placed = strncmp(text, "one.mof:", 8) == 0 || strncmp(text, "two.mof:", 8) == 0;
    if (!is_placed || strchr(text, '\n')) {
        abort();
    }
}

static void parse(struct mof_model *model, struct span bytes, const char *name)
{
    struct span text;
    struct error err = {0};
    if (text_encoding_to_utf8(bytes, &model->arena, &text) && !mof_parse(model, text, name, &err) &&
        err.text[0] == '\0') {
        abort();
    }
}

/* The list is sorted, and each schema is found by its own values. */
static void check_list(const struct mof_schemas *schemas)
{
    for (size_t i = 0; i < schemas->count; i++) {
        const struct event_schema *schema = schemas->list[i];
        struct event_schema *const *first;
        size_t count = mof_schemas_find(schemas, &schema->class_guid, schema->descriptor.opcode,
            schema->descriptor.version, &first);
        bool found = false;
        for (size_t k = 0; k < count; k++) {
            found = found || first[k] == schema;
        }
        if (!found || !schema->has_layout || schema->event_name.size == 0) {
            abort();
        }
    }
}

static void decode_all(const struct mof_schemas *schemas, struct span payload)
{
    struct decoder decoder;
    struct error err = {0};
    if (!decoder_init(&decoder, &err)) {
        return;
    }
    const struct event_record record = {.kind = RECORD_CLASSIC, .payload = payload};
    for (size_t i = 0; i < schemas->count && i < 64; i++) {
        struct event event;
        decoder_run(&decoder, &record, schemas->list[i], i % 2 ? 4 : 8, &event);
        if (event.rest.size > payload.size) {
            abort();
        }
    }
    decoder_fini(&decoder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span payload = span_make(data, size);
    struct span text = cut_text(&payload);
    struct mof_model model;
    struct mof_schemas schemas;
    struct error err = {0};
    mof_model_init(&model, MAX_ARENA);
    model.warn = check_warning;
    parse(&model, text, "one.mof");
    parse(&model, span_from(text, text.size / 2), "two.mof");
    mof_model_link(&model);
    if (!mof_build(&model, &schemas, &err) && err.text[0] == '\0') {
        abort();
    }
    mof_model_end_warnings(&model);
    check_list(&schemas);
    decode_all(&schemas, payload);
    mof_schemas_fini(&schemas);
    mof_model_fini(&model);
    return 0;
}

/* clang-format off */
#define GUID(digit) "Guid(\"{" #digit "1111111-0000-0000-0000-000000000001}\")"

static const char flags[] =
    "#pragma namespace(\"\\\\\\\\.\\\\root\\\\WMI\")\n"
    "[Dynamic, Description(\"P\") : amended, " GUID(1) "]\nclass P : EventTrace {\n"
    "[Values{\"a\", \"b\"}, ValueMap{\"0x1\", \"2\"} : amended ToInstance] uint32 Flags; };\n"
    "[" GUID(2) ", EventVersion(2), DisplayName(\"E\")] class E_V2 : P {};\n"
    "[EventType{1, 0x2}, EventTypeName{\"Start\", \"End\"}] class T : E_V2 {\n"
    "[WmiDataId(1), pointer] uint32 p; [WmiDataId(2), format(\"x\")] uint32 x;\n"
    "[WmiDataId(3), extension(\"Sid\")] object s; [WmiDataId(4), format(\"w\")] string w;\n"
    "[WmiDataId(5), StringTermination(\"ReverseCounted\")] string r; };\n---\n"
    "\1\1\1\1\1\1\1\1\2\2\2\2" "12345678abcdefgh\1\1\0\0\0\0\0\5\x12\0\0\0w\0\0\0\0\1r";

static const char arrays[] =
    "/* c */ [" GUID(3) "] class A : B { }; [" GUID(4) "] class B : A {};\n"
    "[EventType(7)] class C : A { [WmiDataId(1)] uint32 n; [WmiDataId(2), WmiSizeIs(\"n\"),"
    "extension(\"IPAddrV6\")] object q[]; [WmiDataId(3), Max(4), format(\"s\")] char16 c[];\n"
    "[WmiDataId(4), BitMap{\"0\"}, BitValues{\"z\"}] uint8 b[2] = {1, 2}; "
    "[WmiDataId(5)] boolean yes; [WmiDataId(6), extension(\"Variant\")] object v;\n"
    "[WmiDataId(7)] real64 d[]; };\n// end\n---\n\1\0\0\0" "0123456789abcdef01234567";

static const char others[] =
    "[Amendment, Description(\"\\x41\\t\" \"b\")] class A { uint32 Flags; };"
    "instance of A as $x { a = {1, \"}\"}; }; Qualifier Q : boolean = FALSE; #pragma include(\"x\")"
    "class A { boolean m([in] string s); B ref r; object:C o; uint8 x[3]";

/* Texts with line breaks where the warnings name them. */
static const char breaks[] =
    "[Dynamic] class A : EventTrace {}; [EventType(\"1\\nx\"), EventTypeName(\"a\\nb\")] class B : A {\n"
    "[WmiDataId(1), WmiSizeIs(\"n\\no\"), extension(\"x\\r\\ny\")] uint32 a[]; };\n"
    "class C { \"lines\\nof\nthem\" }; class D \"\n\" { uint32 \"\n\"; }; ]\"\n\xc2\x9b";

static const char utf16[] = "\xff\xfe" "c\0l\0a\0s\0s\0 \0A\0;";
/* clang-format on */

static const struct span seeds[] = {
    {(const uint8_t *)flags, sizeof(flags) - 1},
    {(const uint8_t *)arrays, sizeof(arrays) - 1},
    {(const uint8_t *)others, sizeof(others) - 1},
    {(const uint8_t *)breaks, sizeof(breaks) - 1},
    {(const uint8_t *)utf16, sizeof(utf16)},
};

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]) || seeds[index].size > max) {
        return 0;
    }
    memcpy(out, seeds[index].data, seeds[index].size);
    return seeds[index].size;
}
