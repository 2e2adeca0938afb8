#ifndef ETWSHIP_INPUT_EVTX_TYPED_H
#define ETWSHIP_INPUT_EVTX_TYPED_H

#include "input/evtx/evtx_tree.h"

/*
 * Types for the values of textual XML (evtx_xml.h). Windows renders a record as XML, which contains
 * the names, and as values (EvtRender with EvtRenderContextUser), which have the types. Only their
 * order shows which value belongs to which text. So a text gets the type of its value only if both
 * have the same meaning; otherwise it stays a text.
 */

/*
 * ${values}: the values of the record's EventData or UserData, in order; they must outlive the
 * tree. Returns how many of them contradict the XML: all, if their number differs from that in the
 * XML.
 */
size_t evtx_typed_apply(struct evtx_tree *tree, const struct evtx_given *values, size_t count);

/* For a record without types: make each empty Data an empty text. */
void evtx_typed_none(struct evtx_tree *tree);

/* Bytes of a number, boolean or FILETIME of ${type} in an EVT_VARIANT; 0: another type. */
size_t evtx_typed_size(uint8_t type);

#endif
