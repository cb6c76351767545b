# Kernels from a .cachet file as a library of CMake:
#
#   include(path/to/Cachet.cmake)
#   cachet_add_library(dense FILE kernels/dense.cachet)
#   target_link_libraries(program PRIVATE dense)      # and #include "dense.h"
#
#   cachet_add_library(NAME FILE file.cachet
#     [PREFIX prefix]                # what symbols and files begin with; by default the file's name
#     [FUNCTIONS name ...]           # by default all that can be built
#     [IMPLEMENTATIONS "PlusTimes f32" ...]
#     [TARGET triple] [CPU name] [FEATURES +a,-b]
#     [STRIDED])                     # rows of arrays may lie apart
#
# The compiler is the program in CACHETC: a variable of CMake, one of the environment, or `cachetc` on the path. Without TARGET
# and CPU the code is for the processor that builds.

cmake_minimum_required(VERSION 3.20)

if(NOT CACHETC AND DEFINED ENV{CACHETC})
  set(CACHETC "$ENV{CACHETC}" CACHE FILEPATH "The Cachet compiler")
endif()
find_program(CACHETC cachetc DOC "The Cachet compiler")

function(cachet_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "STRIDED" "FILE;PREFIX;TARGET;CPU;FEATURES" "FUNCTIONS;IMPLEMENTATIONS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_FILE)
    message(FATAL_ERROR "cachet_add_library(${name}): FILE is missing, or `${arg_UNPARSED_ARGUMENTS}` is not known")
  endif()
  if(NOT CACHETC)
    message(FATAL_ERROR "cachet_add_library(${name}): there is no `cachetc`; set CACHETC to the compiler's program")
  endif()
  get_filename_component(file "${arg_FILE}" ABSOLUTE)
  if(NOT arg_PREFIX)
    get_filename_component(stem "${file}" NAME)
    string(REGEX REPLACE "\\.cachet$" "" stem "${stem}")
    string(MAKE_C_IDENTIFIER "${stem}" arg_PREFIX)
  endif()
  set(out "${CMAKE_CURRENT_BINARY_DIR}/${name}.cachet")
  set(options --prefix "${arg_PREFIX}" --emit static,header,manifest,deps)
  foreach(option TARGET CPU FEATURES)
    if(arg_${option})
      string(TOLOWER "${option}" lower)
      list(APPEND options "--${lower}=${arg_${option}}")
    endif()
  endforeach()
  foreach(implementation IN LISTS arg_IMPLEMENTATIONS)
    list(APPEND options --with "${implementation}")
  endforeach()
  if(arg_STRIDED)
    list(APPEND options --strided)
  endif()
  set(library "${out}/lib${arg_PREFIX}.a")
  add_custom_command(
    OUTPUT "${library}" "${out}/${arg_PREFIX}.h" "${out}/${arg_PREFIX}.json"
    COMMAND "${CACHETC}" build "${file}" ${arg_FUNCTIONS} -o "${out}" ${options}
    DEPENDS "${file}" "${CACHETC}"
    DEPFILE "${out}/${arg_PREFIX}.d"
    COMMENT "Building kernels of ${arg_FILE}"
    VERBATIM)
  add_custom_target(${name}_kernels DEPENDS "${library}")
  file(MAKE_DIRECTORY "${out}")
  add_library(${name} STATIC IMPORTED GLOBAL)
  set_target_properties(${name} PROPERTIES IMPORTED_LOCATION "${library}" INTERFACE_INCLUDE_DIRECTORIES "${out}")
  add_dependencies(${name} ${name}_kernels)
endfunction()
