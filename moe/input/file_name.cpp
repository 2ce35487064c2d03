#include "moe/input/file_name.h"

namespace moe {

bool is_name_of_file(std::string_view name) {
  using namespace std::string_view_literals;
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of("/\0"sv) == std::string_view::npos;
}

}  // namespace moe
