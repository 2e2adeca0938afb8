#include "schema/manifest_xml.h"

#include <stdlib.h>

#include "base/utf.h"
#include "schema/manifest_elements.h"

/*
 * The XML side of manifests, and the finished ones. Three steps: expat's tags become a model
 * (manifest_elements.c), the model becomes schemas (manifest_build.c), which are sorted to be
 * found.
 *
 * Hardening: the size of the text, the depth, the memory and the counts are bounded, and a
 * document type ends the parse, so there are no entities to expand or to fetch.
 */
static void XMLCALL on_start(void *self, const XML_Char *name, const XML_Char **attributes)
{
    manifest_elements_start(self, name, attributes);
}

static void XMLCALL on_end(void *self, const XML_Char *name)
{
    (void)name;
    manifest_elements_end(self);
}

static void XMLCALL on_doctype(void *self, const XML_Char *name, const XML_Char *system_id,
    const XML_Char *public_id, int has_internal_subset)
{
    struct manifest_parser *p = self;
    (void)name;
    (void)system_id;
    (void)public_id;
    (void)has_internal_subset;
    error_set(p->err, ERR_FORMAT, "a manifest has no document type");
    manifest_elements_stop(p);
}

/* expat knows UTF-8, UTF-16 and Latin-1; Windows-1252 is what old editors wrote. */
static int XMLCALL on_unknown_encoding(void *self, const XML_Char *name, XML_Encoding *info)
{
    (void)self;
    if (!span_equal_nocase(span_text(name), span_text("windows-1252"))) {
        return XML_STATUS_ERROR;
    }
    for (size_t i = 0; i < 256; i++) {
        uint16_t unit = codepage_1252.single[i];
        info->map[i] = unit == 0xfffd ? -1 : unit;
    }
    info->data = NULL;
    info->convert = NULL;
    info->release = NULL;
    return XML_STATUS_OK;
}

static bool run_expat(struct manifest_parser *p, struct span xml)
{
    XML_SetUserData(p->expat, p);
    XML_SetElementHandler(p->expat, on_start, on_end);
    XML_SetStartDoctypeDeclHandler(p->expat, on_doctype);
    XML_SetUnknownEncodingHandler(p->expat, on_unknown_encoding, NULL);
    enum XML_Status status = XML_Parse(p->expat, (const char *)xml.data, (int)xml.size, XML_TRUE);
    if (p->failed) {
        return false;
    }
    if (status != XML_STATUS_OK) {
        return error_set(p->err, ERR_FORMAT, "line %zu: no well-formed XML: %s",
            (size_t)XML_GetCurrentLineNumber(p->expat),
            XML_ErrorString(XML_GetErrorCode(p->expat)));
    }
    if (!p->model->first_provider) {
        return error_set(p->err, ERR_FORMAT, "no instrumentation manifest: no provider in it");
    }
    return true;
}

static bool fill_model(struct model *model, struct span xml, struct error *err)
{
    struct error reason = {0};
    struct manifest_parser p = {.model = model, .err = &reason};
    p.expat = XML_ParserCreate(NULL);
    if (!p.expat) {
        return error_set(err, ERR_MEMORY, "no memory for the XML parser");
    }
    bool ok = run_expat(&p, xml);
    XML_ParserFree(p.expat);
    return ok || error_set(err, reason.code, "%s", reason.text);
}

static void fini_model(struct model *model)
{
    for (struct model_provider *p = model->first_provider; p; p = p->next) {
        for (size_t i = 0; i < MODEL_KINDS; i++) {
            map_fini(&p->names[i]);
        }
    }
    map_fini(&model->strings);
    arena_fini(&model->scratch);
}

/* ---- the finished manifest ------------------------------------------------------------------- */

static int compare_keys(
    const struct event_schema *a, const struct guid *provider, uint16_t id, uint8_t version)
{
    int order = memcmp(a->provider.bytes, provider->bytes, sizeof(provider->bytes));
    if (order == 0) {
        order = (a->descriptor.id > id) - (a->descriptor.id < id);
    }
    return order ? order : (a->descriptor.version > version) - (a->descriptor.version < version);
}

/* Events of one key keep the order of the file: `serial`, free until the cache gives it, holds
 * their place while they are sorted. */
static int compare_events(const void *a, const void *b)
{
    const struct event_schema *x = *(struct event_schema *const *)a;
    const struct event_schema *y = *(struct event_schema *const *)b;
    int order = compare_keys(x, &y->provider, y->descriptor.id, y->descriptor.version);
    return order ? order : (x->serial > y->serial) - (x->serial < y->serial);
}

static void sort_events(struct manifest *manifest)
{
    for (size_t i = 0; i < manifest->event_count; i++) {
        manifest->events[i]->serial = (uint32_t)i;
    }
    if (manifest->event_count > 1) {
        qsort(
            manifest->events, manifest->event_count, sizeof(struct event_schema *), compare_events);
    }
    for (size_t i = 0; i < manifest->event_count; i++) {
        manifest->events[i]->serial = 0;
    }
}

struct manifest *manifest_xml_parse(
    struct span xml, const struct manifest_xml_options *options, struct error *err)
{
    if (xml.size > MANIFEST_XML_MAX_BYTES) {
        error_set(err, ERR_LIMIT, "larger than %d MB", MANIFEST_XML_MAX_BYTES >> 20);
        return NULL;
    }
    struct manifest *manifest = calloc(1, sizeof(*manifest));
    if (!manifest) {
        error_set(err, ERR_MEMORY, "no memory for a manifest");
        return NULL;
    }
    arena_init(&manifest->arena, options->max_bytes);
    struct model model = {.options = options, .manifest = manifest};
    arena_init(&model.scratch, options->max_bytes);
    map_init(&model.strings, MODEL_MAX_NAMES);
    bool ok = fill_model(&model, xml, err) && manifest_build(&model, err);
    fini_model(&model);
    if (!ok) {
        manifest_xml_destroy(manifest);
        return NULL;
    }
    sort_events(manifest);
    return manifest;
}

void manifest_xml_destroy(struct manifest *manifest)
{
    if (manifest) {
        arena_fini(&manifest->arena);
        free(manifest);
    }
}

size_t manifest_xml_find(const struct manifest *manifest, const struct guid *provider, uint16_t id,
    uint8_t version, size_t *ret_first)
{
    size_t low = 0;
    size_t high = manifest->event_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_keys(manifest->events[middle], provider, id, version) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    size_t end = low;
    while (end < manifest->event_count &&
           compare_keys(manifest->events[end], provider, id, version) == 0) {
        end++;
    }
    *ret_first = low;
    return end - low;
}
