# The corrections of layouts (agent/schema/corrections.tsv) as rows of C: ROW("cell<tab>cell…") for each
# line, which the program reads as it reads such a file of the user.
#
#   etwship_corrections(<file.tsv> <file.def>)

function(etwship_corrections table rows)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
    file(STRINGS ${table} lines)
    set(made "")
    foreach(line IN LISTS lines)
        if(NOT line MATCHES "^[^\t\"\\;]+(\t[^\t\"\\;]+)+$")
            message(FATAL_ERROR "${table}: no row of a table: ${line}")
        endif()
        string(REPLACE "\t" "\\t" line "${line}")
        string(APPEND made "ROW(\"${line}\")\n")
    endforeach()
    file(CONFIGURE OUTPUT ${rows} CONTENT "${made}" @ONLY)
endfunction()
