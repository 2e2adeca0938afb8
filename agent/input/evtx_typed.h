#ifndef ETWSHIP_INPUT_EVTX_TYPED_H
#define ETWSHIP_INPUT_EVTX_TYPED_H

#include "input/evtx_tree.h"

/*
 * Types for the values of XML that is text (evtx_xml.h). Windows renders the same record as XML, which has the names,
 * and as values (EvtRender with EvtRenderContextUser), which have the types. What belongs together is known by the
 * place alone, so a value takes its type only where it says what the text says: an event whose XML and values do
 * not agree stays as the XML has it.
 */

/*
 * ${values}: of the record's EventData or UserData, in order; they outlive what is done with the tree. Returns
 * how many of them contradict the XML; all of them if there are more or fewer than the XML has.
 */
size_t evtx_typed_apply(struct evtx_tree *tree, const struct evtx_given *values, size_t count);

/* No types are known: an empty Data is an empty text. */
void evtx_typed_none(struct evtx_tree *tree);

/* Bytes of a number, a truth value or a FILETIME of ${type} in an EVT_VARIANT; 0: ${type} is none of these. */
size_t evtx_typed_size(uint8_t type);

#endif
