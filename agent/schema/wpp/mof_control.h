#ifndef ETWSHIP_SCHEMA_MOF_CONTROL_H
#define ETWSHIP_SCHEMA_MOF_CONTROL_H

#include "schema/mof/mof_model.h"
#include "schema/wpp/wpp_control.h"

/*
 * Add the providers among the classes of the linked ${model}: classes with a Guid that have no
 * parent with a Guid and are not events. Their flags are the values of the property `Flags`
 * ("Specifying level and enable flags values for a provider" in "Event Tracing MOF Qualifiers" on
 * learn.microsoft.com), named by Values and DefineValues. False if memory ran out.
 */
bool mof_control_find(const struct mof_model *model, struct wpp_controls *controls);

#endif
