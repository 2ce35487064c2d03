// usage: moe-environment-control CALL: changes its environment while another thread runs by setenv,
// unsetenv, putenv or clearenv. The library of tests/moe/watched_environment.cpp must end it.
#include <cstdlib>
#include <semaphore>
#include <string_view>
#include <thread>

int main(int argc, char** argv) {
  const std::string_view call = argc == 2 ? argv[1] : "";
  static char text[] = "MOELAB_CONTROL=1";
  std::binary_semaphore changed{0};
  const std::jthread other([&] { changed.acquire(); });
  int code = 2;
  if (call == "setenv") code = setenv("MOELAB_CONTROL", "1", 1);
  if (call == "unsetenv") code = unsetenv("MOELAB_CONTROL");
  if (call == "putenv") code = putenv(text);
  if (call == "clearenv") code = clearenv();
  changed.release();
  return code;
}
