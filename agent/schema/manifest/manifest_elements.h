#ifndef ETWSHIP_SCHEMA_MANIFEST_ELEMENTS_H
#define ETWSHIP_SCHEMA_MANIFEST_ELEMENTS_H

#include <expat.h>

#include "schema/manifest/manifest_model.h"
#include "schema/manifest/manifest_xml.h"

/* Builds the model from the start and end tags that expat reports. Used by manifest_xml.c only. */
struct manifest_parser {
    XML_Parser expat;
    struct model *model;
    struct error *err;
    bool failed;                           /* `err` has the reason; further input is ignored */
    uint8_t stack[MANIFEST_XML_MAX_DEPTH]; /* enum context of each open element */
    size_t depth;
    size_t skipping; /* open elements from the skipped one inwards */
    struct model_provider *provider;
    struct model_name *task;
    struct model_map *map;
    struct model_template *template;
    struct model_event *event;
    unsigned cultures;
    unsigned culture_rank;
    uint16_t language; /* of the culture */
};

/* Handle the start or end of an element. */
void manifest_elements_start(
    struct manifest_parser *p, const char *name, const XML_Char **attributes);
void manifest_elements_end(struct manifest_parser *p);

/* Stop parsing after the parser's `err` was set. */
void manifest_elements_stop(struct manifest_parser *p);

#endif
