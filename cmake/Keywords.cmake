# The keywords with side effects (agent/etw/enable/etw_keywords.tsv) as rows of C: for each line
# KEYWORD("provider", mask, "keyword", "effect", <16 bytes of the GUID>).
#
#   etwship_keywords(<file.tsv> <file.def>)

function(etwship_keywords table rows)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
    file(STRINGS ${table} lines)
    list(POP_FRONT lines)
    set(made "")
    foreach(line IN LISTS lines)
        set(cell "[^\t\"\\]+")
        if(NOT line MATCHES
            "^(${cell})\t([-0-9a-f]+)\t(0x[0-9a-f]+)\t([A-Za-z0-9_]+)\t(${cell})\t${cell}$")
            message(FATAL_ERROR "${table}: no row of a table: ${line}")
        endif()
        set(start "KEYWORD(\"${CMAKE_MATCH_1}\", UINT64_C(${CMAKE_MATCH_3}), ")
        string(APPEND start "\"${CMAKE_MATCH_4}\", \"${CMAKE_MATCH_5}\", ")
        etwship_guid_bytes(${CMAKE_MATCH_2} hex)
        string(REGEX REPLACE "(..)" "0x\\1, " bytes "${hex}")
        string(REGEX REPLACE ", $" "" bytes "${bytes}")
        string(APPEND made "${start}${bytes})\n")
    endforeach()
    file(CONFIGURE OUTPUT ${rows} CONTENT "${made}" @ONLY)
endfunction()
