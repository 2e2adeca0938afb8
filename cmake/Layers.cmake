# One static library per layer. Its sources find the headers that its line names, and no others: a wrong
# include is a missing file, not a matter of discipline. Nothing is handed on: who uses `schema` does not
# see what `schema` uses.
#
#   etwship_layer(<name> SOURCES <file>... [USES <layer> | <layer>/<header> ...] [SYSTEM <header>...]
#       [LIBS <target>...])
#
# USES: a whole layer, or single headers of it; what those include must be named, too.
# SYSTEM: headers of the system and of libraries, beyond the plain ones of C. In folders linux/ and
# windows/ only: those of the system. tests/lint/layers.py holds the sources, and the table of
# agent/README.md, to these lines.

set(ETWSHIP_INCLUDE_ROOT ${CMAKE_BINARY_DIR}/include)

function(etwship_link_folder target link)
    if(NOT CMAKE_HOST_WIN32)
        file(CREATE_LINK ${target} ${link} SYMBOLIC)
    elseif(NOT EXISTS ${link})
        # A junction: symbolic links need a right there that not everybody has.
        file(TO_NATIVE_PATH ${target} native_target)
        file(TO_NATIVE_PATH ${link} native_link)
        execute_process(COMMAND cmd /c mklink /J ${native_link} ${native_target}
            OUTPUT_QUIET RESULT_VARIABLE failed)
        if(failed)
            message(FATAL_ERROR "cannot link ${link} to ${target}")
        endif()
    endif()
endfunction()

function(etwship_link_header target link)
    if(NOT EXISTS ${target})
        message(FATAL_ERROR "${target} is named in a layer's USES, and is not there")
    endif()
    if(NOT CMAKE_HOST_WIN32)
        file(CREATE_LINK ${target} ${link} SYMBOLIC)
    else()
        file(CONFIGURE OUTPUT ${link} CONTENT "#include \"${target}\"\n" @ONLY)
    endif()
endfunction()

# The folder of a layer.
function(etwship_layer_folder ret_folder layer)
    set(folder ${CMAKE_SOURCE_DIR}/agent/${layer})
    if(NOT IS_DIRECTORY ${folder})
        set(folder ${CMAKE_SOURCE_DIR}/${layer})
    endif()
    set(${ret_folder} ${folder} PARENT_SCOPE)
endfunction()

# Makes a folder that has ${layer} under its name and nothing else.
function(etwship_layer_root ret_root layer)
    set(root ${ETWSHIP_INCLUDE_ROOT}/${layer})
    etwship_layer_folder(folder ${layer})
    file(MAKE_DIRECTORY ${root})
    etwship_link_folder(${folder} ${root}/${layer})
    set(${ret_root} ${root} PARENT_SCOPE)
endfunction()

# Makes a folder that has the ${headers} under their names and nothing else.
function(etwship_headers_root ret_root name headers)
    set(root ${ETWSHIP_INCLUDE_ROOT}/${name}.uses)
    if(NOT CMAKE_HOST_WIN32) # there new files would be younger than what was compiled with them
        file(REMOVE_RECURSE ${root})
    endif()
    foreach(header ${headers})
        string(REGEX MATCH "^[^/]+" layer ${header})
        etwship_layer_folder(folder ${layer})
        get_filename_component(parent ${folder} DIRECTORY)
        get_filename_component(sub ${root}/${header} DIRECTORY)
        file(MAKE_DIRECTORY ${sub})
        etwship_link_header(${parent}/${header} ${root}/${header})
    endforeach()
    set(${ret_root} ${root} PARENT_SCOPE)
endfunction()

function(etwship_layer name)
    cmake_parse_arguments(ARG "" "" "SOURCES;USES;SYSTEM;LIBS" ${ARGN})
    add_library(etwship_${name} STATIC ${ARG_SOURCES})
    etwship_layer_root(own ${name})
    target_include_directories(etwship_${name} PRIVATE ${own})
    set_property(GLOBAL APPEND PROPERTY ETWSHIP_LAYER_ROOTS ${own})
    set(layers ${ARG_USES})
    list(FILTER layers EXCLUDE REGEX "/")
    foreach(layer ${layers})
        etwship_layer_root(root ${layer})
        target_include_directories(etwship_${name} PRIVATE ${root})
    endforeach()
    set(headers ${ARG_USES})
    list(FILTER headers INCLUDE REGEX "/")
    if(headers)
        etwship_headers_root(root ${name} "${headers}")
        target_include_directories(etwship_${name} PRIVATE ${root})
    endif()
    set(used ${ARG_USES})
    list(TRANSFORM used REPLACE "/.*" "")
    list(REMOVE_DUPLICATES used)
    list(TRANSFORM used PREPEND etwship_)
    target_link_libraries(etwship_${name} PRIVATE ${used} ${ARG_LIBS})
endfunction()

# Tests may include everything.
macro(etwship_include_all_layers)
    get_property(roots GLOBAL PROPERTY ETWSHIP_LAYER_ROOTS)
    include_directories(${roots})
endmacro()
