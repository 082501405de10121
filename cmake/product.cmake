# The binary, the libraries, the example, what is installed.
set(WR_VERSION_DEFINE "WEIR_VERSION=\"${PROJECT_VERSION}\"")
target_compile_definitions(weir_api PRIVATE ${WR_VERSION_DEFINE})
if(WR_FUZZ)
  return()
endif()

pkg_check_modules(jemalloc IMPORTED_TARGET jemalloc)
set(WR_ALLOCATOR "")
if(jemalloc_FOUND AND NOT WR_SANITIZE AND NOT WR_FUZZ)
  # nothing names a symbol of it, so a linker that drops unneeded libraries must be told to keep it
  set(WR_ALLOCATOR -Wl,--push-state,--no-as-needed ${jemalloc_LINK_LIBRARIES} -Wl,--pop-state)
endif()

# libweir: every room but cli, in one archive and one shared object that shows weir_* only. A library leaves the allocator to its host.
get_property(rooms GLOBAL PROPERTY WR_ROOMS)
list(REMOVE_ITEM rooms weir_cli)
set(objects "")
set(libs "")
foreach(room ${rooms})
  list(APPEND objects $<TARGET_OBJECTS:${room}>)
endforeach()
set(WR_LIBS PkgConfig::utf8proc PkgConfig::pcre2 PkgConfig::crypto  PkgConfig::sqlite3 PkgConfig::zstd PkgConfig::zlib PkgConfig::rocksdb simdjson m Threads::Threads)

add_library(libweir_static STATIC ${objects})
set_target_properties(libweir_static PROPERTIES OUTPUT_NAME weir LINKER_LANGUAGE CXX)
target_link_libraries(libweir_static PUBLIC ${WR_LIBS} wr_flags)
target_include_directories(libweir_static INTERFACE ${CMAKE_SOURCE_DIR}/include)

file(WRITE ${CMAKE_BINARY_DIR}/gen/weir.map "WEIR_0 {\n  global: weir_*;\n  local: *;\n};\n")
add_library(libweir_shared SHARED ${objects})
set_target_properties(libweir_shared PROPERTIES OUTPUT_NAME weir LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  LINK_DEPENDS ${CMAKE_BINARY_DIR}/gen/weir.map)
target_link_libraries(libweir_shared PRIVATE ${WR_LIBS} wr_flags)
target_link_options(libweir_shared PRIVATE -Wl,--version-script=${CMAKE_BINARY_DIR}/gen/weir.map)
target_include_directories(libweir_shared INTERFACE ${CMAKE_SOURCE_DIR}/include)

if(EXISTS ${CMAKE_SOURCE_DIR}/src/cli/main.c)
  # main.c is also in weir_cli, from which it is never taken: the executable has its own.
  add_executable(weir ${CMAKE_SOURCE_DIR}/src/cli/main.c)
  target_link_libraries(weir PRIVATE ${WR_ALLOCATOR} weir_cli)
  set_target_properties(weir PROPERTIES LINKER_LANGUAGE CXX)
  add_dependencies(weir weir_proto)
  install(TARGETS weir RUNTIME)
endif()

if(EXISTS ${CMAKE_SOURCE_DIR}/examples/embed/embed.c)
  add_executable(embed ${CMAKE_SOURCE_DIR}/examples/embed/embed.c)
  target_link_libraries(embed PRIVATE libweir_shared wr_flags)
  add_test(NAME example.embed COMMAND embed)
  add_executable(embed_static ${CMAKE_SOURCE_DIR}/examples/embed/embed.c)
  target_link_libraries(embed_static PRIVATE libweir_static)
  set_target_properties(embed_static PROPERTIES LINKER_LANGUAGE CXX)
  add_test(NAME example.embed_static COMMAND embed_static)
  set_tests_properties(example.embed example.embed_static PROPERTIES TIMEOUT 120)
endif()

configure_file(${CMAKE_SOURCE_DIR}/packaging/weir.pc.in ${CMAKE_BINARY_DIR}/weir.pc @ONLY)
install(TARGETS libweir_static libweir_shared ARCHIVE LIBRARY)
install(FILES ${CMAKE_SOURCE_DIR}/include/weir.h ${CMAKE_SOURCE_DIR}/include/weir_udf.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${CMAKE_BINARY_DIR}/weir.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN data EXCLUDE)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN *.md)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
