#ifndef ETWSHIP_SCHEMA_TMC_H
#define ETWSHIP_SCHEMA_TMC_H

#include "schema/wpp_control.h"

/*
 * Trace message control: what the WPP preprocessor leaves of a control GUID, as the lines of a .tmc file or
 * as the strings of an annotation that begins with "TMC:" (pdb.h):
 *
 *   // PDB:  driver.pdb
 *   d58c126f-b309-11d1-969e-0000f875a5bc DriverTraceGuid
 *       FLAG_OF_BIT_0
 *       FLAG_OF_BIT_1
 *
 * The name may stand in a line of its own. Comments and empty lines are left out. Nothing public says
 * how the file is built, only what is in it ("Trace Message Control File" on learn.microsoft.com); the
 * order of annotations is that of WPP_DEFINE_BIT in the source code.
 */
struct tmc_reader {
    struct wpp_controls *controls;
    struct wpp_control *control; /* that flags belong to; NULL: none yet */
    struct guid guid;
    bool wants_name; /* the GUID is there, its name is not */
    unsigned bit;    /* of the next flag */
    bool failed;     /* memory ran out */
};

void tmc_reader_init(struct tmc_reader *reader, struct wpp_controls *controls);

/* A line of UTF-8, with or without its end, or a string of an annotation. */
void tmc_reader_line(struct tmc_reader *reader, struct span line);

/* No more. False if memory ran out. */
bool tmc_reader_end(struct tmc_reader *reader);

#endif
