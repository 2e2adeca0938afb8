#ifndef ETWSHIP_TESTS_SUPPORT_EVT_SIM_XML_H
#define ETWSHIP_TESTS_SUPPORT_EVT_SIM_XML_H

#include "base/buf.h"
#include "support/evt_sim.h"

/* Append record ${id} of ${channel} as Windows renders it (EvtRenderEventXml), in UTF-8. */
void evt_sim_xml_write(
    const struct evt_sim_event *e, uint64_t id, const char *channel, struct buf *out);

#endif
