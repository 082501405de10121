# Test programs that need more than one room.
if(WR_FUZZ)
  return()
endif()
if(EXISTS ${CMAKE_SOURCE_DIR}/src/api/session.c)
  file(GLOB golden_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/golden/*.c)
  set(fault_sources ${golden_sources})
  list(FILTER golden_sources EXCLUDE REGEX "/fault\\.c$")
  list(FILTER fault_sources EXCLUDE REGEX "/main\\.c$")
  add_executable(golden ${golden_sources})
  target_link_libraries(golden PRIVATE weir_api)
  add_executable(golden_fault ${fault_sources})
  target_link_libraries(golden_fault PRIVATE weir_api)
  file(GLOB sim_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/sim/*.c)
  add_executable(sim ${sim_sources} ${CMAKE_SOURCE_DIR}/tests/golden/parse.c ${CMAKE_SOURCE_DIR}/tests/golden/files.c)
  target_link_libraries(sim PRIVATE weir_api)
endif()

# The tier by itself (bench/tier_bench.c says how to use it).
add_executable(tier_bench EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/tier_bench.c)
target_link_libraries(tier_bench PRIVATE ${WR_ALLOCATOR} weir_state)

# The floor that bench/run compares with.
add_executable(decode_floor EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/floor.cpp)
target_link_libraries(decode_floor PRIVATE simdjson)
