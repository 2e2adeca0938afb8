#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "schema/mof/mof_parse.h"
#include "schema/wpp/mof_control.h"
#include "schema/wpp/tmc.h"

/* Control GUIDs and flags: the input as lines of a trace message control file, then as MOF text. */
enum { MAX_ARENA = 1 << 24 };

static void read_lines(struct wpp_controls *controls, struct span text)
{
    struct tmc_reader reader;
    tmc_reader_init(&reader, controls);
    while (text.size) {
        const uint8_t *end = memchr(text.data, '\n', text.size);
        size_t size = end ? (size_t)(end - text.data) + 1 : text.size;
        tmc_reader_line(&reader, span_first(text, size));
        text = span_from(text, size);
    }
    tmc_reader_end(&reader);
}

static void read_classes(struct wpp_controls *controls, struct span text)
{
    struct mof_model model;
    struct error err;
    mof_model_init(&model, MAX_ARENA);
    mof_parse(&model, text, "fuzz.mof", &err);
    mof_model_link(&model);
    mof_control_find(&model, controls);
    mof_model_fini(&model);
}

/* Every GUID is there once, and every flag is found by its name. */
static void check(const struct wpp_controls *controls)
{
    size_t count = 0;
    for (const struct wpp_control *at = controls->first; at; at = at->next) {
        for (const struct wpp_control *other = at->next; other; other = other->next) {
            if (guid_equal(&at->guid, &other->guid)) {
                abort();
            }
        }
        for (size_t i = 0; i < at->flag_count; i++) {
            if (wpp_control_flag(at, at->flags[i].name) != &at->flags[i]) {
                abort();
            }
        }
        count++;
    }
    if (count != controls->count) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wpp_controls controls;
    wpp_controls_init(&controls);
    read_lines(&controls, span_make(data, size));
    read_classes(&controls, span_make(data, size));
    check(&controls);
    wpp_controls_fini(&controls);
    return 0;
}

static const char *const seeds[] = {
    "// PDB: a.pdb\r\nd58c126f-b309-11d1-969e-0000f875a5bc Guid\r\n\tONE\r\n\tTWO\r\n",
    "TMC:\n{d58c126f-b309-11d1-969e-0000f875a5bc}\nName\nF\nPUBLIC_TMF:\n"
    "3a2a4e84-4c21-4981-ae10-3fda0d9b0f83\n",
    "[Guid(\"{3a2a4e84-4c21-4981-ae10-3fda0d9b0f83}\")] class A : EventTrace { [Values{\"x\", "
    "\"y\"},"
    "DefineValues{\"X\"}, ValueMap{\"0x1\", \"2\"} : amended] uint32 Flags; };\n"
    "[Guid(\"{d58c126f-b309-11d1-969e-0000f875a5bc}\")] class B : A { [Values{\"z\"}] uint8 flags; "
    "};",
};

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    size_t count = sizeof(seeds) / sizeof(seeds[0]);
    size_t size = index < count ? strlen(seeds[index]) : 0;
    if (size > max) {
        return 0;
    }
    memcpy(out, index < count ? seeds[index] : "", size);
    return size;
}
