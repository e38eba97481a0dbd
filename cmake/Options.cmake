# Compiler options that every target of this project shares.
add_library(mlxcel_options INTERFACE)
target_compile_options(mlxcel_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align
  -Wno-missing-field-initializers)
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
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
