#ifndef ETWSHIP_INPUT_EVTX_XML_H
#define ETWSHIP_INPUT_EVTX_XML_H

#include "input/evtx/evtx_tree.h"

/*
 * Reads the XML of one record as Windows renders it (EvtRender with EvtRenderEventXml). The tree is
 * that of binary XML, but all values are text.
 *
 * It reads elements, attributes, text, CDATA, the five entities of XML and character references. It
 * skips comments and processing instructions. It refuses document types, so there are no other
 * entities.
 */

/*
 * Make the tree of ${size} bytes of UTF-16 at ${xml}, in ${room}. References are replaced in place;
 * names and values of the tree are views into ${xml}. Returns NULL, or a static text about the
 * first error; the tree then contains everything before it.
 */
const char *evtx_xml_read(
    struct evtx_tree *tree, struct evtx_room *room, uint8_t *xml, size_t size);

#endif
