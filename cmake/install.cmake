# What `cmake --install` puts where, so that other projects find us by find_package(weld) or pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS weld EXPORT weldTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET weld_parquet)
  install(TARGETS weld_parquet LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(TARGETS weld-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/weld DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
set_target_properties(weld-cli PROPERTIES INSTALL_RPATH "$ORIGIN:$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")

set(WELD_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/weld)
install(EXPORT weldTargets NAMESPACE weld:: DESTINATION ${WELD_CMAKE_DIR})
configure_package_config_file(cmake/weldConfig.cmake.in weldConfig.cmake INSTALL_DESTINATION ${WELD_CMAKE_DIR})
write_basic_package_version_file(weldConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/weldConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/weldConfigVersion.cmake
  DESTINATION ${WELD_CMAKE_DIR})

file(RELATIVE_PATH WELD_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/weld.pc.in weld.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/weld.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
