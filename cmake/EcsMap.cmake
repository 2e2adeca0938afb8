# The table that maps events to fields of the Elastic Common Schema (agent/event/ecs_map*.tsv) as rows
# of C.
#
#   etwship_ecs_map(<folder with the tables> <folder for what is made>)
#
# ecs_map_providers.def has PROVIDER("name", "guid", KIND) for each provider, ecs_map_rows.def
# ROW("provider", "events", "versions", "field", "source", conversion, "what it takes") for each row of
# ecs_map.tsv and for each value in ecs_map_kinds.tsv, whose source is then `=value`, and
# ecs_map_lists.def LIST("field") for each field of ecs.tsv that is a list. ecs_fields.def has
# FIELD("path") for each row of ecs.tsv.

function(etwship_tsv_lines table out)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
    # Characters that break lists of CMake stand only in columns that are not read.
    file(READ ${table} text)
    string(REGEX REPLACE "[][;]" "" text "${text}")
    string(REGEX REPLACE "\n" ";" lines "${text}")
    list(POP_FRONT lines)
    list(FILTER lines EXCLUDE REGEX "^$")
    set(${out} "${lines}" PARENT_SCOPE)
endfunction()

function(etwship_ecs_map folder made)
    set(cell "[^\t\"\\]+")
    set(rows "")
    etwship_tsv_lines(${folder}/ecs_map_providers.tsv lines)
    foreach(line IN LISTS lines)
        if(NOT line MATCHES "^(${cell})\t(${cell})\t([a-z]+)\t")
            message(FATAL_ERROR "ecs_map_providers.tsv: no row of a table: ${line}")
        endif()
        string(TOUPPER ${CMAKE_MATCH_3} kind)
        string(APPEND rows "PROVIDER(\"${CMAKE_MATCH_1}\", \"${CMAKE_MATCH_2}\", ${kind})\n")
    endforeach()
    file(CONFIGURE OUTPUT ${made}/ecs_map_providers.def CONTENT "${rows}" @ONLY)

    set(rows "")
    etwship_tsv_lines(${folder}/ecs_map.tsv lines)
    foreach(line IN LISTS lines)
        if(NOT line MATCHES
            "^(${cell})\t(${cell})\t(${cell})\t(${cell})\t(${cell})\t([a-z_0-9]+)(:(${cell}))?(\t|$)")
            message(FATAL_ERROR "ecs_map.tsv: no row of a table: ${line}")
        endif()
        string(APPEND rows "ROW(\"${CMAKE_MATCH_1}\", \"${CMAKE_MATCH_2}\", \"${CMAKE_MATCH_3}\", "
            "\"${CMAKE_MATCH_4}\", \"${CMAKE_MATCH_5}\", ${CMAKE_MATCH_6}, \"${CMAKE_MATCH_8}\")\n")
    endforeach()
    etwship_tsv_lines(${folder}/ecs_map_kinds.tsv lines)
    set(names category type action outcome)
    foreach(line IN LISTS lines)
        if(NOT line MATCHES
            "^(${cell})\t(${cell})\t(${cell})\t(${cell})\t(${cell})\t(${cell})$")
            message(FATAL_ERROR "ecs_map_kinds.tsv: no row of a table: ${line}")
        endif()
        set(start "ROW(\"${CMAKE_MATCH_1}\", \"${CMAKE_MATCH_2}\", \"*\", \"event.")
        set(values ${CMAKE_MATCH_3} ${CMAKE_MATCH_4} ${CMAKE_MATCH_5} ${CMAKE_MATCH_6})
        foreach(field value IN ZIP_LISTS names values)
            if(NOT value STREQUAL "-")
                string(APPEND rows "${start}${field}\", \"=${value}\", text, \"\")\n")
            endif()
        endforeach()
    endforeach()
    file(CONFIGURE OUTPUT ${made}/ecs_map_rows.def CONTENT "${rows}" @ONLY)

    set(rows "")
    set(fields "")
    etwship_tsv_lines(${folder}/ecs.tsv lines)
    foreach(line IN LISTS lines)
        if(line MATCHES "^(${cell})\t")
            string(APPEND fields "FIELD(\"${CMAKE_MATCH_1}\")\n")
        endif()
        if(line MATCHES "^(${cell})\tstrings\t")
            string(APPEND rows "LIST(\"${CMAKE_MATCH_1}\")\n")
        endif()
    endforeach()
    file(CONFIGURE OUTPUT ${made}/ecs_map_lists.def CONTENT "${rows}" @ONLY)
    file(CONFIGURE OUTPUT ${made}/ecs_fields.def CONTENT "${fields}" @ONLY)
endfunction()
