# Compiler options that every target of this project shares.
add_library(mlxcel_options INTERFACE)
target_compile_options(mlxcel_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align
  -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 warns of impossible overlaps inside std::string (GCC bug 105651).
  target_compile_options(mlxcel_options INTERFACE -Wno-restrict)
endif()
if(MLXCEL_WERROR)
  target_compile_options(mlxcel_options INTERFACE -Werror)
endif()
if(MLXCEL_SANITIZE)
  target_compile_options(mlxcel_options INTERFACE
    -fsanitize=${MLXCEL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(mlxcel_options INTERFACE -fsanitize=${MLXCEL_SANITIZE})
endif()
target_include_directories(mlxcel_options INTERFACE ${PROJECT_SOURCE_DIR}/src)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Paths inside the project count relative to it, so that a second checkout finds the first one's objects.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
endif()
