# find_package(cgtrace) gives the target cgtrace::cgtrace, which is a header alone, and cgtrace_LIBRARY, the recorder to be preloaded.
get_filename_component(cgtrace_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(cgtrace_LIBRARY "${cgtrace_prefix}/lib/libcgtrace.so")
if(NOT TARGET cgtrace::cgtrace)
  add_library(cgtrace::cgtrace INTERFACE IMPORTED)
  set_target_properties(cgtrace::cgtrace PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${cgtrace_prefix}/include"
    INTERFACE_LINK_LIBRARIES "${CMAKE_DL_LIBS}")
endif()
unset(cgtrace_prefix)
