#include "schema/manifest/manifest_xml.h"

#include "base/utf.h"
#include "schema/manifest/manifest_elements.h"

/*
 * Reads XML manifests: manifest_elements.c builds the model from expat's tags, manifest_build.c
 * makes schemas of it.
 *
 * Hardening: text size, depth, memory and counts are bounded. A document type ends the parse, so
 * there are no entities to expand or fetch.
 */
enum { PIECE_BYTES = 64 * 1024 };

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
    error_set(p->err, ERR_FORMAT, "a manifest must not have a document type");
    manifest_elements_stop(p);
}

/* expat handles UTF-8, UTF-16 and Latin-1. Old editors wrote Windows-1252. */
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

/* Feed the parser one piece. False at the end of the input, on an error, or if ${p} has failed. */
static bool feed(struct manifest_parser *p, const struct manifest_xml_input *input)
{
    size_t total = 0;
    size_t got = 1;
    bool ok = true;
    while (ok && got) {
        void *data = XML_GetBuffer(p->expat, PIECE_BYTES);
        if (!data) {
            p->failed = true;
            return error_set(p->err, ERR_MEMORY, "no memory for the XML parser");
        }
        if (!input->read(input->self, data, PIECE_BYTES, &got, p->err)) {
            p->failed = true;
            return false;
        }
        total += got;
        if (total > MANIFEST_XML_MAX_BYTES) {
            p->failed = true;
            return error_set(p->err, ERR_LIMIT, "larger than %d MB", MANIFEST_XML_MAX_BYTES >> 20);
        }
        ok = XML_ParseBuffer(p->expat, (int)got, got == 0) == XML_STATUS_OK;
    }
    return ok && !p->failed;
}

static bool run_expat(struct manifest_parser *p, const struct manifest_xml_input *input)
{
    XML_SetUserData(p->expat, p);
    XML_SetElementHandler(p->expat, on_start, on_end);
    XML_SetStartDoctypeDeclHandler(p->expat, on_doctype);
    XML_SetUnknownEncodingHandler(p->expat, on_unknown_encoding, NULL);
    bool ok = feed(p, input);
    if (p->failed) {
        return false;
    }
    if (!ok) {
        const char *file = p->model->options->file;
        return error_set(p->err, ERR_FORMAT, "%s:%zu:%zu: XML is not well-formed: %s",
            file ? file : "manifest", (size_t)XML_GetCurrentLineNumber(p->expat),
            (size_t)XML_GetCurrentColumnNumber(p->expat) + 1,
            XML_ErrorString(XML_GetErrorCode(p->expat)));
    }
    if (!p->model->first_provider) {
        return error_set(
            p->err, ERR_FORMAT, "not an instrumentation manifest: it defines no provider");
    }
    return true;
}

static bool fill_model(struct model *model, void *self, struct error *err)
{
    const struct manifest_xml_input *input = self;
    struct error reason = {0};
    struct manifest_parser p = {.model = model, .err = &reason};
    p.expat = XML_ParserCreate(NULL);
    if (!p.expat) {
        return error_set(err, ERR_MEMORY, "no memory for the XML parser");
    }
    bool ok = run_expat(&p, input);
    XML_ParserFree(p.expat);
    return ok || error_set(err, reason.code, "%s", reason.text);
}

static bool read_text(void *self, void *data, size_t size, size_t *ret_size, struct error *err)
{
    struct span *rest = self;
    (void)err;
    *ret_size = rest->size < size ? rest->size : size;
    if (*ret_size) {
        memcpy(data, rest->data, *ret_size);
    }
    *rest = span_from(*rest, *ret_size);
    return true;
}

struct manifest *manifest_xml_parse(
    struct span xml, const struct manifest_options *options, struct error *err)
{
    const struct manifest_xml_input input = {.read = read_text, .self = &xml};
    if (xml.size > MANIFEST_XML_MAX_BYTES) {
        error_set(err, ERR_LIMIT, "larger than %d MB", MANIFEST_XML_MAX_BYTES >> 20);
        return NULL;
    }
    return manifest_xml_read(&input, options, err);
}

struct manifest *manifest_xml_read(const struct manifest_xml_input *input,
    const struct manifest_options *options, struct error *err)
{
    struct manifest_xml_input copy = *input;
    return manifest_model_make(options, fill_model, &copy, err);
}
