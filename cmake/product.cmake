# The binary, the library and what is installed.
if(EXISTS ${CMAKE_SOURCE_DIR}/src/cli/main.c)
  get_property(rooms GLOBAL PROPERTY WR_ROOMS)
endif()
