# Tables of fields (agent/event/*.tsv) as rows of C, so that there is one table for documents, tests
# and program.
#
#   etwship_field_table(<file.tsv> <file.def>)
#
# Each line becomes FIELD("path", MAPPING); the header is left out.

function(etwship_field_table table rows)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
    # Characters that break lists of CMake stand only in columns that are not read.
    file(READ ${table} text)
    string(REGEX REPLACE "[][;]" "" text "${text}")
    string(REGEX REPLACE "\n" ";" lines "${text}")
    list(POP_FRONT lines)
    set(made "")
    foreach(line IN LISTS lines)
        if(line MATCHES "^([^\t]+)\t[^\t]+\t([a-z_]+)(\t|$)")
            string(TOUPPER ${CMAKE_MATCH_2} mapping)
            string(APPEND made "FIELD(\"${CMAKE_MATCH_1}\", ${mapping})\n")
        elseif(NOT line STREQUAL "")
            message(FATAL_ERROR "${table}: no row of a table: ${line}")
        endif()
    endforeach()
    file(CONFIGURE OUTPUT ${rows} CONTENT "${made}" @ONLY)
endfunction()
