# Two verbs for the folders under src/: a library, and the test binary that lies beside it.
#   mlxcel_library(NAME text SOURCES a.cpp b.cpp DEPS mlxcel_base)      -> target mlxcel_text
#   mlxcel_test(NAME text SOURCES a_test.cpp DEPS mlxcel_text)          -> target text_tests
function(mlxcel_library)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(mlxcel_${ARG_NAME} STATIC ${ARG_SOURCES})
  target_link_libraries(mlxcel_${ARG_NAME} PUBLIC mlxcel_options ${ARG_DEPS}
                                           PRIVATE ${ARG_PRIVATE_DEPS})
  if(MLXCEL_FUZZ)  # coverage feedback from the libraries, not only from the harness
    target_compile_options(mlxcel_${ARG_NAME} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

function(mlxcel_test)
  cmake_parse_arguments(ARG "" "NAME;TIMEOUT" "SOURCES;DEPS" ${ARGN})
  if(NOT MLXCEL_TESTS)
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${ARG_NAME}_tests ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME}_tests PRIVATE ${ARG_DEPS} GTest::gtest GTest::gtest_main)
  target_compile_definitions(${ARG_NAME}_tests PRIVATE
    MLXCEL_SOURCE_DIR="${PROJECT_SOURCE_DIR}" MLXCEL_BINARY_DIR="${PROJECT_BINARY_DIR}")
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME}_tests)
  set_tests_properties(${ARG_NAME} PROPERTIES TIMEOUT ${ARG_TIMEOUT})
endfunction()

# A libFuzzer target over one entry point: mlxcel_fuzz(NAME json SOURCES x_fuzz.cpp DEPS mlxcel_base)
function(mlxcel_fuzz)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;DEPS" ${ARGN})
  if(NOT MLXCEL_FUZZ)
    return()
  endif()
  add_executable(${ARG_NAME}_fuzz ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME}_fuzz PRIVATE ${ARG_DEPS})
  target_compile_options(${ARG_NAME}_fuzz PRIVATE -fsanitize=fuzzer)
  target_link_options(${ARG_NAME}_fuzz PRIVATE -fsanitize=fuzzer)
endfunction()
