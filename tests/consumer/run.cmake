# Installs the build into a folder and builds and tests the project here against that:
#   cmake -DBUILD=... -DWORK=... -DCTEST=... -P run.cmake
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
file(GLOB_RECURSE found ${WORK}/prefix/*/weld.pc)
get_filename_component(pkgconfig ${found} DIRECTORY)
set(ENV{PKG_CONFIG_PATH} ${pkgconfig})
get_filename_component(lib ${pkgconfig} DIRECTORY)
set(ENV{LD_LIBRARY_PATH} ${lib})  # for the program that was linked by pkg-config
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/prefix)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${CTEST} --test-dir ${WORK}/build --output-on-failure)
run(${WORK}/prefix/bin/weld-cli --version)
