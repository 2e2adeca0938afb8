#ifndef ETWSHIP_SCHEMA_MANIFEST_ELEMENTS_H
#define ETWSHIP_SCHEMA_MANIFEST_ELEMENTS_H

#include <expat.h>

#include "schema/manifest_model.h"
#include "schema/manifest_xml.h"

/*
 * What the elements of a manifest mean: from the start and end tags that expat reports to the
 * model. Used by manifest_xml.c alone.
 */
struct manifest_parser {
    XML_Parser expat;
    struct model *model;
    struct error *err;
    bool failed;                           /* `err` says why; nothing more is taken in */
    uint8_t stack[MANIFEST_XML_MAX_DEPTH]; /* what the open elements mean */
    size_t depth;
    size_t skipping; /* open elements from the skipped one on */
    struct model_provider *provider;
    struct model_name *task;
    struct model_map *map;
    struct model_template *template;
    struct model_event *event;
    unsigned cultures;
    unsigned culture_rank;
};

/* An element starts or ends. */
void manifest_elements_start(
    struct manifest_parser *p, const char *name, const XML_Char **attributes);
void manifest_elements_end(struct manifest_parser *p);

/* End the parse; the parser's `err` has been set. */
void manifest_elements_stop(struct manifest_parser *p);

#endif
