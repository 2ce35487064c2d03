#pragma once

#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace moe {

/// Throws std::runtime_error: the system permits no thread for `purpose`, and where its limit is.
[[noreturn]] void throw_no_thread(std::string_view purpose, const std::error_code& code);

/// Starts a thread that runs `body`. Throws std::runtime_error, naming `purpose`, where the system
/// permits no more threads.
template <typename Body>
std::thread start_thread(std::string_view purpose, Body&& body) {
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error& error) {
    throw_no_thread(purpose, error.code());
  }
}

}  // namespace moe
