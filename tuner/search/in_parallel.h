#pragma once

#include <cstddef>
#include <functional>

namespace tuner {

/// Calls work(0) .. work(count - 1), each once, on as many threads as there are cores, at most
/// kMostSearchThreads: each holds a Program with its costs. `done` is told, by one thread at a
/// time, how many have ended. What work throws is thrown, the earliest first.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work,
                 const std::function<void(std::size_t)>& done = {});

inline constexpr unsigned kMostSearchThreads = 8;

}  // namespace tuner
