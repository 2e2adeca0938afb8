# One static library per room: a folder of sources, which is a whole layer or a part of one. Its sources find
# the headers that its line names, and no others: a wrong include is a missing file, not a matter of
# discipline. Uses are not passed on: a room that uses `schema/cache` does not see the rooms which that uses.
#
#   etwship_room(<layer>[/<folder>] [PER_SYSTEM] [WITHOUT <file>...] [USES <room> | <room>/<header> ...]
#       [LINKS <room>...] [SYSTEM <header>...] [LIBS <target>...])
#
# PER_SYSTEM: the folders linux/ and windows/ in it belong to the room.
# WITHOUT: sources that this build leaves out.
# USES: whole rooms, or single headers of them; what those include must be named, too. `<layer>/*` is all
# rooms of a layer. Headers *_own.h are their room's alone. A room comes after those of its layer that it uses.
# LINKS: rooms whose functions a table names, without an include.
# SYSTEM: headers of the system and of libraries, beyond the plain ones of C; OS: in folders linux/ and
# windows/ all of the system's.
#
# tests/lint/layers.py holds sources, lines and agent/rooms.md together. The library of a room is
# room_<layer>_<folder>; etwship_<layer> is all rooms of a layer.

set(ETWSHIP_INCLUDE_ROOT ${CMAKE_BINARY_DIR}/rooms)
if(WIN32)
    set(ETWSHIP_SYSTEM windows)
else()
    set(ETWSHIP_SYSTEM linux)
endif()
if(NOT CMAKE_HOST_WIN32) # there new files would be younger than what was compiled with them
    file(REMOVE_RECURSE ${ETWSHIP_INCLUDE_ROOT})
endif()

# The place of ${path}, a path as sources include it.
function(etwship_source_path ret_path path)
    string(REGEX MATCH "^[^/]+" layer ${path})
    set(found ${CMAKE_SOURCE_DIR}/agent/${path})
    if(NOT IS_DIRECTORY ${CMAKE_SOURCE_DIR}/agent/${layer})
        set(found ${CMAKE_SOURCE_DIR}/${path})
    endif()
    set(${ret_path} ${found} PARENT_SCOPE)
endfunction()

# Puts ${header} under its name into ${root}: a link, or a file that includes it where links need a right
# that not every user has.
function(etwship_link_header root header)
    etwship_source_path(target ${header})
    if(NOT EXISTS ${target})
        message(FATAL_ERROR "${header} is named in USES, and is not there")
    endif()
    get_filename_component(folder ${root}/${header} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    if(NOT CMAKE_HOST_WIN32)
        file(CREATE_LINK ${target} ${root}/${header} SYMBOLIC)
    else()
        file(CONFIGURE OUTPUT ${root}/${header} CONTENT "#include \"${target}\"\n" @ONLY)
    endif()
endfunction()

# The folder that holds the headers of ${room} and nothing else; `.own`: those for itself, `.uses`: the single
# ones that it takes from others.
function(etwship_include_root ret_root room)
    string(REPLACE "/" "." name ${room})
    set(${ret_root} ${ETWSHIP_INCLUDE_ROOT}/${name} PARENT_SCOPE)
endfunction()

# Links ${target} with the rooms in ${ARGN}, and those of the headers in it. What is of another layer than
# ${layer} is linked as a whole.
function(etwship_link target layer)
    foreach(used ${ARGN})
        string(REGEX MATCH "^[^/]+" used_layer ${used})
        string(REPLACE "/" "_" room room_${used})
        if(NOT used_layer STREQUAL layer)
            target_link_libraries(${target} PRIVATE etwship_${used_layer})
        elseif(TARGET ${room})
            target_link_libraries(${target} PRIVATE ${room})
        else()
            message(FATAL_ERROR "${target} uses ${used}, which is no room of a line before")
        endif()
    endforeach()
endfunction()

# Shows ${target} the headers of the rooms and single headers in ${ARGN}, and links it with those rooms.
function(etwship_use target layer)
    foreach(used ${ARGN})
        if(used MATCHES "^(.*)/\\*$")
            get_property(rooms GLOBAL PROPERTY ETWSHIP_ROOMS_${CMAKE_MATCH_1})
            if(NOT rooms)
                message(FATAL_ERROR "${target} uses ${used}, of which no room is of a line before")
            endif()
            etwship_use(${target} ${layer} ${rooms})
            continue()
        endif()
        if(NOT used MATCHES "\\.(h|def)$")
            etwship_include_root(root ${used})
            target_include_directories(${target} PRIVATE ${root})
        endif()
        etwship_link(${target} ${layer} ${used})
    endforeach()
endfunction()

function(etwship_room room)
    cmake_parse_arguments(ARG "PER_SYSTEM" "" "WITHOUT;USES;LINKS;SYSTEM;LIBS" ${ARGN})
    string(REGEX MATCH "^[^/]+" layer ${room})
    string(REPLACE "/" "_" target room_${room})
    etwship_source_path(folder ${room})
    etwship_include_root(root ${room})

    set(sources "")
    set(headers "")
    set(folders ".")
    if(ARG_PER_SYSTEM)
        list(APPEND folders linux windows)
    endif()
    foreach(part ${folders})
        file(GLOB found CONFIGURE_DEPENDS RELATIVE ${folder}
            ${folder}/${part}/*.c ${folder}/${part}/*.h ${folder}/${part}/*.def)
        foreach(file ${found})
            if(NOT file MATCHES "\\.c$")
                list(APPEND headers ${file})
            elseif(NOT file IN_LIST ARG_WITHOUT AND part MATCHES "^(\\.|${ETWSHIP_SYSTEM})$")
                list(APPEND sources ${folder}/${file})
            endif()
        endforeach()
    endforeach()
    foreach(header ${headers})
        if(header MATCHES "_own\\.h$")
            etwship_link_header(${root}.own ${room}/${header})
        else()
            etwship_link_header(${root} ${room}/${header})
        endif()
    endforeach()

    set_property(GLOBAL APPEND PROPERTY ETWSHIP_ROOMS_${layer} ${room})
    if(NOT TARGET etwship_${layer})
        add_library(etwship_${layer} INTERFACE)
    endif()
    if(NOT sources) # a room of headers
        add_library(${target} INTERFACE)
        return()
    endif()
    add_library(${target} STATIC ${sources})
    target_link_libraries(etwship_${layer} INTERFACE ${target})
    target_include_directories(${target} PRIVATE ${root} ${root}.own)
    etwship_use(${target} ${layer} ${ARG_USES})
    etwship_link(${target} ${layer} ${ARG_LINKS})
    set(single ${ARG_USES})
    list(FILTER single INCLUDE REGEX "\\.(h|def)$")
    if(single)
        foreach(header ${single})
            etwship_link_header(${root}.uses ${header})
        endforeach()
        target_include_directories(${target} PRIVATE ${root}.uses)
    endif()
    target_link_libraries(${target} PRIVATE ${ARG_LIBS})
endfunction()

# Tests may include all headers.
macro(etwship_include_all_layers)
    include_directories(${CMAKE_SOURCE_DIR}/agent ${CMAKE_SOURCE_DIR})
endmacro()
