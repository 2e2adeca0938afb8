# One static library per layer. A layer sees exactly the headers of the layers it names: its own
# folder and theirs are linked into an include root made for it alone, so a wrong include is a
# missing file, not a matter of discipline.
#
#   etwship_layer(<name> FOLDER <dir> SOURCES <file>... [USES <layer>...] [LIBS <target>...])

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

function(etwship_layer name)
    cmake_parse_arguments(ARG "" "FOLDER" "SOURCES;USES;LIBS" ${ARGN})
    add_library(etwship_${name} STATIC ${ARG_SOURCES})
    set(root ${ETWSHIP_INCLUDE_ROOT}/${name})
    file(MAKE_DIRECTORY ${root})
    get_filename_component(base ${ARG_FOLDER} NAME)
    etwship_link_folder(${ARG_FOLDER} ${root}/${base})
    target_include_directories(etwship_${name} PUBLIC ${root})
    foreach(used ${ARG_USES})
        target_link_libraries(etwship_${name} PUBLIC etwship_${used})
    endforeach()
    foreach(lib ${ARG_LIBS})
        target_link_libraries(etwship_${name} PRIVATE ${lib})
    endforeach()
endfunction()
