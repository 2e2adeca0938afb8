#ifndef ETWSHIP_INPUT_EVTX_XML_H
#define ETWSHIP_INPUT_EVTX_XML_H

#include "input/evtx_tree.h"

/*
 * The XML of one record as text, as Windows renders it (EvtRender with EvtRenderEventXml): the same tree as binary
 * XML gives, but all values are text.
 *
 * This reads what rendering writes: elements, attributes, text, CDATA, the five entities of XML and references to
 * characters. Comments and instructions are passed over. There are no document types, so no other entities.
 */

/*
 * Make the tree of ${size} bytes of UTF-16 at ${xml}, which are changed: references are replaced in place, and
 * the tree's names and values are views of them. NULL, or a static text that says what is wrong: then the tree has
 * what stood before that.
 */
const char *evtx_xml_read(struct evtx_tree *tree, uint8_t *xml, size_t size);

#endif
