#pragma once

#include <cstddef>
#include <span>

namespace moe {

/// Copies bytes of a file in memory, and says how many came before the first page that is not there
/// any more (SIGBUS): the file was cut short or its disk failed. `to` is as long as `from`. Other
/// signals of that kind go on to whoever handled them before.
std::size_t guarded_copy(std::span<const std::byte> from, std::span<std::byte> to);

}  // namespace moe
