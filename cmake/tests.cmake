# Test programs that need more than one room.
if(EXISTS ${CMAKE_SOURCE_DIR}/src/api/session.c)
  file(GLOB golden_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/golden/*.c)
  add_executable(golden ${golden_sources})
  target_link_libraries(golden PRIVATE weir_api)
endif()

# The floor that bench/run compares with.
add_executable(decode_floor EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/floor.cpp)
target_link_libraries(decode_floor PRIVATE simdjson)
