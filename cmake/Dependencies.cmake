# Every outside library in one place. Static archives are preferred, so that an installed tree runs
# on machines without the -dev packages; MLX and Highway are shipped beside the binary.
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(hwy 1.0 CONFIG REQUIRED)
if(MLXCEL_TESTS)
  find_package(GTest REQUIRED)
endif()

# mlxcel_static_import(TARGET LIBRARY HEADER): an imported target for lib<LIBRARY>.a (or the shared one).
function(mlxcel_import target library header)
  find_library(${target}_LIBRARY NAMES lib${library}.a ${library} REQUIRED)
  find_path(${target}_INCLUDE ${header} REQUIRED)
  add_library(${target} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION ${${target}_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${${target}_INCLUDE})
endfunction()

mlxcel_import(dep_pcre2 pcre2-8 pcre2.h)
set_property(TARGET dep_pcre2 PROPERTY INTERFACE_COMPILE_DEFINITIONS PCRE2_STATIC)
mlxcel_import(dep_utf8proc utf8proc utf8proc.h)
set_property(TARGET dep_utf8proc PROPERTY INTERFACE_COMPILE_DEFINITIONS UTF8PROC_STATIC)
mlxcel_import(dep_z z zlib.h)
mlxcel_import(dep_png png png.h)
set_property(TARGET dep_png PROPERTY INTERFACE_LINK_LIBRARIES dep_z m)
mlxcel_import(dep_jpeg jpeg jpeglib.h)
mlxcel_import(dep_gif gif gif_lib.h)
mlxcel_import(dep_webp webp webp/decode.h)
set_property(TARGET dep_webp PROPERTY INTERFACE_LINK_LIBRARIES Threads::Threads m)
mlxcel_import(dep_webpdemux webpdemux webp/demux.h)
set_property(TARGET dep_webpdemux PROPERTY INTERFACE_LINK_LIBRARIES dep_webp)

if(MLXCEL_MLX)
  set(MLXCEL_MLX_ROOT ${PROJECT_SOURCE_DIR}/.deps/mlx-cpu CACHE PATH "Unpacked MLX wheel")
  find_package(MLX 0.32 CONFIG REQUIRED PATHS ${MLXCEL_MLX_ROOT}/mlx/share/cmake/MLX NO_DEFAULT_PATH)
  # MLX's headers are not held to this project's warnings.
  add_library(dep_mlx INTERFACE)
  target_link_libraries(dep_mlx INTERFACE mlx)
  target_include_directories(dep_mlx SYSTEM INTERFACE ${MLX_INCLUDE_DIRS})
endif()
