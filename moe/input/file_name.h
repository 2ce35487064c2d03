#pragma once

#include <string_view>

namespace moe {

/// True of a name by which a file may call another one in its folder: "rank-00003.safetensors".
/// False of a path that leads elsewhere, and of what no file can be called.
bool is_name_of_file(std::string_view name);

}  // namespace moe
