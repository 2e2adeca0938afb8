#ifndef ETWSHIP_TESTS_UNIT_SCHEMA_MANIFEST_XML_RIG_H
#define ETWSHIP_TESTS_UNIT_SCHEMA_MANIFEST_XML_RIG_H

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "schema/manifest/manifest_xml.h"

/*
 * Manifests written for these tests, in the spellings that tools use. Expected values are those of
 * the EventManifest schema and of winmeta.xml, not the parser's.
 */
#define GUID_TEXT "{01020304-0506-0708-090a-0b0c0d0e0f10}"
#define PROVIDER "<provider name=\"Test-Provider\" guid=\"" GUID_TEXT "\">"
#define STRINGS(inside)                                               \
    "<localization><resources culture=\"en-US\"><stringTable>" inside \
    "</stringTable></resources></localization>"
#define DOCUMENT(inside, strings)                                        \
    "<instrumentationManifest><instrumentation><events>" PROVIDER inside \
    "</provider></events></instrumentation>" STRINGS(strings) "</instrumentationManifest>"

static const struct guid provider_guid = {{0x04, 0x03, 0x02, 0x01, 0x06, 0x05, 0x08, 0x07, 0x09,
    0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10}};

static char warnings[4096];
static size_t warning_count;

static inline void on_warning(void *self, const char *text)
{
    (void)self;
    warning_count++;
    size_t used = strlen(warnings);
    snprintf(warnings + used, sizeof(warnings) - used, "%s\n", text);
}

static const struct manifest_options options = {
    .source = "manifest", .file = "t.man", .max_bytes = 1 << 24, .warn = on_warning};

static inline struct manifest *parse_bytes(const void *data, size_t size, struct error *err)
{
    warnings[0] = 0;
    warning_count = 0;
    /* A block of the exact size, so that sanitizers see a read beyond the end. */
    void *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, data, size);
    struct manifest *manifest = manifest_xml_parse(span_make(copy, size), &options, err);
    free(copy);
    return manifest;
}

static inline struct manifest *parse(const char *xml)
{
    struct error err = {0};
    struct manifest *manifest = parse_bytes(xml, strlen(xml), &err);
    if (!manifest) {
        print_error("%s\n", err.text);
    }
    assert_non_null(manifest);
    return manifest;
}

static inline const struct event_schema *event(const struct manifest *manifest, uint16_t id)
{
    size_t first = 0;
    assert_true(manifest_events_find(manifest, &provider_guid, id, 0, &first) > 0);
    return manifest->events[first];
}

#endif
