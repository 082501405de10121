# Test programs that need more than one room.
if(WR_FUZZ)
  return()
endif()
# Functions in C: the example, and those of the tests. Built without our flags, as a user would.
foreach(lib example functions)
  if(lib STREQUAL example)
    set(dir examples)
  else()
    set(dir tests)
  endif()
  add_library(udf_${lib} MODULE ${CMAKE_SOURCE_DIR}/${dir}/udf/${lib}.c)
  set_target_properties(udf_${lib} PROPERTIES OUTPUT_NAME ${lib} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/udf)
  target_include_directories(udf_${lib} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  target_compile_options(udf_${lib} PRIVATE -Wall -Wextra -Wshadow -Werror)
  target_link_libraries(udf_${lib} PRIVATE m)
endforeach()
if(EXISTS ${CMAKE_SOURCE_DIR}/src/api/session.c)
  file(GLOB golden_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/golden/*.c)
  set(fault_sources ${golden_sources})
  list(FILTER golden_sources EXCLUDE REGEX "/fault\\.c$")
  list(FILTER fault_sources EXCLUDE REGEX "/main\\.c$")
  add_executable(golden ${golden_sources})
  target_link_libraries(golden PRIVATE weir_api)
  add_executable(golden_fault ${fault_sources})
  target_link_libraries(golden_fault PRIVATE weir_api)
  foreach(t golden golden_fault) # ${LIB} in a case
    target_compile_definitions(${t} PRIVATE GOLDEN_LIBS="${CMAKE_BINARY_DIR}/udf")
    add_dependencies(${t} udf_example udf_functions)
  endforeach()
  file(GLOB sim_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/sim/*.c)
  add_executable(sim ${sim_sources} ${CMAKE_SOURCE_DIR}/tests/golden/parse.c ${CMAKE_SOURCE_DIR}/tests/golden/files.c)
  target_link_libraries(sim PRIVATE weir_api)
endif()

# The tier by itself (bench/tier_bench.c says how to use it).
add_executable(tier_bench EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/tier_bench.c)
target_link_libraries(tier_bench PRIVATE ${WR_ALLOCATOR} weir_state)

# Checkpoints with a slow sink (bench/stall/stall_bench.c says how to use it).
add_executable(stall_bench EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/stall/stall_bench.c)
target_link_libraries(stall_bench PRIVATE ${WR_ALLOCATOR} weir_api)

# The floor that bench/run compares with.
add_executable(decode_floor EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/floor.cpp)
target_link_libraries(decode_floor PRIVATE simdjson)
