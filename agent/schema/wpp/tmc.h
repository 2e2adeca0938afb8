#ifndef ETWSHIP_SCHEMA_TMC_H
#define ETWSHIP_SCHEMA_TMC_H

#include "schema/wpp/wpp_control.h"

/*
 * Trace message control: what the WPP preprocessor says of a control GUID, as lines of a .tmc file
 * or strings of an annotation that begins with "TMC:" (pdb.h):
 *
 *   // PDB:  driver.pdb
 *   d58c126f-b309-11d1-969e-0000f875a5bc DriverTraceGuid
 *       FLAG_OF_BIT_0
 *       FLAG_OF_BIT_1
 *
 * The name may be on its own line. Comments and empty lines are ignored. The content is documented
 * ("Trace Message Control File" on learn.microsoft.com), the syntax is not. The strings of
 * annotations have the order of WPP_DEFINE_BIT in the source code.
 */
struct tmc_reader {
    struct wpp_controls *controls;
    struct wpp_control *control; /* control that flags are added to; NULL: none yet */
    struct guid guid;
    bool wants_name; /* the GUID was read, its name was not */
    unsigned bit;    /* bit of the next flag */
    bool failed;     /* memory ran out */
};

void tmc_reader_init(struct tmc_reader *reader, struct wpp_controls *controls);

/* Read a line of UTF-8, with or without line end, or a string of an annotation. */
void tmc_reader_line(struct tmc_reader *reader, struct span line);

/* Finish. False if memory ran out. */
bool tmc_reader_end(struct tmc_reader *reader);

#endif
